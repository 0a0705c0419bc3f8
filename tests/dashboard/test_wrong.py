"""What is wrong now, in words, each number with a link to what it counts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from urllib.parse import unquote

import tenure
from tests.dashboard.house import House, Served
from tests.support.clock import MovedClock


def said(page: Served) -> dict[str, str]:
    page.act("resume", name="nothing")  # what is kept for a moment is forgotten
    return {one["text"]: one["link"] for one in page.get("/api/overview").json["wrong"]}


def test_kinds_that_no_live_worker_takes_are_named_with_how_many_wait(page: Served, house: House) -> None:
    house.q.enqueue_many([tenure.NewJob(kind="resize", queue="img") for _ in range(3)])
    house.q.enqueue("send", queue="mail")
    house.q.enqueue("letter", queue="paused")
    house.q.pause("paused")
    house.q.beat("w1", kinds=["send", "resize"], queues=["mail"])
    found = {text: link for text, link in said(page).items() if "kind" in text}
    assert found == {
        "3 jobs of kind resize ready to run, and no live worker takes that kind": "#/jobs?q=state:ready%20kind:resize"
    }
    house.q.beat("w2", kinds=["resize"])
    assert not any("live worker" in text for text in said(page))


def test_jobs_not_yet_due_and_schedules_that_no_live_worker_takes_are_told_before_they_are_due(
    page: Served, house: House
) -> None:
    house.q.enqueue("resize", delay="1h")
    house.q.enqueue("send", delay="1h")
    house.q.schedule("nightly", "@daily", "tidy", queue="slow")
    # That none lives at all is told once there is something to run.
    assert not any("live worker" in text for text in said(page))
    house.q.beat("w1", kinds=["send"])
    assert {text: link for text, link in said(page).items() if "live worker" in text} == {
        "1 job of kind resize scheduled or waiting, and no live worker takes that kind": "#/jobs?q=state:scheduled%2Cwaiting%20kind:resize",
        "no live worker takes the jobs of 1 schedule: nightly": "#/cron?only=untaken",
    }  # fmt: skip
    assert [one["untaken"] for one in page.get("/api/cron").json["schedules"]] == [True]
    levels = {one["level"] for one in page.get("/api/overview").json["wrong"] if "live worker" in one["text"]}
    assert levels == {"note"}
    house.q.beat("w2")
    assert not any("live worker" in text for text in said(page))
    assert [one["untaken"] for one in page.get("/api/cron").json["schedules"]] == [False]


def test_of_many_kinds_without_a_worker_the_rest_are_summed_up(page: Served, house: House) -> None:
    house.q.enqueue_many([tenure.NewJob(kind=f"k{n}") for n in range(8) for _ in range(n + 1)])
    house.q.beat("w1", kinds=["other"])
    found = [text for text in said(page) if "live worker" in text]
    assert found[0].startswith("8 jobs of kind k7 ")
    assert found[5:] == ["6 jobs of 3 more kinds ready to run, and no live worker takes them"]


def test_what_nobody_took_back_or_made_ready_leads_to_those_very_jobs(page: Served, house: House) -> None:
    house.q.enqueue("work", delay="1h")
    house.q.enqueue("work")
    [_] = house.q.claim()
    clock = MovedClock(datetime.now(UTC) - timedelta(hours=3))
    with tenure.open(house.app.url, clock=clock) as before:
        lost = before.enqueue("work").id
        assert [claim.id for claim in before.claim(worker="gone")] == [lost]
        late = before.enqueue("work", delay="1m").id
    links = {text.split(" should ")[1]: link for text, link in said(page).items() if " should " in text}
    found = {
        text: [row["id"] for row in page.get("/api/jobs", q=unquote(link.partition("?q=")[2])).json["jobs"]]
        for text, link in links.items()
    }
    assert found == {
        "have been taken back from workers that are gone": [lost],
        "have been made ready, and nobody did": [late],
    }


def test_schedules_that_missed_their_time_or_cannot_fire_are_counted(page: Served, house: House) -> None:
    clock = MovedClock(datetime.now(UTC) - timedelta(hours=3))
    with tenure.open(house.app.url, clock=clock) as before:
        before.schedule("digest", "* * * * *", "send_digest")
        before.schedule("asleep", "* * * * *", "send_digest")
        before.pause_schedule("asleep")
        before.schedule("yearly", "@yearly", "send_digest")
    found = said(page)
    assert found == {"1 schedule should have fired, and nobody did it: digest": "#/cron?only=late"}
    told = {one["name"]: one["late"] for one in page.get("/api/cron").json["schedules"]}
    assert told == {"digest": True, "asleep": False, "yearly": False}


def test_a_schedule_whose_last_job_failed_is_told_until_one_is_done(page: Served, house: House) -> None:
    for name in ("digest", "report"):
        house.q.schedule(name, "@yearly", name, max_attempts=1)
        house.q.run_schedule(name)
    for claim in house.q.claim(2):
        outcome = tenure.Done() if claim.kind == "report" else tenure.Fail("no route to host")
        assert house.q.settle(claim, outcome)
    found = {text: link for text, link in said(page).items() if "schedule" in text}
    assert found == {"1 schedule failed when last run: digest": "#/cron?only=failed"}
    told = {one["name"]: one["failed"] for one in page.get("/api/cron").json["schedules"]}
    assert told == {"digest": True, "report": False}
    house.q.run_schedule("digest")
    assert any(
        "failed when last run" in text for text in said(page)
    )  # a new one waits: nothing is known of it yet
    [claim] = house.q.claim()
    assert house.q.settle(claim, tenure.Done())
    assert not any("failed when last run" in text for text in said(page))


def test_of_many_schedules_every_one_that_failed_is_told_in_its_turn(page: Served, house: House) -> None:
    names = [f"nightly-{n:02}" for n in range(60)]
    for name in names:
        house.q.schedule(name, "@yearly", "tidy", max_attempts=1)
    for name in (names[0], names[-1]):
        house.q.run_schedule(name)
    for claim in house.q.claim(2):
        assert house.q.settle(claim, tenure.Fail("disk full"))
    found = {text for _ in range(3) for text in said(page)}  # 25 at a time at least
    assert f"2 schedules failed when last run: {names[0]}, {names[-1]}" in found
    told = {one["name"]: (one["failed"], one["runs"] and len(one["runs"])) for one in page.get("/api/cron").json["schedules"]}  # fmt: skip
    assert [runs for _, runs in told.values()].count(None) == 35  # nobody looked for theirs
    assert {name: of for name, of in told.items() if of not in ((None, []), (False, None))} == {
        names[0]: (True, 1),
        names[-1]: (True, 1),
    }
    house.q.unschedule(names[-1])
    assert f"1 schedule failed when last run: {names[0]}" in said(page)


def test_how_a_schedule_went_last_is_not_known_once_the_job_is_gone(page: Served, house: House) -> None:
    house.q.schedule("digest", "@yearly", "send", max_attempts=1)

    def told() -> tuple[bool | None, int, int]:
        [one] = page.get("/api/cron").json["schedules"]
        return one["failed"], len(one["runs"]), one["gone"]

    assert told() == (None, 0, 0)
    for outcome, expected in ((tenure.Fail("no answer"), (True, 1, 0)), (tenure.Done(), (False, 2, 0))):
        page.act("run_cron", name="digest")
        [claim] = house.q.claim()
        assert house.q.settle(claim, outcome)
        page.act("resume_cron", name="digest")  # so that nothing of before is shown
        assert told() == expected
    page.act("purge", q=f"id:{claim.id}")
    # The one before it is still there, and failed; that says nothing of the last.
    assert told() == (None, 1, 1)
    assert not any("failed when last run" in text for text in said(page))


def test_jobs_that_crash_their_workers_are_told_with_how_often_and_how_many_died(
    page: Served, house: House
) -> None:
    house.q.enqueue_many([tenure.NewJob(kind="leaky") for _ in range(2)])
    for life in range(3):
        claims = house.q.claim(2, worker=f"w{life}")
        house.q.vanished(
            f"w{life}", started=[(c.id, c.epoch) for c in claims[:1]], story="killed by signal 9"
        )
    house.q.enqueue("bad", max_attempts=1)
    [claim] = house.q.claim(kinds=["bad"])
    assert house.q.settle(claim, tenure.Fail("no"))
    [(text, link)] = [(text, link) for text, link in said(page).items() if "crashed" in text]
    assert text == "jobs of kind leaky crashed their worker 3 times lately, and 1 job died of it"
    assert link.startswith("#/errors?fingerprint=")
    [group] = page.get("/api/errors", fingerprint=link.partition("=")[2]).json["groups"]
    assert (group["error_kind"], group["kind"], group["count"]) == ("Crash", "leaky", 3)
    page.act("snooze_error", name=group["fingerprint"])
    assert not any("crashed" in one for one in said(page))
    page.act("snooze_error", name=group["fingerprint"], at="")
    assert text in said(page)
