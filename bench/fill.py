"""Large stores, filled by SQL of our own so that it takes seconds: ready, scheduled, finished and foreign jobs."""

from __future__ import annotations

from typing import Protocol

from tenure.newjob import lane_of

__all__ = ["Execute", "fill_postgres", "fill_sqlite"]

PAYLOAD = (
    '{"to":"somebody@example.com","subject":"hello there","body":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}'
)


class Execute(Protocol):
    """Runs one statement."""

    def __call__(self, text: str) -> object: ...


def fill_postgres(
    execute: Execute, state: str, count: int, *, kind: str = "k", queue: str = "default"
) -> None:
    """`count` jobs of one state."""
    if not count:
        return
    lane = lane_of(queue, kind, 0).replace("\x1f", "' || E'\\x1f' || '")
    now = "(date_part('epoch', clock_timestamp()) * 1000000)::bigint"
    identity = "(lpad(to_hex((random() * 9e14)::bigint), 12, '0') || '7000' || lpad(to_hex((random() * 9e15)::bigint), 16, '8'))::uuid"
    if state == "done":
        execute(
            "INSERT INTO tenure.finished (id, seq, epoch, run_at, created_at, started_at, finished_at, rank, attempt,"
            " max_attempts, crashes, state, queue, kind, payload, worker, outcome, settled_epoch)"
            f" SELECT {identity}, -i, 1, {now}, {now}, {now}, {now}, 0, 1, 5, 0, 'done', '{queue}', '{kind}', '{PAYLOAD}',"
            f" 'w', 'done', 1 FROM generate_series(1, {count}) i"
        )
    else:
        due = f"{now} + 86400000000" if state == "scheduled" else now
        execute(
            "INSERT INTO tenure.jobs (id, run_at, created_at, rank, max_attempts, state, queue, kind, lane, payload)"
            f" SELECT {identity}, {due}, {now}, 0, 5, '{state}', '{queue}', '{kind}', '{lane}', '{PAYLOAD}'"
            f" FROM generate_series(1, {count}) i"
        )


def fill_sqlite(execute: Execute, state: str, count: int, *, kind: str = "k", queue: str = "default") -> None:
    """`count` jobs of one state."""
    if not count:
        return
    now = "(unixepoch() * 1000000)"
    due = f"{now} + 86400000000" if state == "scheduled" else now
    finished = now if state == "done" else "NULL"
    execute(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < "
        f"{count}) INSERT INTO tenure_jobs (id, run_at, created_at, rank, max_attempts, state, queue, kind, lane, payload,"
        f" finished_at) SELECT lower(hex(randomblob(16))), {due}, {now}, 0, 5, '{state}', '{queue}', '{kind}',"
        f" '{lane_of(queue, kind, 0)}', '{PAYLOAD}', {finished} FROM n"
    )
