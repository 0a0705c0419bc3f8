"""A whole terminal for a while: the other screen, no cursor, single keys; given back however the command ends."""

from __future__ import annotations

import os
import select
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from typing import Any, Final, Self

from tenure.cli.desk.picture import Line
from tenure.cli.desk.screen import paint

__all__ = ["Screen", "painted"]

_OPEN: Final = "\033[?1049h\033[?25l"
_CLOSE: Final = "\033[?25h\033[?1049l"
_COLOURS: Final = ("red", "yellow")


class Screen:
    """The terminal that standard output is. SIGTERM ends the command as Ctrl-C does, so that the terminal is given back."""

    def __init__(self) -> None:
        self._keys = sys.stdin.isatty()
        self._before: Any = None
        self._on_term: Any = None

    def __enter__(self) -> Self:
        if self._keys:
            import termios
            import tty

            self._before = termios.tcgetattr(sys.stdin.fileno())
            tty.setcbreak(sys.stdin.fileno())
        self._on_term = signal.signal(signal.SIGTERM, _leave)
        sys.stdout.write(_OPEN)
        sys.stdout.flush()
        return self

    def __exit__(self, *_: object) -> None:
        sys.stdout.write(_CLOSE)
        sys.stdout.flush()
        signal.signal(signal.SIGTERM, self._on_term)
        if self._before is not None:
            import termios

            termios.tcsetattr(sys.stdin.fileno(), termios.TCSADRAIN, self._before)

    @property
    def height(self) -> int:
        """How many lines there are, but the last, which is for keys."""
        return max(shutil.get_terminal_size().lines - 1, 4)

    def draw(self, lines: Sequence[Line], foot: str) -> None:
        """In place of what was there; every line is cut where the terminal ends."""
        width = shutil.get_terminal_size().columns
        body = "".join(f"{painted(line, width)}\033[K\r\n" for line in lines[: self.height])
        sys.stdout.write(f"\033[H{body}\033[J{paint(foot[:width], dim=True)}")
        sys.stdout.flush()

    def key(self, seconds: float) -> str:
        """The next key within so many seconds; "": none. A terminal that is gone says q."""
        if not self._keys:
            time.sleep(seconds)
            return ""
        keyboard = sys.stdin.fileno()
        ready, _, _ = select.select([keyboard], [], [], seconds)
        return (os.read(keyboard, 1) or b"q").decode("latin-1") if ready else ""


def painted(line: Line, width: int | None = None) -> str:
    """A line as it is shown."""
    text = line.text if width is None or len(line.text) <= width else f"{line.text[: width - 1]}…"
    if not line.paint:
        return text
    return paint(text, line.paint if line.paint in _COLOURS else None, bold=line.paint == "bold")


def _leave(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)
