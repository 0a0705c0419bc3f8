"""Freezes stores as the first release writes them: `make freeze` fills one of each and keeps them in `first/`.

Until the first release this is run whenever migration 0001 changes; after it never again, and these stores stay for ever.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg
from psycopg import sql

import tenure
from tenure.store.open import script_at
from tests.support import postgres
from tests.support.states import take

__all__ = ["FACTS", "FIRST", "fill", "restore_postgres", "restore_sqlite"]

FIRST = Path(__file__).parent / "first"
FACTS = FIRST / "facts.json"
_SQLITE, _POSTGRES = FIRST / "sqlite.db.gz", FIRST / "postgres.sql.gz"


def fill(q: tenure.Queue) -> dict[str, Any]:
    """Something of everything; what a later release must find again."""
    q.hook("sorry", "apologise")
    q.schedule("nightly", "0 3 * * *", "report", tz="Europe/Berlin")
    q.beat("w")
    ready = q.enqueue(
        "ready", {"n": 1, "text": "a\u00e4\U0001f600"}, priority=5, tags=["t"], meta={"m": "1"}
    ).id
    scheduled = q.enqueue("scheduled", delay="100000h").id
    first, second = (q.enqueue("grouped", n, group="g").id for n in range(2))
    held = q.enqueue("unique", unique="slot").id
    done = q.enqueue("done").id
    assert q.settle(take(q, done), tenure.Done({"sent": True}))
    sorry = q.enqueue("sorry", request=tenure.Request(b"body \x00\xff", {"h": "v"})).id
    assert q.settle(take(q, sorry), tenure.Fail("first", retry_in=0))
    assert q.settle(take(q, sorry), tenure.Bury("hopeless", "second"))
    cancelled = q.enqueue("cancelled").id
    q.cancel(cancelled)
    period = q.enqueue("period", unique="hook:1", unique_for="800000h").id
    running = q.enqueue("running", [1, 2]).id
    [claim] = q.claim(kinds=["running"], worker="w", lease="1h")
    q.pause("paused")
    q.set_note("agreed", "text")
    q.add_audit("ann", "cancel", "id:1", count=1)
    named = {
        "ready": ready, "scheduled": scheduled, "grouped": first, "waiting": second, "unique": held, "done": done,
        "dead": sorry, "cancelled": cancelled, "period": period, "running": running,
    }  # fmt: skip
    return {"ids": named, "claim": list(claim.row), "jobs": {name: _seen(q, i) for name, i in named.items()}}


def _seen(q: tenure.Queue, job_id: str) -> dict[str, Any]:
    job = q.get(tenure.JobId(job_id))
    assert job is not None
    return {
        "state": job.state,
        "kind": job.kind,
        "payload": job.payload,
        "priority": job.priority,
        "attempt": job.attempt,
    }


def _sqlite() -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "jobs.db"
        with tenure.open(f"sqlite:///{path}") as q:
            facts = fill(q)
        _SQLITE.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    return facts


def _postgres(url: str) -> dict[str, Any]:
    with tenure.open(url) as q:
        facts = fill(q)
    parts = [script_at(url)]
    with psycopg.connect(url) as link:
        names = link.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'tenure'::regnamespace AND relkind = 'r' "
            "AND relname NOT IN ('meta', 'sleepers') ORDER BY 1"
        ).fetchall()
        for (name,) in names:
            cursor = link.execute(f"SELECT * FROM tenure.{name}".encode())
            columns = ", ".join(column.name for column in cursor.description or ())
            for row in cursor:
                values = sql.SQL(", ").join(sql.Literal(value) for value in row).as_string(link)
                parts.append(f'INSERT INTO "tenure".{name} ({columns}) VALUES ({values});')
        parts.append("""SELECT setval('"tenure".jobs_seq_seq', 1000);""")
    _POSTGRES.write_bytes(gzip.compress("\n".join(parts).encode(), mtime=0))
    return facts


def restore_sqlite(path: Path) -> str:
    """The frozen file, put there; its URL."""
    path.write_bytes(gzip.decompress(_SQLITE.read_bytes()))
    return f"sqlite:///{path}"


def frozen_dump() -> str:
    """What was dumped from PostgreSQL."""
    return gzip.decompress(_POSTGRES.read_bytes()).decode()


def restore_postgres(url: str, schema: str) -> str:
    """The frozen dump, played into a schema; its URL."""
    text = frozen_dump().replace('"tenure".', f'"{schema}".').replace('EXISTS "tenure"', f'EXISTS "{schema}"')
    with psycopg.connect(url, autocommit=True) as link:
        link.execute(text.encode())
    return f"{url}?schema={schema}"


def main() -> int:
    """Fill and keep one store of each kind."""
    FIRST.mkdir(exist_ok=True)
    server = postgres.serve_run()
    try:
        facts = {"sqlite": _sqlite(), "postgres": _postgres(postgres.worker_database())}
        postgres.drop_worker_database()
    finally:
        postgres.end_run(server)
    FACTS.write_text(json.dumps(facts, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
