"""`make bench-gateway`: webhooks acknowledged by one process of `tenure gateway`, beside bare apps behind uvicorn.

64 keep-alive connections post Telegram updates of 1 KB from 5,000 chats, each with a number of its own. Beside the gateway:
an app that only parses and answers, and one that commits one row for each request with the plain driver. Everything is durable;
after each round of the gateway's, the store must hold a job for every answer. Prints a table of ratios and writes
bench/results/gateway.json, in about ten minutes. `--quick` is smaller, `--only postgres|sqlite` half.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

import tenure
from bench.gateway.bot import ADDRESS, SETTINGS
from bench.gateway.client import SECRET, Sent
from bench.measure import Cell, Report, interleave, say
from bench.seasoned import seasoned

CONNECTIONS = 64
_APART = 5_000_000
"""No two runs share an update's number."""


class Sizes:
    """How long each cell takes."""

    def __init__(self, *, quick: bool) -> None:
        self.rounds = 3 if quick else 5
        self.warm = 1.0 if quick else 2.0
        self.seconds = 3.0 if quick else 8.0
        self.sweep = (8, 16) if quick else (8, 16, 32, 48, 64)


class Bench:
    """All of it on one store; each run has a fresh place there."""

    def __init__(self, store: str, place: Callable[[str], str], sizes: Sizes, report: Report) -> None:
        self._store, self._place, self._sizes, self._report = store, place, sizes, report
        self._numbers = itertools.count()
        self._connections = 8
        self._tried: dict[int, float] = {}
        self._client: dict[str, list[float]] = defaultdict(list)
        self._server: dict[str, list[float]] = defaultdict(list)

    def run(self) -> None:
        """The rates, and the time to the answer at half of the gateway's own."""
        if self._store == "postgres":
            self._sweep()
        say(f"{self._store}: {CONNECTIONS} connections, as fast as answers come")
        cells = interleave(
            self._sizes.rounds,
            bare=lambda: self._rate("bare"),
            row=lambda: self._rate("row"),
            gateway=lambda: self._rate("gateway"),
        )
        self._add("acknowledged updates/s, against an app that only parses", cells, "bare", 0.45)
        self._add("acknowledged updates/s, against one row and commit each", cells, "row", 1.3)
        rate = cells["gateway"].median / 2
        say(f"{self._store}: {rate:,.0f} updates/s, evenly")
        cells = interleave(self._sizes.rounds, p99=lambda: self._p99(rate), unit=lambda: 1.0)
        what = "p99 of the answer at half that rate, from when it was due, in ms"
        self._report.add(self._store, what, cells, "p99", "unit", want=60, cost=True)
        self._report.rows[-1]["rate"] = round(rate)

    def _sweep(self) -> None:
        """How many connections serve the app with one row each best."""
        say(f"{self._store}: connections for one row each")
        for count in self._sizes.sweep:
            self._connections = count
            self._tried[count] = round(self._rate("row", self._sizes.seconds / 2), 2)
            say(f"    {count}: {self._tried[count]:,.0f}")
        self._connections = max(self._tried, key=lambda n: self._tried[n])
        self._client.clear()
        self._server.clear()

    def _add(self, what: str, cells: dict[str, Cell], under: str, want: float) -> None:
        self._report.add(self._store, what, cells, "gateway", under, want=want)
        about = {
            "client_cores": {way: round(Cell(way, v).median, 2) for way, v in self._client.items()},
            "server_us": {way: round(Cell(way, v).median) for way, v in self._server.items()},
        }
        if self._store == "postgres":
            about["row_connections"] = {"row": self._connections}
            about["row_tried"] = {str(count): rate for count, rate in self._tried.items()}
        self._report.rows[-1] |= about

    def _rate(self, way: str, seconds: float | None = None) -> float:
        url = self._place(f"{way}_{next(self._numbers)}")
        with served(way, url, self._connections) as (port, pid):
            before = cpu_of(pid)
            sent = self._send(port, "--seconds", str(seconds or self._sizes.seconds))
            spent = cpu_of(pid) - before
        self._client[way].append(sent.cpu)
        self._server[way].append(spent / sent.answered * 1e6)
        self._check(way, url, sent)
        return sent.acked / sent.seconds

    def _p99(self, rate: float) -> float:
        url = self._place(f"late_{next(self._numbers)}")
        with served("gateway", url, self._connections) as (port, _):
            sent = self._send(port, "--seconds", str(self._sizes.seconds), "--rate", str(rate))
        self._check("gateway", url, sent)
        return sent.p99 * 1_000

    def _send(self, port: int, *options: str) -> Sent:
        first = next(self._numbers) * _APART
        command = [
            *(sys.executable, "-m", "bench.gateway.client", str(port), "--connections", str(CONNECTIONS)),
            *("--first", str(first), "--warm", str(self._sizes.warm), *options),
        ]
        return Sent(**json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout))

    def _check(self, way: str, url: str, sent: Sent) -> None:
        if sent.refused:
            raise SystemExit(f"{way}: {sent.refused} of {sent.answered} updates were refused")
        if way != "gateway":
            return
        with tenure.open(url) as queue:
            held = sum(sum(states.values()) for states in queue.counts().values())
        if held != sent.answered:
            raise SystemExit(f"{sent.answered} updates were acknowledged and {held} are stored")
        if self._store == "postgres":
            with psycopg.connect(url.partition("?")[0], autocommit=True) as connection:
                connection.execute(f"DROP SCHEMA {url.rpartition('=')[2]} CASCADE".encode())


@contextmanager
def served(way: str, url: str, connections: int) -> Iterator[tuple[int, int]]:
    """Its port and its process, for as long as it is needed."""
    command = [sys.executable, "-m", "bench.gateway.serve", way, url, "--connections", str(connections)]
    if way == "gateway":
        command = [sys.executable, "-m", "tenure", "gateway", ADDRESS, "-f", str(SETTINGS), "--port", "0", "--json"]  # fmt: skip
    environment = {**os.environ, "TENURE_URL": url, "BOT_SECRET": SECRET, "TENURE_LOG_LEVEL": "warning"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        try:
            assert process.stdout is not None
            said = process.stdout.readline().decode()
            port = json.loads(said)["url"].rpartition(":")[2] if way == "gateway" else said
            yield int(port), process.pid
        finally:
            process.terminate()


def cpu_of(pid: int) -> float:
    """The seconds of CPU that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(prog="make bench-gateway", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller figures, about three minutes")
    parser.add_argument("--only", choices=["postgres", "sqlite"], help="one store")
    given = parser.parse_args()
    sizes = Sizes(quick=given.quick)
    report = Report("One process of `tenure gateway` against bare apps behind uvicorn, of the same run")
    if given.only != "sqlite":
        with seasoned() as server:
            Bench("postgres", lambda name: f"{server.url()}?schema=bench_{name}", sizes, report).run()
    if given.only != "postgres":
        with tempfile.TemporaryDirectory() as folder:
            Bench("sqlite", lambda name: f"sqlite:///{Path(folder, name)}.db", sizes, report).run()
    report.show()
    for row in {row["store"]: row for row in report.rows if "client_cores" in row}.values():
        print(
            f"{row['store']}: cores used by the client {row['client_cores']}, µs of the server's process for each"
            f" update {row['server_us']}"
        )
    if not given.quick and not given.only:
        report.keep("gateway")


if __name__ == "__main__":
    main()
