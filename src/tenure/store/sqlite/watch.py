"""How an idle worker hears of commits to a SQLite file: the kernel tells of writes to its log, `data_version` of commits.

A commit is written to the log (and the kernel tells), brought to the disk, and only then shown to readers. So who is woken
and sees nothing new looks again: every tenth of a millisecond for as long as a disk usually takes, then ever more slowly,
before it goes back to sleep. Where the kernel tells nothing,
`data_version` is read every few milliseconds, and every 100 while nothing happens.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Final

from tenure.errors import TenureError
from tenure.store.base import Broken
from tenure.store.sqlite.connection import DriverError, Link, meaning
from tenure.store.sqlite.file import key_of
from tenure.store.sqlite.inotify import Stirs
from tenure.store.watch import Watching

__all__ = ["SqliteWatch"]

_FIRST_LOOK: Final = 0.0001
_FIRST_LOOKS: Final = 12
_SLOW_LOOK: Final = 0.004
_IN_VAIN: Final = 200
"""After how many writes without a commit the next ones wake no more."""
_LAST_LOOK: Final = 0.5
_FIRST_POLL: Final = 0.005
_LAST_POLL: Final = 0.1
_FIRST_TRY: Final = 0.1
_LAST_TRY: Final = 5.0
Connect = Callable[[], tuple[Link, Callable[[], None]]]


class SqliteWatch(Watching):
    """Hears of commits by every connection but its own; `connect` answers with a connection and how to let go of it."""

    def __init__(self, path: str, connect: Connect, *, inotify: bool = True) -> None:
        super().__init__()
        self._path, self._connect, self._wanted = os.path.realpath(path), connect, inotify
        self._link_lock = threading.RLock()
        self._link: Link | None = None
        self._release: Callable[[], None] | None = None
        self._inotify: Stirs | None = None
        self._key: tuple[int, int] | None = None
        self._seen = -1
        self._pause = 0.0
        """How long until the next look, without being woken; 0: no look is needed."""
        self._looks = 0
        """How many more looks come as soon as the first."""
        self._vain = 0
        """How many writes were seen since the last commit."""
        self._again, self._rest = 0.0, _FIRST_TRY

    def close(self) -> None:
        """Let go of the file at once; a wait under way returns."""
        super().close()
        with self._link_lock:
            self._drop()

    def before_fork(self) -> None:
        """Let go of the file, and keep out of it until `after_fork`."""
        self._link_lock.acquire()
        self._drop()

    def after_fork(self) -> None:
        """The file may be opened again."""
        self._link_lock.release()

    def _wait(self, deadline: float) -> bool:
        if self._link is not None and key_of(self._path) != self._key:
            # Another file is there now: nothing is ever heard of in the old one.
            with self._link_lock:
                self._lose()
        while True:
            # What stirred is asked for first: a write after that wakes again.
            self._note_stir()
            if self._changed() or self._bell.silence():
                return True
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            self._sleep(left)

    def _note_stir(self) -> None:
        if self._inotify is not None and self._inotify.stirred():
            self._vain += 1
            self._looks, self._pause = _FIRST_LOOKS if self._vain <= _IN_VAIN else 0, _SLOW_LOOK

    def _changed(self) -> bool:
        """Whether anything was committed since the last look, or may have been while the file was not open."""
        with self._link_lock:
            try:
                if self._link is None:
                    return not self._closed and time.monotonic() >= self._again and self._open()
                [(version,)] = self._link.query("PRAGMA data_version", {})
            except DriverError as cause:
                if not isinstance(meaning(cause, self._path), Broken):
                    self._lose()
                return False
            seen, self._seen = self._seen, int(version)
            if seen == self._seen:
                return False
            self._vain = 0
            return True

    def _sleep(self, left: float) -> None:
        if not self.hears:
            self._bell.sleep(min(left, self._again - time.monotonic()))
        elif self._inotify is None:
            self._bell.sleep(min(left, self._pause))
            self._pause = min(self._pause * 2, _LAST_POLL)
        elif not self._pause:
            self._bell.sleep(left, self._inotify.descriptor)
        elif self._looks:
            self._looks -= 1
            time.sleep(min(left, _FIRST_LOOK))  # A poll counts in whole milliseconds.
        else:
            pause, self._pause = self._pause, self._next_pause()
            # A long transaction that writes all the time must not cost much: its writes no longer wake.
            deaf = self._vain > _IN_VAIN and pause <= _SLOW_LOOK
            self._bell.sleep(min(left, pause), None if deaf else self._inotify.descriptor)

    def _next_pause(self) -> float:
        """Longer and longer, then none; a commit that waits long for its disk is still seen soon after it."""
        if self._pause < _LAST_LOOK:
            return self._pause * 1.25
        self._vain = 0
        return 0.0

    def _open(self) -> bool:
        try:
            self._link, self._release = self._connect()
            self._link.query("PRAGMA busy_timeout = 0", {})
            [(mode,)] = self._link.query("PRAGMA journal_mode", {})
            self._listen(self._path + ("-wal" if mode == "wal" else ""))
            [(self._seen,)] = self._link.query("PRAGMA data_version", {})
            self._key = key_of(self._path)
        except (*DriverError, TenureError, Broken, OSError):
            self._lose()
            return False
        self.hears, self._rest = True, _FIRST_TRY
        self._looks, self._pause = _FIRST_LOOKS, _SLOW_LOOK if self._inotify is not None else _FIRST_POLL
        return True

    def _listen(self, path: str) -> None:
        self._deafen()
        try:
            self._inotify = Stirs(path) if self._wanted else None
        except OSError:
            self._inotify = None

    def _lose(self) -> None:
        self._drop()
        self._again = time.monotonic() + self._rest
        self._rest = min(self._rest * 2, _LAST_TRY)

    def _drop(self) -> None:
        self.hears = False
        link, self._link = self._link, None
        if link is not None:
            link.close()
        if self._release is not None:
            self._release()
            self._release = None

    def _deafen(self) -> None:
        if self._inotify is not None:
            self._inotify.close()
            self._inotify = None

    def _let_go(self) -> None:
        self._deafen()
        with self._link_lock:
            self._drop()

    def _forked(self) -> None:
        self._deafen()
