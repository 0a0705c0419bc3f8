"""From a request to a job in line for its commit, and from the commit to the answer: what all ways into a gateway share.

The ASGI app (`asgi.py`) takes every request; a connection of our own server (`connection.py`) takes the ordinary ones itself.
"""

from __future__ import annotations

import logging
from typing import Any

from tenure.app import App
from tenure.clock import machine_micros
from tenure.errors import FieldError, StoreError
from tenure.gateway.answers import UNEXPECTED, Answer, refusal
from tenure.gateway.backlog import Backlog
from tenure.gateway.counters import Counters
from tenure.gateway.deadline import Deadline
from tenure.gateway.limits import Refused, json_of
from tenure.gateway.opened import Opened
from tenure.gateway.registry import Registry, Route
from tenure.gateway.sources.base import Headers
from tenure.gateway.sparing import Sparing
from tenure.gateway.trace import trace_of
from tenure.job import Enqueued, Request
from tenure.newjob import NewJob

__all__ = ["Intake", "decoded"]

log = logging.getLogger("tenure.gateway")


class Intake:
    """One gateway's store, its limits, and what it counts."""

    def __init__(self, app: App, registry: Registry) -> None:
        self.registry, self.counters = registry, Counters()
        self.opened = Opened(app)
        self.backlog = Backlog(self.opened.queue)
        self.commit = Deadline(registry.store_deadline)
        self.say = Sparing(log, registry.mask)
        self.underway = 0
        self._hosts = frozenset(map(_host, registry.settings.hosts))

    def knows(self, headers: Headers) -> bool:
        """Whether it answers to this Host."""
        return not self._hosts or _host(headers.get("host", "")) in self._hosts

    def event(self, route: Route, headers: Headers, body: bytes) -> Any:
        """The body's JSON, once it is proved who sent it (None: any body is taken); Refused otherwise."""
        why = route.source.reject(headers, body, machine_micros() / 1_000_000)
        if why is not None:
            raise Refused(401, why)
        if not route.settings.json:
            return None
        return json_of(body, self.registry.settings.max_depth, self.registry.settings.max_digits)

    def job(self, route: Route, headers: Headers, body: bytes, event: Any) -> NewJob:
        """The job that keeps it."""
        settings, source = route.settings, route.source
        key, line = source.dedupe_key(headers, event, body), source.order_key(headers, event)
        ends, lasts = source.expires(headers, event)
        return NewJob(
            kind=route.kind, payload={}, queue=settings.queue, priority=settings.priority,
            max_attempts=settings.max_attempts,
            unique=key if route.window else None, unique_for=route.window or None,
            group=None if line is None else f"{route.kind}:{line}", order=route.order,
            expires_at=ends, expires_in=lasts, request=Request(body, source.keep(headers)), meta=trace_of(headers),
        )  # fmt: skip

    def stored(self, route: Route, stored: Enqueued) -> Answer:
        """It is committed, or was before."""
        if stored.inserted:
            self.backlog.add(route.settings.queue)
            return Answer({"ok": True, "id": stored.id})
        self.counters.duplicates[route.settings.slug] += 1
        return Answer({"ok": True, "id": stored.id, "duplicate": True})

    def failed(self, slug: str, error: BaseException) -> Answer:
        """It was refused, or something is wrong, which is told here. A sender that is told 503 sends it again."""
        match error:
            case Refused():
                return refusal(error)
            case StoreError() | TimeoutError():
                self.say(slug, "the store cannot be written", error)
                return refusal(Refused(503, "store unavailable", retry_after="5"))
            case FieldError():
                self.say(slug, "cannot be kept as a job", error)
                return refusal(Refused(400, "cannot be kept"))
            case _:
                self.say(slug, "a request could not be answered", error)
                return UNEXPECTED


def decoded(headers: list[tuple[bytes, bytes]]) -> dict[str, str]:
    """Headers by name; of those that came more than once, the last."""
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in headers}


def _host(text: str) -> str:
    """The name in a Host header: no port, no last dot, no brackets around an address."""
    name = text.strip().lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name if name.count(":") > 1 else name.partition(":")[0].removesuffix(".")
