"""What the doctor says of jobs, queues, schedules and workers, on both stores."""

from __future__ import annotations

import tenure
from tenure.clock import machine_micros
from tenure.doctor import Finding, examine
from tests.cli.desk import dead
from tests.doctor.visits import ago, visit


def test_a_lease_that_ran_out_long_ago_is_an_error(url: str) -> None:
    with ago(url, hours=1) as q:
        q.enqueue_many([tenure.NewJob(kind="send") for _ in range(3)])
        assert len(q.claim(3, lease="1m")) == 3
    [found] = visit(url, "leases")
    assert found.level == "error"
    assert found.found.startswith("3 leases overdue, the first for 59m")
    assert "janitor" in found.fix
    [found] = visit(url, "leases", lease=7_200)
    assert found.level == "note"


def test_a_due_job_that_nobody_promotes_is_stuck(url: str) -> None:
    with ago(url, hours=1) as q:
        q.enqueue("send", delay="10m")
        q.enqueue("send", delay="2h")
    [found] = visit(url, "scheduled")
    assert found.level == "warning"
    assert found.found.startswith("1 job still scheduled though due, the first for 50m")
    [found] = visit(url, "scheduled", scheduled=7_200)
    assert found == Finding("ok", "scheduled", "0 scheduled jobs are due for more than 2h")


def test_a_schedule_that_should_have_fired_is_missed(url: str) -> None:
    with ago(url, hours=3) as q:
        q.schedule("nightly", "@every 1h", "report")
        q.schedule("weekly", "@every 1h", "report")
        q.pause_schedule("weekly")
    [found] = visit(url, "cron")
    assert found.level == "warning"
    assert found.found.startswith("1 schedule overdue (nightly), the first for ")
    with tenure.open(url) as q:
        q.fire()
    assert visit(url, "cron") == [Finding("ok", "cron", "2 schedules, none overdue")]


def test_ready_jobs_of_a_kind_no_live_worker_knows(url: str) -> None:
    with tenure.open(url) as q:
        q.enqueue_many([tenure.NewJob(kind="resize", queue="media", priority=n % 3) for n in range(7)])
        q.enqueue("send")
        q.beat("w", kinds=["send"])
        [found] = visit(url, "workers")
        assert found.level == "warning"
        assert found.found == "7 ready jobs that none of 1 live worker takes: resize in media"
        q.beat("other", queues=["media"])
        [found] = visit(url, "workers")
        assert found == Finding("ok", "workers", "2 workers live; every job that waits and every schedule has one that takes it")  # fmt: skip


def test_jobs_not_yet_due_and_schedules_of_a_kind_no_live_worker_knows_are_noted(url: str) -> None:
    with tenure.open(url) as q:
        q.enqueue("resize", queue="media")
        [claim] = q.claim()
        q.settle(claim, tenure.Fail("busy", "1h"))  # it is to run again, and a deploy takes its kind away
        q.enqueue_many([tenure.NewJob(kind="send", group="g"), tenure.NewJob(kind="post", group="g")])
        q.schedule("nightly", "@daily", "tidy", queue="slow")
        q.schedule("paused", "@daily", "tidy")
        q.pause_schedule("paused")
        q.beat("w", kinds=["send"])
        assert [(one.level, one.found) for one in visit(url, "workers")] == [
            ("note", "2 jobs scheduled or waiting that none of 1 live worker takes when they are due: post in default, resize in media"),
            ("note", "1 schedule whose jobs none of 1 live worker takes: nightly (tidy in slow)"),
        ]  # fmt: skip
        q.beat("other", kinds=["post", "resize"])
        assert [one.found.partition(" whose")[0] for one in visit(url, "workers")] == ["1 schedule"]
        q.beat("third", queues=["slow"])
        assert [one.level for one in visit(url, "workers")] == ["ok"]


def test_a_paused_queue_with_jobs_behind_it(url: str) -> None:
    with ago(url, minutes=30) as q:
        q.pause("mail")
        q.pause("empty")
        q.enqueue("send", queue="mail")
    [found] = visit(url, "paused")
    assert found.level == "warning"
    assert found.found.startswith("queue 'mail' is paused for 30m")
    assert found.found.endswith("with 1 ready job behind it")
    assert found.fix.startswith("`tenure resume mail`")
    with tenure.open(url) as q:
        q.resume("mail")
    assert visit(url, "paused") == [Finding("ok", "paused", "1 queue paused, with no ready job behind")]


def test_how_long_the_first_ready_job_has_waited(url: str) -> None:
    with tenure.open(url) as q:
        q.beat("w")
    for minutes, level in ((0, "ok"), (2, "note"), (20, "warning")):
        with ago(url, minutes=minutes) as q:
            q.enqueue("send")
        [found] = visit(url, "backlog")
        assert found.level == level
    assert found.found.startswith("3 ready jobs, the first (send in default) for 20m")


def test_workers_that_fell_silent(url: str) -> None:
    with ago(url, hours=2) as q:
        q.beat("old")
    [found] = visit(url, "silent")
    assert found.level == "note"
    with ago(url, minutes=2) as q:
        q.beat("new")
        q.beat("polite")
        q.leave("polite")
    [found] = visit(url, "silent")
    assert found.level == "warning"
    assert found.found.startswith(
        "2 workers fell silent in the last day without a goodbye; the last, new, 2m"
    )


def test_crashes_of_the_last_day(url: str) -> None:
    with tenure.open(url) as q:
        q.enqueue("send")
        [claim] = q.claim()
        q.vanished(claim.worker, started=[(claim.id, claim.epoch)], story="killed by signal 9")
    [found] = visit(url, "crashes")
    assert found.level == "warning"
    assert found.found.startswith("1 crash of 1 job in the last day, the last ")
    [found] = visit(url, "crashes", crashed=0)
    assert found.level == "note"


def test_jobs_that_died_in_the_last_day(url: str) -> None:
    with tenure.open(url) as q:
        dead(q, 3)
    [found] = visit(url, "dead")
    assert (found.level, found.found) == ("note", "3 jobs died in the last day")
    [found] = visit(url, "dead", dead=3)
    assert found.level == "warning"


def test_clocks_that_differ(url: str) -> None:
    for seconds, level, words in ((0, "ok", ""), (5, "warning", "ahead of"), (-60, "error", "behind")):
        off = seconds * 1_000_000
        found = examine(url, machine=lambda off=off: machine_micros() - off)  # type: ignore[misc]
        [seen] = [finding for finding in found if finding.check == "clock"]
        assert seen.level == level
        assert words in seen.found


def test_commits_are_heard_of(url: str) -> None:
    [found] = visit(url, "listen")
    assert found.level == "ok"
    assert found.found.startswith("commits are heard of")
