"""Real workers in processes of their own, on one fresh store: started, signalled and killed by a test."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import psycopg
import pytest

import tenure
from tenure.config import PostgresPlace, locate
from tests.support.child import ROOT
from tests.support.scenes import ADDRESS

__all__ = ["EVERY_STORE", "Note", "Scene", "WorkerProcess", "alive", "open_scene", "until"]

EVERY_STORE = pytest.mark.parametrize(
    "scene", ["sqlite", "postgres", pytest.param("shared", marks=pytest.mark.proof)], indirect=True
)
"""For a scene that `make proof` also plays in a file that is shared."""
_PATIENCE = 60.0
_POOL_CHILD = re.compile(r"pool: process \d+ of \d+ has pid (\d+)")


def until(fact: Callable[[], Any], *, within: float = _PATIENCE) -> None:
    """Wait for a fact."""
    deadline = time.monotonic() + within
    while not fact():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.02)


def alive(pid: int) -> bool:
    """Whether there is such a process; one that ended and that nobody has asked about is none."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    with suppress(OSError):
        return state.read_bytes().rpartition(b") ")[2][:1] != b"Z"
    return True


class Note(NamedTuple):
    """What a job told: a word, its id, and the process it ran in."""

    word: str
    id: str
    pid: int


class WorkerProcess:
    """`tenure worker` as a process."""

    def __init__(self, scene: Scene, address: str, *args: str, more: Mapping[str, str]) -> None:
        self._log = scene.folder / f"worker-{len(scene.started)}.log"
        environment = {
            k: v for k, v in os.environ.items() if k != "DATABASE_URL" and not k.startswith("TENURE_")
        }
        environment |= {
            "TENURE_URL": scene.worker_url,
            "SCENE": str(scene.folder),
            "TMPDIR": str(scene.folder),
            "SCENE_MAX_CRASHES": str(scene.max_crashes),
            **more,
        }
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-W", "error", "-m", "tenure", "worker", address, *args],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=ROOT,
                env=environment,
            )
        self.pid = self.process.pid

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    @property
    def children(self) -> list[int]:
        """The pids of every process that a pool has started so far."""
        return [int(pid) for pid in _POOL_CHILD.findall(self.log)]

    def send(self, what: signal.Signals) -> None:
        self.process.send_signal(what)

    def kill(self) -> None:
        """kill -9; returns when it is gone."""
        self.process.kill()
        self.process.wait(_PATIENCE)

    def left(self) -> int:
        """Its exit code, once it has left by itself."""
        try:
            return self.process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the worker did not leave:\n{self.log[-2000:]}") from None

    def says(self, words: str) -> None:
        """Wait until its log has these words."""
        until(lambda: words in self.log or self.process.poll() is not None)
        assert words in self.log, self.log[-2000:]


class Scene:
    """A store, a folder for notes, and the workers a test starts there."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url, self.folder, self.worker_url = url, folder, url
        self.started: list[WorkerProcess] = []
        self.max_crashes = 3
        self.q = tenure.open(url)

    def start(
        self, *args: str, address: str = ADDRESS, environment: Mapping[str, str] | None = None
    ) -> WorkerProcess:
        """Start a worker with these arguments, and this added to its environment."""
        worker = WorkerProcess(self, address, *args, more=environment or {})
        self.started.append(worker)
        return worker

    def enqueue(self, kind: str, count: int = 1, /, *, priority: int = 0, **payload: Any) -> list[str]:
        """So many jobs of a kind; their ids."""
        jobs = [tenure.NewJob(kind=kind, payload=payload, priority=priority)] * count
        return [answer.id for answer in self.q.enqueue_many(jobs)]

    def job(self, job_id: str) -> tenure.JobSeen:
        found = self.q.get(job_id)
        assert found is not None
        return found

    def jobs(self, ids: list[str]) -> list[tenure.JobSeen]:
        return [self.job(i) for i in ids]

    @property
    def counts(self) -> dict[str, int]:
        """How many jobs are in which state; only the states that have any."""
        return {state: n for state, n in self.q.counts().get("default", {}).items() if n}

    def notes(self, word: str = "begun", job_id: str | None = None) -> list[Note]:
        """What jobs have told so far."""
        with suppress(FileNotFoundError):
            # One may be half written where it is read, or where its process was killed.
            lines, _, _ = (self.folder / "notes").read_text().rpartition("\n")
            words = [line.split() for line in lines.splitlines()]
            told = [Note(said, job, int(pid)) for said, job, pid in (w for w in words if len(w) == 3)]
            return [note for note in told if note.word == word and job_id in (None, note.id)]
        return []

    def begun(self, job_id: str, times: int = 1) -> Note:
        """Wait until a job has begun so many times; the last note of it."""
        until(lambda: len(self.notes("begun", job_id)) >= times or not self._anyone())
        found = self.notes("begun", job_id)
        assert len(found) >= times, "\n".join(w.log[-2000:] for w in self.started)
        return found[-1]

    def sql(self, text: str) -> list[Any]:
        """SQL of the test's own, committed at once; `tenure.` stands before the names of tables."""
        place = locate(self.url)
        if isinstance(place, PostgresPlace):
            with psycopg.connect(place.conninfo, autocommit=True) as server:
                cursor = server.execute(text.replace("tenure.", f'"{place.schema}".').encode())
                return cursor.fetchall() if cursor.description else []
        connect: Any = sqlite3.connect if place.shared else apsw.Connection
        with closing(connect(place.path)) as file:
            file.execute("PRAGMA busy_timeout = 10000")
            with file:
                return list(file.execute(text.replace("tenure.", "tenure_")).fetchall())

    def stop(self, worker: WorkerProcess) -> None:
        """SIGSTOP; returns when it stands still. It has no lock of the file in its hands then: all others would stand still too."""
        with self._nobody_writes():
            worker.send(signal.SIGSTOP)
            _, status = os.waitpid(worker.pid, os.WUNTRACED)
            assert os.WIFSTOPPED(status), worker.log[-2000:]

    @contextmanager
    def _nobody_writes(self) -> Iterator[None]:
        place = locate(self.url)
        if isinstance(place, PostgresPlace):
            yield  # a server ends what it was asked, whoever asked
            return
        connect: Any = sqlite3.connect if place.shared else apsw.Connection
        with closing(connect(place.path)) as file:
            file.execute(f"PRAGMA busy_timeout = {_PATIENCE * 1_000:.0f}")
            file.execute("BEGIN IMMEDIATE")
            yield
            file.execute("ROLLBACK")

    def open_gate(self) -> None:
        """Let the jobs that wait for it go on."""
        (self.folder / "gate").touch()

    def end(self) -> None:
        """Nobody outlives the test: a pool's children leave with their parent, but not while they are stopped."""
        for worker in self.started:
            for pid in [worker.pid, *worker.children]:
                if worker.process.poll() is None or pid != worker.pid:
                    with suppress(ProcessLookupError, PermissionError):
                        os.kill(pid, signal.SIGKILL)
            worker.process.wait(_PATIENCE)
        self.q.close()

    def _anyone(self) -> bool:
        return any(worker.process.poll() is None for worker in self.started)


@contextmanager
def open_scene(url: str, folder: Path) -> Iterator[Scene]:
    """A scene on a fresh store; whoever still works at the end is killed."""
    scene = Scene(url, folder)
    try:
        yield scene
    finally:
        scene.end()
