"""A disk that is full when a test says so: a small file system of its own, or where none may be mounted, one below SQLite."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from tests.proof.sqlite.disk import Disk

__all__ = ["SmallDisk", "may_mount", "small_disk"]

_SIZE = "16m"


class SmallDisk(Protocol):
    """Where a store may be, and how much room there is beside it."""

    folder: Path
    mounted: bool
    """Whether it is a file system of its own."""

    def leave(self, room: int) -> None:
        """Leave so many bytes, or few more."""
        ...

    def free(self) -> None:
        """All of it, as far as nobody else has used it."""
        ...


class _Mounted:
    """A file system in memory, filled with ballast."""

    mounted = True

    def __init__(self, folder: Path) -> None:
        self.folder, self._ballast = folder, folder / "ballast"

    def leave(self, room: int) -> None:
        self.free()
        left = os.statvfs(self.folder)
        size = max(left.f_bavail * left.f_frsize - room, 0)
        # Who else writes may be quicker: then there is less than was to be left.
        with suppress(OSError), self._ballast.open("wb", buffering=0) as ballast:
            ballast.write(bytes(size))

    def free(self) -> None:
        self._ballast.unlink(missing_ok=True)


class _Below:
    """A limit on how far SQLite's log grows."""

    mounted = False

    def __init__(self, folder: Path, disk: Disk) -> None:
        self.folder, self._disk = folder, disk

    def leave(self, room: int) -> None:
        self._disk.room = room

    def free(self) -> None:
        self._disk.room = None


@contextmanager
def small_disk(folder: Path) -> Iterator[SmallDisk]:
    """A disk in this folder, which is gone afterwards."""
    folder.mkdir()
    if not _mount(folder):
        with Disk() as disk:
            yield _Below(folder, disk)
        return
    try:
        yield _Mounted(folder)
    finally:
        _unmount(folder)


def may_mount() -> bool:
    """Whether file systems may be mounted here: then a run in which one was not has done too little."""
    with TemporaryDirectory() as folder:
        if mounted := _mount(Path(folder)):
            _unmount(Path(folder))
        return mounted


def _mount(folder: Path) -> bool:
    mounting = ["mount", "-t", "tmpfs", "-o", f"size={_SIZE},mode=700", "tmpfs", str(folder)]
    try:
        return subprocess.run(mounting, check=False, capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


def _unmount(folder: Path) -> None:
    subprocess.run(["umount", "-l", str(folder)], check=True)
