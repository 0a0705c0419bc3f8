"""What a worker counts of a batch: every job, and how long they took by a sample where there are many alike."""

from __future__ import annotations

import time
from typing import Any

import pytest

import tenure
from tenure.figures import ErrorTally, Tally
from tenure.job import CLAIM_COLUMNS
from tenure.outcome import Outcome
from tenure.worker.figures import Figures

NOW = 1_900_000_000_000_000


def ended(kind: str, *, ran: float = 1.0, waited: float = 8.0, queue: str = "default") -> tenure.Claim:
    """A claim of a job that has just ended."""
    row: dict[str, Any] = dict.fromkeys(CLAIM_COLUMNS)
    row |= {
        "id": "j",
        "seq": 1,
        "epoch": 1,
        "kind": kind,
        "queue": queue,
        "attempt": 1,
        "max_attempts": 2,
        "crashes": 0,
    }
    row |= {"created_at": 0, "run_at": NOW - round(waited * 1e6), "started_at": NOW}
    claim = tenure.Claim(list(row.values()), "worker")
    claim.began = time.monotonic()
    claim.ended = claim.began + ran
    return claim


class Told:
    """Stands where the store is, and keeps what it is told."""

    def __init__(self) -> None:
        self.tallies: dict[str, Tally] = {}
        self.errors: list[ErrorTally] = []

    def add_figures(self, source: str, tallies: Any, errors: Any) -> None:
        assert source == "worker"
        self.tallies = {f"{t.queue}/{t.kind}": t for t in tallies}
        self.errors = list(errors)


def counted(*batches: list[tuple[tenure.Claim, Outcome]]) -> Told:
    figures, told = Figures(), Told()
    for batch in batches:
        figures.received([claim for claim, _ in batch])
        figures.count(batch)
    figures.tell(told, "worker", now=True)  # type: ignore[arg-type]
    return told


def near(told: float | None, wanted: float) -> bool:
    return told is not None and wanted / 1.1 < told < wanted * 1.1


@pytest.mark.parametrize("many", [1, 49, 50, 99, 101, 549, 2_000])
def test_as_many_have_times_as_were_counted(many: int) -> None:
    tally = counted([(ended("mail"), tenure.Done()) for _ in range(many)]).tallies["default/mail"]
    assert (tally.done, tally.waited.count, tally.ran.count) == (many, many, many)
    assert near(tally.ran.quantile(0.5), 1.0)
    assert near(tally.waited.quantile(0.5), 8.0)


def test_a_sample_of_a_large_batch_tells_its_quantiles() -> None:
    batch: list[tuple[tenure.Claim, Outcome]] = [
        (ended("mail", ran=0.001 * n), tenure.Done()) for n in range(1, 1_001)
    ]
    tally = counted(batch).tallies["default/mail"]
    for share in (0.1, 0.5, 0.9):
        told = tally.ran.quantile(share)
        assert told is not None
        assert share / 1.3 < told < share * 1.3


def test_a_rare_kind_in_a_large_batch_keeps_its_times() -> None:
    many: list[tuple[tenure.Claim, Outcome]] = [(ended("mail"), tenure.Done()) for _ in range(500)]
    told = counted([*many[:7], (ended("slow", ran=60.0), tenure.Done()), *many[7:]])
    assert told.tallies["default/mail"].done == 500
    assert told.tallies["default/slow"].done == 1
    assert near(told.tallies["default/slow"].ran.quantile(1), 60.0)


def test_a_kind_in_several_queues_is_counted_in_each() -> None:
    told = counted([
        *[(ended("mail", queue=queue, ran=ran), tenure.Done()) for queue, ran in (("a", 1.0), ("b", 4.0)) for _ in range(60)],
        *[(ended("sms", queue="b", ran=16.0), tenure.Done()) for _ in range(9)],
        (ended("mail", queue="a"), tenure.Cancelled()),
    ])  # fmt: skip
    assert {name: (t.done, t.cancelled, t.ran.count) for name, t in told.tallies.items()} == {
        "a/mail": (60, 1, 60), "b/mail": (60, 0, 60), "b/sms": (9, 0, 9),
    }  # fmt: skip
    for name, ran in (("a/mail", 1.0), ("b/mail", 4.0), ("b/sms", 16.0)):
        assert near(told.tallies[name].ran.quantile(1), ran)


def test_failures_are_counted_beside_what_is_done() -> None:
    told = counted([
        (ended("mail"), tenure.Done()),
        (ended("mail"), tenure.Fail("no user 1")),
        (ended("mail"), tenure.Fail("no user 2")),
        (ended("mail"), tenure.Bury("never")),
        (ended("mail"), tenure.Release()),
        (ended("mail"), tenure.Snooze("1m")),
        (ended("mail"), tenure.Cancelled()),
    ])  # fmt: skip
    tally = told.tallies["default/mail"]
    assert (tally.done, tally.failed, tally.dead, tally.cancelled, tally.ran.count) == (1, 3, 1, 1, 4)
    assert sorted((e.count, e.dead, e.message) for e in told.errors) == [(1, 1, "never"), (2, 0, "no user 2")]


def test_failures_without_end_are_kept_apart_up_to_a_point() -> None:
    words = ["".join(chr(ord("g") + int(d)) for d in str(n)) for n in range(900)]
    told = counted([(ended("mail"), tenure.Fail(word)) for word in words])
    assert sum(e.count for e in told.errors) == 900
    assert len(told.errors) == 501


def test_nothing_counted_is_nothing_told() -> None:
    told = counted([])
    assert told.tallies == {}
    assert told.errors == []
