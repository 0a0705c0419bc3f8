"""The one lifecycle of everything that runs in the background: start, tick, rest, stop.

A service is an OS thread of its own, so that a handler which blocks the event loop starves nobody. Subclasses write
`tick()`, which does a piece of work and returns how many seconds to rest; `ring()` ends a rest early. An error in a tick
is logged, and the service rests longer and longer until a tick works again: it never dies of one.
"""

from __future__ import annotations

import logging
import threading

__all__ = ["Service"]

log = logging.getLogger("tenure")
_FIRST_REST, _LONGEST_REST = 0.2, 5.0


class Service:
    """A background thread that ticks."""

    longest_rest = _LONGEST_REST
    """The longest rest between ticks that fail, in seconds."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.stopping = False
        self._bell = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"tenure-{name}", daemon=True)
        self._trouble = 0.0

    def tick(self) -> float:
        """Do a piece of work; how many seconds to rest after it."""
        raise NotImplementedError

    def finish(self) -> None:
        """The last thing it does, once it was told to stop."""

    def failed(self, error: Exception) -> None:
        """A tick raised."""
        log.error("%s: %s", self.name, error, exc_info=error)

    def rest(self, seconds: float) -> None:
        """Rest, or be rung out of it."""
        if self._bell.wait(seconds):
            self._bell.clear()

    def ring(self) -> None:
        """End its rest now."""
        self._bell.set()

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Tell it to stop after the tick under way; does not wait."""
        self.stopping = True
        self.ring()

    def join(self, timeout: float | None = None) -> bool:
        """Wait until it has stopped; whether it has."""
        if self._thread.ident is not None:
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while not self.stopping:
            self._once()
        try:
            self.finish()
        except Exception as error:
            self.failed(error)

    def _once(self) -> None:
        try:
            rest = self.tick()
            self._trouble = 0.0
        except Exception as error:
            self.failed(error)
            rest = self._trouble = min(max(self._trouble * 2, _FIRST_REST), self.longest_rest)
        if rest > 0 and (self._trouble or not self.stopping):
            self.rest(rest)
