"""What is done to many can be watched, and what is discarded can be undone, on each store."""

from __future__ import annotations

import re
import sys

import pytest
from playwright.sync_api import Browser, expect

import tenure
from tenure.dashboard import acting
from tests.dashboard.house import OPERATOR, VIEWER, House, Served
from tests.dashboard.pages.seeding import seed
from tests.dashboard.pages.tab import PHONE, Tab, opened

DEAD = tenure.Filter(states=["dead"])


def test_jobs_of_an_error_are_discarded_undone_and_one_of_them_restored(tab: Tab, house: House) -> None:
    seeded = seed(house)
    house.q.discard(tenure.Filter(ids=[seeded.dead]))  # somebody gave it up before
    page = tab.go("errors")
    page.locator(".group", has_text="send_email").get_by_role("button", name="Discard").click()
    expect(page.locator("dialog[open]")).to_contain_text("it can be undone")
    page.locator("dialog[open] button.yes").click()
    expect(page.locator(".toast", has_text="2 jobs were discarded")).to_be_visible()
    assert house.q.count(DEAD).total == 0
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(page.locator(".toast", has_text="2 jobs were made dead again")).to_be_visible()
    expect(page.locator("[data-lately]")).to_have_count(0)
    assert house.q.count(DEAD).total == 2
    page = tab.go(f"job/{seeded.dead}")
    page.get_by_role("button", name="Restore").click()
    expect(page.locator(".explain .state")).to_have_text("dead")


def test_what_was_discarded_is_undone_from_the_list_of_late_though_its_note_is_gone(
    tab: Tab, house: House
) -> None:
    seed(house)
    house.dead("other")
    page = tab.go("errors")
    for kind, said in (("send_email", "3 jobs were discarded"), ("other", "1 job was discarded")):
        page.locator(".group", has_text=kind).get_by_role("button", name="Discard").click()
        page.locator("dialog[open] button.yes").click()
        expect(page.locator(".toast", has_text=said)).to_be_visible()
    assert house.q.count(DEAD).total == 0
    page.reload()
    lately = page.locator("[data-lately] tbody tr")
    expect(lately).to_have_count(2)
    expect(page.locator(".toast")).to_have_count(0)
    expect(lately.first).to_contain_text("1 job was discarded")
    expect(lately.last).to_contain_text("state:dead fingerprint:")
    lately.last.get_by_role("button", name="Undo").click()
    expect(page.locator(".toast", has_text="3 jobs were made dead again")).to_be_visible()
    expect(lately).to_have_count(1)
    assert [job.kind for job in house.q.list(DEAD)] == ["send_email"] * 3
    tab.go("jobs?q=state:dead").get_by_role("button", name="Retry all").click()
    page.locator("dialog[open] button.yes").click()
    expect(page.locator(".toast", has_text="3 jobs were started anew")).to_be_visible()
    tab.go("errors")
    expect(lately.first).to_contain_text("3 jobs were started anew")
    lately.first.get_by_role("button", name="Undo").click()
    expect(lately).to_have_text([re.compile("1 job was discarded")])
    assert house.q.count(DEAD).total == 3


def test_a_viewer_is_shown_no_list_of_what_can_be_undone(browser: Browser, light: House) -> None:
    light.dead("first")
    light.dead("second")
    served = light.guarded()
    served.act("discard", q="kind:first", token=OPERATOR)
    with opened(browser, f"http://127.0.0.1:{served.port}", token=OPERATOR, size=PHONE) as tab:
        expect(tab.go("errors").get_by_role("button", name="Undo")).to_be_in_viewport(ratio=1)
        assert tab.wide() <= 0
    with opened(browser, f"http://127.0.0.1:{served.port}", token=VIEWER) as tab:
        expect(tab.go("errors").locator(".group")).to_have_count(2)
        expect(tab.page.locator("[data-lately]")).to_have_count(0)
        assert not any("undos" in url for url in tab.asked)
        tab.clean()


def test_the_jobs_of_one_error_are_replayed_and_those_of_another_like_it_are_not(
    tab: Tab, house: House, page: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Those of the other are a long way between.
    monkeypatch.setattr("tenure.store.search.STRETCH", 2)
    monkeypatch.setattr(sys.modules["tenure.dashboard.api.jobs"], "LOOK", 2)

    def dead(file: str) -> str:
        made = house.q.enqueue("send", max_attempts=1).id
        [claim] = house.q.claim()
        trace = f'Traceback (most recent call last):\n  File "/app/{file}.py", line 1, in f\nE: no\n'
        house.q.settle(claim, tenure.Fail("no", kind="E", traceback=trace))
        return made

    ids = {file: [dead(file) for _ in range(3)] for file in ("here", "there")}
    groups = {row["sample_id"]: row["fingerprint"] for row in page.get("/api/errors").json["groups"]}
    example = ids["here"][-1]
    assert house.q.replay(example) == "replayed"
    shown = tab.go("errors")
    group = shown.locator(f'[data-fingerprint="{groups[example]}"]')
    for button, left in (("Replay one", ids["here"][:1]), ("Replay all", [])):
        group.get_by_role("button", name=button).click()
        shown.locator("dialog[open] button.yes").click()
        expect(shown.locator(".toast", has_text="was started anew")).to_have_count(2 - len(left))
        still = {job.id for job in house.q.list(DEAD)}
        assert still == {*left, *ids["there"]}
    group.get_by_role("button", name="Replay one").click()
    expect(shown.locator(".toast", has_text="None of its jobs is dead any more")).to_be_visible()


def test_a_retry_of_many_is_undone_but_for_what_a_worker_has(tab: Tab, house: House) -> None:
    seed(house)
    page = tab.go("jobs?q=state:dead")
    page.get_by_role("button", name="Retry all").click()
    expect(page.locator("dialog[open]")).to_contain_text("It can be undone")
    page.locator("dialog[open] button.yes").click()
    expect(page.locator(".toast", has_text="3 jobs were started anew")).to_be_visible()
    assert len(house.q.claim(2, kinds=["send_email"])) == 2  # one that was ready before, and one of these
    page.get_by_role("button", name="Undo").click()
    told = page.locator(".toast", has_text="2 jobs were put back as they were")
    expect(told).to_contain_text("1 stayed: claimed since")
    assert house.q.count(DEAD).total == 2


def test_what_takes_long_says_how_far_it_is_until_it_ends(
    tab: Tab, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acting, "_PATIENCE", 0.05)
    seed(house)
    tab.page.clock.install()
    page = tab.go("jobs?q=state:dead")
    page.get_by_role("button", name="Retry all").click()
    page.locator("dialog[open] input").fill("2")
    page.locator("dialog[open] button.yes").click()
    going = page.locator(".toast .going")
    expect(going).to_contain_text("so far")
    assert going.locator("progress").get_attribute("max") == "3"
    tab.hide(hidden=True)
    assert tab.is_silent()
    tab.hide(hidden=False)
    expect(going).to_have_text("3 jobs were started anew")
    assert house.q.count(DEAD).total == 0
