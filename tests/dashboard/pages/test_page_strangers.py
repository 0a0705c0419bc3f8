"""What another site's page can do while an operator is logged in: it is played for real, and comes to nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Browser, expect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tenure.dashboard import DashboardSettings, asgi, hash_password
from tests.dashboard.house import House
from tests.dashboard.pages.tab import Tab, opened

PASSWORD = "correct horse battery"
# The form's one field is an order, too: what a browser puts between a name and its value stands within a text.
PAGE = """<!doctype html><title>Elsewhere</title><body>
<iframe src="AT/"></iframe><iframe src="AT/api/act"></iframe>
<form method="post" enctype="text/plain" action="AT/api/act"><input type="hidden" name='{"action": "pause", "name": "mail' value='"}'><button>Win</button></form>
<script>
  const order = JSON.stringify({ action: "pause", name: "mail" });
  const tried = (path, options) => fetch(`AT/api/${path}`, { credentials: "include", ...options }).then((answer) => answer.type, (error) => error.name);
  const post = (type, more) => tried("act", { method: "POST", body: order, headers: { "Content-Type": type }, ...more });
  (async () => [await tried("me"), await post("text/plain", { mode: "no-cors" }), await post("application/json")])()
    .then((came) => { document.body.dataset.came = came.join(" "); });
</script>"""


class Door:
    """In front of a dashboard: what was sent to change something, whether with the cookie, and how it was answered."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.seen: list[tuple[str, str, bool, int]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def told(message: Message) -> None:
            if message["type"] == "http.response.start" and scope["method"] != "GET":
                cookie = any(name == b"cookie" for name, _ in scope["headers"])
                self.seen.append((scope["method"], scope["path"], cookie, message["status"]))
            await send(message)

        await self._app(scope, receive, told)


@contextmanager
def _elsewhere(page: str) -> Iterator[int]:
    """Another server, with this page at every address; its port."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(page.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


# Another port is another origin of the same site: the cookie is sent along. Another name is another site: it is not.
@pytest.mark.parametrize(
    ("host", "cookie", "status"),
    [("127.0.0.1", True, 403), ("localhost", False, 401)],
    ids=["same-site", "cross-site"],
)
def test_another_sites_page_changes_nothing_reads_nothing_and_shows_nothing_in_a_frame(
    browser: Browser, light: House, host: str, cookie: bool, status: int
) -> None:
    door = Door(asgi(light.app, DashboardSettings(operator_password=hash_password(PASSWORD))))
    at = f"http://127.0.0.1:{light.served(door).port}"
    with _elsewhere(PAGE.replace("AT", at)) as port, opened(browser, at) as tab:
        own = tab.page
        own.goto(f"{at}/")
        own.get_by_label("Password or token").fill(PASSWORD)
        own.get_by_role("button", name="Log in").click()
        expect(own.locator(".tile").first).to_be_visible()
        door.seen.clear()
        stranger = Tab(own.context.new_page(), f"http://{host}:{port}")
        other = stranger.page
        other.goto(stranger.root)
        expect(other.locator("body")).to_have_attribute("data-came", "TypeError TypeError TypeError")
        assert [frame.url for frame in other.frames[1:]] == ["chrome-error://chromewebdata/"] * 2
        assert len([said for said in stranger.complaints if "frame-ancestors" in said]) == 2
        # The last of them was asked about beforehand, and never sent.
        assert door.seen == [("POST", "/api/act", cookie, status), ("OPTIONS", "/api/act", False, 405)]
        with other.expect_navigation(url=f"{at}/api/act"):
            other.get_by_role("button", name="Win").click()
        assert door.seen[2:] == [("POST", "/api/act", cookie, status)]
        assert light.q.paused() == {}
        assert [one.action for one in light.q.audits()] == ["log in"]
        # The same order is one of this session's own page.
        answer = own.evaluate(
            """async () => {
              const { csrf } = await (await fetch("api/me")).json();
              const headers = { "Content-Type": "application/json", "X-Tenure-CSRF": csrf };
              return (await fetch("api/act", { method: "POST", headers, body: '{"action": "pause", "name": "mail="}' })).json();
            }"""
        )
        assert answer["done"] == 1
        assert list(light.q.paused()) == ["mail="]
