"""An app's schedules: those its code names with `@app.cron`, and those added while it runs; both survive restarts.

    app.schedules.add("weekly-digest", "0 8 * * MON", digest.call(days=7), tz="Europe/Berlin")
    app.schedules.pause("weekly-digest")

A worker stores what the code names when it starts. Whoever the worker is, a fire makes its job once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from msgspec import Struct

from tenure.client.queue import Queue
from tenure.cron import Cron, Missed, check_missed
from tenure.errors import FieldError, FieldTypeError
from tenure.handle import Job
from tenure.job import Enqueued
from tenure.kinds import Kind, Kinds
from tenure.newjob import NewJob, check_name
from tenure.schedule import ScheduleSeen, Source

__all__ = ["CodeSchedule", "Schedules"]

_OPTIONS = ("queue", "priority", "max_attempts", "unique", "timeout", "tags", "meta", "expires_in", "tenant")
_PLAIN = NewJob(kind="plain")


class HasJobs(Protocol):
    """The app."""

    kinds: Kinds

    @property
    def queue(self) -> Queue:
        """Its queue."""
        ...

    def handle(self, enqueued: Enqueued, kind: str) -> Job[Any]:
        """A job in the hands of who made it."""
        ...


class CodeSchedule(Struct, frozen=True):
    """A schedule that the code names."""

    name: str
    cron: str
    job: NewJob
    tz: str
    missed: Missed
    function: str = ""
    """Where the code names it, for who is told of two of the same name."""

    @classmethod
    def of(
        cls,
        name: str,
        cron: str,
        kind: Kind[Any, Any, Any],
        tz: str,
        missed: Missed,
        args: Mapping[str, Any] | None,
    ) -> CodeSchedule:
        """Checked where it is written, not when it is due."""
        Cron(cron, tz)
        check_name(name, "name")
        given = kind.function
        function = f"{getattr(given, '__module__', '?')}.{getattr(given, '__qualname__', kind.name)}"
        return cls(name, cron, kind.call(**(args or {})), tz, check_missed(missed), function)

    def join(self, others: list[CodeSchedule]) -> None:
        """Put it among those of the same code, where a name stands once; the very same one again is nothing new."""
        same = next((other for other in others if other.name == self.name), None)
        if same is not None and same != self:
            raise FieldError(
                "name",
                f"is a schedule's already: {same.function} ({same.cron!r}) and {self.function} ({self.cron!r})",
                self.name,
                'give one of them a name of its own: @app.cron(…, name="…")',
            )
        if same is None:
            others.append(self)

    def store(self, queue: Queue, source: Source = "code") -> bool:
        """Put it into the store; whether anything changed."""
        _check_kept(self.job)
        options = {name: getattr(self.job, name) for name in _OPTIONS}
        return queue.schedule(
            self.name, self.cron, self.job.kind, self.job.payload, tz=self.tz, missed=self.missed, source=source, **options
        )  # fmt: skip


class Schedules:
    """What can be done with an app's schedules."""

    def __init__(self, app: HasJobs) -> None:
        self._app = app

    def add(
        self,
        name: str,
        cron: str,
        job: NewJob,
        *,
        tz: str = "UTC",
        missed: Missed = "one",
        force: bool = False,
    ) -> bool:
        """Store a schedule that makes this job (`kind.call(…)`) again and again; whether anything changed.

        `force`: a kind only other processes know.
        """
        _check_kept(job)
        fitted = self._app.kinds.fit(job, force=force)
        return CodeSchedule(name, cron, fitted, tz, missed).store(self._app.queue, "runtime")

    def remove(self, name: str) -> bool:
        """Forget it; whether there was one. One that the code names comes back when a worker starts."""
        return self._app.queue.unschedule(name)

    def pause(self, name: str) -> bool:
        """Fire it no more."""
        return self._app.queue.pause_schedule(name)

    def resume(self, name: str) -> bool:
        """Fire it again, from now on."""
        return self._app.queue.resume_schedule(name)

    def run(self, name: str) -> Job[Any]:
        """Make its job now."""
        made = self._app.queue.run_schedule(name)
        job = self._app.queue.get(made.id)  # the schedule may be another by now, or gone
        return self._app.handle(made, name if job is None else job.kind)

    def list(self) -> list[ScheduleSeen]:
        """Every schedule, by name, and when it fires next."""
        return self._app.queue.schedules()


def _check_kept(job: NewJob) -> None:
    """Every option that was given is one that a schedule keeps: none is dropped in silence."""
    if not isinstance(job, NewJob):
        raise FieldTypeError("job", "must be a job made with kind.call(…)", job)
    for name in job.__struct_fields__:
        if name not in ("kind", "payload", *_OPTIONS) and (given := getattr(job, name)) != getattr(
            _PLAIN, name
        ):
            raise FieldError(
                name,
                "cannot be kept by a schedule",
                given,
                f"leave it out; a schedule keeps {', '.join(_OPTIONS)}",
            )
