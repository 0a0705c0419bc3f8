"""An app with a few kinds, called the sync or the async way: what the app's tests are run on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from typing import Any

import tenure
from tests.support.places import Place
from tests.worker.house import Working

__all__ = ["Front", "Receipt"]


@dataclass
class Receipt:
    number: int
    day: date


class Front:
    """The app, and its verbs as the place's way of calling has them."""

    def __init__(self, place: Place, **options: Any) -> None:
        self.place = place
        self.app = app = tenure.App(place.url, **options)

        @app.job(queue="mail", priority=3, max_attempts=2)
        async def send(to: str, subject: str = "hi") -> str:
            return f"{subject} to {to}"

        @app.job
        def receipt(number: int, day: date) -> Receipt:
            return Receipt(number, day)

        @app.job(max_attempts=1)
        def explode(ctx: tenure.Context, why: str) -> None:
            raise RuntimeError(why)

        @app.job(keep_result=False)
        async def forget(word: str) -> str:
            return word

        self.send, self.receipt, self.explode, self.forget = send, receipt, explode, forget

    def do(self, target: Any, verb: str, *args: Any, **kwargs: Any) -> Any:
        """Call `target.verb(…)`, or `target.averb(…)` awaited."""
        if self.place.way == "sync":
            return getattr(target, verb)(*args, **kwargs)
        return self.place.loop.wait(getattr(target, f"a{verb}")(*args, **kwargs))

    def enqueue(self, kind: Any, *args: Any, **kwargs: Any) -> tenure.Job[Any]:
        """`kind.enqueue(…)`."""
        found: tenure.Job[Any] = self.do(kind, "enqueue", *args, **kwargs)
        return found

    def enqueue_many(self, jobs: Iterable[tenure.NewJob]) -> list[tenure.Job[Any]]:
        """`app.enqueue_many(…)`."""
        found: list[tenure.Job[Any]] = self.do(self.app, "enqueue_many", jobs)
        return found

    def seen(self, job: tenure.Job[Any]) -> tenure.JobSeen:
        """The job as it is stored."""
        found: tenure.JobSeen | None = self.do(job, "get")
        assert found is not None
        return found

    def stored(self) -> int:
        """How many jobs there are."""
        return sum(sum(states.values()) for states in self.app.queue.counts().values())

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """A worker, for as long as the block lasts."""
        working = Working(self.app, {})
        try:
            yield
        finally:
            working.stop()

    def refused(self, call: Callable[[], object], error: type[BaseException]) -> BaseException:
        """The error that a call raises; nothing was stored."""
        try:
            call()
        except error as raised:
            assert self.stored() == 0
            return raised
        raise AssertionError(f"{error.__name__} was not raised")

    def close(self) -> None:
        """Let go of the store."""
        self.place.loop.wait(self.app.aclose())
