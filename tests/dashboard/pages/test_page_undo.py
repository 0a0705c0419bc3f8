"""What is done to many can be watched, and what is discarded can be undone, on each store."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

import tenure
from tenure.dashboard import acting
from tenure.figures import ErrorTally
from tests.dashboard.house import House
from tests.dashboard.pages.seeding import seed
from tests.dashboard.pages.tab import Tab

DEAD = tenure.Filter(states=["dead"])


def test_jobs_of_an_error_are_discarded_undone_and_one_of_them_restored(tab: Tab, house: House) -> None:
    seeded = seed(house)
    words = "the server did not answer"
    house.q.add_figures(
        "w", errors=[ErrorTally("f1", "send_email", "TimeoutError", words, seeded.dead, 3, 3)]
    )
    page = tab.go("errors")
    page.locator('[data-fingerprint="f1"]').get_by_role("button", name="Discard").click()
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
