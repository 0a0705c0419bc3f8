"""`make bench-layouts`: what claim + settle cost in the data layouts the schema could have had, in one interleaved run.

Every layout does the same work: batches of 200, fenced by epoch, payloads of about 100 bytes, all durable, history kept.
SQLite claims and settles in turn, on one connection; PostgreSQL in two threads, on two. `vacuum pinned` is rounds one
after another while an old transaction keeps vacuum from removing anything: the first of them and the last.

Prints a Markdown table (medians, jobs a second); a whole run writes bench/results/layouts.json. `--quick` is smaller,
`--only postgres|sqlite` half.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import msgspec
import psycopg
from uuid_utils import uuid7

from bench.fill import PAYLOAD
from bench.measure import Report, canary, interleave, say
from bench.store import BATCH, drain, in_turn, overlapped
from tenure.newjob import lane_of
from tests.support.postgres import PostgresServer

LANE = lane_of("default", "k", 0)
LEASE = 30_000_000
START = (0, 0)
PINNED_ROUNDS = 6

# The columns, beside id and seq: what changes, what only pending jobs have, what only finished ones, what never changes.
MOVING = (
    "epoch bigint NOT NULL DEFAULT 0, attempt integer NOT NULL DEFAULT 0, crashes integer NOT NULL DEFAULT 0,"
    "run_at bigint NOT NULL, started_at bigint, cancel_at bigint, worker text, trace text, reason text, error text,"
    "progress real, progress_note text"
)
STATE = "state text NOT NULL, outcome text, settled_epoch bigint"
PENDING = "lane text NOT NULL, lease_until bigint, held integer"
ENDED = "finished_at bigint, result text"
FIXED = (
    "created_at bigint NOT NULL, rank integer NOT NULL, max_attempts integer NOT NULL, queue text NOT NULL,"
    "kind text NOT NULL, payload text NOT NULL, expires_at bigint, unique_hash text, group_key text,"
    "group_limit integer, parent text, flow text, tenant text, extra text"
)
ONE = [("jobs", f"{STATE}, {MOVING}, {ENDED}, {PENDING}, {FIXED}")]
APART = [
    ("jobs", f"{STATE}, {MOVING}, {PENDING}, {FIXED}"),
    ("finished", f"{STATE}, {MOVING}, {ENDED}, {FIXED}"),
]
NARROW = [("jobs", f"{STATE}, {MOVING}, {ENDED}, {PENDING}"), ("bodies", FIXED)]
CARRIED = ", ".join(column.split()[0] for column in f"id, seq, {MOVING}, {FIXED}".split(","))
CLAIMED = (
    "j.attempt, j.crashes, j.run_at, j.started_at, j.error, created_at, rank, max_attempts, queue, kind, payload,"
    "expires_at, group_key, group_limit, parent, flow, tenant, extra"
)


@dataclass(frozen=True)
class Layout:
    """`take` takes what `claim` chose, where claim does not do both; `settle` is run one text after another."""

    name: str
    tables: list[tuple[str, str]]
    claim: str
    settle: list[str]
    take: str = ""


def micros() -> int:
    return time.time_ns() // 1000


def done_in(layout: Layout) -> str:
    """Counts the jobs that are done, to be sure that they were."""
    return f"SELECT count(*) FROM {'finished' if layout.tables is APART else 'jobs'} WHERE state = 'done'"


# SQLite

INSERT = (
    "INSERT INTO jobs (id, seq, state, run_at, lane, created_at, rank, max_attempts, queue, kind, payload)"
    " VALUES (:id, :seq, 'ready', :now, :lane, :now, 0, 5, 'default', 'k', :payload)"
)
INSERT_STATE = "INSERT INTO jobs (id, seq, state, run_at, lane) VALUES (:id, :seq, 'ready', :now, :lane)"
INSERT_BODY = (
    "INSERT INTO bodies (seq, created_at, rank, max_attempts, queue, kind, payload)"
    " VALUES (:seq, :now, 0, 5, 'default', 'k', :payload)"
)
FIRST = (
    "FROM jobs j INDEXED BY jobs_ready {join} WHERE j.state = 'ready' AND j.lane = :lane"
    " ORDER BY j.run_at, j.seq LIMIT :limit"
)
SELECT = f"SELECT j.seq, j.id, j.epoch + 1, {CLAIMED} {FIRST}"
TAKE = (
    "UPDATE jobs AS j SET state = 'running', attempt = attempt + 1, epoch = epoch + 1, lease_until = :until, worker = 'w',"
    " started_at = :now WHERE seq IN ({seqs})"
)
TAKE_FIRST = f"{TAKE.format(seqs='SELECT j.seq ' + FIRST.format(join=''))} RETURNING seq, id, epoch, {CLAIMED.replace('j.', '')}"
TAKE_LIST = TAKE.format(seqs="SELECT value FROM json_each(:seqs)")
FENCE = "WHERE seq = :seq AND id = :id AND epoch = :epoch AND state = 'running'"
FINISH = (
    "UPDATE jobs SET state = 'done', lease_until = NULL, finished_at = :now, outcome = 'done', settled_epoch = epoch,"
    f" error = NULL, reason = NULL, result = NULL {FENCE}"
)
MOVE = (
    f"INSERT INTO finished (state, outcome, settled_epoch, finished_at, {CARRIED})"
    f" SELECT 'done', 'done', epoch, :now, {CARRIED} FROM jobs {FENCE}"
)
PICK, JOIN = SELECT.format(join=""), SELECT.format(join="CROSS JOIN bodies b ON b.seq = j.seq")
SQLITE = [
    Layout("one table, UPDATE … RETURNING", ONE, TAKE_FIRST, [FINISH]),
    Layout("one table, SELECT then UPDATE", ONE, PICK, [FINISH], take=TAKE_LIST),
    Layout("finished jobs apart", APART, PICK, [MOVE, f"DELETE FROM jobs {FENCE}"], take=TAKE_LIST),
    Layout("states and bodies apart", NARROW, JOIN, [FINISH], take=TAKE_LIST),
]


def drain_sqlite(layout: Layout, count: int) -> float:
    """Jobs a second, in a new file."""
    with tempfile.TemporaryDirectory() as folder:
        db = apsw.Connection(str(Path(folder) / "layout.db"))
        for text in ("journal_mode = WAL", "synchronous = FULL", "cache_size = -32768"):
            db.execute(f"PRAGMA {text}").fetchall()  # what is not fetched may not be run
        for name, columns in layout.tables:
            key = "seq integer PRIMARY KEY" + (", id text NOT NULL UNIQUE" if name != "bodies" else "")
            db.execute(f"CREATE TABLE {name} ({key}, {columns.replace('bigint', 'integer')}) STRICT")
        db.execute("CREATE INDEX jobs_ready ON jobs (lane, run_at) WHERE state = 'ready'")
        db.execute("CREATE INDEX jobs_lease ON jobs (lease_until) WHERE lease_until IS NOT NULL")
        job = {"now": micros(), "lane": LANE, "payload": PAYLOAD}
        jobs = [{**job, "id": str(uuid7()), "seq": seq} for seq in range(1, count + 1)]
        with db:
            for text in [INSERT_STATE, INSERT_BODY] if layout.tables is NARROW else [INSERT]:
                db.executemany(text, jobs)

        def claim() -> list[Any]:
            now = micros()
            given = {"lane": LANE, "limit": BATCH, "now": now, "until": now + LEASE}
            with db:
                rows = db.execute(layout.claim, given).fetchall()
                if layout.take and rows:
                    seqs = msgspec.json.encode([row[0] for row in rows]).decode()
                    db.execute(layout.take, {**given, "seqs": seqs})
            return rows

        def settle(rows: list[Any]) -> None:
            now = micros()
            given = [{"seq": row[0], "id": row[1], "epoch": row[2], "now": now} for row in rows]
            with db:
                for text in layout.settle:
                    db.executemany(text, given)

        rate = drain(count, in_turn, claim, settle)
        assert db.execute(done_in(layout)).fetchone() == (count,)
        db.close()
    return rate


# PostgreSQL

PG_KEY = "id uuid PRIMARY KEY, seq bigint GENERATED BY DEFAULT AS IDENTITY"
PG_WITH = "autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0"
PG_COPY = "COPY jobs (id, run_at, created_at, rank, max_attempts, state, queue, kind, lane, payload) FROM STDIN"  # fmt: skip
PG_CLAIM = (
    "UPDATE jobs j SET state = 'running', attempt = j.attempt + 1, epoch = j.epoch + 1, lease_until = $1::bigint +"
    f" {LEASE}, worker = 'w', started_at = $1::bigint WHERE j.id = ANY (ARRAY(SELECT id FROM jobs WHERE state = 'ready'"
    " AND lane = $2::text {mark} ORDER BY run_at, seq LIMIT $3::integer FOR UPDATE SKIP LOCKED))"
    f" RETURNING j.run_at, j.seq, j.id::text, j.epoch, {CLAIMED}"
)
PG_GIVEN = "unnest($1::text::uuid[], $2::text::bigint[]) AS c(id, epoch)"
PG_FENCE = "WHERE j.id = c.id AND j.epoch = c.epoch AND j.state = 'running'"
PG_FINISH = (
    "UPDATE jobs j SET state = 'done', lease_until = NULL, finished_at = $3::bigint, outcome = 'done',"
    f" settled_epoch = j.epoch, error = NULL, reason = NULL, result = NULL FROM {PG_GIVEN} {PG_FENCE}"
)
PG_MOVE = (
    f"WITH gone AS (DELETE FROM jobs j USING {PG_GIVEN} {PG_FENCE} RETURNING j.*)"
    f" INSERT INTO finished (state, outcome, settled_epoch, finished_at, {CARRIED})"
    f" SELECT 'done', 'done', epoch, $3::bigint, {CARRIED} FROM gone"
)
PG_FROM_START = PG_CLAIM.format(mark="")
PG_FROM_MARK = PG_CLAIM.format(mark="AND (run_at, seq) >= ($4::bigint, $5::bigint)")


POSTGRES = [
    Layout("one table", ONE, PG_FROM_START, [PG_FINISH]),
    Layout("finished jobs apart", APART, PG_FROM_START, [PG_MOVE]),
    Layout("finished jobs apart, marks", APART, PG_FROM_MARK, [PG_MOVE]),
]


@contextmanager
def postgres_rounds(url: str, layout: Layout) -> Iterator[Callable[[int], float]]:
    """Jobs a second, round after round in the same new tables and by the same connections.

    With marks, a claim reads from where the last one ended, and from the start when nothing is left there.
    """
    schema, marks = layout.name.replace(",", "").replace(" ", "_"), layout.claim == PG_FROM_MARK
    options = f"-c search_path={schema} -c enable_seqscan=off -c jit=off"  # as the store has it
    connect = partial(psycopg.connect, url, autocommit=True, prepare_threshold=0, options=options)
    with connect() as claims, connect() as settles:
        one, two = psycopg.RawCursor(claims), psycopg.RawCursor(settles)
        claims.execute(f"CREATE SCHEMA {schema}".encode())
        for name, columns in layout.tables:
            room = 85 if name == "jobs" else 100
            text = f"CREATE TABLE {name} ({PG_KEY}, {columns}) WITH (fillfactor = {room}, {PG_WITH})"
            claims.execute(text.encode())
        claims.execute("CREATE INDEX jobs_ready ON jobs (lane, run_at, seq) WHERE state = 'ready'")
        claims.execute("CREATE INDEX jobs_lease ON jobs (lease_until) WHERE lease_until IS NOT NULL")
        mark, done = START, 0

        def take(start: tuple[int, ...]) -> list[Any]:
            given = (micros(), LANE, BATCH, *(start if marks else ()))
            return one.execute(layout.claim.encode(), given, binary=True).fetchall()

        def claim() -> list[Any]:
            nonlocal mark
            rows = take(mark)
            if marks:
                rows = rows or take(START)
                mark = max((row[:2] for row in rows), default=mark)
            return rows

        def settle(rows: list[Any]) -> None:
            ids, epochs = ",".join(row[2] for row in rows), ",".join(str(row[3]) for row in rows)
            for text in layout.settle:
                two.execute(text.encode(), (f"{{{ids}}}", f"{{{epochs}}}", micros()))

        def one_round(count: int) -> float:
            nonlocal done
            now = micros()
            with claims.cursor().copy(PG_COPY) as copy:
                for _ in range(count):
                    copy.write_row((str(uuid7()), now, now, 0, 5, "ready", "default", "k", LANE, PAYLOAD))
            claims.execute("VACUUM ANALYZE jobs")
            rate = drain(count, overlapped, claim, settle)
            done += count
            assert claims.execute(done_in(layout).encode()).fetchone() == (done,)
            return rate

        one_round(10 * BATCH)  # warms connections and plans
        yield one_round
        claims.execute(f"DROP SCHEMA {schema} CASCADE".encode())


def drain_postgres(url: str, layout: Layout, count: int) -> float:
    with postgres_rounds(url, layout) as one_round:
        return one_round(count)


def pinned(url: str, count: int) -> dict[str, list[int]]:
    """Each round's jobs a second, while an old transaction keeps vacuum from removing anything."""
    say(f"postgres: {PINNED_ROUNDS} rounds behind a transaction that pins vacuum")
    with ExitStack() as stack:
        rounds = {x.name: stack.enter_context(postgres_rounds(url, x)) for x in POSTGRES}
        old = stack.enter_context(psycopg.connect(url))
        old.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        old.execute("SELECT pg_current_xact_id()")
        cells = interleave(PINNED_ROUNDS, **{name: partial(run, count) for name, run in rounds.items()})
    return {name: [round(value) for value in cell.values] for name, cell in cells.items()}


def measure(report: Report, store: str, rounds: int, work: Mapping[str, Callable[[], float]]) -> None:
    """A row for each layout."""
    say(f"{store}: claim + settle, batches of {BATCH}")
    report.canaries.append(canary())
    for name, cell in interleave(rounds, **work).items():
        values = [round(value) for value in cell.values]
        report.rows.append({"store": store, "layout": name, "median": round(cell.median), "values": values})
    report.canaries.append(canary())


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(prog="make bench-layouts", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller figures, in seconds")
    parser.add_argument("--only", choices=["postgres", "sqlite"], help="one store")
    given = parser.parse_args()
    rounds, count = (1, 5_000) if given.quick else (3, 20_000)
    report = Report("Claim + settle in the data layouts the schema could have had, jobs a second")
    if given.only != "postgres":
        measure(report, "sqlite", rounds, {x.name: partial(drain_sqlite, x, count) for x in SQLITE})
    if given.only != "sqlite":
        settings = {"shared_buffers": "512MB", "max_wal_size": "8GB"}
        with PostgresServer(durable=True, settings=settings) as server:
            work = {x.name: partial(drain_postgres, server.url(), x, count) for x in POSTGRES}
            measure(report, "postgres", rounds, work)
            behind = pinned(server.url(), count)
        for row in report.rows[-len(POSTGRES) :]:
            row["pinned"] = behind[row["layout"]]
    print("| store | layout | jobs/s | vacuum pinned, first round | last round |\n|---|---|--:|--:|--:|")
    for row in report.rows:
        first, last = (f"{row['pinned'][at]:,}" if "pinned" in row else "" for at in (0, -1))
        print(f"| {row['store']} | {row['layout']} | {row['median']:,} | {first} | {last} |")
    if not given.quick and not given.only:
        report.keep("layouts")


if __name__ == "__main__":
    main()
