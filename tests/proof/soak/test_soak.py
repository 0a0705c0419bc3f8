"""Under a mix of work, with failures, retries, snoozes, a schedule and retention, nothing grows."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from bench.measure import say
from tests.proof import depth
from tests.proof.kills.crowd import Crowd, open_crowd
from tests.proof.ledger import Effects, intact
from tests.proof.soak.gauge import Gauge, of_process
from tests.proof.tally import Tally
from tests.support.postgres import PostgresServer
from tests.support.workers import until

_SECONDS = depth.of(test=10.0, proof=180.0, torture=480.0)
_EVERY = 0.25
_KEPT = {"TENURE_RETAIN_DONE": "2s", "TENURE_RETAIN_DEAD": "2s", "TENURE_RETAIN_EVERY": "1s"}
_SMALL_LOG = {"max_wal_size": "64MB", "min_wal_size": "32MB", "checkpoint_timeout": "30s"}
_BACKENDS = (
    "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
)


@pytest.fixture(params=["sqlite", "postgres"])
def crowd(request: pytest.FixtureRequest, tmp_path: Path, seed: int) -> Iterator[Crowd]:
    """A crowd whose janitor keeps what has ended for two seconds; PostgreSQL on a server of its own, whose log is small."""
    chance = random.Random(f"{seed}-soak-{request.param}")
    with ExitStack() as open_now:
        url = f"sqlite:///{tmp_path}/jobs.db"
        if request.param == "postgres":
            url = open_now.enter_context(PostgresServer(durable=False, settings=_SMALL_LOG)).url()
        yield open_now.enter_context(
            open_crowd(url, tmp_path, chance, g4=request.param == "postgres", environment=_KEPT)
        )


def of_store(crowd: Crowd) -> Callable[[], dict[str, float]]:
    """How large the store's log is; on PostgreSQL, how many connections it has too."""
    scene = crowd.scene
    file = Path(scene.url.removeprefix("sqlite:///"))
    if not scene.url.startswith("sqlite"):
        return lambda: {
            "store connections": scene.sql(_BACKENDS)[0][0],
            "store log": float(scene.sql("SELECT sum(size) FROM pg_ls_waldir()")[0][0]),
        }
    return lambda: {"store log": file.with_name("jobs.db-wal").stat().st_size}


def rows(crowd: Crowd) -> int:
    """How many jobs and attempts the store still has."""
    tables = ["jobs", "attempts", *([] if crowd.scene.url.startswith("sqlite") else ["finished"])]
    return sum(int(crowd.scene.sql(f"SELECT count(*) FROM tenure.{table}")[0][0]) for table in tables)


@pytest.mark.timeout(600)
def test_memory_descriptors_threads_and_the_log_stay_as_they_are_and_what_has_ended_goes(
    crowd: Crowd, tally: Tally
) -> None:
    crowd.scene.q.schedule("each second", "* * * * * *", "note", {})
    actors = [
        crowd.add_worker("worker", 10),
        crowd.add_producer("producer-a", 0.1),
        crowd.add_producer("producer-b", 0.1, "async"),
    ]
    for actor in actors:
        crowd.see(actor)
    store = of_store(crowd)

    def look() -> dict[str, float]:
        each = {a.name: of_process(a.process.pid) for a in actors if a.process is not None}
        return store() | {
            f"{name} {what}": value for name, told in each.items() for what, value in told.items()
        }

    gauge = Gauge(look)
    gauge.watch(_SECONDS, _EVERY)
    for line in gauge.told():
        say(line)
    assert not (grown := gauge.grown()), grown
    crowd.scene.q.unschedule("each second")
    crowd.rest()
    acked, runs = set(crowd.acked()), {run.job for run in Effects(crowd.scene.folder / "effects").read()}
    assert acked <= runs, f"{len(acked - runs)} jobs never ran"
    until(lambda: rows(crowd) == 0)
    intact(crowd.scene.url)
    tally(jobs=len(runs), seconds=int(_SECONDS), losses=0)
