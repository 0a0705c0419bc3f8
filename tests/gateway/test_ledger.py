"""The ledger: whoever is killed when, every acknowledged update is handled, in its chat's order, and once unless a kill came between."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

import tenure
from bench.measure import say
from tests.gateway.ledger import ADDRESS, SECRET
from tests.gateway.process import GatewayProcess
from tests.gateway.senders import Telegram
from tests.support.workers import Scene, until


class Handling(NamedTuple):
    """One line of the ledger."""

    number: int
    chat: int
    worker: str


class Ledger:
    """What handlers wrote so far."""

    def __init__(self, path: Path) -> None:
        self._path, self._read, self._lines = path, 0, 0

    def count(self) -> int:
        """How many handlings there were."""
        if self._path.exists():
            with self._path.open("rb") as file:
                file.seek(self._read)
                more = file.read()
            self._read += len(more)
            self._lines += more.count(b"\n")
        return self._lines

    @property
    def handlings(self) -> list[Handling]:
        """All of them, in their order."""
        lines = map(str.split, self._path.read_text().splitlines())
        return [Handling(int(number), int(chat), worker) for number, chat, worker in lines]


def plan_of(chance: random.Random, updates: int, chats: int) -> dict[int, list[int]]:
    """The updates that each chat sends, in their order; for 30 in 100, one is sent again, this one or an earlier one."""
    plan: dict[int, list[int]] = {chat: [] for chat in range(1, chats + 1)}
    for number in range(1, updates + 1):
        line = plan[chance.randint(1, chats)]
        line.append(number)
        if chance.random() < 0.3:
            line.append(chance.choice([number, chance.choice(line)]))
    return plan


async def strike(moments: list[int], progress: Callable[[], int], blow: Callable[[], None]) -> None:
    """Strike whenever so much has happened."""
    for moment in moments:
        while progress() < moment:  # noqa: ASYNC110 - other processes make it happen
            await asyncio.sleep(0.002)
        blow()


async def send(
    scene: Scene,
    gateway: GatewayProcess,
    plan: dict[int, list[int]],
    chance: random.Random,
    kills: int,
    slots: int,
) -> Telegram:
    """Send all of it while gateway and worker are killed at moments that chance chose."""
    ledger, telegram = Ledger(scene.folder / "ledger"), Telegram(gateway.port)

    def worker_again() -> None:
        scene.started[-1].kill()
        scene.start("-c", str(slots), address=ADDRESS)

    sends, updates = sum(map(len, plan.values())), len({n for line in plan.values() for n in line})
    async with asyncio.TaskGroup() as tasks:
        for chat, numbers in plan.items():
            tasks.create_task(telegram.chat(chat, numbers))
        moments = sorted(chance.sample(range(1, sends - sends // 20), kills))
        tasks.create_task(strike(moments, lambda: telegram.answers[200], gateway.again))
        moments = sorted(chance.sample(range(1, updates - updates // 20), kills))
        tasks.create_task(strike(moments, ledger.count, worker_again))
    return telegram


def states(scene: Scene) -> dict[str, int]:
    """How many jobs of the gateway's are in which state."""
    return {state: n for state, n in scene.q.counts().get("gateway", {}).items() if n}


def stored(scene: Scene) -> dict[str, str | None]:
    """Every job's id, and the key it was stored under."""
    found: dict[str, str | None] = {}
    page: list[tenure.JobSeen] = scene.q.list(limit=10_000)
    while page:
        found |= {job.id: job.unique for job in page}
        page = scene.q.list(limit=10_000, before=page[-1].id)
    return found


def balance(scene: Scene, plan: dict[int, list[int]], telegram: Telegram) -> int:
    """The ledger balances; how many handlings were not the first of their update."""
    updates = {number for line in plan.values() for number in line}
    assert set(telegram.acks) == updates
    assert set(telegram.answers) <= {0, 200, 503}
    assert states(scene) == {"done": len(updates)}
    assert stored(scene) == {job: str(number) for number, job in telegram.acks.items()}

    handlings = Ledger(scene.folder / "ledger").handlings
    firsts: dict[int, list[int]] = {chat: [] for chat in plan}
    for number, chat, _ in handlings:
        if number not in firsts[chat]:
            firsts[chat].append(number)
    assert firsts == {chat: sorted(set(line)) for chat, line in plan.items()}
    # Every worker but the last was killed, so what one worker handled once, and the next one again, was not settled.
    often = Counter((h.number, h.worker) for h in handlings)
    assert max(often.values()) == 1
    return len(handlings) - len(updates)


def play(
    scene: Scene, gateway: GatewayProcess, *, seed: int, updates: int, chats: int, kills: int, slots: int
) -> None:
    """One run, from the first update to the last line of the ledger."""
    say(f"the seed is {seed}; TENURE_TEST_SEED={seed} plays it again")
    chance = random.Random(seed)
    plan = plan_of(chance, updates, chats)
    scene.max_crashes = kills + 1  # an update may be in flight at every kill, and is not to blame
    scene.start("-c", str(slots), address=ADDRESS)
    gateway.ready()
    began = time.monotonic()
    telegram = asyncio.run(send(scene, gateway, plan, chance, kills, slots))
    sent = time.monotonic() - began
    assert (gateway.starts, len(scene.started)) == (kills + 1, kills + 1)
    until(lambda: not states(scene).keys() & {"ready", "running", "waiting", "scheduled"}, within=300)
    more = balance(scene, plan, telegram)
    assert gateway.stop() == 0
    assert SECRET not in gateway.log + "".join(worker.log for worker in scene.started)
    say(f"{dict(telegram.answers)} in {sent:.1f} s (0: no answer); handled again after a kill: {more}")


def seed_of(otherwise: int) -> int:
    return int(os.environ.get("TENURE_TEST_SEED", "") or otherwise)


def test_whoever_is_killed_no_acknowledged_update_is_lost_or_out_of_order(
    scene: Scene, gateway: GatewayProcess
) -> None:
    play(scene, gateway, seed=seed_of(1), updates=300, chats=30, kills=2, slots=3)


@pytest.mark.proof
@pytest.mark.timeout(1_200)
def test_of_twenty_thousand_updates_none_is_lost_or_out_of_order_through_ten_kills_of_each(
    scene: Scene, gateway: GatewayProcess
) -> None:
    seed = seed_of(random.SystemRandom().randrange(1_000_000))
    play(scene, gateway, seed=seed, updates=20_000, chats=300, kills=10, slots=16)
