"""Answers to commits are lost, again and again, whatever was asked: what is asked again has happened once."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import psycopg
import pytest

import tenure
from tests.proof import depth
from tests.proof.ledger import at_rest, balance, intact
from tests.proof.tally import Tally
from tests.support.places import Loop
from tests.support.proxy import Proxy

INSERT, COMMIT, CLAIM, DONE = b"INSERT INTO", b"COMMIT\0", b"SKIP LOCKED", b".finished"
PAYS = "pays"
ALONE = {"plain": {}, "unique": {"unique": "{}"}}
TOGETHER = {"period": {"unique": "{}", "unique_for": "1h"}, "group": {"group": "g{}"}}
OUTCOMES: dict[str, tenure.Outcome] = {
    "fail": tenure.Fail("oops", retry_in=0),
    "snooze": tenure.Snooze(0),
    "release": tenure.Release(),
    "bury": tenure.Bury("buried"),
    "cancelled": tenure.Cancelled("enough"),
}


@dataclass
class Desk:
    """Who asks, over a wire that loses answers."""

    q: tenure.Queue
    later: tenure.AsyncQueue
    loop: Loop
    proxy: Proxy
    schema: str
    rng: random.Random
    promised: list[str] = field(default_factory=list)
    turn: int = 0
    commits: int = 0
    """How many of the lost answers were to a COMMIT, and not to a statement that commits by itself."""

    def lost(self, words: bytes, call: Callable[[], object]) -> object:
        """Do this; the answer to the first request with these words is lost."""
        cut = self.proxy.lose_reply(words)
        answer = call()
        assert cut.happened.is_set(), f"nothing with {words!r} was asked"
        assert cut.error is None
        self.commits += words == COMMIT
        return answer

    def enqueue(self, options: dict[str, str], words: bytes) -> None:
        given = {name: text.format(self.turn) for name, text in options.items()}
        answer = self.lost(words, lambda: self.q.enqueue("k", {"n": self.turn}, **given))  # type: ignore[arg-type]
        assert isinstance(answer, tenure.Enqueued)
        assert answer.inserted
        self.promised.append(answer.id)

    def enqueue_many(self) -> None:
        jobs = [tenure.NewJob(kind="k", payload=n) for n in range(self.rng.choice((60, 300)))]
        answers = self.lost(COMMIT, lambda: self.q.enqueue_many(jobs))
        self.came(answers)

    def group_commit(self) -> None:
        """Many at once, who share commits."""

        async def all_of_them() -> list[tenure.Enqueued]:
            return await asyncio.gather(*(self.later.enqueue("k", n) for n in range(20)))

        self.came(self.lost(INSERT, lambda: self.loop.wait(all_of_them())))

    def came(self, answers: object) -> None:
        assert isinstance(answers, list | tuple)
        assert all(answer.inserted for answer in answers)
        self.promised += [answer.id for answer in answers]

    def claim(self) -> None:
        self.feed()
        claims = self.lost(CLAIM, lambda: self.q.claim(2, lease="2s"))
        assert isinstance(claims, list)
        assert all(self.q.settle_many([(claim, tenure.Done()) for claim in claims]))

    def settle(self, outcome: tenure.Outcome, words: bytes) -> None:
        self.feed()
        [claim] = self.q.claim()
        assert self.lost(words, lambda: self.q.settle(claim, outcome)) is True
        assert self.q.settle(claim, outcome) is True, "repeating it was answered otherwise"

    def settle_many(self) -> None:
        self.feed()
        claims = self.q.claim(10)
        answers = self.lost(
            DONE, lambda: self.q.settle_many([(c, tenure.Done(n)) for n, c in enumerate(claims)])
        )
        assert isinstance(answers, list)
        assert all(answers)

    def settle_in(self) -> None:
        """The answer to the commit of a transaction of one's own: who does it again is told that it is over, and writes nothing."""
        self.promised.append(self.q.enqueue(PAYS).id)
        [claim] = self.q.claim(kinds=[PAYS])
        cut = self.proxy.lose_reply(COMMIT)
        with pytest.raises(psycopg.OperationalError):
            self.pay(claim)
        assert cut.happened.is_set()
        self.commits += 1
        with pytest.raises(tenure.ClaimLost):
            self.pay(claim)

    def pay(self, claim: tenure.Claim) -> None:
        """A row of one's own and the job's end, in one transaction, over the wire."""
        with psycopg.connect(self.proxy.url) as mine:
            mine.execute(f'INSERT INTO "{self.schema}".paid VALUES (%s)'.encode(), (claim.id,))
            claim.settle_in(mine, tenure.Done())

    def feed(self) -> None:
        """There is something to claim, and who claims it is known to live."""
        self.q.beat(self.q.worker)
        self.promised += [answer.id for answer in self.q.enqueue_many([tenure.NewJob(kind="k")] * 12)]

    def alone(self) -> list[Callable[[], None]]:
        """What commits by itself, as one statement."""
        made: list[Callable[[], None]] = [self.group_commit, self.claim, self.settle_many]
        made += [lambda given=given: self.enqueue(given, INSERT) for given in ALONE.values()]  # type: ignore[misc]
        made += [lambda: self.settle(tenure.Done({"n": 1}), DONE)]
        return made

    def together(self) -> list[Callable[[], None]]:
        """What says COMMIT."""
        made: list[Callable[[], None]] = [self.enqueue_many, self.settle_in]
        made += [lambda given=given: self.enqueue(given, COMMIT) for given in TOGETHER.values()]  # type: ignore[misc]
        made += [lambda end=end: self.settle(end, COMMIT) for end in OUTCOMES.values()]  # type: ignore[misc]
        return made


@pytest.fixture
def desk(proxy: Proxy, postgres_url: str, schema: str, seed: int) -> Iterator[Desk]:
    loop = Loop()
    url = f"{proxy.url}&schema={schema}"
    with tenure.open(url) as q:
        later = loop.wait(tenure.aopen(url))
        with psycopg.connect(postgres_url, autocommit=True) as server:
            server.execute(f'CREATE TABLE "{schema}".paid (job text)'.encode())
        yield Desk(q, later, loop, proxy, schema, random.Random(f"{seed}-commits"))
        loop.wait(later.close())
    loop.close()


def test_a_hundred_commits_whose_answer_was_lost_have_each_happened_once(
    desk: Desk, direct: str, postgres_url: str, tally: Tally
) -> None:
    alone, together = desk.alone(), desk.together()
    some = [*alone, *together, *([desk.settle_in] * depth.of(test=0, proof=10))]
    some += desk.rng.choices(alone, k=depth.of(test=0, proof=15))
    some += desk.rng.choices(together, k=depth.of(test=0, proof=100 - len(together)))
    desk.rng.shuffle(some)
    for desk.turn, verb in enumerate(some):
        verb()
    with tenure.open(direct) as q:
        while claims := q.claim(1_000):
            assert all(q.settle_many([(claim, tenure.Done()) for claim in claims]))
        desk.q.beat(desk.q.worker)
        while q.counts()["default"]["running"]:  # what a lost answer to a claim was about
            for claim in q.claim(1_000):
                assert q.settle(claim, tenure.Done())
        at_rest(q)
        with psycopg.connect(postgres_url) as server:
            paid = [job for (job,) in server.execute(f'SELECT job FROM "{desk.schema}".paid'.encode())]
        sums = balance(q, desk.promised, tried=desk.promised, g4={PAYS: paid})
        assert sums.crashes == 0
    intact(direct)
    tally(lost_answers=len(some), lost_commits=desk.commits, lost_in_own_transactions=len(paid))
    tally(jobs=sums.acked, losses=sums.losses)
