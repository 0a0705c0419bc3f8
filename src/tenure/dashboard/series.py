"""Figures over time, from the store's rollups, and how the queues stood, from its samples.

What is over does not change any more: so each minute is read and added up once, however often it is shown and however wide a step
is, and a look reads the last minutes alone. The steps are kept by span, in the process.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final, Generic, NamedTuple, Protocol, Self, TypeVar

from tenure.client.async_queue import AsyncQueue
from tenure.clock import from_micros, machine_micros
from tenure.errors import FieldError
from tenure.figures import Histogram, Rollup, Sample

__all__ = ["SPANS", "Figures", "Span", "now", "span_of"]


class Span(NamedTuple):
    """How far back one looks, and in what steps, in seconds."""

    seconds: int
    step: int


SPANS: Final[Mapping[str, Span]] = {
    "5m": Span(300, 60),
    "1h": Span(3_600, 60),
    "6h": Span(21_600, 300),
    "24h": Span(86_400, 900),
    "7d": Span(604_800, 7_200),
}
_SHARES: Final = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
_NONE: Final = [None] * len(_SHARES)
_SETTLED: Final = 120
"""So many seconds after its end nobody tells anything of a step any more: by the store's clock, which may differ from ours."""
_MINUTE: Final = 60
_DRAWN: Final = 6
"""How many queues are drawn apart: the deepest."""


def span_of(name: str) -> Span:
    """The span that is meant."""
    if name not in SPANS:
        raise FieldError("span", f"must be one of {', '.join(SPANS)}", name)
    return SPANS[name]


def now() -> datetime:
    """This machine's time; figures are a minute wide, and a small difference to the store's is no matter."""
    return from_micros(machine_micros())


@dataclass(slots=True)
class _Step:
    """What all workers did in one step of time."""

    done: int = 0
    failed: int = 0
    dead: int = 0
    cancelled: int = 0
    wait: Histogram = field(default_factory=Histogram)
    run: Histogram = field(default_factory=Histogram)
    queues: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    """Jobs done, by queue."""

    def add(self, row: Rollup) -> None:
        self.done += row.done
        self.failed += row.failed
        self.dead += row.dead
        self.cancelled += row.cancelled
        self.wait.merge(row.waited)
        self.run.merge(row.ran)
        self.queues[row.queue] += row.done

    def copy(self) -> _Step:
        return replace(self, wait=self.wait.copy(), run=self.run.copy(), queues=self.queues.copy())

    @property
    def error_rate(self) -> float | None:
        """The share of attempts that failed; None: there were none."""
        tried = self.done + self.failed
        return round(self.failed / tried, 4) if tried else None


@dataclass(slots=True)
class _Stood:
    """How the queues stood in one step of time."""

    whole: Sample | None = None
    depths: dict[str, int] = field(default_factory=dict)
    """Ready jobs, by queue."""

    def add(self, row: Sample) -> None:
        if row.queue:
            self.depths[row.queue] = max(row.ready, self.depths.get(row.queue, 0))
        else:
            self.whole = row if self.whole is None else _most(self.whole, row)

    def copy(self) -> _Stood:
        return _Stood(self.whole, self.depths.copy())


def _most(one: Sample, other: Sample) -> Sample:
    """The most of both."""
    ages = [age for age in (one.oldest_ready, other.oldest_ready) if age is not None]
    return Sample(
        at=one.at, queue=one.queue, ready=max(one.ready, other.ready), running=max(one.running, other.running),
        oldest_ready=max(ages, default=None), busy=max(one.busy, other.busy), slots=max(one.slots, other.slots),
    )  # fmt: skip


class _Row(Protocol):
    """What is read of a store: it has its time."""

    @property
    def at(self) -> datetime: ...


class _Adding(Protocol):
    """A step that rows are added to."""

    def add(self, row: Any, /) -> None: ...

    def copy(self) -> Self: ...


S = TypeVar("S", bound=_Adding)
_Read = Callable[[AsyncQueue, datetime, datetime, int], Awaitable[Iterable[_Row]]]


class _Window(Generic[S]):
    """The steps of one span; what is known of their minutes that are over is kept."""

    def __init__(self, span: Span, read: _Read, make: Callable[[], S]) -> None:
        self.span, self._read, self._make = span, read, make
        self._kept: dict[int, S] = {}
        self._until = 0
        """Before it, everything was read."""

    async def read(self, queue: AsyncQueue) -> tuple[list[int], dict[int, S]]:
        """When the steps begin, and those in which anything happened."""
        step, moment = self.span.step, int(now().timestamp())
        last = moment // step * step
        first = last - self.span.seconds + step
        settled = (moment - _SETTLED) // _MINUTE * _MINUTE
        since = max(first, self._until)
        kept = {at: one for at, one in self._kept.items() if at >= first}
        turn, over = -(-since // step) * step, settled // step * step
        if turn < over:
            # Whole steps that nobody has looked at yet: the store adds them up, from hours where it can.
            early = await self._read(queue, _moment(since), _moment(turn), _MINUTE) if since < turn else ()
            kept = self._added(kept, early)
            kept = self._added(kept, await self._read(queue, _moment(turn), _moment(over), step))
            since = over
        found = list(await self._read(queue, _moment(since), _moment(last + step), _MINUTE))
        kept = self._added(kept, (row for row in found if row.at.timestamp() < settled))
        steps = self._added(kept, (row for row in found if row.at.timestamp() >= settled))
        # Whoever else looks meanwhile began with what there was, and comes to the same.
        self._kept, self._until = kept, max(settled, since)
        return list(range(first, last + 1, step)), {at: one for at, one in steps.items() if at <= last}

    def _added(self, steps: Mapping[int, S], rows: Iterable[_Row]) -> dict[int, S]:
        """These and the rows, each in its step; those given stay as they are."""
        made, mine = dict(steps), set[int]()
        for row in rows:
            at = int(row.at.timestamp()) // self.span.step * self.span.step
            if at not in mine:
                mine.add(at)
                made[at] = made[at].copy() if at in made else self._make()
            made[at].add(row)
        return made


class Figures:
    """What is drawn over time, and what was done just now."""

    def __init__(self) -> None:
        self._windows = {span: _Window(span, _counted, _Step) for span in SPANS.values()}
        self._stood = {span: _Window(span, _sampled, _Stood) for span in SPANS.values()}
        self._lately = _Window(SPANS["5m"], _counted, _Step)

    async def series(self, queue: AsyncQueue, span: Span) -> dict[str, Any]:
        """Everything that is drawn over time."""
        times, steps = await self._windows[span].read(queue)
        _, stood = await self._stood[span].read(queue)
        found = [steps.get(at) for at in times]
        drawn: dict[str, list[Any]] = {
            name: [0 if one is None else getattr(one, name) for one in found]
            for name in ("done", "failed", "dead", "cancelled")
        }
        drawn["error_rate"] = [None if one is None else one.error_rate for one in found]
        were = [stood.get(at) for at in times]
        drawn |= _standing([None if one is None else one.whole for one in were])
        for name in ("wait", "run"):
            told = [
                _NONE if one is None else getattr(one, name).quantiles(*_SHARES.values()) for one in found
            ]
            for at, share in enumerate(_SHARES):
                drawn[f"{name}_{share}"] = [one[at] for one in told]
        return {"step": span.step, "times": times, "series": drawn, "depths": _depths(were)}

    async def rates(self, queue: AsyncQueue) -> dict[str, Any]:
        """Jobs a second by queue and in all over the last minute or two, 0 where there were some lately; and the share of attempts that failed lately."""
        times, steps = await self._lately.read(queue)
        done = sum(one.done for one in steps.values())
        failed = sum(one.failed for one in steps.values())
        long = max(now().timestamp() - times[-1], 0.0) + _MINUTE
        by: dict[str, float] = {name: 0.0 for one in steps.values() for name in one.queues}
        for at in times[-2:]:
            if at in steps:
                for name, count in steps[at].queues.items():
                    by[name] += count / long
        share = failed / (done + failed) if done + failed else 0.0
        return {"rate": round(sum(by.values()), 2), "error_rate": round(share, 4), "queues": {q: round(r, 2) for q, r in by.items()}}  # fmt: skip


async def _counted(queue: AsyncQueue, since: datetime, until: datetime, step: int) -> list[Rollup]:
    return await queue.rollups(since, until, step=step)


async def _sampled(queue: AsyncQueue, since: datetime, until: datetime, step: int) -> list[Sample]:
    return await queue.samples(since, until, step=step)


def _standing(found: Sequence[Sample | None]) -> dict[str, list[Any]]:
    """All queues together; None where nobody put anything down."""
    return {
        "ready": [None if one is None else one.ready for one in found],
        "busy": [None if one is None else one.busy for one in found],
        "slots": [None if one is None else one.slots for one in found],
        "oldest": [
            None if one is None else 0.0 if one.oldest_ready is None else one.oldest_ready.total_seconds()
            for one in found
        ],
    }


def _depths(found: Sequence[_Stood | None]) -> list[dict[str, Any]]:
    """Ready jobs over time of the queues that were deepest; none where a queue has no row, nobody knows where there is no sample."""
    most: dict[str, int] = defaultdict(int)
    for one in found:
        for name, depth in () if one is None else one.depths.items():
            most[name] = max(most[name], depth)
    deepest = sorted((name for name in most if most[name]), key=lambda name: (-most[name], name))[:_DRAWN]
    return [
        {"queue": name, "ready": [None if one is None else one.depths.get(name, 0) for one in found]}
        for name in deepest
    ]


def _moment(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
