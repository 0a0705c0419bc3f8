"""The servers of one run: a durable PostgreSQL with a database for each contestant, Redis as Debian ships it, files.

That PostgreSQL has run for a while (bench/seasoned.py), as users' servers have: else whoever writes most, first, would pay for it.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg

from bench.measure import say
from bench.peers.contestants import Contestant
from bench.peers.environments import Missing, need, redis_server
from bench.seasoned import SEASONED, season
from tests.support.postgres import PostgresServer, machine_binaries

__all__ = ["Servers"]

_SEGMENTS = 256
"""Files of 16 MB: more than all contestants write between two checkpoints, which are five minutes apart."""


class Servers:
    """Starts what is asked for, once."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self._stack = stack
        self._postgres: str | None = None
        self._log = Path()
        self._redis: str | None = None
        self._folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        self._databases: set[str] = set()
        self._numbers: dict[str, int] = {}
        self.versions: dict[str, str] = {}

    def url(self, contestant: Contestant) -> str:
        """Where this contestant keeps its jobs."""
        match contestant.store:
            case "sqlite":
                return f"sqlite:///{self._folder / contestant.name}.db"
            case "redis":
                number = self._numbers.setdefault(contestant.name, len(self._numbers))
                return f"{self._start_redis()}/{number}"
            case "postgres":
                return self._database(_name(contestant))

    @contextlib.contextmanager
    def queries(self, contestant: Contestant) -> Iterator[Callable[[], int]]:
        """How many statements of this contestant's sessions, of those that begin in the block, the server has done since."""
        name = _name(contestant)
        with psycopg.connect(self._start_postgres(), autocommit=True) as link:
            link.execute(f'ALTER DATABASE "{name}" SET log_min_duration_statement = 0'.encode())
            begin = self._log.stat().st_size

            def counted() -> int:
                with self._log.open("rb") as log:
                    log.seek(begin)
                    lines = [line for line in log if line.startswith(f"{name}|".encode())]
                return sum(b" ms  execute " in line or b" ms  statement: " in line for line in lines)

            try:
                yield counted
            finally:
                link.execute(f'ALTER DATABASE "{name}" RESET log_min_duration_statement'.encode())

    def _database(self, name: str) -> str:
        base = self._start_postgres()
        if name not in self._databases:
            with psycopg.connect(base, autocommit=True) as link:
                link.execute(f'CREATE DATABASE "{name}"'.encode())
            self._databases.add(name)
        return base.rpartition("/")[0] + f"/{name}"

    def _start_postgres(self) -> str:
        if self._postgres is None:
            if machine_binaries() is None:
                with contextlib.suppress(Missing):  # without root there is a server from a Python package
                    need("postgresql")
            server = self._stack.enter_context(
                PostgresServer(
                    durable=True,
                    settings={
                        **SEASONED,
                        "synchronous_commit": "on",
                        "max_connections": "400",
                        # Where somebody counts statements (`queries`), the server writes each of them down.
                        "logging_collector": "on",
                        "log_filename": "server.log",
                        "log_line_prefix": "%d|",
                    },
                )
            )
            say("PostgreSQL: making the files of its log …")
            season(server, _SEGMENTS)
            self._postgres = server.url().partition("?")[0]
            self._log = server.directory / "data" / "log" / "server.log"
            with psycopg.connect(self._postgres) as link:
                [(self.versions["postgres"],)] = link.execute("SHOW server_version").fetchall()
        return self._postgres

    def _start_redis(self) -> str:
        if self._redis is None:
            port = _free_port()
            program = redis_server()
            self._stack.enter_context(_running([program, "--port", str(port), "--dir", str(self._folder)]))
            _wait_for(port)
            told = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
            self.versions["redis"] = told.stdout.split("v=")[1].split()[0]
            self._redis = f"redis://127.0.0.1:{port}"
        return self._redis


def _name(contestant: Contestant) -> str:
    return "arena_" + contestant.name.replace("-", "_")


@contextlib.contextmanager
def _running(command: list[str]) -> Iterator[None]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _wait_for(port: int) -> None:
    until = time.monotonic() + 10
    while time.monotonic() < until:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise Missing("Redis did not start")
