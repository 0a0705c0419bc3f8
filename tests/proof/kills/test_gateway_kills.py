"""Gateways are killed while senders send: an update that was answered is stored once, and handled."""

from __future__ import annotations

import asyncio
import random
import time
from pathlib import Path

import pytest

from tests.gateway.ledger import ADDRESS, SECRET, SETTINGS
from tests.gateway.process import keep_port
from tests.gateway.senders import Telegram
from tests.proof import depth
from tests.proof.kills.forged import Forge, Forged
from tests.proof.ledger import Balance, at_rest, balance, intact, stored
from tests.proof.tally import Tally
from tests.support.fresh import Kind, fresh_url
from tests.support.workers import Scene, open_scene

_CHATS = 10
STORES: list[Kind] = ["sqlite", "postgres"]


class Gateway:
    """A gateway that is killed and started again on the port it had."""

    def __init__(self, forge: Forge) -> None:
        self._forge, self._kept = forge, keep_port()
        self.port: int = self._kept.getsockname()[1]
        self.process = self._start()

    def _start(self) -> Forged:
        where = (ADDRESS, "-f", str(SETTINGS), "--port", str(self.port))
        return self._forge.start("gateway", "tenure.cli:main", "gateway", *where)

    def again(self) -> None:
        """kill -9, and start it anew."""
        self.process.kill()
        self.process = self._start()

    def close(self) -> None:
        """Give the port up."""
        self._kept.close()


async def send(telegram: Telegram, gateway: Gateway, chance: random.Random, kills: int) -> None:
    """Every chat sends one update after another, and each now and then again, until the gateway was killed so often."""
    over = asyncio.Event()

    async def chat(number: int) -> None:
        sent, draw = 0, random.Random(chance.random())
        while not over.is_set():
            sent += 1
            update = number * 1_000_000 + sent
            await telegram.chat(number, [update] * draw.choice([1, 1, 2]))

    async with asyncio.TaskGroup() as tasks:
        for number in range(1, _CHATS + 1):
            tasks.create_task(chat(number))
        for _ in range(kills):
            answered = telegram.answers[200]
            deadline = time.monotonic() + 60
            while telegram.answers[200] == answered:
                assert time.monotonic() < deadline, gateway.process.log[-3000:]
                await asyncio.sleep(0.002)
            await asyncio.sleep(chance.uniform(0, 0.06))
            gateway.again()
        over.set()


def settle_accounts(scene: Scene, telegram: Telegram) -> Balance:
    """The ledger balances."""
    at_rest(scene.q, 100)
    made = balance(scene.q, telegram.acks.values(), tried=(), allow=("done",))
    keys = {job.id: job.unique for job in stored(scene.q)}
    assert keys == {job: str(number) for number, job in telegram.acks.items()}
    # The worker was never killed: so what was sent again and again, to whichever gateway, was handled once.
    handled = sorted(int(line.split()[0]) for line in (scene.folder / "ledger").read_text().splitlines())
    assert handled == sorted(telegram.acks)
    intact(scene.url)
    return made


@pytest.mark.timeout(600)
@pytest.mark.parametrize("store", STORES)
def test_gateways_are_killed_and_no_update_that_was_answered_is_lost(
    store: Kind, tmp_path: Path, postgres_url: str, seed: int, tally: Tally
) -> None:
    chance = random.Random(f"{seed}-gateways-{store}")
    kills = depth.of(test=6, proof=40)
    with fresh_url(store, tmp_path, postgres_url) as url, open_scene(url, tmp_path) as scene:
        warm = (ADDRESS.partition(":")[0], "tenure.cli.gateway.serve", "tenure.cli.serving", "uvicorn")
        forge = Forge(scene, *warm, LEDGER_SECRET=SECRET)
        try:
            forge.start("worker", "tenure.cli:main", "worker", ADDRESS, "-c", "4")
            gateway = Gateway(forge)
            telegram = Telegram(gateway.port)
            asyncio.run(send(telegram, gateway, chance, kills))
            made = settle_accounts(scene, telegram)
            gateway.close()
        finally:
            forge.close()
    tally.on(store, kills=kills, gateway_kills=kills)
    tally(jobs=made.stored, losses=made.losses)
