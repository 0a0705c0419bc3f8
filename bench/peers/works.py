"""The work: what every contestant is asked to do, each piece measured from outside.

A piece of work answers with figures by name; the first is the one that ratios are made of. A figure is a rate (higher is
better) unless its name is in COSTS.
"""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import apsw
import psycopg

from bench.fill import fill_postgres, fill_sqlite
from bench.peers.contestants import Contestant
from bench.peers.driver import Driver, Failed, Workers
from tenure.newjob import lane_of

__all__ = ["COSTS", "IDEAL", "LINES", "SCALE", "WAITING", "WORKS", "Sizes", "Work", "share"]

COSTS = frozenset({"p50", "p99", "max", "rss", "cpu", "queries", "wal", "rows"})
LINES = (1_000, 10_000, 100_000)
"""How long the lines are that the head of a long one is compared with."""
SCALE = (1, 2, 4, 8)
WAITING = 200
"""How many jobs that wait run at a time, of those who are compared with the ideal."""
IDEAL = WAITING / 0.005
"""Jobs of 5 ms a second, were nothing else to be done."""
_MARKS = tuple(n / 20 for n in range(1, 20))
"""Where in a long drain somebody looks how far it is: at every twentieth."""
Figures = dict[str, float]
_PREVIEW = 3.0
_FOREIGN = "somebody_elses"
_FILLING = 60.0
"""Seconds that a contestant has to store what is only to stand there."""


@dataclass(frozen=True)
class Sizes:
    """How much of everything."""

    rounds: int = 3
    trials: int = 2
    """How often each setting is tried."""
    tried: int | None = None
    """How many of them; None: all."""
    seconds: float = 3.0
    """For enqueues one at a time."""
    bulk: int = 100_000
    few: int = 20_000
    many: int = 100_000
    limit: float = 15.0
    picks: int = 300
    steady: int = 5_000
    idle: float = 8.0
    scale: int = 40_000
    deep: int = 1_000_000
    finished: int = 2_000_000
    pinned: int = 500_000
    foreign: int = 1_000_000


QUICK = Sizes(
    rounds=1, trials=1, tried=1, seconds=1.0, bulk=20_000, few=5_000, many=20_000, limit=8.0, picks=60, steady=500, idle=4.0, scale=10_000,
    deep=200_000, finished=100_000, pinned=60_000, foreign=100_000,
)  # fmt: skip


@dataclass(frozen=True)
class Work:
    """One piece of work."""

    name: str
    title: str
    ability: str
    """Whose `works` name this takes part."""
    do: Callable[[Driver, Sizes, float], Figures]
    """Given the pace that the contestant showed in the sweep, in jobs a second."""
    rounds: int | None = None
    """How often, where that is not as often as the rest."""
    peer_rounds: int | None = None
    """How often by others than Tenure, where that is not as often."""
    leaves: bool = False
    """Whether it leaves so much behind that it is thrown away at once: else the server would clean it up while others are measured."""


def _enqueue(concurrency: int) -> Callable[[Driver, Sizes, float], Figures]:
    def do(driver: Driver, sizes: Sizes, _: float) -> Figures:
        driver.call("reset")
        told = driver.call(
            "enqueue", kind="noop", count=1_000_000, concurrency=concurrency, limit=sizes.seconds
        )
        return {"rate": told["count"] / told["seconds"]}

    return do


def enqueue_heard(driver: Driver, sizes: Sizes, _: float) -> Figures:
    """The same, while a worker of another queue or kind sleeps and is woken by each."""
    driver.call("reset")
    with driver.workers(**driver.contestant.elsewhere) as workers:
        time.sleep(2)
        cpu, began = workers.cpu(), time.monotonic()
        told = driver.call("enqueue", kind="noop", count=1_000_000, concurrency=1, limit=sizes.seconds)
        workers.check()
        spent = time.monotonic() - began
        return {"rate": told["count"] / told["seconds"], "cpu": (workers.cpu() - cpu) / spent}


def bulk(driver: Driver, sizes: Sizes, _: float) -> Figures:
    """Many jobs at once."""
    driver.call("reset")
    told = driver.call("bulk", kind="noop", count=sizes.bulk, limit=sizes.limit, chunk=driver.chunk)
    return {"rate": told["count"] / told["seconds"]}


def _drain(
    count: Callable[[Sizes], int],
    *,
    kind: str = "noop",
    processes: int = 1,
) -> Callable[[Driver, Sizes, float], Figures]:
    """Preloaded jobs; a contestant too slow for all of them gets as many as it does in a third of the limit (`jobs` tells)."""

    def do(driver: Driver, sizes: Sizes, pace: float) -> Figures:
        wanted = _wanted(count(sizes), pace, sizes)
        driver.call("reset")
        stored = driver.load(kind, wanted, sizes.limit)
        settings = driver.contestant.waiting if kind == "wait" else {}
        return driver.drain(kind, stored, processes=processes, limit=sizes.limit, **settings)

    return do


def wait(driver: Driver, sizes: Sizes, pace: float) -> Figures:
    """Jobs that wait, many at a time."""
    figures = _drain(lambda s: s.many, kind="wait")(driver, sizes, pace)
    return {**figures, **share(driver.contestant, figures["rate"])}


def share(contestant: Contestant, rate: float) -> Figures:
    """What of the ideal a pace of jobs that wait is; nothing of who has more or fewer of them at a time."""
    return {"share": rate / IDEAL} if contestant.at_once == WAITING else {}


def _wanted(count: int, pace: float, sizes: Sizes) -> int:
    return min(count, max(200, int(pace * sizes.limit / 3)))


def _pick_up(count: Callable[[Sizes], int], gap: float) -> Callable[[Driver, Sizes, float], Figures]:
    def do(driver: Driver, sizes: Sizes, _: float) -> Figures:
        driver.call("reset")
        wanted = count(sizes)
        with driver.workers() as workers:
            time.sleep(2)
            driver.call("paced", kind="stamp", count=5, gap=0.2)
            skip = _settled(workers.latencies, 5)
            driver.call("paced", kind="stamp", count=wanted, gap=gap, timeout=wanted * gap + 60)
            heard = _settled(workers.latencies, skip + wanted)
            spans = sorted(workers.latencies()[skip:])
        if heard < skip + wanted:
            raise Failed(f"{skip + wanted - heard} of {wanted} jobs were not picked up")
        return {"p50": statistics.median(spans), "p99": spans[int(len(spans) * 0.99)], "max": spans[-1]}

    return do


def _settled(latencies: Callable[[], list[float]], wanted: int) -> int:
    until = time.monotonic() + 15
    while len(latencies()) < wanted and time.monotonic() < until:
        time.sleep(0.05)
    return len(latencies())


def idle(driver: Driver, sizes: Sizes, _: float) -> Figures:
    """What a worker costs that has nothing to do: share of a core, statements a second."""
    driver.call("reset")
    with driver.queries() as counted, driver.workers() as workers:
        time.sleep(_PREVIEW)
        cpu, asked, began = workers.cpu(), counted(), time.monotonic()
        time.sleep(sizes.idle)
        spent = time.monotonic() - began
        figures = {"cpu": (workers.cpu() - cpu) / spent, "rss": workers.resident()}
        if driver.contestant.store == "postgres":
            figures["queries"] = (counted() - asked) / spent
    return figures


def footprint(driver: Driver, sizes: Sizes, pace: float) -> Figures:
    """Bytes of log and rows written per job, from its enqueue to its end; of a file, the bytes that its processes have given to the disk."""
    driver.call("reset")
    if driver.contestant.store == "sqlite":
        written = _given_to_disk()
        stored = driver.load("noop", _wanted(sizes.few, pace, sizes), sizes.limit)
        driver.drain("noop", stored, limit=sizes.limit)
        return {"disk": (_given_to_disk() - written) / stored}
    before = _written(driver)
    stored = driver.load("noop", _wanted(sizes.few, pace, sizes), sizes.limit)
    driver.drain("noop", stored, limit=sizes.limit)
    after = _written(driver)
    return {"rows": (after[1] - before[1]) / stored, "wal": (after[0] - before[0]) / stored}


def _given_to_disk() -> int:
    """By all processes that were started here and have ended."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_oublock * 512


def _written(driver: Driver) -> tuple[float, float]:
    with psycopg.connect(driver.url, autocommit=True) as link:
        link.execute("CHECKPOINT")  # or it might fall into what is counted
        time.sleep(1.5)  # the server tells its own figures about once a second
        [(wal, rows)] = link.execute(
            "SELECT pg_current_wal_lsn() - '0/0', tup_inserted + tup_updated + tup_deleted"
            " FROM pg_stat_database WHERE datname = current_database()"
        ).fetchall()
        return float(wal), float(rows)


def depth(driver: Driver, sizes: Sizes, pace: float) -> Figures:
    """The pace at the head of a long line, and around it that of shorter ones."""
    before = {n: _short(driver, n, sizes) for n in LINES if n < sizes.deep and n <= _wanted(n, pace, sizes)}
    rate = _pace_at_the_head(driver, sizes)
    after = {n: _short(driver, n, sizes) for n in before}
    return {"rate": rate, **{f"of {n:,}": statistics.mean((before[n], after[n])) for n in before}}


def scale(driver: Driver, sizes: Sizes, pace: float) -> Figures:
    """Drains by more and more workers, one after the other."""
    figures: Figures = {}
    for processes in SCALE:
        driver.call("reset")
        stored = driver.load("noop", _wanted(sizes.scale, pace, sizes), sizes.limit)
        figures[f"by {processes}"] = driver.drain("noop", stored, processes=processes, limit=sizes.limit)[
            "rate"
        ]
    return figures


def _short(driver: Driver, count: int, sizes: Sizes) -> float:
    """The pace of a drain with nothing beside it."""
    driver.call("reset")
    return driver.drain("noop", driver.load("noop", count, sizes.limit), limit=sizes.limit)["rate"]


def _pace_at_the_head(driver: Driver, sizes: Sizes) -> float:
    """Jobs a second from when a worker began to ask; the workers are stopped dead before anybody counts what is left."""
    driver.call("reset")
    stored = driver.load("noop", sizes.deep, 120.0)
    with driver.workers() as workers:
        began = _begun(workers)
        time.sleep(sizes.seconds)
        workers.freeze()
        ended = time.monotonic()
        time.sleep(0.5)  # what the server is doing for them ends
        return (stored - driver.count()) / (ended - began)


def finished(driver: Driver, sizes: Sizes, pace: float) -> Figures:
    """A drain beside a long history, and beside it, before and after, one without any."""
    wanted = _wanted(sizes.many, pace, sizes)
    without = _short(driver, wanted, sizes)
    driver.call("reset")
    if driver.contestant.ours:
        _fill(driver, "done", sizes.finished, "noop")
    else:
        _fill_by_sql(driver, driver.contestant.history_sql, sizes.finished)
    stored = driver.load("noop", wanted, sizes.limit)
    drained = driver.drain("noop", stored, limit=sizes.limit)
    return {**drained, "without": statistics.mean((without, _short(driver, wanted, sizes)))}


def foreign(driver: Driver, sizes: Sizes, pace: float) -> Figures:
    """A drain beside many ready jobs that this worker does not know."""
    driver.call("reset")
    if driver.contestant.ours:
        return _beside_ours(driver, sizes)
    _fill_foreign(driver, sizes.foreign)
    stored = driver.load("noop", _wanted(sizes.few, pace, sizes), sizes.limit)
    settings = driver.contestant.apart
    return driver.drain("noop", stored, beside=sizes.foreign, limit=sizes.limit, **settings)


def _fill_foreign(driver: Driver, count: int) -> None:
    if driver.contestant.foreign_sql:
        _fill_by_sql(driver, driver.contestant.foreign_sql, count)
        return
    stored = driver.load(_FOREIGN, count, _FILLING)
    if stored < count:
        raise Failed(f"only {stored:,} of {count:,} foreign jobs were stored within {_FILLING:g} s")
    with psycopg.connect(driver.url, autocommit=True) as link:
        link.execute("VACUUM ANALYZE")


def _fill_by_sql(driver: Driver, text: str, count: int) -> None:
    if driver.contestant.store == "sqlite":
        file = apsw.Connection(driver.url.removeprefix("sqlite:///"))
        file.execute(text.format(count=count))
        file.close()
    else:
        with psycopg.connect(driver.url, autocommit=True) as link:
            link.execute(text.format(count=count).encode())
            link.execute("VACUUM ANALYZE")


def _beside_ours(driver: Driver, sizes: Sizes) -> Figures:
    _fill(driver, "ready", sizes.foreign, _FOREIGN)
    stored = driver.load("noop", sizes.few, sizes.limit)
    rule = f"state = 'ready' AND lane = '{lane_of('default', 'noop', 0)}'"
    some = "SELECT EXISTS (SELECT 1 FROM {0} WHERE {1}) OR EXISTS (SELECT 1 FROM {0} WHERE lease_until IS NOT NULL)"
    with driver.workers() as workers:
        began = _begun(workers)
        while driver.ask(sqlite=some.format("tenure_jobs", rule), postgres=some.format("tenure.jobs", rule)):
            if time.monotonic() - began > sizes.limit * 4:
                raise Failed("not all jobs were finished")
            time.sleep(0.02)
        return {"rate": stored / (time.monotonic() - began), "jobs": stored}


def _fill(driver: Driver, state: str, count: int, kind: str) -> None:
    if driver.contestant.store == "sqlite":
        file = apsw.Connection(driver.url.removeprefix("sqlite:///"))
        fill_sqlite(lambda text: file.execute(text), state, count, kind=kind)  # noqa: PLW0108 - for its type
        file.close()
    else:
        with psycopg.connect(driver.url, autocommit=True) as link:
            fill_postgres(lambda text: link.execute(text.encode()), state, count, kind=kind)
            link.execute("VACUUM ANALYZE")


def pinned(driver: Driver, sizes: Sizes, pace: float) -> Figures:
    """A long drain while an old transaction keeps the server from cleaning up: the pace at its end against that of its start.

    How far it is tells the one job at each twentieth of the line, by its id: to count what is left would read all that cannot
    be cleaned up. The start is from the first mark to the third, the end what was seen of the last third.
    """
    driver.call("reset")
    wanted = min(sizes.pinned, int(pace * sizes.limit * 2))
    with psycopg.connect(driver.url) as old:
        old.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        old.execute("SELECT pg_current_xact_id(), count(*) FROM pg_class")
        stored = driver.load("noop", wanted, 60.0)
        seen = _passed(driver, stored, sizes.limit * 5)
        old.rollback()
    start = _between(seen, _MARKS[0] * stored, _MARKS[2] * stored)
    end = _between(seen, min(2 / 3 * stored, seen[-1][1] * 0.8), stored)
    return {"rate": end, "kept": end / start, "jobs": seen[-1][1]}


def _passed(driver: Driver, stored: int, limit: float) -> list[tuple[float, float]]:
    """When how many jobs were done, as far as it got within the limit."""
    contestant = driver.contestant
    numbers = sorted({max(1, round(stored * part)) for part in (*_MARKS, 0.99)})
    with psycopg.connect(driver.url, autocommit=True) as link:
        marks = [job for (job,) in link.execute(contestant.marks_sql.encode(), (numbers,)).fetchall()]
        with driver.workers() as workers:
            began = _begun(workers)
            seen: list[tuple[float, float]] = []
            for number, mark in zip(numbers, marks, strict=True):
                while link.execute(contestant.unfinished_sql.encode(), (mark,)).fetchall() == [(True,)]:
                    workers.check()
                    if time.monotonic() - began > limit:
                        return seen
                    time.sleep(0.01)
                seen.append((time.monotonic(), float(number)))
            return seen


def _between(seen: list[tuple[float, float]], low: float, high: float) -> float:
    part = [(at, done) for at, done in seen if low * 0.999 <= done <= high]
    if len(part) < 2:
        raise Failed(f"it was not seen at work for long enough: {seen[-1][1] if seen else 0:,.0f} jobs")
    (began, least), (ended, most) = part[0], part[-1]
    return (most - least) / max(ended - began, 0.01)


def _begun(workers: Workers) -> float:
    """When the first job started."""
    until = time.monotonic() + 60
    while (began := workers.began()) is None:
        workers.check()
        if time.monotonic() > until:
            raise Failed("no job was started")
        time.sleep(0.01)
    return began


def _shaped(
    kind: str, count: Callable[[Sizes], int], *, slower: int = 1, **terms: Any
) -> Callable[[Driver, Sizes, float], Figures]:
    """A drain of jobs with options, and how fast they were stored (`load`). `slower`: how many times as long each may take."""

    def do(driver: Driver, sizes: Sizes, pace: float) -> Figures:
        driver.call("reset")
        stored = driver.load(kind, _wanted(count(sizes), pace / slower, sizes), sizes.limit, **terms)
        return {**driver.drain(kind, stored, limit=sizes.limit * slower), "load": driver.loaded_at}

    return do


WORKS: tuple[Work, ...] = (
    Work("enqueue", "enqueue, one at a time", "enqueue", _enqueue(1), rounds=5),
    Work("enqueue64", "enqueue, 64 at a time", "enqueue64", _enqueue(64), peer_rounds=1),
    Work("enqueue_heard", "enqueue, one at a time, while an idle worker listens", "enqueue_heard", enqueue_heard, peer_rounds=1),
    Work("bulk", "bulk enqueue of 100,000", "bulk", bulk),
    Work("drain_few", "drain of 20,000, one worker", "drain", _drain(lambda s: s.few), peer_rounds=1),
    Work("drain", "drain of 100,000, one worker", "drain", _drain(lambda s: s.many)),
    Work("drain2", "drain of 100,000, two workers", "drain", _drain(lambda s: s.many, processes=2)),
    Work("threaded", "sync handlers, 20,000, one worker", "threaded", _drain(lambda s: s.few, kind="threaded")),
    Work("wait", "jobs of 5 ms at concurrency 200", "wait", wait, peer_rounds=1),
    Work("pickup", "pick-up on an idle worker", "pickup", _pick_up(lambda s: s.picks, 0.02)),
    Work("steady", "pick-up at a steady 500 jobs/s", "steady", _pick_up(lambda s: s.steady, 0.002), peer_rounds=1),
    Work("idle", "an idle worker", "idle", idle, peer_rounds=1),
    Work("depth", "lines of 1,000 to 1,000,000", "depth", depth, peer_rounds=1, leaves=True),
    Work("finished", "drain of 100,000 beside 2,000,000 finished", "finished", finished, peer_rounds=1, leaves=True),
    Work("pinned", "500,000 jobs while vacuum is pinned", "pinned", pinned, peer_rounds=1, leaves=True),
    Work("scale", "drain of 40,000 by 1, 2, 4 and 8 workers", "scale", scale, peer_rounds=1),
    Work("drain2_few", "drain of 20,000, two workers", "drain", _drain(lambda s: s.few, processes=2), rounds=1),
    Work(
        "threaded2", "sync handlers, 20,000, two workers", "threaded",
        _drain(lambda s: s.few, kind="threaded", processes=2), rounds=1,
    ),
    Work(
        "threaded_many", "sync handlers, 100,000, one worker", "threaded",
        _drain(lambda s: s.many, kind="threaded"), rounds=1,
    ),
    Work(
        "threaded2_many", "sync handlers, 100,000, two workers", "threaded",
        _drain(lambda s: s.many, kind="threaded", processes=2), rounds=1,
    ),
    Work("footprint", "written per job", "footprint", footprint, rounds=1),
    Work("foreign", "drain of 20,000 beside 1,000,000 of foreign kinds", "foreign", foreign, rounds=1, leaves=True),
    Work("groups", "100,000 jobs in 1,000 groups", "groups", _shaped("noop", lambda s: s.many, groups=1_000), rounds=1),
    Work("one_group", "20,000 jobs in one group", "one_group", _shaped("noop", lambda s: s.few, groups=1), rounds=1),
    Work("unique", "100,000 jobs with unique keys", "unique", _shaped("noop", lambda s: s.many, unique=True), rounds=1),
    Work("failing", "100,000 jobs that fail once", "failing", _shaped("failing", lambda s: s.many, slower=2), rounds=1),
)  # fmt: skip
