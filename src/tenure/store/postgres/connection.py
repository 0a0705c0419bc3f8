"""PostgreSQL connections: sync psycopg, each used by one thread at a time; and what their errors mean.

Statements run in autocommit unless a plan needs a transaction. A connection that has not answered within its limit is broken.
With `pgbouncer=true` nothing is prepared and no session state is used.
"""

from __future__ import annotations

import re
import select
import time
from collections.abc import Generator, Iterable, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, Final, TypeVar

import psycopg
from psycopg import errors as pg
from psycopg import generators
from psycopg.pq.abc import PGresult

from tenure.config import PostgresPlace
from tenure.errors import StoreError, StoreRefused, StoreUnavailable
from tenure.newjob import BareParams
from tenure.store.base import HELD, Broken
from tenure.store.dialect import Dialect
from tenure.store.plan import COMMIT, NOTHING, ROLLBACK, Plan, Result, Statement
from tenure.store.postgres.bind import bound
from tenure.store.postgres.copytext import bare_lines, line
from tenure.store.postgres.dialect import NEVER_PREPARED
from tenure.store.postgres.limits import ORDINARY, Limits
from tenure.store.postgres.trip import PREPARE_AFTER, Trips, Waits

__all__ = [
    "KEEPALIVES",
    "DriverError",
    "Link",
    "PostgresRunner",
    "TooLong",
    "connect",
    "first_line",
    "has_pipeline",
    "is_lock_busy",
    "meaning",
    "unquoted",
]

T = TypeVar("T")

DriverError = psycopg.Error
KEEPALIVES: Final = {
    "tcp_user_timeout": 30_000,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}
_CHUNK: Final = 500
_IDLE: Final = psycopg.pq.TransactionStatus.IDLE
_BEGIN: Final = b"BEGIN ISOLATION LEVEL READ COMMITTED"
_READING: Final = b"SET LOCAL enable_seqscan = on"
_IMPATIENT: Final = b"SET LOCAL lock_timeout = '50ms'"
_COMMIT: Final = b"COMMIT"
_ROLLBACK: Final = b"ROLLBACK"
_SESSION: Final = (
    "-c enable_seqscan=off -c jit=off -c lock_timeout=10s -c idle_in_transaction_session_timeout=30s"
)
"""Hot statements reach rows by index at any size; a plan prepared while the table was small must not outlive that.
A client whose machine is gone in the middle of a transaction would else hold its jobs for as long as TCP hopes."""
_AGAIN: Final = ("26000", "57014", "40001", "40P01", "25006", "57P01", "57P02", "57P03", "57P04")
_CANCELLING: Final = 1.0


class TooLong(psycopg.OperationalError):
    """There was no answer within the limit."""

    def __init__(self, limit: float) -> None:
        super().__init__(f"it has not answered within {limit:g} s")


class Link(psycopg.Connection[tuple[Any, ...]]):
    """A connection that gives up, and is broken then, when an answer takes longer than `limit` seconds (None: never)."""

    limit: float | None = ORDINARY
    _poll: select.poll | None = None

    def wait(self, gen: Generator[Any, Any, T], *args: Any, **kwargs: Any) -> T:
        """Wait for the answer; psycopg looks up ten times a second while there is none."""
        if self.limit is None:
            return super().wait(gen, *args, **kwargs)
        try:
            return super().wait(_limited(gen, self.limit), *args, **kwargs)
        except TooLong:
            self.give_up()
            raise

    def answer(self) -> PGresult:
        """Wait for the answer to one short statement that was just sent: in half the time that psycopg's generators take."""
        pgconn, poll = self.pgconn, self._poll
        if poll is None:
            poll = self._poll = select.poll()
            poll.register(pgconn.socket, select.POLLIN)
        if pgconn.flush():  # too long for the socket
            return _last(self.wait(generators.execute(pgconn)))
        heard: list[PGresult] = []
        while True:
            while pgconn.is_busy():
                if not poll.poll(None if self.limit is None else self.limit * 1000):
                    self.give_up()
                    raise TooLong(self.limit or 0)
                pgconn.consume_input()
            result = pgconn.get_result()
            if result is None:
                return _last(heard)
            heard.append(result)

    def give_up(self) -> None:
        """Break it. What the server may still do for nobody, it need not do; whether it hears of that is its affair."""
        if psycopg.capabilities.has_cancel_safe():
            with suppress(psycopg.Error):
                self.cancel_safe(timeout=_CANCELLING)
        self.pgconn.finish()


def _last(heard: Sequence[PGresult]) -> PGresult:
    if not heard:
        raise psycopg.OperationalError("the server left something unanswered")
    return heard[-1]


def _limited(steps: Generator[Any, Any, T], limit: float) -> Generator[Any, Any, T]:
    """The same steps, until nothing has been ready for them for too long; the clock is asked only where nothing is."""
    deadline = 0.0
    try:
        wanted = next(steps)
        while True:
            ready = yield wanted
            if not ready:
                now = time.monotonic()
                deadline = deadline or now + limit
                if now >= deadline:
                    steps.close()
                    raise TooLong(limit)
            wanted = steps.send(ready)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


def has_pipeline() -> bool:
    """Whether this libpq can ask several things in one round trip."""
    return psycopg.capabilities.has_pipeline()


def connect(place: PostgresPlace) -> Link:
    """A new connection; raises Broken where there is nobody to connect to."""
    options: dict[str, Any] = {
        "autocommit": True,
        "prepare_threshold": None if place.pgbouncer else PREPARE_AFTER,
        **KEEPALIVES,
    }
    if not place.pgbouncer and "options=" not in place.conninfo:
        options["options"] = _SESSION
    if "connect_timeout" not in place.conninfo:
        options["connect_timeout"] = 10
    if "application_name" not in place.conninfo:
        options["fallback_application_name"] = "tenure"
    try:
        return Link.connect(place.conninfo, **options)
    except psycopg.OperationalError as cause:
        why = f"PostgreSQL does not answer: {first_line(cause)}; check that the server runs and the URL is right"
        raise Broken(cause, why, asked=False) from cause
    except psycopg.Error as cause:
        # The URL itself is wrong, and what the driver quotes of it may be the password: not even as a cause is it told.
        raise StoreError(
            f"cannot connect to PostgreSQL: {unquoted(cause)}; check the URL, and percent-encode what it needs"
        ) from None


class PostgresRunner:
    """Runs a plan's statements on one connection; a transaction is opened by the first that is not alone."""

    def __init__(self, link: Link, dialect: Dialect, limits: Limits, *, prepare: bool) -> None:
        self.link, self._dialect, self._patient = link, dialect, True
        self._limits = limits
        self._cursor, self._trips = psycopg.RawCursor(link), Trips(link, prepare=prepare)
        self._together = prepare and has_pipeline()
        self._open = False
        self.asked = False
        self._insert = dialect.statements["enqueue_one"]
        self._encoding = link.info.encoding.replace("ascii", "utf-8")

    @property
    def idle(self) -> bool:
        """Whether the connection lives and no transaction is open on it."""
        return self.link.pgconn.transaction_status == _IDLE

    def begin(self, *, patient: bool) -> None:
        """A new plan."""
        self._patient, self._open, self.asked = patient, False, False

    def execute(self, statement: Statement) -> Result:
        """Run one statement; in one round trip with what it begins and ends with, where the driver knows how."""
        if statement.copied is None:
            return self._trips.waited(self._executing(statement))
        if begin := self._beginning(statement):
            self._trips.say(b"; ".join(begin))
            self._open = True
        return self._copy(statement.name, statement.copied)

    def running(self, plan: Plan[T]) -> Waits[T]:
        """`run` for who does not wait here: a whole plan, its commit or rollback included; a copy is not for this."""
        try:
            statement = next(plan)
            while True:
                try:
                    answer = yield from self._stepping(statement)
                except Exception as failed:
                    yield from self._stepping(ROLLBACK)
                    statement = plan.throw(failed)
                else:
                    statement = plan.send(answer)
        except StopIteration as end:
            yield from self._committing()
            return end.value  # type: ignore[no-any-return]
        except Exception:
            yield from self._undoing()
            raise

    def _stepping(self, statement: Statement) -> Waits[Result]:
        if statement is COMMIT:
            yield from self._committing()
        elif statement is ROLLBACK:
            with suppress(Exception):  # the connection is gone, which undoes it too
                yield from self._undoing()
        else:
            return (yield from self._executing(statement))
        return NOTHING

    def _committing(self) -> Waits[None]:
        if self._open:
            self.asked = True
            yield from self._ending(_COMMIT)

    def _undoing(self) -> Waits[None]:
        if self._open and not self.link.closed and not self.link.broken:
            yield from self._ending(_ROLLBACK)

    def _ending(self, word: bytes) -> Waits[None]:
        self._open = False
        yield from self._trips.saying(word)

    def _executing(self, statement: Statement) -> Waits[Result]:
        self.link.limit = self._limits.of(statement)
        anew, begin = statement.name in NEVER_PREPARED, self._beginning(statement)
        self.asked = self.asked or (statement.alone and not statement.reads)
        if self._together and not anew and (begin or statement.then or statement.last):
            return (yield from self._executing_together(begin, statement))
        if begin:
            yield from self._trips.saying(b"; ".join(begin))
            self._open = True
        sql = self._dialect.statements[statement.name]
        params = bound(statement)
        return (yield from self._trips.asking(sql, [params[p] for p in sql.parameters], anew=anew))

    def _beginning(self, statement: Statement) -> tuple[bytes, ...]:
        """What has to be said first."""
        anew = statement.name in NEVER_PREPARED
        if self._open or (statement.alone and self._patient and not anew):
            return ()
        return (_BEGIN, _READING) if anew else (_BEGIN,) if self._patient else (_BEGIN, _IMPATIENT)

    def _executing_together(self, begin: tuple[bytes, ...], first: Statement) -> Waits[Result]:
        chain = [first]
        while chain[-1].then is not None:
            chain.append(chain[-1].then)
        # What is alone commits by itself, and does so too where it must not wait for long.
        ends = chain[-1].last or (first.alone and len(begin) > 0)
        self._open, self.asked = True, self.asked or chain[-1].last
        asked = []
        for statement in chain:
            sql, params = self._dialect.statements[statement.name], bound(statement)
            asked.append((sql, [params[p] for p in sql.parameters]))
        answers = yield from self._trips.making(begin, asked, (_COMMIT,) if ends else ())
        self._open = not ends
        answer = answers.pop()
        while answers:
            answer = answers.pop()._replace(then=answer)
        return answer

    def insert(self, job: BareParams) -> None:
        """enqueue_one, with nothing around it."""
        self.link.limit = self._limits.ordinary
        values = [None if v is None else str(v).encode(self._encoding) for v in job.values()]
        self._trips.put(self._insert, values, self.link.answer)

    def _copy(self, name: str, rows: Iterable[tuple[object, ...]]) -> Result:
        lines = bare_lines(rows) if name == "copy_bare" else map(line, rows)
        with self._cursor.copy(self._dialect.statements[name].text) as copy:
            while text := "".join(islice(lines, _CHUNK)):
                copy.write(text)
        return Result([], max(self._cursor.rowcount, 0))

    def commit(self) -> None:
        """End the transaction, if one was opened."""
        if self._open:
            # A server that refuses it has undone the transaction.
            self.asked, self._open = True, False
            self._trips.say(_COMMIT)

    def rollback(self) -> None:
        """Undo the transaction, if one was opened; a broken connection has done so itself."""
        if self._open:
            self._open = False
            if not self.link.closed and not self.link.broken:
                self._trips.say(_ROLLBACK)


def is_lock_busy(cause: DriverError) -> bool:
    """Whether somebody's transaction holds what was wanted."""
    return isinstance(cause, pg.LockNotAvailable)


def meaning(link: Link, cause: DriverError, *, asked: bool) -> tuple[Exception, bool]:
    """What an error means (another try, or a sentence for people), and whether connections made before are worth nothing now."""
    state, words = cause.sqlstate or "", first_line(cause)
    if link.broken or link.closed or state.startswith(("08", "57P")):
        return Broken(cause, f"PostgreSQL went away: {words}; check the server", asked=asked), True
    if state == "55P03":
        return Broken(cause, f"PostgreSQL gave up waiting ({words}): {HELD}", asked=False), False
    if state in _AGAIN:
        # 25006: a primary that became a standby; others may write.
        return Broken(cause, f"PostgreSQL asked for another try: {words}", asked=False), state == "25006"
    if state.startswith("53"):
        return StoreUnavailable(f"PostgreSQL is out of room: {words}; nothing was stored"), False
    if isinstance(cause, pg.InsufficientPrivilege):
        return StoreRefused(f"this role may not do that: {words}; grant it the rights it needs"), False
    return StoreError(f"PostgreSQL refused a statement: {words}"), False


def unquoted(error: BaseException) -> str:
    """What an error says, but for what it quotes."""
    return re.sub(r'"[^"]*"?', '"…"', first_line(error))


def first_line(error: BaseException) -> str:
    """What an error says, in one line."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
