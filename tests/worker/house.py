"""An app on a fresh store, and workers of it in threads of this process: what the tests of the worker are run on."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

import tenure
from tenure.events import Event
from tenure.worker.start import make_worker, worker_settings
from tests.support.clock import MovedClock

__all__ = ["PATIENCE", "Heard", "House", "Working", "crash_once", "stands", "until"]

PATIENCE = 60.0


def until(fact: Callable[[], object], what: str = "it never came true", patience: float = PATIENCE) -> None:
    """Wait for a fact."""
    deadline = time.monotonic() + patience
    while not fact():
        assert time.monotonic() < deadline, what
        time.sleep(0.003)


async def stands(_claim: tenure.Claim) -> bool:
    """Every claim stands: for child processes without a worker."""
    return True


def crash_once(house: House, *jobs: Any) -> None:
    """The worker of these jobs vanished while it ran them."""
    ids = {job.id for job in jobs}
    claims = house.queue.claim(100, worker="lost")
    started = [(claim.id, claim.epoch) for claim in claims if claim.id in ids]
    assert len(started) == len(ids)
    assert house.queue.vanished("lost", started=started, story="worker lost died") == len(claims)


class Working:
    """A worker at work in a thread of its own."""

    def __init__(self, app: tenure.App, settings: dict[str, Any]) -> None:
        self.worker = make_worker(app, worker_settings(**{"poll": "1s", "concurrency": 10, **settings}))
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="test-worker", daemon=True)
        self._thread.start()

    def crowd(self, count: int) -> None:
        """Have the first line claim this many jobs ahead, as if jobs had been short lately."""
        until(lambda: hasattr(self.worker, "_claimer"))
        self.worker._lines[0]._ahead = lambda: count  # type: ignore[method-assign]
        self.worker._claimer.ring()

    def chores(self) -> None:
        """Have the janitor do every chore now."""
        janitor: Any = self.worker._janitor
        for chore in janitor.chores:
            chore.due = 0.0
        janitor.ring()

    def tell(self) -> None:
        """Tell it to stop."""
        self.worker.stop()

    def gone(self) -> None:
        """Wait until it has stopped."""
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "the worker never stopped"
        if self._error is not None:
            raise self._error

    def stop(self) -> None:
        """Stop it in good order."""
        if self._thread.is_alive():
            self.tell()
        self.gone()

    def _run(self) -> None:
        try:
            asyncio.run(self.worker.run())
        except BaseException as error:
            self._error = error


class Heard:
    """Every event that an app's workers told of."""

    def __init__(self, app: tenure.App, *events: type[Event]) -> None:
        self.events: list[Any] = []
        app.listen(self.events.append, *(events or (Event,)))

    def of(self, event: type[Event]) -> list[Any]:
        """Those of one kind."""
        return [e for e in self.events if type(e) is event]


class House:
    """One app on one store."""

    def __init__(self, store: str, url: str, app: tenure.App | None = None) -> None:
        self.store, self.url = store, url
        self.app = tenure.App(url) if app is None else app
        self._working: list[Working] = []

    def stand_still(self, **options: Any) -> MovedClock:
        """From here on the app is another one, whose time the test moves; said before anything is stored."""
        clock = MovedClock()
        self.app = tenure.App(self.url, clock=clock, **options)
        return clock

    @property
    def queue(self) -> tenure.Queue:
        """The store, for who looks at it from outside."""
        return self.app.queue

    def start(self, **settings: Any) -> Working:
        """A worker, at work until the test ends."""
        working = Working(self.app, settings)
        self._working.append(working)
        return working

    def ended(self, job: Any) -> tenure.JobSeen:
        """The job, once it is done, dead or cancelled."""
        return self.seen(job, lambda j: j.state in ("done", "dead", "cancelled"))

    def seen(self, job: Any, fact: Callable[[tenure.JobSeen], object]) -> tenure.JobSeen:
        """The job, once this is true of it."""
        found: list[tenure.JobSeen] = []

        def look() -> bool:
            found[:] = [j for j in [self.queue.get(job.id)] if j is not None]
            return bool(found and fact(found[0]))

        deadline = time.monotonic() + PATIENCE
        while not look():
            assert time.monotonic() < deadline, f"it never came true; the job is {found}"
            time.sleep(0.003)
        return found[0]

    def story(self, job: Any) -> list[tuple[int, str, str]]:
        """The job's history in short: attempt, error kind, message."""
        return [(a.attempt, a.error_kind, a.message) for a in self.queue.history(job.id)]

    @contextmanager
    def connection(self) -> Iterator[Any]:
        """A connection of the caller's own to the same database; left open in its transaction."""
        if self.store == "postgres":
            made: Any = psycopg.connect(self.url.partition("?")[0])
        else:
            path = self.url.removeprefix("sqlite:///").partition("?")[0]
            made = sqlite3.connect(path, timeout=20, check_same_thread=False)
        try:
            yield made
        finally:
            made.close()

    def close(self) -> None:
        """Stop every worker, and let go of the store."""
        for working in self._working:
            if working._thread.is_alive():
                working.tell()
        for working in self._working:
            working.gone()
        self.app.close()
