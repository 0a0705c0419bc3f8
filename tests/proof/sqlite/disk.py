"""A disk of the test's own below SQLite: it keeps a log of what is written and synced, and may be full.

While a `Disk` is open every connection that apsw makes in this process goes through it. Nothing is synced in truth: what a
power cut would leave is made from the log (`Platters`), at any moment, in many ways.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import apsw

__all__ = ["Create", "Delete", "Disk", "Entries", "Mark", "Step", "Sync", "Truncate", "Write"]

# What the log is made of. A file is known by a number, since another may get its name.
Create = tuple[str, str, int]
Delete = tuple[str, str]
Write = tuple[str, int, int, bytes]
Truncate = tuple[str, int, int]
Sync = tuple[str, int]
Entries = tuple[str]
Mark = tuple[str, object]
Step = tuple[Any, ...]

_BASE = "unix"
_JOURNALS = apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_MAIN_JOURNAL


class Disk(apsw.VFS):
    """SQLite's own way to files, with a log, and with `room` bytes left for its log to grow into (None: any number).

    The file itself always finds room: SQLite takes no notice of a checkpoint that found none, but apsw would raise what is
    raised here.
    """

    def __init__(self) -> None:
        self.log: list[Step] = []
        self.room: int | None = None
        self._files: dict[str, int] = {}
        self._sizes: list[int] = []
        self._logs: set[int] = set()
        self._lock = threading.Lock()
        super().__init__("tenure-test-disk", _BASE, makedefault=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.unregister()

    def knows(self, folder: Path) -> None:
        """What is in this folder is on the disk already; said before anybody opens any of it."""
        for path in sorted(folder.iterdir()):
            number = self._number(str(path))
            data = path.read_bytes()
            self.write(number, 0, data)
            self.log += [("sync", number), ("entries",)]

    def mark(self, what: object) -> None:
        """Note in the log that this has happened by now."""
        self.log.append(("mark", what))

    def write(self, number: int, offset: int, data: bytes) -> None:
        """Log a write; raises where there is no room."""
        with self._lock:
            growth = max(offset + len(data) - self._sizes[number], 0)
            if self.room is not None and number in self._logs:
                if growth > self.room:
                    raise apsw.FullError("the disk is full")
                self.room -= growth
            self._sizes[number] += growth
            self.log.append(("write", number, offset, data))

    def truncate(self, number: int, size: int) -> None:
        """Log a new length."""
        with self._lock:
            if self.room is not None and number in self._logs:
                self.room += max(self._sizes[number] - size, 0)
            self._sizes[number] = size
            self.log.append(("truncate", number, size))

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        """A file; temporary ones nobody misses after a power cut."""
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        if path is None or flags[0] & apsw.SQLITE_OPEN_DELETEONCLOSE:
            return apsw.VFSFile(_BASE, name, flags)
        with self._lock:
            fresh = not os.path.exists(path)  # noqa: PTH110 - never opened but by SQLite
            if fresh:
                self._files.pop(path, None)
            number = self._number(path)
        return _File(self, name, flags, number, fresh=fresh)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        """The name goes; whether for good, is told by what is synced later."""
        super().xDelete(filename, syncdir)
        with self._lock:
            number = self._files.pop(filename, None)
            if number is not None:
                if self.room is not None and number in self._logs:
                    self.room += self._sizes[number]
                self.log.append(("delete", Path(filename).name))
            if syncdir:
                self.log.append(("entries",))

    def _number(self, path: str) -> int:
        if path not in self._files:
            self._files[path] = len(self._sizes)
            self._sizes.append(0)
            if path.endswith("-wal"):
                self._logs.add(self._files[path])
            self.log.append(("create", Path(path).name, self._files[path]))
        return self._files[path]


class _File(apsw.VFSFile):
    """One open file; a new journal's first sync brings the folder's entries to the disk too, as SQLite's own does."""

    def __init__(
        self, disk: Disk, name: str | apsw.URIFilename | None, flags: list[int], number: int, *, fresh: bool
    ) -> None:
        self._disk, self._number = disk, number
        self._entries = fresh and bool(flags[0] & _JOURNALS)
        super().__init__(_BASE, name, flags)

    def xWrite(self, data: Any, offset: int) -> None:
        self._disk.write(self._number, offset, bytes(data))
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:
        self._disk.truncate(self._number, newsize)
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:
        self._disk.log.append(("sync", self._number))
        if self._entries:
            self._entries = False
            self._disk.log.append(("entries",))
