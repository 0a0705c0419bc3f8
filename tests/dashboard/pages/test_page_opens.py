"""Every page opens, in every size and colour, on each store; nothing complains, and nobody else is asked."""

from __future__ import annotations

from typing import Literal

import pytest
from playwright.sync_api import Browser, expect
from starlette.applications import Starlette
from starlette.routing import Mount

from tenure.dashboard import asgi
from tests.dashboard.house import House
from tests.dashboard.pages.seeding import Seeded, seed
from tests.dashboard.pages.tab import PHONE, Tab, opened

PAGES = ["overview", "jobs", "errors", "queues", "workers", "cron", "webhooks", "system"]


def _routes(seeded: Seeded) -> list[str]:
    return [*PAGES, f"job/{seeded.dead}", f"job/{seeded.hook}", "flow/night-import"]


def test_every_page_opens_on_an_empty_store_and_says_so_in_words(tab: Tab) -> None:
    for name in PAGES:
        page = tab.go(name)
        expect(page.locator("h1")).to_have_text(name.capitalize())
        expect(page.locator(".empty, .wrong, .panel").first).to_be_visible()
        expect(page.locator(".problem")).to_have_count(0)


def test_every_page_shows_what_is_there(tab: Tab, house: House) -> None:
    _open_all(tab, seed(house))


@pytest.mark.parametrize("size", [PHONE, (3840, 2160)], ids=["phone", "4k"])
def test_every_page_fits_its_window(browser: Browser, house: House, size: tuple[int, int]) -> None:
    seeded, served = seed(house), house.serve()
    with opened(browser, f"http://127.0.0.1:{served.port}", size=size, scheme="light") as tab:
        _open_all(tab, seeded)
        letters = tab.page.evaluate("getComputedStyle(document.body).fontSize")
        assert letters == ("14px" if size == PHONE else "24px")
        tab.clean()


def _open_all(tab: Tab, seeded: Seeded) -> None:
    for route in _routes(seeded):
        shown = tab.arrive(route)
        expect(shown.locator(".problem")).to_have_count(0)
        assert tab.wide() <= 0, route


def test_it_is_dark_or_light_as_the_system_wishes_until_somebody_switches(
    browser: Browser, light: House
) -> None:
    served = light.serve()
    schemes: list[tuple[Literal["dark", "light"], str]] = [("dark", "light"), ("light", "dark")]
    for scheme, other in schemes:
        with opened(browser, f"http://127.0.0.1:{served.port}", scheme=scheme) as tab:
            page = tab.go("overview")
            expect(page.locator(f'html[data-theme="{scheme}"]')).to_have_count(1)
            before = page.evaluate("getComputedStyle(document.body).backgroundColor")
            page.get_by_label("Switch between dark and light").click()
            expect(page.locator(f'html[data-theme="{other}"]')).to_have_count(1)
            assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
            tab.clean()


def test_a_server_that_went_away_is_said_in_words(browser: Browser, light: House) -> None:
    served = light.serve()
    with opened(browser, f"http://127.0.0.1:{served.port}") as tab:
        page = tab.page
        page.route("**/api/**", lambda route: route.abort())
        tab.go("overview")
        expect(page.locator(".problem")).to_contain_text("Cannot reach the API")
        page.unroute("**/api/**")
        expect(page.locator(".tile").first).to_be_visible()


def test_a_job_that_is_not_there_is_said_in_words(tab: Tab) -> None:
    page = tab.go("job/01900000-0000-7000-8000-000000000000")
    expect(page.locator(".empty")).to_contain_text("There is no such job")
    tab.forgive(404)


def test_it_works_under_any_root_path(browser: Browser, light: House) -> None:
    seed(light)
    served = light.served(Starlette(routes=[Mount("/ops/queue", asgi(light.app))]), "/ops/queue")
    with opened(browser, f"http://127.0.0.1:{served.port}{served.under}") as tab:
        page = tab.go("jobs?q=state:dead")
        expect(page.locator("tbody tr")).to_have_count(3)
        page.get_by_role("button", name="Retry all").click()
        page.locator("dialog[open] button.yes").click()
        expect(page.locator(".empty")).to_be_visible()
        expect(page.locator('[data-live="live"]')).to_be_visible()
        tab.clean()
