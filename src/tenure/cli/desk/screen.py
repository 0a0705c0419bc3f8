"""How answers look: colours only on a terminal, times as people say them, and nothing a job holds may steer the terminal."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import IO, Any, Final

import click

from tenure.clock import from_micros, machine_micros

__all__ = ["ago", "coloured", "echo_json", "local", "now", "number", "paint", "plain", "table", "when"]

_UNITS: Final = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
_LEAST: Final = 12
"""The last column keeps so many characters, however narrow the terminal is."""


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
    """Columns as wide as they must be; the last is cut where a terminal ends."""
    body = [[plain(cell) for cell in row] for row in rows]
    widths = [max(len(line[n]) for line in (header, *body)) for n in range(len(header) - 1)]
    room = max(shutil.get_terminal_size().columns - sum(widths) - 2 * len(widths), _LEAST)
    most = room if sys.stdout.isatty() else None
    click.echo(paint(_line(header, widths, most, ()), bold=True))
    for at, row in enumerate(body):
        click.echo(_line(row, widths, most, colours[at] if colours else ()))


def _line(
    cells: Sequence[str], widths: Sequence[int], most: int | None, colours: Sequence[str | None]
) -> str:
    *first, last = cells
    if most is not None and len(last) > most:
        last = last[: most - 1] + "…"
    padded = [f"{cell:<{width}}" for cell, width in zip(first, widths, strict=True)] + [last]
    shown = [paint(cell, colours[n]) if n < len(colours) and colours[n] else cell for n, cell in enumerate(padded)]  # fmt: skip
    return "  ".join(shown).rstrip()
