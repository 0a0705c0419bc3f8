"""Context: what a handler may ask of the worker that runs it.

    async def export(ctx: tenure.Context, days: int) -> None:
        for n in range(days):
            ctx.check()                     # raises if it should stop: asked to cancel, too late, claim lost, worker leaving
            ctx.progress(n / days, f"day {n}")

Everything here may be called from an async handler, a thread or a child process, and none of it waits for the database,
except `claim.settle_in`, which is the caller's own transaction.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from tenure.errors import ClaimLost, FieldError, JobAsked, UsageError
from tenure.outcome import Release
from tenure.payload import clean_error, is_share

if TYPE_CHECKING:
    from tenure.job import Claim, JobId, JobSeen

__all__ = ["Context", "current"]

current: ContextVar[Context | None] = ContextVar("tenure_context", default=None)
"""The context of the job that runs here, for log records; None outside a handler."""


class Context:
    """One run of one job."""

    __slots__ = ("_asked", "_claim", "_leaving", "_lost", "_progress", "_tell", "_timed_out")

    def __init__(self, claim: Claim | None = None, tell: Any = None) -> None:
        self._claim = claim
        self._asked = self._lost = self._timed_out = self._leaving = False
        self._progress: tuple[float, str | None] | None = None
        self._tell = tell

    @property
    def claim(self) -> Claim:
        """The claim this run holds; `ctx.claim.settle_in(connection, outcome)` ends it in your transaction."""
        if self._claim is None:
            raise UsageError("this handler was called directly, so it holds no claim; enqueue it to have one")
        return self._claim

    @property
    def claimed(self) -> bool:
        """Whether a worker runs this; False where the handler was called directly."""
        return self._claim is not None

    @property
    def job(self) -> JobSeen:
        """The job as it was when it was claimed."""
        return self.claim.job

    @property
    def id(self) -> JobId:
        """The job's id."""
        return self.claim.id

    @property
    def attempt(self) -> int:
        """Which attempt this is, from 1; 1 when the handler was called directly."""
        return 1 if self._claim is None else self._claim.attempt

    @property
    def cancelled(self) -> bool:
        """Whether somebody asked for this job to be cancelled."""
        return self._asked

    @property
    def lost(self) -> bool:
        """Whether the claim is lost: somebody else may be running this job."""
        return self._lost

    @property
    def told(self) -> tuple[float, str | None]:
        """What this run last told of its progress."""
        return (0.0, None) if self._progress is None else self._progress

    def check(self) -> None:
        """Raise if this run should stop: ClaimLost if it lost its claim, JobAsked if it is to be cancelled, TimeoutError if it
        took too long, Release if its worker leaves and can wait no longer. A handler that lets them through is settled accordingly."""
        if self._lost:
            raise ClaimLost(self.claim.id, self.claim.epoch)
        if self._asked:
            raise JobAsked(f"job {self.claim.id} was asked to cancel")
        if self._timed_out:
            raise TimeoutError(f"job {self.claim.id} has run longer than its timeout")
        if self._leaving:
            raise Release

    def progress(self, done: float, note: str | None = None) -> None:
        """Tell how far this run is, from 0 to 1, in passing: the store learns the latest word within a second or so."""
        if not is_share(done):
            raise FieldError("done", "must be a number from 0 to 1", done)
        self._progress = (float(done), None if note is None else clean_error(note, 500))
        if self._tell is not None:
            self._tell(self)
