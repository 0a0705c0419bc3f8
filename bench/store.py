"""`make bench-store`: the store against a raw loop with the same driver and batch size, in one interleaved run.

Everything is durable (synchronous=FULL, fsync on), payloads are about 100 bytes, history, fences and uniqueness are in
place. Prints a table of ratios and writes bench/results/store.json. `--only postgres|sqlite` measures half.

`--quick` is smaller and keeps nothing: it says which lines are more than 15 % worse than the kept ones, and how long it took.
It ends with 0 all the same, since machines drift: run it again before you believe it.
"""

from __future__ import annotations

import argparse
import asyncio
import queue
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import msgspec
import psycopg

import tenure
from bench.fill import PAYLOAD, Execute, fill_postgres, fill_sqlite
from bench.measure import Cell, Report, interleave, say
from bench.raw import RawPostgres, RawSqlite
from bench.seasoned import seasoned
from tests.support.postgres import PostgresServer

BATCH = 200
WORK: dict[str, str] = msgspec.json.decode(PAYLOAD)
DONE = tenure.Done()


class Sizes:
    """How much work each cell does; a quick run differs only where its lines are not compared, and in rounds."""

    def __init__(self, *, quick: bool) -> None:
        self.rounds = 3 if quick else 5
        self.drain = 30_000
        self.single_rounds = 40 if quick else 120
        self.singles = 50
        """In a round of these, whose pace is the disk's: so many short ones, since it drifts within a second."""
        self.claim_rounds = 20 if quick else 80
        """Some milliseconds each."""
        self.at_once = 8_000
        self.many = 100_000 if quick else 1_000_000
        self.pinned_round = 10_000 if quick else 30_000
        self.pinned_rounds = 5 if quick else 10


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(prog="make bench-store", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="smaller, about two minutes, compared with what is kept"
    )
    parser.add_argument("--only", choices=["postgres", "sqlite"], help="one store")
    given = parser.parse_args()
    sizes = Sizes(quick=given.quick)
    report = Report("Tenure's store against a raw loop of the same run")
    if given.only != "sqlite":
        with seasoned() as server:
            bench_postgres(server, sizes, report)
    if given.only != "postgres":
        with tempfile.TemporaryDirectory() as folder:
            bench_sqlite(Path(folder), sizes, report)
    report.show()
    if given.quick:
        report.compare("store")
    elif not given.only:
        report.keep("store")
    report.tell_time()


def timed(count: int, work: Callable[[], object]) -> float:
    """`count` a second."""
    start = time.perf_counter()
    work()
    return count / (time.perf_counter() - start)


def overlapped(claim: Callable[[], Any], settle: Callable[[Any], object], most: int | None = None) -> int:
    """Claim here while the last batch settles in another thread, until nothing is left, or until there were so many; how many jobs."""
    line: queue.Queue[Any] = queue.Queue(1)

    def settler() -> None:
        while batch := line.get():
            settle(batch)

    thread = threading.Thread(target=settler)
    thread.start()
    done = 0
    while (most is None or done < most) and (batch := claim()):
        done += len(batch)
        line.put(batch)
    line.put(None)
    thread.join()
    return done


def in_turn(claim: Callable[[], Any], settle: Callable[[Any], object]) -> int:
    """Claim, settle, claim …: a file has one writer anyway."""
    done = 0
    while batch := claim():
        done += len(batch)
        settle(batch)
    return done


def drain(
    count: int, loop: Callable[..., int], claim: Callable[[], Any], settle: Callable[[Any], object]
) -> float:
    """Jobs a second."""
    start = time.perf_counter()
    done = loop(claim, settle)
    rate = done / (time.perf_counter() - start)
    if done != count:
        raise AssertionError(f"{done} of {count} jobs were claimed")
    return rate


def new_jobs(count: int) -> list[tenure.NewJob]:
    """Jobs to enqueue."""
    return [tenure.NewJob(kind="k", payload=WORK) for _ in range(count)]


def compare(
    store: str, q: tenure.Queue, raw: RawPostgres | RawSqlite, url: str, sizes: Sizes, report: Report
) -> None:
    """What both stores are measured by: drain, bulk, single, concurrent."""
    loop = overlapped if store == "postgres" else in_turn
    count, n = sizes.drain, sizes.singles

    def settle(claims: list[tenure.Claim]) -> None:
        q.settle_many([(c, DONE) for c in claims])

    def our_drain() -> float:
        q.enqueue_many(new_jobs(count))
        return drain(count, loop, lambda: q.claim(BATCH, worker="bench"), settle)

    def raw_drain() -> float:
        raw.load([PAYLOAD] * count)
        return drain(count, loop, lambda: raw.claim(BATCH), raw.settle)

    def relaxed_drain() -> float:
        assert isinstance(raw, RawSqlite)
        raw.relaxed = True
        try:
            return raw_drain()
        finally:
            raw.relaxed = False

    say(f"{store}: claim + settle in batches of {BATCH}")
    what = f"claim + settle, batches of {BATCH}"
    if store == "postgres":
        cells = interleave(sizes.rounds, raw=raw_drain, tenure=our_drain)
        report.add(store, what, cells, "tenure", "raw", want=0.7)
    else:
        cells = interleave(sizes.rounds, raw=raw_drain, relaxed=relaxed_drain, tenure=our_drain)
        report.add(store, what, cells, "tenure", "raw", want=0.6)
        report.add(
            store,
            "the same, where raw claims do not wait for the disk either",
            cells,
            "tenure",
            "relaxed",
            want=0.6,
        )

    say(f"{store}: enqueue_many")
    jobs, works = new_jobs(count), [WORK] * count

    def our_bulk() -> float:
        rate = timed(count, lambda: q.enqueue_many(jobs))
        empty(q, loop, settle)
        return rate

    cells = interleave(
        sizes.rounds,
        raw=lambda: timed(count, lambda: raw.bulk(works)),
        indexed=lambda: timed(count, lambda: raw.load([msgspec.json.encode(w).decode() for w in works])),
        tenure=our_bulk,
    )
    if store == "postgres":
        report.add(store, "enqueue_many, against COPY into a bare table", cells, "tenure", "raw", want=0.5)
        what = "enqueue_many, against COPY into the raw loop's own table"
        report.add(store, what, cells, "tenure", "indexed", want=0.5)
    else:
        report.add(store, "enqueue_many, against executemany", cells, "tenure", "raw", want=0.5)
    raw.empty()

    say(f"{store}: enqueue, one at a time and 64 at once")

    def our_singles() -> float:
        return timed(n, lambda: [q.enqueue("k", WORK) for _ in range(n)])

    def raw_singles() -> float:
        return timed(n, lambda: [raw.insert_one(msgspec.json.encode(WORK).decode()) for _ in range(n)])

    cells = interleave(sizes.single_rounds, 20, raw=raw_singles, tenure=our_singles)
    what = "enqueue, one at a time, against a one-row commit"
    report.add(store, what, cells, "tenure", "raw", want=0.85, paired=True)
    cells |= interleave(sizes.rounds, at_once=lambda: asyncio.run(concurrent(url, sizes.at_once)))
    report.add(
        store,
        "64 concurrent async enqueues, against one at a time",
        cells,
        "at_once",
        "tenure",
        want=6 if store == "postgres" else 3,
    )
    empty(q, loop, settle)


def empty(q: tenure.Queue, loop: Callable[..., int], settle: Callable[[list[tenure.Claim]], None]) -> None:
    """Finish whatever is left."""
    loop(lambda: q.claim(1_000), settle)


async def concurrent(url: str, count: int) -> float:
    """64 callers that each await one enqueue after another."""
    async with await tenure.aopen(url) as q:
        left = iter(range(count))

        async def caller() -> None:
            for _ in left:
                await q.enqueue("k", WORK)

        start = time.perf_counter()
        await asyncio.gather(*(caller() for _ in range(64)))
        return count / (time.perf_counter() - start)


def claim_cost(
    q: tenure.Queue, *, kinds: list[str] | None = None, claims: int = 50, limit: int = 10
) -> float:
    """Microseconds for a claim of ten jobs; they are released again afterwards."""
    taken = []
    start = time.perf_counter()
    for _ in range(claims):
        taken += q.claim(limit, kinds=kinds, worker="bench")
    cost = (time.perf_counter() - start) / claims * 1e6
    if len(taken) != claims * limit:
        raise AssertionError(f"{len(taken)} of {claims * limit} jobs were claimed")
    q.settle_many([(c, tenure.Release()) for c in taken])
    return cost


def flat_cost(
    store: str,
    opened: Callable[[str], tuple[tenure.Queue, Execute]],
    fill: Callable[..., None],
    sizes: Sizes,
    report: Report,
) -> None:
    """What a claim costs in a small store and in a large one, and beside a million jobs of foreign kinds."""
    small, small_sql = opened("small")
    large, large_sql = opened("large")
    foreign, foreign_sql = opened("foreign")
    say(f"{store}: filling {sizes.many:,} ready + {sizes.many:,} scheduled + {sizes.many:,} finished jobs")
    fill(small_sql, "ready", 1_000)
    for state in ("ready", "scheduled", "done"):
        fill(large_sql, state, sizes.many)
    say(f"{store}: filling {sizes.many:,} ready jobs of foreign kinds")
    for n in range(10):
        fill(foreign_sql, "ready", sizes.many // 10, kind=f"foreign_{n}")
    fill(foreign_sql, "ready", 1_000)
    cells = interleave(
        sizes.claim_rounds,
        20,
        small=lambda: claim_cost(small),
        large=lambda: claim_cost(large),
        known=lambda: claim_cost(small, kinds=["k"]),
        foreign=lambda: claim_cost(foreign, kinds=["k"]),
    )
    many = f"{sizes.many:,}"
    report.add(
        store,
        f"claim at {many} ready + scheduled + finished, against 1,000",
        cells,
        "large",
        "small",
        want=1.3,
        cost=True,
        sized=True,
        paired=True,
    )
    report.add(
        store,
        f"claim beside {many} ready jobs of foreign kinds",
        cells,
        "foreign",
        "known",
        want=2,
        cost=True,
        sized=True,
        paired=True,
    )
    for q in (small, large, foreign):
        q.close()


def bench_postgres(server: PostgresServer, sizes: Sizes, report: Report) -> None:
    """All of it on PostgreSQL."""
    url = server.url()
    raw, q = RawPostgres(url), tenure.open(url)
    compare("postgres", q, raw, url, sizes, report)
    raw.close()
    q.close()
    pinned(url, sizes, report)
    with connected(url) as execute:

        def opened(name: str) -> tuple[tenure.Queue, Execute]:
            found = tenure.open(f"{url}?schema=bench_{name}")

            def run(text: str) -> None:
                execute(text.replace("tenure.", f"bench_{name}."))
                execute(f"VACUUM ANALYZE bench_{name}.jobs")

            return found, run

        flat_cost("postgres", opened, fill_postgres, sizes, report)


@contextmanager
def connected(url: str) -> Iterator[Execute]:
    """A connection for SQL of the benchmark's own."""
    with psycopg.connect(url, autocommit=True) as connection:
        yield lambda text: connection.execute(text.encode())


def pinned(url: str, sizes: Sizes, report: Report) -> None:
    """Throughput while an old transaction keeps vacuum from removing anything; and what it takes then to learn that nothing is there.

    A round ends when its jobs are done: whoever asks for more afterwards has nothing else to do.
    """
    say(f"postgres: {sizes.pinned_round * sizes.pinned_rounds:,} jobs behind a transaction that pins vacuum")
    q = tenure.open(f"{url}?schema=bench_pinned")

    nothing = Cell("nothing")

    def one_round() -> float:
        count = sizes.pinned_round
        q.enqueue_many(new_jobs(count))
        rate = drain(
            count,
            partial(overlapped, most=count),
            lambda: q.claim(BATCH, worker="bench"),
            lambda claims: q.settle_many([(c, DONE) for c in claims]),
        )
        start = time.perf_counter()
        assert q.claim(BATCH, worker="bench") == []
        nothing.values.append(1_000 * (time.perf_counter() - start))
        return rate

    one_round()  # everything is warm, and vacuumed, when the transaction begins
    with connected(url) as execute:
        execute("VACUUM ANALYZE bench_pinned.jobs")
    with psycopg.connect(url) as old:
        old.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        old.execute("SELECT pg_current_xact_id(), count(*) FROM bench_pinned.jobs")
        rates = [one_round() for _ in range(sizes.pinned_rounds)]
        third = max(sizes.pinned_rounds // 3, 1)
        values = iter(rates[:third]), iter(rates[-third:])
        cells = interleave(third, first=lambda: next(values[0]), last=lambda: next(values[1]))
    report.add(
        "postgres",
        f"vacuum pinned: last third of {sizes.pinned_round * sizes.pinned_rounds:,} jobs against the first",
        cells,
        "last",
        "first",
        want=0.85,
        sized=True,
    )
    ends = {"first": Cell("first", nothing.values[:2]), "last": Cell("last", nothing.values[-2:])}
    report.add(
        "postgres",
        "the same: a claim that finds nothing, against the first",
        ends,
        "last",
        "first",
        want=None,
        cost=True,
        sized=True,
        paired=True,
    )
    q.close()


def bench_sqlite(folder: Path, sizes: Sizes, report: Report) -> None:
    """All of it on SQLite."""
    url = f"sqlite:///{folder / 'tenure.db'}"
    raw, q = RawSqlite(str(folder / "raw.db")), tenure.open(url)
    compare("sqlite", q, raw, url, sizes, report)
    raw.close()
    q.close()

    def opened(name: str) -> tuple[tenure.Queue, Execute]:
        path = folder / f"{name}.db"
        found = tenure.open(f"sqlite:///{path}")

        def run(text: str) -> None:
            with_apsw = apsw.Connection(str(path))
            with_apsw.execute(text)
            with_apsw.close()

        return found, run

    flat_cost("sqlite", opened, fill_sqlite, sizes, report)


if __name__ == "__main__":
    main()
