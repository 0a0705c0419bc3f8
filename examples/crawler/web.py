"""The site as the crawler sees it: GET with a session, and two things that may be wrong with a page."""

from __future__ import annotations

import threading
from typing import Any
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

import msgspec

__all__ = ["Gone", "LoggedOut", "Web"]


class LoggedOut(Exception):
    """The session has expired. `session` is the one that had."""

    def __init__(self, session: str) -> None:
        super().__init__("the session has expired")
        self.session = session


class Gone(Exception):
    """The page is not there any more."""


class Web:
    """One session, shared by all threads of a process."""

    def __init__(self, base: str) -> None:
        self._base, self._session, self._lock = base, "", threading.Lock()
        self._opener = build_opener(ProxyHandler({}))

    def get(self, path: str) -> bytes:
        """What is at this path."""
        session = self._session
        try:
            return self._ask(Request(self._base + path, headers={"Cookie": f"session={session}"}))
        except HTTPError as error:
            with error:
                if error.code == 401:
                    raise LoggedOut(session) from None
                if error.code == 404:
                    raise Gone(path) from None
                raise

    def json(self, path: str) -> Any:
        """The same, read as JSON."""
        return msgspec.json.decode(self.get(path))

    def log_in(self, expired: str) -> None:
        """Log in again, unless another thread already has."""
        with self._lock:
            if self._session == expired:
                answer = self._ask(Request(f"{self._base}/login", data=b'{"user": "crawler"}'))
                self._session = msgspec.json.decode(answer)["session"]

    def _ask(self, request: Request) -> bytes:
        with self._opener.open(request, timeout=60) as answer:
            body: bytes = answer.read()
            return body
