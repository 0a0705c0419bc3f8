"""Every store does what the contract says, whatever is said to it in whatever order: the model is played beside it."""

from __future__ import annotations

import doctest
import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tenure.job import TRANSITIONS
from tests.proof import depth
from tests.proof.model import reference
from tests.proof.model.broken import BROKEN
from tests.proof.model.forgetful import FORGETFUL
from tests.proof.model.machine import play
from tests.proof.model.pair import MAX_CRASHES, Pair
from tests.proof.model.reference import Reference
from tests.proof.model.words import CARRIED, MOVES
from tests.proof.tally import Tally
from tests.support.clock import MovedClock
from tests.support.places import Loop, Place, Way
from tests.support.schemas import take

_PARTS = depth.of(test=1, proof=5)
"""A store's run, in as many tests, so that they can be played side by side."""
EACH, STALE, STALE_RUNNING, REPEATED = (often // 5 for often in (50, 500, 100, 100))
"""How often each must have happened by the end of a part of the proof: 50 times each move and 500 stale settles on a store."""
_AT_ONCE, _TRIES, _FAR_TOO_MANY = 11, 30, 20_000
_WRITES = {
    "sqlite": depth.of(test=900, proof=4_000),
    "shared": depth.of(test=300, proof=2_000),
    "postgres": depth.of(test=200, proof=1_000),
}
"""Calls that change something, in a part; half of them are said to a Queue, half to an AsyncQueue."""
_THROUGH = (
    "claim",
    "fail",
    "snooze",
    "release",
    "reclaim",
    "vanished",
    "absolve",
    "replay",
    "retain",
    "purge",
)
"""What jobs must have gone through with everything that they carry."""
_TABLES = ("jobs", "attempts", "ledger", "queues", "workers", "requests")
_BROKEN = [
    *(b.model for b in BROKEN[: depth.of(test=2, proof=len(BROKEN))]),
    *FORGETFUL[: depth.of(test=1, proof=len(FORGETFUL))],
]
NEVER = {
    # Only jobs of hooks are cancelled by an absolution, and the model has no hooks; test_on_dead.py in tests/conformance has.
    ("absolve", "scheduled", "cancelled"),
    ("absolve", "ready", "cancelled"),
}


@pytest.fixture(params=["sqlite", "shared", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path, postgres_url: str) -> Iterator[Place]:
    """A fresh store."""
    store: Any = request.param
    path, schema = tmp_path / "jobs.db", take() if store == "postgres" else ""
    urls = {
        "sqlite": f"sqlite:///{path}?durability=normal",
        "shared": f"sqlite:///{path}?shared=true&durability=normal",
        "postgres": f"{postgres_url}?schema={schema}",
    }
    loop = Loop()
    made = Place(
        store, "sync", urls[store], None if store == "postgres" else path, postgres_url, schema, loop
    )
    yield made
    made.close()
    loop.close()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", range(_PARTS))
def test_a_store_does_whatever_the_contract_says(place: Place, part: int, seed: int, tally: Tally) -> None:
    counts: dict[Way, Counter[str]] = {"sync": Counter(), "async": Counter()}
    starts = {way: _beginnings(place, way, count, Reference) for way, count in counts.items()}
    drawn = random.Random(f"{seed}-model-{place.store}-{part}")
    wanted = _WRITES[place.store] // 2
    for way, count in counts.items():
        while (left := wanted - count["writes"]) > 0:
            play(starts[way], examples=min(max(left // 100, 2), _AT_ONCE), seed=drawn.getrandbits(32))
    ways = itertools.cycle(starts)
    while depth.DEPTH != "test" and (missing := _missing(counts["sync"] + counts["async"])):
        assert counts["sync"]["writes"] < _FAR_TOO_MANY, f"too seldom: {missing}"
        towards = {name.partition(":")[0] for name in missing}
        play(starts[next(ways)], examples=_AT_ONCE, seed=drawn.getrandbits(32), towards=towards)
    both = counts["sync"] + counts["async"]
    tally.on(place.store, writes=both["writes"], stale_settles=both["stale settles"])
    tally(idle_calls=both["idle calls"], reads=both["reads"], async_writes=counts["async"]["writes"])
    tally(moves=sum(count for name, count in both.items() if "→" in name), disagreements=0)


@pytest.mark.parametrize("broken", _BROKEN, ids=lambda model: model.__name__)
@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_store_that_breaks_a_rule_is_found(
    broken: type[Reference], place: Place, seed: int, tally: Tally
) -> None:
    start = _beginnings(place, "sync", Counter(), broken)
    drawn = random.Random(f"{seed}-broken-{broken.__name__}")
    with pytest.raises(AssertionError, match=r"the store answers|store, contract|other jobs"):
        for _ in range(_TRIES):
            play(start, examples=_AT_ONCE, seed=drawn.getrandbits(32), shrink=False)
    tally(broken_rules_found=1)


def _beginnings(place: Place, way: Way, counts: Counter[str], model: type[Reference]) -> Callable[[], Pair]:
    """Empties the store, and gives it to a new pair that calls it this way."""
    clock = MovedClock()
    q = replace(place, way=way).open(clock=clock, max_crashes=MAX_CRASHES)

    def start() -> Pair:
        for table in (*_TABLES, "finished") if place.store == "postgres" else _TABLES:
            place.sql(f"DELETE FROM tenure.{table}")
        return Pair(q, clock, counts, model)

    return start


def _missing(counts: Counter[str]) -> dict[str, int]:
    """What has not happened often enough yet."""
    wanted = {f"{c}: {was} → {now}": EACH for c, moves in MOVES.items() for was, now in moves}
    wanted |= {f"{cause}: with {name}": EACH for cause in _THROUGH for name in CARRIED}
    wanted |= {"stale settles": STALE, "stale settles of jobs that run again": STALE_RUNNING}
    wanted |= {
        "repeated settles": REPEATED,
        "duplicates": EACH,
        "conflicts": EACH,
        "stale renews": EACH,
    }
    return {name: counts[name] for name, often in wanted.items() if counts[name] < often}


def test_the_model_s_moves_are_the_life_of_a_job_as_the_store_writes_it_down() -> None:
    written = {(verb, was, now) for verb, moves in TRANSITIONS.items() for was, now in moves}
    deleted = {"retain", "purge"}
    model = {(c, was, now) for c, moves in MOVES.items() if c not in deleted for was, now in moves}
    assert written - model == NEVER
    assert model <= written


def test_what_the_model_says_of_itself_is_so() -> None:
    assert doctest.testmod(reference).failed == 0
