"""What the scripts around the tests do where a tool is missing: nothing is left out in silence."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.again import TIMES
from tests.support.child import ROOT

TOOLS = ("bash", "cat", "dirname", "dpkg", "env", "grep", "mktemp", "rm", "tail", "timeout")
RELEASE = Path("/etc/os-release")
SNAP = RELEASE.exists() and "\nID=ubuntu\n" in f"\n{RELEASE.read_text('utf-8')}"
"""Whether this is Ubuntu, whose apt has no Chromium."""


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A path with a few tools alone, root's rights, and an apt-get without a network."""
    made = tmp_path / "bin"
    made.mkdir()
    for tool in TOOLS:
        if found := shutil.which(tool):
            (made / tool).symlink_to(found)
    stand_in(made, "id", "echo 0")
    stand_in(made, "apt-get", "echo 'E: no network'; exit 100")
    stand_in(made, "make", 'echo "made $1"')
    return made


def stand_in(path: Path, name: str, does: str) -> None:
    """A command that does this."""
    (path / name).write_text(f"#!/bin/sh\n{does}\n", "utf-8")
    (path / name).chmod(0o755)


def run(script: str, path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """One of the scripts, with these tools alone."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TENURE_")}
    return subprocess.run(
        [ROOT / ".ci" / script], check=False, capture_output=True, text=True, timeout=60,
        env={**kept, "PATH": str(path), **environment},
    )  # fmt: skip


def test_a_chromium_that_cannot_be_installed_is_told_with_its_reason(bare: Path) -> None:
    ended = run("chromium", bare)
    assert ended.returncode == 1
    why = "Ubuntu has it as a snap alone" if SNAP else "apt-get could not install it (E: no network)"
    assert f"chromium is missing: {why}" in ended.stdout


def test_a_chromium_is_installed_where_it_can_be(bare: Path) -> None:
    stand_in(bare, "apt-get", f"echo '#!/bin/sh' > {bare}/chromium; /bin/chmod +x {bare}/chromium")
    assert run("chromium", bare).returncode == (1 if SNAP else 0)
    assert SNAP or run("chromium", bare).stdout == ""


def test_who_is_not_root_is_told_what_root_would_do(bare: Path) -> None:
    stand_in(bare, "id", "echo 1000")
    ended = run("chromium", bare)
    assert ended.returncode == 1
    assert "only root may install it" in ended.stdout or "Ubuntu" in ended.stdout


@pytest.mark.parametrize("whole", ["", "1"], ids=["any", "whole"])
def test_what_is_missing_is_said_again_when_everything_has_run(bare: Path, whole: str) -> None:
    ended = run("run", bare, TENURE_TEST_CHROMIUM="nosuch", TENURE_CI_WHOLE=whole)
    told = ended.stdout.splitlines()
    assert ended.returncode == (1 if whole else 0)
    made = [n for n, line in enumerate(told) if line.startswith("made ")]
    assert [told[n] for n in made][-2:] == ["made test", "made proof"]
    before, after = told[: made[0]], told[made[-1] + 1 :]
    assert after
    assert set(after) <= set(before)
    assert "there is no nosuch" in after[-1]


def test_what_is_missing_is_said_again_when_a_test_fails(bare: Path) -> None:
    stand_in(bare, "make", 'echo "made $1"; exit 2')
    ended = run("run", bare, TENURE_TEST_CHROMIUM="nosuch")
    assert ended.returncode == 2
    assert "there is no nosuch" in ended.stdout.splitlines()[-1]


@pytest.mark.parametrize("may", [True, False])
def test_a_machine_that_mounts_nothing_is_told_to_leave_full_disks_to_a_limit(bare: Path, may: bool) -> None:
    stand_in(bare, "mount", f"exit {0 if may else 32}")
    stand_in(bare, "umount", "exit 0")
    said = "no file system may be mounted here: disks that fill up are played by a limit below SQLite"
    assert run("run", bare, TENURE_TEST_CHROMIUM="nosuch").stdout.splitlines().count(said) == (
        0 if may else 2
    )


def test_a_server_that_cannot_be_asked_for_amcheck_is_told_of(bare: Path) -> None:
    stand_in(bare, "make", 'echo "made $1"; test "$1" != .venv/.developed')
    told = run("run", bare, TENURE_TEST_CHROMIUM="nosuch").stdout.splitlines()
    assert told.count("nobody could say whether amcheck is there") == 2


@pytest.mark.parametrize("fails_at", [None, 1, TIMES], ids=["never", "at once", "at last"])
def test_a_test_that_failed_is_played_again_by_itself(
    bare: Path, tmp_path: Path, fails_at: int | None
) -> None:
    """A failure of a run stands unless its test passes each time it is played by itself; then it is told of at the end."""
    played = tmp_path / "test_played.py"
    played.write_text(
        "from pathlib import Path\n\ndef test_it():\n"
        f"    log = Path({str(tmp_path / 'log')!r})\n"
        "    log.open('a').write('x')\n"
        f"    assert len(log.read_text()) != {fails_at}\n",
        "utf-8",
    )
    name = f"{played}::test_it"
    stand_in(
        bare,
        "make",
        f'echo "made $1"; test "$1" != test || {{ echo \'["{name}"]\' > "$TENURE_FAILED"; exit 2; }}',
    )
    ended = run("run", bare, TENURE_TEST_CHROMIUM="nosuch")
    told = ended.stdout.splitlines()
    shaky = f"{name} failed among all others, and passed {TIMES} times by itself: find out why"
    assert (ended.returncode, shaky in told[-2:], "made proof" in told) == (
        (0, True, True) if fails_at is None else (2, False, False)
    )
    assert len((tmp_path / "log").read_text()) == (fails_at or TIMES)


@pytest.mark.parametrize("failed", [[], ["a", "b", "c", "d"]], ids=["none", "many"])
def test_a_run_that_fails_for_no_test_or_for_many_has_failed(bare: Path, failed: list[str]) -> None:
    stand_in(bare, "make", f'echo \'{json.dumps(failed)}\' > "$TENURE_FAILED"; test "$1" != test || exit 2')
    assert run("run", bare, TENURE_TEST_CHROMIUM="nosuch").returncode == 2


@pytest.mark.parametrize("breaks", ["", "def test_c(:"], ids=["fails", "cannot be read"])
def test_a_run_puts_down_what_failed_in_it(tmp_path: Path, breaks: str) -> None:
    (tmp_path / "conftest.py").write_text(
        "from tests.support import again\n"
        f"def pytest_sessionfinish(session): again.put_down(session, {str(tmp_path / 'failed')!r})\n",
        "utf-8",
    )
    (tmp_path / "test_some.py").write_text(
        "import pytest\n\n@pytest.fixture\ndef broken(): raise OSError\n\n"
        "def test_a(): assert not 1\n\ndef test_b(): pass\n\n"
        f"def test_c(broken): pass\n\n{breaks}\n",
        "utf-8",
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    subprocess.run(command, check=False, capture_output=True, cwd=ROOT)
    written = tmp_path / "failed"
    names = [Path(name).name for name in json.loads(written.read_text())] if written.exists() else None
    assert names == (None if breaks else ["test_some.py::test_a", "test_some.py::test_c"])
