"""What pages show that nobody asked for by a click: who works, what came in, how far it is, and what can be copied."""

from __future__ import annotations

import re
import shlex
import sys
from datetime import UTC, datetime, timedelta
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, expect

import tenure
import tenure.gateway
from tenure.figures import ErrorTally, Histogram, Tally
from tests.dashboard.house import House
from tests.dashboard.pages.seeding import seed
from tests.dashboard.pages.tab import DESKTOP, PHONE, Tab, opened
from tests.gateway.house import Served as Gateway
from tests.gateway.signing import body_of, headers_of, settings_of
from tests.worker.house import Working


def _clipboard(page: Page) -> str:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    return str(page.evaluate("navigator.clipboard.readText()"))


def test_a_worker_is_shown_with_its_memory_and_its_version(tab: Tab, house: House) -> None:
    @house.app.job
    async def nothing() -> None:
        pass

    worker = Working(house.app, {"concurrency": 3})
    try:
        row = tab.go("workers").locator("tbody tr")
        expect(row.locator("[data-memory]")).to_have_text(re.compile(r"^\d+ MB$|GB$"))
        expect(row.locator("[data-version]")).to_contain_text(f"tenure {tenure.__version__}, Python 3.")
        expect(row.locator("[data-started]")).to_have_text(re.compile(r"^started \d+ \w+ ago$|^started now$"))
        assert row.locator("[data-started]").evaluate(
            "one => one.getBoundingClientRect().right <= one.closest('td').getBoundingClientRect().right"
        )
    finally:
        worker.stop()


def test_a_worker_is_shown_with_the_jobs_it_has_run_longest_and_how_many_more(tab: Tab, house: House) -> None:
    house.q.beat("w1", about='{"running": 1200, "lines": ["*:2000"]}')
    house.q.enqueue_many([tenure.NewJob(kind="work") for _ in range(8)])
    ran = [house.q.claim(worker="w1")[0].id for _ in range(8)]
    row = tab.go("workers").locator("tbody tr")
    expect(row.locator("[data-left]")).to_have_text("+1,194")
    shown = [str(one.get_attribute("title")) for one in row.locator("td").last.locator("a").all()]
    assert shown == ran[:6]


@pytest.mark.parametrize(
    ("house", "size", "scheme"),
    [("postgres", DESKTOP, "dark"), ("sqlite", PHONE, "light")],
    indirect=["house"],
    ids=["postgres-desktop", "sqlite-phone"],
)
def test_the_overview_draws_how_it_went_and_leads_from_each_number_to_what_it_counts(
    browser: Browser,
    house: House,
    size: tuple[int, int],
    scheme: Literal["dark", "light"],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tenure.dashboard.present.CAP", 1)  # so there may be more of everything
    seed(house)
    house.q.beat("w1", kinds=["crawl"], about='{"running": 2, "lines": ["*:5"]}')
    house.q.schedule("digest", "@yearly", "digest", max_attempts=1)
    house.q.run_schedule("digest")
    [claim] = house.q.claim(kinds=["digest"])
    house.q.settle(claim, tenure.Fail("no"))
    house.q.sample()
    served = house.serve()
    with opened(browser, f"http://127.0.0.1:{served.port}", size=size, scheme=scheme) as tab:
        page = tab.go("overview")
        expect(page.locator(".chart canvas")).to_have_count(7)
        named = ["Throughput", "Wait before the start", "Run", "Depth by queue", "Age of the oldest ready job", "Error rate", "Busy slots"]  # fmt: skip
        expect(page.locator(".chart h2")).to_have_text(named)
        depth = page.locator(".chart", has_text="Depth by queue")
        expect(depth.locator(".u-legend")).to_contain_text("mail")
        assert tab.wide() <= 0
        figures = page.locator(".panel tbody tr", has_text="mail").locator("td.num a")
        asked = [str(one.get_attribute("href")).partition("?q=")[2] for one in figures.all()]
        assert asked == [f"state%3A{state}+queue%3Amail" for state in ("ready", "running", "ready", "done")]
        assert figures.all_inner_texts()[:2] == ["1+", "0+"]
        dead = page.locator("a.tile", has_text="Dead")
        assert (dead.get_attribute("href"), dead.locator(".num").inner_text()) == ("#/jobs?q=state%3Adead", "1+")  # fmt: skip
        page.locator(".wrong li", has_text="of kind send_email").locator("a.num").click()
        page.wait_for_url("**/#/jobs?q=state:ready%20kind:send_email")
        expect(page.locator("tbody tr")).to_have_count(1)
        tab.go("overview").locator(".wrong li", has_text="failed when last run").locator("a.num").click()
        expect(page.locator("[data-only]")).to_contain_text("failed when last run: 1 of 1")
        expect(page.locator('[data-cron="digest"]')).to_be_visible()
        counts = tab.go("queues").locator('tr[data-queue="mail"] td.num')
        expect(counts.first).to_be_visible()
        assert counts.all_inner_texts()[:5] == ["1+", "0+", "0+", "0", "1+"]
        tab.clean()


def test_webhooks_that_a_gateway_answered_are_shown_by_source(browser: Browser, house: House) -> None:
    @house.app.job
    async def on_event(event: dict[str, object]) -> None:
        pass

    gateway = tenure.gateway.asgi(house.app, {"inline_secrets": True, "sources": [settings_of("telegram")]})
    behind, served = Gateway(gateway), house.serve(gateway=gateway)
    try:
        for number in (1, 2, 2):
            body = body_of("telegram", update_id=number)
            assert behind.post("telegram", body, headers_of("telegram", body)).status == 200
        assert behind.post("telegram", body, {}).status == 401
        with opened(browser, f"http://127.0.0.1:{served.port}") as tab:
            row = tab.go("webhooks").locator("tbody tr")
            expect(row).to_have_count(1)
            expect(row).to_contain_text("/telegram")
            expect(row.locator("td").nth(4)).to_have_text("4")
            expect(row.locator("td").nth(5)).to_contain_text("200 3")
            expect(row.locator("td").nth(7)).to_have_text("1")
            body = body_of("telegram", update_id=9)
            assert behind.post("telegram", body, headers_of("telegram", body)).status == 200
            expect(row.locator("td").nth(4)).to_have_text("5")  # by itself
            row.get_by_role("link", name="telegram").click()
            expect(tab.page.locator("tbody tr")).to_have_count(3)
            tab.clean()
    finally:
        behind.close()
    served = house.serve()  # with no gateway but the notes of the one that left
    with opened(browser, f"http://127.0.0.1:{served.port}") as tab:
        row = tab.go("webhooks").locator("tbody tr")
        expect(row.locator("td")).to_have_text(["telegram", re.compile("ago|now"), "200", re.compile("ago|now"), "no signature 1"])  # fmt: skip
        tab.clean()


def test_payloads_commands_and_ids_are_copied_exactly(tab: Tab, house: House) -> None:
    seeded = seed(house)
    page = tab.go(f"job/{seeded.ready}")
    panel = page.locator(".panel", has=page.get_by_role("heading", name="Payload"))
    panel.get_by_role("button", name="Copy").click()
    expect(panel.get_by_role("button", name="Copied")).to_be_visible()
    assert _clipboard(page) == '{"to":"x@y.z"}'
    page.get_by_role("button", name="Copy CLI: show").click()
    expect(page.get_by_role("button", name="Copied")).to_have_count(2)
    assert shlex.split(_clipboard(page))[:3] == ["tenure", "show", seeded.ready]
    page = tab.go("jobs?q=state:dead")
    page.get_by_label("Select every job shown").click()
    page.get_by_role("button", name="Copy ids").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert _clipboard(page).split("\n") == [job.id for job in house.q.list(tenure.Filter(states=["dead"]))]


def test_how_far_a_job_is_is_a_bar_that_moves(tab: Tab, house: House) -> None:
    house.q.enqueue("crawl")
    [claim] = house.q.claim()
    house.q.progress(claim, 0.25, "page 1 of 4")
    page = tab.go(f"job/{claim.id}")
    expect(page.locator(".progress-line progress")).to_have_attribute("value", "0.25")
    expect(page.locator(".facts")).to_contain_text("page 1 of 4")
    house.q.progress(claim, 0.5, "page 2 of 4")
    expect(page.locator(".progress-line")).to_contain_text("50 %")


def test_each_run_of_a_job_that_was_started_anew_is_a_line_and_a_bar_of_its_own(
    tab: Tab, house: House
) -> None:
    dead = house.dead("send", flow="night")
    house.q.replay(dead)
    [claim] = house.q.claim()
    house.q.settle(claim, tenure.Done())
    page = tab.go(f"job/{dead}")
    expect(page.locator(".timeline .line-row .num:first-child")).to_have_text(["try 1", "try 1"])
    expect(page.locator(".timeline .bar-fail")).to_have_count(1)
    expect(page.locator(".timeline .bar-run")).to_have_count(1)
    page = tab.go("flow/night")
    expect(page.locator(".gantt-row .bar-fail")).to_have_count(1)
    expect(page.locator(".gantt-row .bar-run")).to_have_count(1)


def test_a_flow_of_many_jobs_is_shown_in_parts(
    tab: Tab, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["tenure.dashboard.api.flow"], "MOST", 3)
    monkeypatch.setattr(sys.modules["tenure.dashboard.api.job"], "_CHILDREN", 3)
    root = house.q.enqueue("root", flow="night").id
    for _ in range(4):
        house.q.enqueue("leaf", flow="night", parent=root)
    page = tab.go("flow/night")
    expect(page.locator("[data-part]")).to_contain_text("The newest 3 jobs of this flow")
    page.get_by_role("link", name="Older").click()
    expect(page.locator(".gantt-row")).to_have_count(2)
    page.get_by_role("link", name="The newest").click()
    expect(page.locator(".gantt-row")).to_have_count(3)
    page = tab.go(f"job/{root}")
    expect(page.locator("h2", has_text="The newest 3 of the jobs it made")).to_be_visible()


def test_jobs_that_belong_together_by_their_parents_alone_are_drawn_on_one_line_of_time(
    tab: Tab, house: House
) -> None:
    root = house.q.enqueue("root").id
    child = house.q.enqueue("child", parent=root).id
    leaf = house.q.enqueue("leaf", parent=child).id
    page = tab.go(f"job/{leaf}")
    page.get_by_role("link", name="on one line of time").click()
    expect(page.locator("h1")).to_contain_text(f"Chain of {leaf}")
    expect(page.locator(".gantt-row b")).to_have_text(["root", "child", "leaf"])
    house.q.enqueue("late", parent=root)
    expect(page.locator(".gantt-row b")).to_have_text(["root", "child", "leaf", "late"])
    expect(page.locator("[data-part]")).to_have_count(0)
    alone = house.q.enqueue("alone").id
    page = tab.go(f"job/{alone}")
    expect(page.locator(".facts")).to_contain_text("alone")
    expect(page.get_by_role("link", name="on one line of time")).to_have_count(0)


def test_what_was_done_long_ago_is_shown_page_by_page(tab: Tab, house: House) -> None:
    for number in range(103):
        house.q.add_audit("somebody", "retry", f"deed {number:03}")
    page = tab.go("system")
    rows = page.locator(".panel", has_text="Who did what").locator("tbody tr")
    expect(rows).to_have_count(100)
    doctor = page.locator(".panel", has_text="What the doctor says")
    expect(doctor.locator(".findings, .empty")).to_be_visible()  # what comes above the button moves it
    page.get_by_role("button", name="Older").click()
    expect(rows).to_have_count(3)
    expect(rows.last).to_contain_text("deed 000")
    page.get_by_role("button", name="Newest").click()
    expect(rows.first).to_contain_text("deed 102")


def test_what_began_and_has_no_end_that_is_known_says_so(tab: Tab, house: House) -> None:
    begun = house.q.begin_audit("somebody", "retry", "state:dead")
    page = tab.go("system")
    came_of_it = page.locator(".panel", has_text="Who did what").locator("tbody tr td:last-child")
    expect(came_of_it).to_have_text(["begun, no end known"])
    house.q.progress_audit(begun, count=5, said="5 retried")
    page.reload()
    expect(came_of_it).to_have_text(["begun, no end known; 5 retried"])
    house.q.add_audit("somebody", "retry", "state:dead", count=7, said="7 retried", ends=begun)
    page.reload()
    expect(came_of_it).to_have_text(["7 retried"])


def test_the_store_is_named_once(tab: Tab) -> None:
    page = tab.go("system")
    expect(page.locator(".store")).to_have_text(re.compile(r"^(SQLite /|PostgreSQL )(?!.*://).*$"))


def test_a_match_far_back_is_looked_for_until_it_is_found(
    tab: Tab, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenure.store.search.STRETCH", 10)
    monkeypatch.setattr(sys.modules["tenure.dashboard.api.jobs"], "LOOK", 10)
    far = house.q.enqueue("rare").id
    house.q.enqueue_many([tenure.NewJob(kind="common") for _ in range(60)])
    page = tab.go("jobs?q=kind:rare")
    expect(page.locator(f'tr[data-id="{far}"]')).to_be_visible()
    near = house.q.enqueue("rare").id  # above what was found far back
    expect(page.locator(f'tr[data-id="{near}"]')).to_be_visible()
    page.get_by_role("link", name="Older").click()
    expect(page.locator(f'tr[data-id="{far}"]')).to_be_visible()
    page = tab.go("jobs?q=kind:none")
    expect(page.locator(".empty")).to_contain_text("No job matches")
    first = house.q.enqueue("none").id
    expect(page.locator(f'tr[data-id="{first}"]')).to_be_visible()
    house.q.cancel(first)
    house.q.purge(tenure.Filter(kinds=["none"]))
    expect(page.locator(".empty")).to_contain_text("No job matches")
    second = house.q.enqueue("none").id
    expect(page.locator(f'tr[data-id="{second}"]')).to_be_visible()


def _drawn(page: Page) -> list[str]:
    found: list[str] = page.locator(".chart canvas").evaluate_all("all => all.map((one) => one.toDataURL())")
    return found


def test_each_span_of_time_is_chosen_by_its_button_and_drawn(tab: Tab, house: House) -> None:
    house.q.add_figures("w1", [Tally("mail", "send", 90, 10, 2, Histogram([0.5] * 90), Histogram([2.0] * 90))])  # fmt: skip
    house.q.enqueue("send", queue="mail")
    house.q.sample()
    page = tab.go("overview")
    spans = page.get_by_role("group", name="Span of time")
    expect(page.locator(".chart canvas")).to_have_count(7)
    expect(spans.locator('[aria-pressed="true"]')).to_have_text("1h")
    for span in ("5m", "6h", "24h", "7d", "1h"):
        before = _drawn(page)
        with page.expect_response(lambda answer, span=span: f"/api/overview?span={span}" in answer.url):  # type: ignore[misc]
            spans.get_by_role("button", name=span, exact=True).click()
        expect(spans.locator('[aria-pressed="true"]')).to_have_text(span)
        page.wait_for_url(f"**/#/overview?span={span}")
        page.wait_for_function(
            "before => { const all = [...document.querySelectorAll('.chart canvas')]; return all.length === before.length && all.every((one, at) => one.toDataURL() !== before[at]); }",
            arg=before,
        )
    page = tab.go("overview?span=24h")  # as somebody else was sent it
    expect(spans.locator('[aria-pressed="true"]')).to_have_text("24h")


def test_errors_are_shown_of_each_span_and_of_all_that_is_kept(tab: Tab, house: House) -> None:
    for days, name in ((0, "new"), (3, "days old"), (30, "weeks old")):
        moment = datetime.now(UTC) - timedelta(days=days)
        with tenure.open(house.app.url, clock=lambda moment=moment: moment) as q:  # type: ignore[misc]
            q.add_figures("w1", [], [ErrorTally(name, name, "ValueError", "no", "job", 1, 1)])
    page = tab.go("errors")
    spans = page.get_by_role("group", name="Span of time")
    expect(spans.locator('[aria-pressed="true"]')).to_have_text("24h")
    for span, many in (("1h", 1), ("7d", 2), ("all", 3), ("6h", 1), ("24h", 1)):
        spans.get_by_role("button", name=span, exact=True).click()
        expect(spans.locator('[aria-pressed="true"]')).to_have_text(span)
        page.wait_for_url(f"**/#/errors?span={span}")
        expect(page.locator(".group")).to_have_count(many)
    expect(page.locator(".group .spark")).to_have_attribute("aria-label", re.compile("^1 in the last 24 hours"))  # fmt: skip


def test_where_nothing_failed_of_late_the_errors_page_tells_of_jobs_that_are_dead_all_the_same(
    tab: Tab, house: House
) -> None:
    page = tab.go("errors")
    title, dead = page.locator(".empty-title"), page.locator("[data-dead]")
    expect(title).to_have_text("No failure in the last 24 hours")
    expect(dead).to_have_count(0)
    with tenure.open(house.app.url, clock=lambda: datetime.now(UTC) - timedelta(days=3)) as q:
        for said in ("is", "are"):
            q.enqueue("send", max_attempts=1)
            [claim] = q.claim()
            q.settle(claim, tenure.Fail("no", kind="ValueError"))
            expect(dead).to_contain_text(f"{said} dead now")  # by itself
    expect(dead).to_have_text(re.compile("^2 jobs are dead now"))
    spans = page.get_by_role("group", name="Span of time")
    for span, words in (("1h", "hour"), ("6h", "6 hours"), ("24h", "24 hours")):
        spans.get_by_role("button", name=span, exact=True).click()
        expect(title).to_have_text(f"No failure in the last {words}")
    dead.get_by_role("link").click()
    page.wait_for_url("**/#/jobs?q=state:dead")
    expect(page.locator("tbody tr")).to_have_count(2)
    tab.go("errors").get_by_role("link", name="all that is kept").click()
    expect(page.locator(".group-figures")).to_have_text("2failures2died")
    page = tab.go("errors?span=all&fingerprint=none")
    expect(title).to_have_text("No failure of this group is kept")
    expect(page.get_by_role("link", name="all that is kept")).to_have_count(0)
