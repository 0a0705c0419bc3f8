"""Rows in the text format that COPY reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

__all__ = ["bare_lines", "line"]

_ESCAPES: Final = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def bare_lines(rows: Iterable[tuple[Any, ...]]) -> Iterator[str]:
    """Rows without options in COPY's text format. Most are of one place and time, which are written out once for them all."""
    last: tuple[Any, ...] = ()
    before = after = ""
    for job, lane, queue, kind, rank, payload, most, due, now in rows:
        if (lane, most, due, now) != last:
            last = (lane, most, due, now)
            before, after = f"\t{line((lane, queue, kind, rank))[:-1]}\t", f"\t{line((most, due, now))}"
        text = payload if "\\" not in payload else _field(payload)
        yield f"{job}{before}{text}{after}"


def line(row: tuple[object, ...]) -> str:
    """A row in COPY's text format."""
    return "\t".join([_field(value) for value in row]) + "\n"


def _field(value: object) -> str:
    if value is None:
        return "\\N"
    return value.translate(_ESCAPES) if isinstance(value, str) else str(value)
