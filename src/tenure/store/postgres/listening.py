"""The connection that hears of commits: its own kind of connection, which never waits; its watch sleeps on its descriptor."""

from __future__ import annotations

import select
from collections import deque
from collections.abc import Sequence
from typing import Final

import psycopg
from psycopg import pq
from psycopg.conninfo import make_conninfo

from tenure.store.base import Broken
from tenure.store.postgres.connection import KEEPALIVES, first_line, unquoted

__all__ = ["ListeningLink"]

_EVENTS: Final = {pq.PollingStatus.READING: select.POLLIN, pq.PollingStatus.WRITING: select.POLLOUT}
_abandoned: list[object] = []


class ListeningLink:
    """A connection that listens, driven by libpq's own steps: nothing here waits, not even for the connection."""

    def __init__(self, conninfo: str) -> None:
        named = {} if "application_name" in conninfo else {"fallback_application_name": "tenure"}
        self._asked: deque[tuple[bytes, list[bytes | None]]] = deque()
        self._connected = self._under_way = False
        self.events = select.POLLOUT
        try:
            self._raw = pq.PGconn.connect_start(make_conninfo(conninfo, **KEEPALIVES, **named).encode())
            self._check()
            self.descriptor = self._raw.socket
        except psycopg.OperationalError as cause:
            raise Broken(cause, f"PostgreSQL does not answer: {first_line(cause)}", asked=False) from cause
        except psycopg.Error as cause:
            # What the driver quotes of a URL that is wrong may be the password.
            why = f"the URL to listen at is wrong: {unquoted(cause)}"
            raise Broken(ValueError(why), why, asked=False) from None

    def ask(self, text: str, params: Sequence[str]) -> None:
        """Send a statement as soon as the ones before it are answered."""
        self._asked.append((text.encode(), [p.encode() for p in params]))
        try:
            self._send()
        except psycopg.Error as cause:
            raise Broken(cause, f"PostgreSQL went away: {first_line(cause)}", asked=False) from cause

    def step(self, *, ready: bool) -> tuple[int, list[str]]:
        """Do what can be done at once; how many statements were answered, and what was heard."""
        try:
            if not self._connected and not (ready and self._connect()):
                return 0, []
            return self._read()
        except psycopg.Error as cause:
            raise Broken(cause, f"PostgreSQL went away: {first_line(cause)}", asked=False) from cause

    def close(self) -> None:
        """Hang up."""
        self._raw.finish()

    def abandon(self) -> None:
        """In a forked child: leave the connection to the parent."""
        _abandoned.append(self._raw)

    def _connect(self) -> bool:
        status = self._raw.connect_poll()
        self._check()
        if status != pq.PollingStatus.OK:
            self.descriptor, self.events = self._raw.socket, _EVENTS[pq.PollingStatus(status)]
            return False
        self._raw.nonblocking = 1
        self._connected = True
        self.descriptor, self.events = self._raw.socket, select.POLLIN
        self._send()
        return True

    def _check(self) -> None:
        if self._raw.status == pq.ConnStatus.BAD:
            raise psycopg.OperationalError(self._raw.get_error_message())

    def _send(self) -> None:
        if self._connected and not self._under_way and self._asked:
            self._raw.send_query_params(*self._asked.popleft())
            self._under_way = True
            self._flush()

    def _flush(self) -> None:
        self.events = select.POLLIN | (select.POLLOUT if self._raw.flush() else 0)

    def _read(self) -> tuple[int, list[str]]:
        raw, answers = self._raw, 0
        raw.consume_input()
        self._flush()
        while self._under_way and not raw.is_busy():
            result = raw.get_result()
            if result is None:
                answers, self._under_way = answers + 1, False
                self._send()
            elif result.status not in (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK):
                raise psycopg.OperationalError(result.get_error_message())
        heard = []
        while (told := raw.notifies()) is not None:
            heard.append(told.extra.decode(errors="replace"))
        return answers, heard
