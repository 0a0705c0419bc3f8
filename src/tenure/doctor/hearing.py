"""Clocks that agree, and commits that are heard of."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing

from tenure.config import PostgresPlace
from tenure.doctor.finding import Finding, Level, span
from tenure.doctor.patient import Patient
from tenure.store import health

__all__ = ["clock", "listen"]


def clock(patient: Patient) -> Iterator[Finding]:
    """The store's clock beside this machine's; the way there and back is taken off."""
    before = patient.machine()
    store = patient.ask(health.clock)
    after = patient.machine()
    off = max(store - after, before - store, 0)
    ahead = "ahead of" if store > after else "behind"
    if off < patient.limits.clock * 1e6:
        yield Finding("ok", "clock", f"the store's clock and this machine's differ by {span(off)} at most")
        return
    fix = "have both machines keep their time by NTP; delays and times given by this one are off by as much"
    level: Level = "error" if off >= patient.limits.clock_error * 1e6 else "warning"
    yield Finding(level, "clock", f"the store's clock is {span(off)} {ahead} this machine's", fix)


def listen(patient: Patient) -> Iterator[Finding]:
    """Whether an idle worker here would hear of a new job at once: its own way of listening is tried."""
    place, within = patient.place, patient.limits.listen
    if isinstance(place, PostgresPlace) and not place.notify:
        yield Finding("note", "listen", "notify=false: workers look for jobs every few seconds", "leave it out of the URL to hear of them at once")  # fmt: skip
        return
    if isinstance(place, PostgresPlace) and place.pgbouncer and place.listen is None:
        yield Finding(
            "note", "listen", "nobody listens through pgbouncer", "add listen= with the server's own URL"
        )
        return
    if isinstance(place, PostgresPlace) and any(thing == "sleepers" for _, thing, _ in patient.ask(health.privileges)):  # fmt: skip
        yield Finding("note", "listen", "this role may not ask to be told of new jobs, as workers do", "ask with a worker's role whether those hear of them")  # fmt: skip
        return
    begun = time.monotonic()
    with closing(patient.queue.watch()) as watch:
        while not watch.hears and (left := begun + within - time.monotonic()) > 0:
            watch.wait(left)
        hears, took = watch.hears, time.monotonic() - begun
    if hears:
        yield Finding("ok", "listen", f"commits are heard of (tried in {span(took * 1e6)})")
    else:
        fix = "see that LISTEN is allowed and no pooler stands between; until then workers look every few seconds"
        yield Finding("warning", "listen", f"a notification was not heard within {within:g} s", fix)
