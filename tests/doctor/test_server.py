"""What the doctor says of a PostgreSQL server, its vacuum, and this role."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote
from uuid import uuid4

import psycopg
import pytest

import tenure
from tenure.config import PostgresPlace, locate
from tenure.doctor import Finding, Limits
from tenure.doctor.server import pooler
from tenure.doctor.vacuum import _pin, index_bloat
from tenure.store.health import Pin
from tenure.store.postgres.standing import pooling
from tests.doctor.visits import visit, worse
from tests.support import pgbouncer
from tests.support.pgbouncer import PgBouncer
from tests.support.postgres import PostgresServer


def place_of(url: str) -> PostgresPlace:
    place = locate(url)
    assert isinstance(place, PostgresPlace)
    return place


@contextmanager
def connected(url: str, *, autocommit: bool = True) -> Iterator[psycopg.Connection]:
    """Somebody else's connection to the same database."""
    with psycopg.connect(place_of(url).conninfo, autocommit=autocommit) as connection:
        yield connection


def do(url: str, *statements: str) -> None:
    """Run these in Tenure's schema."""
    with connected(url) as connection:
        connection.execute(f'SET search_path = "{place_of(url).schema}"'.encode())
        for statement in statements:
            connection.execute(statement.encode())


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A server as one should be, that knows prepared transactions and logical slots."""
    with PostgresServer(settings={"wal_level": "logical", "max_prepared_transactions": "2"}) as made:
        yield made


def test_a_healthy_server_is_all_well_until_something_is_left_behind(server: PostgresServer) -> None:
    url = server.url()
    with tenure.open(url) as q:
        q.beat("w")
        q.enqueue("send")
        q.schedule("nightly", "@every 1h", "report")
        assert worse(url) == []
    with connected(url) as other:
        other.execute("BEGIN; SELECT pg_current_xact_id(); PREPARE TRANSACTION 'left-behind'")
        [found] = visit(url, "vacuum", transaction=0.0)
        assert found.level == "warning"
        assert found.found.startswith("prepared transaction 'left-behind', open for ")
        assert "COMMIT PREPARED 'left-behind'" in found.fix
        other.execute("ROLLBACK PREPARED 'left-behind'")
        with psycopg.connect(server.create_database("elsewhere"), autocommit=True) as foreign:
            foreign.execute("BEGIN; SELECT pg_current_xact_id(); PREPARE TRANSACTION 'of-others'")
            assert not [f for f in visit(url, "vacuum", transaction=0.0) if "of-others" in f.found]
            foreign.execute("ROLLBACK PREPARED 'of-others'")
        other.execute("SELECT pg_create_logical_replication_slot('nobody', 'test_decoding')")
        [found] = visit(url, "vacuum")
        assert (found.level, "'nobody' is used by nobody" in found.found) == ("warning", True)
        with connected(url, autocommit=False) as busy:
            busy.execute("SELECT pg_current_xact_id()")
            # A slot has no age: it comes after all that has one.
            first, last = visit(url, "vacuum", transaction=0.0)
            assert ("a transaction of pid " in first.found, "'nobody'" in last.found) == (True, True)
        other.execute("SELECT pg_drop_replication_slot('nobody')")
    assert visit(url, "vacuum")[0].level == "ok"


def test_an_old_transaction_keeps_old_rows(on_server: str) -> None:
    with connected(on_server, autocommit=False) as other:
        other.execute("SELECT pg_current_xact_id(), 'secret'")
        pid = other.info.backend_pid
        [found] = [f for f in visit(on_server, "vacuum", transaction=0.0) if str(pid) in f.found]
        assert found.level == "warning"
        assert found.found.startswith(f"a transaction of pid {pid} (idle in transaction), open for ")
        assert "secret" not in found.found
        assert f"pg_terminate_backend({pid})" in found.fix
        old = visit(on_server, "vacuum", transaction=0.0, transaction_error=0.0)
        assert "error" in {finding.level for finding in old}
    assert visit(on_server, "vacuum") == [
        Finding("ok", "vacuum", "no transaction older than 5m, prepared one or slot holds vacuum back")
    ]


def test_commits_that_do_not_reach_the_disk(on_server: str) -> None:
    database = place_of(on_server).conninfo.rpartition("/")[2]
    assert [f.found for f in visit(on_server, "durability") if f.level == "error"] in ([], ["fsync is off"])
    do(on_server, f'ALTER DATABASE "{database}" SET synchronous_commit = off')
    try:
        [found] = [f for f in visit(on_server, "durability") if f.level == "warning"]
        assert found.found == "synchronous_commit is off"
    finally:
        do(on_server, f'ALTER DATABASE "{database}" RESET synchronous_commit')


@pytest.mark.parametrize("table", ["jobs", "attempts"])
def test_old_rows_that_nobody_clears_away(on_server: str, table: str) -> None:
    do(on_server, f"ALTER TABLE {table} SET (autovacuum_enabled = off)")
    [off] = visit(on_server, "autovacuum")
    assert (off.level, off.found) == ("error", f"autovacuum is switched off for the table {table}")
    # In one session, so that the statistics of all of it are there when it ends.
    columns, values = {
        "jobs": (
            "id, lane, queue, kind, rank, payload, max_attempts, run_at, created_at",
            "gen_random_uuid(), 'l', 'q', 'send', 0, '{}', 1, 0, 0",
        ),
        "attempts": (
            "job_id, epoch, attempt, finished_at, error_kind, message",
            "gen_random_uuid(), n, 1, 0, 'E', ''",
        ),
    }[table]
    fill = f"INSERT INTO {table} ({columns}) SELECT {values} FROM generate_series(1, 3000) n"
    do(on_server, fill, f"DELETE FROM {table}", "SELECT pg_stat_force_next_flush()")
    [old] = [f for f in visit(on_server, "bloat", dead_rows=2_000) if f.level != "ok"]
    assert old.level == "note"
    assert old.found.startswith(f"the table {table} has 0 rows and 3,000 old ones in ")
    assert f"VACUUM {table}," in old.fix
    worse = visit(on_server, "bloat", dead_rows=2_000, dead_rows_warning=2_500)
    assert [f.level for f in worse if f.level != "ok"] == ["warning"]
    do(on_server, f"ALTER TABLE {table} RESET (autovacuum_enabled)", f"VACUUM {table}")
    assert {f.level for f in visit(on_server, "bloat", dead_rows=2_000)} == {"ok"}


def test_indexes_much_larger_than_what_they_hold() -> None:
    found = index_bloat("finished", 500 * 2**20, 1_000, Limits())
    assert (found.level, found.found) == ("warning", "the indexes of finished have 500.0 MiB for 1,000 rows")
    assert "REINDEX TABLE CONCURRENTLY finished," in found.fix
    assert index_bloat("finished", 500 * 2**20, 1_000_000, Limits()).level == "ok"


def test_a_standby_that_holds_much_back() -> None:
    behind = _pin(Pin("replication slot", "standby", "active", None, 2_000_000), Limits())
    assert behind is not None
    assert (behind.level, behind.found) == (
        "warning",
        "replication slot 'standby' keeps rows of 2,000,000 transactions",
    )
    assert _pin(Pin("replication slot", "standby", "active", None, 10), Limits()) is None


def test_few_connections_are_left(on_server: str) -> None:
    assert visit(on_server, "connections")[0].level == "ok"
    [found] = visit(on_server, "connections", connections=1.0)
    assert found.level == "warning"
    assert "connections are taken" in found.found


@contextmanager
def role(url: str, *grants: str) -> Iterator[str]:
    """The URL by which a role of these rights comes."""
    name, schema = f"r_{uuid4().hex[:12]}", place_of(url).schema
    do(
        url,
        f"CREATE ROLE {name}",
        f'GRANT USAGE ON SCHEMA "{schema}" TO {name}',
        f"GRANT SELECT ON meta TO {name}",
    )
    try:
        do(url, *(f"GRANT {grant} TO {name}" for grant in grants))
        yield f"{url}&options={quote(f'-c role={name}')}"
    finally:
        do(url, f"DROP OWNED BY {name}", f"DROP ROLE {name}")


def test_a_role_that_may_only_enqueue(on_server: str) -> None:
    rights = (
        "SELECT ON ALL TABLES IN SCHEMA " + f'"{place_of(on_server).schema}"',
        "INSERT ON jobs, requests",
        "INSERT, UPDATE ON ledger",
        "INSERT ON wakes",
        "UPDATE (state, held) ON jobs",
    )
    with role(on_server, *rights) as url:
        with tenure.open(url) as q:
            q.enqueue("send", unique="once", unique_for="1h")
        found = {finding.check: finding for finding in worse(url, listen=0.5)}
    assert found["privileges"].level == "note"
    assert found["privileges"].found.startswith("this role may enqueue, but not work: it lacks DELETE on ")
    assert found["vacuum"].found == "transactions of other roles cannot be seen by this one"
    # It may not ask to be told of jobs: that says nothing of whether workers hear of them.
    assert (found["listen"].level, found["listen"].found) == (
        "note",
        "this role may not ask to be told of new jobs, as workers do",
    )


def test_what_a_role_may_not_look_at_is_no_fault_of_the_store(on_server: str) -> None:
    """A producer may not read schedules, workers or queues; a viewer reads all of it."""
    rights = ("SELECT ON jobs, finished, ledger, sleepers", "INSERT ON jobs, requests, ledger, wakes")
    with role(on_server, *rights) as url:
        found = {finding.check: finding for finding in worse(url)}
    assert found["cron"].level == "note"
    assert found["cron"].found.startswith(
        "it could not be looked at: this role may not do that: permission denied"
    )
    assert found["cron"].fix == "ask with the role of a viewer or a worker"
    everything = f'SELECT ON ALL TABLES IN SCHEMA "{place_of(on_server).schema}"'
    with role(on_server, everything) as url:
        seen = {finding.check: finding.level for finding in worse(url)}
    del seen["durability"]  # the tests' server is told not to sync
    assert seen == {"privileges": "note", "vacuum": "note", "listen": "note"}


def test_a_role_that_may_not_even_enqueue(on_server: str) -> None:
    with role(on_server) as url:
        found = {finding.check: finding for finding in worse(url, listen=0.1)}
    assert found["privileges"].level == "error"
    assert found["privileges"].found.startswith(
        "this role may not even enqueue: it lacks SELECT on finished, "
    )
    assert found["leases"].found.startswith("it could not be looked at: this role may not do that")


def test_a_check_that_gets_no_answer_is_a_finding(on_server: str) -> None:
    with connected(on_server, autocommit=False) as other:
        other.execute(f'LOCK TABLE "{place_of(on_server).schema}".schedules'.encode())
        [found] = visit(on_server, "cron", check=1.0)
    assert (found.level, found.found) == ("error", "there was no answer within 1 s")


def test_a_schema_that_is_not_there_is_not_made(postgres_url: str) -> None:
    [found] = worse(f"{postgres_url}?schema=t_not_there")
    assert (found.level, found.found) == ("error", "0 of 1 migrations are applied")
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT to_regnamespace('t_not_there')").fetchone() == (None,)


def test_a_url_that_says_what_stands_between(on_server: str, postgres_url: str) -> None:
    assert visit(on_server, "pgbouncer") == [Finding("ok", "pgbouncer", "nothing stands between")]
    [found] = visit(f"{on_server}&pgbouncer=true", "pgbouncer")
    assert (found.level, found.found) == (
        "note",
        "the URL says pgbouncer=true, but nothing stands between",
    )
    [found] = visit(f"{on_server}&notify=false", "listen")
    assert found.level == "note"


def test_through_pgbouncer_the_url_must_say_so(on_server: str, postgres_url: str) -> None:
    """Where there is no pgbouncer, the way is straight, and that is what is found."""
    schema = place_of(on_server).schema
    if not pgbouncer.available():
        assert visit(on_server, "pgbouncer")[0].level == "ok"
        return
    with PgBouncer(postgres_url, pool_size=5) as bouncer:
        front = f"{bouncer.url()}?schema={schema}"
        [silent] = visit(f"{front}&pgbouncer=true", "pgbouncer")
        assert silent.level == "note"
        [hears] = visit(f"{front}&pgbouncer=true&listen={quote(postgres_url, safe='')}", "pgbouncer")
        assert hears == Finding(
            "ok", "pgbouncer", "a pooler in transaction mode stands between, and the URL says so"
        )
        [refused] = worse(front)
        assert (refused.level, refused.check) == ("error", "store")
        assert refused.fix.startswith("add pgbouncer=true to the URL")
        [unsaid] = visit(f"{front}&options=", "pgbouncer")
        assert (unsaid.level, unsaid.found) == (
            "error",
            "a pooler in transaction mode stands between, and the URL does not say so",
        )


def test_a_pooler_in_session_mode_is_in_nobody_s_way(on_server: str, postgres_url: str) -> None:
    """Where there is no pgbouncer, as above."""
    if not pgbouncer.available():
        assert visit(on_server, "pgbouncer")[0].level == "ok"
        return
    place = f"?schema={place_of(on_server).schema}&options="
    with PgBouncer(postgres_url, pool_size=20, mode="session") as bouncer:
        [found] = visit(bouncer.url() + place, "pgbouncer")
        assert (found.level, found.fix) == ("ok", "")
        assert "in session mode as far as can be told" in found.found
        [needless] = visit(f"{bouncer.url()}{place}&pgbouncer=true", "pgbouncer")
        assert needless.level == "note"
        assert needless.fix.startswith("if its pool_mode is session, leave pgbouncer=true out")


def test_a_pooler_that_has_no_second_connection_to_give_is_not_judged(postgres_url: str) -> None:
    """Where there is no pgbouncer, as above."""
    if not pgbouncer.available():
        assert pooling(place_of(postgres_url)) == "none"
        return
    with PgBouncer(postgres_url, pool_size=1, mode="session") as bouncer:
        place = place_of(f"{bouncer.url()}?options=")
        assert pooling(place) == "unknown"
        [found] = pooler(place)
        assert (found.level, found.check) == ("note", "pgbouncer")
