"""What an answer means for the job that sent it, or for the sender of a sync source, who is told 200 or 503.

2xx                                 done
429 or 503 with Retry-After         not now: the job snoozes and loses no attempt, for a day from when it was made
what the settings give up on        dead at once; a sync source's sender is told 200, for trying again would not help
anything else, redirects too        a failure, tried again as the source's settings say, or by the sender
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, timedelta
from email.utils import parsedate_to_datetime

from tenure.clock import machine_micros
from tenure.context import Context
from tenure.gateway.handlers.base import GaveUp
from tenure.gateway.outgoing import Answer
from tenure.outcome import Bury, Snooze

__all__ = ["Answered", "GiveUp", "judge", "wait_of"]

_PATIENCE = timedelta(hours=24)
_SHORTEST, _LONGEST = 1.0, _PATIENCE.total_seconds()
_PASSING = frozenset({408, 425, 429})
"""Answers that speak of this request's moment, not of the request; a whole class given up on does not mean them."""


class Answered(Exception):
    """The answer was not 2xx. Its body is not told: nobody knows what it holds."""

    def __init__(self, status: int) -> None:
        super().__init__(f"the answer was {status}")
        self.status = status


class GiveUp:
    """The answers after which trying again would not help: statuses, and "4xx" for all of a class."""

    def __init__(self, given: Iterable[int | str]) -> None:
        listed = list(given)
        self._named = frozenset(one for one in listed if isinstance(one, int))
        self._classes = frozenset(int(one[0]) for one in listed if isinstance(one, str))

    def by_name(self, status: int) -> bool:
        """Whether this very status is meant."""
        return status in self._named

    def by_class(self, status: int) -> bool:
        """Whether its class is meant, and it with it."""
        return status // 100 in self._classes and status not in _PASSING


def judge(answer: Answer, give_up: GiveUp, context: Context) -> None:
    """Return if it is a success; raise what it means otherwise."""
    status = answer.status
    if 200 <= status < 300:
        return
    failure = Answered(status)
    wait = wait_of(answer, machine_micros() / 1_000_000)
    asks = wait is not None and (not context.claimed or _young(context))
    if give_up.by_name(status) or (give_up.by_class(status) and not asks):
        raise Bury("gave up", str(failure)) if context.claimed else GaveUp(str(failure))
    if wait is not None and asks and context.claimed:
        raise Snooze(wait)
    raise failure


def wait_of(answer: Answer, now: float) -> float | None:
    """For how many seconds it asks to be left alone; None if it does not."""
    if answer.status not in (429, 503):
        return None
    told = answer.headers.get("retry-after", "").strip()
    if told.isascii() and told.isdigit():
        seconds = float(told[:9])
    else:
        try:
            moment = parsedate_to_datetime(told)
        except (ValueError, TypeError, IndexError, OverflowError):
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        seconds = moment.timestamp() - now
    return min(max(seconds, _SHORTEST), _LONGEST)


def _young(context: Context) -> bool:
    """Whether it was made less than a day ago, by the store's own clock."""
    job = context.job
    return job.started_at is None or job.started_at - job.created_at < _PATIENCE
