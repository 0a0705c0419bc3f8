"""Delivery: one webhook as a handler gets it, in the request (sync sources) or in a job (async ones)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

__all__ = ["Delivery"]


class Delivery(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The exact body that was sent, and the headers chosen to be kept (names in lower case)."""

    source: str
    type: str
    body: bytes
    headers: Mapping[str, str]

    @property
    def event(self) -> Any:
        """The body's JSON, decoded when first asked for."""
        found = self.__dict__
        if "event" not in found:
            found["event"] = msgspec.json.decode(self.body)
        return found["event"]
