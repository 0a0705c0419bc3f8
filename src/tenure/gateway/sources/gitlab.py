"""GitLab: the secret itself in X-Gitlab-Token, events told apart by X-Gitlab-Event-UUID."""

from __future__ import annotations

from typing import Any, ClassVar

from tenure.duration import Duration
from tenure.gateway.secrets import any_equal
from tenure.gateway.sources.base import MISSING, WRONG, Headers, Source

__all__ = ["GitLab"]


class GitLab(Source):
    """The token is compared and never kept."""

    window: ClassVar[Duration] = "48h"
    kept: ClassVar[tuple[str, ...]] = (
        "x-gitlab-event",
        "x-gitlab-event-uuid",
        "x-gitlab-instance",
        "x-gitlab-webhook-uuid",
    )

    def reject(self, headers: Headers, body: bytes, now: float) -> str | None:  # noqa: ARG002 - a token signs nothing
        """The header must be one of the secrets."""
        given = headers.get("x-gitlab-token")
        if given is None:
            return MISSING
        return None if any_equal(given.encode("latin-1", "replace"), self.secrets) else WRONG

    def event_type(self, headers: Headers, event: Any) -> str:  # noqa: ARG002 - its shape
        """Push Hook, Issue Hook, …"""
        return headers.get("x-gitlab-event", "")

    def own_key(self, headers: Headers, event: Any) -> str | None:  # noqa: ARG002 - its shape
        """The event's UUID."""
        return headers.get("x-gitlab-event-uuid")
