"""A pool: one parent that keeps N worker processes alive.

A child that dies, or leaves though nobody told it to, is started again, after half a second, then after longer and longer rests;
one that has run its share of jobs, at once. The parent tells the store who had been running what, so nothing waits for a lease.
Signals are passed on. Children leave when their parent is gone.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tenure.client.queue import Queue
from tenure.worker.address import surroundings
from tenure.worker.marks import folder_of, forget, read_marks
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
_STEADY = 30.0
_FIRST_REST, _LONGEST_REST = 0.5, 30.0


@dataclass
class _Place:
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
        self._open, self._settings, self._marks = open_queue, settings, folder_of(place)
        self._command = list(command or child_command(address, settings))
        self._places = [_Place(n) for n in range(processes)]
        self._stops = 0
        self._say_again = 0.0
        self._unreported: list[tuple[int, int]] = []
        self._queue: Queue | None = None

    def run(self) -> None:
        """Until every child has left."""
        before = {s: signal.signal(s, self._on_signal) for s in (signal.SIGTERM, signal.SIGINT)}
        try:
            while self._tend():
                time.sleep(_LOOK)
        finally:
            self._kill_all()
            for pid, code in self._unreported:
                self._report(pid, code)
            if self._queue is not None:
                self._queue.close()
            signal.setitimer(signal.ITIMER_REAL, 0)
            for number, handler in before.items():
                signal.signal(number, handler)

    def _on_signal(self, _number: int, _frame: object) -> None:
        self._stops += 1
        if self._stops == 1:
            grace = self._settings.grace.total_seconds()
            self._deadline = time.monotonic() + grace + 2
            # Should the database keep the parent from leaving, the kernel ends it.
            signal.setitimer(signal.ITIMER_REAL, grace + 10)
        self._pass_on_to_all()

    def _pass_on_to_all(self) -> None:
        self._say_again = time.monotonic() + _AGAIN
        for place in self._places:
            self._pass_on(place)

    def _pass_on(self, place: _Place) -> None:
        """The first word is SIGTERM; the second is another signal, so that hearing the first twice is not taken for it."""
        if place.process is not None:
            place.process.send_signal(signal.SIGTERM if self._stops == 1 else signal.SIGINT)

    def _tend(self) -> bool:
        """Look after each place; False once the pool was told to stop and everybody has left."""
        for place in self._places:
            if place.process is not None and place.process.poll() is not None:
                self._bury(place, place.process)
            if place.process is None and not self._stops and time.monotonic() >= place.due:
                self._start(place)
        if self._stops and time.monotonic() > self._deadline:
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
            # By SIGTERM ends who was told to before it could listen: it had only been starting.
            level = logging.INFO if code == -signal.SIGTERM else logging.ERROR
            log.log(level, "pool: process %d %s", process.pid, told(code))
            self._unreported.append((process.pid, code))
        else:
            self._report(process.pid, code)
            place.rest_longer(anew=lived > _STEADY)
            log.error("pool: process %d %s; it is started again in %g s", process.pid, told(code), place.rest)

    def _report(self, pid: int, code: int, *, crashed: bool = True) -> None:
        """Tell the store what the dead child had been running.

        Only by SIGKILL can a job in a child process, or its hunger for memory, have ended the worker.
        """
        killed = crashed and code == -signal.SIGKILL
        for path in self._marks.glob(f"{pid}-*.marks"):
            left = read_marks(path)
            if left is None:
                continue
            try:
                if self._queue is None:
                    self._queue = self._open()
                taken = self._queue.vanished(
                    left.worker,
                    started=left.started if crashed else (),
                    apart=left.apart if killed else (),
                    story=f"worker {left.worker} {told(code)} while it ran this job",
                )
                forget(path)
                log.warning("pool: %d jobs of worker %s are taken back", taken, left.worker)
            except Exception:
                # The marks stay: the next start on this machine, or the leases, tell the rest.
                log.exception("pool: what worker %s held could not be taken back", left.worker)

    def _kill_all(self) -> None:
        """Those that did not leave in time; what they ran has not crashed, they are killed for leaving late."""
        late = [p.process for p in self._places if p.process is not None and p.process.poll() is None]
        for process in late:
            log.error("pool: process %d did not leave in time and is killed", process.pid)
            process.kill()
        for process in late:
            process.wait()
            self._report(process.pid, process.returncode, crashed=False)


def told(code: int) -> str:
    """How a process ended."""
    if code >= 0:
        return f"left with exit code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"


def child_command(address: str, settings: WorkerSettings) -> list[str]:
    """How a pool starts one of its workers: the same command, for one process."""
    command = [sys.executable, "-m", "tenure", "worker", address]
    for line in settings.lines:
        command += ["-q", line.name]
    command += [
        "--lease", f"{settings.lease.total_seconds()}s", "--poll", f"{settings.poll.total_seconds()}s",
        "--grace", f"{settings.grace.total_seconds()}s", "--prefetch", str(settings.prefetch),
        "--settle-delay", f"{settings.settle_delay.total_seconds()}s", "--children", str(settings.children),
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
