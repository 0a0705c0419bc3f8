"""Logging in: a page without script, and the form behind it."""

from __future__ import annotations

import asyncio
import logging
from typing import Final
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tenure.dashboard.access import COOKIE, Refused, Role, Slow, address_of
from tenure.dashboard.desk import Desk
from tenure.errors import TenureError

__all__ = ["STYLE", "log_in", "log_out", "page"]

log = logging.getLogger("tenure.dashboard")
_LONGEST: Final = 4_096
STYLE: Final = """:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; display: grid; place-items: center; min-height: 90vh; margin: 0; }
form { display: grid; gap: 0.75rem; width: min(20rem, 88vw); }
h1 { font-size: 1.25rem; margin: 0; }
input, button { font: inherit; padding: 0.5rem 0.75rem; border-radius: 0.375rem; border: 1px solid GrayText; }
p { margin: 0; }
"""
_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Tenure: log in</title>
<link rel="stylesheet" href="login.css">
</head>
<body>
<form method="post" action="login">
<h1>Tenure</h1>
{told}<label for="password">Password or token</label>
<input id="password" name="password" type="password" autocomplete="current-password" required autofocus>
<button>Log in</button>
</form>
</body>
</html>
"""


def page(told: str = "", status: int = 200) -> Response:
    """The form; `told` is a sentence of ours."""
    words = f'<p role="alert">{told}</p>\n' if told else ""
    return Response(_PAGE.format(told=words), status, headers={"cache-control": "no-store"}, media_type="text/html")  # fmt: skip


async def log_in(desk: Desk, request: Request) -> Response:
    """The form was sent: a session and the page, or the form again."""
    access, address = desk.access, address_of(request)
    access.check_origin(request)
    try:
        role = await _role(desk, request)
    except Slow as slow:
        answer = page("That was wrong too often. Wait a little, then try again.", slow.status)
        answer.headers["retry-after"] = slow.headers["retry-after"]
        return answer
    queue = await desk.queue()
    if role is None:
        await queue.add_audit("nobody", "log in", address, said="refused")
        return page("That is not it.", 401)
    access.logins.passed(address)
    await queue.add_audit(f"{role} {address}".strip(), "log in", address)
    answer = RedirectResponse(f"{_root(request)}/", 303)
    answer.set_cookie(
        COOKIE, access.log_in(role), path=f"{_root(request)}/", httponly=True, samesite="strict",
        secure=request.url.scheme == "https", max_age=int(desk.settings.lasting.total_seconds()),
    )  # fmt: skip
    return answer


async def _role(desk: Desk, request: Request) -> Role | None:
    """The role that the password opens. Who came while others were checked may have failed too often by then; and each try
    counts from its beginning, so that many at once are no more than many in turn."""
    access, address = desk.access, address_of(request)
    access.check_rate(address)
    said = await _password(request)
    async with desk.checking:
        access.check_rate(address)
        access.logins.failed(address)
        return await asyncio.to_thread(access.role_of, said)


async def log_out(desk: Desk, request: Request, role: str) -> Response:
    """Forget who it is, whether or not that can be kept."""
    desk.access.log_out(request)
    address = address_of(request)
    try:
        await (await desk.queue()).add_audit(f"{role} {address}".strip(), "log out", address)
    except TenureError as error:
        log.warning("a logout could not be kept: %s", error)
    answer = Response(status_code=204)
    answer.delete_cookie(COOKIE, path=f"{_root(request)}/", httponly=True, samesite="strict")
    return answer


async def _password(request: Request) -> str:
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > _LONGEST:
            raise Refused(413, "that is too long", connection="close")
    return parse_qs(body.decode("utf-8", "replace")).get("password", [""])[0]


def _root(request: Request) -> str:
    root: str = request.scope.get("root_path", "")
    return root.rstrip("/")
