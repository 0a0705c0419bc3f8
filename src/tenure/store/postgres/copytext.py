"""Rows in the text format that COPY reads."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["bare_line", "line"]

_ESCAPES: Final = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def bare_line(row: tuple[Any, ...]) -> str:
    """A row without options in COPY's text format; most have nothing to escape."""
    job, lane, queue, kind, rank, payload, most, due, now = row
    if "\\" in payload or "\\" in lane:
        return line(row)
    return f"{job}\t{lane}\t{queue}\t{kind}\t{rank}\t{payload}\t{most}\t{due}\t{now}\n"


def line(row: tuple[object, ...]) -> str:
    """A row in COPY's text format."""
    return "\t".join([_field(value) for value in row]) + "\n"


def _field(value: object) -> str:
    if value is None:
        return "\\N"
    return value.translate(_ESCAPES) if isinstance(value, str) else str(value)
