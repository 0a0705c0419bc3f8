"""Marks: which jobs were in flight, known even after the process that ran them was killed.

Each worker process keeps a small file mapped into memory, with one place per slot; a slot that starts a job writes the
job's seq and epoch there, and whether it runs in a child process (the epoch below zero). It costs no system call and no write to the database, and the file outlives its process: the
pool's parent, or the next worker that starts on this machine, reads it and tells the store who had started, who of them apart
in a child, and who had only waited. A place is not cleared at the end of a job: a job that was settled since is no longer held, so its mark says
nothing.
"""

from __future__ import annotations

import hashlib
import logging
import mmap
import os
import struct
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from tenure.client.queue import Queue
from tenure.config import SqlitePlace, locate
from tenure.job import Claim

__all__ = [
    "LeftBehind",
    "Marks",
    "NoMarks",
    "excuse",
    "folder_of",
    "forget",
    "left_behind",
    "marks_in",
    "open_marks",
    "read_marks",
    "report_the_dead",
]

log = logging.getLogger("tenure")

_MAGIC: Final = b"tenure-marks-3\n\0"
_HEAD: Final = struct.Struct("<16sIIQQ208s")
"""Magic, pid, places, the process's start time, whether it was told to stop, the worker's name."""
_STOPPING_AT: Final = 32
_PLACE: Final = struct.Struct("<qq")
"""A job's seq and epoch, which is negative if it ran in a child; both start at 1, so zeros are an empty place."""

_TRIES = 100


class LeftBehind(Struct, frozen=True):
    """What a process that is gone left behind."""

    path: Path
    worker: str
    pid: int
    started: tuple[tuple[int, int], ...]
    """(seq, epoch) of the jobs it was running itself."""
    apart: tuple[tuple[int, int], ...]
    """Those that its children were running."""


class Marks:
    """One process's marks."""

    def __init__(self, path: Path, worker: str, places: int) -> None:
        self.path, self.worker = path, worker
        size = _HEAD.size + places * _PLACE.size
        handle = _opened(path)
        try:
            os.ftruncate(handle, size)
            self._map = mmap.mmap(handle, size)
        finally:
            os.close(handle)
        name = worker.encode()[:208]
        _HEAD.pack_into(self._map, 0, _MAGIC, os.getpid(), places, _birth(os.getpid()), 0, name)
        self._places = memoryview(self._map)[_HEAD.size :].cast("q")

    def start(self, place: int, claim: Claim, *, apart: bool = False) -> None:
        """This slot starts this job, here or apart in a child."""
        places, at = self._places, place * 2
        places[at] = claim.seq
        places[at + 1] = -claim.epoch if apart else claim.epoch

    def stopping(self) -> None:
        """The process was told to stop: whatever ends it now, no job is to blame."""
        if not self._map.closed:
            self._map[_STOPPING_AT] = 1

    def clear(self) -> None:
        """The process leaves on purpose, with whatever hangs: nothing that it ran has crashed."""
        if not self._map.closed:
            self._map[_HEAD.size :] = bytes(len(self._map) - _HEAD.size)

    def close(self) -> None:
        """In good order: nothing is left behind."""
        self._places.release()
        self._map.close()
        forget(self.path)


def _opened(path: Path) -> int:
    """The file, made; whoever leaves may remove the folder the moment it is there, so it is made again."""
    tries = 0
    while True:
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            return os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        except (FileNotFoundError, FileExistsError):
            tries += 1
            if tries == _TRIES:
                raise


def forget(path: Path) -> None:
    """These marks have been told, or there is nothing to tell: remove them, and their folder if they were the last."""
    path.unlink(missing_ok=True)
    with suppress(OSError):
        path.parent.rmdir()


def excuse(path: Path) -> None:
    """The process that left these marks was killed for leaving late: none of what it ran has crashed."""
    with suppress(OSError), path.open("r+b") as file:
        file.seek(_STOPPING_AT)
        file.write(b"\1")


class NoMarks:
    """Where no file can be made: leases tell what marks would have told, later."""

    def start(self, place: int, claim: Claim, *, apart: bool = False) -> None:
        """Nowhere to put it."""

    def stopping(self) -> None:
        """Nothing is there."""

    def clear(self) -> None:
        """Nothing is there."""

    def close(self) -> None:
        """Nothing is there."""


def open_marks(url: str, worker: str, places: int) -> Marks | NoMarks:
    """Marks for a worker of this store, if the machine has room for them."""
    try:
        return Marks(folder_of(url) / f"{os.getpid()}-{worker[-12:]}.marks", worker, places)
    except OSError as error:
        log.warning(
            "which jobs are in flight cannot be put down (%s); if this worker dies, leases tell", error
        )
        return NoMarks()


def folder_of(url: str) -> Path:
    """Where the marks of this store's workers are, on this machine and for this user."""
    place = locate(url)
    where = (
        str(Path(place.path).resolve()) + place.prefix
        if isinstance(place, SqlitePlace)
        else place.conninfo + place.schema
    )
    store = hashlib.blake2b(where.encode(), digest_size=8).hexdigest()
    return Path(tempfile.gettempdir(), f"tenure-{os.getuid()}", store)


def read_marks(path: Path) -> LeftBehind | None:
    """What the file tells; None if it is no such file."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    if len(data) < _HEAD.size or not data.startswith(_MAGIC):
        return None
    _, pid, places, _, stopping, name = _HEAD.unpack_from(data)
    flight = () if stopping else tuple(_in_flight(data, places))
    return LeftBehind(
        path,
        name.rstrip(b"\0").decode(errors="replace"),
        pid,
        started=tuple((seq, epoch) for seq, epoch in flight if epoch > 0),
        apart=tuple((seq, -epoch) for seq, epoch in flight if epoch < 0),
    )


def _in_flight(data: bytes, places: int) -> Iterator[tuple[int, int]]:
    end = min(len(data), _HEAD.size + places * _PLACE.size)
    for seq, epoch in _PLACE.iter_unpack(data[_HEAD.size : end]):
        if seq:
            yield seq, epoch


def marks_in(folder: Path, pid: int | None = None) -> list[Path]:
    """The marks in this folder, of one process or of all."""
    try:
        return sorted(folder.glob("*.marks" if pid is None else f"{pid}-*.marks"))
    except FileNotFoundError:  # whoever was last in it has just removed it
        return []


def left_behind(folder: Path) -> list[LeftBehind]:
    """What processes that are gone left in this folder."""
    found = []
    for path in marks_in(folder):
        told = read_marks(path)
        if told is not None and not _lives(told.pid, path):
            found.append(told)
    return found


def _lives(pid: int, path: Path) -> bool:
    """Whether the process that wrote the marks still runs: its pid may be another's by now."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        with path.open("rb") as file:
            born = _HEAD.unpack(file.read(_HEAD.size))[3]
    except (FileNotFoundError, struct.error):  # it leaves in good order, or begins anew
        return True
    return born in (0, _birth(pid))


def _birth(pid: int) -> int:
    """When a process started, in the kernel's ticks; 0 where that cannot be known."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return 0
    return int(stat.rpartition(b") ")[2].split()[19])


def report_the_dead(queue: Queue, url: str) -> None:
    """Workers of this store that died on this machine left marks: tell the store who had been running what."""
    for left in left_behind(folder_of(url)):
        taken = queue.vanished(
            left.worker,
            started=left.started,
            apart=left.apart,
            story=f"worker {left.worker} (pid {left.pid}) died",
        )
        log.warning("worker %s died; %d jobs are taken back", left.worker, taken)
        forget(left.path)
