"""What the http handler is told in a source's `options`; whatever is wrong with them is one sentence each."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any

import msgspec
from msgspec import Struct

from tenure.duration import parse
from tenure.errors import FieldError
from tenure.gateway.outgoing import fits
from tenure.gateway.secrets import is_secret_header
from tenure.gateway.settings import SourceSettings
from tenure.gateway.sources import SOURCES, Source
from tenure.gateway.sources.base import headers_named, proves

__all__ = ["OURS", "HttpOptions", "is_reference", "is_secret", "kept_by", "longest", "read_options"]

OURS = frozenset(
    {
        "content-type",
        "idempotency-key",
        "tenure-attempt",
        "tenure-source",
        "traceparent",
        "webhook-id",
        "webhook-signature",
        "webhook-timestamp",
    }
)
"""Headers that the handler itself sets."""
_LONGEST = 30.0
_SHARE = 0.9
"""How much of the time that a source has may be spent on waiting for the answer, if nothing else is said."""


class HttpOptions(Struct, frozen=True, kw_only=True):
    """How deliveries are sent on."""

    secret: str | tuple[str, ...] = ()
    """What they are signed with: env:NAME or file:/path, or several while they are rotated."""
    timeout: str | int | float | None = None
    give_up: tuple[int | str, ...] = ()
    """Answers after which trying again would not help: statuses, and "4xx" for all of a class."""
    private: bool = False
    """Whether the URL may lead to a private address."""
    headers: dict[str, str] = {}
    """What every request is sent with; a value may be a reference, env:NAME or file:/path."""
    forward: tuple[str, ...] | None = None
    """Which of the kept headers are passed on; None: all."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """The references, however many."""
        return (self.secret,) if isinstance(self.secret, str) else self.secret

    def seconds(self, settings: SourceSettings) -> float:
        """How long one exchange may take."""
        if self.timeout is not None:
            return parse(self.timeout, "timeout").total_seconds()
        most = longest(settings) * _SHARE
        return min(most, _LONGEST) if settings.is_async else most

    def problems(self, settings: SourceSettings, *, inline: bool) -> list[str]:
        """What makes no sense in these values."""
        return [
            *self.about_secrets(inline=inline),
            *self._about_headers(inline=inline),
            *self._about_timeout(settings),
            *(
                f'options.give_up must hold statuses from 300 to 599 and "3xx", "4xx" or "5xx", got {one!r}'
                for one in self.give_up
                if not (300 <= one <= 599 if isinstance(one, int) else one in ("3xx", "4xx", "5xx"))
            ),
            *(
                f"options.forward names {name!r}, which this source does not keep"
                for name in self.forward or ()
                if name.lower() not in kept_by(settings)
            ),
        ]

    def about_secrets(self, *, inline: bool) -> list[str]:
        """What is wrong with how they are written."""
        known = ("env:", "file:", "inline:") if inline else ("env:", "file:")
        well = all(s.startswith(known) for s in self.secrets)
        return [] if well else ["options.secret must be written env:NAME or file:/path"]

    def _about_headers(self, *, inline: bool) -> list[str]:
        """What cannot be sent, and secrets that stand here in clear."""
        return [
            f"options.headers cannot hold {name!r}, which is sent by itself or is no plain text"
            if name.lower() in OURS or not fits(name, value)
            else f"options.headers.{name} is a secret; write it env:NAME or file:/path, or set inline_secrets = true"
            for name, value in self.headers.items()
            if name.lower() in OURS
            or not fits(name, value)
            or (is_secret(name) and not inline and not is_reference(value))
        ]

    def _about_timeout(self, settings: SourceSettings) -> list[str]:
        try:
            given, most = self.seconds(settings), longest(settings)
        except FieldError as cause:
            return [] if self.timeout is None else [f"options.{cause}"]
        if 0 < given < most:
            return []
        whose = "timeout" if settings.is_async else "deadline"
        return [f"options.timeout must be longer than zero and below the source's {whose}, {most:g} s"]


def read_options(given: Mapping[str, Any]) -> tuple[HttpOptions, list[str]]:
    """The options, and every problem with their spelling; what has a problem is left at its default."""
    good: dict[str, Any] = {}
    problems: list[str] = []
    names = HttpOptions.__struct_fields__
    for name, value in given.items():
        if name not in names:
            near = get_close_matches(name, names, 1)
            fix = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(names)}"
            problems.append(f"options.{name} is unknown; {fix}")
            continue
        try:
            msgspec.convert({name: value}, HttpOptions)
        except msgspec.ValidationError as cause:
            rule = str(cause).partition(" - at ")[0]
            problems.append(f"options.{name}: {rule[:1].lower()}{rule[1:]}")
        else:
            good[name] = value
    return msgspec.convert(good, HttpOptions), problems


def is_reference(value: str) -> bool:
    """Whether a header's value is to be looked up, not sent as it stands."""
    return value.startswith(("env:", "file:", "inline:"))


def is_secret(name: str) -> bool:
    """Whether what this header carries is to be shown to nobody."""
    return is_secret_header(name) or name.lower().endswith("-key")


def longest(settings: SourceSettings) -> float:
    """How many seconds the source leaves its handler."""
    given = settings.timeout if settings.is_async else settings.deadline
    usual = SOURCES.get(settings.type, Source).deadline
    return parse(usual if given is None else given, "deadline").total_seconds()


def kept_by(settings: SourceSettings) -> Collection[str]:
    """The headers that this source keeps."""
    return {
        "content-type",
        "user-agent",
        *SOURCES.get(settings.type, Source).kept,
        *(name for name in headers_named(settings) if not proves(settings, name)),
    }
