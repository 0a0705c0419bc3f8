"""What every source has: who may send, what tells deliveries apart, what keeps order, and how long one is worth handling.

A source is asked in this order: `reject` on the raw bytes, then, once the body is read as JSON, `at_once`, `dedupe_key`,
`order_key` and `expires`. None of them may raise, whatever was sent; `Refused` is the one exception.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import sha256
from hmac import digest
from typing import Any, ClassVar

from tenure.duration import Duration, parse
from tenure.gateway.secrets import is_secret_header
from tenure.gateway.settings import SourceSettings

__all__ = [
    "MISSING",
    "STALE",
    "WRONG",
    "Expires",
    "Headers",
    "Source",
    "fresh",
    "headers_named",
    "pick",
    "plain_key",
    "proves",
    "signed",
]

Headers = Mapping[str, str]
"""Header values by name in lower case."""
Expires = tuple[datetime | None, timedelta | None]
"""Until when something is worth handling, or how long once it is stored; neither: for ever."""

MISSING = "no signature"
WRONG = "bad signature"
STALE = "stale timestamp"
_LONGEST_KEY = 200


class Source:
    """One source, as its settings have it."""

    secret_needed: ClassVar[bool] = True
    window: ClassVar[Duration] = "7d"
    """How long keys are remembered unless the settings say otherwise: longer than the sender retries."""
    deadline: ClassVar[Duration] = "8s"
    """How long a sync handler may take: shorter than the sender waits."""
    expiry: ClassVar[Mapping[str, Duration]] = {}
    kept: ClassVar[tuple[str, ...]] = ()
    """Headers that are stored beside content-type and user-agent. Never one that carries a secret."""

    def __init__(self, settings: SourceSettings, secrets: Sequence[str]) -> None:
        self.settings = settings
        self.secrets = [s.encode() for s in secrets]
        self.tolerance = parse(settings.tolerance, "tolerance").total_seconds()
        spans = {**self.expiry, **settings.expiry}
        self._expiry = {name: parse(span, f"expiry.{name}") for name, span in spans.items()}
        self._kept = ("content-type", "user-agent", *self.kept, *self._named())

    @classmethod
    def problems(cls, settings: SourceSettings, secrets: Sequence[str]) -> list[str]:  # noqa: ARG003 - for others
        """What is wrong with settings of this type, beyond what is wrong with any."""
        return []

    def reject(self, headers: Headers, body: bytes, now: float) -> str | None:
        """Why this request is not from who it should be; None if it is."""
        raise NotImplementedError

    def at_once(self, event: Any) -> Any:  # noqa: ARG002 - most sources have none
        """What is answered without handling anything, as JSON; None: the delivery is handled."""
        return None

    def own_key(self, headers: Headers, event: Any) -> str | None:  # noqa: ARG002 - for others
        """What the sender tells deliveries apart by; None: it did not say."""
        return None

    def own_order(self, event: Any) -> str | None:  # noqa: ARG002 - for others
        """Whose deliveries are to be handled in order."""
        return None

    def event_type(self, headers: Headers, event: Any) -> str:  # noqa: ARG002 - for others
        """What happened, in the sender's word."""
        return ""

    def dedupe_key(self, headers: Headers, event: Any, body: bytes) -> str:
        """What tells this delivery from others; the body's hash where nothing else does."""
        named = self.settings.key
        found = self.own_key(headers, event) if named is None else pick(named, headers, event)
        return plain_key(found) if found else f"sha256:{sha256(body).hexdigest()}"

    def order_key(self, headers: Headers, event: Any) -> str | None:
        """Whose line it stands in; None: it stands in none."""
        if self.settings.order == "none":
            return None
        named = self.settings.order_by
        found = self.own_order(event) if named is None else pick(named, headers, event)
        return plain_key(found) if found else None

    def expires(self, headers: Headers, event: Any) -> Expires:
        """How long it is worth handling."""
        if not self._expiry:
            return None, None
        span = self._expiry.get(self.event_type(headers, event), self._expiry.get("*"))
        return None, span or None

    def keep(self, headers: Headers) -> dict[str, str]:
        """The headers that are stored, each cut to a sane length."""
        return {name: headers[name][:1_000] for name in self._kept if name in headers}

    def _named(self) -> list[str]:
        """Headers that the settings themselves read from; one that proves who sent it is not among them."""
        return [name for name in headers_named(self.settings) if not proves(self.settings, name)]


def headers_named(settings: SourceSettings) -> list[str]:
    """The headers that deliveries are told apart or kept in order by, in lower case."""
    named = (settings.key or "", settings.order_by or "")
    return [n.removeprefix("header:").lower() for n in named if n.startswith("header:")]


def proves(settings: SourceSettings, name: str) -> bool:
    """Whether a header (in lower case) carries the proof of who sent it, or a secret: it is never kept."""
    checked = settings.type == "generic" and settings.check.how in ("token", "hmac")
    return is_secret_header(name) or (checked and name == settings.check.header.lower())


def signed(secret: bytes, message: bytes, algorithm: str = "sha256") -> bytes:
    """The HMAC."""
    return digest(secret, message, algorithm)


def fresh(stamp: str, now: float, tolerance: float) -> bool:
    """Whether a timestamp in whole seconds is near enough to now."""
    return stamp.isascii() and stamp.isdecimal() and len(stamp) <= 15 and abs(now - int(stamp)) <= tolerance


def pick(where: str, headers: Headers, event: Any) -> str | None:
    """What stands in a header ("header:X-Id") or at a path of the JSON ("json:data.items.0.id")."""
    how, _, place = where.partition(":")
    if how == "header":
        return headers.get(place.lower())
    if how != "json":
        return None
    for step in place.split("."):
        if isinstance(event, dict):
            event = event.get(step)
        elif isinstance(event, list) and step.isdecimal() and len(step) < 6 and int(step) < len(event):
            event = event[int(step)]
        else:
            return None
    return str(event) if isinstance(event, (str, int)) and not isinstance(event, bool) else None


def plain_key(text: str) -> str:
    """The text as a key that every store takes: itself where it is short and plain, else its hash."""
    if len(text) <= _LONGEST_KEY and text.isascii() and text.isprintable():
        return text
    return f"sha256:{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"
