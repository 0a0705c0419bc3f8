"""What may come next in a filter that is being written: fields, then their values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tenure.query.fields import FIELDS, field_of
from tenure.query.words import exactly, quoted

__all__ = ["Candidate", "Completion", "complete", "open_field"]

_MOST = 50


class Candidate(NamedTuple):
    """A text to put in, and what it means."""

    text: str
    means: str


class Completion(NamedTuple):
    """What may stand in place of text[start:end]."""

    start: int
    end: int
    candidates: tuple[Candidate, ...]


class _Open(NamedTuple):
    """The word at the cursor, as far as it is written: where its last part begins, and what came before it."""

    start: int
    field: str | None
    said: tuple[str, ...]


def complete(
    text: str, cursor: int | None = None, known: Mapping[str, Iterable[str]] | None = None
) -> Completion:
    """What may be written at the cursor (at the end, if it is left out), as one goes on typing.

    `known` are values that the caller has for a field: {"kind": […], "queue": […]}.
    """
    end = len(text) if cursor is None else max(0, min(cursor, len(text)))
    here = _open(text[:end])
    typed = text[here.start : end]
    if here.field is None:
        return Completion(here.start, end, tuple(_fields(typed)))
    field = field_of(here.field)
    if field is None:
        return Completion(here.start, end, ())
    write = exactly if field.stars else quoted
    written = {v: write(v) for v in (*field.samples, *(known or {}).get(field.name, ()))}
    wanted, begun = typed.removeprefix('"').lower(), typed.lower()
    found = [
        text
        for value, text in written.items()
        if (value.lower().startswith(wanted) or text.lower().startswith(begun)) and value not in here.said
    ]
    return Completion(here.start, end, tuple(Candidate(text, field.means) for text in found[:_MOST]))


def open_field(text: str, cursor: int | None = None) -> str | None:
    """The field whose value is being written at the cursor (at the end, if it is left out); None: no value is."""
    return _open(text if cursor is None else text[: max(0, cursor)]).field


def _open(text: str) -> _Open:
    """The last word of a text that ends at the cursor, however unfinished it is."""
    start, quote, at = 0, False, 0
    field: str | None = None
    said: tuple[str, ...] = ()
    while at < len(text):
        char = text[at]
        if quote:
            at += char == "\\" and text[at + 1 : at + 2] in ("\\", '"')
            quote = char != '"'
        elif char.isspace():
            start, field, said = at + 1, None, ()
        elif char == ":" and field is None:
            field, start = text[start:at].removeprefix("-"), at + 1
        elif char == "," and field is not None:
            said, start = (*said, text[start:at].strip('"')), at + 1
        elif char == '"' and field is not None and at == start:
            quote = True
        at += 1
    return _Open(start, field, said)


def _fields(typed: str) -> Iterable[Candidate]:
    minus = "-" if typed.startswith("-") else ""
    wanted = typed.removeprefix("-").lower()
    for field in FIELDS:
        if field.name.startswith(wanted) and (field.negates or not minus):
            colon = "" if field.name.endswith(".") else ":"
            yield Candidate(f"{minus}{field.name}{colon}", f"{field.means}, as in {field.example}")
