"""`tenure bench`: five measurements beside the user's store, which is left as it was."""

from __future__ import annotations

import psycopg

from tests.cli.desk import Desk

ROWS = [
    "enqueue, one at a time",
    "enqueue, 64 at once (async)",
    "enqueue_many, 1,000 at a time",
    "drain, one worker, no-op async job",
    "pick-up on an idle worker",
]


def left(desk: Desk) -> list[str]:
    """What stands in its folder, but for the store itself."""
    return sorted(path.name for path in desk.folder.iterdir() if not path.name.startswith("jobs.db"))


def test_it_measures_beside_the_store_and_leaves_nothing(desk: Desk) -> None:
    with desk.queue() as q:
        q.enqueue("noop")
    told = desk.run("bench", "--seconds", "0.1", "--json").json
    assert [row["what"] for row in told["rows"]] == ROWS
    assert all(row["jobs"] > 0 for row in told["rows"])
    assert all(row["per_second"] > 0 for row in told["rows"][:-1])
    assert 0 < told["rows"][-1]["p50_ms"] <= told["rows"][-1]["p99_ms"]
    assert told["store"] == desk.url
    with desk.queue() as q:
        assert q.counts()["default"]["ready"] == 1
    assert left(desk) == []


def test_it_tells_people_in_a_table_also_of_a_file_that_is_theirs(desk: Desk) -> None:
    told = desk.run("bench", "--seconds", "0.05", url=f"sqlite:///{desk.folder}/app.db?shared=true")
    assert told.code == 0, told.err
    assert [line.partition("  ")[0] for line in told.out.splitlines()[2:]] == ROWS
    assert "drain, one worker …" in told.err
    assert left(desk) == []


def test_interrupted_it_leaves_nothing(desk: Desk) -> None:
    with desk.terminal("bench", "--seconds", "20") as terminal:
        terminal.until("enqueue, one at a time …")
        terminal.interrupt()
        assert terminal.end() == 130
        assert "interrupted" in terminal.screen
    assert left(desk) == []


def test_it_works_on_postgresql_in_a_schema_of_its_own(postgres_desk: Desk, postgres_url: str) -> None:
    with postgres_desk.queue() as q:
        q.enqueue("noop")
    told = postgres_desk.run("bench", "--seconds", "0.1", "--json").json
    assert [row["what"] for row in told["rows"]] == ROWS
    with postgres_desk.queue() as q:
        assert q.counts()["default"]["ready"] == 1
    with psycopg.connect(postgres_url) as connection:
        found = connection.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'tenure\\_bench\\_%'").fetchall()  # fmt: skip
    assert found == []
