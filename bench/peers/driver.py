"""A contestant at work: calls its driver's verbs, keeps its workers, asks its store what is left."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import apsw
import psycopg

from bench.peers.contestants import Contestant, Settings
from bench.peers.environments import command_of
from bench.peers.servers import Servers

__all__ = ["Driver", "Failed", "Workers"]

_TICK, _QUICK_TICK = 0.02, 0.002
"""How often the store is asked what is left, in seconds; and where a drain takes no longer than some ticks."""
_FEW = 10_000
_STARTING = 30.0
_ANSWERING = 30.0


class Failed(Exception):
    """A contestant did not do what was asked."""


class Workers:
    """Worker processes of one contestant, and what can be seen of them from outside."""

    def __init__(self, processes: list[subprocess.Popen[str]], begun: Path, out: Path) -> None:
        self._processes, self._begun, self._out = processes, begun, out

    def began(self) -> float | None:
        """When the first job started, by the monotonic clock; None: not yet."""
        stamps = [p.read_text("utf-8") for p in self._begun.parent.glob(f"{self._begun.name}-*")]
        return min((int(s) / 1e9 for s in stamps if s.strip()), default=None)

    def latencies(self) -> list[float]:
        """Milliseconds from when a job was due to be enqueued to its handler's start, of every job that told."""
        return (
            [int(line) / 1e6 for line in self._out.read_text("utf-8").split()] if self._out.exists() else []
        )

    def check(self) -> None:
        """Raise if a worker has gone."""
        for process in self._processes:
            if process.poll() is not None:
                raise Failed(f"a worker left with exit code {process.returncode}")

    def resident(self) -> float:
        """MB of memory that one worker has, with all of its processes."""
        pages = sum(
            int(Path(f"/proc/{pid}/statm").read_bytes().split()[1])
            for first in self._processes
            for pid in _tree(first.pid)
        )
        return pages * resource.getpagesize() / len(self._processes) / 1e6

    def cpu(self) -> float:
        """Seconds of CPU that the workers have used."""
        ticks = 0
        for first in self._processes:
            for pid in _tree(first.pid):
                fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2].split()
                ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def freeze(self) -> None:
        """Stop them where they are, so that nothing is done any more; they are ended later."""
        for process in self._processes:
            os.killpg(process.pid, signal.SIGSTOP)

    def stop(self) -> None:
        """End them, in good order if they will."""
        for process in self._processes:
            process.terminate()
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGCONT)
        for process in self._processes:
            try:
                process.wait(8)
            except subprocess.TimeoutExpired:
                pass
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()


class Driver:
    """One contestant's driver."""

    def __init__(self, contestant: Contestant, servers: Servers) -> None:
        self.contestant, self.url, self._servers = contestant, servers.url(contestant), servers
        self._command, self._env = command_of(contestant)
        self.settings: Settings = contestant.sweep[0]
        self.chunk = 5_000
        """How many jobs a bulk call has."""
        self.loaded_at = 0.0
        """How many jobs a second the last load stored."""

    def call(self, verb: str, *, timeout: float = 120, **terms: Any) -> dict[str, Any]:
        """One verb; its answer."""
        try:
            ended = subprocess.run(
                [*self._command, verb, json.dumps({"url": self.url, **terms})],
                env=self._env, capture_output=True, text=True, timeout=timeout, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise Failed(f"{verb} took longer than {timeout:g} s") from None
        lines = ended.stdout.strip().splitlines()
        if ended.returncode or not lines:
            raise Failed(f"{verb}: {ended.stderr.strip()[-400:] or 'no answer'}")
        answer: dict[str, Any] = json.loads(lines[-1])
        return answer

    def load(self, kind: str, count: int, limit: float, **terms: Any) -> int:
        """Jobs to drain, by the fastest way there is; how many were stored."""
        if "bulk" in self.contestant.works:
            told = self.call(
                "bulk", kind=kind, count=count, limit=limit, chunk=self.chunk, timeout=limit + 120, **terms
            )
        else:
            told = self.call(
                "enqueue", kind=kind, count=count, concurrency=1, limit=limit, timeout=limit + 60
            )
        if self.contestant.store == "postgres":
            # As the server's own housekeeping would within a minute: without it peers' plans sort all that is ready.
            with psycopg.connect(self.url, autocommit=True) as link:
                link.execute("ANALYZE")
        self.loaded_at = told["count"] / told["seconds"]
        return int(told["count"])

    @contextlib.contextmanager
    def queries(self) -> Iterator[Callable[[], int]]:
        """How many statements its sessions have asked of PostgreSQL since; of those that begin in the block."""
        if self.contestant.store != "postgres":
            yield lambda: 0
            return
        with self._servers.queries(self.contestant) as counted:
            yield counted

    def count(self) -> int:
        """How many jobs are not finished, exactly; asked while nobody works."""
        sqlite = (
            "SELECT count(*) FROM tenure_jobs WHERE state IN ('ready', 'running', 'scheduled', 'waiting')"
        )
        return self.ask(sqlite=sqlite, postgres=self.contestant.count_sql)

    def ask(self, *, sqlite: str, postgres: str) -> int:
        """A number out of the contestant's own tables."""
        if self.contestant.store == "sqlite":
            file = apsw.Connection(self.url.removeprefix("sqlite:///"), flags=apsw.SQLITE_OPEN_READONLY)
            file.set_busy_timeout(5_000)
            try:
                [(number,)] = cast("list[tuple[int]]", file.execute(sqlite).fetchall())
            finally:
                file.close()
        else:
            with psycopg.connect(self.url, autocommit=True) as link:
                [(number,)] = link.execute(postgres.encode()).fetchall()
        return int(number)

    @contextlib.contextmanager
    def workers(self, number: int = 1, **settings: Any) -> Iterator[Workers]:
        """Workers, from when they work until the end of the block."""
        with tempfile.TemporaryDirectory() as folder:
            begun, out = Path(folder, "begun"), Path(folder, "out")
            terms = {
                "url": self.url,
                "settings": {**self.settings, **settings},
                "begun": str(begun),
                "out": str(out),
            }
            with Path(folder, "log").open("w+", encoding="utf-8") as log:
                processes = [
                    subprocess.Popen(
                        [*self._command, "work", json.dumps(terms)],
                        env=self._env, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True,
                    )
                    for _ in range(number)
                ]  # fmt: skip
                workers = Workers(processes, begun, out)
                try:
                    for process in processes:
                        if not _line(process, _STARTING):
                            log.seek(0)
                            raise Failed(f"a worker did not start: {log.read().strip()[-400:]}")
                    yield workers
                finally:
                    workers.stop()

    @contextlib.contextmanager
    def asking(self, kind: str) -> Iterator[Any]:
        """A function that asks the store how many jobs of the kind are not finished."""
        process = subprocess.Popen(
            [*self._command, "left", json.dumps({"url": self.url, "kind": kind})],
            env=self._env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip

        def left() -> int:
            if process.stdin is None:
                raise Failed("nobody answers")
            process.stdin.write("?\n")
            process.stdin.flush()
            line = _line(process, _ANSWERING)
            if not line:
                raise Failed("left: no answer")
            return int(json.loads(line)["left"])

        try:
            left()
            yield left
        finally:
            process.kill()
            process.wait()

    def drain(
        self,
        kind: str,
        count: int,
        *,
        beside: int = 0,
        processes: int = 1,
        limit: float = 15.0,
        **settings: Any,
    ) -> dict[str, float]:
        """Jobs a second from when a worker began to ask until the store says that all are finished, and what it took.

        `beside`: how many jobs are there that nobody does. What takes longer than the limit is cut there: the workers are stopped
        dead, and what they had finished counts. Whose store
        tells no such number (Huey's and those on Redis) has four times as long, and has failed then.
        """
        tick = _QUICK_TICK if count <= _FEW else _TICK
        with self.asking(kind) as left, self.workers(processes, **settings) as workers:
            waited = time.monotonic() + _STARTING
            while (began := workers.began()) is None:
                workers.check()
                if time.monotonic() > waited:
                    raise Failed("no job was started")
                time.sleep(tick)
            while left():
                if time.monotonic() - began > limit and (self.contestant.ours or self.contestant.count_sql):
                    workers.freeze()
                    ended = time.monotonic()
                    time.sleep(0.5)  # what the server is doing for them ends
                    done = count + beside - self.count()
                    return {"rate": done / (ended - began), "rss": workers.resident(), "jobs": done, "cut": 1}
                if time.monotonic() - began > limit * 4:
                    raise Failed(f"{count:,} jobs were not finished within {limit * 4:g} s")
                workers.check()
                time.sleep(tick)
            ended = time.monotonic()
            return {"rate": count / (ended - began), "rss": workers.resident(), "jobs": count}


def _line(process: subprocess.Popen[str], seconds: float) -> str:
    """The next line that a process says; empty: it says none, or not in time."""
    if process.stdout is None or not select.select([process.stdout], [], [], seconds)[0]:
        return ""
    return process.stdout.readline()


def _tree(pid: int) -> list[int]:
    """A process and all of its descendants."""
    found = [pid]
    for parent in found:
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{parent}/task").iterdir():
                found += [int(child) for child in (task / "children").read_text("ascii").split()]
    return found
