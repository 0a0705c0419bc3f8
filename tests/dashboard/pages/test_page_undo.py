"""What is done to many can be watched, and what is discarded can be undone, on each store."""

from __future__ import annotations

import sys

import pytest
from playwright.sync_api import Browser, expect

import tenure
from tenure.dashboard import acting
from tests.dashboard.house import House
from tests.dashboard.pages.seeding import seed
from tests.dashboard.pages.tab import Tab, opened

DEAD = tenure.Filter(states=["dead"])


def test_jobs_of_an_error_are_discarded_undone_and_one_of_them_restored(tab: Tab, house: House) -> None:
    seeded = seed(house)
    page = tab.go("errors")
    page.locator(".group", has_text="send_email").get_by_role("button", name="Discard").click()
    expect(page.locator("dialog[open]")).to_contain_text("it can be undone")
    page.locator("dialog[open] button.yes").click()
    expect(page.locator(".toast", has_text="3 jobs were discarded")).to_be_visible()
    assert house.q.count(DEAD).total == 0
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".toast", has_text="3 jobs were made dead again")).to_be_visible()
    assert house.q.count(DEAD).total == 3
    house.q.discard(tenure.Filter(ids=[seeded.dead]))
    page = tab.go(f"job/{seeded.dead}")
    page.get_by_role("button", name="Restore").click()
    expect(page.locator(".explain .state")).to_have_text("dead")


def test_the_jobs_of_one_error_are_replayed_and_those_of_another_like_it_are_not(
    browser: Browser, light: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Those of the other are a long way between.
    monkeypatch.setattr("tenure.store.search.STRETCH", 2)
    monkeypatch.setattr(sys.modules["tenure.dashboard.api.jobs"], "LOOK", 2)

    def dead(file: str) -> str:
        made = light.q.enqueue("send", max_attempts=1).id
        [claim] = light.q.claim()
        trace = f'Traceback (most recent call last):\n  File "/app/{file}.py", line 1, in f\nE: no\n'
        light.q.settle(claim, tenure.Fail("no", kind="E", traceback=trace))
        return made

    ids = {file: [dead(file) for _ in range(3)] for file in ("here", "there")}
    served = light.serve()
    groups = {row["sample_id"]: row["fingerprint"] for row in served.get("/api/errors").json["groups"]}
    example = ids["here"][-1]
    assert light.q.replay(example) == "replayed"
    with opened(browser, f"http://127.0.0.1:{served.port}") as tab:
        page = tab.go("errors")
        group = page.locator(f'[data-fingerprint="{groups[example]}"]')
        for button, left in (("Replay one", ids["here"][:1]), ("Replay all", [])):
            group.get_by_role("button", name=button).click()
            page.locator("dialog[open] button.yes").click()
            expect(page.locator(".toast", has_text="was started anew")).to_have_count(2 - len(left))
            still = {job.id for job in light.q.list(tenure.Filter(states=["dead"]))}
            assert still == {*left, *ids["there"]}
        group.get_by_role("button", name="Replay one").click()
        expect(page.locator(".toast", has_text="None of its jobs is dead any more")).to_be_visible()
        tab.clean()


def test_what_takes_long_says_how_far_it_is_until_it_ends(
    tab: Tab, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acting, "_PATIENCE", 0.05)
    seed(house)
    page = tab.go("jobs?q=state:dead")
    page.get_by_role("button", name="Retry all").click()
    page.locator("dialog[open] input").fill("2")
    page.locator("dialog[open] button.yes").click()
    going = page.locator(".toast .going")
    expect(going).to_contain_text("so far")
    assert going.locator("progress").get_attribute("max") == "3"
    expect(going).to_have_text("3 jobs were started anew")
    assert house.q.count(DEAD).total == 0
