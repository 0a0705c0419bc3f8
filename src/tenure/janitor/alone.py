"""The janitor by itself, without a worker."""

from __future__ import annotations

import signal
import threading
from typing import Protocol

from tenure.app_schedules import CodeSchedule
from tenure.client.queue import Queue
from tenure.events import ChoreDone, ChoreFailed, Listeners
from tenure.janitor.janitor import Janitor
from tenure.janitor.settings import JanitorSettings
from tenure.kinds import Kinds

__all__ = ["run_alone"]


class Tended(Protocol):
    """What the janitor needs of an app."""

    kinds: Kinds
    listeners: Listeners
    crons: list[CodeSchedule]
    janitor: JanitorSettings

    def open(self) -> Queue:
        """A queue of its own."""
        ...


def run_alone(app: Tended, *, once: bool) -> dict[str, int]:
    """Do the chores once, or until SIGTERM or SIGINT; how much each moved (-1: it failed)."""
    moved: dict[str, int] = {}
    app.listeners.add(
        lambda event: moved.update({event.chore: moved.get(event.chore, 0) + event.moved}), ChoreDone
    )
    app.listeners.add(lambda event: moved.update({event.chore: -1}), ChoreFailed)
    with app.open() as queue:
        janitor = Janitor(
            queue, app.janitor, listeners=app.listeners, worker=queue.worker, kinds=app.kinds, crons=app.crons
        )
        if once:
            janitor.once()
            return {chore.name: moved.get(chore.name, 0) for chore in janitor.chores}
        stop = threading.Event()
        before = {s: signal.signal(s, lambda *_: stop.set()) for s in (signal.SIGTERM, signal.SIGINT)}
        janitor.start()
        stop.wait()
        janitor.stop()
        janitor.join(30)
        for number, handler in before.items():
            signal.signal(number, handler)
    return moved
