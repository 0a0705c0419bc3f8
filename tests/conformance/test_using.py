"""using: the queue inside the caller's own transaction, on every kind of connection a caller may bring."""

from __future__ import annotations

import sqlite3
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import aiosqlite
import apsw
import psycopg
import pytest
from psycopg.rows import dict_row
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import async_scoped_session, create_async_engine
from sqlalchemy.orm import sessionmaker

import tenure
from tests.support.connections import KINDS, Kind, each, every_kind, one_per_way
from tests.support.places import Loop, Place


def states(q: tenure.Queue) -> dict[str, int]:
    """How many jobs stand in each state, without the zeros."""
    return {state: n for state, n in q.counts().get("default", {}).items() if n}


@every_kind
def test_a_job_enqueued_inside_commits_with_the_callers_write(own_place: Place, kind: Kind) -> None:
    q = own_place.open()
    own_place.sql("CREATE TABLE tenure.orders (name text)")
    with kind.open(own_place) as own:
        own.execute("INSERT INTO tenure.orders VALUES ('tea')")
        answer = q.using(own.connection).enqueue("ship", {"order": "tea"})
        assert answer.inserted
        assert q.get(answer.id) is None
        own.commit()
    job = q.get(answer.id)
    assert job is not None
    assert (job.kind, job.payload, job.state) == ("ship", {"order": "tea"}, "ready")
    assert own_place.sql("SELECT name FROM tenure.orders") == [("tea",)]


@every_kind
def test_a_job_enqueued_inside_rolls_back_with_the_callers_write(own_place: Place, kind: Kind) -> None:
    q = own_place.open()
    own_place.sql("CREATE TABLE tenure.orders (name text)")
    with kind.open(own_place) as own:
        own.execute("INSERT INTO tenure.orders VALUES ('tea')")
        answer = q.using(own.connection).enqueue("ship")
        own.rollback()
    assert q.get(answer.id) is None
    assert own_place.sql("SELECT name FROM tenure.orders") == []


@every_kind
def test_a_transaction_whose_first_statement_is_ours_still_rolls_back_whole(
    own_place: Place, kind: Kind
) -> None:
    q = own_place.open()
    own_place.sql("CREATE TABLE tenure.orders (name text)")
    with kind.open(own_place) as own:
        q.using(own.connection).enqueue("ship")
        own.execute("INSERT INTO tenure.orders VALUES ('tea')")
        own.rollback()
    assert states(q) == {}
    assert own_place.sql("SELECT name FROM tenure.orders") == []


@every_kind
def test_every_option_of_a_job_is_kept_when_it_is_enqueued_inside(own_place: Place, kind: Kind) -> None:
    q = own_place.open()
    sent = tenure.Request(b"\x00\xffbody", {"X-Sig": "é"})
    with kind.open(own_place) as own:
        answer = q.using(own.connection).enqueue(
            "k",
            {"text": "it's \u2603 \x00 {} :name %s $1"},
            queue="mail",
            priority=7,
            max_attempts=2,
            unique="a'b",
            group="g",
            expires_in="1h",
            tags=["t"],
            meta={"m": "v"},
            flow="f",
            tenant="T",
            request=sent,
        )
        own.commit()
    job = q.get(answer.id)
    assert job is not None
    assert (job.payload, job.queue, job.priority) == ({"text": "it's \u2603 \x00 {} :name %s $1"}, "mail", 7)
    assert (job.max_attempts, job.unique, job.group, job.tags) == (2, "a'b", "g", ("t",))
    assert (job.meta, job.flow, job.tenant, job.state) == ({"m": "v"}, "f", "T", "ready")
    assert q.request(answer.id) == sent


@every_kind
def test_many_jobs_enqueued_inside_commit_together(own_place: Place, kind: Kind) -> None:
    q = own_place.open()
    with kind.open(own_place) as own:
        answers = q.using(own.connection).enqueue_many(tenure.NewJob(kind="k", payload=n) for n in range(120))
        assert all(answer.inserted for answer in answers)
        assert states(q) == {}
        own.commit()
    assert states(q) == {"ready": 120}
    assert [q.get(answers[n].id).payload for n in (0, 60, 119)] == [0, 60, 119]  # type: ignore[union-attr]


@every_kind
def test_a_duplicate_inside_is_answered_with_the_job_that_was_there(own_place: Place, kind: Kind) -> None:
    q = own_place.open()
    first = q.enqueue("k", unique="a")
    period = q.enqueue("k", unique="b", unique_for="1h")
    with kind.open(own_place) as own:
        tx = q.using(own.connection)
        mine = tx.enqueue("k", unique="c")
        answers = tx.enqueue_many(
            [
                tenure.NewJob(kind="k", unique="a"),
                tenure.NewJob(kind="k", unique="b", unique_for="1h"),
                tenure.NewJob(kind="k", unique="c"),
                tenure.NewJob(kind="k", unique="d"),
            ]
        )
        own.commit()
    assert [(a.id, a.inserted) for a in answers[:3]] == [
        (first.id, False),
        (period.id, False),
        (mine.id, False),
    ]
    assert answers[3].inserted
    assert states(q) == {"ready": 4}


@one_per_way
def test_a_unique_key_is_free_again_after_a_rollback(own_place: Place, kind: Kind) -> None:
    q = own_place.open()
    with kind.open(own_place) as own:
        q.using(own.connection).enqueue("k", unique="a")
        q.using(own.connection).enqueue("k", unique="b", unique_for="1h")
        own.rollback()
    assert q.enqueue("k", unique="a").inserted
    assert q.enqueue("k", unique="b", unique_for="1h").inserted


@one_per_way
def test_a_groups_first_job_is_ready_and_the_next_waits_when_both_are_enqueued_inside(
    own_place: Place, kind: Kind
) -> None:
    q = own_place.open()
    with kind.open(own_place) as own:
        tx = q.using(own.connection)
        first, second = tx.enqueue("k", group="g"), tx.enqueue("k", group="g")
        own.commit()
    [claim] = q.claim(5)
    assert claim.id == first.id
    assert q.settle(claim, tenure.Done())
    assert [c.id for c in q.claim(5)] == [second.id]


@one_per_way
def test_a_group_is_not_stuck_by_a_transaction_that_rolled_back(own_place: Place, kind: Kind) -> None:
    q = own_place.open()
    with kind.open(own_place) as own:
        q.using(own.connection).enqueue("k", group="g")
        own.rollback()
    kept = q.enqueue("k", group="g")
    assert [c.id for c in q.claim(5)] == [kept.id]


@every_kind
def test_a_transaction_sees_its_own_jobs_and_nobody_else_does(own_place: Place, kind: Kind) -> None:
    q = own_place.open()
    with kind.open(own_place) as own:
        tx = q.using(own.connection)
        answer = tx.enqueue("k")
        seen = tx.get(answer.id)
        assert seen is not None
        assert seen.state == "ready"
        assert tx.counts()["default"]["ready"] == 1
        assert q.get(answer.id) is None
        own.rollback()


@every_kind
def test_who_only_looks_keeps_nobody_from_writing(own_place: Place, kind: Kind) -> None:
    q = own_place.open()
    job = q.enqueue("k").id
    with kind.open(own_place) as own:
        tx = q.using(own.connection)
        assert (tx.get(job) is not None, tx.counts()["default"]["ready"]) == (True, 1)
        assert q.enqueue("k").inserted
        own.rollback()


@every_kind
def test_cancel_inside_counts_only_once_it_is_committed(own_place: Place, kind: Kind) -> None:
    q = own_place.open()
    kept, gone = q.enqueue("k"), q.enqueue("k")
    for answer, end in ((kept, "rollback"), (gone, "commit")):
        with kind.open(own_place) as own:
            assert q.using(own.connection).cancel(answer.id, "no need") == "cancelled"
            getattr(own, end)()
    assert [q.get(a.id).state for a in (kept, gone)] == ["ready", "cancelled"]  # type: ignore[union-attr]


@every_kind
def test_settles_inside_count_only_once_they_are_committed(own_place: Place, kind: Kind) -> None:
    q = own_place.open()
    q.enqueue_many([tenure.NewJob(kind="k") for _ in range(2)])
    done, failed = q.claim(2)
    for end, expected in (("rollback", ["running"] * 2), ("commit", ["done", "scheduled"])):
        with kind.open(own_place) as own:
            tx = q.using(own.connection)
            assert tx.settle_many([(done, tenure.Done({"n": 1})), (failed, tenure.Fail("oops"))]) == [
                True,
                True,
            ]
            getattr(own, end)()
        assert [q.get(c.id).state for c in (done, failed)] == expected  # type: ignore[union-attr]
    assert q.get(done.id).result == {"n": 1}  # type: ignore[union-attr]
    assert [a.message for a in q.history(failed.id)] == ["oops"]
    # Others who fail alike are not to wait for this transaction.
    assert q.error_groups(datetime.now(UTC) - timedelta(hours=1)) == []


@one_per_way
def test_a_settle_inside_of_a_lost_claim_is_false_and_changes_nothing(own_place: Place, kind: Kind) -> None:
    q = own_place.open()
    answer = q.enqueue("k")
    [lost] = q.claim()
    q.settle(lost, tenure.Release())
    [other] = q.claim()
    with kind.open(own_place) as own:
        assert q.using(own.connection).settle(lost, tenure.Done()) is False
        own.commit()
    job = q.get(answer.id)
    assert job is not None
    assert (job.state, job.epoch) == ("running", other.epoch)


@one_per_way
def test_replay_and_progress_inside_count_only_once_they_are_committed(own_place: Place, kind: Kind) -> None:
    q = own_place.open()
    dead, held = q.enqueue("k", priority=1), q.enqueue("k")
    buried, claim = q.claim(2)
    q.settle(buried, tenure.Bury())
    for end, state, progress in (("rollback", "dead", None), ("commit", "ready", 0.5)):
        with kind.open(own_place) as own:
            tx = q.using(own.connection)
            assert tx.replay(dead.id) == "replayed"
            assert tx.progress(claim, 0.5)
            getattr(own, end)()
        assert q.get(dead.id).state == state  # type: ignore[union-attr]
        assert q.get(held.id).progress == progress  # type: ignore[union-attr]


def by_name(cursor: sqlite3.Cursor, row: tuple[Any, ...]) -> dict[str, Any]:
    """Rows as dicts, as the standard library's documentation suggests."""
    return {column[0]: value for column, value in zip(cursor.description, row, strict=True)}


@pytest.mark.parametrize(
    ("own_place", "kind", "factory"),
    [
        pytest.param(
            (KINDS[name].store, KINDS[name].way), KINDS[name], factory, id=f"{name}-{factory.__name__}"
        )
        for name, factory in (
            ("psycopg", dict_row),
            ("psycopg-async", dict_row),
            ("sqlite3", sqlite3.Row),
            ("sqlite3", by_name),
            ("aiosqlite", aiosqlite.Row),
            ("aiosqlite", by_name),
        )
    ],
    indirect=["own_place"],
)
def test_the_callers_row_factory_disturbs_nothing_and_is_left_alone(
    own_place: Place, kind: Kind, factory: Any
) -> None:
    q = own_place.open()
    first = q.enqueue("k", unique="a")
    [claim] = q.claim()
    with kind.open(own_place) as own:
        own.connection.row_factory = factory
        tx = q.using(own.connection)
        assert tx.enqueue("k", unique="a") == tenure.Enqueued(first.id, inserted=False)
        assert tx.settle(claim, tenure.Fail("oops"))
        assert tx.get(first.id).state == "scheduled"  # type: ignore[union-attr]
        [row] = own.execute("SELECT kind FROM tenure.jobs")
        assert row["kind"] == "k"
        own.commit()
    assert q.get(first.id).state == "scheduled"  # type: ignore[union-attr]


NO_TRANSACTION: list[tuple[str, dict[str, Any]]] = [
    ("psycopg", {"autocommit": True}),
    ("psycopg-async", {"autocommit": True}),
    ("sqlite3", {"isolation_level": None}),
    ("aiosqlite", {"isolation_level": None}),
    *((name, {"autocommit": True}) for name in ("sqlite3", "aiosqlite") if sys.version_info >= (3, 12)),
    *(
        (name, {"isolation_level": "AUTOCOMMIT"})
        for name in KINDS
        if name.endswith(("Connection", "Session"))
    ),
]


@pytest.mark.parametrize(
    ("own_place", "kind", "options"),
    [
        pytest.param((KINDS[n].store, KINDS[n].way), KINDS[n], options, id=f"{n}-{next(iter(options))}")
        for n, options in NO_TRANSACTION
    ],
    indirect=["own_place"],
)
def test_a_connection_that_would_commit_each_statement_by_itself_is_refused(
    own_place: Place, kind: Kind, options: dict[str, Any]
) -> None:
    q = own_place.open()
    with kind.open(own_place, **options) as own:
        with pytest.raises(tenure.UsageError, match=r"no transaction open.*begin one first"):
            q.using(own.connection).enqueue("k")
        own.rollback()
    assert states(q) == {}


@each("asyncpg", "asyncpg-pool")
def test_an_asyncpg_connection_outside_a_transaction_is_refused(own_place: Place, kind: Kind) -> None:
    q = own_place.open()
    with kind.open(own_place) as own:
        own.rollback()
        with pytest.raises(tenure.UsageError, match=r"no transaction open.*connection\.transaction"):
            q.using(own.connection).enqueue("k")
    assert states(q) == {}


@pytest.mark.parametrize(
    ("own_place", "kind", "options"),
    [
        pytest.param((KINDS[n].store, KINDS[n].way), KINDS[n], options, id=f"{n}-{next(iter(options))}")
        for n, options in NO_TRANSACTION
        if n in ("psycopg", "psycopg-async", "sqlite3", "aiosqlite")
    ],
    indirect=["own_place"],
)
def test_an_autocommit_connection_with_a_transaction_begun_is_taken(
    own_place: Place, kind: Kind, options: dict[str, Any]
) -> None:
    q = own_place.open()
    with kind.open(own_place, **options) as own:
        for end in ("ROLLBACK", "COMMIT"):
            own.execute("BEGIN")
            q.using(own.connection).enqueue("k")
            own.execute(end)
    assert states(q) == {"ready": 1}


@each("psycopg", "sqlite3", "psycopg-Session", "pysqlite-Connection")
def test_a_sync_connection_on_an_async_queue_is_refused(own_place: Place, kind: Kind) -> None:
    q = own_place.loop.wait(tenure.aopen(own_place.url))
    try:
        with kind.open(own_place) as own, pytest.raises(tenure.UsageError, match=r"sync one.*tenure\.open"):
            q.using(own.connection)
    finally:
        own_place.loop.wait(q.close())


@each(
    "psycopg-async",
    "asyncpg",
    "asyncpg-pool",
    "aiosqlite",
    "asyncpg-AsyncSession",
    "aiosqlite-AsyncConnection",
)
def test_an_async_connection_on_a_sync_queue_is_refused(own_place: Place, kind: Kind) -> None:
    with tenure.open(own_place.url) as q, kind.open(own_place) as own:
        with pytest.raises(tenure.UsageError, match=r"async one.*tenure\.aopen"):
            q.using(own.connection)
        own.rollback()


@each("sqlite3", "aiosqlite", "pysqlite-Session", "aiosqlite-AsyncConnection")
def test_a_connection_to_another_file_is_refused(own_place: Place, kind: Kind, tmp_path: Path) -> None:
    q = own_place.open()
    elsewhere = Place("shared", own_place.way, "", tmp_path / "other.db", "", "", own_place.loop)
    with kind.open(elsewhere) as own:
        with pytest.raises(tenure.UsageError, match=r"other\.db.*jobs\.db.*use the same file"):
            q.using(own.connection).enqueue("k")
        own.rollback()
    assert states(q) == {}


@each("sqlite3")
def test_a_connection_to_a_database_in_memory_is_refused(own_place: Place, kind: Kind) -> None:
    q = own_place.open()
    memory = sqlite3.connect(":memory:")
    try:
        with pytest.raises(tenure.UsageError, match=r"in memory.*use the same file"):
            q.using(memory).enqueue("k")
    finally:
        memory.close()


@each("sqlite3")
def test_another_path_to_the_same_file_is_taken(own_place: Place, kind: Kind, tmp_path: Path) -> None:
    q = own_place.open()
    assert own_place.path is not None
    (tmp_path / "link.db").symlink_to(own_place.path)
    linked = Place("shared", "sync", "", tmp_path / "link.db", "", "", own_place.loop)
    with kind.open(linked) as own:
        answer = q.using(own.connection).enqueue("k")
        own.commit()
    assert q.get(answer.id) is not None


@each("psycopg", "sqlite3")
def test_a_connection_of_another_database_is_refused(own_place: Place, kind: Kind) -> None:
    q = own_place.open()
    other: Any = (
        sqlite3.connect(":memory:") if kind.name == "psycopg" else psycopg.connect(own_place.postgres_url)
    )
    try:
        with pytest.raises(
            tenure.UsageError, match=r"cannot carry a transaction of a .* store here; use psycopg"
        ):
            q.using(other).enqueue("k")
    finally:
        other.close()


@pytest.mark.parametrize(
    "thing", [None, "postgresql://localhost/db", object(), 7], ids=["None", "text", "object", "number"]
)
def test_what_is_no_connection_is_refused(own_place: Place, thing: Any) -> None:
    q = own_place.open()
    with pytest.raises(tenure.UsageError):
        q.using(thing).enqueue("k")
    assert states(q) == {}


@each(
    "psycopg",
    "psycopg-async",
    "asyncpg",
    "sqlite3",
    "aiosqlite",
    "pysqlite-Connection",
    "psycopg-AsyncConnection",
)
def test_a_connection_that_is_closed_is_refused(own_place: Place, kind: Kind) -> None:
    q = own_place.open()
    with kind.open(own_place) as own:
        own.close()
        with pytest.raises(tenure.UsageError, match="connection is closed"):
            q.using(own.connection).enqueue("k")
    assert states(q) == {}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        pytest.param(lambda: create_engine("sqlite://"), r"sqlalchemy\.Engine.*with engine\.begin", id="engine"),
        pytest.param(
            lambda: create_async_engine("sqlite+aiosqlite://"), r"AsyncEngine.*async with engine\.begin", id="async engine"
        ),
        pytest.param(lambda: sessionmaker(), r"sessionmaker.*with maker\.begin", id="maker of sessions"),
        pytest.param(
            lambda: sqlite3.connect(":memory:").cursor(), r"sqlite3\.Cursor.*cursor\.connection", id="cursor"
        ),
    ],
)  # fmt: skip
def test_what_only_leads_to_a_connection_is_refused_and_the_way_is_told(
    own_place: Place, make: Any, words: str
) -> None:
    q, thing = own_place.open(), make()
    with pytest.raises(tenure.UsageError, match=words):
        q.using(thing).enqueue("k")
    assert states(q) == {}
    if isinstance(thing, sqlite3.Cursor):
        thing.connection.close()


@each("aiosqlite-AsyncSession", "psycopg-AsyncSession", "asyncpg-AsyncSession")
def test_a_scoped_async_session_carries_jobs_as_the_session_does(own_place: Place, kind: Kind) -> None:
    q = own_place.open()
    with kind.open(own_place) as own:
        scoped = async_scoped_session(cast("Any", lambda: own.connection), scopefunc=lambda: 1)
        q.using(cast("Any", scoped)).enqueue("k")
        own.rollback()
        assert states(q) == {}
        q.using(cast("Any", scoped)).enqueue("k")
        own.commit()
    assert states(q) == {"ready": 1}


@each("sqlite3")
def test_an_apsw_connection_is_refused_because_two_libraries_drop_each_others_locks(
    own_place: Place, kind: Kind
) -> None:
    q = own_place.open()
    other = apsw.Connection(":memory:")
    try:
        with pytest.raises(tenure.UsageError, match="apsw"):
            q.using(other).enqueue("k")  # type: ignore[arg-type]
    finally:
        other.close()


@pytest.mark.parametrize("name", ["sqlite3", "aiosqlite", "pysqlite-Session", "aiosqlite-AsyncSession"])
def test_a_file_tenure_owns_refuses_and_names_the_fix(tmp_path: Path, loop: Loop, name: str) -> None:
    kind = KINDS[name]
    owned = Place("sqlite", kind.way, f"sqlite:///{tmp_path}/owned.db", tmp_path / "owned.db", "", "", loop)
    other = Place("shared", kind.way, "", tmp_path / "users.db", "", "", loop)
    q = owned.open()
    try:
        with kind.open(other) as own:
            with pytest.raises(
                tenure.UsageError, match=r"a file Tenure owns.*sqlite:///.*owned\.db\?shared=true"
            ):
                q.using(own.connection).enqueue("k")
            own.rollback()
        assert states(q) == {}
    finally:
        owned.close()


@every_kind
def test_bad_input_inside_leaves_the_transaction_usable(own_place: Place, kind: Kind) -> None:
    q = own_place.open()
    own_place.sql("CREATE TABLE tenure.orders (name text)")
    with kind.open(own_place) as own:
        own.execute("INSERT INTO tenure.orders VALUES ('tea')")
        tx = q.using(own.connection)
        with pytest.raises(tenure.PayloadError):
            tx.enqueue_many([tenure.NewJob(kind="k"), tenure.NewJob(kind="k", payload=float("nan"))])
        kept = tx.enqueue("k", "kept")
        own.commit()
    assert own_place.sql("SELECT name FROM tenure.orders") == [("tea",)]
    assert states(q) == {"ready": 1}
    assert q.get(kept.id).payload == "kept"  # type: ignore[union-attr]


@every_kind
def test_after_an_error_of_the_callers_own_the_transaction_still_rolls_back(
    own_place: Place, kind: Kind
) -> None:
    q = own_place.open()
    with kind.open(own_place) as own:
        q.using(own.connection).enqueue("k")
        with pytest.raises(Exception, match="no_such_table"):
            own.execute("SELECT * FROM no_such_table")
        own.rollback()
    assert states(q) == {}
    assert q.enqueue("k").inserted


@one_per_way
def test_a_connection_can_be_used_for_one_transaction_after_another(own_place: Place, kind: Kind) -> None:
    q = own_place.open()
    with kind.open(own_place) as own:
        tx = q.using(own.connection)
        for end in ("commit", "rollback", "commit"):
            tx.enqueue("k")
            getattr(own, end)()
    assert states(q) == {"ready": 2}


@one_per_way
def test_a_savepoint_rolled_back_takes_back_only_what_was_enqueued_since(
    own_place: Place, kind: Kind
) -> None:
    q = own_place.open()
    with kind.open(own_place) as own:
        tx = q.using(own.connection)
        kept = tx.enqueue("k")
        own.execute("SAVEPOINT here")
        gone = tx.enqueue("k")
        own.execute("ROLLBACK TO SAVEPOINT here")
        own.commit()
    assert q.get(kept.id) is not None
    assert q.get(gone.id) is None


@one_per_way
def test_of_two_transactions_at_once_each_ends_as_its_own(own_place: Place, kind: Kind) -> None:
    q = own_place.open()
    stored: list[tenure.Enqueued] = []
    begun = threading.Event()

    def other() -> None:
        with kind.open(own_place) as second:
            begun.set()
            stored.append(q.using(second.connection).enqueue("k", "second"))
            second.commit()

    thread = threading.Thread(target=other)
    with kind.open(own_place) as first:
        gone = q.using(first.connection).enqueue("k", "first")
        thread.start()
        assert begun.wait(30)
        if own_place.store == "postgres":
            thread.join(30)
            assert not thread.is_alive()
        first.rollback()
    thread.join(30)
    assert not thread.is_alive()
    assert q.get(gone.id) is None
    assert [c.id for c in q.claim(5)] == [stored[0].id]


PSYCOPG = [name for name, kind in KINDS.items() if name.startswith("psycopg") and kind.store == "postgres"]


@each(*PSYCOPG)
def test_nothing_is_prepared_on_a_psycopg_connection_of_the_callers(own_place: Place, kind: Kind) -> None:
    """psycopg prepares what it runs for the sixth time; behind pgbouncer that connection may lead elsewhere by then."""
    q = own_place.open()
    q.enqueue("k")
    [claim] = q.claim()
    with kind.open(own_place) as own:
        for n in range(12):
            assert q.using(own.connection).enqueue("k", n, unique=str(n)).inserted
        own.settle_in(claim, tenure.Done())
        assert [tuple(row) for row in own.execute("SELECT count(*) FROM pg_prepared_statements")] == [(0,)]
        own.commit()
