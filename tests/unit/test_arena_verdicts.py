"""The arena's verdicts: a line is judged only where everybody whom it names has a figure."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from bench.peers.arena import Arena, Cell
from bench.peers.contestants import CONTESTANTS
from bench.peers.servers import Servers
from bench.peers.verdicts import Verdict, remarks, table, verdicts
from bench.peers.works import Sizes, share

BEST = "drain, 1 worker, against graphile-worker's best"


def line(arena: Arena, what: str) -> Verdict:
    return next(v for v in verdicts(arena) if v.what == what)


@pytest.fixture
def arena() -> Iterator[Arena]:
    """A drain that Tenure wins against one of two rivals."""
    rates = {"tenure-postgres": 60.0, "graphile": 3.0, "graphile-batched": 50.0}
    with ExitStack() as stack:
        made = Arena(Servers(stack), Sizes())
        made.cells["drain"] = {name: Cell([{"rate": rate}]) for name, rate in rates.items()}
        yield made


def test_it_is_the_best_of_them_that_counts(arena: Arena) -> None:
    found = line(arena, BEST)
    assert (found.ratio, found.reached, found.whose) == (1.2, False, "graphile-batched")


def test_a_line_that_rests_on_a_single_round_says_so(arena: Arena) -> None:
    cells = arena.cells["drain"]
    for cell in cells.values():
        cell.rounds *= 3
    found = line(arena, BEST)
    assert (found.rounds, remarks([found], arena, {})) == (3, [])
    assert table([found]).endswith("| **missed** |")
    cells["graphile-batched"].rounds = cells["graphile-batched"].rounds[:1]
    found = line(arena, BEST)
    assert (found.rounds, found.as_dict()["rounds"]) == (1, 1)
    assert table([found]).endswith("| **missed** † |")
    assert remarks([found], arena, {}) == [
        "Each † is a line that rests on a single round, of Tenure's or of the other's."
    ]


def test_the_share_of_the_ideal_is_told_of_all_who_have_as_many_at_a_time(arena: Arena) -> None:
    known = {c.name: c for c in CONTESTANTS}
    assert [share(known[name], 10_000.0) for name in ("graphile", "pgqueuer", "huey", "dramatiq")] == [
        {"share": 0.25}, {}, {}, {},
    ]  # fmt: skip
    arena.cells["wait"] = {
        "graphile": Cell([{"rate": 10_000.0, "share": 0.25}]),
        "pgqueuer": Cell([{"rate": 20_000.0}]),
        "tenure-postgres": Cell([{"rate": 30_000.0, "share": 0.75}] * 3),
    }
    [told] = remarks(verdicts(arena)[:1], arena, {"graphile": "graphile-worker"})[:1]
    assert told.endswith("at a time: tenure-postgres 0.75, graphile-worker 0.25.")


def test_nobody_wins_because_a_rival_failed(arena: Arena) -> None:
    arena.cells["drain"]["graphile-batched"].failed = "it fell"
    found = line(arena, BEST)
    assert (found.reached, found.why) == (None, "graphile-batched failed")
    assert "| not measured: graphile-batched failed |" in table([found])


def test_nobody_wins_because_a_rival_is_not_there(arena: Arena) -> None:
    del arena.cells["drain"]["graphile-batched"]
    arena.absent["graphile-batched"] = "no Node"
    assert line(arena, BEST).why == "graphile-batched took no part"


def test_a_long_line_is_compared_with_the_cheapest_shorter_one(arena: Arena) -> None:
    arena.cells["depth"] = {
        "tenure-postgres": Cell([{"rate": 40.0, "of 1,000": 20.0, "of 10,000": 60.0, "of 100,000": 50.0}])
    }
    found = line(arena, "cost per job, at the head of 1,000,000 against the cheapest shorter line")
    assert (found.ratio, found.reached) == (1.5, False)
