"""Crews of threads, made when needed, each doing one thing at a time: one runs sync handlers, one does the worker's own work.

The worker does nothing on the event loop's default executor: that one is the handlers' (`asyncio.to_thread`), and may be full.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

__all__ = ["Crew", "NoThread"]

Work = tuple[Callable[[], Any], "asyncio.Future[Any]"]


class NoThread(Exception):
    """The system has no thread to give; that may pass."""


class Crew:
    """At most `size` threads. Answers of many jobs reach the event loop together."""

    def __init__(self, size: int, loop: asyncio.AbstractEventLoop, name: str = "handler") -> None:
        self._size, self._loop, self._name = size, loop, name
        self._work: SimpleQueue[Work | None] = SimpleQueue()
        self._done: deque[tuple[asyncio.Future[Any], Any, BaseException | None]] = deque()
        self._told = False
        self._threads: list[threading.Thread] = []
        self._busy = 0
        """Jobs handed in and not answered yet; counted on the event loop only."""

    def submit(self, work: Callable[[], Any]) -> asyncio.Future[Any]:
        """Run it in a thread; await the answer. Raises NoThread where none could be started for it."""
        answer: asyncio.Future[Any] = self._loop.create_future()
        if len(self._threads) < min(self._busy + 1, self._size):
            self._hire()
        self._busy += 1
        self._work.put((work, answer))
        return answer

    def close(self) -> None:
        """Let the threads go once they are idle; one that hangs is left behind."""
        for _ in self._threads:
            self._work.put(None)

    def _hire(self) -> None:
        thread = threading.Thread(
            target=self._serve, name=f"tenure-{self._name}-{len(self._threads)}", daemon=True
        )
        try:
            thread.start()
        except RuntimeError as error:
            raise NoThread(f"no thread could be started for it: {error}") from error
        self._threads.append(thread)

    def _serve(self) -> None:
        while True:
            given = self._work.get()
            if given is None:
                return
            work, answer = given
            try:
                self._done.append((answer, work(), None))
            except BaseException as error:
                self._done.append((answer, None, error))
            del work, answer, given
            if not self._told:
                self._told = True
                try:
                    self._loop.call_soon_threadsafe(self._deliver)
                except RuntimeError:
                    return  # the loop is closed: nobody waits any more

    def _deliver(self) -> None:
        self._told = False
        while self._done:
            answer, value, error = self._done.popleft()
            self._busy -= 1
            if answer.cancelled():
                continue
            if error is None:
                answer.set_result(value)
            elif isinstance(error, StopIteration | GeneratorExit):
                answer.set_exception(RuntimeError(repr(error)))  # these mean something else to who awaits
            else:
                answer.set_exception(error)
