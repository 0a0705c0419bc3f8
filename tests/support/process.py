"""Servers as child processes: who they run as, where they keep their files, and that they end with us."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

_GUARD = Path(__file__).with_name("guard.py")
# A Unix socket's path ends near 100 characters; what a server adds to its directory fits in the rest.
_LONGEST_DIRECTORY = 70


class ServerDidNotStart(RuntimeError):
    """The server ended, or said nothing in time. The message carries the end of its log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """Who a server runs as: ids, or None for both where it runs as we do."""

    uid: int | None
    gid: int | None


def server_user() -> User:
    """PostgreSQL and pgbouncer refuse to run as root: then it is the first of postgres, nobody, anyone."""
    if os.geteuid() != 0:
        return User(uid=None, gid=None)
    entries = {entry.pw_name: entry for entry in pwd.getpwall() if entry.pw_uid != 0}
    for name in ("postgres", "nobody", *sorted(entries)):
        if name in entries:
            return User(uid=entries[name].pw_uid, gid=entries[name].pw_gid)
    return User(uid=65534, gid=65534)


def run_as(user: User, command: Sequence[str | Path], *, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        check=False,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        cwd=cwd,
        env={**os.environ, "LC_ALL": "C"},
        user=user.uid,
        group=user.gid,
        extra_groups=None if user.uid is None else [],
    )


def server_directory(user: User, *, prefix: str) -> Path:
    """A new directory that belongs to `user`, can be reached by it, and has a short name."""
    root = Path(tempfile.gettempdir()).resolve()
    if len(str(root)) + len(prefix) + 10 > _LONGEST_DIRECTORY or not can_run(user, ["test", "-x", root]):
        root = Path("/tmp")
    directory = Path(tempfile.mkdtemp(prefix=prefix, dir=root))
    give_to(user, directory)
    return directory


def give_to(user: User, path: Path) -> None:
    if user.uid is not None and user.gid is not None:
        os.chown(path, user.uid, user.gid)


def can_run(user: User, command: Sequence[str | Path]) -> bool:
    try:
        return run_as(user, command, cwd=Path("/")).returncode == 0
    except PermissionError:
        return False


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class GuardedProcess:
    """A command that runs as `user` in `directory`, logs to a file there, and never outlives this process."""

    def __init__(
        self, command: Sequence[str | Path], *, user: User, directory: Path, last_signal: signal.Signals
    ) -> None:
        self._log = directory / "server.log"
        ids = [] if user.uid is None else [f"--user={user.uid}", f"--group={user.gid}"]
        with self._log.open("ab") as log:
            self._guard = subprocess.Popen(
                [
                    *(
                        sys.executable,
                        "-I",
                        _GUARD,
                        f"--last-signal={int(last_signal)}",
                        f"--remove={directory}",
                    ),
                    *ids,
                    "--",
                    *command,
                ],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=directory,
                env={**os.environ, "LC_ALL": "C"},
                start_new_session=True,
            )

    def wait_until(self, ready: Callable[[], bool], *, within: float = 60) -> None:
        deadline = monotonic() + within
        while not ready():
            if self.ended(within=0.02):
                raise ServerDidNotStart(f"the server ended as it started:\n{self.log_tail()}")
            if monotonic() > deadline:
                raise ServerDidNotStart(f"the server was not ready within {within} s:\n{self.log_tail()}")

    def ended(self, *, within: float) -> bool:
        try:
            self._guard.wait(within)
        except subprocess.TimeoutExpired:
            return False
        return True

    def end(self, how: signal.Signals, *, within: float = 60) -> None:
        """Sends the signal and returns when the command is gone; kills it if that takes too long."""
        assert self._guard.stdin is not None
        for sent, patience in ((how, within), (signal.SIGKILL, 10)):
            if self._guard.poll() is None:
                with suppress(BrokenPipeError):
                    self._guard.stdin.write(b"%d\n" % sent)
                    self._guard.stdin.flush()
            if self.ended(within=patience):
                break
        with suppress(BrokenPipeError):
            self._guard.stdin.close()

    def log_tail(self) -> str:
        return self._log.read_text(errors="replace")[-2000:] if self._log.exists() else ""


def remove(directory: Path) -> None:
    shutil.rmtree(directory, ignore_errors=True)
