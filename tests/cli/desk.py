"""The commands of the operator's desk as people run them: in a process of their own, piped or on a terminal."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any, NamedTuple

import tenure

__all__ = ["Desk", "Ended", "Terminal", "dead"]

_PATIENCE = 60.0
_TENURE = (sys.executable, "-W", "error", "-m", "tenure")


class Ended(NamedTuple):
    """What a command said, and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its answer, which is one line of JSON."""
        [line] = self.out.splitlines()
        return json.loads(line)

    @property
    def lines(self) -> list[Any]:
        """Its answers, a line of JSON each."""
        return [json.loads(line) for line in self.out.splitlines()]


class Desk:
    """A store, and commands about it."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url = folder, url

    def run(self, *args: str, stdin: str | None = None, url: str | None = None, **environment: str) -> Ended:
        """`tenure …`, piped."""
        ended = subprocess.run(
            [*_TENURE, *args] if args else [Path(sys.executable).with_name("tenure")],
            check=False,
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            cwd=self.folder,
            env=_environment(self.url if url is None else url, environment),
        )
        assert "Traceback" not in ended.stderr, ended.stderr
        return Ended(ended.returncode, ended.stdout, ended.stderr)

    @contextmanager
    def terminal(self, *args: str, **environment: str) -> Iterator[Terminal]:
        """`tenure …`, on a terminal of its own; it does not outlive the block."""
        with closing(Terminal([*_TENURE, *args], self.folder, _environment(self.url, environment))) as made:
            yield made

    @contextmanager
    def nohup(self, *args: str) -> Iterator[Terminal]:
        """The same, deaf to the loss of its terminal."""
        deaf = ["sh", "-c", 'trap "" HUP && exec "$@"', "sh", *_TENURE, *args]
        with closing(Terminal(deaf, self.folder, _environment(self.url, {}))) as made:
            yield made

    def queue(self) -> tenure.Queue:
        """The store itself."""
        return tenure.open(self.url)


class Terminal:
    """A command on a pseudo-terminal of 100 columns, which is its controlling one: if it is lost, SIGHUP comes."""

    def __init__(self, command: list[str], folder: Path, environment: dict[str, str]) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))

        def prepare() -> None:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
            signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whoever runs the tests may be deaf to it

        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, cwd=folder, env=environment, start_new_session=True,
            preexec_fn=prepare,  # noqa: PLW1509 - two calls of the system, between fork and exec
        )  # fmt: skip
        os.close(slave)
        self.screen = ""

    def until(self, text: str) -> str:
        """All that was shown, once this is among it."""
        self._read(lambda: text in self.screen)
        assert text in self.screen, self.screen
        return self.screen

    def resize(self, columns: int) -> None:
        """Make its window so wide."""
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))

    def type(self, text: str) -> None:
        """Type on its keyboard."""
        os.write(self._master, text.encode())

    def interrupt(self) -> None:
        """Ctrl-C."""
        self.process.send_signal(signal.SIGINT)

    def lose(self) -> None:
        """Close its window."""
        os.close(self._master)
        self._master = os.open(os.devnull, os.O_RDWR)

    def waits(self) -> None:
        """Wait until it does, for its keyboard: what comes before that is not heard until a key is pressed."""
        sleeping = 0
        while sleeping < 5:
            state = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[0]
            sleeping = sleeping + 1 if state == "S" else 0
            sleep(0.02)

    def end(self) -> int:
        """How it ended."""
        self._read(lambda: False)
        return self.process.wait(_PATIENCE)

    def close(self) -> None:
        """kill -9, unless it is gone."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(_PATIENCE)
        os.close(self._master)

    def _read(self, enough: Any) -> None:
        """Read until it is enough or the other side is closed."""
        deadline = monotonic() + _PATIENCE
        while not enough():
            assert monotonic() < deadline, self.screen
            if not select.select([self._master], [], [], 1.0)[0]:
                continue
            try:
                read = os.read(self._master, 65_536)
            except OSError:  # the last process on the other side is gone
                return
            if not read:
                return
            self.screen += read.decode(errors="replace")


def _environment(url: str, given: dict[str, str]) -> dict[str, str]:
    unwanted = ("TENURE_", "DATABASE_URL", "NO_COLOR", "COLUMNS", "TERM")
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(unwanted)}
    return {**inherited, "TENURE_URL": url, "TERM": "xterm", **given}


def dead(
    q: tenure.Queue, count: int, kind: str = "send", error: str = "no route to host"
) -> list[tenure.JobId]:
    """Jobs that died of this error."""
    made = [a.id for a in q.enqueue_many([tenure.NewJob(kind=kind, payload={"n": n}) for n in range(count)])]
    q.settle_many(
        (claim, tenure.Bury("failed", error, kind="TimeoutError", traceback="Traceback …\nTimeoutError: …"))
        for claim in q.claim(count, kinds=[kind])
    )
    return made
