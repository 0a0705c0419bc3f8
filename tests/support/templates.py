"""SQLite files of empty stores, copied for each test: to make one anew takes ten times as long."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import tenure

__all__ = ["forget", "put"]

_made: dict[bool, bytes] = {}
"""What the migrations make, in a file of our own and in one that is shared."""


def put(path: Path, *, shared: bool) -> None:
    """An empty store at this path."""
    if shared not in _made:
        with TemporaryDirectory() as folder:
            tenure.open(f"sqlite:///{folder}/jobs.db{'?shared=true' if shared else ''}").close()
            _made[shared] = Path(folder, "jobs.db").read_bytes()
    path.touch(mode=0o600)
    path.write_bytes(_made[shared])


def forget() -> None:
    """Make them anew: the migrations say something else from now on."""
    _made.clear()
