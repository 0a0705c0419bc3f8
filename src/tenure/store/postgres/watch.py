"""How an idle worker hears of new jobs on PostgreSQL: a connection that listens, and a row in `sleepers` that asks to be told.

Nobody is told where nobody sleeps: an enqueue looks into `sleepers` in its own statement and notifies only if somebody is
there. A watch puts its row there when a wait begins, renews it while it keeps waiting, and tells its caller to look once
more: jobs that were on their way meanwhile told nobody. A row that is not renewed, because its worker has too much to do or is
gone, counts for nothing after a minute.

A connection that fell silent looks like one on which nothing happens. So the watch calls itself now and then, and if it does
not hear that, it says so once, and connects anew.
"""

from __future__ import annotations

import contextlib
import logging
import math
import random
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, Protocol
from uuid import uuid4

from tenure.store.base import Broken
from tenure.store.dialect import Dialect
from tenure.store.watch import Watching

__all__ = ["Ear", "PostgresWatch"]

log = logging.getLogger("tenure")
_CONNECTING: Final = 10.0
_ASLEEP: Final = 60.0
"""How long a row in `sleepers` counts; it is renewed after half of it."""
_LATECOMERS: Final = 0.1
"""An enqueue whose statement began before the row was there, and tells nobody, is committed by then."""
_GOODBYE: Final = 0.2
_FIRST_TRY: Final = 0.05
_LAST_TRY: Final = 5.0


class Ear(Protocol):
    """A connection that is asked and heard without ever waiting; whoever has it sleeps on its descriptor. Raises Broken."""

    @property
    def descriptor(self) -> int:
        """What to sleep on."""
        ...

    @property
    def events(self) -> int:
        """What to sleep for."""
        ...

    def ask(self, text: str, params: Sequence[str]) -> None:
        """Send a statement as soon as the ones before it are answered."""
        ...

    def step(self, *, ready: bool) -> tuple[int, list[str]]:
        """Do what can be done at once; how many statements were answered, and what was heard."""
        ...

    def close(self) -> None:
        """Hang up."""
        ...

    def abandon(self) -> None:
        """In a forked child: leave the connection to the parent."""
        ...


class PostgresWatch(Watching):
    """Listens on a connection of its own; without a way to `connect` it only sleeps."""

    def __init__(
        self,
        connect: Callable[[], Ear] | None,
        dialect: Dialect,
        channel: str,
        *,
        test_every: float,
        test_within: float,
    ) -> None:
        super().__init__()
        self._connect, self._dialect, self._channel = connect, dialect, channel
        self._test_every, self._test_within = test_every, test_within
        self._ear: Ear | None = None
        self._again, self._rest, self._warned = 0.0, _FIRST_TRY, False
        self._left_at = 0.0
        self._start_afresh()

    def _start_afresh(self) -> None:
        self.hears, self._echoed, self._id = False, False, uuid4().hex
        self._asked: deque[str] = deque()
        self._echo_by = self._answer_by = self._look_at = self._test_at = math.inf
        self._asleep_until = 0.0

    def _wait(self, deadline: float) -> bool:
        # Who does not listen cannot know whether there was an answer: time between waits does not count.
        away = time.monotonic() - self._left_at
        self._echo_by, self._answer_by = self._echo_by + away, self._answer_by + away
        try:
            return self._listen(deadline)
        finally:
            self._left_at = time.monotonic()

    def _listen(self, deadline: float) -> bool:
        ready = self._ear is not None and self._bell.sleep(0, self._ear.descriptor, self._ear.events)
        while True:
            if self._step(time.monotonic(), ready=ready) or self._bell.silence():
                return True
            now = time.monotonic()
            if now >= deadline:
                return False
            if self._ear is None:
                again = math.inf if self._connect is None else self._again
                self._bell.sleep(min(deadline, again) - now)
            else:
                rest = min(deadline, self._next_step()) - now
                ready = self._bell.sleep(rest, self._ear.descriptor, self._ear.events)

    def _step(self, now: float, *, ready: bool) -> bool:
        """Do what can be done at once; whether something may be new."""
        try:
            if self._ear is None:
                if self._connect is None or now < self._again:
                    return False
                self._start(self._connect, now)
            news = self._ear is not None and self._hear(self._ear, now, ready=ready)
            self._keep_up(now)
        except Broken as broken:
            self._lose(broken.why)
            return False
        return news

    def _start(self, connect: Callable[[], Ear], now: float) -> None:
        self._ear = connect()
        self._answer_by = self._echo_by = now + _CONNECTING
        self._asked.append("listen")
        self._ear.ask(f'LISTEN "{self._channel}"', ())
        self._ask("echo", self._channel, self._id)

    def _hear(self, ear: Ear, now: float, *, ready: bool) -> bool:
        answers, heard = ear.step(ready=ready)
        news = "" in heard
        if self._id in heard:
            self._echoed, self._echo_by, self._test_at = True, math.inf, now + self._test_every
        for _ in range(answers):
            if self._asked.popleft() == "sleepers_add":
                self._works()
                news, self._look_at = True, now + _LATECOMERS
        if answers:
            self._answer_by = now + self._test_within if self._asked else math.inf
        if now >= self._look_at:
            news, self._look_at = True, math.inf
        return news

    def _keep_up(self, now: float) -> None:
        """Call itself and renew the row when it is time."""
        if now >= min(self._echo_by, self._answer_by):
            raise Broken(TimeoutError(), "the connection that listens fell silent", asked=False)
        if not self._echoed or self._asked:
            return
        if now >= self._test_at:
            self._test_at, self._echo_by = math.inf, now + self._test_within
            self._ask("echo", self._channel, self._id)
        if now >= self._asleep_until - _ASLEEP / 2:
            # The first row of a stretch makes the caller look again; a renewed one does not.
            label = "sleepers_add" if now >= self._asleep_until else "renewed"
            self._asleep_until = now + _ASLEEP
            self._ask("sleepers_add", self._id, self._channel, str(int(_ASLEEP * 1e6)), label=label)
            self._ask("sleepers_sweep")

    def _next_step(self) -> float:
        chores = math.inf
        if self._echoed and not self._asked:
            chores = min(self._test_at, self._asleep_until - _ASLEEP / 2)
        return min(chores, self._echo_by, self._answer_by, self._look_at)

    def _works(self) -> None:
        self.hears, self._rest = True, _FIRST_TRY
        if self._warned:
            log.info("jobs are heard of at once again")
            self._warned = False

    def _ask(self, name: str, *params: str, label: str | None = None) -> None:
        if self._ear is not None:
            self._asked.append(label or name)
            if math.isinf(self._answer_by):
                self._answer_by = time.monotonic() + self._test_within
            self._ear.ask(self._dialect.statements[name].text, params)

    def _lose(self, why: str) -> None:
        if not self._warned:
            log.warning(
                "jobs are not heard of at once: %s; they are found by looking until this works again", why
            )
            self._warned = True
        self._hang_up()
        self._again = time.monotonic() + self._rest * random.uniform(0.5, 1.0)
        self._rest = min(self._rest * 2, _LAST_TRY)

    def _hang_up(self) -> None:
        ear, self._ear = self._ear, None
        self._start_afresh()
        if ear is not None:
            ear.close()

    def _let_go(self) -> None:
        with contextlib.suppress(Broken):
            if self._ear is not None and self._asleep_until:
                self._bell.silence()
                self._ask("sleepers_remove", self._id)
                now = time.monotonic()
                end = now + _GOODBYE
                while self._asked and now < end:
                    ready = self._bell.sleep(end - now, self._ear.descriptor, self._ear.events)
                    now = time.monotonic()
                    self._hear(self._ear, now, ready=ready)
        self._hang_up()

    def _forked(self) -> None:
        if self._ear is not None:
            self._ear.abandon()
            self._ear = None
        self._start_afresh()
        self._again = 0.0
