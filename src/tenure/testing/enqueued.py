"""What a test may say about the jobs that are enqueued: look at them, and assert that one is there, or none."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import SequenceMatcher
from typing import Any

from tenure.app import App
from tenure.errors import FieldTypeError, UsageError, shown
from tenure.filters import Filter
from tenure.handle import Job
from tenure.job import JobSeen
from tenure.kinds import Kind
from tenure.testing.match import Wanted, wanted_of

__all__ = ["KindOrName", "Looks", "name_of_kind"]

KindOrName = Kind[Any, Any, Any] | str
_PAGE = 1_000
_SHOWN = 10


class Looks:
    """Looks at the jobs of an app that wait to be run."""

    app: App

    def enqueued(self, kind: KindOrName | None = None) -> list[JobSeen]:
        """The pending jobs (ready, scheduled or waiting), of this kind or all, in the order they were enqueued."""
        name = None if kind is None else name_of_kind(self.app, kind)
        which = Filter(states=["pending"], kinds=None if name is None else [name])
        found: list[JobSeen] = []
        page = self.app.queue.list(which, limit=_PAGE)
        while page:
            found += page
            page = self.app.queue.list(which, limit=_PAGE, before=page[-1].id)
        return found[::-1]

    def job(self, job: Job[Any] | JobSeen | str) -> JobSeen:
        """A job as it stands now."""
        job_id = job if isinstance(job, str) else job.id
        seen = self.app.queue.get(job_id)
        if seen is None:
            raise UsageError(f"there is no job {job_id} in this test's store")
        return seen

    def assert_enqueued(
        self, kind: KindOrName, /, *, options: Mapping[str, Any] | None = None, **arguments: Any
    ) -> JobSeen:
        """At least one pending job of this kind has these arguments and options, whatever others it has; that job."""
        __tracebackhide__ = True
        wanted, found = self._look(kind, arguments, options)
        for job in found:
            if job.kind == wanted.name and not wanted.differences(job):
                return job
        raise AssertionError(_missing(wanted, found))

    def assert_not_enqueued(
        self, kind: KindOrName | None = None, /, *, options: Mapping[str, Any] | None = None, **arguments: Any
    ) -> None:
        """No pending job of this kind has these arguments and options; without a kind: nothing is enqueued at all."""
        __tracebackhide__ = True
        if kind is None:
            if options or arguments:
                raise UsageError("arguments and options are those of a kind; name it first")
            found = self.enqueued()
            told = "something is enqueued"
        else:
            wanted, every = self._look(kind, arguments, options)
            found = [job for job in every if job.kind == wanted.name and not wanted.differences(job)]
            told = f"{wanted} is enqueued"
        if found:
            raise AssertionError("\n".join([f"{told}:", *_listed(map(_told, found), len(found))]))

    def _look(
        self, kind: KindOrName, arguments: Mapping[str, Any], options: Mapping[str, Any] | None
    ) -> tuple[Wanted, list[JobSeen]]:
        found = self.enqueued()
        known = isinstance(kind, str) and any(job.kind == kind for job in found)
        name = str(kind) if known else name_of_kind(self.app, kind)
        return wanted_of(name, self.app.kinds.get(name), arguments, options), found


def name_of_kind(app: App, kind: KindOrName) -> str:
    """The name of a kind of this app; the error for one that is none names the nearest."""
    if not isinstance(kind, (Kind, str)):
        raise FieldTypeError(
            "kind", "must be a kind or its name", kind, "decorate the function with @app.job"
        )
    return app.kinds.find(kind if isinstance(kind, str) else kind.name).name


def _missing(wanted: Wanted, found: list[JobSeen]) -> str:
    if not found:
        return f"{wanted} is not enqueued; nothing is"

    def distance(job: JobSeen) -> tuple[float, int]:
        if job.kind == wanted.name:
            return 0, len(wanted.differences(job))
        return 2 - SequenceMatcher(None, job.kind, wanted.name).ratio(), 0

    def told(job: JobSeen) -> str:
        lines = [f"      {d}" for d in wanted.differences(job)] if job.kind == wanted.name else []
        return "\n".join([_told(job), *lines])

    near = sorted(found, key=distance)
    count = "1 job is" if len(found) == 1 else f"{len(found)} jobs are"
    head = f"{wanted} is not enqueued; {count}, the nearest first:"
    return "\n".join([head, *_listed([told(job) for job in near[:_SHOWN]], len(found))])


def _told(job: JobSeen) -> str:
    return f"  {job.kind} {shown_payload(job)} {job.state.value} in {job.queue!r}, {job.id}"


def shown_payload(job: JobSeen) -> str:
    """A job's payload, short."""
    text = job.payload_text
    return text if len(text) <= 120 else shown(text)


def _listed(lines: Any, count: int) -> list[str]:
    shown_lines = [line for line, _ in zip(lines, range(_SHOWN), strict=False)]
    return [*shown_lines, f"  … and {count - _SHOWN} more"] if count > _SHOWN else shown_lines
