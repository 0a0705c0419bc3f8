"""Being told to stop: Ctrl-C, SIGTERM, and SIGHUP, which comes when the terminal is lost. Whoever goes on asks for it between steps."""

from __future__ import annotations

import os
import signal
from types import TracebackType
from typing import Any, Final, Self

__all__ = ["Stopping"]

_STREAMS: Final = (1, 2)


class Stopping:
    """While it is entered, the first signal is noted; a second Ctrl-C or SIGTERM ends the process as it would have done."""

    def __init__(self) -> None:
        self.by = 0
        """The signal that came; 0: none."""
        self._before: dict[int, Any] = {}
        self._terminals: list[int] = []

    def __enter__(self) -> Self:
        self._terminals = [stream for stream in _STREAMS if os.isatty(stream)]
        signals = [signal.SIGINT, signal.SIGTERM]
        if (
            signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN
        ):  # as nohup has it: it is meant to outlive its terminal
            signals.append(signal.SIGHUP)
        self._before = {number: signal.signal(number, self._stop) for number in signals}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _stop(self, number: int, _frame: object) -> None:
        self.by = number
        # Of a terminal that is lost one is told twice, by the system and by the shell: neither is in a hurry.
        if number != signal.SIGHUP:
            signal.signal(number, self._before[number])

    def hush(self) -> None:
        """What was a terminal and is lost is written to no more: that would be an error, at the latest at the process's end."""
        lost = [stream for stream in self._terminals if not os.isatty(stream)]
        if not lost:
            return
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in lost:
            os.dup2(nowhere, stream)
        os.close(nowhere)
