"""A forge: one warm process that forks others, so that what is killed a thousand times is not imported a thousand times.

    python -m tests.proof.kills.forge MODULE…

imports these, and then does what lines of JSON on its input ask of it. It has one thread and opens no store, so what it forks
starts as clean as a process of its own. Who outlives a killed parent is handed to the forge (on Linux), and when its input
ends, everybody it knows is killed with it.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

_PR_SET_CHILD_SUBREAPER = 36
_WORDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main(modules: list[str]) -> None:
    """Serve until the input ends."""
    for module in modules:
        import_module(module)
    assert threading.active_count() == 1, threading.enumerate()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    # Whoever asked decides when this ends, not a Ctrl-C meant for it: somebody has to see the others off.
    before = {word: signal.signal(word, signal.SIG_IGN) for word in _WORDS}
    ended: dict[int, int] = {}
    for asked in _lines():
        _bury(ended)
        os.write(1, json.dumps(_answer(asked, ended, before)).encode() + b"\n")
    while mine := list(_children()):
        for pid in mine:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)


def _answer(asked: dict[str, Any], ended: dict[int, int], before: dict[signal.Signals, Any]) -> int | None:
    match asked["do"]:
        case "start":
            pid = os.fork()
            if pid == 0:
                for word, heard in before.items():
                    signal.signal(word, heard)
                _become(asked["run"], asked["args"], asked["log"])
            return pid
        case "kill":
            pid = asked["pid"]
            if pid not in ended:
                os.kill(pid, signal.SIGKILL)
                ended[pid] = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            return ended[pid]
        case _:
            return ended.get(asked["pid"])


def _become(run: str, args: list[str], log: str) -> None:
    """In the child: be this program, and leave as it does."""
    code: object = 1
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        told = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(told, 1)
        os.dup2(told, 2)
        where, _, name = run.partition(":")
        getattr(import_module(where), name)(args)
        code = 0
    except SystemExit as left:
        code = left.code or 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 1)


def _lines() -> Iterator[dict[str, Any]]:
    # Not through sys.stdin: a forked child would inherit what that has read ahead.
    kept = b""
    while said := os.read(0, 65_536):
        *lines, kept = (kept + said).split(b"\n")
        yield from map(json.loads, lines)


def _bury(ended: dict[int, int]) -> None:
    """Take note of all that have ended."""
    with suppress(ChildProcessError):
        while (gone := os.waitpid(-1, os.WNOHANG))[0]:
            ended[gone[0]] = os.waitstatus_to_exitcode(gone[1])


def _children() -> Iterator[int]:
    """Everybody whose parent is this process; where the system does not say so, nobody."""
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(entry.read_bytes().rpartition(b") ")[2].split()[1]) == os.getpid():
                yield int(entry.parent.name)


if __name__ == "__main__":
    main(sys.argv[1:])
