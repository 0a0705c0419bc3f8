"""Where tests keep their files: in memory where there is room, since tests open thousands of stores and wait for each disk write.

A process killed there loses nothing that it would keep on a disk; what only a crash of the machine could tell is played by
tests/proof/sqlite instead.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

__all__ = ["use"]

_MEMORY = Path("/dev/shm")
_ENOUGH = 4 * 2**30


def use() -> None:
    """Make temporary files of this process, and of those it starts, in memory, unless TMPDIR says where they go."""
    if os.environ.get("TMPDIR") or not os.access(_MEMORY, os.W_OK | os.X_OK):
        return
    if shutil.disk_usage(_MEMORY).free >= _ENOUGH:
        os.environ["TMPDIR"] = str(_MEMORY)
        tempfile.tempdir = None
