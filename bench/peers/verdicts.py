"""What is to be reached: each line a ratio of two medians of the same run, with the least (or most) it should be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from bench.measure import said
from bench.peers.arena import Cell
from bench.peers.works import IDEAL, LINES, WAITING

__all__ = ["Run", "Verdict", "remarks", "table", "verdicts"]

PG, LITE = "tenure-postgres", "tenure-sqlite"
SQL_PEERS = ("graphile", "graphile-batched", "pgboss", "pgqueuer", "procrastinate")
GRAPHILE = ("graphile", "graphile-batched")
PINNED = tuple(name for name in SQL_PEERS if name != "procrastinate")
"""Long tables are for the fast ones."""
_ONCE = "†"
_SHARE = f"5 ms jobs at concurrency {WAITING}, share of the ideal {IDEAL:,.0f}/s"


class Run(Protocol):
    """What was measured, and who took no part."""

    cells: dict[str, dict[str, Cell]]
    """By work, then by contestant."""
    absent: dict[str, str]


@dataclass(frozen=True)
class Verdict:
    """One line of the table."""

    what: str
    store: str
    ours: float | None
    theirs: float | None
    ratio: float | None
    want: str
    reached: bool | None
    """None: it could not be told in this run."""
    whose: str = ""
    why: str = ""
    """Why it could not be told."""
    rounds: int | None = None
    """How many rounds it rests on: of the figures compared, the fewest that one of them is the median of."""

    def as_dict(self) -> dict[str, Any]:
        """As it is kept."""
        rounded = {k: round(v, 4) if isinstance(v, float) else v for k, v in vars(self).items()}
        return dict(rounded)


class _Judge:
    """Compares medians of one run."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.lines: list[Verdict] = []

    def figure(self, work: str, name: str, figure: str = "rate") -> float | None:
        cell = self._run.cells.get(work, {}).get(name)
        return None if cell is None or cell.failed else cell.median(figure)

    def rounds(self, figure: str, *compared: tuple[str, str]) -> int | None:
        """The fewest rounds that anybody compared has the figure of: of each, the work and the name."""
        cells = [self._run.cells.get(work, {}).get(name) for work, name in compared]
        return min((sum(figure in r for r in cell.rounds) for cell in cells if cell), default=None)

    def missing(self, work: str, names: tuple[str, ...]) -> str:
        """Who of these should have a figure and has none, and why: a line must not be won because a rival stumbled."""
        cells, why = self._run.cells.get(work, {}), []
        for name in names:
            if name in self._run.absent:
                why.append(f"{name} took no part")
            elif name not in cells:
                why.append(f"{name} was not measured")
            elif cells[name].failed or not cells[name].rounds:
                why.append(f"{name} failed")
        return "; ".join(why)

    def best(
        self, work: str, names: tuple[str, ...], figure: str = "rate", *, low: bool = False
    ) -> tuple[float | None, str]:
        found = [(v, n) for n in names if (v := self.figure(work, n, figure)) is not None]
        if not found:
            return None, ""
        return min(found) if low else max(found)

    def against(
        self, what: str, us: str, peers: tuple[str, ...], work: str, want: float, *,
        figure: str = "rate", at_most: bool = False, their_work: str = "", low: bool = False,
    ) -> None:  # fmt: skip
        """Our median over the best of theirs."""
        ours = self.figure(work, us, figure)
        theirs, whose = self.best(their_work or work, peers, figure, low=at_most or low)
        why = self.missing(work, (us,)) or self.missing(their_work or work, peers)
        rounds = self.rounds(figure, (work, us), (their_work or work, whose))
        self._add(what, us, ours, theirs, want, at_most=at_most, whose=whose, why=why, rounds=rounds)

    def itself(
        self,
        what: str,
        us: str,
        work: str,
        figure: str,
        want: float,
        *,
        unit: float = 1.0,
        at_most: bool = True,
    ) -> None:
        """Our median against a fixed figure."""
        ours = self.figure(work, us, figure)
        why, rounds = self.missing(work, (us,)), self.rounds(figure, (work, us))
        self._add(what, us, ours, unit, want, at_most=at_most, why=why, rounds=rounds)

    def grown(self, what: str, us: str, work: str, want: float, without: tuple[str, ...]) -> None:
        """How much more a job costs in a work than where it is cheapest without what the work puts beside it."""
        fastest = [v for figure in without if (v := self.figure(work, us, figure)) is not None]
        ours, why = self.figure(work, us), self.missing(work, (us,))
        rounds = self.rounds("rate", (work, us))
        self._add(
            what, us, ours, max(fastest, default=None), want, at_most=True, why=why, costs=True, rounds=rounds
        )

    def _add(
        self,
        what: str,
        us: str,
        ours: float | None,
        theirs: float | None,
        want: float,
        *,
        at_most: bool,
        whose: str = "",
        why: str = "",
        costs: bool = False,
        rounds: int | None = None,
    ) -> None:
        """`costs`: both are paces, and the line is about what a job costs."""
        over, under = (theirs, ours) if costs else (ours, theirs)
        ratio = over / under if over is not None and under and not why else None
        reached = None if ratio is None else ratio <= want if at_most else ratio >= want
        store = "PostgreSQL" if us == PG else "SQLite"
        wanted = f"{'≤' if at_most else '≥'} {want:g}"
        self.lines.append(Verdict(what, store, ours, theirs, ratio, wanted, reached, whose, why, rounds))


def verdicts(run: Run) -> list[Verdict]:
    """All lines that this run can tell."""
    judge = _Judge(run)
    judge.against("drain, 1 worker, against graphile-worker's best", PG, GRAPHILE, "drain", 1.5)
    judge.against("the same: the floor", PG, GRAPHILE, "drain", 1.2)
    judge.against("drain, 1 worker, against PgQueuer", PG, ("pgqueuer",), "drain", 4)
    judge.against("drain, 1 worker, against procrastinate", PG, ("procrastinate",), "drain", 60)
    judge.against("drain, 1 worker, against huey", LITE, ("huey",), "drain", 15)
    judge.against("drain, 2 workers, against graphile-worker's best", PG, GRAPHILE, "drain2", 1.3)
    judge.against("drain, 2 workers, against PgQueuer", PG, ("pgqueuer",), "drain2", 2.5)
    judge.against("drain, 2 workers, against huey with two", LITE, ("huey",), "drain2", 10)
    judge.against("drain, 1 worker, against Celery on Redis", PG, ("celery",), "drain", 50)
    judge.against("drain, 1 worker, against Celery on Redis", LITE, ("celery",), "drain", 60)
    # Of the peers on the same database: Huey's file and Redis have no server between them and the disk, or no disk.
    judge.against("enqueue one, against the best peer on PostgreSQL", PG, SQL_PEERS, "enqueue", 1.2)
    judge.against("enqueue one, against the best peer at FULL", LITE, ("huey",), "enqueue", 1.2)
    judge.against("bulk, against the best peer on PostgreSQL", PG, SQL_PEERS, "bulk", 2)
    judge.against(
        "bulk, against the best peer's single enqueue", LITE, ("huey",), "bulk", 10, their_work="enqueue"
    )
    judge.against(
        "pick-up p50, against the best SQL peer", PG, SQL_PEERS, "pickup", 1, figure="p50", at_most=True
    )
    judge.against(
        "pick-up p99, against the best SQL peer", PG, SQL_PEERS, "pickup", 1, figure="p99", at_most=True
    )
    judge.against("pick-up p50, against huey", LITE, ("huey",), "pickup", 0.1, figure="p50", at_most=True)
    judge.itself("pick-up p99, in ms", LITE, "pickup", "p99", 15)
    for us in (PG, LITE):
        judge.against("sync handlers, against Celery", us, ("celery",), "threaded", 3)
        judge.against("sync handlers, against dramatiq", us, ("dramatiq",), "threaded", 1.5)
    judge.itself(
        _SHARE,
        PG,
        "wait",
        "rate",
        0.6,
        unit=IDEAL,
        at_most=False,
    )
    judge.itself(
        _SHARE,
        LITE,
        "wait",
        "rate",
        0.4,
        unit=IDEAL,
        at_most=False,
    )
    for us in (PG, LITE):
        shorter = tuple(f"of {n:,}" for n in LINES)
        judge.grown(
            "cost per job, at the head of 1,000,000 against the cheapest shorter line",
            us,
            "depth",
            1.3,
            shorter,
        )
        judge.grown("cost per job, beside a long history against none", us, "finished", 1.3, ("without",))
    judge.itself(
        "vacuum pinned: the last third's pace against the start's", PG, "pinned", "kept", 0.85, at_most=False
    )
    judge.against("vacuum pinned: the last third's pace, against the best peer", PG, PINNED, "pinned", 1)
    for us in (PG, LITE):
        judge.itself("idle worker, share of a core", us, "idle", "cpu", 0.01)
    judge.itself("idle worker, statements/s", PG, "idle", "queries", 5)
    judge.against(
        "memory of a worker after a drain, against PgQueuer",
        PG,
        ("pgqueuer",),
        "drain",
        1.2,
        figure="rss",
        at_most=True,
    )
    judge.itself("memory of a worker after a drain, in MB", LITE, "drain", "rss", 60)
    return judge.lines


def table(lines: list[Verdict]) -> str:
    """The lines as a table of Markdown."""
    rows = ["| | store | Tenure | other | ratio | wanted | |", "|---|---|---|---|---|---|---|"]
    for line in lines:
        mark = (
            f"not measured: {line.why}".removesuffix(": ")
            if line.reached is None
            else "reached"
            if line.reached
            else "**missed**"
        )
        if line.reached is not None and line.rounds == 1:
            mark += f" {_ONCE}"
        other = (
            f"{_told(line.theirs)} ({line.whose})"
            if line.whose
            else ""
            if line.theirs == 1
            else _told(line.theirs)
        )
        ratio = "-" if line.ratio is None else f"{line.ratio:.2f}"
        rows.append(
            f"| {line.what} | {line.store} | {_told(line.ours)} | {other} | {ratio} | {line.want} | {mark} |"
        )
    return "\n".join(rows)


def remarks(lines: list[Verdict], run: Run, titles: Mapping[str, str]) -> list[str]:
    """What is to be said beneath the table, each a sentence of its own."""
    shares = {
        name: share
        for name, cell in run.cells.get("wait", {}).items()
        if not cell.failed and (share := cell.median("share")) is not None
    }
    told = ", ".join(
        f"{titles.get(name, name)} {shares[name]:.2f}" for name in sorted(shares, key=lambda n: -shares[n])
    )
    return [*([f"{_SHARE}, of all who run as many at a time: {told}."] if told else []), *_marked(lines)]


def _marked(lines: list[Verdict]) -> list[str]:
    once = any(line.reached is not None and line.rounds == 1 for line in lines)
    return (
        [f"Each {_ONCE} is a line that rests on a single round, of Tenure's or of the other's."]
        if once
        else []
    )


def _told(value: float | None) -> str:
    return "-" if value is None else said(value)
