"""Standard Webhooks (and Svix): base64 HMACs of `id.timestamp.body`, keys written whsec_…, several signatures."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence
from typing import Any, ClassVar

from tenure.gateway.secrets import any_equal
from tenure.gateway.settings import SourceSettings
from tenure.gateway.sources.base import MISSING, STALE, WRONG, Headers, Source, fresh, signed

__all__ = ["Standard", "key_of"]

_PARTS = ("id", "timestamp", "signature")


def key_of(secret: str) -> bytes:
    """The key that a secret spells; ValueError if it is not base64."""
    return b64decode(secret.removeprefix("whsec_"), validate=True)


class Standard(Source):
    """The headers are named webhook-… or, by Svix, svix-…."""

    kept: ClassVar[tuple[str, ...]] = ("webhook-id", "webhook-timestamp", "svix-id", "svix-timestamp")

    def __init__(self, settings: SourceSettings, secrets: Sequence[str]) -> None:
        super().__init__(settings, secrets)
        self.secrets = [key_of(s) for s in secrets]

    @classmethod
    def problems(cls, settings: SourceSettings, secrets: Sequence[str]) -> list[str]:  # noqa: ARG003 - its shape
        """Secrets are base64."""
        try:
            if all(key_of(s) for s in secrets):
                return []
        except ValueError:
            pass
        return ["a secret must be base64, with or without whsec_ before it"]

    def reject(self, headers: Headers, body: bytes, now: float) -> str | None:
        """One of the v1 signatures must be right, and the time near."""
        told = [headers.get(f"webhook-{p}", headers.get(f"svix-{p}")) for p in _PARTS]
        name, stamp, given = told
        if name is None or stamp is None or given is None:
            return MISSING
        message = f"{name}.{stamp}.".encode("latin-1", "replace") + body
        wanted = [b64encode(signed(s, message)) for s in self.secrets]
        sent = [
            one[3:].encode("latin-1", "replace") for one in given.split(" ")[:16] if one.startswith("v1,")
        ]
        if not any([any_equal(one, wanted) for one in sent]):  # noqa: C419 - all are compared, whichever is right
            return WRONG
        return None if fresh(stamp, now, self.tolerance) else STALE

    def event_type(self, headers: Headers, event: Any) -> str:  # noqa: ARG002 - its shape
        """contact.created, …"""
        found = event.get("type") if isinstance(event, dict) else None
        return found if isinstance(found, str) else ""

    def own_key(self, headers: Headers, event: Any) -> str | None:  # noqa: ARG002 - its shape
        """The message's id."""
        return headers.get("webhook-id", headers.get("svix-id"))
