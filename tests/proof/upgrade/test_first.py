"""A store that the first release wrote: found again, finished and gone on with by this one, and by one made up to follow it.

Until there is a first release, `make freeze` writes it anew whenever its schema changes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest

import tenure
from tenure.store.dialect import Dialect
from tenure.store.migrate import migrations
from tenure.store.postgres.dialect import postgres_dialect
from tests.proof.tally import Tally
from tests.proof.upgrade.found import find_again, finish
from tests.proof.upgrade.freeze import FACTS, frozen_dump, restore_postgres, restore_sqlite
from tests.proof.upgrade.newer import newer
from tests.support.child import ROOT
from tests.support.fresh import kind_of, postgres_schema

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


def test_everything_the_first_release_stored_is_found_again(
    frozen: tuple[str, dict[str, Any]], tally: Tally
) -> None:
    find_again(*frozen)
    tally.on(kind_of(frozen[0]), frozen_stores=1)


def test_what_the_first_release_had_running_and_waiting_is_finished(
    frozen: tuple[str, dict[str, Any]],
) -> None:
    finish(*frozen)


def test_the_release_after_this_one_finds_and_finishes_it_too(
    frozen: tuple[str, dict[str, Any]], tmp_path: Path, tally: Tally
) -> None:
    url, facts = frozen
    code = newer(tmp_path / "newer", min_client=1)
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("TENURE_", "DATABASE_URL"))}
    played = subprocess.run(
        [sys.executable, "-m", "tests.proof.upgrade.found", url, json.dumps(facts)],
        check=False, capture_output=True, text=True, cwd=ROOT, env={**inherited, "PYTHONPATH": str(code)}, timeout=100,
    )  # fmt: skip
    assert played.returncode == 0, played.stderr
    assert Path(played.stdout.strip()) == code / "tenure" / "__init__.py"
    assert _migrations_of(url) == 2
    tally(opened_by_the_next=1)


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


def _migrations_of(url: str) -> Any:
    """How many migrations the store has had."""
    if url.startswith("sqlite"):
        link = apsw.Connection(url.removeprefix("sqlite:///").partition("?")[0])
        found = link.execute("SELECT max(number) FROM tenure_meta").get
        link.close()
        return found
    place, _, schema = url.partition("?schema=")
    with psycopg.connect(place) as server:
        return server.execute(f"SELECT max(number) FROM {schema}.meta".encode()).fetchall()[0][0]


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
