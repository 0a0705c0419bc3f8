"""Stripe: `t=…,v1=…` over `t.body`, at most five minutes old, events told apart by their id."""

from __future__ import annotations

from typing import Any

from tenure.gateway.secrets import any_equal
from tenure.gateway.sources.base import MISSING, STALE, WRONG, Headers, Source, fresh, signed

__all__ = ["Stripe"]


class Stripe(Source):
    """While a secret is rolled, Stripe sends a v1 for each; any one of them will do."""

    def reject(self, headers: Headers, body: bytes, now: float) -> str | None:
        """One of the signatures must be right, and the time near."""
        given = headers.get("stripe-signature")
        if given is None:
            return MISSING
        parts = [part.strip().partition("=") for part in given.split(",")]
        stamp = next((value for name, _, value in parts if name == "t"), "")
        sent = [value.encode("latin-1", "replace") for name, _, value in parts if name == "v1"][:8]
        message = stamp.encode("latin-1", "replace") + b"." + body
        wanted = [signed(s, message).hex().encode() for s in self.secrets]
        if not any([any_equal(one, wanted) for one in sent]):  # noqa: C419 - all are compared, whichever is right
            return WRONG
        return None if fresh(stamp, now, self.tolerance) else STALE

    def event_type(self, headers: Headers, event: Any) -> str:  # noqa: ARG002 - its shape
        """invoice.paid, …"""
        found = event.get("type") if isinstance(event, dict) else None
        return found if isinstance(found, str) else ""

    def own_key(self, headers: Headers, event: Any) -> str | None:  # noqa: ARG002 - its shape
        """The event's id."""
        found = event.get("id") if isinstance(event, dict) else None
        return found if isinstance(found, str) else None
