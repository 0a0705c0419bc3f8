"""Two hundred who send byte by byte cost the others nothing, and are cut off at their deadlines."""

from __future__ import annotations

import asyncio
import statistics
import time

import pytest

from bench.measure import canary, say
from tests.gateway.house import House, Served
from tests.gateway.ledger import SECRET
from tests.gateway.process import GatewayProcess
from tests.gateway.senders import Line, drip, update_of
from tests.gateway.signing import settings_of
from tests.support.workers import Scene

SLOW = 200
HEAD = b"POST /bot HTTP/1.1\r\nHost: bot\r\nX-"
BODY = HEAD + b"A: b\r\nContent-Length: 100000\r\n\r\n{"
_QUIET = 0.03
"""Seconds that the canary takes on a core that has nothing else to do, about."""


async def send_until(port: int, client: int, slow: list[asyncio.Task[bytes]]) -> list[int]:
    """Send updates, one after another, at least one and for as long as anybody is slow; what they were answered."""
    line = Line(port)
    statuses: list[int] = []
    try:
        while not statuses or not all(task.done() for task in slow):
            status, _ = await line.post(update_of(client * 100_000 + len(statuses), client))
            statuses.append(status)
    finally:
        line.close()
    return statuses


async def beside_the_slow(served: Served) -> tuple[list[bytes], list[int]]:
    """What the slow ones heard in the end, and what the others were answered meanwhile."""
    slow = [asyncio.create_task(drip(served.port, (HEAD, BODY)[n % 2])) for n in range(SLOW)]
    while served.gateway.intake.underway < SLOW // 2 and not any(map(asyncio.Task.done, slow)):  # noqa: ASYNC110 - a thread counts
        await asyncio.sleep(0.005)
    good = await asyncio.gather(*(send_until(served.port, client, slow) for client in range(1, 11)))
    return await asyncio.gather(*slow), [status for statuses in good for status in statuses]


def test_while_two_hundred_are_slow_everybody_else_is_answered(light: House) -> None:
    bot = settings_of("telegram", slug="bot", secrets=[f"inline:{SECRET}"])
    served = light.serve(bot, header_deadline="1500ms", body_deadline="1500ms")
    heard, statuses = asyncio.run(beside_the_slow(served))
    assert set(statuses) == {200}
    assert {said[:13] for said in heard[0::2]} == {b""}
    assert {said[:13] for said in heard[1::2]} <= {b"HTTP/1.1 408 ", b""}
    assert served.gateway.counters.requests["bot", 408] == SLOW // 2


async def slow_for_ever(port: int, head: bytes) -> None:
    while True:
        await drip(port, head)


async def paced(port: int, client: int, times: list[float]) -> None:
    """Ten updates a second, and how long each took."""
    line = Line(port)
    try:
        for number in range(150):
            began = time.perf_counter()
            status, _ = await line.post(update_of(client * 100_000 + number, client))
            times.append(time.perf_counter() - began)
            assert status == 200
            await asyncio.sleep(0.1)
    finally:
        line.close()


async def timed(port: int) -> list[float]:
    """How long good requests take while two hundred are slow for ever."""
    times: list[float] = []
    slow = [asyncio.create_task(slow_for_ever(port, (HEAD, BODY)[n % 2])) for n in range(SLOW)]
    async with asyncio.TaskGroup() as tasks:
        for client in range(1, 11):
            tasks.create_task(paced(port, client, times))
    assert not any(task.done() for task in slow)
    for task in slow:
        task.cancel()
    await asyncio.gather(*slow, return_exceptions=True)
    return times


@pytest.mark.proof
def test_while_two_hundred_are_slow_good_requests_are_quick(scene: Scene, gateway: GatewayProcess) -> None:
    gateway.ready()
    before = canary()
    times = asyncio.run(timed(gateway.port))
    slower = max(_QUIET, before, canary()) / _QUIET
    p50, p99 = statistics.median(times), statistics.quantiles(times, n=100)[98]
    say(f"{len(times)} good requests: p50 {p50 * 1000:.1f} ms, p99 {p99 * 1000:.1f} ms, canary {slower:.2f}")
    assert p99 < 0.2 * slower  # as much slower as the machine is beside its other work
