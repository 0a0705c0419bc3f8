"""`tenure cron`, as people run it."""

from __future__ import annotations

from tests.cli.desk import Desk


def test_schedules_are_listed_paused_resumed_and_run(desk: Desk) -> None:
    with desk.queue() as q:
        q.schedule("digest", "0 3 * * *", "send", {"to": "all"}, tz="Europe/Berlin")
    header, line = desk.run("cron", "list").out.splitlines()
    assert header.split() == ["NAME", "CRON", "ZONE", "KIND", "FIRED", "NEXT"]
    assert line.startswith("digest  0 3 * * *  Europe/Berlin  send  -      ")
    assert ", in " in line
    assert desk.run("cron", "pause", "digest").out == "digest is paused\n"
    assert desk.run("cron", "pause", "digest", "--json").json == {"name": "digest", "paused": False}
    assert desk.run("cron", "list").out.splitlines()[1].endswith("paused")
    made = desk.run("cron", "run", "digest", "--json").json
    with desk.queue() as q:
        job = q.get(made["id"])
        assert job is not None
        assert (job.kind, job.payload) == ("send", {"to": "all"})
    assert desk.run("cron", "resume", "digest").out == "digest fires again\n"


def test_what_is_not_there_is_told_by_the_exit_code(desk: Desk) -> None:
    assert desk.run("cron", "list").code == 3
    with desk.queue() as q:
        q.schedule("digest", "@daily", "send")
    told = desk.run("cron", "run", "digset")
    assert (told.code, told.err) == (3, "there is no schedule 'digset'; did you mean 'digest'?\n")
    assert desk.run("cron", "pause", "x").code == 3


def test_it_works_on_postgresql(postgres_desk: Desk) -> None:
    with postgres_desk.queue() as q:
        q.schedule("digest", "@daily", "send")
        q.pause_schedule("digest")
    assert postgres_desk.run("cron", "resume", "digest").code == 0
    assert postgres_desk.run("cron", "list", "--json").json["paused_at"] is None
