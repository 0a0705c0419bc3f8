"""What drivers of Python queues share: verbs from the command line, clocks, the first job's mark. Standard library only.

A driver runs in the environment of its queue, as `python drive_x.py VERB TERMS`, with the terms as one JSON object. It
hands its verbs to `main`, which prints what a verb returns as one line of JSON. The verb `left` returns a function
instead, that is asked once for every line on standard input.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

__all__ = [
    "PAD",
    "WAIT",
    "WARM",
    "Begun",
    "Stamps",
    "Terms",
    "by_tasks",
    "by_threads",
    "empty_twice",
    "in_chunks",
    "main",
    "paces",
    "plain_jobs",
    "ready",
]

Terms = dict[str, Any]
PAD = "x" * 80
"""Makes a job's payload about 100 bytes."""
WARM = 20
"""Enqueues that come before the clock starts, and are removed again."""
WAIT = 0.005
"""How long the kind `wait` waits."""
_LEAD = 0.1
"""From the enqueue that opens a connection to the first paced one."""


class Begun:
    """Tells once per process, in a file of its own, when it first asked for jobs, or where that is not told, when its first began.

    Callers look at `done` first.
    """

    __slots__ = ("_path", "done")

    def __init__(self, path: str) -> None:
        self.done = False
        self._path = path

    def __call__(self) -> None:
        now = time.monotonic_ns()
        self.done = True
        with open(f"{self._path}-{os.getpid()}", "w", encoding="ascii") as file:  # noqa: PTH123
            file.write(str(now))


class Stamps:
    """One line per job: nanoseconds from when it was due to be enqueued to its start. Opened by the process that has the first one."""

    __slots__ = ("_file", "_path")

    def __init__(self, path: str) -> None:
        self._path, self._file = path, -1

    def __call__(self, due: int) -> None:
        spent = time.monotonic_ns() - due
        if self._file < 0:
            self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.write(self._file, b"%d\n" % spent)


def plain_jobs(terms: Terms) -> dict[str, Callable[..., None]]:
    """The kinds as ordinary functions, for queues whose jobs are ordinary functions.

    Each queue tells in its own way which attempt this is, so the kind `failing` is the driver's.
    """
    begun, stamps = Begun(terms.get("begun", "")), Stamps(terms.get("out", ""))

    def noop(n: int, pad: str) -> None:  # noqa: ARG001
        if not begun.done:
            begun()

    def threaded(n: int, pad: str) -> None:  # noqa: ARG001
        if not begun.done:
            begun()

    def wait(n: int, pad: str) -> None:  # noqa: ARG001
        if not begun.done:
            begun()
        time.sleep(WAIT)

    def stamp(t: int) -> None:
        stamps(t)

    return {"noop": noop, "threaded": threaded, "wait": wait, "stamp": stamp}


def by_threads(
    put: Callable[[int], object],
    terms: Terms,
    warm: Callable[[int], object] = lambda _: None,
    clear: Callable[[], object] = lambda: None,
) -> dict[str, Any]:
    """`put` with each number below the count, by so many threads at once, within the limit; how many, and how long.

    Each thread calls `warm` some times before, so that it has its connection; `clear` removes what came of that.
    """
    numbers, began = iter(range(terms["count"])), 0.0

    def start() -> None:
        nonlocal began
        clear()
        began = time.perf_counter()

    def one_after_the_other() -> int:
        for n in range(max(1, WARM // terms["concurrency"])):
            warm(n)
        together.wait()
        done, until = 0, began + terms["limit"]
        # A built-in iterator gives each number to one thread only.
        for n in numbers:
            put(n)
            done += 1
            if time.perf_counter() > until:
                break
        return done

    together = threading.Barrier(terms["concurrency"], action=start)
    if terms["concurrency"] == 1:
        return {"count": one_after_the_other(), "seconds": time.perf_counter() - began}
    with ThreadPoolExecutor(terms["concurrency"]) as pool:
        futures = [pool.submit(one_after_the_other) for _ in range(terms["concurrency"])]
        counts = [future.result() for future in futures]
    return {"count": sum(counts), "seconds": time.perf_counter() - began}


async def by_tasks(put: Callable[[int], Awaitable[object]], terms: Terms) -> dict[str, Any]:
    """The same for coroutines."""
    numbers = iter(range(terms["count"]))
    began = time.perf_counter()

    async def one_after_the_other() -> int:
        done = 0
        for n in numbers:
            await put(n)
            done += 1
            if time.perf_counter() - began > terms["limit"]:
                break
        return done

    counts = await asyncio.gather(*[one_after_the_other() for _ in range(terms["concurrency"])])
    return {"count": sum(counts), "seconds": time.perf_counter() - began}


async def in_chunks(put: Callable[[range], Awaitable[object]], size: int, terms: Terms) -> dict[str, Any]:
    """`put` with one range of numbers after the other, as many as the terms or else `size` say; how many, how long."""
    chunk = terms.get("chunk") or size
    done, began = 0, time.perf_counter()
    while done < terms["count"] and time.perf_counter() - began < terms["limit"]:
        some = range(done, min(done + chunk, terms["count"]))
        await put(some)
        done = some.stop
    return {"count": done, "seconds": time.perf_counter() - began}


def paces(terms: Terms) -> Iterator[tuple[float, int]]:
    """For each paced enqueue, how long to sleep before it, and when it is due, in nanoseconds.

    A job carries when it was due: were it when the call was made, a call that takes long would hide that those behind it
    are late.
    """
    began = time.monotonic() + _LEAD
    for n in range(terms["count"]):
        due = began + n * terms["gap"]
        yield max(0.0, due - time.monotonic()), int(due * 1e9)


def empty_twice(left: Callable[[], int]) -> Callable[[], int]:
    """For queues that drop a job from the store when it is taken: nothing is left once two looks found nothing.

    Between the looks a handler has its time, so that what was just taken is done, or is back to be tried again.
    """

    def look() -> int:
        if left():
            return 1
        time.sleep(2 * WAIT)
        return left()

    return look


def ready() -> None:
    """The worker works from now on."""
    _say({"ready": True})


def main(**verbs: Callable[[Terms], Any]) -> int:
    """Do the verb of the command line and say what came of it; the process's exit code."""
    verb, terms = sys.argv[1], json.loads(sys.argv[2])
    told = verbs[verb](terms)
    if asyncio.iscoroutine(told):
        told = asyncio.run(told)
    if verb == "left":
        count = cast(Callable[[], int], told)
        for _ in sys.stdin:
            _say({"left": count()})
    elif told is not None:
        _say(told)
    return 0


def _say(answer: Terms) -> None:
    print(json.dumps(answer), flush=True)
