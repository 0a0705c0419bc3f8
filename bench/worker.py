"""`make bench-worker`: one worker process against the store's own batch claim and settle loop and a raw one, in one interleaved run.

Jobs are preloaded, history is kept, everything is durable. Prints a table of ratios and writes bench/results/worker.json.
`--only postgres|sqlite` measures half.

`--quick` is smaller and keeps nothing: it says which lines are more than 15 % worse than the kept ones, and how long it took.
It ends with 0 all the same, since machines drift: run it again before you believe it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from typing import Any

import apsw
import psycopg

import tenure
from bench.measure import Report, interleave, say
from bench.raw import RawPostgres, RawSqlite
from bench.store import drain, in_turn, overlapped
from tenure.job import Claim
from tenure.newjob import new_id
from tenure.worker.marks import Marks
from tenure.worker.start import make_worker, worker_settings
from tests.support.postgres import PostgresServer

BATCH = 200
DONE = tenure.Done()


class Sizes:
    """How much work each cell does."""

    def __init__(self, *, quick: bool) -> None:
        self.rounds = 3 if quick else 5
        self.drain = 50_000 if quick else 100_000
        self.picks = 200 if quick else 400
        self.many = 200_000 if quick else 1_000_000


def make_app(url: str) -> tenure.App:
    """An app with a job that does nothing."""
    app = tenure.App(url)

    @app.job
    async def noop(n: int) -> None:
        pass

    return app


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(prog="make bench-worker", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="smaller, about two minutes, compared with what is kept"
    )
    parser.add_argument("--only", choices=["postgres", "sqlite"], help="one store")
    given = parser.parse_args()
    sizes = Sizes(quick=given.quick)
    report = Report("Tenure's worker against the store's own loop, and a raw one, of the same run")
    if given.only != "sqlite":
        with PostgresServer(
            durable=True, settings={"shared_buffers": "512MB", "max_wal_size": "8GB"}
        ) as server:
            bench("postgres", lambda name: f"{server.url()}?schema=bench_{name}", sizes, report)
    if given.only != "postgres":
        with tempfile.TemporaryDirectory() as folder:
            bench("sqlite", lambda name: f"sqlite:///{Path(folder, name)}.db", sizes, report)
    report.show()
    if given.quick:
        report.compare("worker")
    elif not given.only:
        report.keep("worker")
    report.tell_time()


def bench(store: str, place: Callable[[str], str], sizes: Sizes, report: Report) -> None:
    """All of it on one store."""
    drains(store, place, sizes, report)
    if store == "postgres":
        two_processes(place, sizes, report)
    latency(store, place, sizes, report)
    memory(store, place, sizes, report)


def fill(app: tenure.App, count: int) -> None:
    """Jobs to run."""
    noop = app.kinds["noop"]
    app.queue.enqueue_many([noop.call(n) for n in range(count)])


def drain_by_worker(app: tenure.App, count: int, **settings: Any) -> float:
    """Jobs a second from the first claim to the last settle, by one worker in this process."""
    began, ended, settled = 0.0, 0.0, 0

    def on_start(_: tenure.events.WorkerStarted) -> None:
        nonlocal began
        began = time.perf_counter()

    def on_settled(event: tenure.events.Settled) -> None:
        nonlocal ended, settled
        settled += event.stood
        if settled >= count and not ended:
            ended = time.perf_counter()
            worker.stop()

    listeners = tenure.events.Listeners()
    listeners.add(on_start, tenure.events.WorkerStarted)
    listeners.add(on_settled, tenure.events.Settled)
    app.listeners = listeners
    worker = make_worker(app, worker_settings(**settings))
    asyncio.run(worker.run())
    return count / (ended - began)


def drains(store: str, place: Callable[[str], str], sizes: Sizes, report: Report) -> None:
    """The worker against the store's own loop and a raw one, and what its marks cost."""
    say(f"{store}: draining {sizes.drain:,} jobs")
    app, count = make_app(place("drain")), sizes.drain
    loop = overlapped if store == "postgres" else in_turn
    queue = app.queue
    raw: RawPostgres | RawSqlite
    if store == "postgres":
        raw = RawPostgres(place("raw").partition("?")[0])
    else:
        raw = RawSqlite(place("raw").removeprefix("sqlite:///"))

    def by_raw() -> float:
        raw.load([f'{{"n":{n}}}' for n in range(count)])
        return drain(count, loop, lambda: raw.claim(BATCH), raw.settle)

    def by_store() -> float:
        fill(app, count)
        return drain(
            count,
            loop,
            lambda: queue.claim(BATCH, worker="bench"),
            lambda cs: queue.settle_many([(c, DONE) for c in cs]),
        )

    def by_worker() -> float:
        fill(app, count)
        return drain_by_worker(app, count)

    cells = interleave(sizes.rounds, raw=by_raw, store=by_store, worker=by_worker)
    raw.close()
    want = 0.7 if store == "postgres" else 0.6
    report.add(
        store,
        "drain, one process, no-op async job, against the store's loop",
        cells,
        "worker",
        "store",
        want=want,
    )
    report.add(
        store,
        "the same, against a raw loop on one plain table",
        cells,
        "worker",
        "raw",
        want=None,
    )
    share = cells["worker"].median * marking_cost()
    cells = interleave(1, marking=lambda: share, job=lambda: 1.0)
    report.add(
        store,
        "putting down what starts, as a share of a job's time",
        cells,
        "marking",
        "job",
        want=0.03,
        cost=True,
    )
    app.close()


def marking_cost() -> float:
    """Seconds for one mark."""
    claim = Claim((new_id(), 7, 1, "noop", *[None] * 19), "bench")
    with tempfile.TemporaryDirectory() as folder:
        marks = Marks(Path(folder, "x.marks"), "bench", 50)
        began = time.perf_counter()
        for n in range(200_000):
            marks.start(n % 50, claim)
        spent = time.perf_counter() - began
        marks.close()
    return spent / 200_000


def two_processes(place: Callable[[str], str], sizes: Sizes, report: Report) -> None:
    """One worker process and two, each started anew; timed from the outside by what the store says."""
    say("postgres: one process and two")
    url, count = place("two"), sizes.drain * 2
    app = make_app(url)

    def with_processes(number: int) -> float:
        fill(app, count)
        env = {**os.environ, "BENCH_URL": url, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        command = [sys.executable, "-m", "tenure", "worker", "bench.worker_app:app", "--log-level", "error"]
        processes = [subprocess.Popen(command, env=env) for _ in range(number)]
        try:
            return _rate(url, count)
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait()

    cells = interleave(sizes.rounds, one=lambda: with_processes(1), two=lambda: with_processes(2))
    report.add("postgres", "drain, two processes against one", cells, "two", "one", want=1.3)
    app.close()


def _rate(url: str, count: int) -> float:
    """Jobs a second while the middle of a backlog drains, by when the store says that each was settled.

    Counting what is left would be work for the server that is measured; whether anything is left is one index step.
    """
    conninfo, _, schema = url.partition("?schema=")
    with psycopg.connect(conninfo, autocommit=True) as link:

        def ask(text: str) -> list[Any]:
            return link.execute(text.replace("tenure.", f"{schema}.").encode()).fetchall()

        [(began,)] = ask("SELECT tenure.micros(NULL)")
        while ask("SELECT FROM tenure.jobs ORDER BY id DESC LIMIT 1"):
            time.sleep(0.2)
        ends = ask(
            f"SELECT finished_at, count(*) FROM tenure.finished WHERE finished_at >= {began} GROUP BY 1 ORDER BY 1"
        )
    seen = zip([at for at, _ in ends], accumulate(n for _, n in ends), strict=True)
    middle = [(at, n) for at, n in seen if count * 0.05 < n < count * 0.95]
    (began, first), (ended, last) = middle[0], middle[-1]
    return float((last - first) / (ended - began) * 1e6)


def latency(store: str, place: Callable[[str], str], sizes: Sizes, report: Report) -> None:
    """From the enqueue call to the start of its handler on an idle worker, against the bare round trip."""
    say(f"{store}: pick-up latency on an idle worker")
    url = place("latency")
    app = tenure.App(url)
    started: list[float] = []
    heard = threading.Event()

    @app.job
    async def ping() -> None:
        started.append(time.perf_counter())
        heard.set()

    worker = make_worker(app, worker_settings(concurrency=4))
    thread = threading.Thread(target=lambda: asyncio.run(worker.run()))
    thread.start()
    time.sleep(1)
    ours: list[float] = []

    def pick_up() -> float:
        spans = []
        for _ in range(sizes.picks // sizes.rounds):
            heard.clear()
            time.sleep(0.02)
            asked = time.perf_counter()
            ping.enqueue()
            heard.wait(30)
            spans.append((started[-1] - asked) * 1e6)
        ours.extend(spans)
        return statistics.median(spans)

    if store == "postgres":
        bare, claiming = bare_postgres(url, sizes), bare_postgres(url, sizes, claims=True)
    else:
        bare, claiming = (
            bare_sqlite(place("bare"), sizes),
            bare_sqlite(place("claiming"), sizes, claims=True),
        )
    cells = interleave(sizes.rounds, bare=bare, worker=pick_up, claiming=claiming)
    worker.stop()
    thread.join()
    report.add(
        store,
        "pick-up p50 on an idle worker, against a bare insert + wake-up",
        cells,
        "worker",
        "bare",
        want=1.5,
        cost=True,
    )
    report.add(
        store,
        "the same, against a bare insert + wake-up + claim",
        cells,
        "worker",
        "claiming",
        want=1.5,
        cost=True,
    )
    p99 = sorted(ours)[int(len(ours) * 0.99)] / 1000
    cells = interleave(1, p99=lambda: p99, limit=lambda: 1.0)
    report.add(
        store, "pick-up p99 on an idle worker, in ms", cells, "p99", "limit", want=15, cost=True, sized=True
    )
    app.close()


def bare_postgres(url: str, sizes: Sizes, *, claims: bool = False) -> Callable[[], float]:
    """A durable insert with a NOTIFY, until a listening thread has it; or has claimed it, durably too."""
    conninfo, channel = url.partition("?")[0], "claimed_pings" if claims else "bare_pings"
    writer = psycopg.connect(conninfo, autocommit=True)
    listener = psycopg.connect(conninfo, autocommit=True)
    claimer = psycopg.connect(conninfo, autocommit=True, prepare_threshold=0)
    writer.execute("CREATE TABLE IF NOT EXISTS bare_pings (id bigserial PRIMARY KEY, payload text)")
    listener.execute(f"LISTEN {channel}".encode())
    heard, at = threading.Event(), [0.0]

    def listen() -> None:
        with suppress(psycopg.OperationalError):  # the server leaves first
            for _ in listener.notifies():
                if claims:
                    claimer.execute(
                        "UPDATE bare_pings SET payload = NULL WHERE id = (SELECT id FROM bare_pings WHERE payload = 'x'"
                        " ORDER BY id DESC LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id"
                    ).fetchall()
                at[0] = time.perf_counter()
                heard.set()

    threading.Thread(target=listen, daemon=True).start()

    def round_trip() -> float:
        spans = []
        for _ in range(sizes.picks // sizes.rounds):
            heard.clear()
            time.sleep(0.02)
            asked = time.perf_counter()
            writer.execute(
                "WITH i AS (INSERT INTO bare_pings (payload) VALUES ('x')) SELECT pg_notify(%s, '')",
                (channel,),
            )
            heard.wait(30)
            spans.append((at[0] - asked) * 1e6)
        return statistics.median(spans)

    return round_trip


def bare_sqlite(url: str, sizes: Sizes, *, claims: bool = False) -> Callable[[], float]:
    """A durable insert, until a thread that watches data_version (every millisecond) has seen it; or has claimed it, as here without
    waiting for the disk."""
    path = url.removeprefix("sqlite:///")
    writer, watcher, claimer = apsw.Connection(path), apsw.Connection(path), apsw.Connection(path)
    for text in ("journal_mode = WAL", "synchronous = FULL"):
        writer.execute(f"PRAGMA {text}").fetchall()
    claimer.execute("PRAGMA synchronous = NORMAL")
    writer.execute("CREATE TABLE pings (id INTEGER PRIMARY KEY, taken INTEGER)")
    heard, at, stopping = threading.Event(), [0.0], threading.Event()

    def watch() -> None:
        seen = watcher.pragma("data_version")
        while not stopping.is_set():
            if (now := watcher.pragma("data_version")) != seen:
                if claims:
                    claimer.execute(
                        "UPDATE pings SET taken = 1 WHERE id = (SELECT max(id) FROM pings) RETURNING id"
                    ).fetchall()
                    now = watcher.pragma("data_version")
                seen, at[0] = now, time.perf_counter()
                heard.set()
            time.sleep(0.001)

    threading.Thread(target=watch, daemon=True).start()

    def round_trip() -> float:
        spans = []
        for _ in range(sizes.picks // sizes.rounds):
            heard.clear()
            time.sleep(0.02)
            asked = time.perf_counter()
            writer.execute("INSERT INTO pings DEFAULT VALUES")
            heard.wait(30)
            spans.append((at[0] - asked) * 1e6)
        return statistics.median(spans)

    return round_trip


def memory(store: str, place: Callable[[str], str], sizes: Sizes, report: Report) -> None:
    """How much a worker process grows between the first tenth of a long drain and its end, in MB."""
    say(f"{store}: memory while {sizes.many:,} jobs drain")
    url, count = place("memory"), sizes.many
    app = make_app(url)
    for _ in range(10):
        fill(app, count // 10)
    env = {**os.environ, "BENCH_URL": url, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-m", "tenure", "worker", "bench.worker_app:app", "--log-level", "error"]
    process = subprocess.Popen(command, env=env)
    early: list[int] = []
    late: list[int] = []
    while True:
        states = app.queue.counts(cap=None).get("default", {})
        left = states["ready"] + states["running"]
        if left <= count * 0.9:
            (early if left > count * 0.8 else late).append(_resident(process.pid))
        if not left:
            break
        time.sleep(0.3)
    process.terminate()
    process.wait()
    app.close()
    grown = max(0.001, (max(late) - max(early)) / 1e6) if early and late else 0.0
    cells = interleave(1, grown=lambda: grown, unit=lambda: 1.0)
    report.add(
        store,
        f"growth of a worker's memory after the first tenth of {count:,} jobs, in MB",
        cells,
        "grown",
        "unit",
        want=5,
        cost=True,
        sized=True,
    )


def _resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_bytes().split()[1]) * resource.getpagesize()


if __name__ == "__main__":
    main()
