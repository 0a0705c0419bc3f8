"""How long a failed job waits before its next attempt: policies as values.

`policy.delay(attempt)` is the wait after attempt number `attempt` failed. It is defined for every integer: zero and
negative numbers count as the first attempt, and no attempt number overflows. `give_up` names the errors after which no
other attempt is made: the job is dead at once.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol, runtime_checkable

from tenure.duration import Duration, parse
from tenure.errors import FieldError, FieldTypeError

__all__ = ["DEFAULT", "Exponential", "Fixed", "Ladder", "RetryPolicy"]


@runtime_checkable
class RetryPolicy(Protocol):
    """Anything that says how long to wait after a failed attempt."""

    def delay(self, attempt: int) -> timedelta:
        """The wait after attempt number `attempt` failed."""
        ...


Errors = tuple[type[BaseException], ...]


def _errors(given: Errors) -> Errors:
    many: object = given
    if isinstance(many, tuple) and all(isinstance(e, type) and issubclass(e, BaseException) for e in many):
        return given
    raise FieldTypeError("give_up", "must be a tuple of exception classes", given, "give_up=(ValueError,)")


def _number(given: object, name: str) -> None:
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        raise FieldTypeError(name, "must be a number", given)


@dataclass(frozen=True, slots=True, init=False)
class Ladder:
    """A wait per attempt; the last rung serves every later attempt. No jitter."""

    rungs: tuple[timedelta, ...]
    give_up: Errors

    def __init__(self, *rungs: Duration, give_up: Errors = ()) -> None:
        object.__setattr__(self, "give_up", _errors(give_up))
        if not rungs:
            raise FieldError(
                "rungs", "must be at least one duration", rungs, 'for example Ladder("30s", "2m")'
            )
        object.__setattr__(self, "rungs", tuple(parse(r, f"rungs[{i}]") for i, r in enumerate(rungs)))

    def delay(self, attempt: int) -> timedelta:
        """The rung of this attempt."""
        return self.rungs[min(max(attempt, 1), len(self.rungs)) - 1]


@dataclass(frozen=True, slots=True, init=False)
class Fixed:
    """The same wait after every failure."""

    every: timedelta
    give_up: Errors

    def __init__(self, every: Duration, *, give_up: Errors = ()) -> None:
        object.__setattr__(self, "give_up", _errors(give_up))
        object.__setattr__(self, "every", parse(every, "every"))

    def delay(self, attempt: int) -> timedelta:  # noqa: ARG002 - the policy's shape
        """Always the same."""
        return self.every


@dataclass(frozen=True, slots=True, init=False)
class Exponential:
    """first · factor^(attempt-1), at most `cap`; `jitter` 0.2 spreads each wait by ±20 %, never past the cap."""

    first: timedelta
    factor: float
    cap: timedelta
    jitter: float
    give_up: Errors
    _random: random.Random = field(repr=False, compare=False)

    def __init__(
        self,
        first: Duration = "60s",
        factor: float = 2,
        cap: Duration = "1h",
        jitter: float = 0.0,
        *,
        give_up: Errors = (),
    ) -> None:
        object.__setattr__(self, "give_up", _errors(give_up))
        _number(factor, "factor")
        _number(jitter, "jitter")
        if not 1 <= factor <= 1_000:
            raise FieldError("factor", "must be from 1 to 1000", factor)
        if not 0 <= jitter <= 1:
            raise FieldError("jitter", "must be from 0 to 1", jitter)
        object.__setattr__(self, "first", parse(first, "first"))
        object.__setattr__(self, "factor", float(factor))
        object.__setattr__(self, "cap", parse(cap, "cap"))
        object.__setattr__(self, "jitter", float(jitter))
        object.__setattr__(self, "_random", random.Random())

    def delay(self, attempt: int) -> timedelta:
        """The wait after this attempt."""
        first, cap = self.first.total_seconds(), self.cap.total_seconds()
        wait = cap
        if first == 0 or self.factor == 1:
            wait = min(first, cap)
        else:
            try:
                wait = min(first * self.factor ** (max(attempt, 1) - 1), cap)
            except OverflowError:
                wait = cap
        if self.jitter:
            wait = min(wait * (1 + self._random.uniform(-self.jitter, self.jitter)), cap)
        return timedelta(seconds=wait)


DEFAULT = Exponential(first="60s", factor=2, cap="1h")
