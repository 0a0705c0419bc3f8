"""The janitor by itself, without a worker."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Protocol

from tenure.app_schedules import CodeSchedule
from tenure.client.queue import Queue
from tenure.events import ChoreDone, ChoreFailed, Listeners
from tenure.janitor.janitor import Janitor
from tenure.janitor.settings import JanitorSettings
from tenure.kinds import Kinds

__all__ = ["run_alone"]

_LOOK_UP = 0.2


class Tended(Protocol):
    """What the janitor needs of an app."""

    kinds: Kinds
    listeners: Listeners
    crons: list[CodeSchedule]
    janitor: JanitorSettings

    def open(self) -> Queue:
        """A queue of its own."""
        ...


def run_alone(
    app: Tended,
    *,
    once: bool,
    fires_all: bool = False,
    ready: Callable[[Sequence[str]], None] = lambda _: None,
) -> dict[str, int]:
    """Do the chores once, or until SIGTERM or SIGINT; how much each moved (-1: once, and it failed).

    `fires_all`: schedules of any kind are fired, and not only those of kinds that the app knows. `ready` is told the names of the
    chores once they are under way and signals are heard.
    """
    moved, failed = Counter[str](), set[str]()
    app.listeners.add(lambda event: moved.update({event.chore: event.moved}), ChoreDone)
    app.listeners.add(lambda event: failed.add(event.chore), ChoreFailed)
    with app.open() as queue:
        janitor = Janitor(
            queue, app.janitor, listeners=app.listeners, worker=queue.worker, kinds=app.kinds, crons=app.crons,
            fires_all=fires_all,
        )  # fmt: skip
        if once:
            janitor.once(goes_round=True)
            return {c.name: -1 if c.name in failed else moved[c.name] for c in janitor.chores}
        # A signal handler must not set an Event: it may have interrupted the very wait for it.
        told: SimpleQueue[int] = SimpleQueue()
        before = {
            s: signal.signal(s, lambda number, _: told.put(number)) for s in (signal.SIGTERM, signal.SIGINT)
        }
        janitor.start()
        ready([chore.name for chore in janitor.chores])
        while told.empty():  # another thread may take the signal, and then nothing wakes this one
            time.sleep(_LOOK_UP)
        janitor.stop()
        janitor.join(30)
        for number, handler in before.items():
            signal.signal(number, handler)
    return {chore.name: moved[chore.name] for chore in janitor.chores}
