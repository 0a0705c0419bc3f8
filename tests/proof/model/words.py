"""The words of the contract: what a job is, how one is asked for, what a claim on it is, and how a claim ends.

Times are whole microseconds. Nothing here knows of a store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

__all__ = [
    "CARRIED", "FINISHED", "MOVES", "PENDING", "SECOND", "STATES", "SUSPECT", "WAITS", "Ask", "Attempt", "Job", "Move", "Name",
    "Outcome", "Request", "State", "Ticket", "in_line",
]  # fmt: skip

State = Literal["scheduled", "waiting", "ready", "running", "done", "dead", "cancelled"]
Name = Literal["done", "fail", "snooze", "release", "bury", "cancelled", "crashed"]

PENDING: Final[tuple[State, ...]] = ("scheduled", "waiting", "ready")
FINISHED: Final[tuple[State, ...]] = ("done", "dead", "cancelled")
STATES: Final[tuple[State, ...]] = (*PENDING, "running", *FINISHED)
SECOND: Final = 1_000_000
WAITS: Final = 1
"""The doubt about a job in a worker's buffer: it is not known to have started."""
SUSPECT: Final = 2
"""The doubt about a job whose worker vanished before anybody heard whether it had started."""


class Ticket(NamedTuple):
    """A claim: the proof that a worker holds a job. (job, epoch) is the whole fence."""

    job: str
    epoch: int
    worker: str


class Outcome(NamedTuple):
    """How a claim ends: its name, and what that outcome has to say."""

    name: Name
    delay: int | None = None
    text: str = ""
    reason: str | None = None
    result: int | None = None


class Attempt(NamedTuple):
    """A failed attempt or a crash, as the job's history keeps it. `by` is who counted it, or the outcome that told of it."""

    attempt: int
    worker: str | None
    started_at: int | None
    finished_at: int
    kind: str
    message: str | None
    by: str | None


class Move(NamedTuple):
    """A job went from one state to another; None is "not there"."""

    job: str
    cause: str
    was: State | None
    now: State | None


class Request(NamedTuple):
    """The web request that a job was made from: its bytes, and the headers that were kept."""

    body: bytes
    headers: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class Ask:
    """A job as it is asked for. Of a group, whoever waits first in line says its `limit`.

    From `payload` on the store keeps what it is given and decides nothing by it: all of it stays as it is for as long as the
    job is there, whatever becomes of the job.
    """

    kind: str = "k"
    queue: str = "default"
    priority: int = 0
    run_at: int | None = None
    delay: int | None = None
    max_attempts: int = 5
    unique: str | None = None
    unique_for: int | None = None
    group: str | None = None
    limit: int = 1
    order: Literal["strict", "start"] = "strict"
    expires_at: int | None = None
    expires_in: int | None = None
    payload: Any = None
    timeout: int | None = None
    tags: tuple[str, ...] = ()
    meta: Mapping[str, str] = field(default_factory=dict)
    parent: str | None = None
    flow: str | None = None
    tenant: str | None = None
    request: Request | None = None


CARRIED: Final = ("payload", "timeout", "tags", "meta", "parent", "flow", "tenant", "request")
"""What the store keeps and never decides by."""


class Job:
    """A job as it stands. `held`: it has one of its group's slots. `settled`: the settles that were accepted, for good."""

    def __init__(self, id: str, seq: int, ask: Ask, now: int) -> None:
        self.id, self.seq, self.ask = id, seq, ask
        self.state: State = "ready"
        self.run_at = now + (ask.delay or 0) if ask.run_at is None else ask.run_at
        self.expires_at = ask.expires_at if ask.expires_in is None else now + ask.expires_in
        self.created_at = now
        self.attempt = self.crashes = self.epoch = 0
        self.doubt: int | None = None
        self.worker: str | None = None
        self.lease_until: int | None = None
        self.started_at: int | None = None
        self.finished_at: int | None = None
        self.cancel_at: int | None = None
        self.outcome: str | None = None
        self.reason: str | None = None
        self.error: str | None = None
        self.result: int | None = None
        self.progress: float | None = None
        self.held = False
        self.was: dict[str, Any] | None = None
        """What it was before it was last replayed, with the epoch of then, or before it was discarded."""
        self.settled: frozenset[tuple[int, Name]] = frozenset()
        self.story: dict[int, Attempt] = {}

    def copy(self) -> Job:
        """The same job, for a world of its own."""
        twin = Job.__new__(Job)
        twin.__dict__.update(self.__dict__)
        twin.story = dict(self.story)
        return twin

    @property
    def finished(self) -> bool:
        """Whether it has ended."""
        return self.state in FINISHED

    @property
    def given_back(self) -> int:
        """The attempt before this one: a claim that was no fault of the job burns none."""
        return max(self.attempt - 1, 0)


def in_line(job: Job) -> tuple[int, int, int]:
    """Who comes first: higher priority, then earlier run_at, then arrival."""
    return (-job.ask.priority, job.run_at, job.seq)


_BACK: Final[set[tuple[str | None, str | None]]] = {
    ("running", "ready"),
    ("running", "dead"),
    ("running", "cancelled"),
}
MOVES: Final[dict[str, set[tuple[str | None, str | None]]]] = {
    "enqueue": {(None, "scheduled"), (None, "waiting"), (None, "ready")},
    "promote": {("scheduled", "ready"), ("scheduled", "waiting")},
    "admit": {("waiting", "ready")},
    "claim": {("ready", "running")},
    "done": {("running", "done")},
    "fail": {("running", "scheduled"), *_BACK},
    "snooze": {("running", "scheduled"), ("running", "ready"), ("running", "cancelled")},
    "release": {("running", "ready"), ("running", "cancelled")},
    "crashed": _BACK,
    "bury": {("running", "dead")},
    "cancelled": {("running", "cancelled")},
    "cancel": {(was, "cancelled") for was in PENDING},
    "reclaim": _BACK,
    "vanished": _BACK,
    "expire": {(was, end) for was in PENDING for end in ("cancelled", "dead")},
    "absolve": {("dead", "ready"), ("dead", "waiting")},
    "replay": {(was, to) for was in FINISHED for to in PENDING},
    "unreplay": {(was, end) for was in PENDING for end in FINISHED},
    "discard": {("dead", "cancelled")},
    "restore": {("cancelled", "dead")},
    "retain": {(was, None) for was in FINISHED},
    "purge": {(was, None) for was in FINISHED},
}
"""Every move that a verb may make. A job of a group enters the line as `waiting`; `admit` makes it ready in the same call."""
