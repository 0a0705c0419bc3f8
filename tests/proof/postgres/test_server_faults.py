"""PostgreSQL goes away and comes back: nothing acknowledged is lost, and every worker recovers by itself."""

from __future__ import annotations

import random
from pathlib import Path

import psycopg
import pytest

from bench.measure import say
from tests.proof import depth
from tests.proof.kills.crowd import Crowd, open_crowd
from tests.proof.postgres.pair import Pair
from tests.proof.postgres.storm import Storm, populate
from tests.proof.tally import Tally
from tests.support.fresh import postgres_schema
from tests.support.postgres import PostgresServer, StopMode

RESTARTS: dict[str, list[StopMode]] = (
    {"mixed": ["fast", "immediate", "kill"] * 2}
    if depth.DEPTH == "test"
    else {"fast": ["fast"] * 10, "immediate": ["immediate"] * 10, "kill": ["kill"] * 5}
)

_COUNTED: dict[StopMode, str] = {
    "fast": "fast_restarts",
    "immediate": "immediate_restarts",
    "kill": "postmaster_kills",
}


def finish(crowd: Crowd, storm: Storm, tally: Tally, **counts: int) -> None:
    """What is left ends, the ledger balances, and the workers are those that were there at the start."""
    crowd.rest()
    made = crowd.balance()
    assert {actor.starts for actor in crowd.actors} == {1}
    workers = [a.process for a in crowd.actors if not a.draws and a.process is not None]
    assert [worker.leave() for worker in workers] == [0, 0]
    for fault in storm.faults:
        say(
            f"{fault.what}: away for {fault.back - fault.began:.2f} s, all workers back {fault.recovered - fault.back:.2f} s later"
        )
    tally(**counts, jobs=made.stored, losses=made.losses, taken_away=made.taken_away)
    tally(stale_tried=crowd.rivals.tried, stale_refused=made.refused)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("modes", RESTARTS)
def test_the_server_restarts_and_every_worker_recovers_by_itself(
    modes: str, tmp_path: Path, seed: int, tally: Tally
) -> None:
    chance = random.Random(f"{seed}-restarts-{modes}")
    order = chance.sample(RESTARTS[modes], k=len(RESTARTS[modes]))
    with (
        PostgresServer(durable=False) as server,
        open_crowd(server.url(), tmp_path, chance, g4=True) as crowd,
    ):
        populate(crowd)
        storm = Storm(crowd, chance)
        for how in order:
            storm.restart(server, how)
        finish(crowd, storm, tally, **{_COUNTED[how]: order.count(how) for how in set(order)})


@pytest.mark.timeout(600)
def test_backends_are_terminated_and_every_worker_recovers_by_itself(
    tmp_path: Path, postgres_url: str, seed: int, tally: Tally
) -> None:
    chance = random.Random(f"{seed}-terminations")
    times = depth.of(test=20, proof=200)
    with postgres_schema(postgres_url) as schema, psycopg.connect(postgres_url, autocommit=True) as admin:
        url = f"{postgres_url}?schema={schema}"
        with open_crowd(url, tmp_path, chance, g4=True, reach=f"{url}&application_name={schema}") as crowd:
            populate(crowd)
            storm = Storm(crowd, chance)
            storm.strike(f"{times} backends", lambda: storm.terminate(admin, schema, times), times=times)
            finish(crowd, storm, tally, terminations=times)


@pytest.mark.timeout(600)
def test_a_standby_takes_over_and_nothing_acknowledged_is_lost(
    tmp_path: Path, seed: int, tally: Tally
) -> None:
    chance = random.Random(f"{seed}-failovers")
    times = depth.of(test=1, proof=5)
    with Pair() as pair, open_crowd(pair.url, tmp_path, chance, g4=True) as crowd:
        populate(crowd)
        storm = Storm(crowd, chance)
        for turn in range(times):
            storm.strike("failover", lambda: pair.fail_over("kill"))
            if turn + 1 < times:
                pair.mend()
        finish(crowd, storm, tally, failovers=times)
