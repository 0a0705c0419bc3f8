"""What can be done on the pages, each kind of action once, on each store; and that others' doings show by themselves."""

from __future__ import annotations

import re
import sys
from contextlib import ExitStack

import pytest
from playwright.sync_api import Browser, Page, expect

import tenure
from tests.dashboard.house import House
from tests.dashboard.pages.seeding import seed
from tests.dashboard.pages.tab import Tab, opened


def _yes(page: Page) -> None:
    page.locator("dialog[open] button.yes").click()
    expect(page.locator("dialog[open]")).to_have_count(0)


def test_what_happens_in_the_store_shows_without_a_reload(tab: Tab, house: House) -> None:
    page = tab.go("overview")
    expect(page.locator('[data-tile="Ready"]')).to_have_text("0")
    page.evaluate("window.kept = true")
    job = house.q.enqueue("send_email", {"to": "a@b.c"}, queue="mail")
    expect(page.locator('[data-tile="Ready"]')).to_have_text("1")
    page.evaluate("location.hash = '#/jobs'")
    expect(page.locator(f'tr[data-id="{job.id}"]')).to_be_visible()
    other = house.q.enqueue("send_email", {"to": "x@y.z"}, queue="mail")
    expect(page.locator(f'tr[data-id="{other.id}"]')).to_be_visible()
    assert page.evaluate("window.kept") is True


def test_each_other_page_shows_what_happens_without_a_reload(
    browser: Browser, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "tenure.dashboard.desk._CALM", 0
    )  # however long answers take here, they are not kept for it
    q, served = house.q, house.serve()
    dead = house.dead("first", flow="night")
    routes = ("errors", f"job/{dead}", "flow/night", "queues", "workers", "cron", "system")
    with ExitStack() as stack:
        # A browser has six connections to a server, and each page listens on one of them.
        first = [stack.enter_context(opened(browser, f"http://127.0.0.1:{served.port}")) for _ in range(2)]
        tabs = [
            *first,
            *(Tab(first[n % 2].page.context.new_page(), first[0].root) for n in range(len(routes) - 2)),
        ]
        errors, job, flow, queues, workers, cron, system = (
            tab.go(at) for tab, at in zip(tabs, routes, strict=True)
        )
        audit = system.locator(".panel", has_text="Who did what").locator("tbody tr")
        before = {errors.locator(".group"): 1, flow.locator(".gantt-row"): 1, queues.locator("tr[data-queue]"): 1, workers.locator(".empty"): 1, cron.locator(".empty"): 1, audit: 0}  # fmt: skip
        for there, count in before.items():
            expect(there).to_have_count(count)
        expect(job.locator(".explain .state")).to_have_text("dead")
        for tab in tabs:
            tab.page.evaluate("window.kept = true")
        q.beat("host-7", about='{"running": 1, "lines": ["*:5"]}')
        q.schedule("digest", "@yearly", "digest")
        q.add_audit("somebody", "retry", "all of it")
        q.pause("default")
        house.dead("second", queue="other")
        q.replay(dead)
        q.enqueue("third", queue="fresh", flow="night")
        expect(errors.locator(".group")).to_have_count(2)
        expect(job.locator(".explain .state")).to_have_text("ready")
        expect(flow.locator(".gantt-row")).to_have_count(2)
        expect(queues.locator("tr[data-queue]")).to_have_count(3)
        expect(queues.locator('tr[data-queue="default"] .state-paused')).to_be_visible()
        expect(workers.locator("tbody tr", has_text="host-7")).to_be_visible()
        expect(cron.locator('[data-cron="digest"]')).to_be_visible()
        expect(audit).to_have_count(1)
        for tab in tabs:
            assert tab.page.evaluate("window.kept") is True
            tab.clean()


def test_a_hidden_page_listens_to_nothing_and_asks_for_nothing(tab: Tab, house: House) -> None:
    tab.page.clock.install()
    page = tab.go("overview")
    expect(page.locator('[data-live="live"]')).to_be_visible()
    expect(page.locator(".tile").first).to_be_visible()
    tab.hide(hidden=True)
    expect(page.locator('[data-live="paused"]')).to_be_visible()
    house.q.enqueue("send_email", {})
    assert tab.is_silent()
    tab.hide(hidden=False)
    expect(page.locator('[data-live="live"]')).to_be_visible()
    expect(page.locator('[data-tile="Ready"]')).to_have_text("1")


def test_all_that_match_are_retried_after_a_count_and_a_question(tab: Tab, house: House) -> None:
    seed(house)
    page = tab.go("jobs?q=state:dead")
    expect(page.locator("[data-count]")).to_have_text("3 jobs match")
    page.get_by_role("button", name="Retry all").click()
    expect(page.locator("dialog[open] h2")).to_have_text("Retry all 3 jobs?")
    page.get_by_role("button", name="No, leave it").click()
    assert house.q.count(tenure.Filter(states=["dead"])).total == 3
    page.get_by_role("button", name="Retry all").click()
    _yes(page)
    expect(page.locator(".toast")).to_contain_text("3 jobs were started anew")
    expect(page.locator(".empty")).to_contain_text("No job matches")
    assert house.q.count(tenure.Filter(states=["dead"])).total == 0


def test_all_that_match_are_cancelled_or_deleted_as_far_as_they_can_be(tab: Tab, house: House) -> None:
    seed(house)
    page = tab.go("jobs?q=kind:send_email")
    expect(page.locator("[data-count]")).to_have_text("4 jobs match")
    for button, question, said in (("Cancel all", "Cancel all 1 job?", "1 job was cancelled"), ("Delete all", "Delete all 4 jobs?", "4 jobs were deleted")):  # fmt: skip
        page.get_by_role("button", name=button).click()
        expect(page.locator("dialog[open] h2")).to_have_text(question)
        _yes(page)
        expect(page.locator(".toast", has_text=said)).to_be_visible()
        expect(page.get_by_role("button", name="Undo")).to_have_count(0)
        left = house.q.enqueue("send_email").id
    assert [job.state.value for job in house.q.list(tenure.Filter(kinds=["send_email"]))] == [
        "ready",
        "ready",
    ]
    expect(page.locator(f'tr[data-id="{left}"]')).to_be_visible()


def test_a_shift_click_selects_a_range_that_is_then_deleted(tab: Tab, house: House) -> None:
    seed(house)
    page = tab.go("jobs?q=state:dead")
    ticks = page.locator("tbody .tick input")
    ticks.nth(0).click()
    late = house.dead("late")  # the range begins at the job, wherever it is by now
    expect(page.locator("tbody tr").first).to_have_attribute("data-id", late)
    ticks.nth(3).click(modifiers=["Shift"])
    expect(page.locator(".bar.on")).to_contain_text("3 jobs selected")
    page.locator(".bar.on").get_by_role("button", name="Delete").click()
    _yes(page)
    expect(page.locator(".toast")).to_contain_text("3 jobs were deleted")
    assert [job.id for job in house.q.list(tenure.Filter(states=["dead"]))] == [late]


def test_an_edited_payload_that_the_app_would_not_take_is_told_of_and_not_stored(
    tab: Tab, house: House
) -> None:
    @house.app.job
    def send(to: str, n: int = 1) -> None: ...

    page = tab.go(f"job/{house.dead('send', {'to': 'a@b.c'})}")
    page.get_by_role("button", name="Retry with edited payload").click()
    page.locator("dialog[open] textarea").fill('{"to": 5}')
    page.locator("dialog[open] button.yes").click()
    expect(page.locator(".toast .problem")).to_contain_text("payload.to: expected `str`, got `int`")
    tab.forgive(400)
    assert house.q.count().total == 1


def test_a_job_is_shown_whole_and_retried_now_later_and_with_another_payload(tab: Tab, house: House) -> None:
    seeded = seed(house)
    page = tab.go(f"job/{seeded.dead}")
    expect(page.locator(".explain")).to_contain_text("dead")
    expect(page.locator("pre.trace")).to_contain_text('File "/app/mail.py", line 41')
    expect(page.locator(".line-row .line")).to_have_count(1)
    expect(page.locator("pre.exact", has_text="a2@b.c")).to_have_text(
        '{"to":"a2@b.c","text":"the server did not answer"}'
    )
    page.get_by_role("button", name="Retry with edited payload").click()
    page.locator("dialog[open] textarea").fill('{"to": ')
    page.locator("dialog[open] button.yes").click()
    expect(page.locator(".toast .problem")).to_contain_text("payload")
    tab.forgive(400)
    page.get_by_role("button", name="Retry with edited payload").click()
    page.locator("dialog[open] textarea").fill('{"to": "edited@b.c"}')
    _yes(page)
    expect(page.locator(".toast", has_text="enqueued as")).to_have_count(1)
    assert house.q.count(tenure.Filter(payload={"to": "edited@b.c"})).total == 1
    page.get_by_role("button", name="Retry at").click()
    _yes(page)
    expect(page.locator(".toast", has_text="started anew for")).to_be_visible()
    expect(page.locator(".explain .state")).to_have_text("scheduled")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".toast", has_text="put back as it was")).to_be_visible()
    expect(page.locator(".explain .state")).to_have_text("dead")
    page.get_by_role("button", name="Retry now").click()
    _yes(page)
    expect(page.locator(".explain .state")).to_have_text("ready")


def test_a_job_that_waits_is_cancelled_which_cannot_be_undone_and_deleted(tab: Tab, house: House) -> None:
    seeded = seed(house)
    page = tab.go(f"job/{seeded.ready}")
    page.get_by_role("button", name="Cancel", exact=True).click()
    expect(page.locator("dialog[open]")).to_contain_text("This cannot be undone: Retry starts")
    _yes(page)
    expect(page.locator(".explain .state")).to_have_text("cancelled")
    expect(page.locator(".toast", has_text="1 job was cancelled")).to_be_visible()
    expect(page.get_by_role("button", name="Undo")).to_have_count(0)
    page.get_by_role("button", name="Delete").click()
    _yes(page)
    expect(page.locator(".toast", has_text="1 job was deleted")).to_be_visible()
    assert house.q.get(seeded.ready) is None
    tab.go("system")
    tab.forgive(404)


def test_a_job_shows_its_request_its_parent_and_its_children(tab: Tab, house: House) -> None:
    seeded = seed(house)
    page = tab.go(f"job/{seeded.hook}")
    expect(page.locator(".panel", has_text="The request it came with")).to_contain_text("x-words")
    page = tab.go(f"job/{seeded.parent}")
    expect(page.locator(".panel", has_text="Jobs it made").locator("tbody tr")).to_have_count(2)
    page.locator(".facts").get_by_role("link", name="night-import").click()
    expect(page.locator(".gantt-row")).to_have_count(3)
    expect(page.locator(".gantt-row.crit")).to_have_count(2)


def test_of_jobs_that_ended_in_one_moment_the_critical_path_ends_with_the_last_of_the_chain(tab: Tab) -> None:
    moment = {"created_at": "2026-01-01T00:00:00Z", "started_at": "2026-01-01T00:00:00Z", "finished_at": "2026-01-01T00:00:01Z"}  # fmt: skip
    rows = [
        {"id": "child", "parent": "parent", "state": "done", **moment},
        {"id": "parent", "state": "done", **moment},
    ]
    ask = "async (rows) => [...(await import('/static/js/flow.js')).criticalPath(rows)]"
    for line in (rows, rows[::-1]):
        assert tab.go("overview").evaluate(ask, line) == ["child", "parent"]


def test_a_name_with_a_star_in_it_leads_to_its_own_jobs_alone(tab: Tab, house: House) -> None:
    for name in ("mail*", "mailing", 'mail*, "all"'):
        house.q.enqueue(name, queue=name)
    for name in ("mail*", 'mail*, "all"'):
        row = tab.go("queues").locator("tr[data-queue]", has=tab.page.get_by_text(name, exact=True))
        row.get_by_role("link", name=name, exact=True).click()
        expect(tab.page.locator("#main tbody tr")).to_have_count(1)
        tab.page.locator("#main tbody tr").get_by_role("link", name=name, exact=True).click()
        expect(tab.page.locator("#filter")).to_have_value(re.compile("^kind:"))
        expect(tab.page.locator("#main tbody tr")).to_have_count(1)


def test_a_queue_is_paused_and_resumed(tab: Tab, house: House) -> None:
    seed(house)
    row = tab.go("queues").locator('tr[data-queue="mail"]')
    row.get_by_role("button", name="Pause").click()
    _yes(tab.page)
    expect(row.locator(".state-paused")).to_be_visible()
    assert "mail" in house.q.paused()
    row.get_by_role("button", name="Resume").click()
    expect(row.locator(".state-paused")).to_have_count(0)
    assert "mail" not in house.q.paused()


def test_a_schedule_is_read_in_words_run_paused_and_resumed(
    tab: Tab, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.q.schedule("nightly", "0 3 * * *", "report", {"n": 1})
    card = tab.go("cron").locator('[data-cron="nightly"]')
    expect(card.locator(".times li")).to_have_count(5)
    expect(card).to_contain_text("none yet")
    card.get_by_role("button", name="Run now").click()
    _yes(tab.page)
    expect(tab.page.locator(".toast")).to_contain_text("enqueued as")
    expect(card.locator("[data-runs] li")).to_have_count(1)
    assert house.q.count(tenure.Filter(kinds=["report"])).total == 1
    card.get_by_role("button", name="Pause").click()
    expect(card.locator(".state-paused")).to_be_visible()
    card.get_by_role("button", name="Resume").click()
    expect(card.locator(".state-paused")).to_have_count(0)
    monkeypatch.setattr(sys.modules["tenure.dashboard.api.cron"], "FOLLOWED", 0)
    tab.page.reload()
    card.get_by_role("link", name="not looked up here").click()
    expect(tab.page.locator("tbody tr")).to_have_count(1)
    monkeypatch.undo()
    [job] = house.q.list()
    assert house.q.cancel(job.id)
    assert house.q.purge(tenure.Filter(ids=[job.id]))
    # What the page keeps is looked up anew after some seconds, more where looking takes long.
    expect(tab.go("cron").locator('[data-cron="nightly"]')).to_contain_text(
        "how the last went is not known", timeout=60_000
    )


def test_what_was_done_is_kept_and_shown_with_who_did_it(tab: Tab, house: House) -> None:
    seed(house)
    page = tab.go("jobs?q=state:dead")
    page.get_by_role("button", name="Retry all").click()
    _yes(page)
    page = tab.go("system")
    row = page.locator("tbody tr", has_text=re.compile("retry"))
    expect(row).to_contain_text("operator")
    expect(row).to_contain_text("state:dead")


def test_an_error_is_replayed_at_a_pace_snoozed_and_woken_and_its_jobs_discarded(
    tab: Tab, house: House
) -> None:
    seeded = seed(house)
    page = tab.go("errors")
    group = page.locator(".group", has_text="send_email")
    expect(group).to_contain_text("the server did not answer")
    expect(group.locator("[data-frame]")).to_have_text("at app/mail.py:41 in send")
    expect(group.locator(".group-figures")).to_have_text("3failures3died")
    expect(group.locator(".spark")).to_have_attribute("aria-label", "3 in the last 24 hours, at most 3 in one")  # fmt: skip
    group.get_by_role("button", name="Snooze").click()
    _yes(page)
    expect(group.get_by_role("button", name="Wake")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(group.get_by_role("button", name="Snooze")).to_be_visible()
    group.get_by_role("button", name="Replay one").click()
    _yes(page)
    expect(page.locator(".toast", has_text="1 job was started anew")).to_be_visible()
    house.q.cancel(seeded.dead)
    group.get_by_role("button", name="Discard").click()
    expect(page.locator("dialog[open] h2")).to_have_text("Discard all 2 jobs?")
    page.get_by_role("button", name="No, leave it").click()
    group.get_by_role("button", name="Replay all").click()
    page.locator("dialog[open] input").fill("50")
    _yes(page)
    expect(page.locator(".toast", has_text="2 jobs were started anew")).to_be_visible()
    assert house.q.count(tenure.Filter(states=["dead"])).total == 0
