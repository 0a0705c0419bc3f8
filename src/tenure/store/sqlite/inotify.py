"""Linux tells what becomes of files: inotify, through libc.

A watch is on a file's inode and opens no descriptor on it: closing one would drop the locks that SQLite holds.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
from typing import Final

__all__ = ["Inotify", "Stirs"]

_MODIFY: Final = 0x0002
_CREATED: Final = 0x0100 | 0x0080
"""Created, or moved there."""
_OVERFLOW: Final = 0x4000
_EVENT: Final = struct.Struct("iIII")
_ROOM: Final = 65_536


class Inotify:
    """Events of what is watched, in a descriptor of its own; OSError where the system will not have it."""

    def __init__(self) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        try:
            self._add, start = libc.inotify_add_watch, libc.inotify_init1
        except AttributeError as cause:
            raise OSError("this system has no inotify") from cause
        self.descriptor: int = start(os.O_NONBLOCK | os.O_CLOEXEC)
        if self.descriptor < 0:
            raise OSError(ctypes.get_errno(), "inotify_init1")

    def watch(self, path: bytes, events: int) -> None:
        """Tell of these events from now on."""
        if self._add(self.descriptor, path, events) < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), os.fsdecode(path))

    def read(self) -> bytes:
        """Events that have not been read; nothing, if there are none."""
        try:
            return os.read(self.descriptor, _ROOM)
        except BlockingIOError:
            return b""

    def close(self) -> None:
        """Stop."""
        os.close(self.descriptor)


class Stirs(Inotify):
    """Tells of writes to the file `path`, which need not exist yet."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path, self._name = os.fsencode(path), os.fsencode(os.path.basename(path))  # noqa: PTH119 - bytes are wanted
        try:
            self.watch(os.path.dirname(self._path), _CREATED)  # noqa: PTH120
            self._watch_file()
        except OSError:
            self.close()
            raise

    def stirred(self) -> bool:
        """Whether the file was written to or created since the last time."""
        stirred = False
        while events := self.read():
            at = 0
            while at < len(events):
                _, mask, _, length = _EVENT.unpack_from(events, at)
                at += _EVENT.size + length
                name = events[at - length : at].rstrip(b"\0")
                if mask & _CREATED and name == self._name:
                    self._watch_file()
                    stirred = True
                stirred = stirred or bool(mask & (_MODIFY | _OVERFLOW))
        return stirred

    def _watch_file(self) -> None:
        # The folder tells when it is there.
        with contextlib.suppress(FileNotFoundError):
            self.watch(self._path, _MODIFY)
