"""A tab of a real browser on a dashboard: what it asked for, and what it complained about."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal
from urllib.parse import urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Page, Playwright, Request, expect

__all__ = ["DESKTOP", "PHONE", "Tab", "launch", "opened"]

DESKTOP = (1280, 800)
PHONE = (400, 800)
PATIENCE = 10_000
expect.set_options(timeout=PATIENCE)


class Tab:
    """One page, on one dashboard."""

    def __init__(self, page: Page, root: str) -> None:
        self.page, self.root = page, root
        self.complaints: list[str] = []
        self.asked: list[str] = []
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", self._see)

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def _see(self, request: Request) -> None:
        self.asked.append(request.url)

    def go(self, route: str) -> Page:
        """Open a page of it by its address."""
        self.page.goto(f"{self.root}/#/{route}")
        return self.page

    def arrive(self, route: str) -> Page:
        """Open a page of it, and wait until it is that one which is shown."""
        page = self.go(route)
        name, _, rest = route.partition("?")[0].partition("/")
        title = {"job": rest, "flow": "Flow", "chain": "Chain of"}.get(name, name.capitalize())
        expect(page.locator("h1")).to_contain_text(title)
        expect(page.locator("#main .panel, #main .scroll, #main .group, #main .empty").first).to_be_visible()
        return page

    def forgive(self, status: int) -> None:
        """A browser notes each such answer by itself, whatever the page makes of it."""
        self.complaints = [said for said in self.complaints if f"status of {status}" not in said]

    def hide(self, *, hidden: bool) -> None:
        """As if another tab were looked at, or this one again."""
        self.page.evaluate(
            "hidden => { Object.defineProperty(document, 'hidden', {value: hidden, configurable: true}); document.dispatchEvent(new Event('visibilitychange')); }",
            hidden,
        )

    def is_silent(self) -> bool:
        """Whether it asks for nothing in two minutes, by its clock, which has been installed."""
        before = len(self.asked)
        self.page.clock.fast_forward("02:00")
        self.page.wait_for_timeout(200)
        return len(self.asked) == before

    def strangers(self) -> list[str]:
        """Requests that went to another host."""
        here = urlsplit(self.root).netloc
        return [url for url in self.asked if urlsplit(url).scheme != "data" and urlsplit(url).netloc != here]

    def wide(self) -> int:
        """How much the page is wider than its window, in pixels."""
        found: Any = self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        return int(found)

    def clean(self) -> None:
        """Nothing was complained about, nobody else was asked."""
        assert self.complaints == []
        assert self.strangers() == []


def launch(playwright: Playwright, path: str) -> Browser:
    """A browser; the sandbox is left out, for tests may be run as root in a container."""
    return playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])


@contextmanager
def opened(
    browser: Browser,
    root: str,
    *,
    size: tuple[int, int] = DESKTOP,
    scheme: Literal["dark", "light"] = "dark",
    token: str | None = None,
) -> Iterator[Tab]:
    """A tab with nothing remembered."""
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, timezone_id="UTC", locale="en-GB",
        extra_http_headers={"Authorization": f"Bearer {token}"} if token else None,
    )  # fmt: skip
    try:
        yield Tab(context.new_page(), root)
    finally:
        context.close()
