"""What the first release stored, found again, finished and gone on with, by whichever release is on the path.

python -m tests.proof.upgrade.found URL FACTS        # prints where its code is
"""

from __future__ import annotations

import json
import sys
from typing import Any

import tenure
from tenure.job import Claim
from tests.proof.intact import intact

__all__ = ["find_again", "finish"]

_SEEN = ("state", "kind", "payload", "priority", "attempt")


def find_again(url: str, facts: dict[str, Any]) -> None:
    """Every job, with all that belongs to it."""
    with tenure.open(url) as q:
        for name, expected in facts["jobs"].items():
            job = q.get(facts["ids"][name])
            assert job is not None
            assert (name, {k: getattr(job, k) for k in _SEEN}) == (name, expected)
        done, dead = q.get(facts["ids"]["done"]), facts["ids"]["dead"]
        assert done is not None
        assert done.result == {"sent": True}
        assert [a.message for a in q.history(dead)] == ["first", "second"]
        assert q.request(dead) == tenure.Request(b"body \x00\xff", {"h": "v"})
        assert list(q.paused()) == ["paused"]
        assert q.note("agreed") == "text"
        assert [s.name for s in q.schedules()] == ["nightly"]
        assert [a.who for a in q.audits()] == ["ann"]
        assert not q.enqueue("period", unique="hook:1", unique_for="1h").inserted
        assert q.enqueue("unique", unique="slot").id == facts["ids"]["unique"]


def finish(url: str, facts: dict[str, Any]) -> None:
    """The claim that was held, and whatever waits; then all of it goes."""
    with tenure.open(url) as q:
        assert q.settle(Claim(facts["claim"], "w"), tenure.Done("late, but its own"))
        assert q.replay(facts["ids"]["dead"]) == "replayed"
        while claims := q.claim(10):
            assert all(q.settle_many([(claim, tenure.Done()) for claim in claims]))
        left = {state: n for state, n in q.counts()["default"].items() if n}
        # The hook's own job, made by the death, is done too.
        assert left == {"done": 9, "scheduled": 1, "cancelled": 1}
        assert q.purge(tenure.Filter(states=["done"])) == 9
    intact(url)


def _main(url: str, facts: str) -> None:
    known = json.loads(facts)
    find_again(url, known)
    finish(url, known)
    sys.stdout.write(f"{tenure.__file__}\n")


if __name__ == "__main__":
    _main(*sys.argv[1:])
