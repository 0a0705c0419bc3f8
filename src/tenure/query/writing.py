"""From a filter to text: what `parse` reads back as the same filter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any

from tenure.duration import micros, parse
from tenure.errors import FieldError
from tenure.filters import Filter
from tenure.inside import Inside
from tenure.query.words import quoted

__all__ = ["format"]

_UNITS = (("d", 86_400_000_000), ("h", 3_600_000_000), ("m", 60_000_000), ("s", 1_000_000), ("ms", 1_000), ("us", 1))  # fmt: skip


def format(which: Filter) -> str:  # noqa: A001 - the other side of parse
    """The text that says this filter; empty for every job."""
    which.parameters()
    return " ".join(_words(which))


def _words(which: Filter) -> Iterator[str]:
    yield from _listed("state", which.states, "states")
    yield from _listed("kind", which.kinds, "kinds")
    yield from _listed("-kind", which.except_kinds, "except_kinds")
    yield from _listed("queue", which.queues, "queues")
    yield from _listed("-queue", which.except_queues, "except_queues")
    yield from _listed("error", which.error, "error")
    yield from _listed("-error", which.except_error, "except_error")
    if which.fingerprint is not None:
        yield f"fingerprint:{quoted(which.fingerprint)}"
    for comparison, span in ((">", which.older_than), ("<", which.newer_than)):
        if span is not None:
            yield f"age:{comparison}{_spelled(parse(span))}"
    if which.overdue_by is not None:
        yield f"overdue:>{_spelled(parse(which.overdue_by))}"
    yield from _range("attempt", which.attempt_from, which.attempt_to)
    yield from _range("priority", which.priority_from, which.priority_to)
    yield from (f"tag:{quoted(tag)}" for tag in which.tag or ())
    yield from (f"-tag:{quoted(tag)}" for tag in which.except_tag or ())
    yield from _listed("id", which.ids, "ids")
    for name in ("group", "tenant", "flow", "parent"):
        value = getattr(which, name)
        if value is not None:
            yield f"{name}:{quoted(value)}"
    yield from _insides("payload", which.payload)
    yield from _insides("-payload", which.except_payload)


def _listed(word: str, values: Iterable[str] | None, part: str) -> Iterator[str]:
    if values is not None:
        told = ",".join(quoted(str(value)) for value in values)
        if not told:
            raise FieldError(part, "must not be empty where it is to be written as text", ())
        yield f"{word}:{told}"


def _range(name: str, low: int | None, high: int | None) -> Iterator[str]:
    if low is not None and low == high:
        yield f"{name}:{low}"
        return
    if low is not None:
        yield f"{name}:>={low}"
    if high is not None:
        yield f"{name}:<={high}"


def _insides(word: str, said: Any) -> Iterator[str]:
    inside: Inside
    for inside in said or ():
        yield f"{word}.{inside.path}:{','.join(map(quoted, inside.values))}"


def _spelled(span: timedelta) -> str:
    """A length of time to the microsecond."""
    left, told = micros(span), ""
    for unit, length in _UNITS:
        count, left = divmod(left, length)
        told += f"{count}{unit}" if count else ""
    return told or "0s"
