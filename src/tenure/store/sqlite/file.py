"""Whether a file may be used as a SQLite store by this process at all.

One SQLite library per file and process: two of them drop each other's locks. No network filesystem: its locks lie. The
file is never opened here by other means than creating it, because closing any descriptor on it drops the locks too.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

from tenure.errors import StoreRefused, StoreUnavailable

__all__ = [
    "NETWORK",
    "claim_library",
    "filesystem",
    "is_at",
    "key_of",
    "network_filesystem",
    "prepare_file",
    "release_library",
    "same_file",
]

NETWORK = frozenset({
    "nfs", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "afs", "ncpfs", "ceph", "glusterfs", "lustre", "beegfs",
    "fuse.sshfs", "fuse.glusterfs", "fuse.s3fs", "fuse.rclone", "davfs", "fuse.davfs2", "gpfs", "fuse.gcsfuse", "fuse.juicefs",
    "fuse.ceph-fuse", "vboxsf", "fuse.vmhgfs-fuse", "prl_fs",
})  # fmt: skip
MOUNTS = Path("/proc/self/mounts")

_opening = threading.Lock()
_libraries: dict[tuple[int, int], tuple[str, int]] = {}


def prepare_file(path: str, library: str, *, create_private: bool) -> None:
    """Refuse what cannot be used, create the file (readable by its owner alone) where it is ours and missing."""
    folder = str(Path(path).absolute().parent)
    if not Path(folder).is_dir():
        raise StoreUnavailable(f"cannot open {path}: the folder {folder} does not exist; create it first")
    if Path(path).is_dir():
        raise StoreRefused(f"cannot open {path}: it is a folder; name a file")
    kind = network_filesystem(os.path.dirname(os.path.realpath(path)), _mounts())  # noqa: PTH120 - where a link leads
    if kind is not None:
        raise StoreRefused(
            f"cannot use {path}: it is on a network filesystem ({kind}), whose locks are not reliable for SQLite; "
            "use a local disk, or PostgreSQL"
        )
    with _opening:
        if not Path(path).exists():
            if create_private:
                try:
                    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
                except FileExistsError:
                    pass
                except OSError as cause:
                    raise StoreUnavailable(
                        f"cannot create {path}: {cause.strerror}; check the folder's rights"
                    ) from cause
        else:
            _check_library(path, library)


def claim_library(path: str, library: str) -> tuple[int, int]:
    """Remember that this process uses this library on this file, until it is released."""
    with _opening:
        _check_library(path, library)
        key = _inode(path)
        _libraries[key] = (library, _libraries.get(key, ("", 0))[1] + 1)
        return key


def release_library(key: tuple[int, int]) -> None:
    """One connection to the file is closed; after the last, any library may open it."""
    with _opening:
        library, count = _libraries[key]
        if count > 1:
            _libraries[key] = (library, count - 1)
        else:
            del _libraries[key]


def same_file(one: str, other: str) -> bool:
    """Whether two paths are one file."""
    try:
        return Path(one).samefile(other)
    except OSError:
        return False


def key_of(path: str) -> tuple[int, int] | None:
    """Which file a path names now; None: none."""
    try:
        info = os.stat(path)  # noqa: PTH116 - asked at every call: a Path costs as much again
    except OSError:
        return None
    return info.st_dev, info.st_ino


def is_at(path: str, key: tuple[int, int] | None) -> bool:
    """Whether the path still names the file that was opened there."""
    return key is not None and key_of(path) == key


def filesystem(folder: str) -> str | None:
    """The kind of filesystem a folder is on, where this machine tells."""
    return _filesystem(folder, _mounts())


def network_filesystem(folder: str, mounts: str) -> str | None:
    """The kind of network filesystem a folder is on, by the mount table, or None."""
    kind = _filesystem(folder, mounts)
    return kind if kind in NETWORK else None


def _filesystem(folder: str, mounts: str) -> str | None:
    best, kind = "", None
    place = os.path.realpath(folder)
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = fields[1].replace("\\040", " ")
        inside = place == point or place.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, fields[2]
    return kind


def _mounts() -> str:
    try:
        return MOUNTS.read_text("utf-8", "replace")
    except OSError:
        return ""


def _inode(path: str) -> tuple[int, int]:
    info = Path(path).stat()
    return info.st_dev, info.st_ino


def _check_library(path: str, library: str) -> None:
    other, _ = _libraries.get(_inode(path), (library, 0))
    if other != library:
        raise StoreRefused(
            f"{path} is already open in this process through {other}; opening it through {library} as well would make "
            "the two drop each other's locks; use one way (with or without ?shared=true) in one process"
        )
