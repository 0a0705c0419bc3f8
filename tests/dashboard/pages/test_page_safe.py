"""Whatever a job holds is shown as text: nothing stored is ever run, and a viewer can only look."""

from __future__ import annotations

import json
import re
import time
from urllib.parse import quote

from playwright.sync_api import Browser, Page, expect

import tenure
from tenure.gateway.lately import SOURCES, note_of
from tests.dashboard.house import VIEWER, House
from tests.dashboard.pages.seeding import seed
from tests.dashboard.pages.tab import Tab, opened

CORPUS = [
    "<script>window.hurt=1</script>",
    "<img src=x onerror=window.hurt=1>",
    '"><svg onload=window.hurt=1>',
    "javascript:window.hurt=1",
    "</pre></script><script>window.hurt=1</script>",
    "${window.hurt=1}{{window.hurt=1}}<!--",
    "'-window.hurt=1-'`",
    '<a href="javascript:window.hurt=1">x</a><iframe srcdoc="<script>parent.hurt=1</script>"></iframe>',
]


def _told(q: tenure.Queue) -> list[str]:
    """Where to see what workers, handlers and people say of jobs and of themselves."""
    script, image, svg, *_ = CORPUS
    q.beat(image, queues=[svg], kinds=[script], about=json.dumps({"version": svg, "python": script, "lines": [image]}))  # fmt: skip
    q.add_audit(image, svg, script, count=1, said=image)
    runs = q.enqueue("told", tenant=image, meta={svg: script}).id
    [claim] = q.claim(kinds=["told"], worker=script)
    q.progress(claim, 0.5, image)
    gone = q.enqueue("told", delay="1h").id
    q.cancel(gone, script)
    made = q.enqueue(svg, parent=runs, delay="1h").id
    minute = int(time.time())
    for slug in CORPUS:
        seen = {"at": minute, "status": 401, "reason": slug, "rejects": {str(minute // 60): {slug: 1}}}
        q.set_note(note_of(slug), json.dumps(seen))
    q.set_note(SOURCES, json.dumps(CORPUS))
    return [f"job/{runs}", f"job/{gone}", f"chain/{made}", "webhooks"]


def test_markup_in_every_stored_field_stays_text(tab: Tab, house: House) -> None:
    words = " ".join(CORPUS)
    seeded = seed(house, words, CORPUS[1], file=CORPUS[1], header=CORPUS[1])
    raw = house.q.enqueue_job(
        tenure.NewJob(
            kind="raw", delay="1h", request=tenure.Request(words.encode(), dict.fromkeys(CORPUS, words))
        )
    ).id
    for bad in CORPUS:
        job = house.q.enqueue(bad[:60], {bad: bad}, queue=bad[:60], tags=[bad[:60]], group=bad[:60], flow=bad[:60], unique=bad, delay="1h")  # fmt: skip
        failing = house.q.enqueue(bad[:50], queue="failing", max_attempts=1).id
        [claim] = house.q.claim(queues=["failing"], worker=bad)
        assert claim.id == failing
        house.q.settle(
            claim, tenure.Fail(bad, kind=bad[:60], traceback=f'  File "{bad}", line 1, in {bad}\n{bad}')
        )
    house.q.sample()
    house.q.schedule(CORPUS[1][:60], "0 3 * * *", CORPUS[0][:60], {"bad": CORPUS[2]})
    house.q.pause(CORPUS[1][:60])
    flow = f"flow/{quote(CORPUS[-1][:60], safe='')}"
    for route in ["overview", "jobs", f"job/{seeded.dead}", f"job/{seeded.done}", f"job/{seeded.hook}", f"job/{raw}", f"job/{job.id}", *_told(house.q), flow, "errors", "queues", "workers", "cron", "system"]:  # fmt: skip
        page = tab.arrive(route)
        if route in ("errors", "system"):  # which show more as it comes
            expect(page.locator(".group, tbody td").get_by_text(CORPUS[1], exact=True).first).to_be_visible()
        assert page.evaluate("window.hurt") is None, route
        assert (
            page.locator("#main img, #main iframe, #main script, #main [onerror], #main [onload]").count()
            == 0
        ), route
        assert page.locator('a[href^="javascript"]').count() == 0, route
    page = tab.go(f"job/{seeded.dead}")
    expect(page.locator("pre.trace")).to_contain_text("<img src=x onerror=window.hurt=1>")
    expect(page.locator("pre.trace")).to_contain_text(f'File "/app/{CORPUS[1]}.py"')
    group = tab.go("errors").locator(".group", has_text="in send_email")
    expect(group.locator(".err")).to_have_text(CORPUS[1])
    expect(group.locator("[data-frame]")).to_have_text(f"at app/{CORPUS[1]}.py:41 in send")
    request = page.locator(".panel", has_text="The request it came with")
    tab.go(f"job/{seeded.hook}")
    expect(request.locator("pre")).to_have_text(json.dumps({"id": 7, words: words}))
    expect(request.locator("th").get_by_text(CORPUS[1], exact=True)).to_be_visible()
    tab.go(f"job/{raw}")
    expect(request.locator("pre")).to_have_text(words)
    for bad in CORPUS:
        expect(request.locator("th").get_by_text(bad, exact=True)).to_be_visible()
    expect(tab.go("webhooks").locator("tbody tr")).to_have_count(len(CORPUS))
    expect(page.locator("tbody b").first).to_have_text(min(CORPUS))
    for bad in CORPUS:
        page = tab.go("jobs")
        page.locator("#filter").fill(f'kind:"{bad[:9]}' if '"' not in bad[:9] else "kind:")
        expect(page.locator(".offers")).to_contain_text(bad[:60].replace('"', '\\"'))
        _harmless(page)
        page.locator("#filter").fill("")


def _harmless(page: Page) -> None:
    made = ", ".join(f"{where} {what}" for where in ("dialog", ".toasts", ".offers") for what in ("img", "iframe", "script", "svg", "[onerror]", "[onload]"))  # fmt: skip
    assert page.locator(made).count() == 0
    assert page.locator('a[href^="javascript"]').count() == 0
    assert page.evaluate("window.hurt") is None


def test_markup_in_what_the_palette_offers_and_in_what_is_asked_and_said_stays_text(
    tab: Tab, house: House
) -> None:
    words = " ".join(CORPUS)
    seeded = seed(house, words)
    for bad in CORPUS:
        house.q.enqueue("work", queue=bad[:60])
    page = tab.go("overview")
    expect(page.locator(".tile").first).to_be_visible()
    for bad in CORPUS:
        page.keyboard.press("Control+k")
        page.locator(".palette input").fill(f"pause queue {bad[:60]}")
        # Not a filter of the same words, which may stand before it, or alone until the queues are known.
        offered = page.locator(".palette li", has_text=re.compile(f"^Pause queue {re.escape(bad[:60])}"))
        expect(offered).to_be_visible()
        _harmless(page)
        offered.click()
        expect(page.locator("dialog[open] h2")).to_have_text(f"Pause the queue {bad[:60]}?")
        _harmless(page)
        page.keyboard.press("Escape")
        expect(page.locator("dialog[open]")).to_have_count(0)
    page.keyboard.press("Control+k")
    page.locator(".palette input").fill(f"kind:{words}")  # as a filter of one's own
    expect(page.locator(".palette li").first).to_contain_text("<script>")
    _harmless(page)
    page.keyboard.press("Escape")
    page = tab.go("jobs?q=state:dead")
    page.get_by_role("button", name="Retry all").click()
    expect(page.locator("dialog[open] .sample")).to_contain_text("<script>window.hurt=1</script>")
    _harmless(page)
    page.keyboard.press("Escape")
    page = tab.go(f"job/{seeded.dead}")
    page.get_by_role("button", name="Retry with edited payload").click()
    expect(page.locator("dialog[open] textarea")).to_have_value(re.compile("<script>"))
    page.locator("dialog[open] textarea").fill(words)
    page.locator("dialog[open] button.yes").click()
    expect(page.locator(".toast .problem")).to_contain_text("payload")
    _harmless(page)
    tab.forgive(400)
    page = tab.go("queues")
    page.locator("tr[data-queue]", has_text=CORPUS[1][:60]).get_by_role("button", name="Pause").click()
    page.locator("dialog[open] button.yes").click()
    expect(page.locator(".toast", has_text="is paused")).to_contain_text(CORPUS[1][:60])
    _harmless(page)


def test_a_viewer_sees_everything_and_is_offered_no_action(browser: Browser, light: House) -> None:
    seed(light)
    served = light.guarded()
    with opened(browser, f"http://127.0.0.1:{served.port}", token=VIEWER) as tab:
        page = tab.go("jobs?q=state:dead")
        expect(page.locator("tbody tr")).to_have_count(3)
        expect(page.locator(".top")).to_contain_text("viewer")
        expect(page.get_by_role("button", name="Retry all")).to_have_count(0)
        page.locator("tbody .tick input").first.click()
        expect(page.locator(".bar.on")).to_be_visible()
        expect(page.locator(".bar.on").get_by_role("button", name="Retry")).to_have_count(0)
        page.keyboard.press("j")  # keys are heard
        expect(page.locator("tbody tr").first).to_have_class(re.compile(r"\bhere\b"))
        page.keyboard.press("r")
        page.keyboard.press("c")
        page.keyboard.press("j")
        expect(page.locator("tbody tr").nth(1)).to_have_class(re.compile(r"\bhere\b"))
        expect(page.locator("dialog[open]")).to_have_count(0)
        tab.clean()


def test_one_logs_in_by_the_form_and_out_again_and_every_page_says_so(browser: Browser, light: House) -> None:
    served = light.guarded()
    at = f"http://127.0.0.1:{served.port}"
    with opened(browser, at) as tab:
        page = tab.page
        page.goto(f"{at}/")
        page.get_by_label("Password or token").fill("not it")
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("alert")).to_be_visible()
        page.get_by_label("Password or token").fill(VIEWER)
        page.get_by_role("button", name="Log in").click()
        expect(page.locator(".top")).to_contain_text("viewer")
        other = page.context.new_page()
        other.goto(f"{at}/")
        other.get_by_role("button", name="Log out").click()
        expect(other.get_by_label("Password or token")).to_be_visible()
        tab.hide(hidden=True)  # then it listens anew
        tab.hide(hidden=False)
        expect(page.locator('[data-live="out"]')).to_have_text("Log in")
        tab.go("queues").locator(".problem").get_by_role("link", name="Log in").click()
        expect(page.get_by_label("Password or token")).to_be_visible()
        page.goto(f"{at}/")
        expect(page.get_by_label("Password or token")).to_be_visible()
