"""Makes the pictures of docs/dashboard.md: `make screenshots`.

A shop's queues on a file of their own, worked on by a real worker for a few seconds, and a gateway that takes webhooks, so that
every page has something to show; then each page in a real Chromium, 1280 pixels wide, the overview as tall as all its charts.
Names of pictures, given to the module, make these alone.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tenure
from tenure.figures import Histogram, Tally
from tests.dashboard.house import House
from tests.dashboard.pages.hooks import delivered, gateway_of
from tests.support import chromium
from tests.support.clock import MovedClock
from tests.worker.house import Working, until

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["main"]

_INTO = Path(__file__).parents[3] / "docs" / "screenshots"
_SECONDS = 8.0
_CHARTS = 7
"""On the overview, and so in its picture."""
_WORKER = "yesterday's worker"
# Where this machine keeps things is nobody's business.
_PLACES = """places => {
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) for (const [one, other] of places) walk.currentNode.data = walk.currentNode.data.replaceAll(one, other);
}"""
_HERE = "tests/dashboard/pages/screenshots.py"


def shop(app: tenure.App) -> Callable[[], None]:
    """The shop's jobs; what is given back enqueues a day's work."""

    @app.job(queue="mail", max_attempts=1)
    def send_email(to: str, order: int) -> str:
        time.sleep(0.02 + order % 7 / 100)
        if order % 9 == 0:
            raise TimeoutError(f"smtp.example.org did not answer for order {order}")
        return f"sent to {to}"

    @app.job(queue="pictures")
    def resize(picture: str, width: int) -> dict[str, Any]:
        time.sleep(0.05 + width % 5 / 30)
        return {"picture": picture, "width": width}

    @app.job(queue="billing", max_attempts=1)
    def charge(card: str, cents: int) -> None:
        if cents % 4 == 0:
            raise ValueError(f"the card {card} was declined")
        time.sleep(0.03)

    @app.job(queue="imports")
    def import_page(page: int) -> int:
        time.sleep(0.1 + page % 3 / 5)
        return page * 100

    @app.job(queue="imports")
    def import_catalogue(ctx: tenure.Context, pages: int) -> str:
        time.sleep(0.3)
        for page in range(pages):
            import_page.options(parent=ctx.id, flow=ctx.job.flow).enqueue(page=page)
        return f"{pages} pages"

    @app.job(queue="reports")
    def report(ctx: tenure.Context, month: str) -> None:
        for step in range(1, 400):
            ctx.progress(min(step / 40, 0.63), "reading the ledger")
            time.sleep(0.1)
            ctx.check()

    app.cron("0 3 * * *", tz="Europe/Berlin", name="nightly catalogue", args={"pages": 6})(import_catalogue)
    app.cron("*/15 9-17 * * mon-fri", name="month so far", args={"month": "2026-01"})(report)

    def work() -> None:
        import_catalogue.options(flow="catalogue-2026-01").enqueue(pages=6)
        report.enqueue(month="2025-12")
        for order in range(260):
            send_email.enqueue(to=f"customer{order}@example.org", order=order)
            if order % 3 == 0:
                resize.enqueue(picture=f"p{order}.jpg", width=order)
            if order % 11 == 0:
                charge.enqueue(card=f"…{4000 + order}", cents=order * 100 + order % 8)
        for later in range(5):
            send_email.options(delay=f"{later + 1}h").enqueue(to="later@example.org", order=later + 1)

    return work


def past(url: str) -> None:
    """Figures of the last hour, as if the shop had been at work: told by a clock that is moved through it."""
    clock = MovedClock(datetime.now(UTC) - timedelta(minutes=58))
    with tenure.open(url, clock=clock) as q:
        for minute in range(56):
            busy = 220 + 90 * math.sin(minute / 7) + minute % 5 * 14
            spans = [
                Histogram((1 + minute % 11 / 9) * share for share in (0.04, 0.06, 0.09, 0.2, base))
                for base in (1.4, 0.7)
            ]
            failed = 31 if 30 < minute < 36 else minute % 4
            _stand(q, clock, minute)
            tally = Tally(
                "mail",
                "send_email",
                done=int(busy),
                failed=failed,
                dead=failed // 3,
                cancelled=minute % 3,
                waited=spans[0],
                ran=spans[1],
            )
            q.add_figures(_WORKER, [tally])
            clock.advance("1m")
        while q.purge(tenure.Filter(kinds=["past"])):
            pass
        q.vanished(_WORKER)


def _stand(q: tenure.Queue, clock: MovedClock, minute: int) -> None:
    """How the queues stood in one of these minutes: jobs that are enqueued, put down, and done."""
    waits = 45 if 30 < minute < 36 else 6
    for queue, share in (("mail", 1.0), ("pictures", 0.6), ("billing", 0.25)):
        depth = int(share * (30 + 18 * math.sin(minute / 6 + share * 9) + waits))
        due = clock() - timedelta(seconds=share * (waits + minute % 7))
        q.enqueue_many([tenure.NewJob(kind="past", queue=queue, run_at=due) for _ in range(depth)])
    busy = min(12, 4 + minute % 5 + waits // 6)
    q.beat(_WORKER, about=json.dumps({"running": busy, "lines": ["*:12"]}))
    q.sample()
    q.settle_many((claim, tenure.Done()) for claim in q.claim(500))


def main(wanted: Sequence[str] = ()) -> int:
    """Make them all, or those that are wanted; 1 where there is no Chromium."""
    found = chromium.find()
    if found is None:
        print(chromium.MISSING)  # noqa: T201 - a command's answer
        return 1
    _INTO.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        house = House(f"sqlite:///{folder}/shop.db")
        work = shop(house.app)
        past(f"sqlite:///{folder}/shop.db")
        gateway = gateway_of(house.app)
        worker = Working(house.app, {"concurrency": 12})
        try:
            with delivered(gateway):
                work()
                _shoot(found, house, house.serve(gateway=gateway).port, folder, wanted)
        finally:
            worker.stop()
            with ThreadPoolExecutor(1) as elsewhere:
                elsewhere.submit(house.close).result()
    return 0


def _shoot(found: str, house: House, port: int, folder: str, wanted: Sequence[str]) -> None:
    from playwright.sync_api import sync_playwright

    from tests.dashboard.pages.tab import PHONE, launch, opened

    until(
        lambda: house.q.count(tenure.Filter(states=["ready"])).total == 0,
        "the shop never got through its work",
    )
    time.sleep(_SECONDS)  # the worker writes its figures down every few seconds
    [dead] = house.q.list(tenure.Filter(states=["dead"], kinds=["send_email"]), limit=1)
    pages = {
        "overview": "overview", "jobs": "jobs?q=state:dead kind:charge,import_*", "job": f"job/{dead.id}", "flow": "flow/catalogue-2026-01",
        "errors": "errors", "queues": "queues", "workers": "workers", "cron": "cron", "webhooks": "webhooks", "system": "system",
    }  # fmt: skip
    with sync_playwright() as playwright:
        browser = launch(playwright, found)
        root = f"http://127.0.0.1:{port}"
        looks: dict[str, dict[str, Any]] = {name: {} for name in pages}
        looks |= {"overview-light": {"scheme": "light"}, "phone": {"size": PHONE}}
        for name, look in looks.items():
            if not wanted or name in wanted:
                with opened(browser, root, **look) as tab:
                    _picture(tab.go(pages.get(name, "overview")), name, folder)
        browser.close()


def _picture(page: Page, name: str, folder: str) -> None:
    page.locator('[data-live="live"]').wait_for()
    page.locator("#main .panel, #main .scroll, #main .empty, #main .group").first.wait_for()
    page.wait_for_timeout(600)
    if name.startswith("overview"):
        _whole(page)
    root = str(Path(__file__).parents[3])
    page.evaluate(_PLACES, [[f"{root}/{_HERE}", "/srv/shop/jobs.py"], [root, "/srv/shop"], [folder, "/srv/shop"], ["pages/screenshots.py", "shop/jobs.py"]])  # fmt: skip
    page.screenshot(path=str(_INTO / f"{name}.png"))


def _whole(page: Page) -> None:
    """As tall as it takes to see every chart."""
    charts = page.locator("#main .panel:has(.plot)")
    assert charts.count() == _CHARTS
    bottom: Any = charts.last.evaluate("one => one.getBoundingClientRect().bottom + window.scrollY")
    seen = page.viewport_size
    assert seen is not None
    page.set_viewport_size({"width": seen["width"], "height": math.ceil(bottom) + 8})
    page.wait_for_timeout(600)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
