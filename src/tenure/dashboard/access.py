"""Who may look and who may act.

A request is refused unless its Host is one of ours (so that no name elsewhere can be pointed at this machine), and unless it
comes with a session, or a token as `Authorization: Bearer`, where one must log in. Where nobody must, it comes from this
machine, and without the headers by which proxies say that they passed it on. What changes something must come from our own
page, by Origin and Sec-Fetch-Site, and carry the CSRF token of its session in a header.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
import time
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import urlsplit

from starlette.requests import Request

from tenure.dashboard.passwords import check_password
from tenure.dashboard.settings import LOOPBACK, DashboardSettings, is_loopback
from tenure.dashboard.throttle import Throttle

__all__ = ["COOKIE", "CSRF", "Access", "Refused", "Role", "Session", "Slow", "address_of"]

Role = Literal["operator", "viewer"]
COOKIE: Final = "tenure_session"
CSRF: Final = "x-tenure-csrf"
_MOST: Final = 1_000
_PASSED_ON: Final = ("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip")


class Refused(Exception):
    """A request that is not answered as it would like."""

    def __init__(self, status: int, why: str, **headers: str) -> None:
        super().__init__(why)
        self.status, self.why = status, why
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


class Slow(Refused):
    """Of somebody who has failed too often of late, and is to wait for so many seconds."""

    def __init__(self, wait: float) -> None:
        super().__init__(429, "too many attempts to log in", retry_after=str(int(wait) + 1))


@dataclass(frozen=True, slots=True)
class Session:
    """Somebody who is known."""

    role: Role
    csrf: str
    until: float


class Access:
    """One dashboard's door. Sessions are kept in memory: who restarts it asks everybody to log in again."""

    def __init__(self, settings: DashboardSettings) -> None:
        self._settings = settings
        self._hosts = {host.lower().strip("[]") for host in (*LOOPBACK, *settings.hosts)}
        self._key = secrets.token_bytes(32)
        self._sessions: dict[str, Session] = {}
        self.logins, self._tokens = Throttle(), Throttle()
        """Who has failed to log in of late; who has come with a wrong token."""

    def check_host(self, request: Request) -> None:
        """421 for a Host that is not ours."""
        name = _host(request.headers.get("host", ""))
        if name in self._hosts or (self._settings.guarded and _is_address(name)):
            return
        raise Refused(421, "this dashboard does not answer to that Host; name it with --allow-host")

    def session(self, request: Request) -> Session | None:
        """Who asks; None: somebody unknown, who may log in."""
        if not self._settings.guarded:
            return self._open(request)
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return self._bearer(request, token.strip())
        known = self._sessions.get(_digest(request.cookies.get(COOKIE, "")))
        return known if known is not None and known.until > time.monotonic() else None

    def check_origin(self, request: Request) -> None:
        """403 for what another site's page sends."""
        site = request.headers.get("sec-fetch-site")
        if site is not None and site not in ("same-origin", "none"):
            raise Refused(403, "this was sent by another site's page")
        origin = request.headers.get("origin")
        if origin is not None and _place(urlsplit(origin).netloc) != _place(request.headers.get("host", "")):
            raise Refused(403, "this was sent by another site's page")

    def check_csrf(self, request: Request, session: Session) -> None:
        """403 without the session's token in a header, which no form and no other site can set."""
        given = request.headers.get(CSRF, "")
        if not hmac.compare_digest(given.encode(), session.csrf.encode()):
            raise Refused(403, "the header X-Tenure-CSRF is missing or old; load the page again")

    def role_of(self, said: str) -> Role | None:
        """The role that a password or token opens; slow on purpose."""
        found: Role | None = None
        roles: tuple[Role, ...] = ("viewer", "operator")
        for role in roles:
            token = getattr(self._settings, f"{role}_token")
            kept = getattr(self._settings, f"{role}_password")
            if token is not None and _alike(said, token):
                found = role
            if kept is not None and check_password(said, kept):
                found = role
        return found

    def log_in(self, role: Role) -> str:
        """A new session; what its cookie says."""
        now = time.monotonic()
        for gone in [key for key, session in self._sessions.items() if session.until <= now]:
            del self._sessions[gone]
        while len(self._sessions) >= _MOST:
            del self._sessions[next(iter(self._sessions))]
        key = secrets.token_urlsafe(32)
        until = now + self._settings.lasting.total_seconds()
        self._sessions[_digest(key)] = Session(role, secrets.token_urlsafe(32), until)
        return key

    def log_out(self, request: Request) -> None:
        """Forget a session."""
        self._sessions.pop(_digest(request.cookies.get(COOKIE, "")), None)

    def _open(self, request: Request) -> Session:
        """Nobody must log in: this machine alone, and nothing that was passed on from elsewhere."""
        near = request.client is not None and is_loopback(request.client.host)
        if not near or any(name in request.headers for name in _PASSED_ON):
            raise Refused(403, "without a password or token this dashboard answers its own machine alone")
        return Session("operator", self._csrf("open"), float("inf"))

    def check_rate(self, address: str) -> None:
        """429 for who has failed to log in too often of late."""
        _check(self.logins, address)

    def _bearer(self, request: Request, token: str) -> Session | None:
        """A right token is let in whatever came before it from its address, where somebody may still use an old one. Wrong ones
        are slowed down; at sixteen characters and more a token is not found by trying."""
        for role in ("operator", "viewer"):
            known = getattr(self._settings, f"{role}_token")
            if known is not None and _alike(token, known):
                return Session(role, self._csrf(known), float("inf"))
        address = address_of(request)
        _check(self._tokens, address)
        self._tokens.failed(address)
        return None

    def _csrf(self, of: str) -> str:
        return hmac.new(self._key, of.encode(), hashlib.sha256).hexdigest()


def _check(throttle: Throttle, address: str) -> None:
    wait = throttle.wait(address)
    if wait > 0:
        raise Slow(wait)


def address_of(request: Request) -> str:
    """Where a request comes from."""
    return "" if request.client is None else request.client.host


def _alike(said: str, known: str) -> bool:
    """Compared by digests, so that the time it takes tells nothing."""
    return hmac.compare_digest(hashlib.sha256(said.encode("utf-8", "replace")).digest(), hashlib.sha256(known.encode()).digest())  # fmt: skip


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()


def _place(netloc: str) -> tuple[str, str]:
    """A name and its port, without the ports that go without saying."""
    name = _host(netloc)
    rest = netloc.rpartition("]")[2] if netloc.startswith("[") else netloc
    port = rest.rpartition(":")[2] if ":" in rest else ""
    return name, "" if port in ("80", "443") else port


def _host(netloc: str) -> str:
    if netloc.startswith("["):
        return netloc[1:].partition("]")[0].lower()
    return netloc.partition(":")[0].lower().rstrip(".")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
