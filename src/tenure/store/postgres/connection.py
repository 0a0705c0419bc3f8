"""PostgreSQL connections: sync psycopg, few of them, each used by one thread at a time.

Statements run in autocommit unless a plan needs a transaction. A connection that broke is thrown away with every idle one,
and the plan is asked again on a new one; so is one that has not answered within its limit. With `pgbouncer=true` nothing is
prepared and no session state is used.
"""

from __future__ import annotations

import select
import time
from collections import deque
from collections.abc import Generator, Iterable, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, Final, TypeVar
from weakref import WeakSet

import psycopg
from psycopg import errors as pg
from psycopg import pq
from psycopg.conninfo import make_conninfo

from tenure.config import PostgresPlace
from tenure.errors import StoreError, StoreRefused, StoreUnavailable, UsageError
from tenure.newjob import BareParams
from tenure.store.base import Broken, LockBusy, Make, Pid, Watch, with_patience
from tenure.store.dialect import Dialect
from tenure.store.lanes import LaneMemory
from tenure.store.migrate import check_client, migrations
from tenure.store.plan import Result, Statement, run
from tenure.store.postgres.bind import bound
from tenure.store.postgres.dialect import NEVER_PREPARED, postgres_dialect
from tenure.store.postgres.limits import ORDINARY, Limits, limits_at
from tenure.store.postgres.pool import Pool
from tenure.store.postgres.watch import PostgresWatch

__all__ = ["PostgresStore"]

T = TypeVar("T")

POOL: Final = 8
PREPARE_AFTER: Final = 3
_CHUNK: Final = 500
_IDLE: Final = psycopg.pq.TransactionStatus.IDLE
_BEGIN: Final = "BEGIN ISOLATION LEVEL READ COMMITTED"
_BEGIN_READING: Final = f"{_BEGIN}; SET LOCAL enable_seqscan = on"
_SESSION: Final = "-c enable_seqscan=off -c jit=off -c lock_timeout=10s"
"""Hot statements reach rows by index at any size; a plan prepared while the table was small must not outlive that."""
_BEGIN_IMPATIENT: Final = f"{_BEGIN}; SET LOCAL lock_timeout = '50ms'"
_AGAIN: Final = ("57014", "40001", "40P01", "25006", "57P01", "57P02", "57P03", "57P04", "55P03")
_ESCAPES: Final = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})
_KEEPALIVES: Final = {
    "tcp_user_timeout": 30_000,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}
_EVENTS: Final = {pq.PollingStatus.READING: select.POLLIN, pq.PollingStatus.WRITING: select.POLLOUT}
_abandoned: list[object] = []
_CANCELLING: Final = 1.0


class TooLong(psycopg.OperationalError):
    """There was no answer within the limit."""


class Link(psycopg.Connection[tuple[Any, ...]]):
    """A connection that gives up, and is broken then, when an answer takes longer than `limit` seconds (None: never)."""

    limit: float | None = ORDINARY

    def wait(self, gen: Generator[Any, Any, T], *args: Any, **kwargs: Any) -> T:
        """Wait for the answer; psycopg looks up ten times a second while there is none."""
        if self.limit is None:
            return super().wait(gen, *args, **kwargs)
        try:
            return super().wait(_limited(gen, self.limit), *args, **kwargs)
        except TooLong:
            # What the server may still do for nobody, it need not do; whether it hears of that is its affair.
            if psycopg.capabilities.has_cancel_safe():
                with suppress(psycopg.Error):
                    self.cancel_safe(timeout=_CANCELLING)
            self.pgconn.finish()
            raise


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
                    raise TooLong(f"it has not answered within {limit:g} s")
            wanted = steps.send(ready)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


class PostgresRunner:
    """Runs a plan's statements on one connection; a transaction is opened by the first that is not alone."""

    def __init__(self, link: Link, dialect: Dialect, limits: Limits, *, prepare: bool) -> None:
        self.link, self._dialect, self._prepare, self._patient = link, dialect, prepare, True
        self._limits = limits
        self._cursor = psycopg.RawCursor(link)
        self._open = False
        self.asked = False
        self._insert = dialect.statements["enqueue_one"].text

    @property
    def idle(self) -> bool:
        """Whether the connection lives and no transaction is open on it."""
        return self.link.pgconn.transaction_status == _IDLE

    def begin(self, *, patient: bool) -> None:
        """A new plan."""
        self._patient, self._open, self.asked = patient, False, False

    def execute(self, statement: Statement) -> Result:
        """Run one statement."""
        self.link.limit = self._limits.of(statement)
        anew = statement.name in NEVER_PREPARED
        if not self._open and not (statement.alone and self._patient and not anew):
            begin = _BEGIN_READING if anew else _BEGIN if self._patient else _BEGIN_IMPATIENT
            self._cursor.execute(begin, prepare=False)
            self._open = True
        self.asked = self.asked or (statement.alone and not statement.reads)
        if statement.copied is not None:
            return self._copy(statement.name, statement.copied)
        sql = self._dialect.statements[statement.name]
        params = bound(statement)
        prepare = None if self._prepare and not anew else False
        cursor = self._cursor
        cursor.execute(sql.text, [params[p] for p in sql.parameters], prepare=prepare, binary=True)
        rows = cursor.fetchall() if cursor.description is not None else []
        return Result(rows, max(cursor.rowcount, 0))

    def insert(self, job: BareParams) -> None:
        """enqueue_one, with nothing around it."""
        self.link.limit = self._limits.ordinary
        self._cursor.execute(self._insert, tuple(job.values()), prepare=None if self._prepare else False)

    def _copy(self, name: str, rows: Iterable[tuple[object, ...]]) -> Result:
        line, taken = _bare_line if name == "copy_bare" else _line, iter(rows)
        with self._cursor.copy(self._dialect.statements[name].text) as copy:
            while lines := [line(row) for row in islice(taken, _CHUNK)]:
                copy.write("".join(lines))
        return Result([], max(self._cursor.rowcount, 0))

    def commit(self) -> None:
        """End the transaction, if one was opened."""
        if self._open:
            self.asked = True
            self._cursor.execute("COMMIT", prepare=False)
            self._open = False

    def rollback(self) -> None:
        """Undo the transaction, if one was opened; a broken connection has done so itself."""
        if self._open:
            self._open = False
            if not self.link.closed and not self.link.broken:
                self._cursor.execute("ROLLBACK", prepare=False)


def _bare_line(row: tuple[Any, ...]) -> str:
    """A row without options in COPY's text format; most have nothing to escape."""
    job, lane, queue, kind, rank, payload, most, due, now = row
    if "\\" in payload or "\\" in lane:
        return _line(row)
    return f"{job}\t{lane}\t{queue}\t{kind}\t{rank}\t{payload}\t{most}\t{due}\t{now}\n"


def _line(row: tuple[object, ...]) -> str:
    """A row in COPY's text format."""
    return "\t".join([_field(value) for value in row]) + "\n"


def _field(value: object) -> str:
    if value is None:
        return "\\N"
    return value.translate(_ESCAPES) if isinstance(value, str) else str(value)


class ListeningLink:
    """A connection that listens, driven by libpq's own steps: nothing here waits, not even for the connection."""

    def __init__(self, conninfo: str) -> None:
        named = {} if "application_name" in conninfo else {"fallback_application_name": "tenure"}
        self._asked: deque[tuple[bytes, list[bytes | None]]] = deque()
        self._connected = self._under_way = False
        self.events = select.POLLOUT
        try:
            self._raw = pq.PGconn.connect_start(make_conninfo(conninfo, **_KEEPALIVES, **named).encode())
            self._check()
            self.descriptor = self._raw.socket
        except psycopg.Error as cause:
            raise Broken(cause, f"PostgreSQL does not answer: {_first_line(cause)}", asked=False) from cause

    def ask(self, text: str, params: Sequence[str]) -> None:
        """Send a statement as soon as the ones before it are answered."""
        self._asked.append((text.encode(), [p.encode() for p in params]))
        try:
            self._send()
        except psycopg.Error as cause:
            raise Broken(cause, f"PostgreSQL went away: {_first_line(cause)}", asked=False) from cause

    def step(self, *, ready: bool) -> tuple[int, list[str]]:
        """Do what can be done at once; how many statements were answered, and what was heard."""
        try:
            if not self._connected and not (ready and self._connect()):
                return 0, []
            return self._read()
        except psycopg.Error as cause:
            raise Broken(cause, f"PostgreSQL went away: {_first_line(cause)}", asked=False) from cause

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


class PostgresStore:
    """Jobs in one PostgreSQL schema."""

    def __init__(self, place: PostgresPlace, *, patience: float = 5.0, limits: Limits | None = None) -> None:
        self.place, self._patience, self._limits = place, patience, limits or limits_at(place)
        self.dialect: Dialect = postgres_dialect(place.schema)
        self.memory = LaneMemory()
        self._pid = Pid()
        self._watches: WeakSet[PostgresWatch] = WeakSet()
        self._closed = False
        self._pool: Pool[PostgresRunner] = Pool(self._make, POOL)
        try:
            with_patience(lambda _: self._prepare(), patience=patience, repeatable=True)
        except BaseException:
            self.close()
            raise

    def run(
        self,
        make: Make[T],
        *,
        reads: bool = False,
        repeatable: bool = True,
        patient: bool = True,
        promises: bool = True,  # noqa: ARG002 - workers elsewhere survive the server's power cut: all of it is durable
    ) -> T:
        """Run a plan to its end, in a transaction of its own; an impatient one raises LockBusy rather than wait."""
        return with_patience(
            lambda again: self._once(make, again=again, patient=patient),
            patience=self._patience,
            repeatable=repeatable or reads,
        )

    def insert(self, job: BareParams) -> bool:
        """Store one job without options by the shortest way; False: it may not be stored, so ask `run`."""
        if self._closed or not self._pid.mine:
            return False
        try:
            runner = self._pool.take()
        except Broken:
            return False
        stored = False
        try:
            runner.insert(job)
            stored = True
        except psycopg.Error:
            if runner.link.broken:
                self._drop_idle()
        finally:
            self._give_back(runner)
        return stored

    def watch(self, *, test_every: float = 60.0, test_within: float = 5.0) -> Watch:
        """A new ear for commits, on a connection of its own where the place has one to listen on."""
        if self._closed:
            raise UsageError("this queue is closed; open it again")
        place = self.place
        conninfo = place.listen or (None if place.pgbouncer else place.conninfo)
        listens = place.notify and conninfo is not None
        made = PostgresWatch(
            (lambda: ListeningLink(str(conninfo))) if listens else None,
            self.dialect,
            f"tenure_{place.schema}",
            test_every=test_every,
            test_within=test_within,
        )
        self._watches.add(made)
        return made

    def check_foreign(self) -> None:
        """Any PostgreSQL connection of the caller's will do."""

    def close(self) -> None:
        """Let go of the connections."""
        self._closed = True
        for watch in list(self._watches):
            watch.close()
        if self._pid.mine:
            self._drop_idle()

    def _once(self, make: Make[T], *, again: bool, patient: bool) -> T:
        if not self._pid.mine:
            self._abandon()
        if self._closed:
            raise UsageError("this queue is closed; open it again")
        runner = self._pool.take()
        runner.begin(patient=patient)
        try:
            answer = run(make(again), runner)
        except psycopg.Error as cause:
            if not patient and isinstance(cause, pg.LockNotAvailable):
                self._give_back(runner)
                raise LockBusy from cause
            raise self._meaning(runner, cause) from cause
        except BaseException:
            self._give_back(runner)
            raise
        self._give_back(runner)
        return answer

    def _make(self) -> PostgresRunner:
        return PostgresRunner(self._connect(), self.dialect, self._limits, prepare=not self.place.pgbouncer)

    def _give_back(self, runner: PostgresRunner) -> None:
        if self._closed or not runner.idle:
            self._throw_away(runner)
        else:
            self._pool.give_back(runner)

    def _throw_away(self, runner: PostgresRunner) -> None:
        runner.link.close()
        self._pool.forget()

    def _drop_idle(self) -> None:
        for runner in self._pool.drain():
            runner.link.close()

    def _abandon(self) -> None:
        """In a forked child: leave the parent's connections alone, unclosed, and start afresh."""
        _abandoned.append(self._pool)
        self._pid = Pid()
        self._pool = Pool(self._make, POOL)
        self.memory = LaneMemory()

    def _connect(self) -> Link:
        options: dict[str, Any] = {
            "autocommit": True,
            "prepare_threshold": None if self.place.pgbouncer else PREPARE_AFTER,
            **_KEEPALIVES,
        }
        if not self.place.pgbouncer and "options=" not in self.place.conninfo:
            options["options"] = _SESSION
        if "connect_timeout" not in self.place.conninfo:
            options["connect_timeout"] = 10
        if "application_name" not in self.place.conninfo:
            options["fallback_application_name"] = "tenure"
        try:
            return Link.connect(self.place.conninfo, **options)
        except psycopg.OperationalError as cause:
            why = f"PostgreSQL does not answer: {_first_line(cause)}; check that the server runs and the URL is right"
            raise Broken(cause, why, asked=False) from cause
        except psycopg.Error as cause:
            raise StoreError(f"cannot connect to PostgreSQL: {_first_line(cause)}") from cause

    def _meaning(self, runner: PostgresRunner, cause: psycopg.Error) -> Exception:
        """What an error means: another try, or a sentence for people."""
        state, link = cause.sqlstate or "", runner.link
        if link.broken or link.closed or state.startswith(("08", "57P")):
            self._throw_away(runner)
            self._drop_idle()
            return Broken(
                cause, f"PostgreSQL went away: {_first_line(cause)}; check the server", asked=runner.asked
            )
        if state in _AGAIN:
            if state == "25006":
                self._throw_away(runner)
                self._drop_idle()
            else:
                self._give_back(runner)
            return Broken(cause, f"PostgreSQL asked for another try: {_first_line(cause)}", asked=False)
        self._give_back(runner)
        if state.startswith("53"):
            return StoreUnavailable(f"PostgreSQL is out of room: {_first_line(cause)}; nothing was stored")
        if isinstance(cause, pg.InsufficientPrivilege):
            return StoreRefused(
                f"this role may not do that: {_first_line(cause)}; grant it the rights it needs"
            )
        return StoreError(f"PostgreSQL refused a statement: {_first_line(cause)}")

    def _prepare(self) -> None:
        """Bring the schema up to date, one process at a time, never waiting long for a lock."""
        runner = self._pool.take()
        link = runner.link
        link.limit = self._limits.ordinary
        try:
            where = f"schema {self.place.schema!r}"
            applied, min_client = _applied(link, self.place.schema)
            check_client(min_client, where)
            if applied < len(migrations("postgres")):
                link.limit = None
                with link.transaction():
                    self._migrate(link, where)
        except psycopg.Error as cause:
            raise self._meaning(runner, cause) from cause
        except BaseException:
            self._throw_away(runner)
            raise
        self._give_back(runner)

    def _migrate(self, link: Link, where: str) -> None:
        schema, place = self.place.schema, self.dialect.place
        link.execute("SET LOCAL lock_timeout = '3s'")
        link.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (f"tenure.migrate.{schema}",))
        link.execute(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
        link.execute(place("CREATE TABLE IF NOT EXISTS tenure.meta (number integer PRIMARY KEY, name text NOT NULL, min_client integer NOT NULL)"))  # fmt: skip
        applied, min_client = _applied(link, schema)
        check_client(min_client, where)
        for step in migrations("postgres"):
            if step.number > applied:
                link.execute(place(step.text))
                link.execute(
                    place("INSERT INTO tenure.meta (number, name, min_client) VALUES (%s, %s, %s)"),
                    (step.number, step.name, step.min_client),
                )


def _applied(link: Link, schema: str) -> tuple[int, int]:
    """The newest migration applied, and the oldest client it works with; the schema is a checked identifier."""
    known = link.execute("SELECT to_regclass(%s)", (f'"{schema}".meta',)).fetchone()
    if known is None or known[0] is None:
        return 0, 0
    text = 'SELECT coalesce(max(number), 0), coalesce(max(min_client), 0) FROM "tenure".meta'.replace(
        "tenure", schema
    )
    row = link.execute(text).fetchone()
    return (0, 0) if row is None else (row[0], row[1])


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
