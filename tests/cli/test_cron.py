"""`tenure cron`, as people run it."""

from __future__ import annotations

import tenure
from tests.cli.desk import Desk


def test_schedules_are_listed_paused_resumed_and_run(desk: Desk) -> None:
    with desk.queue() as q:
        q.schedule("digest", "0 3 * * *", "send", {"to": "all"}, tz="Europe/Berlin")
    header, line = desk.run("cron", "list").out.splitlines()
    assert header.split() == ["NAME", "CRON", "KIND", "LAST", "RUN", "NEXT", "MEANS"]
    assert line.startswith("digest  0 3 * * *  send  -         ")
    assert ", in " in line
    assert line.endswith("At 03:00 every day (Europe/Berlin)")
    assert desk.run("cron", "pause", "digest").out == "digest is paused\n"
    assert desk.run("cron", "pause", "digest", "--json").json == {"name": "digest", "paused": False}
    assert "  paused  " in desk.run("cron", "list").out.splitlines()[1]
    made = desk.run("cron", "run", "digest", "--json").json
    with desk.queue() as q:
        job = q.get(made["id"])
        assert job is not None
        assert (job.kind, job.payload) == ("send", {"to": "all"})
    assert desk.run("cron", "resume", "digest").out == "digest fires again\n"


def test_one_schedule_is_told_with_its_last_runs_and_its_next_fires(desk: Desk) -> None:
    with desk.queue() as q:
        q.schedule("digest", "@every 1h", "send", {"to": "all"})
        q.schedule("other", "@daily", "send")
        ids = [q.run_schedule("digest").id for _ in range(2)]
        first, second = q.claim(2)
        q.settle(first, tenure.Done())
        q.settle(second, tenure.Bury("failed", "no route to host"))
    told = desk.run("cron", "list", "digest", "--json").json
    assert (told["name"], told["text"], len(told["next"])) == ("digest", "Every 1h", 5)
    assert [(run["id"], run["state"]) for run in told["runs"]] == [(ids[1], "dead"), (ids[0], "done")]
    lines = desk.run("cron", "list", "digest").out.splitlines()
    assert lines[0] == "digest  Every 1h"
    assert [line.split()[0] for line in lines[1:]] == ["cron", "makes", "missed", "made", "fired", "state", *["next"] * 5, "run", "run"]  # fmt: skip
    assert "no route to host" in lines[-2]
    assert "dead" in desk.run("cron", "list").out.splitlines()[1]
    assert desk.run("cron", "list", "digset").code == 3


def test_the_last_runs_are_told_however_many_jobs_are_newer_as_far_as_they_are_kept(desk: Desk) -> None:
    with desk.queue() as q:
        q.schedule("nightly", "@daily", "tidy")
        first, last = q.run_schedule("nightly").id, q.run_schedule("nightly").id
        for _ in range(2):
            q.enqueue_many([tenure.NewJob(kind="tidy") for _ in range(3_000)])
    told = desk.run("cron", "list", "nightly", "--json").json
    assert [run["id"] for run in told["runs"]] == told["made"] == [last, first]
    assert "ready" in desk.run("cron", "list").out.splitlines()[1]
    with desk.queue() as q:
        q.cancel(last)
        assert q.purge(tenure.Filter(ids=[last]))
    lines = desk.run("cron", "list", "nightly").out.splitlines()
    assert lines[-2].split()[:3] == ["run", first, "ready"]
    assert lines[-1].split(maxsplit=1) == ["gone", "1 of the last 2 are not kept any more"]


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
    assert postgres_desk.run("cron", "pause", "digest").out == "digest is paused\n"
    made = postgres_desk.run("cron", "run", "digest", "--json").json
    assert postgres_desk.run("cron", "resume", "digest").code == 0
    told = postgres_desk.run("cron", "list", "--json").json
    assert told["paused_at"] is None
    assert [run["id"] for run in told["runs"]] == [made["id"]]
