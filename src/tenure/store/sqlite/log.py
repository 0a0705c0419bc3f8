"""The log beside the file begins anew before it grows large, even where somebody reads at every moment.

SQLite itself begins it anew only when it finds nobody reading: two who take turns keep it growing for ever. So who writes
looks at its size now and then, and if it is large waits a moment for those who read. Not so on a file of the user's, whose
SQLite may be one that loses commits when two begin the log anew at once.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import Final

from tenure.store.sqlite.connection import BUSY_MS, DriverError, Link

__all__ = ["LogKeeper"]

_EVERY: Final = 0.5
_LARGE: Final = 16_777_216
"""Four times what SQLite lets it grow to where nobody is in the way."""
_PATIENCE_MS: Final = 250
"""How long those who read are waited for, for each such size that the log has: nobody can write meanwhile."""
_MOST_MS: Final = 1_000
_PAUSE: Final = 30.0
"""How seldom one who reads for very long may in the end hold up those who write."""


class LogKeeper:
    """Looks after one file's log, for the one connection that writes."""

    def __init__(self, path: str) -> None:
        self._log, self._again, self._vain = f"{path}-wal", 0.0, 0

    def tend(self, link: Link) -> None:
        """Between two transactions: begin a large log anew, if those who read let us."""
        now = time.monotonic()
        if now < self._again or link.library != "apsw":
            return
        self._again = now + _EVERY
        try:
            size = os.stat(self._log).st_size  # noqa: PTH116 - never opened but by SQLite
        except OSError:
            return
        if size <= _LARGE or self._begins_anew(link, min(_MOST_MS, size // _LARGE * _PATIENCE_MS)):
            self._vain = 0
        else:
            self._vain += 1
            self._again = time.monotonic() + min(_PAUSE, _EVERY * 2**self._vain)

    def _begins_anew(self, link: Link, patience: int) -> bool:
        with suppress(*DriverError):
            link.query(f"PRAGMA busy_timeout = {patience}", {})
            try:
                return not link.query("PRAGMA wal_checkpoint(TRUNCATE)", {})[0][0]
            finally:
                link.query(f"PRAGMA busy_timeout = {BUSY_MS}", {})
        return False
