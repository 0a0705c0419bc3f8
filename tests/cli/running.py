"""`tenure …` as a process that goes on: started, spoken to, signalled and killed by a test."""

from __future__ import annotations

import http.client
import json
import os
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tests.cli.files import SECRET

__all__ = ["Answer", "Running", "ask", "closed", "message", "running"]

_PATIENCE = 60.0


class Answer(NamedTuple):
    """What was answered."""

    status: int
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Running:
    """One process; its folder holds its log, and its store where no other is named by TENURE_URL."""

    def __init__(self, folder: Path, *args: str, ulimit: str = "", **environment: str) -> None:
        self.folder = folder
        self._log = folder / "log"
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("TENURE_", "DATABASE_URL"))}
        self.store = environment.get("TENURE_URL", f"sqlite:///{folder}/jobs.db")
        given = {"TENURE_URL": self.store, "BOT_SECRET": SECRET, "TMPDIR": str(folder), **environment}
        limited = ("sh", "-c", f'ulimit {ulimit} && exec "$@"', "sh") if ulimit else ()
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [*limited, sys.executable, "-W", "error", "-m", "tenure", *args],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=folder,
                env={**inherited, **given},
                text=True,
            )

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def line(self) -> str:
        """The next line that it prints."""
        assert self.process.stdout is not None
        told = self.process.stdout.readline()
        assert told, self.log[-2000:]
        return told

    def url(self) -> str:
        """Where it listens, as its line of JSON says."""
        told = json.loads(self.line())
        found: str = (told.get("gateway") or told)["url"]
        return found

    def notes(self, word: str) -> list[int]:
        """The processes in which a handler noted this."""
        notes = self.folder / "notes"
        lines = notes.read_text().split("\n") if notes.exists() else []
        return [int(line.split()[1]) for line in lines if line.startswith(f"{word} ")]

    @property
    def threads(self) -> set[int]:
        """Its threads, but for the main one."""
        tasks = Path(f"/proc/{self.process.pid}/task").iterdir()
        return {int(task.name) for task in tasks} - {self.process.pid}

    def open_gate(self) -> None:
        (self.folder / "gate").touch()

    def send(self, what: signal.Signals) -> None:
        self.process.send_signal(what)

    def left(self) -> int:
        """Its exit code, once it has left by itself."""
        try:
            return self.process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it did not leave:\n{self.log[-2000:]}") from None

    def kill(self) -> None:
        """kill -9, unless it is gone."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(_PATIENCE)
        if self.process.stdout is not None:
            self.process.stdout.close()


@contextmanager
def running(folder: Path, *args: str, ulimit: str = "", **environment: str) -> Iterator[Running]:
    """`tenure …` in this folder; it does not outlive the block."""
    made = Running(folder, *args, ulimit=ulimit, **environment)
    try:
        yield made
    finally:
        made.kill()


def ask(
    url: str, path: str = "/bot", body: Mapping[str, Any] | None = None, *, secret: str = SECRET
) -> Answer:
    """One update, as Telegram sends it; GET where there is none."""
    parts = urlsplit(url)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    host, port = parts.hostname or "", parts.port or 0
    connection = (
        http.client.HTTPSConnection(host, port, timeout=30, context=context)
        if parts.scheme == "https"
        else http.client.HTTPConnection(host, port, timeout=30)
    )
    try:
        sent = None if body is None else json.dumps(body)
        headers = {"X-Telegram-Bot-Api-Secret-Token": secret}
        connection.request("GET" if body is None else "POST", path, body=sent, headers=headers)
        answer = connection.getresponse()
        return Answer(answer.status, answer.read())
    finally:
        connection.close()


def message(number: int, text: str = "hi", person: int = 7) -> dict[str, Any]:
    """An update."""
    return {"update_id": number, "message": {"message_id": number, "chat": {"id": person, "type": "private"}, "from": {"id": person}, "text": text}}  # fmt: skip


def closed(url: str) -> bool:
    """Whether nobody listens there any more."""
    try:
        ask(url, "/healthz")
    except ConnectionError:
        return True
    return False
