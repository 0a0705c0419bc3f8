"""Several hands on one file at once, through an AsyncQueue: enqueues share commits, and which act is stored first is open.

The disk's log is told when each act is asked for, and when it was promised. Of two acts that overlap either may be there without
the other; one that was asked for after another had been promised is not there without it.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

import tenure
from tests.proof.ledger import JobsLost
from tests.proof.sqlite.acts import OUTCOMES, Act, hooks_of, payload, shown
from tests.proof.sqlite.disk import Disk, Step

__all__ = ["Hands", "Times"]

_HANDS = 3
_ALONE, _TOGETHER = 1, (3, 8, 16)
"""How many enqueues are asked for at once."""
_LATER = "10m"
"""No hand claims these; who works off what is left half an hour later does."""


@dataclass
class Hands:
    """What is done between two power cuts; `acts` begins with what was there before. None: it came to nothing."""

    q: tenure.AsyncQueue
    disk: Disk
    acts: list[Act | None]
    later: list[str] = field(default_factory=list)
    """Jobs that are not due, for somebody to cancel."""

    async def live(self, count: int, chance: random.Random) -> None:
        """Each hand does so many things, one after the other."""
        async with asyncio.TaskGroup() as tasks:
            for _ in range(_HANDS):
                tasks.create_task(self._hand(count, random.Random(chance.random())))

    async def _hand(self, count: int, rng: random.Random) -> None:
        doings: tuple[Callable[[random.Random], Awaitable[object]], ...] = (
            self._burst,
            self._enqueue_many,
            self._enqueue_hooks,
            self._work,
            self._cancel,
        )
        for _ in range(count):
            await rng.choices(doings, weights=(45, 8, 8, 35, 8))[0](rng)

    async def _act(
        self,
        state: str | None,
        doing: Callable[[], Awaitable[Sequence[str]]],
        hooks: Mapping[str, tenure.NewJob] | None = None,
    ) -> None:
        number = len(self.acts)
        self.acts.append(None)
        self.disk.mark(("asked", number))
        ids = await doing()
        if ids:
            self.acts[number] = Act(tuple(ids), state, hooks or {})
            self.disk.mark(("told", number))

    async def _burst(self, rng: random.Random) -> None:
        """What is asked for at once is committed together: jobs with a key or an id apart from the others."""
        many = rng.choice((_ALONE, *_TOGETHER))
        await asyncio.gather(*(self._enqueue(rng) for _ in range(many)))

    async def _enqueue(self, rng: random.Random) -> None:
        options: dict[str, object] = rng.choice(
            [{}, {}, {"priority": 3}, {"tags": ["a"]}, {"unique": f"{len(self.acts)}"}, {"delay": _LATER}]
        )
        text = payload(rng)

        async def doing() -> list[str]:
            answer = await self.q.enqueue("k", text, **options)  # type: ignore[arg-type]
            if "delay" in options:
                self.later.append(answer.id)
            return [answer.id]

        await self._act(None, doing)

    async def _enqueue_many(self, rng: random.Random) -> None:
        jobs = [tenure.NewJob(kind="k", payload=payload(rng)) for _ in range(rng.choice((2, 40)))]

        async def doing() -> list[str]:
            return [answer.id for answer in await self.q.enqueue_many(jobs)]

        await self._act(None, doing)

    async def _enqueue_hooks(self, rng: random.Random) -> None:
        jobs = hooks_of(rng, self.acts)
        came: dict[str, tenure.NewJob] = {}

        async def doing() -> list[str]:
            answers = await self.q.enqueue_many(jobs)
            came.update((a.id, job) for a, job in zip(answers, jobs, strict=True) if a.inserted)
            return list(came)

        await self._act(None, doing, came)

    async def _work(self, rng: random.Random) -> None:
        claims = await self.q.claim(rng.choice((1, 5, 30)), lease=_LATER)
        state = rng.choice(list(OUTCOMES))

        async def doing() -> list[str]:
            assert all(await self.q.settle_many([(claim, OUTCOMES[state]) for claim in claims]))
            return [claim.id for claim in claims]

        if claims:
            await self._act(state, doing)

    async def _cancel(self, rng: random.Random) -> None:
        if not self.later:
            return
        job = self.later.pop(rng.randrange(len(self.later)))

        async def doing() -> list[str]:
            assert await self.q.cancel(job) == "cancelled"
            return [job]

        await self._act("cancelled", doing)


class Times:
    """When each act was asked for and when it was promised, by the log; those there were `before` at its beginning."""

    def __init__(self, log: Sequence[Step], before: int) -> None:
        self.asked, self.told = dict.fromkeys(range(before), -1), dict.fromkeys(range(before), -1)
        for at, step in enumerate(log):
            if step[0] == "mark" and step[1][0] in ("asked", "told"):
                word, number = step[1]
                (self.asked if word == "asked" else self.told)[number] = at

    def kept(
        self, acts: Sequence[Act | None], jobs: Mapping[str, tenure.JobSeen], cut: int, *, all_told: bool
    ) -> tuple[list[Act], int]:
        """The acts that a file has which was cut off there, and how many it has lost; raises if it lacks one that it must have,
        or has one too many."""
        begun = [n for n, at in self.asked.items() if at < cut]
        there = {n: shown(act, jobs) for n in begun if (act := acts[n]) is not None}
        missing = [n for n, found in there.items() if not found]
        lost = [n for n in missing if self.told.get(n, cut) < cut]
        if all_told and lost:
            jobs_lost = [job for n in lost if (act := acts[n]) is not None for job in act.ids]
            raise JobsLost(jobs_lost, f"{len(lost)} promised acts are lost: {lost[:5]}")
        first = min((self.told.get(n, cut) for n in missing), default=cut)
        after = [n for n, found in there.items() if found and self.asked[n] > first]
        assert not after, f"{after[:5]} are there without what was promised before they were asked for"
        known = {job for n in begun if (act := acts[n]) is not None for job in act.ids}
        assert jobs.keys() <= known, "a job came from nowhere"
        return [act for n, found in there.items() if found and (act := acts[n]) is not None], len(lost)

    def promised(self, cut: int) -> int:
        """How many acts had been promised by then."""
        return sum(at < cut for at in self.told.values())
