"""A pool: one parent that keeps N worker processes alive.

A child that dies, or leaves though nobody told it to, is started again, after half a second, then after longer and longer rests;
one that has run its share of jobs, at once. The parent tells the store who had been running what, so nothing waits for a lease.
Signals are passed on. Children leave when their parent is gone. Told to stop, the pool is gone when the grace period is over: its
children have a little less of it, so that those which do not leave are killed, and the store is told of them, within it.
"""

from __future__ import annotations

import logging
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from datetime import timedelta

from msgspec import Struct

from tenure.client.queue import Queue
from tenure.worker.address import surroundings
from tenure.worker.marks import excuse, folder_of, marks_in
from tenure.worker.reports import Reports, told
from tenure.worker.settings import WorkerSettings

__all__ = ["MADE_ROOM", "NUMBER", "PARENT", "Pool"]

PARENT = "TENURE_POOL_PARENT"
"""The variable that tells a pool's worker who its parent is."""
NUMBER = "TENURE_POOL_NUMBER"
"""The variable that tells a pool's worker which of them it is, from 0; who takes a dead one's place has its number."""
MADE_ROOM = 75
"""How a child leaves that has worked, and makes room for a fresh one."""

log = logging.getLogger("tenure")
_LOOK = 0.1
_AGAIN = 1.0
"""How soon the second word is said again. A signal that comes while another is on its way may be taken by any thread, and the
interpreter hears of it when its main thread does something: which a handler may keep from it."""
_SHARE, _MOST = 4, 3.0
"""The parent's part of the grace period: one in so many, and no more seconds than this."""
_LAST = 2 / 3
"""What is left of that part for what is to be told to the store; before, late children are killed."""
_STEADY = 30.0
_FIRST_REST, _LONGEST_REST = 0.5, 30.0


class _Place(Struct):
    """One of the N."""

    number: int
    process: subprocess.Popen[bytes] | None = None
    since: float = 0.0
    rest: float = 0.0
    due: float = 0.0

    def rest_longer(self, *, anew: bool = False) -> None:
        """It did not live: wait twice as long as the last time before the next."""
        self.rest = _FIRST_REST if anew else min(max(self.rest * 2, _FIRST_REST), _LONGEST_REST)
        self.due = time.monotonic() + self.rest


class Pool:
    """Keeps `processes` workers alive until it is told to stop."""

    def __init__(
        self,
        address: str,
        open_queue: Callable[[], Queue],
        processes: int,
        settings: WorkerSettings,
        *,
        place: str,
        command: Sequence[str] | None = None,
    ) -> None:
        self._grace, self._marks = settings.grace.total_seconds(), folder_of(place)
        self._deadline = math.inf
        self._command = list(command or child_command(address, settings))
        self._places = [_Place(n) for n in range(processes)]
        self._stops = 0
        self._words = (signal.SIGTERM, signal.SIGINT)
        self._say_again = 0.0
        self._unreported: list[tuple[int, int]] = []
        self._reports = Reports(open_queue, self._marks)

    def run(self) -> None:
        """Until every child has left."""
        before = {s: signal.signal(s, self._on_signal) for s in (signal.SIGTERM, signal.SIGINT)}
        self._reports.start()
        try:
            while self._tend():
                time.sleep(_LOOK)
        finally:
            self._kill_all()
            self._report_the_last()
            signal.setitimer(signal.ITIMER_REAL, 0)
            for number, handler in before.items():
                signal.signal(number, handler)

    def _on_signal(self, number: int, _frame: object) -> None:
        self._stops += 1
        if self._stops == 1:
            self._words = (signal.SIGINT, signal.SIGTERM) if number == signal.SIGINT else self._words
            self._deadline = time.monotonic() + self._grace
            # Should even giving up hang (on a log that nobody reads), the kernel ends the process.
            signal.setitimer(signal.ITIMER_REAL, self._grace + 2)
        self._pass_on_to_all()

    def _pass_on_to_all(self) -> None:
        self._say_again = time.monotonic() + _AGAIN
        for place in self._places:
            self._pass_on(place)

    def _pass_on(self, place: _Place) -> None:
        """The first word is the signal that came, which others may send to every process; the second is the other one, so that
        hearing the first twice is not taken for it."""
        if place.process is not None:
            place.process.send_signal(self._words[self._stops > 1])

    def _tend(self) -> bool:
        """Look after each place; False once the pool was told to stop and everybody has left."""
        for place in self._places:
            if place.process is not None and place.process.poll() is not None:
                self._bury(place, place.process)
            # Who comes would tell of the dead, too, and knows less of how they ended.
            if place.process is None and not (self._stops or self._reports.pending) and time.monotonic() >= place.due:  # fmt: skip
                self._start(place)
        if time.monotonic() > self._deadline - share_of(self._grace) * _LAST:
            return False
        if self._stops > 1 and time.monotonic() > self._say_again:
            self._pass_on_to_all()
        return not self._stops or any(p.process is not None for p in self._places)

    def _start(self, place: _Place) -> None:
        env = surroundings(**{PARENT: str(os.getpid()), NUMBER: str(place.number)})
        try:
            # A session of its own: a terminal's Ctrl-C reaches the parent only, which passes it on once.
            place.process = subprocess.Popen(self._command, env=env, start_new_session=True)
        except OSError as error:  # no memory, too many processes: that may pass
            place.rest_longer()
            log.error("pool: process %d of %d could not be started: %s; it is tried again in %g s", place.number + 1, len(self._places), error, place.rest)  # noqa: TRY400 - told  # fmt: skip
            return
        place.since = time.monotonic()
        if self._stops:  # told so while it was being started
            self._pass_on(place)
        log.info("pool: process %d of %d has pid %d", place.number + 1, len(self._places), place.process.pid)

    def _bury(self, place: _Place, process: subprocess.Popen[bytes]) -> None:
        place.process = None
        code = process.returncode
        lived = time.monotonic() - place.since
        if code == MADE_ROOM:
            place.rest, place.due = 0.0, 0.0
        elif code == 0:
            if not self._stops:
                place.rest_longer(anew=lived > _STEADY)
                log.warning("pool: process %d left though nobody told it to; it is started again in %g s", process.pid, place.rest)  # fmt: skip
        elif self._stops:
            # Reported when all are gone: one that is still to be killed may be holding up the database.
            # By the first word ends who was told to before it could listen: it had only been starting.
            level = logging.INFO if code == -self._words[0] else logging.ERROR
            log.log(level, "pool: process %d %s", process.pid, told(code))
            self._unreported.append((process.pid, code))
        else:
            self._reports.add(process.pid, code)
            place.rest_longer(anew=lived > _STEADY)
            log.error("pool: process %d %s; it is started again in %g s", process.pid, told(code), place.rest)

    def _kill_all(self) -> None:
        """Those that did not leave in time; what they ran has not crashed, they are killed for leaving late."""
        late = [p.process for p in self._places if p.process is not None and p.process.poll() is None]
        for process in late:
            log.error("pool: process %d did not leave in time and is killed", process.pid)
            process.kill()
        for process in late:
            process.wait()
            for path in marks_in(self._marks, process.pid):
                excuse(path)
            self._unreported.append((process.pid, process.returncode))

    def _report_the_last(self) -> None:
        """Tell the store of those that left in no good order, as long as there is time."""
        for pid, code in self._unreported:
            self._reports.add(pid, code)
        self._reports.stop()
        left = min(self._deadline - time.monotonic(), self._grace)
        if not self._reports.join(max(left, 0.0)):
            log.error(
                "pool: the database did not answer before the grace period ended; the next start tells the rest"
            )


def share_of(grace: float) -> float:
    """How many seconds of the grace period are the parent's own."""
    return min(grace / _SHARE, _MOST)


def child_command(address: str, settings: WorkerSettings) -> list[str]:
    """How a pool starts one of its workers: the same command, for one process; the grace period without the parent's part."""
    grace = settings.grace.total_seconds()
    command = [sys.executable, "-m", "tenure", "worker", address]
    for line in settings.lines:
        command += ["-q", line.name]
    command += [
        "--lease", _span(settings.lease), "--poll", _span(settings.poll),
        "--grace", _span(timedelta(seconds=grace - share_of(grace))), "--prefetch", str(settings.prefetch),
        "--settle-delay", _span(settings.settle_delay), "--children", str(settings.children),
    ]  # fmt: skip
    if not settings.janitor:
        command.append("--no-janitor")
    if settings.child_jobs is not None:
        command += ["--child-jobs", str(settings.child_jobs)]
    if settings.max_jobs is not None:
        command += ["--max-jobs", str(settings.max_jobs)]
    if settings.max_memory is not None:
        command += ["--max-memory", str(settings.max_memory)]
    return command


def _span(length: timedelta) -> str:
    """As a command line takes it: without the exponent that a float of few seconds is written with."""
    return f"{length.total_seconds():f}".rstrip("0").rstrip(".") + "s"
