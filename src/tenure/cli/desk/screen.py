"""How answers look: colours only on a terminal, times as people say them, and nothing a job holds may steer the terminal."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import IO, Any, Final

import click

from tenure.clock import from_micros, machine_micros

__all__ = ["ago", "coloured", "echo_json", "local", "now", "number", "paint", "plain", "table", "when"]

_UNITS: Final = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
_LEAST: Final = 5
"""A column of words keeps so many characters, however narrow the terminal is."""
_IDS: Final = frozenset({"ID"})
"""Columns that are cut last, and then at their start: an id begins with its time."""
_FIGURE: Final = re.compile(r"[\d,.]+\+?|\d+/\d+")


def now() -> datetime:
    """The machine's time: near enough to the store's for words like "3 min ago"."""
    return from_micros(machine_micros())


def coloured(stream: IO[str] | None = None) -> bool:
    """Whether colours may be sent there (standard output, unless told otherwise)."""
    where = sys.stdout if stream is None else stream
    return where.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str, colour: str | None = None, *, bold: bool = False, dim: bool = False) -> str:
    """The text in a colour, where there are colours."""
    return click.style(text, fg=colour, bold=bold or None, dim=dim or None) if coloured() else text


def plain(text: str, *, lines: bool = False) -> str:
    """Text of a job without characters that would steer the terminal; on one line, unless `lines` may stay."""
    kept = "\n\t" if lines else ""
    return "".join(c if c.isprintable() or c in kept else " " for c in text)


def number(value: int, *, more: bool = False) -> str:
    """A count as people read it; with a plus where it was not counted any further."""
    return f"{value:,}{'+' if more else ''}"


def local(moment: datetime) -> str:
    """A moment in local time."""
    return f"{moment.astimezone():%Y-%m-%d %H:%M:%S}"


def ago(moment: datetime, at: datetime) -> str:
    """A moment in words: "3 min ago", "in 2 h"."""
    seconds = (at - moment).total_seconds()
    for unit, length in _UNITS:
        if abs(seconds) >= length:
            told = f"{abs(seconds) // length:.0f} {unit}"
            return f"{told} ago" if seconds > 0 else f"in {told}"
    return "now"


def when(moment: datetime | None, at: datetime) -> str:
    """Both: "2026-03-01 14:05:09, 3 min ago"."""
    return "-" if moment is None else f"{local(moment)}, {ago(moment, at)}"


def echo_json(answer: Any) -> None:
    """An answer for programs, on one line."""
    click.echo(json.dumps(answer))


def table(
    header: Sequence[str], rows: Iterable[Sequence[str]], colours: Sequence[Sequence[str | None]] = ()
) -> None:
    """Columns as wide as they must be; on a terminal that is too narrow for them, as wide as it allows."""
    body = [[plain(cell) for cell in row] for row in rows]
    widths = [max(len(line[n]) for line in (header, *body)) for n in range(len(header))]
    if sys.stdout.isatty():
        widths = _fitted(header, body, widths, shutil.get_terminal_size().columns)
    whole = [name in _IDS for name in header]
    click.echo(paint(_line(header, widths, [False] * len(header), ()), bold=True))
    for at, row in enumerate(body):
        click.echo(_line(row, widths, whole, colours[at] if colours else ()))


def _fitted(
    header: Sequence[str], body: Sequence[Sequence[str]], widths: Sequence[int], columns: int
) -> list[int]:
    """The widest column gives way, one character at a time; ids after all others, and figures never, for half a number is a lie."""
    fitted = list(widths)
    least = [
        max([min(widths[n], _LEAST), *(len(row[n]) for row in body if _FIGURE.fullmatch(row[n]))])
        for n in range(len(header))
    ]
    for ids in (False, True):
        while sum(fitted) + 2 * (len(fitted) - 1) > columns:
            loose = [n for n, name in enumerate(header) if fitted[n] > least[n] and (ids or name not in _IDS)]
            if not loose:
                break
            fitted[max(loose, key=lambda n: (fitted[n], n))] -= 1
    return fitted


def _line(
    cells: Sequence[str], widths: Sequence[int], ends: Sequence[bool], colours: Sequence[str | None]
) -> str:
    padded = [f"{_cut(cell, width, end=end):<{width}}" for cell, width, end in zip(cells, widths, ends, strict=True)]  # fmt: skip
    padded[-1] = padded[-1].rstrip()
    shown = [paint(cell, colours[n]) if n < len(colours) and colours[n] else cell for n, cell in enumerate(padded)]  # fmt: skip
    return "  ".join(shown).rstrip()


def _cut(text: str, width: int, *, end: bool) -> str:
    """As much as there is room for, from the start or, where that is what tells it apart, from the end."""
    if len(text) <= width:
        return text
    return f"…{text[len(text) - width + 1 :]}" if end else f"{text[: width - 1]}…"
