"""The verbs of schedules: jobs that are made again and again when their time comes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tenure.client.arguments import limit_of, names_of
from tenure.client.call import Call
from tenure.cron import Missed
from tenure.duration import Duration
from tenure.job import Enqueued
from tenure.newjob import check_name, new_id
from tenure.schedule import Fired, ScheduleSeen, Source, spec_of
from tenure.store import schedules
from tenure.store.dialect import Capabilities

__all__ = ["ScheduleVerbs"]


class ScheduleVerbs:
    """What can be done with schedules."""

    _can: Capabilities
    _max_payload: int

    def _now(self) -> int | None:
        raise NotImplementedError

    def schedule(
        self,
        name: str,
        cron: str,
        kind: str,
        payload: Any = None,
        *,
        tz: str = "UTC",
        missed: Missed = "one",
        source: Source = "runtime",
        queue: str = "default",
        priority: int = 0,
        max_attempts: int = 5,
        unique: str | None = None,
        timeout: Duration | None = None,
        tags: Sequence[str] = (),
        meta: Mapping[str, str] | None = None,
        expires_in: Duration | None = None,
        tenant: str | None = None,
    ) -> Call[bool]:
        """Store a schedule, or change the one of this name; whether anything changed.

        `cron` has five fields, six with the seconds in front, or is "@daily" and the like, or "@every 5m". Nothing that
        fell due before it was stored, or before its time was changed, is ever fired. `missed` says what becomes of fires
        that nobody was there for: "skip" them, "one" for the latest, or a number of the latest.
        """
        options = {
            "queue": queue, "priority": priority, "max_attempts": max_attempts, "unique": unique, "timeout": timeout,
            "tags": tags, "meta": {} if meta is None else meta, "expires_in": expires_in, "tenant": tenant,
        }  # fmt: skip
        spec = spec_of(
            name, cron, kind, payload, options, tz=tz, missed=missed, source=source, limit=self._max_payload
        )
        now = self._now()
        return Call(lambda _: schedules.schedule(spec, now=now))

    def unschedule(self, name: str) -> Call[bool]:
        """Forget a schedule; whether there was one. Jobs it made stay."""
        known = check_name(name, "name")
        return Call(lambda _: schedules.unschedule(known))

    def pause_schedule(self, name: str) -> Call[bool]:
        """Fire a schedule no more; False if there is none, or it is paused already."""
        known, now = check_name(name, "name"), self._now()
        return Call(lambda _: schedules.pause_schedule(known, now=now))

    def resume_schedule(self, name: str) -> Call[bool]:
        """Fire a schedule again, from now on: what fell due while it was paused is not fired. Whether it was paused."""
        known, now = check_name(name, "name"), self._now()
        return Call(lambda _: schedules.resume_schedule(known, now=now))

    def schedules(self) -> Call[list[ScheduleSeen]]:
        """Every schedule, by name, and when it fires next."""
        now = self._now()
        return Call(lambda _: schedules.schedules(max_payload=self._max_payload, now=now), reads=True)

    def run_schedule(self, name: str) -> Call[Enqueued]:
        """Make a job as the schedule would, now, paused or not; when it fires next stays as it is."""
        known, given, now = check_name(name, "name"), new_id(), self._now()
        return Call(
            lambda again: schedules.run_schedule(
                known, given, self._can, max_payload=self._max_payload, now=now, again=again
            )
        )

    def fire(self, kinds: Iterable[str] | None = None, limit: int = 100) -> Call[list[Fired]]:
        """Make the jobs of schedules that are due by the store's clock, of these kinds; what this call fired.

        Any number of workers may ask: each fire makes its job once, in one transaction. Ask again until the answer is
        empty: beyond `limit`, and beyond the first schedule with a unique key, the rest is left to the next call.
        """
        known, most, now = names_of(kinds, "kinds"), limit_of(limit), self._now()
        wanted = None if known is None else frozenset(known)
        return Call(
            lambda _: schedules.fire(wanted, self._can, limit=most, max_payload=self._max_payload, now=now)
        )

    def next_fire(self, kinds: Iterable[str] | None = None) -> Call[float | None]:
        """Seconds until a schedule of these kinds fires, by the store's clock: 0.0 if one is due already, None if none will."""
        known, now = names_of(kinds, "kinds"), self._now()
        wanted = None if known is None else frozenset(known)
        return Call(lambda _: schedules.next_fire(wanted, max_payload=self._max_payload, now=now), reads=True)
