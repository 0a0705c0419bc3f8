"""The keeper: whose leases it renews, and what it keeps in memory meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, cast
from weakref import WeakSet

from tenure.client.queue import Queue
from tenure.job import Claim, Renewed
from tenure.worker.lease import Keeper


class _Renewing:
    """A queue that only renews, and notes for which jobs it was asked; `meanwhile` happens while it is."""

    def __init__(self, meanwhile: Callable[[], object]) -> None:
        self.asked, self._meanwhile = list[list[str]](), meanwhile

    def renew(self, claims: Sequence[Claim], **_: object) -> Renewed:
        self.asked.append([claim.id for claim in claims])
        self._meanwhile()
        return Renewed(frozenset(), frozenset(), frozenset())


def _claims(count: int) -> set[Claim]:
    return {Claim((f"{n:05}", n, 1, "k", *[None] * 12), "w") for n in range(count)}


def _renewed(held: set[Claim], meanwhile: Callable[[], object]) -> list[list[str]]:
    queue = _Renewing(meanwhile)
    keeper = Keeper(
        cast("Queue", queue), worker="w", queues=None, kinds=["k"], lease=timedelta(seconds=30), held=held, runs={},
        renewed=lambda *_: None, outage=lambda *_: None, about=dict,
    )  # fmt: skip
    cast("Any", keeper)._keep()
    return queue.asked


def test_all_that_is_held_is_renewed_a_thousand_at_a_time() -> None:
    held = _claims(2_500)
    asked = _renewed(held, lambda: None)
    assert [len(part) for part in asked] == [1_000, 1_000, 500]
    assert {job_id for part in asked for job_id in part} == {claim.id for claim in held}


def test_what_is_settled_meanwhile_is_neither_renewed_nor_kept_in_memory() -> None:
    held = _claims(5_000)
    living, left = WeakSet(held), list[int]()

    def settle_all() -> None:
        held.clear()
        left.append(len(living))

    asked = _renewed(held, settle_all)
    assert [len(part) for part in asked] == [1_000]
    assert left == [1_000]
