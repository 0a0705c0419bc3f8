"""An app that child processes can import; where its store is says $TENURE_URL, where its files are $TENURE_TEST_FOLDER."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiosqlite
import psycopg

import tenure

app = tenure.App()
SAID: dict[str, tenure.Outcome] = {
    "done": tenure.Done({"big": 2**80}),
    "fail": tenure.Fail("not today", "1d", kind="Closed"),
    "bury": tenure.Bury("no use", "it is broken"),
    "cancelled": tenure.Cancelled("not wanted"),
    "snooze": tenure.Snooze("1d"),
}
"""What handlers may say in transactions of their own."""


def leave(name: str, text: str = "") -> Path:
    """Leave a file for the test to find."""
    path = Path(os.environ["TENURE_TEST_FOLDER"], name)
    path.write_text(text or str(os.getpid()))
    return path


@app.job(isolate=True)
def where() -> int:
    """The process that runs this."""
    return os.getpid()


@app.job(isolate=True)
async def where_async() -> int:
    """The process that runs this."""
    return os.getpid()


@app.job(isolate=True)
def give(what: str) -> Any:
    """Return something odd."""
    return {"big": 2**80, "text": "ä\ud800", "deep": [{"a": (1, 2)}], "object": object()}[what]


@app.job(isolate=True, max_attempts=1)
def fail(words: str) -> None:
    """Fail, with words that no wire likes if the words are "odd"."""
    raise ValueError("\ud800\x00" if words == "odd" else words)


@app.job(isolate=True, retry=tenure.Fixed("1h", give_up=(LookupError,)))
def end(how: str) -> None:
    """End in one of the ways there are."""
    raise {
        "retry": tenure.RetryIn("2h", "later"),
        "snooze": tenure.Snooze("3h"),
        "bury": tenure.Bury("no use", "it is broken"),
        "cancel": tenure.Cancel("not wanted"),
        "give_up": LookupError("gone"),
    }[how]


@app.job(isolate=True, retry=tenure.Fixed("1h"), timeout="300ms")
def too_long() -> None:
    """Run for longer than its timeout."""
    leave("began")
    time.sleep(3_600)


@app.job(isolate=True)
def patient(ctx: tenure.Context) -> None:
    """Work until told to stop."""
    leave("began")
    while True:
        ctx.check()
        time.sleep(0.005)


@app.job(isolate=True)
def told(ctx: tenure.Context) -> None:
    """Tell how far it is, until the test has seen it."""
    ctx.progress(0.5, "half")
    seen = Path(os.environ["TENURE_TEST_FOLDER"], "seen")
    while not seen.exists():
        time.sleep(0.005)


@app.job(isolate=True)
def dies() -> None:
    """Kill its process."""
    os.kill(os.getpid(), signal.SIGKILL)


@app.job(isolate=True)
def dies_before_its_fork(ctx: tenure.Context, apart: bool) -> None:
    """Fork a process, perhaps in a session of its own, tell of it, and kill its own process."""
    pid = os.fork()
    if not pid:
        if apart:
            os.setsid()
        time.sleep(3_600)
        os._exit(0)
    ctx.progress(0.5, str(pid))
    os.kill(os.getpid(), signal.SIGKILL)


@app.job(isolate=True)
def signals() -> list[int]:
    """How a program and a fork of this process end that are told to; it is told so itself, and goes on."""
    os.kill(os.getpid(), signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGINT)
    ends, deadline = [], time.monotonic() + 600
    for number in (signal.SIGTERM, signal.SIGINT):
        with subprocess.Popen(["sleep", "600"]) as program:
            program.send_signal(number)
            ends.append(_end_of(program.pid))
        reads, writes = os.pipe()
        pid = os.fork()
        if not pid:
            try:
                os.write(writes, b"begun")
                while time.monotonic() < deadline:
                    time.sleep(0.005)  # a signal just before a long one would be heard after it
            except KeyboardInterrupt:
                os._exit(2)
            os._exit(0)
        if number == signal.SIGINT:  # an exception before its first line would be nobody's
            os.read(reads, 5)
        os.kill(pid, number)
        ends.append(_end_of(pid))
    return ends


def _end_of(pid: int) -> int:
    """Its exit code; a process that does not hear is killed."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@app.job
async def fills() -> None:
    """Wait for the test in a thread of the event loop's own."""
    leave(f"fills-{uuid4().hex}")
    await asyncio.to_thread(_wait_for, "go")


def _wait_for(name: str) -> None:
    while not Path(os.environ["TENURE_TEST_FOLDER"], name).exists():
        time.sleep(0.005)


@app.job
def plain_where() -> int:
    """The process that runs this: the worker's own, unless the job is a suspect."""
    return os.getpid()


@app.job
def plain_dies() -> None:
    """Kill its process, if it is not the test's."""
    assert os.environ["TENURE_TEST_PARENT"] != str(os.getpid())
    os.kill(os.getpid(), signal.SIGKILL)


@app.job
def plain_meets(name: str, others: list[str]) -> int:
    """Run until all of them do."""
    leave(f"meets-{name}")
    while not all(Path(os.environ["TENURE_TEST_FOLDER"], f"meets-{other}").exists() for other in others):
        time.sleep(0.005)
    return os.getpid()


@app.job(isolate=True)
def has_a_child() -> None:
    """Start a process, and never end."""
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
    leave("grandchild", str(process.pid)).rename(Path(os.environ["TENURE_TEST_FOLDER"], "began"))
    time.sleep(3_600)


@app.job(isolate=True, retry=tenure.Fixed("1d"))
async def forgets_to_await(ctx: tenure.Context) -> None:
    """Say something on an async connection, and let go of what is to be awaited."""
    url = os.environ["TENURE_URL"]
    place = url.partition("?")[0]
    db: Any = (
        await psycopg.AsyncConnection.connect(place)
        if url.startswith("postgresql")
        else await aiosqlite.connect(place[10:])
    )
    ctx.claim.settle_in(db, tenure.Done())
    await db.close()


@app.job(isolate=True, retry=tenure.Fixed("3h"))
def fails_in_its_own(ctx: tenure.Context, retry_in: str | None) -> None:
    """Fail in a transaction of its own."""
    url = os.environ["TENURE_URL"]
    place = url.partition("?")[0]
    db: Any = (
        psycopg.connect(place) if url.startswith("postgresql") else sqlite3.connect(place[10:], timeout=20)
    )
    ctx.claim.settle_in(db, tenure.Fail("no", retry_in))
    db.commit()
    db.close()


@app.job(isolate=True, retry=tenure.Fixed("1d"))
def settles(ctx: tenure.Context, how: str, commit: bool = True) -> None:
    """Settle in a transaction of its own, which is committed or not."""
    url = os.environ["TENURE_URL"]
    place = url.partition("?")[0]
    db: Any = (
        psycopg.connect(place) if url.startswith("postgresql") else sqlite3.connect(place[10:], timeout=20)
    )
    ctx.claim.settle_in(db, SAID[how])
    if commit:
        db.commit()
    db.close()
