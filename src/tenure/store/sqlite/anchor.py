"""Whether a path still names the file that was opened there: asked after every commit, before anybody is told of it.

To look costs as much as all else between a call and SQLite, since the disk was waited for meanwhile. So where Linux tells of it, the
file and every folder above it are watched, and what is asked each time is whether anything has happened to them. Now and then, and
where nothing can be watched (another system, no inotify left, a path through links), it is looked all the same.
"""

from __future__ import annotations

import os
import select
import time
from pathlib import Path
from typing import Final

from tenure.store.sqlite.file import is_at
from tenure.store.sqlite.inotify import Inotify

__all__ = ["Anchor"]

_SELF: Final = 0x0400 | 0x0800
"""Deleted, or moved away, itself."""
_LINKS: Final = 0x0004
"""Its links are more or fewer, or its rights others."""
_EVERY: Final = 0.1
"""How long it goes by without a look, in seconds: a mount over the file tells nobody."""


class Anchor:
    """For one file that is open, by the path it was opened at."""

    def __init__(self, path: str, key: tuple[int, int], *, inotify: bool = True) -> None:
        self._path, self.key = path, key
        self._inotify: Inotify | None = None
        self._watched, self._again = False, 0.0
        if not inotify:
            return
        try:
            self._inotify = Inotify()
        except OSError:
            return
        events = select.poll()
        events.register(self._inotify.descriptor, select.POLLIN)
        # The cheapest question after a wait for the disk: a microsecond, where `stat` takes ten.
        self._events = events.poll

    def holds(self) -> bool:
        """Whether it is still there."""
        return (time.monotonic() < self._again and not self._events(0)) or self._look()

    def close(self) -> None:
        """Watch no more."""
        self._watched, self._again = False, 0.0
        if self._inotify is not None:
            self._inotify.close()
            self._inotify = None

    def _look(self) -> bool:
        if self._inotify is not None and (not self._watched or self._events(0)):
            self._watch(self._inotify)
        there = is_at(self._path, self.key)
        self._again = time.monotonic() + _EVERY if self._watched and there else 0.0
        return there

    def _watch(self, inotify: Inotify) -> None:
        """What the path leads through now, before it is looked, so that nothing happens unseen in between."""
        while inotify.read():
            pass
        self._watched = False
        place = Path(self._path).absolute()
        try:
            inotify.watch(os.fsencode(place), _SELF | _LINKS)
            for folder in place.parents:
                inotify.watch(os.fsencode(folder), _SELF)
        except (FileNotFoundError, NotADirectoryError):
            return  # it may come back
        except OSError:
            self.close()
            return
        if os.path.realpath(place) != os.path.normpath(place):
            self.close()  # a link may come to lead elsewhere, and tells nobody
            return
        self._watched = True
