"""Producers, bare claim loops and a worker at the end of one wire, all busy, until they are told to stop.

Whoever enqueues makes the id itself and asks until it is answered; whoever claims settles until that is answered. What they
were promised is in `acked`, what they did in `effects`, and what handlers wrote in their own transactions in a table.
"""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import psycopg
from uuid_utils import uuid7

import tenure
from tests.proof.notes import Effect
from tests.worker.house import House

__all__ = ["Street"]

T = TypeVar("T")


class Street:
    """Everybody at work."""

    SLOTS, BATCH = 4, 20
    WORKERS = 2
    """Who claims while the wire is bad: the worker, and a bare loop."""

    def __init__(self, url: str, postgres_url: str, schema: str, seed: str) -> None:
        self.acked: list[str] = []
        self.effects: list[Effect] = []
        self.refusals: list[str] = []
        """What calls failed with, before they were asked again."""
        self._url, self._seed, self._stop = url, seed, threading.Event()
        self._errors: list[BaseException] = []
        self._postgres_url, self._schema = postgres_url, schema
        tenure.open(f"{postgres_url}?schema={schema}").close()
        self._sql(f'CREATE TABLE "{schema}".paid (job text)')
        self.house = House("postgres", url)
        self._kinds()
        work: list[Callable[[random.Random], None]] = [self._produce, self._produce_later, self._bare]
        self._threads = [
            threading.Thread(target=self._guarded, args=(one, f"{seed}-{n}"), daemon=True)
            for n, one in enumerate(work)
        ]

    def start(self) -> None:
        """Begin."""
        self.house.start(lease="10s", concurrency=self.SLOTS, poll="500ms")
        for thread in self._threads:
            thread.start()

    def stop_producing(self) -> None:
        """No more jobs come; the worker goes on."""
        self._stop.set()
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive(), "somebody hangs"
        if self._errors:
            raise self._errors[0]

    def paid(self) -> list[str]:
        """The jobs whose own transaction wrote a row, as often as it did."""
        return [row[0] for row in self._sql(f'SELECT job FROM "{self._schema}".paid')]

    def _kinds(self) -> None:
        app = self.house.app

        @app.job
        async def works(ctx: tenure.Context, n: int) -> None:
            self.did(ctx.claim)

        @app.job
        def pays(ctx: tenure.Context, n: int) -> None:
            """Past the wire, since a connection of the user's own may wait for ever."""
            self.did(ctx.claim)
            with psycopg.connect(self._postgres_url) as mine:
                mine.execute(f'INSERT INTO "{self._schema}".paid VALUES (%s)', (ctx.id,))
                ctx.claim.settle_in(mine, tenure.Done())

    def did(self, claim: tenure.Claim) -> None:
        """Write down that this claim is worked on."""
        self.effects.append(Effect.of(claim))

    def _insist(self, call: Callable[[], T]) -> T:
        while True:
            try:
                return call()
            except tenure.StoreUnavailable as error:
                self.refusals.append(str(error))

    def _guarded(self, work: Callable[[random.Random], None], seed: str) -> None:
        try:
            work(random.Random(seed))
        except BaseException as error:
            self._errors.append(error)

    def _new(self, rng: random.Random) -> dict[str, Any]:
        made = {"payload": {"n": rng.randrange(100)}, "id": str(uuid7())}
        return made | rng.choice(({}, {"group": str(rng.randrange(5))}, {"unique": str(made["id"])}))

    def _produce(self, rng: random.Random) -> None:
        with self._insist(lambda: tenure.open(self._url)) as q:
            while not self._stop.is_set():
                kind = rng.choice(("works", "pays", "bare"))
                if rng.random() < 0.2:
                    jobs = [tenure.NewJob(kind=kind, **self._new(rng)) for _ in range(rng.choice((5, 60)))]
                    answers = self._insist(lambda jobs=jobs: q.enqueue_many(jobs))  # type: ignore[misc]
                    self.acked += [answer.id for answer in answers]
                else:
                    job = self._new(rng)
                    self.acked.append(self._insist(lambda job=job, kind=kind: q.enqueue(kind, **job)).id)  # type: ignore[misc]
                self._stop.wait(0.01)

    def _produce_later(self, rng: random.Random) -> None:
        """The same with shared commits."""

        async def one(q: tenure.AsyncQueue, job: dict[str, Any]) -> str:
            while True:
                try:
                    return (await q.enqueue("works", **job)).id
                except tenure.StoreUnavailable as error:
                    self.refusals.append(str(error))

        async def many() -> None:
            q = await tenure.aopen(self._url)
            while not self._stop.is_set():
                self.acked += await asyncio.gather(*(one(q, self._new(rng)) for _ in range(10)))
                await asyncio.sleep(0.05)
            await q.close()

        asyncio.run(many())

    def _bare(self, rng: random.Random) -> None:
        """A worker without an app: a loop of claim and settle."""
        with self._insist(lambda: tenure.open(self._url)) as q:
            while not self._stop.is_set():
                claims = self._insist(lambda: self._claimed(q, rng))
                for claim in claims:
                    self.did(claim)
                pairs = [(claim, tenure.Done()) for claim in claims]
                self._insist(lambda pairs=pairs: q.settle_many(pairs))  # type: ignore[misc]
                self._stop.wait(0.01)

    def _claimed(self, q: tenure.Queue, rng: random.Random) -> list[tenure.Claim]:
        q.beat(q.worker)
        return list(q.claim(rng.choice((1, self.BATCH)), kinds=["bare"], lease="5s"))

    def _sql(self, text: str) -> list[Any]:
        with psycopg.connect(self._postgres_url, autocommit=True) as server:
            cursor = server.execute(text.encode())
            return cursor.fetchall() if cursor.description else []
