"""Models that lose or mix up what a job carries, as stores might: beside a real store each must be found out."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tests.proof.model.reference import Reference
from tests.proof.model.words import Ask, Job

__all__ = ["FORGETFUL"]


class ForgetsTagsAtReplay(Reference):
    """A replay makes the job anew, without what it was marked with."""

    def come_back(self, job: Job, cause: str, delay: int = 0) -> bool:
        job.ask = replace(job.ask, tags=(), meta={})
        return super().come_back(job, cause, delay)


class DropsTheRequestAtSnooze(Reference):
    """A job that goes back to the line leaves its web request behind."""

    def back(self, job: Job, cause: str, run_at: int, outcome: str | None = None) -> None:
        super().back(job, cause, run_at, outcome)
        job.ask = replace(job.ask, request=None)


class LosesTheTimeoutAtReclaim(Reference):
    """What is taken back may run for ever."""

    def take_back(self, job: Job, cause: str, doubt: int | None) -> None:
        job.ask = replace(job.ask, timeout=None)
        super().take_back(job, cause, doubt)


class CopiesOverTheFirst(Reference):
    """A duplicate is not stored, but its payload is."""

    def holder(self, ask: Ask) -> str | None:
        before = super().holder(ask)
        if before in self.jobs:
            self.jobs[before].ask = replace(self.jobs[before].ask, payload=ask.payload)
        return before


class CutsTheFamily(Reference):
    """A job that ends is nobody's child any more, in no flow and no tenant's."""

    def free(self, job: Job) -> None:
        super().free(job)
        if job.finished:
            job.ask = replace(job.ask, parent=None, flow=None, tenant=None)


FORGETFUL: Final[tuple[type[Reference], ...]] = (
    ForgetsTagsAtReplay, DropsTheRequestAtSnooze, LosesTheTimeoutAtReclaim, CopiesOverTheFirst, CutsTheFamily,
)  # fmt: skip
