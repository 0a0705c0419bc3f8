"""`make bench-dashboard`: pages over a million jobs, and what an open page and its figures cost a worker.

Pages are asked as a server asks them, without a network, first of dashboards that have just started, then each time with nothing
kept; the time is until the whole answer is there. A worker drains beside a dashboard in a process of its own whose page somebody opens
and closes every other moment; then with its figures and without, in the same way (`bench/switch.py`). Prints a table and writes
bench/results/dashboard.json. `--quick` is smaller, `--only postgres|sqlite` half.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import apsw
import psycopg

import tenure
from bench.counting import Counting
from bench.dashboard_fill import Shape, fill_figures, fill_jobs, fill_samples
from bench.measure import Cell, Report, say
from bench.switch import Sized, switched
from bench.worker import make_app
from tenure.dashboard import Dashboard, asgi
from tenure.dashboard.api.overview import warm
from tenure.dashboard.series import SPANS
from tests.support.postgres import PostgresServer

PAGES = {
    "overview": "/api/overview?span=1h",
    "overview of a day": "/api/overview?span=24h",
    "overview of a week": "/api/overview?span=7d",
    "jobs": "/api/jobs",
    "jobs, state:dead": "/api/jobs?q=state:dead",
    "jobs, state:ready of a queue": "/api/jobs?q=" + quote("state:ready queue:mail"),
    "jobs, an error among the dead": "/api/jobs?q=" + quote("state:dead error:server"),
    "jobs, a filter that matches none": "/api/jobs?q=kind:none",
    "jobs, by what is in their payload": "/api/jobs?q=" + quote("payload.to:*"),
    "jobs, a payload that none has": "/api/jobs?q=" + quote('payload.to:"nobody"'),
    "jobs, by age, tag and attempt": "/api/jobs?q=" + quote("age:>1m attempt:>=1 tag:none"),
    "errors": "/api/errors?span=24h",
    "queues": "/api/queues",
    "workers": "/api/workers",
}
MOST = 50.0
"""Milliseconds."""
SHARE = 0.97
_NAME = "bench-dashboard"


class Sizes:
    """How much of everything."""

    def __init__(self, *, quick: bool) -> None:
        self.shape = Shape(200_000, 40_000, 10_000) if quick else Shape(1_000_000, 160_000, 40_000)
        self.asked = 10 if quick else 30
        self.watched = Sized(1, 400_000, 2.0) if quick else Sized(14, 750_000, 2.0)
        """As long as a page waits before it asks for the overview again."""
        self.listed = Sized(1, 400_000, 2.0) if quick else Sized(5, 750_000, 2.0)
        self.counted = Sized(1, 300_000, 1.0) if quick else Sized(6, 600_000, 1.0)
        """Not shorter: what is under way when a window ends, some 2,000 jobs, counts for one or the other by chance."""


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(prog="make bench-dashboard", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller figures, about two minutes")
    parser.add_argument("--only", choices=["postgres", "sqlite"], help="one store")
    parser.add_argument("--pages", action="store_true", help="only how long pages take")
    given = parser.parse_args()
    sizes = Sizes(quick=given.quick)
    report = Report("The dashboard over many jobs, and what it costs a worker")
    if given.only != "sqlite":
        settings = {"shared_buffers": "512MB", "max_wal_size": "8GB"}
        with PostgresServer(durable=True, settings=settings) as server:
            bench("postgres", server.url(), sizes, report, pages_alone=given.pages)
    if given.only != "postgres":
        with tempfile.TemporaryDirectory() as folder:
            bench("sqlite", f"sqlite:///{folder}/jobs.db", sizes, report, pages_alone=given.pages)
    report.show()
    if not (given.quick or given.only or given.pages):
        report.keep("dashboard")


def bench(store: str, url: str, sizes: Sizes, report: Report, *, pages_alone: bool) -> None:
    """All of it on one store."""
    make_large(store, url, sizes.shape)
    pages(store, url, sizes, report)
    if not pages_alone:
        beside_a_page(store, url, sizes, report)
        beside_figures(store, url, sizes, report)


def make_large(store: str, url: str, shape: Shape) -> None:
    """Fill it, and let the database know what is there."""
    say(f"{store}: filling {shape.finished:,} finished and {shape.ready + shape.scheduled:,} pending jobs")
    tenure.open(url).close()
    if store == "postgres":
        with psycopg.connect(url, autocommit=True) as connection:
            fill_jobs(store, lambda text: connection.execute(text.encode()), shape)
            fill_samples(store, lambda text: connection.execute(text.encode()))
            connection.execute("VACUUM (ANALYZE) tenure.finished")
            connection.execute("VACUUM (ANALYZE) tenure.jobs")
    else:
        file = apsw.Connection(url.removeprefix("sqlite:///"))
        fill_jobs(store, file.execute, shape)
        fill_samples(store, file.execute)
        file.close()
    fill_figures(url)


def pages(store: str, url: str, sizes: Sizes, report: Report) -> None:
    """How long each page takes, in milliseconds."""
    say(f"{store}: asking for pages")
    firsts, cells = asyncio.run(_ask_all(url, sizes.asked))
    unit = Cell("unit", [1.0])
    for span, first in firsts.items():
        report.add(store, f"overview of {span}, the first asked for, in ms", {"ms": first, "unit": unit}, "ms", "unit", want=MOST, cost=True)  # fmt: skip
    for name, cell in cells.items():
        report.add(store, f"{name}, nothing kept, in ms", {"ms": cell, "unit": unit}, "ms", "unit", want=MOST, cost=True)  # fmt: skip


async def _ask_all(url: str, times: int) -> tuple[dict[str, Cell], dict[str, Cell]]:
    app = tenure.App(url)
    first = {span: Cell(span) for span in SPANS}
    dashboard = asgi(app)
    await ask(dashboard, "/api/me")
    await ask(dashboard, "/api/jobs?limit=1")  # the connections are there
    for _ in range(5):
        for span, cell in first.items():
            dashboard = asgi(app)
            await warm(dashboard._desk)  # as a server that starts it does
            cell.values.append(await ask(dashboard, f"/api/overview?span={span}"))
    cells = {name: Cell(name) for name in PAGES}
    for _ in range(times):
        for name, path in PAGES.items():
            dashboard._desk.forget()
            cells[name].values.append(await ask(dashboard, path))
    await app.aclose()
    return first, cells


async def ask(dashboard: Dashboard, path: str) -> float:
    """Milliseconds until the whole answer is there."""
    place, _, query = path.partition("?")
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http", "path": place,
        "raw_path": place.encode(), "query_string": query.encode(), "root_path": "", "headers": [(b"host", b"localhost")],
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
    }  # fmt: skip
    status = 0

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        nonlocal status
        status = message.get("status", status)

    began = time.perf_counter()
    await dashboard(scope, receive, send)
    spent = (time.perf_counter() - began) * 1000
    if status != 200:
        raise AssertionError(f"{path} was answered {status}")
    return spent


def beside_a_page(store: str, url: str, sizes: Sizes, report: Report) -> None:
    """A worker's drain with a page open every other moment: the one that people leave open, and the one that asks most often."""
    for page, sized in (("overview", sizes.watched), ("jobs", sizes.listed)):
        say(f"{store}: draining with the page {page} open and without")
        app, spent = make_app(url), Spent(url)
        with looked_at(spent.url, spent, page) as turn:
            rates, costs = switched(app, sized, turn, on="open", off="closed")
        which = "a page" if page == "overview" else f"the page {page}"
        _tell(report, store, f"drain while {which} is open, against without", rates, costs)
        machine = Cell("machine", [float(os.cpu_count() or 1)] * len(spent.open.values))
        what = f"what the page {page}, open, takes of all cores"
        report.add(store, what, {"page": spent.open, "machine": machine}, "page", "machine", want=round(1 - SHARE, 2), cost=True, paired=True)  # fmt: skip
        app.close()


class Spent:
    """The CPU that a dashboard takes while its page is open, with that of the server's processes that work for it, in cores."""

    def __init__(self, url: str) -> None:
        self._server = (
            None if url.startswith("sqlite") else psycopg.connect(url.partition("?")[0], autocommit=True)
        )
        mark = f"{'&' if '?' in url else '?'}application_name={_NAME}"
        self.url = url if self._server is None else url + mark
        self.pid = 0
        self.open = Cell("open")
        self._began: tuple[float, dict[int, int]] | None = None

    def turn(self, *, on: bool) -> None:
        """The page is opened, or closed, now."""
        now, taken = time.perf_counter(), {pid: ns for pid in self._pids() if (ns := _taken(pid)) is not None}
        if self._began is not None:
            since, before = self._began
            spent = sum(ns - before.get(pid, 0) for pid, ns in taken.items())
            self.open.values.append(spent / 1e9 / (now - since))
        self._began = (now, taken) if on else None

    def _pids(self) -> list[int]:
        if self._server is None:
            return [self.pid]
        rows = self._server.execute(
            "SELECT pid FROM pg_stat_activity WHERE application_name = %s", (_NAME,)
        ).fetchall()
        return [self.pid, *(pid for (pid,) in rows)]


def _taken(pid: int) -> int | None:
    """Nanoseconds of CPU of all threads of a process so far; None: it is gone."""
    try:
        return sum(
            int((task / "schedstat").read_text().split()[0]) for task in Path(f"/proc/{pid}/task").iterdir()
        )
    except OSError:
        return None


@contextmanager
def looked_at(url: str, spent: Spent, page: str) -> Iterator[Callable[[bool], None]]:
    """A dashboard in a process of its own, and somebody in another who opens its page and closes it as they are told."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    serve = [sys.executable, "-m", "tenure", "dashboard", "--url", url, "--port", str(port)]
    server = subprocess.Popen(serve, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    look = [sys.executable, "-m", "bench.dashboard_viewer", str(port), page]
    viewer = subprocess.Popen(look, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    opened, spent.pid = 0, server.pid

    def turn(on: bool) -> None:
        nonlocal opened
        opened += on
        spent.turn(on=on)
        print("open" if on else "close", file=viewer.stdin, flush=True)

    try:
        _await(port)
        turn(True)
        time.sleep(5.0)  # both have started, and read what is over: what that takes is not what is measured
        turn(False)
        spent.open.values.clear()
        yield turn
        told, _ = viewer.communicate(timeout=60)
        looks = [tuple(map(int, line.split())) for line in told.splitlines()]
        heard, given = map(sum, zip(*looks, strict=True))
        if viewer.returncode or len(looks) != opened or min(heard, given) < opened:
            raise AssertionError(f"of {opened} looks at the dashboard came {looks}")
    finally:
        for process in (viewer, server):
            process.terminate()
            process.wait()


def _await(port: int) -> None:
    for _ in range(300):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError("the dashboard never started")


def beside_figures(store: str, url: str, sizes: Sizes, report: Report) -> None:
    """A worker's drain with what it counts, and without."""
    say(f"{store}: draining with and without figures")
    app, counting = make_app(url), Counting()
    with counting.watched():
        rates, costs = switched(app, sizes.counted, counting.turn, on="counting", off="silent")
    _tell(report, store, "drain with figures, against without", rates, costs)
    report.add(store, "what figures take of a worker's CPU", counting.costs, "figures", "worker", want=round(1 - SHARE, 2), cost=True, paired=True)  # fmt: skip
    app.close()


def _tell(report: Report, store: str, what: str, rates: dict[str, Cell], costs: dict[str, Cell]) -> None:
    """The throughput is what is judged; the worker's CPU a job tells what of it is the worker's own."""
    on, off = rates
    report.add(store, what, rates, on, off, want=SHARE, paired=True)
    report.add(store, f"{what}: the worker's CPU a job", costs, on, off, want=None, cost=True, paired=True)


if __name__ == "__main__":
    main()
