"""Crash points: where the next runs of a kind die, as if their process had been killed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from tenure.errors import FieldError
from tenure.newjob import check_whole, new_id

__all__ = ["CrashAt", "CrashPoints", "Killed"]

CrashAt = Literal["before_run", "before_settle"]


class Killed(BaseException):
    """Raised inside a handler, by a stand-in for something it calls: this run dies here, as if its process was killed."""


@dataclass(slots=True)
class _Point:
    at: CrashAt
    kind: str | None
    times: int


class CrashPoints:
    """The crashes that are still to come, and the name of the worker that lives until the next."""

    def __init__(self) -> None:
        self._points: list[_Point] = []
        self.worker = ""
        self.die()

    def add(self, at: CrashAt, kind: str | None, times: int) -> None:
        """The next `times` runs of this kind (None: of any) die there."""
        if at not in get_args(CrashAt):
            raise FieldError(
                "at", "must be before_run or before_settle", at, "raise testing.Killed inside a handler"
            )
        self._points.append(_Point(at, kind, check_whole(times, "times", 1, 10_000)))

    def waits(self, at: CrashAt) -> bool:
        """Whether any run is to die there."""
        return any(point.at == at for point in self._points)

    def hits(self, at: CrashAt, kind: str) -> bool:
        """Whether this run dies there; if so its worker is gone for good."""
        point = next((p for p in self._points if p.at == at and p.kind in (None, kind)), None)
        if point is None:
            return False
        point.times -= 1
        if point.times == 0:
            self._points.remove(point)
        self.die()
        return True

    def die(self) -> None:
        """The worker is gone; the next has another name, so nobody takes it for the one that held the jobs."""
        self.worker = f"testing:{new_id()}"

    def left(self) -> list[str]:
        """The crashes that never came, in words."""
        return [f"{p.at} of {p.kind or 'any kind'}, {p.times} times" for p in self._points]
