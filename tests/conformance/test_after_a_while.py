"""Everybody was away for a while, by the store's own clock: of all that came due meanwhile a claimer without a janitor is kept waiting by nothing."""

from __future__ import annotations

import tenure
from tests.support.places import Place

MANY = 1_300
MINUTE = 60_000_000


def claim_all(q: tenure.Queue) -> int:
    """Claim until there is nothing."""
    found = 0
    while claims := q.claim(1_000):
        found += len(claims)
    return found


def test_all_that_came_due_is_claimed_at_once_however_much_it_is(place: Place, q: tenure.Queue) -> None:
    q.enqueue_many([tenure.NewJob(kind="k", delay="1h")] * MANY)
    place.sql(f"UPDATE tenure.jobs SET run_at = run_at - {61 * MINUTE}")
    assert claim_all(place.open()) == MANY


def test_all_whose_leases_ran_out_is_claimed_at_once_however_much_it_is(
    place: Place, q: tenure.Queue
) -> None:
    q.enqueue_many([tenure.NewJob(kind="k")] * MANY)
    assert claim_all(q) == MANY
    place.sql(f"UPDATE tenure.jobs SET lease_until = lease_until - {5 * MINUTE}")
    assert claim_all(place.open()) == MANY
