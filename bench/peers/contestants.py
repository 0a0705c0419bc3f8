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
_DEEP = frozenset({"depth", "scale", "pinned", "footprint"})
_SHAPED = frozenset({"groups", "one_group", "unique", "failing"})
_CHUNKS = (1_000, 5_000, 20_000, 100_000)
"""For those that take as many jobs in one call as anybody may want to give them."""
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
    apart: Settings = field(default_factory=dict)
    """What changes for a worker that is not to take jobs of foreign kinds."""
    elsewhere: Settings = field(default_factory=dict)
    """What makes a worker take nothing of what is enqueued as noop, while it listens."""
    foreign_sql: str = ""
    """Stores {count} ready jobs that its workers do not know, where its own bulk call is too slow for that."""
    history_sql: str = ""
    """Stores {count} finished jobs of the kind noop, and what is kept of each: by SQL, for to do them all would take minutes."""
    chunks: tuple[int, ...] = (1_000, 5_000, 20_000)
    """How many jobs a bulk call may have; the one that stores fastest is used."""
    count_sql: str = ""
    """How many jobs are not finished, of whatever kind, exactly; where it is not told, what takes long cannot be cut."""
    marks_sql: str = ""
    """Ids of jobs of the kind noop that are not finished, by their places (%s: a list, from 1 on) in the order in which
    workers will take them. Reads everything: for once, before they start."""
    unfinished_sql: str = ""
    """Whether the job with the id %s is not finished: one probe of an index, to watch a long drain by marks."""

    @property
    def at_once(self) -> int | None:
        """How many jobs that wait one worker of it has at a time; None: without a limit, or by threads of each process."""
        return self.waiting.get("concurrency")

    @property
    def ours(self) -> bool:
        """Whether it is Tenure."""
        return self.runtime == "own"


def _marks(table: str, rule: str, order: str) -> str:
    places = f"SELECT id, row_number() OVER (ORDER BY {order}) AS n FROM {table} WHERE {rule}"
    return f"SELECT id::text FROM ({places}) AS t WHERE n = ANY(%s) ORDER BY n"


_GRAPHILE_SQL: dict[str, Any] = {
    "count_sql": "SELECT count(*) FROM graphile_worker._private_jobs",
    "marks_sql": _marks(
        "graphile_worker._private_jobs",
        "task_id = (SELECT id FROM graphile_worker._private_tasks WHERE identifier = 'noop')",
        "priority, run_at, id",
    ),
    "unfinished_sql": "SELECT EXISTS (SELECT FROM graphile_worker._private_jobs WHERE id = %s::bigint)",
}


def _tenure(store: Store, title: str, works: frozenset[str], note: str) -> Contestant:
    return Contestant(
        name=f"tenure-{store}",
        title=title,
        store=store,
        runtime="own",
        driver="drive_tenure.py",
        elsewhere={"queues": ["elsewhere"]},
        works=works | _SHAPED | {"finished", "foreign", "enqueue_heard"},
        note=note,
        sweep_jobs=40_000,
        chunks=_CHUNKS,
        count_sql="SELECT count(*) FROM tenure.jobs",
        marks_sql=_marks("tenure.jobs", "kind = 'noop'", "run_at, seq"),
        unfinished_sql="SELECT EXISTS (SELECT FROM tenure.jobs WHERE id = %s::uuid)",
    )


CONTESTANTS: tuple[Contestant, ...] = (
    _tenure(
        "postgres", "Tenure on PostgreSQL", _ALL | _DEEP, note="keeps finished jobs, fences every settle"
    ),
    _tenure(
        "sqlite",
        "Tenure on SQLite",
        _ALL | {"depth", "footprint"},
        note="keeps finished jobs, fences every settle; settles and enqueues wait for the disk, claims do not",
    ),
    Contestant(
        name="graphile",
        title="graphile-worker",
        store="postgres",
        runtime="node",
        driver="drive_graphile.mjs",
        packages=_GRAPHILE,
        sweep=({"concurrency": 24, "pool": 25}, {"concurrency": 12, "pool": 13}),
        works=_SINGLE_THREADED | _DEEP | _SHAPED,
        note="deletes finished jobs; a fetch and a delete per job; a first retry comes after 2.7 s at the soonest; beside"
        " foreign jobs only its batched form is measured",
        chunks=_CHUNKS,
        **_GRAPHILE_SQL,
    ),
    Contestant(
        name="graphile-batched",
        title="graphile-worker, batched",
        store="postgres",
        runtime="node",
        driver="drive_graphile.mjs",
        packages=_GRAPHILE,
        sweep=tuple(
            {"concurrency": concurrency, "pool": concurrency + 1, "local": local, "delay": 0}
            for concurrency, local in (
                (24, 500),
                (24, 1_000),
                (24, 2_000),
                (24, 4_000),
                (24, 8_000),
                (48, 4_000),
                (48, 8_000),
            )
        ),
        sweep_jobs=40_000,
        elsewhere={"only": "stamp"},
        works=_SINGLE_THREADED | _DEEP | _SHAPED | {"foreign", "enqueue_heard"},
        note="local queue and batched completion; deletes finished jobs; a killed worker's jobs stay locked for 4 hours;"
        " a first retry comes after 2.7 s at the soonest; foreign jobs by its own bulk call, under another identifier",
        chunks=_CHUNKS,
        **_GRAPHILE_SQL,
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
            {"batch": 2_000, "fetchers": 1},
            {"batch": 4_000, "fetchers": 1},
            {"batch": 2_000, "fetchers": 2},
            {"batch": 4_000, "fetchers": 2},
            {"batch": 4_000, "fetchers": 3},
            {"batch": 8_000, "fetchers": 2},
        ),
        sweep_jobs=40_000,
        elsewhere={"only": "stamp"},
        works=_SINGLE_THREADED | _DEEP | _SHAPED | {"foreign", "finished", "enqueue_heard"},
        note="keeps finished jobs for 7 days; a batch is fetched, handled and completed as one; groups and keys are a"
        " policy of the whole queue; foreign jobs by its own bulk call, in another queue, finished ones by SQL",
        history_sql="INSERT INTO pgboss.job (name, data, state, started_on, completed_on) SELECT 'noop',"
        " jsonb_build_object('n', i, 'pad', repeat('x', 80)), 'completed', now(), now() FROM generate_series(1, {count}) AS i",
        chunks=_CHUNKS,
        count_sql="SELECT count(*) FROM pgboss.job WHERE left(name, 2) <> '__' AND state <= 'active'",
        marks_sql=_marks(
            "pgboss.job",
            "name = 'noop' AND state < 'active' AND NOT blocked",
            "priority DESC, created_on, start_after, ctid",
        ),
        unfinished_sql="SELECT EXISTS (SELECT FROM pgboss.job WHERE name = 'noop' AND id = %s::uuid AND state <= 'active')",
    ),
    Contestant(
        name="pgqueuer",
        title="PgQueuer",
        store="postgres",
        runtime="python",
        driver="drive_pgqueuer.py",
        packages=("pgqueuer[asyncpg]==1.6.0", "asyncpg==0.32.0", "uvloop==0.23.0"),
        sweep=(
            {"batch_size": 250},
            {"batch_size": 500},
            {"batch_size": 1_000},
            {"batch_size": 2_000},
            {"batch_size": 1_000, "pool": 8},
            {"batch_size": 1_000, "max_concurrent_tasks": 4_000},
            {"batch_size": 2_000, "max_concurrent_tasks": 8_000},
            {"batch_size": 2_000, "max_concurrent_tasks": 8_000, "pool": 8},
        ),
        sweep_jobs=40_000,
        waiting={},
        elsewhere={"only": "stamp"},
        works=_ALL | _DEEP | {"unique", "failing", "foreign", "finished", "enqueue_heard"},
        note="moves finished jobs to a log table; completions are buffered up to 0.1 s; retries one statement a job;"
        " has no groups; foreign jobs by its own bulk call, for another entrypoint, finished ones"
        " (three rows of its log each) by SQL",
        history_sql="INSERT INTO pgqueuer_log (job_id, status, entrypoint, priority)"
        " SELECT -i, status::pgqueuer_status, 'noop', 0"
        " FROM generate_series(1, {count}) AS i, unnest(ARRAY['queued', 'picked', 'successful']) AS status",
        chunks=_CHUNKS,
        count_sql="SELECT count(*) FROM pgqueuer",
        marks_sql=_marks("pgqueuer", "entrypoint = 'noop'", "priority DESC, id"),
        unfinished_sql="SELECT EXISTS (SELECT FROM pgqueuer WHERE id = %s::bigint)",
    ),
    Contestant(
        name="procrastinate",
        title="Procrastinate",
        store="postgres",
        runtime="python",
        driver="drive_procrastinate.py",
        packages=("procrastinate==3.10.0", "psycopg[binary,pool]==3.3.8"),
        sweep=(
            {"concurrency": 1, "pool": 4},
            {"concurrency": 2, "pool": 4},
            {"concurrency": 4, "pool": 4},
            {"concurrency": 10, "pool": 10},
            {"concurrency": 30, "pool": 10},
        ),
        sweep_jobs=1_500,
        apart={"queues": ["default"]},
        elsewhere={"queues": ["elsewhere"]},
        works=_ALL | _SHAPED | {"footprint", "foreign", "finished", "enqueue_heard"},
        note="keeps finished jobs and an event for every change; fetches one job at a time; a worker chooses queues, not"
        " kinds: foreign jobs by its own bulk call, in another queue; finished ones (with three events each) by SQL",
        # Without its triggers, and without the look at each event's job.
        history_sql="SET session_replication_role = replica;"
        " WITH jobs AS (INSERT INTO procrastinate_jobs (queue_name, task_name, args, status, attempts) SELECT 'default', 'noop',"
        " jsonb_build_object('n', i, 'pad', repeat('x', 80)), 'succeeded', 1 FROM generate_series(1, {count}) AS i RETURNING id)"
        " INSERT INTO procrastinate_events (job_id, type) SELECT id, type::procrastinate_job_event_type"
        " FROM jobs, unnest(ARRAY['deferred', 'started', 'succeeded']) AS type",
        chunks=_CHUNKS,
        count_sql="SELECT count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing')",
    ),
    Contestant(
        name="huey",
        title="Huey on SQLite",
        store="sqlite",
        runtime="python",
        driver="drive_huey.py",
        packages=("huey==3.5.4",),
        sweep=(
            *({"workers": n, "initial_delay": 0.01, "max_delay": 0.02} for n in (1, 2, 8)),
            {"workers": 1, "initial_delay": 0.001, "max_delay": 0.002},
            {"workers": 2, "worker_type": "process", "initial_delay": 0.01, "max_delay": 0.02},
        ),
        sweep_jobs=3_000,
        waiting={"workers": 64, "worker_type": "thread"},
        works=(_ALL - {"bulk"}) | {"failing", "footprint", "foreign"},
        note="deletes a job when it is taken: at most once; polls; has no groups, and no keys for jobs; a worker has one"
        " queue: foreign jobs by SQL, in another one of the same table",
        foreign_sql="WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})"
        " INSERT INTO task (queue, data) SELECT 'elsewhere', randomblob(200) FROM n",
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
            {"pool": "solo", "concurrency": 1, "worker_prefetch_multiplier": 64},
            {"pool": "solo", "concurrency": 1, "worker_prefetch_multiplier": 256},
        ),
        sweep_jobs=2_000,
        waiting={"pool": "threads", "concurrency": 200},
        works=(_ALL - {"bulk"}) | {"failing"},
        note="acknowledges a job when it starts; Redis at its default (snapshots only), so jobs can be lost; has no groups"
        " and no keys; each queue is a list of its own, so no foreign jobs stand in it",
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
            {"processes": 2, "threads": 8, "dramatiq_queue_prefetch": 1_000},
            {"processes": 2, "threads": 16, "dramatiq_queue_prefetch": 1_000},
        ),
        sweep_jobs=5_000,
        waiting={"threads": 200},
        works=(_ALL - {"bulk"}) | {"failing"},
        note="acknowledges when done; Redis at its default (snapshots only), so jobs can be lost; has no groups and no keys;"
        " each queue is a list of its own, so no foreign jobs stand in it",
    ),
)
