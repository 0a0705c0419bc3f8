"""The dashboard as an ASGI app, to be served or mounted under any root path.

    200  what was asked for                    401  log in first           415  a body that is no JSON
    303  to the page, or to the login          403  not allowed            421  a Host that is not ours
    304  a file that is known already          404  no such page or job    429  too many wrong passwords
    400  a field or filter that is wrong       405  not that method        503  with Retry-After: the store is away

Every answer carries a strict Content-Security-Policy, and nothing stored is ever answered as HTML.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route, Router
from starlette.types import Message, Receive, Scope, Send

from tenure.app import App
from tenure.dashboard import login, statics
from tenure.dashboard.access import Refused, Session
from tenure.dashboard.api import ACTIONS, PAGES, Page
from tenure.dashboard.api.overview import warm
from tenure.dashboard.desk import Asked, Desk
from tenure.dashboard.settings import DashboardSettings
from tenure.dashboard.stream import stream
from tenure.errors import FieldError, FilterError, StoreError, TenureError, shown

if TYPE_CHECKING:
    from tenure.gateway.asgi import Gateway

__all__ = ["Dashboard", "asgi"]

log = logging.getLogger("tenure.dashboard")
_encode = msgspec.json.Encoder().encode
_HEADERS: Final = [
    (b"content-security-policy", b"default-src 'self'; base-uri 'none'; object-src 'none'; form-action 'self'; frame-ancestors 'none'"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
]  # fmt: skip
Endpoint = Callable[[Request], Awaitable[Response]]


def asgi(
    app: App,
    settings: DashboardSettings | None = None,
    *,
    gateway: Gateway | None = None,
    close: bool = False,
) -> Dashboard:
    """The dashboard of an app's store. `gateway`: one in this process, to be shown; `close`: close the app at the end."""
    return Dashboard(app, settings or DashboardSettings(), gateway, close=close)


class Dashboard:
    """An ASGI app. `leave()` ends its live streams, and may be called from a signal handler or another thread."""

    def __init__(
        self, app: App, settings: DashboardSettings, gateway: Gateway | None, *, close: bool
    ) -> None:
        self.app, self.settings = app, settings
        self._desk, self._close = Desk(app, settings, gateway), close
        pages = [Route(path, self._answered(page), methods=["GET"]) for path, page in PAGES.items()]
        acts = [Route(path, self._acted(act), methods=["POST"]) for path, act in ACTIONS.items()]
        self._router = Router([
            *pages,
            *acts,
            Route("/api/stream", self._stream, methods=["GET"]),
            Route("/login", self._login, methods=["GET"]),
            Route("/login", self._log_in, methods=["POST"]),
            Route("/login.css", self._style, methods=["GET"]),
            Route("/logout", self._log_out, methods=["POST"]),
            Route("/static/{name:path}", self._static, methods=["GET"]),
            Route("/", self._index, methods=["GET"]),
        ], redirect_slashes=False)  # fmt: skip

    def leave(self) -> None:
        """Told to stop."""
        self._desk.leaving = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, or the server's start and end."""
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})
        else:
            await self._http(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def guarded(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                message["headers"] = [*message.get("headers", ()), *_HEADERS]
            await send(message)

        request = Request(scope, receive)
        try:
            self._desk.access.check_host(request)
            if scope["path"].rstrip("/") == scope.get("root_path", "").rstrip("/") and not scope["path"].endswith("/"):  # fmt: skip
                answer: Response = RedirectResponse(f"{scope['path']}/", 308)
                await answer(scope, receive, guarded)
                return
            # Without an app around it, the router says 404 and 405 by raising; so it is told that there is one.
            await self._router({**scope, "app": self}, receive, guarded)
        except ClientDisconnect:
            return
        except Exception as error:
            if begun:
                raise
            await _refusal(error)(scope, receive, guarded)

    def _answered(self, page: Page) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            return _json(await page(self._asked(request)))

        return endpoint

    def _acted(self, act: Page) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            asked = self._asked(request)
            self._desk.access.check_origin(request)
            self._desk.access.check_csrf(request, asked.session)
            if asked.session.role != "operator":
                raise Refused(403, "viewers can look, and change nothing")
            return _json(await act(asked))

        return endpoint

    def _asked(self, request: Request) -> Asked:
        return Asked(self._desk, request, self._session(request))

    def _session(self, request: Request) -> Session:
        known = self._desk.access.session(request)
        if known is None:
            raise Refused(401, "log in first", www_authenticate="Bearer")
        return known

    async def _stream(self, request: Request) -> Response:
        return await stream(self._asked(request))

    async def _index(self, request: Request) -> Response:
        if self._desk.access.session(request) is None:
            return RedirectResponse("login", 303)
        return statics.file(request, "index.html")

    async def _static(self, request: Request) -> Response:
        return statics.file(request, request.path_params["name"])

    async def _style(self, _: Request) -> Response:
        return Response(login.STYLE, media_type="text/css", headers={"cache-control": "no-cache"})

    async def _login(self, request: Request) -> Response:
        if self._desk.access.session(request) is not None:
            return RedirectResponse("./", 303)
        return login.page()

    async def _log_in(self, request: Request) -> Response:
        if not self._desk.settings.guarded:
            return RedirectResponse("./", 303)
        return await login.log_in(self._desk, request)

    async def _log_out(self, request: Request) -> Response:
        session = self._session(request)
        self._desk.access.check_origin(request)
        self._desk.access.check_csrf(request, session)
        return await login.log_out(self._desk, request, session.role)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                self._begin(warm(self._desk))
                await send({"type": "lifespan.startup.complete"})
                continue
            self.leave()
            await self.rest()
            if self._close:
                await self.app.aclose()
            await send({"type": "lifespan.shutdown.complete"})
            return

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Do this beside answering."""
        task = asyncio.create_task(work)
        self._desk.tasks.add(task)
        task.add_done_callback(self._desk.tasks.discard)

    async def rest(self) -> None:
        """End what goes on by itself, and wait until that is kept."""
        for task in list(self._desk.tasks):
            task.cancel()
        while tasks := {task for task in self._desk.tasks if not task.done()}:
            await asyncio.wait(tasks)


def _json(answer: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    if isinstance(answer, Response):
        return answer
    told = {"cache-control": "no-store", **(headers or {})}
    return Response(_encode(answer), status, headers=told, media_type="application/json")


def _refusal(error: Exception) -> Response:
    """What is said of an error: the rule that was broken, but nothing of what went on inside."""
    match error:
        case Refused():
            return _json({"error": error.why}, error.status, error.headers)
        case FilterError():
            said = {"text": str(error), "q": error.text, "start": error.start, "end": error.end, "expected": error.expected, "near": error.near}  # fmt: skip
            return _json({"error": said}, 400)
        case FieldError():
            told = {"field": error.field, "rule": error.rule, "value": shown(error.value), "fix": error.fix, "text": str(error)}  # fmt: skip
            return _json({"error": told}, 400)
        case StoreError():
            log.warning("the store cannot be asked: %s", error)
            return _json({"error": "the store cannot be asked right now"}, 503, {"retry-after": "2"})
        case TenureError():
            return _json({"error": str(error)}, 400)
        case HTTPException():
            return _json({"error": error.detail}, error.status_code, dict(error.headers or {}))
        case _:
            log.error("a request could not be answered", exc_info=error)
            return _json({"error": "something went wrong; the log says what"}, 500)
