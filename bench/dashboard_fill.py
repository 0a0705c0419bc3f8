"""A store as it is after a while: a million finished jobs, some of them dead, a backlog, a week of figures, failures alike.

Ids are as clients make them, in the order of time: finished jobs first, the backlog after them.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import tenure
from bench.fill import PAYLOAD
from tenure.clock import from_micros
from tenure.figures import ErrorTally, Histogram, Tally
from tenure.newjob import lane_of

__all__ = ["QUEUES", "Execute", "Shape", "fill_figures", "fill_jobs", "fill_samples"]

Execute = Callable[[str], object]
QUEUES = ("mail", "pictures", "billing", "imports", "reports")
KINDS = ("first", "second")
WORKERS = 3
TELLINGS = 15
"""How often a worker tells in a minute."""


class Shape:
    """How many of each."""

    def __init__(self, finished: int, ready: int, scheduled: int) -> None:
        self.finished, self.ready, self.scheduled = finished, ready, scheduled
        self.dead = finished // 50


def fill_jobs(store: str, execute: Execute, shape: Shape) -> None:
    """Finished, every fiftieth of them dead; ready in ten lanes; scheduled."""
    every = len(QUEUES) * len(KINDS)
    start = int(time.time() * 1000) - shape.finished - shape.ready - shape.scheduled
    _insert(store, execute, "finished", start, shape.finished, QUEUES[0], KINDS[0])
    start += shape.finished
    for number in range(every):
        queue, kind = QUEUES[number // len(KINDS)], KINDS[number % len(KINDS)]
        _insert(store, execute, "ready", start, shape.ready // every, queue, kind)
        start += shape.ready // every
    _insert(store, execute, "scheduled", start, shape.scheduled, QUEUES[1], KINDS[1])


def _insert(store: str, execute: Execute, state: str, start: int, count: int, queue: str, kind: str) -> None:
    """`count` jobs, the first made at `start` in milliseconds, one each millisecond."""
    finished = state == "finished"
    due = 86_400_000_000 if state == "scheduled" else 0
    said = "CASE WHEN i % 50 = 0 THEN 'dead' ELSE 'done' END" if finished else f"'{state}'"
    wrong = "CASE WHEN i % 50 = 0 THEN 'the server did not answer' END" if finished else "NULL"
    common = f"({start} + i) * 1000 + {due}, ({start} + i) * 1000, 0, 5, {said}, '{queue}', '{kind}'"
    columns = "run_at, created_at, rank, max_attempts, state, queue, kind"
    if store == "postgres":
        given = f"(lpad(to_hex({start} + i), 12, '0') || '7000' || '8' || lpad(to_hex(i), 15, '0'))::uuid"
        rows = f"generate_series(1, {count}) i"
        lane = lane_of(queue, kind, 0).replace("\x1f", "' || E'\\x1f' || '")
        table = "tenure.finished" if finished else "tenure.jobs"
        of_table = (
            f"seq, epoch, attempt, crashes, finished_at, {columns}, error" if finished else f"{columns}, lane"
        )
        values = (
            f"-i, 1, 1, 0, ({start} + i) * 1000, {common}, {wrong}" if finished else f"{common}, '{lane}'"
        )
        execute(f"INSERT INTO {table} (id, payload, {of_table}) SELECT {given}, '{PAYLOAD}', {values} FROM {rows}")  # fmt: skip
        return
    given = f"printf('%08x-%04x-7000-8000-%012x', ({start} + i) / 65536, ({start} + i) % 65536, i)"
    ended = f"({start} + i) * 1000" if finished else "NULL"
    execute(
        f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})"
        f" INSERT INTO tenure_jobs (id, payload, {columns}, lane, finished_at, attempt, error)"
        f" SELECT {given}, '{PAYLOAD}', {common}, '{lane_of(queue, kind, 0)}', {ended}, {int(finished)}, {wrong} FROM n"
    )


def fill_samples(store: str, execute: Execute) -> None:
    """How the queues stood in every minute of the last week."""
    now, minutes = int(time.time() // 60), 7 * 24 * 60
    table = "tenure.samples" if store == "postgres" else "tenure_samples"
    rows = (
        f"generate_series(1, {minutes}) i"
        if store == "postgres"
        else f"(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {minutes}) SELECT i FROM n)"
    )
    for queue in ("", *QUEUES):
        execute(
            f"INSERT INTO {table} (minute, queue, ready, running, oldest, busy, slots)"
            f" SELECT {now} - i, '{queue}', i % 900, i % 40, i % 70 * 1000000, i % 50, 50 FROM {rows}"
        )


def fill_figures(url: str) -> None:
    """The last week as three workers told it: minutes for a day, hours before; the last hour in all its tellings. And failures alike."""
    chance, at = random.Random("figures"), [0]
    now = time.time_ns() // 1_000
    with tenure.open(url, clock=lambda: from_micros(at[0])) as q:

        def tell(minute: int, times: int) -> None:
            at[0] = now - minute * 60_000_000
            for worker in range(WORKERS):
                for _ in range(times):
                    tallies = [_tally(chance, queue, kind) for queue in QUEUES for kind in KINDS]
                    q.add_figures(f"worker {worker}", tallies)

        for hour in range(7 * 24, 24, -1):
            tell(hour * 60, 1)
        for minute in range(24 * 60, 58, -1):
            tell(minute, 1)
        for minute in range(58, 0, -1):
            tell(minute, TELLINGS)
        for hour in range(24):
            at[0] = now - hour * 3_600_000_000
            q.add_figures("worker 0", [], [
                ErrorTally(f"{n:016x}", KINDS[n % 2], "TimeoutError", f"server {n} did not answer", "sample", 20, 1)
                for n in range(50)
            ])  # fmt: skip
        at[0] = now
        while q.tidy_figures():
            pass


def _tally(chance: random.Random, queue: str, kind: str) -> Tally:
    waited, ran = ([chance.lognormvariate(-3, 1) for _ in range(20)] for _ in range(2))
    return Tally(queue, kind, 20, chance.randrange(2), 0, Histogram(waited), Histogram(ran))
