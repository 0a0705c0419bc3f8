"""What a check found: a level, what was seen in numbers, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Literal

from tenure.duration import spell

__all__ = ["LEVELS", "Finding", "Level", "bad", "count", "listed", "size", "span"]

Level = Literal["ok", "note", "warning", "error"]
LEVELS: Final[Sequence[Level]] = ("ok", "note", "warning", "error")
"""From the best to the worst."""
_NAMED: Final = 5


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at; `fix` is empty where nothing need be done."""

    level: Level
    check: str
    found: str
    fix: str = ""


def bad(findings: Iterable[Finding]) -> bool:
    """Whether any is worse than a note."""
    return any(finding.level in ("warning", "error") for finding in findings)


def count(number: int, thing: str, *, more: bool = False) -> str:
    """A number of things: "1 job", "1,200+ jobs"."""
    return f"{number:,}{'+' if more else ''} {thing}{'' if number == 1 and not more else 's'}"


def span(micros: float) -> str:
    """A span as people read it, in whole seconds where it has any."""
    seconds = micros / 1_000_000
    return spell(
        timedelta(seconds=round(seconds)) if seconds >= 10 else timedelta(microseconds=round(micros))
    )


def size(octets: int) -> str:
    """Bytes as people read them."""
    for unit, length in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if octets >= length:
            return f"{octets / length:,.1f} {unit}"
    return f"{octets} bytes"


def listed(names: Sequence[str]) -> str:
    """Some names, and how many more there are."""
    shown = ", ".join(names[:_NAMED])
    return shown if len(names) <= _NAMED else f"{shown} and {len(names) - _NAMED:,} more"
