"""What a job is, what states it passes through, and what a claim on it is.

A `JobSeen` is a frozen picture of a row; its parts are decoded when they are first looked at, so that reading 500 jobs to
run them costs next to nothing. A `Claim` is the proof that a worker holds a job: (id, epoch) is the whole fence.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, NewType, Protocol, overload

from msgspec import Struct

from tenure.clock import from_micros
from tenure.errors import ClaimLost, FieldError, PayloadError, UsageError
from tenure.outcome import plain

if TYPE_CHECKING:
    from tenure.outcome import Outcome

__all__ = [
    "CLAIM_COLUMNS",
    "JOB_COLUMNS",
    "PENDING",
    "SUSPECT",
    "TRANSITIONS",
    "WAITS",
    "Attempt",
    "Cancelling",
    "Claim",
    "Enqueued",
    "JobId",
    "JobSeen",
    "Order",
    "Renewed",
    "Replayed",
    "Request",
    "State",
]

JobId = NewType("JobId", str)
Order = Literal["strict", "start"]


class State(StrEnum):
    """Where a job stands."""

    SCHEDULED = "scheduled"
    WAITING = "waiting"
    READY = "ready"
    RUNNING = "running"
    DONE = "done"
    DEAD = "dead"
    CANCELLED = "cancelled"


PENDING: Final = (State.SCHEDULED, State.WAITING, State.READY)
FINISHED: Final = (State.DONE, State.DEAD, State.CANCELLED)

_S = State
_TAKEN_BACK = ((_S.RUNNING, _S.READY), (_S.RUNNING, _S.DEAD), (_S.RUNNING, _S.CANCELLED))
TRANSITIONS: Final[Mapping[str, tuple[tuple[State | None, State], ...]]] = {
    "enqueue": ((None, _S.SCHEDULED), (None, _S.WAITING), (None, _S.READY)),
    "promote": ((_S.SCHEDULED, _S.READY), (_S.SCHEDULED, _S.WAITING)),
    "admit": ((_S.WAITING, _S.READY),),
    "claim": ((_S.READY, _S.RUNNING),),
    "done": ((_S.RUNNING, _S.DONE),),
    "fail": (
        (_S.RUNNING, _S.SCHEDULED),
        (_S.RUNNING, _S.READY),
        (_S.RUNNING, _S.DEAD),
        (_S.RUNNING, _S.CANCELLED),
    ),
    "snooze": ((_S.RUNNING, _S.SCHEDULED), (_S.RUNNING, _S.READY), (_S.RUNNING, _S.CANCELLED)),
    "release": ((_S.RUNNING, _S.READY), (_S.RUNNING, _S.CANCELLED)),
    "crashed": _TAKEN_BACK,
    "bury": ((_S.RUNNING, _S.DEAD),),
    "cancelled": ((_S.RUNNING, _S.CANCELLED),),
    "cancel": ((_S.SCHEDULED, _S.CANCELLED), (_S.WAITING, _S.CANCELLED), (_S.READY, _S.CANCELLED)),
    "reclaim": _TAKEN_BACK,
    "vanished": _TAKEN_BACK,
    "expire": tuple(
        (s, end) for s in (_S.SCHEDULED, _S.WAITING, _S.READY) for end in (_S.CANCELLED, _S.DEAD)
    ),
    "absolve": (
        (_S.DEAD, _S.READY),
        (_S.DEAD, _S.WAITING),
        # The jobs of hooks that were to tell of such a death; they are of no group.
        (_S.SCHEDULED, _S.CANCELLED),
        (_S.READY, _S.CANCELLED),
    ),
    "discard": ((_S.DEAD, _S.CANCELLED),),
    "restore": ((_S.CANCELLED, _S.DEAD),),
    "replay": tuple(
        (s, to) for s in (_S.DONE, _S.DEAD, _S.CANCELLED) for to in (_S.SCHEDULED, _S.WAITING, _S.READY)
    ),
    "unreplay": tuple(
        (s, end) for s in (_S.SCHEDULED, _S.WAITING, _S.READY) for end in (_S.DONE, _S.DEAD, _S.CANCELLED)
    ),
}
"""The life of a job as data: every move that any verb may make. `None` is "not there yet"."""


CLAIM_COLUMNS: Final = (
    "id", "seq", "epoch", "kind", "queue", "rank", "payload", "attempt", "max_attempts", "crashes", "run_at",
    "created_at", "lease_until", "started_at", "expires_at", "group_key", "parent", "flow", "tenant", "extra", "error",
    "group_limit", "doubt",
)  # fmt: skip
JOB_COLUMNS: Final = (
    *CLAIM_COLUMNS,
    "state", "worker", "finished_at", "outcome", "reason", "result", "progress", "progress_note", "cancel_at",
)  # fmt: skip
WAITS: Final = 1
"""The doubt about a job that was claimed into a buffer: it is not known to have started."""
SUSPECT: Final = 2
"""The doubt about a job whose worker vanished while nobody knew whether it had started. None: no doubt."""
_UNTOLD: Final = (None,) * (len(JOB_COLUMNS) - len(CLAIM_COLUMNS) - 2)


class JobSeen(Struct, frozen=True, kw_only=True):
    """One job as it stood when it was read."""

    id: JobId
    seq: int
    kind: str
    queue: str
    priority: int
    state: State
    payload_text: str
    attempt: int
    max_attempts: int
    crashes: int
    suspect: bool
    epoch: int
    run_at: datetime
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    lease_until: datetime | None
    worker: str | None
    expires_at: datetime | None
    timeout: timedelta | None
    unique: str | None
    unique_for: timedelta | None
    group: str | None
    group_limit: int | None
    order: Order | None
    tags: tuple[str, ...]
    meta: Mapping[str, str]
    parent: JobId | None
    flow: str | None
    tenant: str | None
    error: str | None
    reason: str | None
    outcome: str | None
    result_text: str | None
    progress: float | None
    progress_note: str | None
    cancel_asked_at: datetime | None

    @property
    def payload(self) -> Any:
        """What was enqueued, decoded anew at every look."""
        return decode_text(self.payload_text)

    @property
    def result(self) -> Any:
        """What the handler returned, or None."""
        return None if self.result_text is None else decode_text(self.result_text)

    @classmethod
    def of(cls, row: Sequence[Any]) -> JobSeen:
        """The job a row in the order of JOB_COLUMNS tells of."""
        r = dict(zip(JOB_COLUMNS, row, strict=True))
        extra: dict[str, Any] = json.loads(r["extra"]) if r["extra"] else {}
        return cls(
            id=r["id"],
            seq=r["seq"],
            kind=r["kind"],
            queue=r["queue"],
            priority=-r["rank"],
            state=State(r["state"]),
            payload_text=r["payload"],
            attempt=r["attempt"],
            max_attempts=r["max_attempts"],
            crashes=r["crashes"],
            suspect=r["doubt"] == SUSPECT,
            epoch=r["epoch"],
            run_at=from_micros(r["run_at"]),
            created_at=from_micros(r["created_at"]),
            started_at=_moment(r["started_at"]),
            finished_at=_moment(r["finished_at"]),
            lease_until=_moment(r["lease_until"]),
            worker=r["worker"],
            expires_at=_moment(r["expires_at"]),
            timeout=_span(extra.get("timeout")),
            unique=extra.get("unique"),
            unique_for=_span(extra.get("unique_for")),
            group=r["group_key"],
            group_limit=r["group_limit"],
            order=extra.get("order", "strict") if r["group_key"] is not None else None,
            tags=tuple(extra.get("tags", ())),
            meta=extra.get("meta", {}),
            parent=r["parent"],
            flow=r["flow"],
            tenant=r["tenant"],
            error=r["error"],
            reason=r["reason"],
            outcome=r["outcome"],
            result_text=r["result"],
            progress=r["progress"],
            progress_note=r["progress_note"],
            cancel_asked_at=_moment(r["cancel_at"]),
        )


def _moment(value: int | None) -> datetime | None:
    return None if value is None else from_micros(value)


def _span(value: int | None) -> timedelta | None:
    return None if value is None else timedelta(microseconds=value)


def decode_text(text: str) -> Any:
    """JSON text as the store keeps it; a text that is no JSON is a PayloadError, raised only for who looks."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as cause:
        raise PayloadError(
            "payload", "", f"is not JSON ({cause})", text[:40], "look at job.payload_text"
        ) from None


class SyncConnection(Protocol):
    """A caller's own connection or session that answers at once (psycopg, sqlite3, SQLAlchemy)."""

    def commit(self) -> None:
        """Commit."""
        ...


class AsyncConnection(Protocol):
    """A caller's own connection or session that is awaited (psycopg, aiosqlite, SQLAlchemy)."""

    def commit(self) -> Awaitable[None]:
        """Commit."""
        ...


class AsyncpgConnection(Protocol):
    """A caller's own asyncpg connection, which has no commit of its own."""

    def is_in_transaction(self) -> bool:
        """Whether a transaction is open."""
        ...


class ClaimOwner(Protocol):
    """Who made a claim, and can settle it in somebody's transaction."""

    def settle_in(self, claim: Claim, connection: object, outcome: Outcome) -> Any:
        """Settle inside the caller's transaction: None, or something to await where the connection is async."""
        ...


class Claim:
    """The proof that a worker holds a job until its lease runs out: job id + epoch + worker."""

    __slots__ = (
        "__weakref__", "_owner", "_row", "began", "completed", "ended", "epoch", "group", "id", "kind", "seq", "settled_as",
        "unawaited", "worker",
    )  # fmt: skip

    def __init__(self, row: Sequence[Any], worker: str, owner: ClaimOwner | None = None) -> None:
        self._row = row
        self._owner = owner
        self.id: JobId = row[0]
        self.seq: int = row[1]
        self.epoch: int = row[2]
        self.kind: str = row[3]
        self.group: str | None = row[15]
        self.worker = worker
        self.settled_as: Outcome | None = None
        """What a handler said of it in a transaction of its own, whether or not that was committed."""
        self.unawaited = False
        """Whether it was said on an async connection, and nobody has awaited it yet."""
        self.completed: Callable[[Claim, Outcome], Outcome] | None = None
        """What a worker adds to what its handler settles as: what the kind says where the handler says nothing."""
        self.began = self.ended = 0.0
        """When a worker started it and when that ended, by a clock of its own that only counts seconds."""

    @property
    def queue(self) -> str:
        """The queue it was claimed from."""
        return str(self._row[4])

    @property
    def payload_text(self) -> str:
        """The payload, as it is stored."""
        return str(self._row[6])

    @property
    def attempt(self) -> int:
        """Which attempt this is, from 1."""
        return int(self._row[7])

    @property
    def timeout(self) -> float | None:
        """How many seconds this job may run, if it was enqueued with a timeout of its own."""
        extra = self._row[19]
        micros = json.loads(extra).get("timeout") if extra else None
        return None if micros is None else micros / 1_000_000

    @property
    def row(self) -> Sequence[Any]:
        """The claim's columns, in the order of CLAIM_COLUMNS: how it travels to another process."""
        return self._row

    @property
    def apart(self) -> bool:
        """Whether it is to run apart from others: it crashed before, or may have."""
        return bool(self._row[9] > 0 or self._row[22] == SUSPECT)

    @property
    def job(self) -> JobSeen:
        """The job as it was when it was claimed."""
        return JobSeen.of((*self._row, State.RUNNING, self.worker, *_UNTOLD))

    @overload
    def settle_in(self, connection: SyncConnection, outcome: Outcome) -> None: ...
    @overload
    def settle_in(
        self, connection: AsyncConnection | AsyncpgConnection, outcome: Outcome
    ) -> Awaitable[None]: ...

    def settle_in(self, connection: Any, outcome: Outcome) -> Any:
        """Settle inside the caller's own transaction: its writes and the job's end commit together.

        Raises ClaimLost if the claim was taken away, so that the transaction rolls back. Await it where the
        connection is an async one.
        """
        if self._owner is None:
            raise UsageError(
                "this claim was not made by a Queue, so it does not know its store; use queue.using(connection)"
            )
        if self.completed is not None:
            outcome = self.completed(self, outcome)
        before, self.settled_as = self.settled_as, plain(outcome)
        try:
            answer = self._owner.settle_in(self, connection, outcome)
        except (ClaimLost, FieldError, UsageError):
            # These come before anything was written. Anything else may have broken the transaction, and is for that one's end to tell.
            self.settled_as = before
            raise
        if answer is None:
            return None
        self.unawaited = True
        return self._settled_later(answer, before)

    async def _settled_later(self, answer: Awaitable[None], before: Outcome | None) -> None:
        self.unawaited = False
        try:
            await answer
        except (ClaimLost, UsageError):
            self.settled_as = before
            raise

    def __repr__(self) -> str:
        return f"Claim(id={self.id!r}, epoch={self.epoch}, kind={self.kind!r}, worker={self.worker!r})"


class Enqueued(NamedTuple):
    """What enqueue did: `inserted`, or not, and then `id` is the job that was there before."""

    id: JobId
    inserted: bool


class Renewed(Struct, frozen=True):
    """What renew found: claims kept (those asked to cancel among them), and claims lost."""

    kept: frozenset[JobId]
    cancelling: frozenset[JobId]
    lost: frozenset[JobId]


class Cancelling(StrEnum):
    """What cancel did."""

    CANCELLED = "cancelled"
    ASKED = "asked"
    FINISHED = "finished"
    UNKNOWN = "unknown"


class Replayed(StrEnum):
    """What replay did."""

    REPLAYED = "replayed"
    CONFLICT = "conflict"
    NOT_FINISHED = "not_finished"
    UNKNOWN = "unknown"


class Request(Struct, frozen=True):
    """The web request a job was made from: the exact body and the headers chosen to be kept."""

    body: bytes
    headers: Mapping[str, str]


class Attempt(Struct, frozen=True, kw_only=True):
    """One failed attempt (or crash) in a job's history."""

    attempt: int
    epoch: int
    worker: str | None
    started_at: datetime | None
    finished_at: datetime
    error_kind: str
    message: str
    traceback: str | None
