"""The verbs of figures: what workers counted, read by who shows it and written by who counts."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from tenure.client.arguments import limit_of, many, names_of, positive
from tenure.client.call import Call
from tenure.clock import to_micros
from tenure.duration import Duration, micros, parse
from tenure.errors import FieldError
from tenure.figures import WORDS, ErrorGroup, ErrorTally, Rollup, Sample, Tally, error_of, tally_of
from tenure.newjob import check_name
from tenure.payload import clean_error
from tenure.store import figures
from tenure.store import samples as sampled

__all__ = ["FigureVerbs"]

Rollups = list[Rollup]
ErrorGroups = list[ErrorGroup]
Samples = list[Sample]
_MINUTE, _DAY = 60_000_000, 86_400_000_000


class FigureVerbs:
    """What can be done with figures."""

    def _now(self) -> int | None:
        raise NotImplementedError

    def rollups(
        self,
        since: datetime,
        until: datetime,
        *,
        step: Duration = "1m",
        queues: Iterable[str] | None = None,
    ) -> Call[Rollups]:
        """What workers counted, by step of time, queue and kind, from the step that `since` is in to before `until`.

        A step is whole minutes. Minutes are kept for eight days; older figures stand in the first minute of their hour.
        """
        (first, last, size), wanted = _stretch(since, until, step), names_of(queues, "queues")
        return Call(lambda _: figures.rollups(first, last, size, wanted), reads=True)

    def samples(self, since: datetime, until: datetime, *, step: Duration = "1m") -> Call[Samples]:
        """How the queues stood, by step of time, from the step that `since` is in to before `until`: the most of each step.

        A step is whole minutes. Janitors put it down once a minute, and it is kept for eight days.
        """
        first, last, size = _stretch(since, until, step)
        return Call(lambda _: sampled.samples(first, last, size), reads=True)

    def sample(self) -> Call[int]:
        """Put down how the queues stand, unless somebody has in this minute; how many rows. Janitors do this by themselves."""
        now = self._now()
        return Call(lambda _: sampled.sample(now=now), promises=False)

    def error_groups(
        self,
        since: datetime,
        *,
        limit: int = 200,
        fingerprint: str | None = None,
        hours: datetime | None = None,
    ) -> Call[ErrorGroups]:
        """Failures alike since the hour that `since` is in, most frequent first, each with how many there were in every hour.

        When it was first seen is told as far back as groups are kept, whatever `since` is. The hours are those from `since`, or
        from `hours`. With `fingerprint`, the group of that name alone.
        """
        first, most = to_micros(since, "since"), limit_of(limit)
        told = None if hours is None else to_micros(hours, "hours")
        name = None if fingerprint is None else check_name(fingerprint, "fingerprint")
        return Call(
            lambda _: figures.error_groups(first, limit=most, fingerprint=name, hours=told), reads=True
        )

    def add_figures(
        self, source: str, tallies: Iterable[Tally] = (), errors: Iterable[ErrorTally] = ()
    ) -> Call[None]:
        """Add what `source` has counted since it last told to this minute of the store's clock. Workers do this by themselves."""
        name, now = check_name(source, "source"), self._now()
        counted = [tally_of(t) for t in many(tallies, "tallies")]
        failed = [error_of(e) for e in many(errors, "errors")]
        told = [
            ErrorTally(
                e.fingerprint, e.kind, clean_error(e.error_kind, 200), clean_error(e.message, WORDS), e.sample_id,
                e.count, e.dead, clean_error(e.frame, WORDS),
            )
            for e in failed
        ]  # fmt: skip
        # Added twice they would count twice, and a few seconds of figures are no great loss.
        return Call(
            lambda _: figures.add_figures(name, counted, told, now=now), repeatable=False, promises=False
        )

    def tidy_figures(self, *, minutes: Duration = "8d", keep: Duration | None = None) -> Call[int]:
        """Merge the figures of one hour that is over; how many rows that took. 0: all are, and what is old is forgotten.

        Minutes are kept as long as `minutes`, at least a day, then only their hours; those as long as `keep` (None or 0: for
        ever). Janitors do this by themselves.
        """
        fine, long = micros(parse(minutes, "minutes")), 0 if keep is None else micros(parse(keep, "keep"))
        if fine < _DAY:
            raise FieldError("minutes", "must be at least a day", minutes)
        now = self._now()
        return Call(lambda _: figures.tidy_figures(minutes=fine, keep=long or None, now=now))


def _stretch(since: datetime, until: datetime, step: Duration) -> tuple[int, int, int]:
    """From when to when, and in what steps, in microseconds."""
    first, last, size = to_micros(since, "since"), to_micros(until, "until"), positive(step, "step")
    if last < first:
        raise FieldError("until", "must not be before since", until)
    if size % _MINUTE:
        raise FieldError("step", "must be whole minutes", step, '"1m", "15m", "1h"')
    return first, last, size
