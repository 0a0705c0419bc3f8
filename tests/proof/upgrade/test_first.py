"""A store that the first release wrote: found again, finished and gone on with by this one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest

import tenure
from tenure.job import Claim
from tenure.store.dialect import Dialect
from tenure.store.migrate import migrations
from tenure.store.postgres.dialect import postgres_dialect
from tests.proof.intact import intact
from tests.proof.upgrade.freeze import FACTS, frozen_dump, restore_postgres, restore_sqlite
from tests.support.fresh import postgres_schema

EDITED = (
    "migration 0001 was edited: until the first release run `make freeze`; after it, add a migration instead"
)


@pytest.fixture(params=["sqlite", "shared", "postgres"])
def frozen(
    request: pytest.FixtureRequest, tmp_path: Path, postgres_url: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    """A copy of the frozen store: its URL, and what is in it."""
    facts = json.loads(FACTS.read_text("utf-8"))
    if request.param == "postgres":
        with postgres_schema(postgres_url) as schema:
            yield restore_postgres(postgres_url, schema), facts["postgres"]
    else:
        url = restore_sqlite(tmp_path / "jobs.db")
        yield (f"{url}?shared=true" if request.param == "shared" else url), facts["sqlite"]


def test_the_frozen_file_has_the_schema_of_the_first_migration(tmp_path: Path) -> None:
    restore_sqlite(tmp_path / "frozen.db")
    tables = (
        "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name <> 'tenure_meta' ORDER BY name"
    )
    made, kept = apsw.Connection(":memory:"), apsw.Connection(str(tmp_path / "frozen.db"))
    made.execute(migrations("sqlite")[0].text).fetchall()
    assert kept.execute(tables).fetchall() == made.execute(tables).fetchall(), EDITED
    kept.close()


def test_the_frozen_dump_has_the_schema_of_the_first_migration() -> None:
    dialect: Dialect = postgres_dialect("tenure")
    assert dialect.place(migrations("postgres")[0].text).strip() in frozen_dump(), EDITED


def test_everything_the_first_release_stored_is_found_again(frozen: tuple[str, dict[str, Any]]) -> None:
    url, facts = frozen
    with tenure.open(url) as q:
        for name, expected in facts["jobs"].items():
            job = q.get(facts["ids"][name])
            assert job is not None
            seen = {k: getattr(job, k) for k in ("state", "kind", "payload", "priority", "attempt")}
            assert (name, seen) == (name, expected)
        done, dead = q.get(facts["ids"]["done"]), facts["ids"]["dead"]
        assert done is not None
        assert done.result == {"sent": True}
        assert [a.message for a in q.history(dead)] == ["first", "second"]
        assert q.request(dead) == tenure.Request(b"body \x00\xff", {"h": "v"})
        assert list(q.paused()) == ["paused"]
        assert q.note("agreed") == "text"
        assert [s.name for s in q.schedules()] == ["nightly"]
        assert [a.who for a in q.audits()] == ["ann"]
        assert not q.enqueue("period", unique="hook:1", unique_for="1h").inserted
        assert q.enqueue("unique", unique="slot").id == facts["ids"]["unique"]


def test_what_the_first_release_had_running_and_waiting_is_finished(
    frozen: tuple[str, dict[str, Any]],
) -> None:
    url, facts = frozen
    with tenure.open(url) as q:
        assert q.settle(Claim(facts["claim"], "w"), tenure.Done("late, but its own"))
        assert q.replay(facts["ids"]["dead"]) == "replayed"
        while claims := q.claim(10):
            assert all(q.settle_many([(claim, tenure.Done()) for claim in claims]))
        left = {state: n for state, n in q.counts()["default"].items() if n}
        # The hook's own job, made by the death, is done too.
        assert left == {"done": 9, "scheduled": 1, "cancelled": 1}
        assert q.purge(tenure.Filter(states=["done"])) == 9
    intact(url)


def test_the_frozen_store_has_the_same_tables_as_a_new_one(
    frozen: tuple[str, dict[str, Any]], tmp_path: Path, postgres_url: str
) -> None:
    url, _ = frozen
    tenure.open(url).close()
    if url.startswith("sqlite"):
        tenure.open(f"sqlite:///{tmp_path}/new.db").close()
        assert _columns_of_file(tmp_path / "jobs.db") == _columns_of_file(tmp_path / "new.db")
        return
    with postgres_schema(postgres_url) as schema:
        tenure.open(f"{postgres_url}?schema={schema}").close()
        old = url.partition("schema=")[2]
        assert _columns_of_schema(postgres_url, old) == _columns_of_schema(postgres_url, schema)


def _columns_of_file(path: Path) -> list[Any]:
    link = apsw.Connection(str(path))
    found = link.execute(
        "SELECT m.type, m.name, c.name, c.type FROM sqlite_master m LEFT JOIN pragma_table_info(m.name) c ORDER BY 1, 2, 3"
    ).fetchall()
    link.close()
    return found


def _columns_of_schema(url: str, schema: str) -> list[Any]:
    with psycopg.connect(url) as link:
        return link.execute(
            "SELECT c.relkind::text, c.relname, a.attname, a.atttypid FROM pg_class c LEFT JOIN pg_attribute a ON a.attrelid = c.oid "
            "AND a.attnum > 0 AND NOT a.attisdropped WHERE c.relnamespace = %s::regnamespace AND c.relname !~ '^pg_toast' ORDER BY 1, 2, 3",
            (schema,),
        ).fetchall()
