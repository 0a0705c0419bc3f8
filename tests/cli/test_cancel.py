"""`tenure cancel` and `tenure purge`, as people run them."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

import tenure
from tests.cli.desk import Desk, dead


def test_pending_jobs_are_cancelled_and_running_ones_are_asked(desk: Desk) -> None:
    with desk.queue() as q:
        running = q.enqueue("send").id
        q.claim()
        made = [q.enqueue("send").id for _ in range(3)]
        [died] = dead(q, 1, kind="other")
    told = desk.run("cancel", "kind:*", "--yes", "--reason", "-why:enough")
    assert (told.code, told.out) == (0, "3 cancelled, 1 asked\n")
    with desk.queue() as q:
        jobs = {job.id: job for job in q.list()}
    assert {jobs[i].state for i in made} == {"cancelled"}
    assert {jobs[i].reason for i in made} == {"-why:enough"}
    assert jobs[running].cancel_asked_at is not None
    assert jobs[died].state == "dead"


def test_what_has_finished_cannot_be_cancelled(desk: Desk) -> None:
    with desk.queue() as q:
        dead(q, 1)
    assert desk.run("cancel", "state:dead", "--yes").code == 2
    assert desk.run("cancel", "kind:send", "--yes").code == 3


def test_cancelling_is_asked_about_on_a_terminal(desk: Desk) -> None:
    with desk.queue() as q:
        made = q.enqueue("send").id
    assert desk.run("cancel", made).code == 2
    with desk.terminal("cancel", made) as terminal:
        terminal.until("Cancel 1 job? [y/N]: ")
        terminal.type("y\n")
        assert terminal.end() == 0
    with desk.queue() as q:
        [job] = q.list()
    assert job.state == "cancelled"


def test_finished_jobs_that_match_are_purged_and_others_are_not(desk: Desk) -> None:
    with desk.queue() as q:
        dead(q, 3)
        kept = {*dead(q, 2, kind="other"), q.enqueue("send").id}
    told = desk.run("purge", "kind:send", "--yes", "--json")
    assert told.json == {"matched": 3, "more": False, "purged": 3, "interrupted": False, "after": None}
    with desk.queue() as q:
        assert {job.id for job in q.list()} == kept
    assert desk.run("purge", "kind:send", "--yes").code == 3
    assert desk.run("purge", "state:ready", "--yes").code == 2


def test_purging_is_never_done_unasked(desk: Desk) -> None:
    with desk.queue() as q:
        dead(q, 1)
    assert desk.run("purge", "state:dead").code == 2
    assert "the filter is empty" in desk.run("purge", " ", "--yes").err
    with desk.queue() as q:
        assert q.count().total == 1


@pytest.mark.parametrize(
    ("verb", "past", "trigger"),
    [
        ("cancel", "cancelled", "UPDATE ON tenure_jobs WHEN (SELECT count(*) FROM tenure_jobs WHERE state = 'cancelled') = 500"),
        ("purge", "purged", "DELETE ON tenure_jobs WHEN (SELECT count(*) FROM tenure_jobs) = 10"),
    ],
)  # fmt: skip
def test_interrupted_it_goes_on_exactly_where_it_stopped(
    desk: Desk, verb: str, past: str, trigger: str
) -> None:
    with desk.queue() as q:
        if verb == "purge":
            dead(q, 510)
        else:
            q.enqueue_many([tenure.NewJob(kind="send") for _ in range(510)])
    with closing(sqlite3.connect(desk.folder / "jobs.db")) as store:
        store.execute(f"CREATE TRIGGER no BEFORE {trigger} BEGIN SELECT RAISE(ABORT, 'out of ink'); END")
        first = desk.run(verb, "kind:send", "--yes", "--json")
        assert (first.code, first.json[past], first.json["interrupted"]) == (1, 500, True)
        assert f"the same command with --after {first.json['after']} goes on" in first.err
        store.execute("DROP TRIGGER no")
    with desk.queue() as q:  # what matches anew meanwhile
        if verb == "purge":
            [other] = dead(q, 1)
        else:
            [done] = q.list(tenure.Filter(states=["cancelled"]), limit=1)
            other = done.id
            assert q.replay(other) == "replayed"
    again = desk.run(verb, "kind:send", "--yes", "--json", "--after", first.json["after"])
    assert (again.code, again.json[past], again.json["interrupted"]) == (0, 10, False)
    with desk.queue() as q:
        assert [job.id for job in q.list(tenure.Filter(states=["ready", "dead"]))] == [other]


def test_a_purge_that_stopped_goes_on_with_what_is_older_where_nothing_newer_is_left(desk: Desk) -> None:
    with desk.queue() as q:
        made = dead(q, 8)
    told = desk.run("purge", "kind:send", "--dry-run", "--json", "--after", made[7]).json
    assert (told["matched"], told["sample"]) == (7, made[6:1:-1])
    left = desk.run("purge", "kind:send", "--yes", "--json", "--after", made[3])
    assert (left.json["matched"], left.json["purged"]) == (3, 3)
    assert desk.run("purge", "kind:send", "--yes", "--after", made[0]).code == 3
    with desk.queue() as q:
        assert [job.id for job in q.list()] == made[:2:-1]


def test_many_are_purged_in_batches_on_postgresql(postgres_desk: Desk) -> None:
    with postgres_desk.queue() as q:
        dead(q, 1_100)
        q.enqueue_many([tenure.NewJob(kind="send") for _ in range(60)])
    assert postgres_desk.run("purge", "state:dead", "--yes").out == "1,100 purged\n"
    assert postgres_desk.run("cancel", "kind:send", "--yes").out == "60 cancelled\n"
