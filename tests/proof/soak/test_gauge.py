"""The judge of a soak: what is flat passes however long it goes on, every leak is noticed, and the longer, the smaller a one."""

from __future__ import annotations

import itertools
import math
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.proof.soak.gauge import LIMITS, Gauge, of_process

_LENGTHS = {"seconds": 7.0, "minutes": 150.0, "half an hour": 1_620.0, "ten hours": 36_000.0}
_MB = 1_000_000
Shape = Callable[[float, random.Random], float]

FLAT: dict[str, Shape] = {
    # As runs have shown them: memory warms up and varies, a log fills and begins again, descriptors come and go.
    "worker memory": lambda at, rng: 40 * _MB + 0.5 * _MB * math.log1p(at) / 10 + rng.gauss(0, 0.15 * _MB),
    "worker descriptors": lambda _at, rng: 25 + rng.choice((0, 0, 0, 1, 2, 6)),
    "worker threads": lambda at, rng: 18 + (at > 3) + rng.choice((0, 0, 0, 1)),
    "store connections": lambda at, rng: 30 + min(at // 2, 5) + rng.choice((0, 0, 1, 3)),
    "store log": lambda at, rng: 4.3 * _MB * (at % 11 / 11) + rng.uniform(0, 0.2 * _MB),
}
LEAKS: dict[str, dict[str, float]] = {
    # What it takes, in an hour, to be noticed in a run of that length.
    "worker memory": {"minutes": 400 * _MB, "half an hour": 25 * _MB, "ten hours": 1 * _MB},
    "worker descriptors": {"minutes": 360, "half an hour": 60, "ten hours": 2},
    "worker threads": {"minutes": 360, "half an hour": 60, "ten hours": 2},
    "store connections": {"minutes": 900, "half an hour": 90, "ten hours": 4},
    "store log": {"minutes": 2_000 * _MB, "half an hour": 150 * _MB, "ten hours": 6 * _MB},
}


def played(length: str, shapes: dict[str, Shape], seed: int) -> Gauge:
    """A gauge that has read these for so long."""
    rng, now, whole = random.Random(f"{seed}-gauge-{length}"), [0.0], _LENGTHS[length]
    gauge = Gauge(lambda: {name: shape(now[0], rng) for name, shape in shapes.items()})
    every = max(0.25, whole / 4_000)
    while now[0] < whole:
        gauge.read(now[0])
        now[0] += every
    return gauge


@pytest.mark.parametrize("length", _LENGTHS)
def test_what_only_varies_is_flat_however_long_it_goes_on(length: str, seed: int) -> None:
    gauge = played(length, FLAT, seed)
    assert gauge.grown() == []
    assert len(gauge.told(1_000)) == len(FLAT)


@pytest.mark.parametrize(("name", "length"), [(name, length) for name in LEAKS for length in LEAKS[name]])
def test_a_leak_is_noticed_and_the_longer_it_goes_on_the_smaller_it_may_be(
    name: str, length: str, seed: int
) -> None:
    leak = LEAKS[name][length]
    leaking: dict[str, Shape] = {name: lambda at, rng: FLAT[name](at, rng) + leak * at / 3_600}
    [said] = played(length, FLAT | leaking, seed).grown()
    assert said.startswith(f"{name} rises by ")


def test_the_bound_is_the_tighter_the_longer_a_run_is() -> None:
    assert {name.rpartition(" ")[2] for name in FLAT} == set(LIMITS)
    for limit in LIMITS.values():
        bounds = [limit.an_hour(seconds) for seconds in (7, 60, 150, 480, 1_620, 36_000, 360_000)]
        assert all(later < sooner / 2 for sooner, later in itertools.pairwise(bounds))


def test_a_peak_and_a_step_are_no_growth(seed: int) -> None:
    memory = FLAT["worker memory"]
    peak: Shape = lambda at, rng: memory(at, rng) + 90 * _MB * (700 < at < 760)  # noqa: E731 - one of many
    step: Shape = lambda at, rng: memory(at, rng) + 3 * _MB * (at > 900)  # noqa: E731
    for shape in (peak, step):
        assert played("half an hour", {"worker memory": shape}, seed).grown() == []


_LEAKING = """
import os, sys, threading
kept, hold = [], threading.Event()
leak = {
    "memory": lambda: kept.append(bytearray(os.urandom(200_000))),
    "descriptors": lambda: kept.append(open(os.devnull)),
    "threads": lambda: threading.Thread(target=hold.wait, daemon=True).start(),
    "nothing": lambda: None,
}[sys.argv[1]]
for _ in sys.stdin:
    leak()
    print(flush=True)
"""


@contextmanager
def leaking(what: str) -> Iterator[subprocess.Popen[str]]:
    """A process that keeps one more of this for every line that it is told."""
    words = [sys.executable, "-c", _LEAKING, what]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("what", ["memory", "descriptors", "threads", "nothing"])
def test_a_process_that_leaks_is_found_out(what: str) -> None:
    with leaking(what) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        gauge = Gauge(lambda: {f"it {name}": value for name, value in of_process(process.pid).items()})
        for second in range(0, 600, 10):
            process.stdin.write("\n")
            process.stdin.flush()
            assert process.stdout.readline()
            gauge.read(second)
    found = {said.split()[1] for said in gauge.grown()}
    assert what in found or what == "nothing"
    assert found <= {what}
