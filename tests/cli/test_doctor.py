"""`tenure doctor`, as people run it."""

from __future__ import annotations

import os

import tenure
from tests.cli.desk import Desk
from tests.cli.files import BOT, source


def test_a_healthy_store_ends_with_0_and_says_so(desk: Desk) -> None:
    told = desk.run("doctor")
    assert told.code == 0, told.out
    lines = told.out.splitlines()
    assert lines[-1] == "18 ok, 0 notes, 0 warnings, 0 errors"
    assert all(line.startswith("ok ") for line in lines[:-1])
    assert told.err == ""


def test_what_is_wrong_comes_last_with_its_fix_and_ends_with_1(desk: Desk) -> None:
    with desk.queue() as q:
        q.pause("mail")
        q.enqueue("send", queue="mail")
        q.beat("w")
    told = desk.run("doctor")
    assert told.code == 1
    *_, found, fix, total = told.out.splitlines()
    assert found.startswith("warning  paused")
    assert fix.strip() == "fix: `tenure resume mail`, unless that is meant"
    assert total == "17 ok, 0 notes, 1 warning, 0 errors"
    told = desk.run("doctor", "--json")
    assert told.code == 1
    assert {"level", "check", "found", "fix"} == set(told.json[0])
    assert [one["check"] for one in told.json if one["level"] == "warning"] == ["paused"]


def test_a_note_alone_ends_with_0(desk: Desk) -> None:
    os.chmod(desk.folder / "jobs.db", 0o640)  # noqa: PTH101
    told = desk.run("doctor")
    assert told.code == 0
    assert told.out.splitlines()[-1] == "17 ok, 1 note, 0 warnings, 0 errors"


def test_the_store_is_the_apps_and_the_webhooks_are_its_gateways(desk: Desk) -> None:
    (desk.folder / "bot.py").write_text(BOT)
    (desk.folder / "gateway.toml").write_text(source(token="env:NOT_SET"))
    told = desk.run("doctor", "bot:app", "--json")
    assert told.code == 1
    assert [one["found"] for one in told.json if one["check"] == "webhook"] == [
        "bot: token: the secret env:NOT_SET is not set"
    ]
    assert desk.run("doctor", "bot:app", "--offline").code == 0
    assert desk.run("doctor", "bot:app", "--url", desk.url).code == 2


def test_a_store_that_is_not_there_is_told_of_and_not_made(desk: Desk) -> None:
    told = desk.run("doctor", "--url", "sqlite:///none.db")
    assert told.code == 1
    assert "there is no file 'none.db' here" in told.out
    assert not (desk.folder / "none.db").exists()
    assert desk.run("doctor", "--url", "nosuch:///x").code == 2


def test_colours_are_for_terminals(desk: Desk) -> None:
    with desk.terminal("doctor") as terminal:
        assert terminal.end() == 0
        assert "\x1b[32m" in terminal.screen
    assert "\x1b" not in desk.run("doctor").out


def test_it_works_on_postgresql(postgres_desk: Desk) -> None:
    tenure.open(postgres_desk.url).close()
    told = postgres_desk.run("doctor", "--json").json
    # The tests' own server may run without fsync; all else is well.
    assert {one["found"] for one in told if one["level"] != "ok"} <= {"fsync is off"}
    assert {"server", "connections", "privileges", "autovacuum", "bloat", "vacuum", "listen"} <= {
        one["check"] for one in told
    }
