"""Rows as the statements `enqueue` and `request_add` take them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from msgspec import Struct

from tenure.job import JobId
from tenure.newjob import Row
from tenure.store.pack import pack_object

__all__ = ["BODIES", "WHOLE", "Stored", "requests", "stored", "whole"]

BODIES: Final = 16_777_216
"""How many bytes of requests go into one statement."""


class Stored(Struct, gc=False, omit_defaults=True):
    """A row as the statement `enqueue` takes it; what is not said of it does not travel."""

    id: JobId
    lane: str
    queue: str
    kind: str
    rank: int
    payload: str
    max_attempts: int
    run_at: int | None = None
    delay: int | None = None
    expires_at: int | None = None
    expires_in: int | None = None
    unique_hash: str | None = None
    group_key: str | None = None
    group_limit: int | None = None
    parent: str | None = None
    flow: str | None = None
    tenant: str | None = None
    extra: str | None = None
    lead: bool = False


def stored(row: Row, *, lead: bool = False) -> Stored:
    """The row; `lead`: whether it may be ready at once though it has a group."""
    return Stored(
        row.id, row.lane, row.queue, row.kind, row.rank, row.payload, row.max_attempts, row.run_at, row.delay,
        row.expires_at, row.expires_in, row.unique_hash if row.unique_for is None else None, row.group_key,
        row.group_limit, row.parent, row.flow, row.tenant, row.extra, lead,
    )  # fmt: skip


WHOLE: Final = (
    "id", "lane", "queue", "kind", "rank", "payload", "max_attempts", "run_at", "delay", "expires_at", "expires_in",
    "unique_hash", "unique_for", "group_key", "group_limit", "parent", "flow", "tenant", "extra", "body", "headers",
)  # fmt: skip
"""What `whole` has of a row."""


def whole(row: Row) -> tuple[Any, ...]:
    """The row as the statement `enqueue_whole` takes it, with its period and its request."""
    request = row.request
    return (
        row.id, row.lane, row.queue, row.kind, row.rank, row.payload, row.max_attempts, row.run_at, row.delay,
        row.expires_at, row.expires_in, row.unique_hash, row.unique_for, row.group_key, row.group_limit, row.parent,
        row.flow, row.tenant, row.extra, None if request is None else request.body,
        None if request is None else pack_object(request.headers),
    )  # fmt: skip


def requests(rows: Sequence[Row]) -> Iterator[list[dict[str, Any]]]:
    """The rows' requests, together up to a sane length: bodies of a whole bulk may be more than a statement takes."""
    together: list[dict[str, Any]] = []
    size = 0
    for row in rows:
        if (request := row.request) is None:
            continue
        if together and size + len(request.body) > BODIES:
            yield together
            together, size = [], 0
        together.append({"id": row.id, "body": request.body, "headers": pack_object(request.headers)})
        size += len(request.body)
    if together:
        yield together
