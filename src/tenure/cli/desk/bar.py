"""How far something is, on one line of a terminal; nothing elsewhere, nor on a terminal that is lost meanwhile."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from typing import Final

from tenure.cli.desk.screen import number

__all__ = ["Bar"]

_WIDTH: Final = 24
_COLUMNS: Final = 80
"""Of a terminal that does not say how wide it is."""


class Bar:
    """How far it is, on one line of a terminal; nothing elsewhere."""

    def __init__(self, total: int, *, more: bool) -> None:
        self._total, self._more = total, more
        self._began, self._on = time.monotonic(), sys.stderr.isatty()

    def show(self, done: int) -> None:
        """So many are done."""
        if not self._on:
            return
        try:
            self._draw(done)
        except OSError:  # the terminal is lost; what goes on does so without
            self._on = False

    def _draw(self, done: int) -> None:
        spent = max(time.monotonic() - self._began, 1e-3)
        told = f"{number(done)} of {number(self._total, more=self._more)}  {done / spent:,.0f}/s"
        room = (os.get_terminal_size(sys.stderr.fileno()).columns or _COLUMNS) - 1
        width = min(_WIDTH, max(room - len(told) - len("[] "), 0))
        full = int(min(done / self._total, 1.0) * width)
        line = f"[{'#' * full}{'-' * (width - full)}] {told}"
        sys.stderr.write(f"\r{line[:room]}\033[K")
        sys.stderr.flush()

    def end(self) -> None:
        """The line is over."""
        if self._on:
            with suppress(OSError):
                sys.stderr.write("\n")
                sys.stderr.flush()
