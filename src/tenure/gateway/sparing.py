"""Log lines for what may go wrong a thousand times a second: the same trouble of one source is told once in five seconds."""

from __future__ import annotations

import logging
import time

from tenure.gateway.secrets import Masker

__all__ = ["Sparing"]

_EVERY = 5.0


class Sparing:
    """Tells a trouble, masked and without a traceback, which may show a secret; and how often it was not told."""

    def __init__(self, log: logging.Logger, mask: Masker) -> None:
        self._log, self._mask = log, mask
        self._told: dict[tuple[str, str], tuple[float, int]] = {}

    def __call__(self, source: str, trouble: str, error: BaseException) -> None:
        """Say it, or count that it was not said."""
        now = time.monotonic()
        last, untold = self._told.get((source, trouble), (float("-inf"), 0))
        if now - last < _EVERY:
            self._told[source, trouble] = (last, untold + 1)
            return
        self._told[source, trouble] = (now, 0)
        more = f" (and {untold} times more since the last time)" if untold else ""
        self._log.warning("%s: %s: %s%s", source or "gateway", trouble, self._mask(error), more)
