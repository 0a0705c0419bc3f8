"""Who takes part: each queue with its packages, its driver, the settings to try, and the work it can do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["CONTESTANTS", "Contestant"]

Store = Literal["postgres", "sqlite", "redis"]
Settings = dict[str, Any]
_ALL = frozenset({"enqueue", "enqueue64", "bulk", "drain", "threaded", "wait", "pickup", "steady", "idle"})
_SINGLE_THREADED = _ALL - {"threaded"}
"""Node runs sync handlers on its one event loop: there are no threads to compare."""
_DEEP = frozenset({"depth", "scale", "pinned"})
_NODE = "node@24.21.0"
"""Both queues of Node ask for a newer one than many machines have, and are faster on it."""
_GRAPHILE = ("graphile-worker@0.18.0", "pg@8.23.1", _NODE)


@dataclass(frozen=True)
class Contestant:
    """One queue on one store."""

    name: str
    title: str
    store: Store
    runtime: Literal["own", "python", "node"]
    driver: str
    works: frozenset[str]
    note: str
    packages: tuple[str, ...] = ()
    sweep: tuple[Settings, ...] = field(default=({},))
    """The settings to try; the one that drains fastest is used."""
    sweep_jobs: int = 5_000
    waiting: Settings = field(default_factory=lambda: {"concurrency": 200})
    """What changes for jobs that wait, 200 at a time."""
    count_sql: str = ""
    """How many jobs are not finished, exactly; for the work that looks into a long drain."""

    @property
    def ours(self) -> bool:
        """Whether it is Tenure."""
        return self.runtime == "own"


def _tenure(store: Store, title: str, works: frozenset[str]) -> Contestant:
    return Contestant(
        name=f"tenure-{store}",
        title=title,
        store=store,
        runtime="own",
        driver="drive_tenure.py",
        works=works | {"finished", "groups", "one_group", "unique", "foreign", "failing"},
        note="keeps finished jobs, fences every settle",
        sweep_jobs=20_000,
        count_sql="SELECT count(*) FROM tenure.jobs",
    )


CONTESTANTS: tuple[Contestant, ...] = (
    _tenure("postgres", "Tenure on PostgreSQL", _ALL | _DEEP),
    _tenure("sqlite", "Tenure on SQLite", _ALL | {"depth"}),
    Contestant(
        name="graphile",
        title="graphile-worker",
        store="postgres",
        runtime="node",
        driver="drive_graphile.mjs",
        packages=_GRAPHILE,
        sweep=({"concurrency": 24, "pool": 25}, {"concurrency": 12, "pool": 13}),
        works=_SINGLE_THREADED | _DEEP,
        note="deletes finished jobs; a fetch and a delete per job",
        count_sql="SELECT count(*) FROM graphile_worker._private_jobs",
    ),
    Contestant(
        name="graphile-batched",
        title="graphile-worker, batched",
        store="postgres",
        runtime="node",
        driver="drive_graphile.mjs",
        packages=_GRAPHILE,
        sweep=tuple(
            {"concurrency": 24, "pool": 25, "local": local, "delay": 0} for local in (500, 1_000, 2_000)
        ),
        sweep_jobs=20_000,
        works=_SINGLE_THREADED | _DEEP,
        note="local queue and batched completion; deletes finished jobs; a killed worker's jobs stay locked for 4 hours",
        count_sql="SELECT count(*) FROM graphile_worker._private_jobs",
    ),
    Contestant(
        name="pgboss",
        title="pg-boss",
        store="postgres",
        runtime="node",
        driver="drive_pgboss.mjs",
        packages=("pg-boss@12.35.0", "pg@8.23.1", _NODE),
        sweep=(
            {"batch": 1_000, "fetchers": 1},
            {"batch": 1_000, "fetchers": 2},
            {"batch": 500, "fetchers": 4},
            {"batch": 2_000, "fetchers": 2},
        ),
        sweep_jobs=20_000,
        works=_SINGLE_THREADED | _DEEP,
        note="keeps finished jobs for 7 days; a batch is fetched, handled and completed as one",
        count_sql="SELECT count(*) FROM pgboss.job WHERE name = 'noop' AND state <= 'active'",
    ),
    Contestant(
        name="pgqueuer",
        title="PgQueuer",
        store="postgres",
        runtime="python",
        driver="drive_pgqueuer.py",
        packages=("pgqueuer[asyncpg]==1.6.0", "asyncpg==0.32.0", "uvloop==0.23.0"),
        sweep=({"batch_size": 200}, {"batch_size": 500}, {"batch_size": 1_000}),
        sweep_jobs=20_000,
        waiting={},
        works=_ALL | _DEEP,
        note="moves finished jobs to a log table; completions are buffered up to 0.1 s",
        count_sql="SELECT count(*) FROM pgqueuer",
    ),
    Contestant(
        name="procrastinate",
        title="Procrastinate",
        store="postgres",
        runtime="python",
        driver="drive_procrastinate.py",
        packages=("procrastinate==3.10.0", "psycopg[binary,pool]==3.3.8"),
        sweep=(
            {"concurrency": 4, "pool": 4},
            {"concurrency": 10, "pool": 10},
            {"concurrency": 30, "pool": 10},
        ),
        sweep_jobs=1_500,
        works=_ALL,
        note="keeps finished jobs and an event for every change; fetches one job at a time",
        count_sql="SELECT count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing')",
    ),
    Contestant(
        name="huey",
        title="Huey on SQLite",
        store="sqlite",
        runtime="python",
        driver="drive_huey.py",
        packages=("huey==3.5.4",),
        sweep=tuple({"workers": n, "initial_delay": 0.01, "max_delay": 0.02} for n in (1, 2, 8)),
        sweep_jobs=3_000,
        waiting={"workers": 64},
        works=_ALL - {"bulk"},
        note="deletes a job when it is taken: at most once; polls",
    ),
    Contestant(
        name="celery",
        title="Celery on Redis",
        store="redis",
        runtime="python",
        driver="drive_celery.py",
        packages=("celery[redis]==5.7.0", "redis==8.1.0", "hiredis==3.5.0"),
        sweep=(
            {"pool": "prefork", "concurrency": 2, "worker_prefetch_multiplier": 64},
            {"pool": "prefork", "concurrency": 2, "worker_prefetch_multiplier": 4},
            {"pool": "threads", "concurrency": 16, "worker_prefetch_multiplier": 16},
        ),
        sweep_jobs=2_000,
        waiting={"pool": "threads", "concurrency": 200},
        works=_ALL - {"bulk"},
        note="acknowledges a job when it starts; Redis at its default (snapshots only), so jobs can be lost",
    ),
    Contestant(
        name="dramatiq",
        title="Dramatiq on Redis",
        store="redis",
        runtime="python",
        driver="drive_dramatiq.py",
        packages=("dramatiq[redis]==2.2.1", "redis==8.1.0", "hiredis==3.5.0"),
        sweep=(
            {"processes": 1, "threads": 8},
            {"processes": 1, "threads": 8, "dramatiq_queue_prefetch": 1_000},
            {"processes": 2, "threads": 8, "dramatiq_queue_prefetch": 500},
        ),
        sweep_jobs=5_000,
        waiting={"threads": 200},
        works=_ALL - {"bulk"},
        note="acknowledges when done; Redis at its default (snapshots only), so jobs can be lost",
    ),
)
