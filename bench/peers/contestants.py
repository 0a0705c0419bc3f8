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
)
