"""A part of a run of `make torture`: pytest on some tests, in a session of its own, with what it says and counts in files."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tests.proof.sums import Kept
from tests.support.child import ROOT

__all__ = ["Part"]

_LEAVING = 45.0
"""How long it may take to end when it is told to; what its tests have counted is in its file already."""
_SAID = 20_000
"""How much of what it said, and a test that failed, is repeated, in characters, from the end."""


class Part:
    """Started at once; `minutes` is how long the run it belongs to still lasts."""

    def __init__(self, path: Path, seed: int, minutes: float, chosen: Sequence[str]) -> None:
        self.kept = Kept(path.with_suffix(".counts"))
        self._log = path.with_suffix(".log")
        settings = {"TENURE_DEPTH": "torture", "TENURE_SEED": str(seed), "TENURE_MINUTES": f"{minutes:.2f}"}
        words = ("-m", "pytest", "-m", "proof", *chosen)
        told = " ".join(f"{name}={value}" for name, value in settings.items())
        self.again = f"{told} python {shlex.join(words)}"
        with self._log.open("wb") as log:
            # A session of its own: a terminal's Ctrl-C reaches who started this, and is passed on once.
            self._process = subprocess.Popen(
                [sys.executable, *words, "-q"],
                cwd=ROOT,
                env={**os.environ, **settings, "TENURE_TALLY": str(self.kept.path)},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    @property
    def code(self) -> int | None:
        """How it ended; None while it runs."""
        return self._process.poll()

    @property
    def failed(self) -> bool:
        """Whether it has ended, and not well."""
        return self.code not in (None, 0)

    def end(self) -> int:
        """End it, if it still runs, so that it tells what it has counted; and whatever its tests have left."""
        try:
            if self._process.poll() is None:
                self._process.send_signal(signal.SIGINT)
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(_LEAVING)
                self._process.kill()
            return self._process.wait()
        finally:
            self._sweep()

    def bad(self, code: int, *, cut: bool) -> bool:
        """Whether it failed. How one leaves that was told to stop says nothing: only whether a test had failed before."""
        return bool(self.kept.failed) if cut else code != 0

    def said(self) -> str:
        """How its tests failed, and the end of what it said."""
        told = [f"\n{name}\n{said[-_SAID:]}\n" for name, said in self.kept.failed.items()]
        return "".join(told) + self._log.read_text(errors="replace")[-_SAID:]

    def _sweep(self) -> None:
        """Tests that were cut short could not end the processes they had started; all are of its session."""
        for entry in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                if int(entry.read_bytes().rpartition(b") ")[2].split()[3]) == self._process.pid:
                    os.kill(int(entry.parent.name), signal.SIGKILL)
