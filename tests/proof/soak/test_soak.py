"""Under a mix of work, with failures, retries, snoozes, a schedule, updates, visits and retention, nothing grows.

The same processes live from the beginning to the end: seconds in `make test`, minutes in `make proof`, and in `make torture` as long
as the whole run.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from bench.measure import say
from tests.gateway.ledger import SECRET
from tests.proof import depth
from tests.proof.kills.crowd import Crowd, open_crowd
from tests.proof.ledger import intact
from tests.proof.soak.gauge import Gauge
from tests.proof.soak.household import Household
from tests.proof.tally import Tally
from tests.support.fresh import KINDS, Kind, fresh_url
from tests.support.postgres import PostgresServer
from tests.support.workers import until

_AROUND = 180.0
"""What starting, coming to rest and leaving may take of a run of torture, in seconds."""
_SECONDS = depth.of(test=7.0, proof=150.0, torture=depth.lasting(480.0, around=_AROUND))
_PACE = depth.of(test=0.1, proof=0.1, torture=0.4)
"""The most seconds between two things that one of those outside does."""
_EVERY = max(0.25, _SECONDS / 4_000)
_KEPT = {"TENURE_RETAIN_DONE": "2s", "TENURE_RETAIN_DEAD": "2s", "TENURE_RETAIN_EVERY": "1s"}
_SMALL_LOG = {"max_wal_size": "64MB", "min_wal_size": "32MB", "checkpoint_timeout": "30s"}


@pytest.fixture
def crowd(store: Kind, tmp_path: Path, seed: int) -> Iterator[Crowd]:
    """A crowd whose janitor keeps what has ended for two seconds; PostgreSQL on a server of its own, whose log is small."""
    chance = random.Random(f"{seed}-soak-{store}")
    with ExitStack() as open_now:
        if store == "postgres":
            url = open_now.enter_context(PostgresServer(durable=False, settings=_SMALL_LOG)).url()
        else:
            url = open_now.enter_context(fresh_url(store, tmp_path, ""))
        environment = {**_KEPT, "LEDGER_SECRET": SECRET}
        yield open_now.enter_context(
            open_crowd(url, tmp_path, chance, g4=store != "sqlite", environment=environment)
        )


@pytest.mark.timeout(_SECONDS + 420)
@pytest.mark.parametrize("store", KINDS)
def test_memory_descriptors_threads_and_the_log_stay_as_they_are_and_what_has_ended_goes(
    store: Kind, crowd: Crowd, tally: Tally
) -> None:
    crowd.scene.q.schedule("each second", "* * * * * *", "note", {})
    house = Household(crowd, _PACE)
    gauge = Gauge(house.look)
    with house.guests:
        gauge.watch(_SECONDS, _EVERY)
    jobs = house.done()
    for line in gauge.told(jobs):
        say(line)
    assert not (grown := gauge.grown()), grown
    assert not (wrong := house.guests.wrong), wrong[:3]
    crowd.scene.q.unschedule("each second")
    crowd.rest()
    losses = house.losses()
    until(lambda: house.rows() == 0)
    assert house.leave() == [0] * 4
    intact(crowd.scene.url)
    tally.on(store, seconds=int(_SECONDS))
    tally(jobs=jobs, losses=losses, processes=house.processes, updates=len(house.guests.acked))
    tally(visits=house.guests.visits)
