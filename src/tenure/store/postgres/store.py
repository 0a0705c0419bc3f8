"""Jobs in one PostgreSQL schema.

A store has few connections. One that broke is thrown away with every idle one, and the plan is asked again on a new one.
The schema is brought up to date when a store is opened, by one process at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar
from weakref import WeakSet

from tenure.config import PostgresPlace
from tenure.errors import UsageError
from tenure.newjob import BareParams
from tenure.store.base import Broken, LockBusy, Make, Pid, Watch, with_patience
from tenure.store.dialect import Dialect
from tenure.store.lanes import LaneMemory
from tenure.store.migrate import check_client, migrations
from tenure.store.plan import run
from tenure.store.postgres.connection import (
    DriverError,
    Link,
    PostgresRunner,
    connect,
    has_pipeline,
    is_lock_busy,
    meaning,
)
from tenure.store.postgres.dialect import postgres_dialect
from tenure.store.postgres.errand import Errand
from tenure.store.postgres.limits import Limits, limits_at
from tenure.store.postgres.listening import ListeningLink
from tenure.store.postgres.pool import Pool
from tenure.store.postgres.trip import Waits
from tenure.store.postgres.watch import PostgresWatch

__all__ = ["META", "PostgresStore", "applied"]

T = TypeVar("T")
POOL: Final = 8
META: Final = "CREATE TABLE IF NOT EXISTS tenure.meta (number integer PRIMARY KEY, name text NOT NULL, min_client integer NOT NULL)"
"""Which migrations were applied."""
_abandoned: list[object] = []


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

    @property
    def on_loop(self) -> bool:
        """By libpq's pipelines, which need a server that stays the same."""
        return not self.place.pgbouncer and has_pipeline()

    def run(
        self,
        make: Make[T],
        *,
        reads: bool = False,
        repeatable: bool = True,
        patient: bool = True,
        promises: bool = True,  # noqa: ARG002 - workers elsewhere survive the server's power cut: all of it is durable
        asked: bool = False,
    ) -> T:
        """Run a plan to its end, in a transaction of its own; an impatient one raises LockBusy rather than wait."""
        return with_patience(
            lambda again: self._once(make, again=again, patient=patient),
            patience=self._patience,
            repeatable=repeatable or reads,
            asked=asked,
        )

    def begin(
        self, make: Make[T], tell: Callable[[T | BaseException], None], *, patient: bool = True
    ) -> bool:
        """Run a plan on the event loop, over a connection that is idle; False: there is none, or none that does that."""
        if self._closed or not self._pid.mine:
            return False
        runner = self._pool.spare()
        if runner is None:
            return False
        if not runner.idle:
            self._give_back(runner)
            return False
        runner.begin(patient=patient)
        runner.link.limit = self._limits.ordinary
        try:
            errand = Errand(runner.link, self._running(runner, make, patient=patient), tell)
        except BaseException:
            self._give_back(runner)
            raise
        errand.go()
        return True

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
        except DriverError:
            if runner.link.broken:
                self._drop_idle()
        finally:
            self._give_back(runner)
        return stored

    def watch(self, *, test_every: float = 30.0, test_within: float = 5.0) -> Watch:
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
        except DriverError as cause:
            raise self._failed(runner, cause, patient=patient) from cause
        except BaseException:
            self._give_back(runner)
            raise
        self._give_back(runner)
        return answer

    def _running(self, runner: PostgresRunner, make: Make[T], *, patient: bool) -> Waits[T]:
        """The same for who does not wait here. One that is never heard to its end gives its connection up, too."""
        try:
            answer = yield from runner.running(make(False))
        except DriverError as cause:
            raise self._failed(runner, cause, patient=patient) from cause
        except BaseException:
            self._give_back(runner)
            raise
        self._give_back(runner)
        return answer

    def _failed(self, runner: PostgresRunner, cause: DriverError, *, patient: bool) -> Exception:
        if not patient and is_lock_busy(cause):
            self._give_back(runner)
            return LockBusy()
        return self._meaning(runner, cause)

    def _make(self) -> PostgresRunner:
        return PostgresRunner(
            connect(self.place), self.dialect, self._limits, prepare=not self.place.pgbouncer
        )

    def _give_back(self, runner: PostgresRunner) -> None:
        if self._closed or not runner.idle:
            if runner.link.closed or runner.link.broken:
                self._drop_idle()  # they were made before, and may be worth nothing either
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

    def _meaning(self, runner: PostgresRunner, cause: DriverError) -> Exception:
        error, lost = meaning(runner.link, cause, asked=runner.asked)
        if lost:
            self._throw_away(runner)
            self._drop_idle()
        else:
            self._give_back(runner)
        return error

    def _prepare(self) -> None:
        """Bring the schema up to date, one process at a time, never waiting long for a lock."""
        runner = self._pool.take()
        link = runner.link
        link.limit = self._limits.ordinary
        try:
            where = f"schema {self.place.schema!r}"
            number, min_client = applied(link, self.place.schema)
            check_client(min_client, where)
            if number < len(migrations("postgres")):
                link.limit = None
                with link.transaction():
                    self._migrate(link, where)
        except DriverError as cause:
            raise self._meaning(runner, cause) from cause
        except BaseException:
            self._throw_away(runner)
            raise
        self._give_back(runner)

    def _migrate(self, link: Link, where: str) -> None:
        schema, place = self.place.schema, self.dialect.place
        link.execute("SET LOCAL lock_timeout = '3s'")
        link.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (f"tenure.migrate.{schema}",))
        known = link.execute("SELECT to_regnamespace(%s)", (f'"{schema}"',)).fetchone()
        if known is None or known[0] is None:
            # Even where there is one, this would ask for the right to make schemas.
            link.execute(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
        link.execute(place(META))
        number, min_client = applied(link, schema)
        check_client(min_client, where)
        for step in migrations("postgres"):
            if step.number > number:
                link.execute(place(step.text))
                link.execute(
                    place("INSERT INTO tenure.meta (number, name, min_client) VALUES (%s, %s, %s)"),
                    (step.number, step.name, step.min_client),
                )


def applied(link: Link, schema: str) -> tuple[int, int]:
    """The newest migration applied, and the oldest client it works with; the schema is a checked identifier."""
    known = link.execute("SELECT to_regclass(%s)", (f'"{schema}".meta',)).fetchone()
    if known is None or known[0] is None:
        return 0, 0
    text = 'SELECT coalesce(max(number), 0), coalesce(max(min_client), 0) FROM "tenure".meta'.replace(
        "tenure", schema
    )
    row = link.execute(text).fetchone()
    return (0, 0) if row is None else (row[0], row[1])
