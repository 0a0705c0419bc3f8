"""What the crawl looks like from outside: the queue's own counts, drawn until nothing is in flight."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

import tenure

__all__ = ["pages_on_disk", "watch"]

Counts = Mapping[str, Mapping[str, int]]
_WIDTH = 40
_PENDING = ("scheduled", "waiting", "ready")


def watch(
    queue: tenure.Queue, names: tuple[str, ...], out: Path, stop: threading.Event, *, plain: bool
) -> bool:
    """Draw these queues until nothing is left to do (True), or until `stop` is set (False)."""
    lively = sys.stdout.isatty() and not plain
    drawn = ""
    while not stop.wait(0.1 if lively else 0.25):
        try:
            counts = queue.counts(names)
        except tenure.StoreError as error:
            print(f"the database does not answer: {error}", file=sys.stderr)
            continue
        now = (
            _picture(counts, names, pages_on_disk(out))
            if lively
            else _line(counts, names, pages_on_disk(out))
        )
        if now != drawn:
            print(f"\033[{drawn.count(chr(10)) + 1}A{now}" if lively and drawn else now, flush=True)
            drawn = now
        if not any(_in_flight(counts[name]) for name in names):
            return True
    return False


def pages_on_disk(out: Path) -> int:
    """How many pages have been saved."""
    return sum(1 for _ in out.glob("*/*/*.png"))


def _line(counts: Counts, names: tuple[str, ...], pages: int) -> str:
    told = "  ".join(f"{name} {counts[name]['done']}/{_all(counts[name])}" for name in names)
    return f"{told}  pages {pages}"


def _picture(counts: Counts, names: tuple[str, ...], pages: int) -> str:
    """A bar for each queue, and the number of pages; every line ends by clearing what stood there before."""
    rows = [f"  {name:<10}{_bar(counts[name])}  {_told(counts[name])}" for name in names]
    return "\n".join(f"{row}\033[K" for row in [*rows, f"  {'pages':<10}{pages:>3} on disk"])


def _bar(states: Mapping[str, int]) -> str:
    """Done, running, pending: ███▒▒░░░"""
    total = max(_all(states), 1)
    done, begun = _WIDTH * states["done"] // total, _WIDTH * (states["done"] + states["running"]) // total
    parts = ("█" * done, "▒" * (begun - done), "░" * (_WIDTH - begun))
    if "NO_COLOR" in os.environ:
        return "".join(parts)
    return "".join(f"\033[{colour}m{part}\033[0m" for colour, part in zip((32, 33, 2), parts, strict=True))


def _told(states: Mapping[str, int]) -> str:
    shown = {
        "done": states["done"],
        "running": states["running"],
        "pending": sum(states[state] for state in _PENDING),
        "dead": states["dead"],
    }
    return ", ".join(f"{count} {word}" for word, count in shown.items() if count)


def _in_flight(states: Mapping[str, int]) -> int:
    return states["running"] + sum(states[state] for state in _PENDING)


def _all(states: Mapping[str, int]) -> int:
    return sum(states.values())
