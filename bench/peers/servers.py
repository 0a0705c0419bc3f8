"""The servers of one run: a durable PostgreSQL with a database for each contestant, Redis as Debian ships it, files."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg

from bench.peers.contestants import Contestant
from bench.peers.environments import Missing, redis_server
from tests.support.postgres import PostgresServer

__all__ = ["Servers"]


class Servers:
    """Starts what is asked for, once."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self._stack = stack
        self._postgres: str | None = None
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
                return self._database("arena_" + contestant.name.replace("-", "_"))

    def _database(self, name: str) -> str:
        base = self._start_postgres()
        if name not in self._databases:
            with psycopg.connect(base, autocommit=True) as link:
                link.execute(f'CREATE DATABASE "{name}"'.encode())
            self._databases.add(name)
        return base.rpartition("/")[0] + f"/{name}"

    def _start_postgres(self) -> str:
        if self._postgres is None:
            server = self._stack.enter_context(
                PostgresServer(
                    durable=True,
                    settings={
                        "shared_buffers": "512MB",
                        "max_wal_size": "8GB",
                        "synchronous_commit": "on",
                        "max_connections": "200",
                    },
                )
            )
            self._postgres = server.url().partition("?")[0]
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
