"""Real workers behind a bad wire: they work off everything by themselves, and told to stop they are gone in time."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.proof import depth
from tests.proof.ledger import at_rest, balance, intact
from tests.proof.network.test_wires import FAULTS
from tests.proof.tally import Tally
from tests.support.proxy import Proxy
from tests.support.workers import Scene, alive, open_scene, until

_GRACE = depth.of(test=2, proof=5)
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
    running = scene.enqueue("hold", 3)
    ended = scene.enqueue("good", 200)
    worker = scene.start("--grace", f"{_GRACE}s", "-c", "10", "--lease", "3s")
    for job in running:
        scene.begun(job)
    last(fault, proxy, random.Random(f"{seed}-leaving-{fault}"))
    scene.open_gate()
    worker.send(signal.SIGTERM)
    told = time.monotonic()
    worker.left()
    took = time.monotonic() - told
    assert took < _GRACE + 5, f"it took {took:.1f} s"
    proxy.heal()
    # Whatever it could not tell anybody is done by the next one, once its leases are over.
    scene.worker_url = direct
    scene.start("--grace", "5s")
    at_rest(scene.q)
    sums = balance(scene.q, [*running, *ended], tried=[*running, *ended], allow=("done",))
    intact(direct)
    tally(**{f"{fault} faults": 1}, jobs=sums.acked, losses=sums.losses)


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
    assert time.monotonic() - told < 25 + 5
    assert not any(map(alive, pool.children))
    intact(direct)
    tally(jobs=sums.acked, losses=sums.losses, doubled=len(scene.notes()) - sums.acked)
