"""Settings that are well written and mean nothing, or make a proof weaker than it looks: each is told in one sentence.

What only jobs read (retry, timeout, …) is let be in a source that makes none: one word, `async`, makes sense of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches

from tenure.duration import parse
from tenure.errors import FieldError
from tenure.gateway.settings import Check, SourceSettings
from tenure.gateway.sources.base import proves
from tenure.gateway.telegram.update import TYPES

__all__ = ["senseless"]

_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_READS = {"none": (), "token": ("header",), "basic": ()}
"""What of a generic source's `check` is looked at, where that is not all of it."""
_LONGEST_WAIT = 60
"""How long a sync source's sender may be kept waiting, in seconds: no known one waits longer."""


def senseless(settings: SourceSettings) -> list[str]:
    """What in a source's settings does nothing, one sentence each, without a full stop."""
    return [
        *_about_places(settings),
        *_about_check(settings),
        *_about_handler(settings),
        *_about_time(settings),
    ]


def _about_places(settings: SourceSettings) -> Iterator[str]:
    for name in ("key", "order_by"):
        how, colon, place = (getattr(settings, name) or "").partition(":")
        if not colon or how not in ("header", "json"):
            continue
        if how == "json" and not settings.json:
            yield f"{name} reads JSON, and json = false takes any body; name a header"
        elif how == "json" and not place:
            yield f'{name} names no member; write {name} = "json:data.id"'
        elif how == "header" and not _HEADER.match(place):
            yield f'{name} names no header; write {name} = "header:X-Id"'
        elif how == "header" and proves(settings, place.lower()):
            yield f"{name} names {place}, which carries a secret or a signature and is never kept"


def _about_check(settings: SourceSettings) -> Iterator[str]:
    check = settings.check
    if settings.type != "generic":
        if check != Check():
            yield "check is for generic sources"
        return
    if check.how in _READS:
        for name in Check.__struct_fields__:
            if name not in ("how", *_READS[check.how]) and getattr(check, name) != getattr(Check(), name):
                yield f'check.{name} does nothing where check.how is "{check.how}"; leave it out'
    if check.how == "none" and settings.secrets:
        yield 'check.how = "none" asks for no proof, and there are secrets; leave out one of the two'
    if not _HEADER.match(check.header):
        yield f"check.header must be the name of a header, got {check.header!r}"
    if check.timestamp_header and not _HEADER.match(check.timestamp_header):
        yield f"check.timestamp_header must be the name of a header, got {check.timestamp_header!r}"
    if check.how == "hmac" and check.timestamp_header and "{ts}" not in check.template:
        yield "check.template must hold {ts}: without it nobody signs what check.timestamp_header says"


def _about_handler(settings: SourceSettings) -> Iterator[str]:
    name = settings.handler.partition(":")[0]
    if name in ("echo", "python") and settings.options:
        yield f"options: {name} takes none, got {', '.join(sorted(settings.options))}"
    last = str(settings.options.get("then", "")).partition(":")[0] if name == "auth" else name
    if last in ("echo", "python") and settings.url is not None:
        yield "url is for the handler http"


def _about_time(settings: SourceSettings) -> Iterator[str]:
    if not settings.is_async:
        if settings.apology:
            yield "apology is for async sources"
        if _seconds(settings) > _LONGEST_WAIT:
            yield f"deadline must be at most {_LONGEST_WAIT}s, for no sender waits longer; or set async = true"
    if settings.type == "generic":
        yield from (
            f'expiry.{name}: requests to a generic source have no types; write expiry = {{ "*" = … }}'
            for name in settings.expiry
            if name != "*"
        )
    if settings.type == "telegram":
        for name in settings.expiry:
            if name not in TYPES and name != "*":
                near = get_close_matches(name, TYPES, 1)
                fix = f"; did you mean {near[0]!r}?" if near else ""
                yield f"expiry.{name}: Telegram has no such type of update{fix}"


def _seconds(settings: SourceSettings) -> float:
    """How long the sender is kept waiting, as the settings say; what is no duration is told elsewhere."""
    try:
        return parse(settings.deadline or 0, "deadline").total_seconds()
    except FieldError:
        return 0.0
