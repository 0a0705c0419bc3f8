"""The app that workers in process tests run: jobs that hold, jam, hang or kill their process, and tell of it in a file.

Where the jobs are is $TENURE_URL; where notes are left, and where a test opens the gate that jobs wait for, is $SCENE.
"""

from __future__ import annotations

import asyncio
import ctypes
import logging
import os
import signal
import sqlite3
import threading
import time
from pathlib import Path

import psycopg

import tenure
from tenure.config import PostgresPlace, locate

__all__ = ["ADDRESS", "app"]

ADDRESS = f"{__name__}:app"

app = tenure.App(max_crashes=int(os.environ.get("SCENE_MAX_CRASHES", "3")))
_memory: list[bytearray] = []


def _folder() -> Path:
    return Path(os.environ["SCENE"])


def _note(word: str, ctx: tenure.Context) -> None:
    line = f"\n{word} {ctx.id} {os.getpid()}\n".encode()  # in a line of its own, whoever was killed before
    handle = os.open(_folder() / "notes", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(handle, line)
    os.close(handle)


@app.job
async def good() -> None:
    """Done at once."""


@app.job
async def tells(ctx: tenure.Context) -> None:
    """Done at once, and tells where."""
    _note("begun", ctx)


@app.job
async def says() -> None:
    """Says a word in the log."""
    logging.getLogger("scene").warning("a word")


@app.job(isolate=True)
def says_apart() -> None:
    """Says a word in the log of a child process."""
    logging.getLogger("scene").warning("a word")


@app.job
async def poison() -> None:
    """Kills whoever runs it."""
    os.kill(os.getpid(), signal.SIGKILL)


@app.job
async def ends(how: str) -> None:
    """Ends whoever runs it, in one of the ways there are."""
    match how:
        case "exit":
            os._exit(7)
        case "segfault":
            os.kill(os.getpid(), signal.SIGSEGV)
        case _:
            os.kill(os.getpid(), signal.SIGKILL)


@app.job
async def leaves_a_thread(ctx: tenure.Context) -> None:
    """Done at once, but for a thread that never ends."""
    threading.Thread(target=threading.Event().wait).start()
    _note("begun", ctx)


@app.job
async def hold(ctx: tenure.Context) -> None:
    """Waits for the gate, and lets others run."""
    _note("begun", ctx)
    while not (_folder() / "gate").exists():  # noqa: ASYNC110 - another process opens it
        await asyncio.sleep(0.01)
    _note("ended", ctx)


@app.job(isolate=True)
async def tells_apart(ctx: tenure.Context) -> None:
    """Done at once in a child process, and tells where."""
    _note("begun", ctx)


@app.job(isolate=True)
async def hold_apart(ctx: tenure.Context) -> None:
    """Waits for the gate, in a child process."""
    await hold.function(ctx)


@app.job(isolate=True)
async def poison_apart() -> None:
    """Kills its worker from a child process."""
    os.kill(os.getppid(), signal.SIGKILL)


@app.job
async def jam(ctx: tenure.Context) -> None:
    """Waits for the gate and blocks the event loop: what was claimed with it waits in the buffer."""
    _note("begun", ctx)
    while not (_folder() / "gate").exists():
        time.sleep(0.01)  # noqa: ASYNC251 - on purpose
    _note("ended", ctx)


@app.job
def hang(ctx: tenure.Context) -> None:
    """Never ends, in a thread."""
    _note("begun", ctx)
    time.sleep(3600)


@app.job
async def sleeps(ctx: tenure.Context, seconds: float) -> None:
    """Blocks the event loop."""
    _note("begun", ctx)
    time.sleep(seconds)  # noqa: ASYNC251 - on purpose
    _note("ended", ctx)


@app.job
def grabs(ctx: tenure.Context, seconds: int) -> None:
    """Holds the GIL in C code: no Python runs in this process meanwhile."""
    _note("begun", ctx)
    ctypes.PyDLL(None).sleep(seconds)
    _note("ended", ctx)


@app.job
async def grows(ctx: tenure.Context) -> None:
    """Leaves 64 MiB behind that nobody frees."""
    _note("begun", ctx)
    _memory.append(bytearray(os.urandom(1 << 20) * 64))


@app.job
def effect(ctx: tenure.Context, n: int) -> None:
    """Writes a row and ends the job in one transaction, after a moment in which it can be killed."""
    _note("begun", ctx)
    place = locate(app.url)
    if isinstance(place, PostgresPlace):
        with psycopg.connect(place.conninfo) as connection:
            connection.execute(f'INSERT INTO "{place.schema}".effects VALUES ({n})'.encode())
            ctx.claim.settle_in(connection, tenure.Done())
        return
    file = sqlite3.connect(place.path, timeout=60)
    try:
        file.execute("BEGIN IMMEDIATE")
        file.execute("INSERT INTO tenure_effects VALUES (?)", (n,))
        ctx.claim.settle_in(file, tenure.Done())
        file.commit()
    finally:
        file.close()
