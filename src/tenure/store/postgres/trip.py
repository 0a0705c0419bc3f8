"""What is asked of the server, by libpq itself: no cursor of the driver's between it and a plan, which costs a third of a call.

One statement, or several in one round trip (libpq's pipeline mode). How to wait for the answers is somebody else's affair: a trip
is a generator of waits as psycopg knows them (`Waits`), which a thread waits for at once (`waited`), and an event loop in its own
way. What is asked often enough is prepared, under names of our
own. So nothing else on such a connection may say DEALLOCATE ALL, as psycopg does behind its own ROLLBACK: a plan's transaction
ends by `say`. Where somebody has said it all the same, or has changed what a statement answers, all of them are prepared anew.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple, TypeVar

import psycopg
from psycopg import generators
from psycopg.adapt import PyFormat, Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus, Format
from psycopg.pq.abc import PGconn, PGresult

from tenure.store.dialect import Sql
from tenure.store.plan import Result

__all__ = ["PREPARE_AFTER", "Asked", "Stale", "Trips", "Waits"]

T = TypeVar("T")

PREPARE_AFTER: Final = 3
Asked = tuple[Sql, Sequence[Any]]
"""A statement and its parameters, in the order they are bound."""
Waits = Generator[Generator[Any, Any, Any], Any, T]
"""Yields what is to be waited for, one at a time, and is sent what that gave."""
_Key = tuple[str, tuple[int, ...]]
_STALE: Final = ("26000", "0A000")
"""There is no such prepared statement; its plan would answer with other columns than before."""
_Sent = list[tuple[_Key, bytes] | bool]
"""What was sent: a statement to be prepared, under this name; True: one whose answer is wanted; False: a command."""


class _Dumped(NamedTuple):
    """A statement with its parameters as they are sent."""

    key: _Key
    text: str
    values: Sequence[Any]
    types: tuple[int, ...]
    formats: Sequence[Format] | None

    def send(self, pgconn: PGconn, name: bytes | None) -> None:
        """Ask it, prepared under this name."""
        if name is None:
            pgconn.send_query_params(
                self.text.encode(), self.values, self.types or None, self.formats, Format.BINARY
            )
        else:
            pgconn.send_query_prepared(name, self.values, self.formats, Format.BINARY)


class Stale(psycopg.OperationalError):
    """What was prepared on this connection is worth nothing; it is prepared anew when it is asked again."""

    sqlstate = _STALE[0]


class Trips:
    """What is said on one connection without a cursor; `prepare`: whether the server at its end stays the same."""

    def __init__(self, link: psycopg.Connection[Any], *, prepare: bool) -> None:
        self._link, self._adapt, self._prepare = link, Transformer(link), prepare
        self._times: dict[_Key, int] = {}
        self._names: dict[_Key, bytes] = {}
        self._made = 0

    def say(self, text: bytes) -> None:
        """One command that answers nothing."""
        self.waited(self.saying(text))

    def ask(self, sql: Sql, params: Sequence[Any], *, anew: bool = False) -> Result:
        """One statement by itself; `anew`: planned for these parameters."""
        return self.waited(self.asking(sql, params, anew=anew))

    def put(self, sql: Sql, values: Sequence[bytes | None], hear: Callable[[], PGresult]) -> None:
        """One statement that answers nothing, its parameters as texts already; `hear` waits for what comes back."""
        key = (sql.name, ())
        name = self._names.get(key)
        if name is None:
            self.waited(self._asking(_Dumped(key, sql.text, values, (), None)))
        else:
            self._link.pgconn.send_query_prepared(name, values)
            self._one((hear(),))

    def make(self, before: Sequence[bytes], asked: Sequence[Asked], after: Sequence[bytes]) -> list[Result]:
        """Ask all of it at once, with commands before and after; what the statements answered. The first error ends it."""
        return self.waited(self.making(before, asked, after))

    def waited(self, waits: Waits[T]) -> T:
        """Wait for all of it here."""
        wait = self._link.wait
        try:
            wanted = next(waits)
            while True:
                try:
                    heard = wait(wanted)
                except BaseException as error:
                    wanted = waits.throw(error)
                else:
                    wanted = waits.send(heard)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    def saying(self, text: bytes) -> Waits[None]:
        """`say`, to be waited for."""
        pgconn = self._link.pgconn
        pgconn.send_query(text)
        for result in (yield generators.execute(pgconn)):
            if result.status == ExecStatus.FATAL_ERROR:
                raise error_from_result(result)

    def asking(self, sql: Sql, params: Sequence[Any], *, anew: bool = False) -> Waits[Result]:
        """`ask`, to be waited for."""
        return self._asking(self._dump(sql, params), anew=anew)

    def _asking(self, dumped: _Dumped, *, anew: bool = False) -> Waits[Result]:
        pgconn = self._link.pgconn
        name = None if anew else self._name(dumped.key)
        if name is not None and dumped.key not in self._names:
            pgconn.send_prepare(name, dumped.text.encode(), dumped.types)
            self._one((yield generators.execute(pgconn)))
            self._names[dumped.key] = name
        dumped.send(pgconn, name)
        return self._result(self._one((yield generators.execute(pgconn))))

    def making(
        self, before: Sequence[bytes], asked: Sequence[Asked], after: Sequence[bytes]
    ) -> Waits[list[Result]]:
        """`make`, to be waited for."""
        pgconn = self._link.pgconn
        heard: list[list[PGresult]] = []
        # Before a pipeline is begun: what cannot be dumped must not leave half of one behind.
        dumped = [self._dump(sql, params) for sql, params in asked]
        pgconn.enter_pipeline_mode()
        try:
            sent = self._send(pgconn, before, dumped, after)
            try:
                yield _hear(pgconn, len(sent) + 1, heard)
            except psycopg.OperationalError:
                self._read(sent, heard)  # what was said before the connection was lost tells more
                raise
        finally:
            self._leave(pgconn)
        return self._read(sent, heard)

    def _dump(self, sql: Sql, params: Sequence[Any]) -> _Dumped:
        adapt = self._adapt
        values = adapt.dump_sequence(params, [PyFormat.AUTO] * len(params))
        types = adapt.types or ()
        return _Dumped((sql.name, types), sql.text, values, types, adapt.formats)

    def _name(self, key: _Key) -> bytes | None:
        """What the statement is prepared as, or is to be now; None: it is not asked often enough."""
        name = self._names.get(key)
        if name is None and self._prepare:
            times = self._times[key] = self._times.get(key, 0) + 1
            if times > PREPARE_AFTER:
                self._made += 1
                name = b"tenure_%d" % self._made
        return name

    def _send(
        self, pgconn: PGconn, before: Sequence[bytes], asked: Sequence[_Dumped], after: Sequence[bytes]
    ) -> _Sent:
        sent: _Sent = []
        for text in before:
            pgconn.send_query_params(text, None)
            sent.append(False)
        for dumped in asked:
            name = self._name(dumped.key)
            if name is not None and dumped.key not in self._names:
                pgconn.send_prepare(name, dumped.text.encode(), dumped.types)
                sent.append((dumped.key, name))
            dumped.send(pgconn, name)
            sent.append(True)
        for text in after:
            pgconn.send_query_params(text, None)
            sent.append(False)
        pgconn.pipeline_sync()
        return sent

    def _one(self, heard: Sequence[PGresult]) -> PGresult:
        result = heard[-1]
        if result.status == ExecStatus.FATAL_ERROR:
            raise self._error(result)
        return result

    def _read(self, sent: _Sent, heard: Sequence[Sequence[PGresult]]) -> list[Result]:
        """The answers; raises the error that came, if one did."""
        answers = []
        for what, results in zip(sent, heard, strict=False):
            if not results:
                raise psycopg.OperationalError("the server left something unanswered")
            for result in results:
                if result.status == ExecStatus.FATAL_ERROR:
                    raise self._error(result)
            if what is True:
                answers.append(self._result(results[0]))
            elif what is not False:
                self._names[what[0]] = what[1]
        return answers

    def _error(self, result: PGresult) -> psycopg.Error:
        error = error_from_result(result)
        if error.sqlstate in _STALE and self._names:
            self._names.clear()
            return Stale(str(error))
        return error

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
