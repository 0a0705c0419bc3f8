"""Commands on many jobs that are cut short, by real signals: what they say, what the audit knows, and how to go on."""

from __future__ import annotations

import re
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import tenure
from tenure.store.audit import AuditSeen
from tests.cli.desk import Desk, dead

AFTER = re.compile(r"(?:the same command )?with --after (\S+) goes on with the rest")


@pytest.fixture
def either(tmp_path: Path, store: str) -> Desk:
    """A desk on each store."""
    return Desk(tmp_path, store)


def ready(desk: Desk) -> int:
    with desk.queue() as q:
        return q.counts()["default"].get("ready", 0)


def entry(desk: Desk) -> AuditSeen:
    """The one thing that was done."""
    with desk.queue() as q:
        [one] = q.audits()
        return one


def after(text: str) -> str:
    found = AFTER.search(text)
    assert found is not None, text
    return found[1]


def test_killed_in_the_middle_it_leaves_that_it_began_how_far_it_came_and_where_to_go_on(
    either: Desk,
) -> None:
    with either.queue() as q:
        dead(q, 60)
    with either.terminal("retry", "state:dead", "--yes", "--rate", "10/s") as terminal:
        terminal.until(" of 60")
        terminal.process.kill()
        assert terminal.end() == -signal.SIGKILL
    kept = entry(either)
    assert (kept.action, kept.what, kept.ended_at) == ("retry", "state:dead", None)
    assert kept.count >= 10
    assert kept.said.startswith(f"{kept.count} retried; the same command with --after ")
    # It may have been killed between a batch and the word of it.
    left = 60 - ready(either)
    assert 60 - left - kept.count in (0, 10)
    either.run("retry", "state:dead", "--yes", "--after", after(kept.said))
    assert ready(either) == 60
    with either.queue() as q:
        rest, first = q.audits()
    assert first == kept
    assert (rest.count, rest.said) == (left, f"{left} retried")
    assert rest.ended_at is not None


@pytest.mark.parametrize(
    ("word", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)], ids=str
)
def test_told_to_stop_it_ends_in_order_and_the_audit_knows_where_to_go_on(
    either: Desk, word: signal.Signals, code: int
) -> None:
    with either.queue() as q:
        dead(q, 60)
    with either.terminal("retry", "state:dead", "--yes", "--rate", "10/s") as terminal:
        terminal.until(" of 60")
        terminal.process.send_signal(word)
        assert terminal.end() == code
    kept = entry(either)
    assert kept.count == ready(either) < 60
    assert f"interrupted: {kept.count} of 60 retried; the same command" in terminal.screen
    assert kept.ended_at is not None
    assert kept.said.startswith(f"{kept.count} retried, then it was interrupted; ")
    assert after(kept.said) == after(terminal.screen)
    told = either.run("retry", "state:dead", "--yes", "--after", after(kept.said))
    assert told.out == f"{60 - kept.count} retried\n"


def test_a_terminal_that_is_lost_stops_it_in_order(either: Desk) -> None:
    with either.queue() as q:
        dead(q, 60)
    with either.terminal("retry", "state:dead", "--yes", "--rate", "10/s") as terminal:
        terminal.until(" of 60")
        terminal.lose()
        terminal.process.send_signal(signal.SIGHUP)  # as a shell does besides, which lost the same terminal
        assert terminal.process.wait(60) == 129
    kept = entry(either)
    assert kept.ended_at is not None
    assert kept.count == ready(either) < 60
    assert either.run("retry", "state:dead", "--yes", "--after", after(kept.said)).code == 0
    assert ready(either) == 60


def test_under_nohup_it_outlives_its_terminal(desk: Desk) -> None:
    with desk.queue() as q:
        dead(q, 30)
    with desk.nohup("retry", "state:dead", "--yes", "--rate", "10/s") as terminal:
        terminal.until(" of 30")
        terminal.lose()
        assert terminal.process.wait(60) == 0
    assert ready(desk) == 30
    assert (entry(desk).count, entry(desk).said) == (30, "30 retried")


@pytest.mark.parametrize(
    ("command", "action"),
    [(("enqueue", "send"), "enqueue"), (("cron", "run", "digest"), "run_cron")],
    ids=["enqueue", "cron run"],
)
def test_what_makes_one_job_is_in_the_audit_before_it_does(
    desk: Desk, command: tuple[str, ...], action: str
) -> None:
    with desk.queue() as q:
        q.schedule("digest", "@daily", "send")
    with closing(sqlite3.connect(desk.folder / "jobs.db")) as file:
        file.execute(
            "CREATE TRIGGER no BEFORE INSERT ON tenure_jobs BEGIN SELECT RAISE(ABORT, 'no ink'); END"
        )
    assert desk.run(*command).code == 1
    kept = entry(desk)
    assert (kept.action, kept.what, kept.count) == (action, command[-1], 0)
    assert kept.said.startswith("refused: ")


def test_one_that_fails_on_its_way_says_so_in_the_audit_and_where_to_go_on(desk: Desk) -> None:
    with desk.queue() as q:
        q.enqueue_many([tenure.NewJob(kind="send") for _ in range(510)])
    with closing(sqlite3.connect(desk.folder / "jobs.db")) as file:
        many = "(SELECT count(*) FROM tenure_jobs WHERE state = 'cancelled') = 500"
        file.execute(f"CREATE TRIGGER no BEFORE UPDATE ON tenure_jobs WHEN {many} BEGIN SELECT RAISE(ABORT, 'no ink'); END")  # fmt: skip
        told = desk.run("cancel", "kind:send", "--yes")
        file.execute("DROP TRIGGER no")
    kept = entry(desk)
    assert (told.code, kept.count) == (1, 500)
    assert re.match(r"500 cancelled, then it failed: .*no ink.*; the same command with --after ", kept.said)
    assert after(kept.said) == after(told.err)
