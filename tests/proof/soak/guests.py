"""Who comes from outside while a soak goes on: a sender of updates to the gateway, and somebody who looks at the dashboard."""

from __future__ import annotations

import http.client
import itertools
import json
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from tenure.dashboard.api import PAGES
from tests.gateway.ledger import SECRET
from tests.gateway.senders import update_of

__all__ = ["Guests", "ask"]

_HEADERS = {"X-Telegram-Bot-Api-Secret-Token": SECRET, "Content-Type": "application/json"}
_LOOKED_AT = ("/", "/static/js/main.js", *(page for page in PAGES if "{" not in page))
_KEPT = 20
"""How many updates are sent on one connection."""
_TWICE = 10
"""Of so many updates one is sent twice."""


def ask(port: int, path: str) -> int:
    """The status of one page, asked for on a connection of its own; 0: nobody answered."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
    except OSError:
        return 0
    else:
        return answer.status
    finally:
        connection.close()


class Guests:
    """They come again and again, with `pace` seconds between, from `with` to its end."""

    def __init__(self, gateway: int, dashboard: int, pace: float) -> None:
        self._gateway, self._dashboard, self._pace = gateway, dashboard, pace
        self.acked: dict[int, str] = {}
        """The job that each update was told it is."""
        self.visits = 0
        self.wrong: list[str] = []
        """What they were told instead of what they had asked for."""
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._come, args=(one,)) for one in (self._send, self._look)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(60)

    def _come(self, one: Callable[[], None]) -> None:
        while not self._stop.is_set():
            try:
                one()
            except (OSError, AssertionError, http.client.HTTPException) as error:
                self.wrong.append(repr(error))
                self._stop.wait(1)

    def _send(self) -> None:
        """Some updates on one connection, one of them perhaps twice."""
        connection = http.client.HTTPConnection("127.0.0.1", self._gateway, timeout=60)
        try:
            for number in itertools.islice(itertools.count(len(self.acked) + 1), _KEPT):
                for _ in range(2 if number % _TWICE == 0 else 1):
                    told = _posted(connection, update_of(number, chat=1))
                    assert self.acked.setdefault(number, told["id"]) == told["id"], told
                if self._stop.wait(self._pace):
                    return
        finally:
            connection.close()

    def _look(self) -> None:
        """Every page once, then the stream until it says something."""
        for page in _LOOKED_AT:
            status = ask(self._dashboard, page)
            assert status == 200, (page, status)
            self.visits += 1
            if self._stop.wait(self._pace):
                return
        connection = http.client.HTTPConnection("127.0.0.1", self._dashboard, timeout=60)
        try:
            connection.request("GET", "/api/stream")
            assert connection.getresponse().readline()
        finally:
            connection.close()


def _posted(connection: http.client.HTTPConnection, body: bytes) -> dict[str, Any]:
    connection.request("POST", "/bot", body, _HEADERS)
    answer = connection.getresponse()
    said = answer.read()
    assert answer.status == 200, (answer.status, said)
    told: dict[str, Any] = json.loads(said)
    return told
