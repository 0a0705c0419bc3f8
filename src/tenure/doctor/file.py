"""A SQLite file: where it lies, who may read it, how large its log is, and what a power cut may cost."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tenure.config import SqlitePlace
from tenure.doctor.finding import Finding, size
from tenure.doctor.limits import Limits
from tenure.doctor.patient import Patient
from tenure.store.sqlite.file import NETWORK, filesystem

__all__ = ["disk", "durability", "library", "log", "mode", "room"]

_SOUND: Final = (3, 51, 3)
"""The first SQLite without the WAL-reset bug."""


def disk(place: SqlitePlace, limits: Limits) -> Iterator[Finding]:
    """The filesystem and its free space; asked before the file is opened, for a network's is refused then."""
    folder = str(Path(place.path).absolute().parent)
    kind = filesystem(folder)
    if kind in NETWORK:
        fix = "move the file to a local disk, or use PostgreSQL: locks of a network filesystem lose jobs"
        yield Finding("error", "filesystem", f"{folder} is on a network filesystem ({kind})", fix)
    else:
        yield Finding(
            "ok", "filesystem", f"{folder} is on {kind or 'a filesystem this machine does not name'}"
        )
    yield room(shutil.disk_usage(folder).free, limits)


def room(free: int, limits: Limits) -> Finding:
    """Whether there is space to go on."""
    seen = f"{size(free)} are free"
    if free >= limits.disk:
        return Finding("ok", "disk", seen)
    fix = "make room, or let finished jobs go sooner (TENURE_RETAIN_DONE); a full disk refuses every job"
    return Finding("error" if free < limits.disk_error else "warning", "disk", seen, fix)


def library(patient: Patient, place: SqlitePlace) -> Iterator[Finding]:
    """The SQLite that this process brings; other processes may bring others."""
    version = patient.said("version")
    whose = "Python's own sqlite3" if place.shared else "apsw"
    if tuple(int(part) for part in version.split(".")[:3]) >= _SOUND:
        yield Finding("ok", "sqlite", f"SQLite {version}, of {whose}")
        return
    seen = f"SQLite {version}, of {whose}: before 3.51.3 a log that starts over while another process writes can damage the file"
    fix = "use a Python that is built with SQLite 3.51.3 or later" if place.shared else "pip install -U apsw"
    yield Finding("warning", "sqlite", seen, fix)


def log(patient: Patient, place: SqlitePlace) -> Iterator[Finding]:
    """The write-ahead log: there, and not growing."""
    if patient.said("journal") != "wal":
        fix = "switch it on (journal_mode=WAL): readers and the writer wait for each other without it"
        yield Finding("note", "wal", f"the file is in journal mode {patient.said('journal')}", fix)
        return
    path = Path(f"{place.path}-wal")
    length = path.stat().st_size if path.exists() else 0
    if length <= patient.limits.wal:
        yield Finding("ok", "wal", f"the write-ahead log has {size(length)}")
        return
    seen = f"the write-ahead log has grown to {size(length)}, and is cut back to 64.0 MiB as a rule"
    fix = "find who reads from the file in a transaction that does not end: until it does the log only grows"
    yield Finding("warning", "wal", seen, fix)


def durability(place: SqlitePlace) -> Iterator[Finding]:
    """What a power cut may cost, by the URL."""
    if place.durability == "full":
        yield Finding("ok", "durability", "full: what was answered survives a power cut")
        return
    fix = "leave durability=normal out of the URL, unless jobs may be lost so"
    yield Finding(
        "note", "durability", "normal: a power cut may take back the last jobs that were answered", fix
    )


def mode(place: SqlitePlace) -> Iterator[Finding]:
    """Who may read the file: payloads are in it."""
    bits = Path(place.path).stat().st_mode & 0o777
    if bits & 0o077 and not place.shared:
        seen = f"{place.path} has mode {bits:04o}: others may read or write what jobs hold"
        yield Finding("note", "mode", seen, f"chmod 600 {place.path}, unless that is meant")
    else:
        yield Finding("ok", "mode", f"{place.path} has mode {bits:04o}")
