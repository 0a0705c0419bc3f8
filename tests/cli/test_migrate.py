"""`tenure migrate`, as people run it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import psycopg
import pytest

import tenure
from tenure.config import PostgresPlace, locate
from tests.cli.desk import Desk
from tests.proof.upgrade.newer import newer
from tests.support.child import ROOT


def apply(desk: Desk, script: str) -> None:
    """Run it there, as other tools would."""
    place = locate(desk.url)
    if isinstance(place, PostgresPlace):
        with psycopg.connect(place.conninfo, autocommit=True) as connection:
            connection.execute(script.encode())
    else:
        file = sqlite3.connect(place.path, isolation_level=None)
        file.executescript(script)
        file.close()


@pytest.mark.parametrize("store", ["sqlite", "shared", "postgres"])
def test_the_schema_is_made_and_known_to_be(
    request: pytest.FixtureRequest, tmp_path: Path, store: str
) -> None:
    desk: Desk = request.getfixturevalue("postgres_desk") if store == "postgres" else Desk(tmp_path, f"sqlite:///{tmp_path}/new.db{'?shared=true' if store == 'shared' else ''}")  # fmt: skip
    before = desk.run("migrate", "--check")
    assert before.code == 1
    assert "0 of 1 migrations, 1 to be applied" in before.out
    if store != "postgres":
        assert not (tmp_path / "new.db").exists()
    done = desk.run("migrate", "--json").json
    assert (done["applied"], done["known"], done["up_to_date"]) == (1, 1, True)
    after = desk.run("migrate", "--check")
    assert after.code == 0
    assert after.out.endswith("1 of 1 migrations, up to date\n")


@pytest.mark.parametrize("store", ["sqlite", "shared", "postgres"])
def test_the_sql_it_prints_makes_the_same_schema(
    request: pytest.FixtureRequest, tmp_path: Path, store: str
) -> None:
    desk: Desk = request.getfixturevalue("postgres_desk") if store == "postgres" else Desk(tmp_path, f"sqlite:///{tmp_path}/new.db{'?shared=true' if store == 'shared' else ''}")  # fmt: skip
    apply(desk, desk.run("migrate", "--sql").out)
    assert desk.run("migrate", "--check").code == 0
    with tenure.open(desk.url) as q:
        job = q.enqueue("send").id
        assert [claim.id for claim in q.claim()] == [job]


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_of_a_store_that_is_there_it_prints_what_is_still_to_be_applied(
    request: pytest.FixtureRequest, tmp_path: Path, store: str
) -> None:
    desk: Desk = request.getfixturevalue("postgres_desk" if store == "postgres" else "desk")
    desk.queue().close()
    assert "nothing to be applied" in desk.run("migrate", "--sql").out
    assert desk.run("migrate", "--sql", "--json").json == {"sql": ""}
    (tmp_path / "newer").mkdir()
    code = str(newer(tmp_path / "newer", min_client=1))
    script = desk.run("migrate", "--sql", PYTHONPATH=code).out
    assert script.count("CREATE TABLE") == 1
    apply(desk, script)
    assert desk.run("migrate", "--check", PYTHONPATH=code).code == 0


def test_a_store_that_is_away_is_not_needed_for_the_whole_schema(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "postgresql://nobody@127.0.0.1:1/none?connect_timeout=1")
    away = desk.run("migrate", "--sql")
    assert away.code == 1
    assert "--sql --all" in away.err
    assert "CREATE TABLE" in desk.run("migrate", "--sql", "--all").out


def test_only_one_thing_at_a_time(desk: Desk) -> None:
    assert desk.run("migrate", "--sql", "--check").code == 2
    assert desk.run("migrate", "--all").code == 2
    assert "CREATE TABLE" in desk.run("migrate", "--sql", "--all", "--json").json["sql"]


def test_it_prints_the_script_of_the_roles_and_asks_no_store(tmp_path: Path) -> None:
    desk = Desk(tmp_path, "postgresql://nobody@127.0.0.1:1/none")
    script = (ROOT / "src" / "tenure" / "ops" / "roles.sql").read_text()  # played in tests/proof/roles
    assert desk.run("migrate", "--roles").out.rstrip("\n") == script.rstrip("\n")
    assert desk.run("migrate", "--roles", "--json").json == {"sql": script}
    assert desk.run("migrate", "--roles", "--check").code == 2
