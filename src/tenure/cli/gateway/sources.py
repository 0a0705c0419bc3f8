"""What a gateway's settings say, for people and for machines; secrets are told as references, and whether they are there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tenure.duration import Duration
from tenure.gateway.handlers.replies import has_replies
from tenure.gateway.registry import Registry
from tenure.gateway.secrets import resolve
from tenure.gateway.settings import GatewaySettings, SourceSettings
from tenure.gateway.sources import SOURCES
from tenure.gateway.sources.base import Source

__all__ = ["HEADER", "blocks", "path_of", "rows", "table", "told", "warnings"]

HEADER = ("SLUG", "TYPE", "ASYNC", "HANDLER", "QUEUE", "SECRETS")


def path_of(settings: GatewaySettings, source: SourceSettings) -> str:
    """Where its webhooks go."""
    return f"{settings.prefix}/{source.slug}"


def told(settings: GatewaySettings) -> list[dict[str, Any]]:
    """Every source, for machines."""
    return [_about(settings, source) for source in settings.sources]


def table(settings: GatewaySettings) -> Iterator[str]:
    """A line for each source: its path, its type, what handles it and when."""
    rows = [
        (f"POST {one['path']}", one["type"], one["handler"], f"as a job in {one['queue']}" if one["async"] else "in the request")
        for one in told(settings)
    ]  # fmt: skip
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def rows(settings: GatewaySettings) -> Iterator[tuple[str, ...]]:
    """A row of a table for each source, under HEADER; who makes no jobs has no queue."""
    for one in told(settings):
        found = sum(secret["found"] for secret in one["secrets"])
        kept = ("yes", _handler(one), one["queue"]) if one["async"] else ("no", _handler(one), "-")
        yield one["slug"], one["type"], *kept, f"{found} of {len(one['secrets'])} found"


def blocks(settings: GatewaySettings) -> Iterator[str]:
    """Everything about each source, in a few lines each."""
    for one in told(settings):
        yield f"POST {one['path']}"
        for name, text in _facts(one):
            yield f"  {name:<9} {text}"


def warnings(registry: Registry) -> Iterator[str]:
    """What works and does less than may be meant, one sentence each; a source with a problem is told that first."""
    for route in registry.routes.values():
        source = route.settings
        if source.dedupe is not None and route.window and not source.is_async:
            yield (
                f"source {source.slug!r}: dedupe does nothing, for a sync source keeps nothing to tell duplicates by;"
                " write async = true, or leave dedupe out."
            )
        if source.type != "telegram" or not source.is_async or source.token is not None:
            continue
        fix = 'write token = "env:NAME"'
        if has_replies(source):
            yield f"source {source.slug!r}: without a token no reply can be sent; {fix}."
        if source.apology is None:
            yield (
                f"source {source.slug!r}: without a token nobody is told of an update that finally failed;"
                f' {fix}, or apology = "" if that is meant.'
            )


def _facts(one: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "type", one["type"]
    yield "handler", f"{_handler(one)}, {'as a job' if one['async'] else 'in the request'}"
    yield "secrets", ", ".join(map(_secret, one["secrets"])) or "none"
    if one["token"] is not None:
        yield "token", _secret(one["token"])
    if not one["async"]:
        yield "dedupe", "none (sync)"
        yield "deadline", one["deadline"]
        return
    by = one["key"] or "what the sender names"
    yield "dedupe", "none" if one["dedupe"] in ("0", "0s") else f"{one['dedupe']}, by {by}"
    line = one["order_by"] or "what the sender names"
    yield "order", "none" if one["order"] == "none" else f"{one['order']}, by {line}"
    yield "expiry", ", ".join(f"{n} {span}" for n, span in one["expiry"].items()) or "never"
    yield "retry", f"{', '.join(one['retry'])}; {one['max_attempts']} attempts of {one['timeout']} each"
    yield "queue", f"{one['queue']}, priority {one['priority']}"


def _handler(one: Mapping[str, Any]) -> str:
    return f"{one['handler']} then {one['then']}" if one["then"] else str(one["handler"])


def _secret(one: Mapping[str, Any]) -> str:
    return f"{one['reference']} ({'found' if one['found'] else 'MISSING'})"


def _about(settings: GatewaySettings, source: SourceSettings) -> dict[str, Any]:
    kind = SOURCES.get(source.type, Source)
    inline = settings.inline_secrets
    return {
        "slug": source.slug,
        "path": path_of(settings, source),
        "type": source.type,
        "handler": source.handler,
        "then": source.options.get("then"),
        "async": source.is_async,
        "queue": source.queue,
        "priority": source.priority,
        "secrets": [_reference(secret, inline=inline) for secret in source.secrets],
        "token": None if source.token is None else _reference(source.token, inline=inline),
        "dedupe": _span(kind.window if source.dedupe is None else source.dedupe),
        "key": source.key,
        "order": source.order if source.order_by or kind.own_order is not Source.own_order else "none",
        "order_by": source.order_by,
        "expiry": {name: _span(span) for name, span in {**kind.expiry, **source.expiry}.items()},
        "retry": [_span(span) for span in source.retry],
        "max_attempts": source.max_attempts,
        "timeout": _span(source.timeout),
        "deadline": _span(kind.deadline if source.deadline is None else source.deadline),
    }


def _reference(text: str, *, inline: bool) -> dict[str, Any]:
    how, _, _ = text.partition(":")
    value, _ = resolve(text, inline=inline)
    shown = text if how in ("env", "file") else f"{how}:***" if how == "inline" else "***"
    return {"reference": shown, "found": value is not None}


def _span(span: Duration) -> str:
    return span if isinstance(span, str) else f"{span:g}s" if isinstance(span, (int, float)) else str(span)
