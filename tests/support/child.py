"""Python programs in a process of their own, for tests about processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

__all__ = ["ROOT", "run_child", "start_child"]

ROOT = Path(__file__).parents[2]


def start_child(program: str, *args: str) -> subprocess.Popen[str]:
    """A program that runs beside the test; its stdin and stdout are ours to use."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", program, *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=_environment(),
    )


def run_child(program: str, *args: str, within: float = 100) -> str:
    """What a program prints, once it ended well."""
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, *args],
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=within,
        env=_environment(),
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in ("TENURE_URL", "DATABASE_URL")}
