"""Several statements in one round trip: libpq's pipeline mode, and nothing of the driver's between it and a plan.

What is asked often enough is prepared, under names of our own. So nothing else on such a connection may say DEALLOCATE ALL,
as psycopg does behind its own ROLLBACK: a plan's transaction ends by `say`.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import suppress
from typing import Any, Final

import psycopg
from psycopg import generators
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus, Format
from psycopg.pq.abc import PGconn, PGresult

from tenure.store.dialect import Sql
from tenure.store.plan import Result

__all__ = ["PREPARE_AFTER", "Asked", "Trips"]

PREPARE_AFTER: Final = 3
Asked = tuple[Sql, Sequence[Any]]
"""A statement and its parameters, in the order they are bound."""
_Key = tuple[str, tuple[int, ...]]
_Sent = list[tuple[_Key, bytes] | bool]
"""What was sent: a statement to be prepared, under this name; True: one whose answer is wanted; False: a command."""


class Trips:
    """What is said on one connection without a cursor."""

    def __init__(self, link: psycopg.Connection[Any]) -> None:
        self._link, self._adapt = link, Transformer(link)
        self._times: dict[_Key, int] = {}
        self._names: dict[_Key, bytes] = {}
        self._made = 0

    def say(self, text: bytes) -> None:
        """One command that answers nothing."""
        pgconn = self._link.pgconn
        pgconn.send_query(text)
        for result in self._link.wait(generators.execute(pgconn)):
            if result.status == ExecStatus.FATAL_ERROR:
                raise error_from_result(result)

    def make(self, before: Sequence[bytes], asked: Sequence[Asked], after: Sequence[bytes]) -> list[Result]:
        """Ask all of it at once, with commands before and after; what the statements answered. The first error ends it."""
        pgconn = self._link.pgconn
        heard: list[list[PGresult]] = []
        pgconn.enter_pipeline_mode()
        try:
            sent = self._send(pgconn, before, asked, after)
            try:
                self._link.wait(_hear(pgconn, len(sent) + 1, heard))
            except psycopg.OperationalError:
                self._read(sent, heard)  # what was said before the connection was lost tells more
                raise
        finally:
            self._leave(pgconn)
        return self._read(sent, heard)

    def _send(
        self, pgconn: PGconn, before: Sequence[bytes], asked: Sequence[Asked], after: Sequence[bytes]
    ) -> _Sent:
        sent: _Sent = []
        for text in before:
            pgconn.send_query_params(text, None)
            sent.append(False)
        for sql, params in asked:
            self._ask(pgconn, sql, params, sent)
        for text in after:
            pgconn.send_query_params(text, None)
            sent.append(False)
        pgconn.pipeline_sync()
        return sent

    def _ask(self, pgconn: PGconn, sql: Sql, params: Sequence[Any], sent: _Sent) -> None:
        adapt = self._adapt
        values = adapt.dump_sequence(params, [PyFormat.AUTO] * len(params))
        types, formats = adapt.types or (), adapt.formats
        key = sql.name, types
        name = self._names.get(key)
        if name is None:
            times = self._times[key] = self._times.get(key, 0) + 1
            if times > PREPARE_AFTER:
                self._made += 1
                name = b"tenure_%d" % self._made
                pgconn.send_prepare(name, sql.text.encode(), types)
                sent.append((key, name))
        if name is None:
            pgconn.send_query_params(sql.text.encode(), values, types, formats, Format.BINARY)
        else:
            pgconn.send_query_prepared(name, values, formats, Format.BINARY)
        sent.append(True)

    def _read(self, sent: _Sent, heard: Sequence[Sequence[PGresult]]) -> list[Result]:
        """The answers; raises the error that came, if one did."""
        answers = []
        for what, results in zip(sent, heard, strict=False):
            if not results:
                raise psycopg.OperationalError("the server left something unanswered")
            for result in results:
                if result.status == ExecStatus.FATAL_ERROR:
                    raise error_from_result(result)
            if what is True:
                answers.append(self._result(results[0]))
            elif what is not False:
                self._names[what[0]] = what[1]
        return answers

    def _result(self, result: PGresult) -> Result:
        rows: list[tuple[Any, ...]] = []
        if result.status == ExecStatus.TUPLES_OK:
            self._adapt.set_pgresult(result)
            rows = self._adapt.load_rows(0, result.ntuples, tuple)
        return Result(rows, result.command_tuples or 0)

    def _leave(self, pgconn: PGconn) -> None:
        """No more trips for now; a connection that has not heard all it was told is of no use to anybody."""
        try:
            pgconn.exit_pipeline_mode()
        except psycopg.Error:
            with suppress(psycopg.Error):
                self._link.close()


def _hear(pgconn: PGconn, count: int, heard: list[list[PGresult]]) -> Generator[Any, Any, None]:
    """Send what is left to send, and hear so many answers."""
    yield from generators.send(pgconn)
    for _ in range(count):
        heard.append((yield from generators.fetch_many(pgconn)))  # noqa: PERF401 - what was heard counts, whatever follows
