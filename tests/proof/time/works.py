"""The app of workers whose time misbehaves: jobs that take a while, and a clock that a test moves.

Where the jobs are is $TENURE_URL. What handlers did is written down in a file in $SCENE. How many seconds the machine's clock is
ahead, as these workers see it, is in the file `clock` there, or for one of them alone in `clock-<pid>`.
"""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import suppress
from pathlib import Path

import tenure
from tests.proof.notes import Effects

__all__ = ["ADDRESS", "app"]

ADDRESS = f"{__name__}:app"
_FRESH = 0.01
"""How long what the file said is believed, in seconds."""

app = tenure.App()


class _Moved:
    """The machine's clock, as the test has it."""

    def __init__(self, folder: Path) -> None:
        self._files = (folder / f"clock-{os.getpid()}", folder / "clock")
        self._ahead, self._read = 0, 0.0
        self._true = time.time_ns

    def time_ns(self) -> int:
        if time.monotonic() - self._read > _FRESH:
            self._read = time.monotonic()
            self._ahead = self._said()
        return self._true() + self._ahead

    def time(self) -> float:
        return self.time_ns() / 1e9

    def _said(self) -> int:
        for file in self._files:
            with suppress(OSError, ValueError):
                return int(file.read_text()) * 1_000_000_000
        return 0


def _move_clock() -> None:
    """In the process of a worker, from here on; not in the test's own."""
    if folder := os.environ.get("SCENE"):
        moved = _Moved(Path(folder))
        time.time_ns, time.time = moved.time_ns, moved.time


_move_clock()


@app.job
async def takes(ctx: tenure.Context, seconds: float) -> None:
    """Takes so long; what the clock shows is put down."""
    folder = Path(os.environ["SCENE"])
    Effects(folder / "effects").add(ctx.claim)
    with (folder / "clocks").open("a") as clocks:
        clocks.write(f"{time.time()}\n")
    await asyncio.sleep(seconds)
