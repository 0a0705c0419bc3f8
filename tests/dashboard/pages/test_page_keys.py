"""The keyboard, the filter box and the palette, on each store where the store has a say in it."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, Locator, Page, Route, expect

import tenure
from tests.dashboard.house import House
from tests.dashboard.pages.seeding import seed
from tests.dashboard.pages.tab import Tab, opened


def test_a_g_and_a_letter_lead_to_each_page(browser: Browser, light: House) -> None:
    served = light.serve()
    with opened(browser, f"http://127.0.0.1:{served.port}") as tab:
        page = tab.go("overview")
        expect(page.locator("h1")).to_have_text("Overview")
        for letter, name in zip("jeqwchso", ["Jobs", "Errors", "Queues", "Workers", "Cron", "Webhooks", "System", "Overview"], strict=True):  # fmt: skip
            page.keyboard.press("g")
            page.keyboard.press(letter)
            expect(page.locator("h1")).to_have_text(name)
        page.keyboard.press("?")
        expect(page.locator("dialog[open]")).to_contain_text("find anything")
        page.keyboard.press("Escape")
        expect(page.locator("dialog[open]")).to_have_count(0)
        tab.clean()


def test_jobs_are_walked_selected_retried_and_cancelled_by_keys(tab: Tab, house: House) -> None:
    seeded = seed(house)
    page = tab.go("jobs?q=state:dead")
    expect(page.locator("tbody tr")).to_have_count(3)
    page.keyboard.press("j")
    page.keyboard.press("x")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("x")
    expect(page.locator(".bar.on")).to_contain_text("2 jobs selected")
    page.keyboard.press("r")
    expect(page.locator("dialog[open] h2")).to_have_text("Retry 2 jobs?")
    page.keyboard.press("Enter")
    expect(page.locator("tbody tr")).to_have_count(1)
    tab.go("jobs?q=state:ready")
    expect(page.locator("tbody tr")).to_have_count(3)
    page.keyboard.press("j")
    house.q.enqueue("send_email")  # it is above what was pointed at, which is meant all the same
    expect(page.locator("tbody tr")).to_have_count(4)
    page.keyboard.press("c")
    expect(page.locator("dialog[open] h2")).to_have_text("Cancel 1 job?")
    page.keyboard.press("Enter")
    expect(page.locator("tbody tr")).to_have_count(3)
    assert [job.id for job in house.q.list(tenure.Filter(states=["cancelled"]))] == [seeded.ready]
    page.keyboard.press("c")  # it is gone: nothing is meant
    page.keyboard.press("?")
    expect(page.locator("dialog[open]")).to_contain_text("find anything")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator(".explain .state")).to_have_text("ready")


def test_keys_are_heard_after_a_click_on_a_tick_box(tab: Tab, house: House) -> None:
    seed(house)
    page = tab.go("jobs?q=state:dead")
    rows, question = page.locator("tbody tr"), page.locator("dialog[open] h2")
    rows.nth(1).locator(".tick input").click()
    expect(page.locator(".bar.on")).to_contain_text("1 job selected")
    for key, asked in (("r", "Retry 1 job?"), ("c", "Cancel 1 job?")):
        page.keyboard.press(key)
        expect(question).to_have_text(asked)
        page.keyboard.press("Escape")
        expect(question).to_have_count(0)
    page.keyboard.press("j")
    expect(rows.first).to_have_class(re.compile(r"\bhere\b"))
    page.keyboard.press("x")
    expect(page.locator(".bar.on")).to_contain_text("2 jobs selected")
    page.get_by_label("Select every job shown").click()
    expect(page.locator(".bar.on")).to_contain_text("3 jobs selected")
    page.keyboard.press("/")
    expect(page.locator("#filter")).to_be_focused()


def _offered_dead(page: Page) -> tuple[Locator, Locator]:
    """The filter box, in which state:dead is offered and chosen, and the rows of the list."""
    box, rows = page.locator("#filter"), page.locator("tbody tr")
    expect(rows.first).to_be_visible()
    page.keyboard.press("/")
    box.press_sequentially("state:de")
    expect(page.locator("#filter-list li")).to_have_text([re.compile("^dead")])
    page.keyboard.press("ArrowDown")
    return box, rows


def test_a_filter_that_is_applied_leaves_the_keys_to_the_list(tab: Tab, house: House) -> None:
    seed(house)
    page = tab.go("jobs")
    box, rows = _offered_dead(page)
    late: list[Route] = []
    page.route(
        "**/api/complete?**", lambda route: late.append(route)
    )  # the next offers come when all is over
    with page.expect_request("**/api/complete?**"):
        page.keyboard.press("Enter")  # takes what is offered, and one types on
    expect(box).to_have_value("state:dead")
    expect(box).to_be_focused()
    page.keyboard.press("Enter")
    expect(rows).to_have_count(3)
    expect(box).not_to_be_focused()
    page.keyboard.press("j")
    expect(rows.first).to_have_class(re.compile(r"\bhere\b"))
    expect(box).to_have_value("state:dead")
    assert late
    for route in late:
        route.continue_()
    page.unroute_all(behavior="ignoreErrors")


def test_a_filter_that_is_applied_faster_than_the_page_is_drawn_leaves_the_keys_to_the_list(
    tab: Tab, house: House
) -> None:
    seed(house)
    tab.page.add_init_script(
        "const draw = requestAnimationFrame; window.requestAnimationFrame = (what) => draw(() => setTimeout(() => { what(); window.drawn = (window.drawn || 0) + 1; }, 400))"
    )
    page = tab.go("jobs")
    box, rows = _offered_dead(page)
    drawn = page.evaluate("window.drawn || 0")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    expect(rows).to_have_count(3)
    page.wait_for_function("drawn => window.drawn > drawn", arg=drawn)
    page.wait_for_timeout(500)
    expect(box).not_to_be_focused()


def test_the_filter_box_completes_behind_letters_of_every_length(tab: Tab, house: House) -> None:
    seed(house)
    box = tab.go("jobs").locator("#filter")
    box.fill('payload.n:"😀" sta')
    expect(tab.page.locator("#filter-list")).to_contain_text("state:")
    tab.page.keyboard.press("Tab")
    expect(box).to_have_value('payload.n:"😀" state:')


def test_the_filter_box_completes_says_where_a_mistake_is_and_makes_an_address(
    tab: Tab, house: House
) -> None:
    seed(house)
    # However slow the next page is to open.
    tab.page.add_init_script(
        "addEventListener('hashchange', (event) => { event.stopImmediatePropagation(); setTimeout(() => dispatchEvent(new HashChangeEvent('hashchange')), 300); }, {once: true})"
    )
    page = tab.go("overview")
    expect(page.locator("h1")).to_have_text("Overview")
    page.keyboard.press("/")
    box = page.locator("#filter")
    expect(box).to_be_focused()
    box.press_sequentially("sta")
    expect(page.locator("#filter-list")).to_contain_text("state:")
    page.keyboard.press("Tab")
    expect(box).to_have_value("state:")
    expect(page.locator("#filter-list")).to_contain_text("dead")
    box.press_sequentially("de")
    expect(page.locator("#filter-list li")).to_have_text([re.compile("^dead")])
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(box).to_have_value("state:dead")
    page.keyboard.press("Escape")
    box.focus()
    page.keyboard.press("Enter")
    expect(page.locator("tbody tr")).to_have_count(3)
    assert page.url.endswith("#/jobs?q=state%3Adead")
    box.fill("state:ded")
    page.keyboard.press("Enter")
    expect(page.locator(".filter-bad")).to_contain_text("^^^")
    expect(page.locator(".filter-bad p")).to_have_text(
        re.compile(r"^filter, column 7: (?!.*expected.*expected).*did you mean dead\?$")
    )
    tab.forgive(400)


def test_errors_are_walked_snoozed_retried_and_discarded_by_keys(tab: Tab, house: House) -> None:
    house.dead("first")
    house.dead("second")
    page = tab.go("errors")
    groups, question = page.locator(".group"), page.locator("dialog[open] h2")
    expect(groups).to_have_count(2)
    for key, here in (("j", 0), ("j", 1), ("j", 1), ("k", 0)):
        page.keyboard.press(key)
        expect(groups.nth(here)).to_have_class(re.compile(r"\bhere\b"))
    house.dead("third")  # the first of them now
    expect(groups).to_have_count(3)
    expect(groups.nth(1)).to_have_class(re.compile(r"\bhere\b"))
    page.keyboard.press("x")
    expect(question).to_have_text("Snooze this error")
    page.keyboard.press("Escape")
    page.keyboard.press("c")
    expect(question).to_have_text("Discard all 1 job?")
    page.keyboard.press("Enter")
    expect(page.locator(".toast", has_text="1 job was discarded")).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("r")
    expect(question).to_have_text("Retry all 1 job?")
    page.keyboard.press("Enter")
    expect(page.locator(".toast", has_text="1 job was started anew")).to_be_visible()
    assert {state: n for state, n in house.q.count().states.items() if n} == {
        "cancelled": 1,
        "dead": 1,
        "ready": 1,
    }
    page.keyboard.press("?")
    expect(page.locator("dialog[open]")).to_contain_text("snooze an error")
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")
    expect(page.locator(".explain")).to_be_visible()


def test_a_job_is_retried_and_cancelled_by_keys(tab: Tab, house: House) -> None:
    page = tab.go(f"job/{house.dead('send')}")
    state, question = page.locator(".explain .state"), page.locator("dialog[open] h2")
    expect(state).to_have_text("dead")
    page.keyboard.press("c")  # it has ended: there is nothing to cancel
    expect(question).to_have_count(0)
    page.keyboard.press("r")
    expect(question).to_have_text("Retry 1 job?")
    page.keyboard.press("Escape")
    expect(question).to_have_count(0)
    page.keyboard.press("r")
    expect(question).to_have_text("Retry 1 job?")
    page.keyboard.press("Enter")
    expect(state).to_have_text("ready")
    page.keyboard.press("c")
    expect(question).to_have_text("Cancel 1 job?")
    page.keyboard.press("Enter")
    expect(state).to_have_text("cancelled")
    page.keyboard.press("?")
    expect(page.locator("dialog[open]")).to_contain_text("find anything")
    page.keyboard.press("Escape")
    expect(page.locator("dialog[open]")).to_have_count(0)


def test_the_palette_finds_pages_filters_queues_and_jobs(tab: Tab, house: House) -> None:
    seeded = seed(house)
    page = tab.go("overview")
    expect(page.locator(".tile").first).to_be_visible()
    for typed, lands in (("err", "#/errors"), ("state:ready", "#/jobs?q=state%3Aready"), ("queue mail", "#/jobs?q=queue%3Amail"), (seeded.dead, f"#/job/{seeded.dead}")):  # fmt: skip
        page.keyboard.press("Control+k")
        page.locator(".palette input").fill(typed)
        expect(page.locator(".palette li").first).to_contain_text(
            typed.split(maxsplit=1)[0], ignore_case=True
        )
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/{lands}")


def test_the_palette_asks_before_it_pauses_a_queue(tab: Tab, house: House) -> None:
    seed(house)
    page = tab.go("overview")
    expect(page.locator(".tile").first).to_be_visible()
    for answer, paused in (("Escape", False), ("Enter", True)):
        page.keyboard.press("Control+k")
        page.locator(".palette input").fill("pause queue mail")
        expect(page.locator(".palette li").first).to_have_text("Pause queue mail")
        page.keyboard.press("Enter")
        expect(page.locator("dialog[open] h2")).to_have_text("Pause the queue mail?")
        assert "mail" not in house.q.paused()
        page.keyboard.press(answer)
        expect(page.locator("dialog[open]")).to_have_count(0)
        expect(page.locator(".toast")).to_have_count(int(paused))
        assert ("mail" in house.q.paused()) == paused
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".toast", has_text="claimed from again")).to_be_visible()
    assert "mail" not in house.q.paused()
