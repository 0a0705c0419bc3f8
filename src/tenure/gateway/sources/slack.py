"""Slack's Events API: `v0=…` over `v0:timestamp:body`, at most five minutes old; answers url_verification by itself."""

from __future__ import annotations

from typing import Any, ClassVar

from tenure.duration import Duration
from tenure.gateway.secrets import any_equal
from tenure.gateway.sources.base import MISSING, STALE, WRONG, Headers, Source, fresh, signed

__all__ = ["Slack"]


class Slack(Source):
    """Slack waits for three seconds and tries again at once, after a minute and after five."""

    window: ClassVar[Duration] = "48h"
    deadline: ClassVar[Duration] = "2500ms"
    kept: ClassVar[tuple[str, ...]] = (
        "x-slack-request-timestamp",
        "x-slack-retry-num",
        "x-slack-retry-reason",
    )

    def reject(self, headers: Headers, body: bytes, now: float) -> str | None:
        """The signature must be right, and the time near."""
        given, stamp = headers.get("x-slack-signature"), headers.get("x-slack-request-timestamp")
        if given is None or stamp is None:
            return MISSING
        message = b"v0:" + stamp.encode("latin-1", "replace") + b":" + body
        wanted = (b"v0=" + signed(s, message).hex().encode() for s in self.secrets)
        if not any_equal(given.encode("latin-1", "replace"), wanted):
            return WRONG
        return None if fresh(stamp, now, self.tolerance) else STALE

    def at_once(self, event: Any) -> Any:
        """Slack asks once whether the address is ours."""
        if isinstance(event, dict) and event.get("type") == "url_verification":
            challenge = event.get("challenge")
            return {"challenge": challenge if isinstance(challenge, str) else ""}
        return None

    def event_type(self, headers: Headers, event: Any) -> str:  # noqa: ARG002 - its shape
        """message, app_mention, …"""
        inner = event.get("event") if isinstance(event, dict) else None
        found = inner.get("type") if isinstance(inner, dict) else None
        return found if isinstance(found, str) else ""

    def own_key(self, headers: Headers, event: Any) -> str | None:  # noqa: ARG002 - its shape
        """The event's id."""
        found = event.get("event_id") if isinstance(event, dict) else None
        return found if isinstance(found, str) else None
