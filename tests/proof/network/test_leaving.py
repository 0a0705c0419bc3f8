"""Workers, pools and gateways behind a bad wire: they go on by themselves, and told to stop they are gone in time."""

from __future__ import annotations

import asyncio
import random
import signal
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.gateway.ledger import ADDRESS, SECRET
from tests.gateway.process import GatewayProcess
from tests.gateway.senders import Line, update_of
from tests.proof import depth
from tests.proof.ledger import at_rest, balance, intact, stored
from tests.proof.network.test_wires import FAULTS
from tests.proof.tally import Tally
from tests.support.proxy import Proxy
from tests.support.workers import Scene, WorkerProcess, alive, open_scene, until

_GRACE = depth.of(test=2, proof=5)
_LATE = 5.0
"""How many seconds a process may take to end after that, on a machine that does much else."""
_GATEWAY = 30.0
"""How long a gateway that was told to stop answers what it was asked."""
_BEFORE, _SENT = 10, 20
"""How many updates are sent to a gateway before its wire goes bad, and in all."""
_SHARE = ["swallow", "server gone"]
"""Which faults are tried at the least depth: those that answer nothing."""


@pytest.fixture
def scene(proxy: Proxy, direct: str, schema: str, tmp_path: Path) -> Iterator[Scene]:
    """A store whose workers are behind the wire."""
    with open_scene(direct, tmp_path) as made:
        made.worker_url = f"{proxy.url}&schema={schema}"
        yield made
        proxy.heal()


def last(fault: str, proxy: Proxy, rng: random.Random) -> None:
    """A fault that lasts."""
    match fault:
        case "swallow":
            proxy.swallow()
        case "drip":
            proxy.drip()
        case _:
            FAULTS[fault](proxy, rng)


@pytest.mark.parametrize("fault", _SHARE if depth.DEPTH == "test" else list(FAULTS))
def test_a_worker_on_a_bad_wire_is_gone_when_its_grace_is_over(
    fault: str, scene: Scene, proxy: Proxy, direct: str, seed: int, tally: Tally
) -> None:
    _leave_in_time(fault, scene, proxy, direct, f"{seed}-leaving-{fault}", tally, "-c", "10")


@pytest.mark.parametrize("fault", _SHARE[:1] if depth.DEPTH == "test" else _SHARE)
def test_a_pool_on_a_bad_wire_is_gone_when_its_grace_is_over(
    fault: str, scene: Scene, proxy: Proxy, direct: str, seed: int, tally: Tally
) -> None:
    drawn = f"{seed}-leaving-pool-{fault}"
    pool = _leave_in_time(fault, scene, proxy, direct, drawn, tally, "--processes", "2", "-c", "5")
    assert len(pool.children) >= 2
    assert not any(map(alive, pool.children))
    tally(pools_gone=1)


def _leave_in_time(
    fault: str, scene: Scene, proxy: Proxy, direct: str, drawn: str, tally: Tally, *how: str
) -> WorkerProcess:
    """Stop a worker, or a pool, on a wire with this fault; what it could not tell anybody is done by the next one."""
    running = scene.enqueue("hold", 3)
    ended = scene.enqueue("good", 200)
    worker = scene.start("--grace", f"{_GRACE}s", "--lease", "3s", *how)
    for job in running:
        scene.begun(job)
    last(fault, proxy, random.Random(drawn))
    scene.open_gate()
    worker.send(signal.SIGTERM)
    told = time.monotonic()
    worker.left()
    took = time.monotonic() - told
    assert took < _GRACE + _LATE, f"it took {took:.1f} s"
    proxy.heal()
    scene.worker_url = direct
    scene.start("--grace", "5s")
    at_rest(scene.q)
    sums = balance(scene.q, [*running, *ended], tried=[*running, *ended], allow=("done",))
    intact(direct)
    tally(**{f"{fault} faults": 1}, jobs=sums.acked, losses=sums.losses)
    return worker


@pytest.mark.proof
@pytest.mark.parametrize("fault", _SHARE)
def test_a_gateway_on_a_bad_wire_refuses_what_it_cannot_keep_and_is_gone_in_time(
    fault: str, scene: Scene, proxy: Proxy, direct: str, seed: int, tally: Tally
) -> None:
    with closing(GatewayProcess(scene)) as gateway:
        gateway.ready()
        kept, refused = asyncio.run(
            _send_into(fault, gateway, proxy, random.Random(f"{seed}-gateway-{fault}"))
        )
        assert refused, "nothing was under way"
        told = time.monotonic()
        gateway.stop()
        assert time.monotonic() - told < _GATEWAY + _LATE
    proxy.heal()
    scene.worker_url = direct
    scene.start(address=ADDRESS, environment={"LEDGER_SECRET": SECRET})
    at_rest(scene.q)
    jobs: dict[str, int] = {job.id: int(job.unique or -1) for job in stored(scene.q)}
    # What was refused may be stored all the same, if the answer of its commit was lost; nothing else is there, and nothing twice.
    sums = balance(
        scene.q, kept, tried=[job for job, n in jobs.items() if n in range(_SENT)], allow=("done",)
    )
    assert sums.crashes == 0
    assert [jobs[job] for job in kept[:_BEFORE]] == list(range(_BEFORE))
    handled = sorted(int(line.split()[0]) for line in (scene.folder / "ledger").read_text().splitlines())
    assert handled == sorted(jobs.values()), "an update was not handled once"
    assert len(set(handled)) == len(handled), "an update was stored twice"
    intact(direct)
    tally(**{f"{fault} faults": 1}, jobs=sums.acked, losses=sums.losses, gateways_gone=1)


async def _send_into(
    fault: str, gateway: GatewayProcess, proxy: Proxy, rng: random.Random
) -> tuple[list[str], list[int]]:
    """Some updates, the fault, and as many more: the ids that were acknowledged, and the statuses of the others."""
    line = Line(gateway.port)
    answers = [await line.post(update_of(number, number)) for number in range(_BEFORE)]
    last(fault, proxy, rng)
    lines = [Line(gateway.port) for _ in range(_BEFORE, _SENT)]
    posts = [one.post(update_of(number, number)) for number, one in enumerate(lines, _BEFORE)]
    answers += await asyncio.gather(*posts)
    for one in (line, *lines):
        one.close()
    kept = [answer["id"] for status, answer in answers if status == 200]
    return kept, [status for status, _ in answers if status != 200]


@pytest.mark.proof
@pytest.mark.timeout(500)
@pytest.mark.parametrize("fault", FAULTS)
def test_workers_of_a_pool_go_on_by_themselves_on_a_bad_wire(
    fault: str, scene: Scene, proxy: Proxy, direct: str, seed: int, tally: Tally
) -> None:
    """With the settings that everybody has: an answer is waited for up to half a minute."""
    rng = random.Random(f"{seed}-pool-{fault}")
    promised: list[str] = []
    pool = scene.start("--processes", "2", "-c", "5", "--lease", "15s")
    until(lambda: pool.log.count("works on") == 2)  # who cannot start leaves, and another is started
    for _ in range(2):
        promised += scene.enqueue("tells", 300)
        until(lambda: scene.counts.get("done", 0) > len(promised) - 250)  # noqa: B023 - asked here and now
        FAULTS[fault](proxy, rng)
        tally(**{f"{fault} faults": 1})
        promised += scene.enqueue("tells", 100)
        at_rest(scene.q, within=150)
    sums = balance(scene.q, promised, tried=promised, allow=("done",))
    assert sums.crashes == 0
    assert len(pool.children) == 2, "a process of the pool did not outlive the fault"
    pool.send(signal.SIGTERM)
    told = time.monotonic()
    pool.left()  # perhaps with what still waits for an answer that never comes
    assert time.monotonic() - told < 25 + _LATE
    assert not any(map(alive, pool.children))
    intact(direct)
    tally(jobs=sums.acked, losses=sums.losses, doubled=len(scene.notes()) - sums.acked)
