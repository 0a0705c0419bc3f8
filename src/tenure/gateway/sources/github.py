"""GitHub: X-Hub-Signature-256 over the body, deliveries told apart by X-GitHub-Delivery."""

from __future__ import annotations

from typing import Any, ClassVar

from tenure.duration import Duration
from tenure.gateway.secrets import any_equal
from tenure.gateway.sources.base import MISSING, WRONG, Headers, Source, signed

__all__ = ["GitHub"]


class GitHub(Source):
    """GitHub does not retry by itself; who redelivers by hand sends the same delivery again."""

    window: ClassVar[Duration] = "48h"
    kept: ClassVar[tuple[str, ...]] = (
        "x-github-event",
        "x-github-delivery",
        "x-github-hook-id",
        "x-github-hook-installation-target-type",
        "x-github-hook-installation-target-id",
    )

    def reject(self, headers: Headers, body: bytes, now: float) -> str | None:  # noqa: ARG002 - nothing tells a time
        """sha256=<hex>."""
        given = headers.get("x-hub-signature-256")
        if given is None:
            return MISSING
        wanted = (b"sha256=" + signed(s, body).hex().encode() for s in self.secrets)
        return None if any_equal(given.encode("latin-1", "replace"), wanted) else WRONG

    def event_type(self, headers: Headers, event: Any) -> str:  # noqa: ARG002 - its shape
        """push, issues, …"""
        return headers.get("x-github-event", "")

    def own_key(self, headers: Headers, event: Any) -> str | None:  # noqa: ARG002 - its shape
        """The delivery's id."""
        return headers.get("x-github-delivery")
