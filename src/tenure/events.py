"""What happens in a worker, by name and with its facts: for logs, metrics and whoever listens.

One class per event; `app.listen(function, Ended)` calls `function(event)` for each. A listener that raises is logged and
hurts nobody. An event nobody listens to is never made.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

from msgspec import Struct

from tenure.job import Claim, JobId
from tenure.outcome import Outcome

__all__ = [
    "Abandoned",
    "ChildCrashed",
    "ChoreDone",
    "ChoreFailed",
    "ClaimGone",
    "Ended",
    "Event",
    "Fired",
    "Listeners",
    "Outage",
    "Settled",
    "SlotStuck",
    "Started",
    "WorkerStarted",
    "WorkerStopped",
    "WorkerStopping",
]

log = logging.getLogger("tenure")


class Event(Struct, frozen=True):
    """Something that happened on this worker."""

    worker: str


class WorkerStarted(Event, frozen=True):
    """The worker is ready to claim."""

    queues: tuple[str, ...]
    kinds: tuple[str, ...]


class WorkerStopping(Event, frozen=True):
    """The worker was told to stop: it claims nothing more."""

    running: int


class WorkerStopped(Event, frozen=True):
    """The worker has settled what it held."""


class Started(Event, frozen=True):
    """A handler begins."""

    claim: Claim


class Ended(Event, frozen=True):
    """A handler has ended. Its outcome is not settled yet, unless the handler did that in a transaction of its own."""

    claim: Claim
    outcome: Outcome
    seconds: float


class Abandoned(Event, frozen=True):
    """A handler has ended whose claim was lost: what came of it counts for nothing. Told in the place of Ended."""

    claim: Claim
    seconds: float


class Settled(Event, frozen=True):
    """A batch of claims was settled; how many stood, and how many had been lost."""

    stood: int
    lost: int


class ClaimGone(Event, frozen=True):
    """A claim was lost while its job ran: the handler is cancelled and its outcome counts for nothing."""

    claim: Claim


class SlotStuck(Event, frozen=True):
    """A handler was told to stop (it took too long, is to be cancelled, lost its claim) and did not: its slot is not free."""

    claim: Claim
    seconds: float


class ChildCrashed(Event, frozen=True):
    """A child process that ran a job has died of it."""

    claim: Claim
    story: str


class Outage(Event, frozen=True):
    """The database did not answer; the worker goes on trying."""

    doing: str
    error: str


class ChoreDone(Event, frozen=True):
    """A chore of the janitor's ran; how much it moved."""

    chore: str
    moved: int
    seconds: float


class ChoreFailed(Event, frozen=True):
    """A chore of the janitor's failed; the others and its next turn are not harmed."""

    chore: str
    error: str


class Fired(Event, frozen=True):
    """A schedule fired."""

    schedule: str
    fire_at: datetime
    job_id: JobId


E = TypeVar("E", bound=Event)


class Listeners:
    """Who is called for which event."""

    def __init__(self) -> None:
        self._by_event: dict[type[Event], list[Callable[[Any], object]]] = {}

    def add(self, function: Callable[[E], object], *events: type[E]) -> None:
        """Call `function` for these events; for every event where none is named."""
        for event in events or (Event,):
            self._by_event.setdefault(event, []).append(function)

    def of(self, event: type[Event]) -> list[Callable[[Any], object]]:
        """Who listens to this event; empty: it need not be made."""
        return [*self._by_event.get(event, []), *self._by_event.get(Event, [])]

    def tell(self, event: Event) -> None:
        """Call everyone who listens to it."""
        tell_all(self.of(type(event)), event)


def tell_all(listeners: list[Callable[[Any], object]], event: Event) -> None:
    """Call these; one that raises hurts nobody."""
    for listener in listeners:
        try:
            listener(event)
        except Exception:
            log.exception("a listener to %s failed", type(event).__name__)
