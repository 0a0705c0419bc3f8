"""What failed in a whole run, played again by itself: who fails again has failed, and of who does not one line is printed.

    TENURE_FAILED=FILE make test || python -m tests.support.again test FILE

It ends with 1 if a test fails again, if more than a few failed, or if it was no test that failed: then nothing is played.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.child import ROOT

__all__ = ["FEW", "TIMES", "play", "put_down"]

FEW, TIMES = 3, 3


def put_down(session: pytest.Session, path: str | None) -> None:
    """Write down which tests have failed, where that is wanted, unless the run ended for another reason."""
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    if path is None or terminal is None or session.exitstatus != pytest.ExitCode.TESTS_FAILED:
        return
    reports = terminal.stats.get("failed", []) + terminal.stats.get("error", [])
    Path(path).write_text(json.dumps(sorted({report.nodeid for report in reports})), "utf-8")


def play(target: str, written: Path) -> int:
    """Play what was put down as `make TARGET` did; how to end."""
    failed: list[str] = json.loads(written.read_text("utf-8") or "[]")
    if not 0 < len(failed) <= FEW:
        return 1
    environment = {**os.environ, **({"TENURE_DEPTH": "proof"} if target == "proof" else {})}
    for name in failed:
        for _ in range(TIMES):
            command = [sys.executable, "-m", "pytest", "-q", "-m", "", name]
            if subprocess.run(command, check=False, cwd=ROOT, env=environment, stdout=sys.stderr).returncode:
                return 1
        sys.stdout.write(
            f"{name} failed among all others, and passed {TIMES} times by itself: find out why\n"
        )
    return 0


if __name__ == "__main__":
    sys.exit(play(sys.argv[1], Path(sys.argv[2])))
