"""Jobs in one SQLite file.

A store has one connection that writes and one that reads, each used by one thread at a time. A transaction starts with
BEGIN IMMEDIATE, so it never fails half way because somebody else wrote first. `now` is the machine's clock. Nothing is
answered from a file that its path no longer names: what was asked is asked again of the one that is there.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, TypeVar
from weakref import WeakSet

from tenure.clock import machine_micros
from tenure.config import SqlitePlace
from tenure.errors import StoreRefused, UsageError
from tenure.newjob import BareParams
from tenure.store.base import Broken, Make, Watch, with_patience
from tenure.store.dialect import Dialect, Sql
from tenure.store.lanes import LaneMemory
from tenure.store.migrate import check_client, migrations
from tenure.store.plan import Result, Statement, run
from tenure.store.sqlite.anchor import Anchor
from tenure.store.sqlite.bind import bound, chunks, numbered, runs
from tenure.store.sqlite.connection import ApswLink, DriverError, Link, StdlibLink, meaning
from tenure.store.sqlite.dialect import sqlite_dialect
from tenure.store.sqlite.file import claim_library, is_at, key_of, prepare_file, release_library, same_file
from tenure.store.sqlite.log import LogKeeper
from tenure.store.sqlite.watch import SqliteWatch
from tenure.store.sqlite.whole import MOST, store_whole

__all__ = ["APPLICATION", "META", "SqliteRunner", "SqliteStore", "applied", "table_exists"]

T = TypeVar("T")
log = logging.getLogger("tenure")
OLDEST: Final = (3, 37, 0)
APPLICATION: Final = 0x74656E75
META: Final = "CREATE TABLE IF NOT EXISTS tenure_meta (number INTEGER PRIMARY KEY, name TEXT NOT NULL, min_client INTEGER NOT NULL) STRICT"
"""Which migrations were applied."""
_TENDED: Final = 64
"""How many single jobs are stored between two looks at the log."""
_stores: WeakSet[SqliteStore] = WeakSet()
_forking: list[SqliteStore] = []
_one_fork = threading.RLock()
"""Held by the thread that forks: another one that does so at the same time would find nothing left to let in again."""


def _before_fork() -> None:
    """Close every connection before the process forks, and let nobody open one until it has.

    SQLite keeps its locks per process and believes a forked child to hold its parent's: with a connection open across
    the fork, whoever closes last may delete a log that the other still writes to. Parent and child both open anew.
    """
    _one_fork.acquire()
    _forking.extend(_stores)
    for store in _forking:
        store.before_fork()


def _after_fork() -> None:
    try:
        while _forking:
            _forking.pop().after_fork()
    finally:
        _one_fork.release()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


class SqliteRunner:
    """Runs a plan's statements on one link, in a transaction that starts with the first write."""

    def __init__(self, link: Link, statements: Mapping[str, Sql]) -> None:
        self._link, self._statements = link, statements
        self._open = False

    def execute(self, statement: Statement) -> Result:
        """Run one statement."""
        if not self._open and not _is_one(statement):
            self._link.query("BEGIN IMMEDIATE", {})
            self._open = True
        return execute_on(self._link, self._statements, statement)

    def commit(self) -> None:
        """End the transaction, if one was opened."""
        if self._open:
            self._link.query("COMMIT", {})
            self._open = False

    def rollback(self) -> None:
        """Undo the transaction, if one was opened; SQLite may have done so itself."""
        self._open = False
        self._link.made.clear()  # some of it may have been made in this transaction
        if self._link.in_transaction():
            self._link.query("ROLLBACK", {})


def _is_one(statement: Statement) -> bool:
    """Whether it is one statement to SQLite too, so that it needs no transaction around it."""
    most = MOST if statement.name == "enqueue_whole" else 1
    return statement.alone and statement.columns is None and len(statement.rows or ()) <= most


def execute_on(link: Link, statements: Mapping[str, Sql], statement: Statement) -> Result:
    """Run one statement, with the machine's clock where no other is given."""
    params = statement.params
    if params.get("now", 0) is None:
        params = {**params, "now": machine_micros()}
    if statement.copied is not None:
        text = statements[statement.name].text
        if statement.name == "copy_bare":
            return Result([], sum(link.many(*run) for run in runs(text, statement.copied)))
        return Result([], link.many(text, statement.copied))
    if statement.name == "enqueue_whole" and statement.rows is not None:
        return Result(store_whole(link, statements, statement.rows, params["now"]), len(statement.rows))
    if statement.rows is not None and len(statement.rows) > 1:
        text = statements[statement.name].text
        several = chunks(text, statement.rows, params)
        return Result([], sum(link.many(text, [flat]) for text, flat in several))
    text, params, rows = bound(statement, statements, params)
    if rows is not None:
        return Result([], link.many(text, rows))
    return Result(link.query(text, params), link.changes())


class SqliteStore:
    """Jobs in one SQLite file."""

    on_loop: Final = False

    def __init__(self, place: SqlitePlace, *, patience: float = 5.0) -> None:
        self.place, self._patience = place, patience
        self.dialect: Dialect = sqlite_dialect(place.prefix)
        self.memory = LaneMemory()
        self._insert = numbered(self.dialect.statements["enqueue_one"].text, BareParams.__annotations__)
        self._inserted = 0
        self._locks = (threading.RLock(), threading.RLock())
        self._links: list[Link | None] = [None, None]
        self._anchors: list[Anchor | None] = [None, None]
        self._log: tuple[int, int] | None = None
        self._keeper = LogKeeper(place.path)
        self._watches: WeakSet[SqliteWatch] = WeakSet()
        self._forking: list[SqliteWatch] = []
        self._closed = self._ready = False
        self._syncing, self._may_relax = True, False
        _stores.add(self)
        try:
            with_patience(lambda _: self._prepare(first=True), patience=patience, repeatable=True)
        except BaseException:
            self.close()
            raise

    def run(
        self,
        make: Make[T],
        *,
        reads: bool = False,
        repeatable: bool = True,
        patient: bool = True,  # noqa: ARG002 - there are no row locks to be impatient about
        promises: bool = True,
        asked: bool = False,
    ) -> T:
        """Run a plan to its end, in a transaction of its own.

        One that promises nothing (a claim) does not wait for the disk: a power cut ends every worker of this file too,
        so nobody is left who holds what was forgotten. The next commit that waits makes it durable as well.
        """
        which = 1 if reads else 0

        def once(again: bool) -> T:
            if not self._ready:
                self._prepare()
            with self._locks[which]:
                try:
                    if which and self._moved():
                        self._let_go(which)  # the writer has another file since
                    link = self._links[which] or self._link(which)
                    if which == 0 and promises != self._syncing and self._may_relax:
                        self._sync(link, promises)
                    answer = run(make(again), SqliteRunner(link, self.dialect.statements))
                except DriverError as cause:
                    raise meaning(cause, self.place.path) from cause
                if not self._is_there(which):
                    raise self._lost()
                if which == 0:
                    self._keeper.tend(link)
                return answer

        return with_patience(once, patience=self._patience, repeatable=repeatable, asked=asked)

    def begin(
        self,
        make: Make[T],  # noqa: ARG002
        tell: Callable[[T | BaseException], None],  # noqa: ARG002
        *,
        patient: bool = True,  # noqa: ARG002
    ) -> bool:
        """A disk is waited for in a thread."""
        return False

    def insert(self, job: BareParams) -> bool:
        """Store one job without options by the shortest way; False: it may not be stored, so ask `run`."""
        with self._locks[0]:
            link, anchor = self._links[0], self._anchors[0]
            if link is None or anchor is None:
                return False
            try:
                if not self._syncing:
                    self._sync(link, True)
                if job["now"] is None:
                    job["now"] = machine_micros()
                link.act(self._insert, tuple(job.values()))
            except DriverError:
                return False
            if not anchor.holds():
                self._lost()
                return False
            self._inserted += 1
            if not self._inserted % _TENDED:
                self._keeper.tend(link)
        return True

    def check_foreign(self) -> None:
        """Raise where a caller's connection would bring a second SQLite library to the file."""
        if not self.place.shared:
            raise UsageError(
                f"{self.place.path} is a file Tenure owns; to enqueue in your own transaction open your own file with "
                f"sqlite:///{self.place.path}?shared=true"
            )

    def watch(self) -> Watch:
        """A new ear for commits, with a connection of its own."""
        made = SqliteWatch(self.place.path, self._connect_apart)
        with self._locks[1]:
            if self._closed:
                raise UsageError("this queue is closed; open it again")
            self._watches.add(made)
        return made

    def same_file(self, path: str) -> bool:
        """Whether a path is this store's file."""
        return same_file(path, self.place.path)

    def close(self) -> None:
        """Let go of the file."""
        self._closed = True
        with self._locks[1]:
            watches = list(self._watches)
        for watch in watches:
            watch.close()
        for which in (0, 1):
            with self._locks[which]:
                self._let_go(which)

    def before_fork(self) -> None:
        """Let go of the file, and keep everybody out until `after_fork`."""
        for which in (0, 1):
            self._locks[which].acquire()
            self._let_go(which)
        self._forking = list(self._watches)
        for watch in self._forking:
            watch.before_fork()

    def after_fork(self) -> None:
        """Let everybody in again; a child starts with an empty memory."""
        self.memory = LaneMemory()
        while self._forking:
            self._forking.pop().after_fork()
        for which in (0, 1):
            self._locks[which].release()

    def _let_go(self, which: int) -> None:
        link, self._links[which] = self._links[which], None
        anchor, self._anchors[which] = self._anchors[which], None
        if link is not None and anchor is not None:
            anchor.close()
            link.close()
            release_library(anchor.key)

    def _is_there(self, which: int) -> bool:
        anchor = self._anchors[which]
        return anchor is not None and anchor.holds()

    def _moved(self) -> bool:
        """Whether the one who writes has another file than the one who reads."""
        writer, reader = self._anchors
        return writer is not None and reader is not None and writer.key != reader.key

    def _lost(self) -> Broken:
        """The path names another file, or none, and nobody else finds ours any more: look there again before the next call."""
        self._ready = False
        why = f"{self.place.path} was removed or replaced under this process"
        log.warning("%s", why)
        return Broken(FileNotFoundError(self.place.path), f"{why}; put the file back", asked=False)

    def _link(self, which: int) -> Link:
        if self._closed:
            raise UsageError("this queue is closed; open it again")
        link = self._links[which]
        if link is None:
            link, key = self._connect()
            self._links[which], self._anchors[which] = link, Anchor(self.place.path, key, inotify=which == 0)
            if which == 0:
                # Without a write-ahead log, a commit that does not wait could damage the file.
                [(mode,)] = link.query("PRAGMA journal_mode", {})
                self._syncing, self._may_relax = True, mode == "wal" and self.place.durability == "full"
                self._log = key_of(f"{self.place.path}-wal")
                # A statement of many rows keeps what it changes until it is through: in files, unless it is told otherwise.
                link.query("PRAGMA temp_store = MEMORY", {})
        return link

    def _sync(self, link: Link, full: bool) -> None:
        """Whether the writer's commits wait for the disk from now on."""
        link.query(f"PRAGMA synchronous = {'FULL' if full else 'NORMAL'}", {})
        self._syncing = full

    def _connect_apart(self) -> tuple[Link, Callable[[], None]]:
        """A connection for a watch, and how to let go of it; a file that is gone is not made anew."""
        Path(self.place.path).stat()
        link, key = self._connect()
        return link, lambda: release_library(key)

    def _connect(self) -> tuple[Link, tuple[int, int]]:
        place = self.place
        link: Link
        prepare_file(place.path, "sqlite3" if place.shared else "apsw", create_private=not place.shared)
        link = StdlibLink(place.path) if place.shared else ApswLink(place.path)
        try:
            key = claim_library(place.path, link.library)
        except BaseException:
            link.close()
            raise
        try:
            if not place.shared:
                self._refuse_foreign(link)
            self._settle_in(link)
        except BaseException:
            link.close()
            release_library(key)
            raise
        return link, key

    def _settle_in(self, link: Link) -> None:
        place = self.place
        [(version,)] = link.query("SELECT sqlite_version()", {})
        if tuple(int(n) for n in version.split(".")) < OLDEST:
            raise StoreRefused(f"SQLite {version} is too old for {place.path}; Tenure needs 3.37 or later")
        [(tables,)] = link.query("SELECT count(*) FROM sqlite_master", {})
        if tables == 0:
            link.query("PRAGMA auto_vacuum = INCREMENTAL", {})
        if not place.shared or tables == 0:
            link.query("PRAGMA journal_mode = WAL", {})
        [(mode,)] = link.query("PRAGMA journal_mode", {})
        # A rollback journal commits by being deleted, and only EXTRA waits until that too is on the disk.
        full = "FULL" if mode == "wal" else "EXTRA"
        link.query(f"PRAGMA synchronous = {full if place.durability == 'full' else 'NORMAL'}", {})
        link.query("PRAGMA journal_size_limit = 67108864", {})
        link.query("PRAGMA cache_size = -3072", {})
        link.query("PRAGMA mmap_size = 0", {})

    def _prepare(self, *, first: bool = False) -> None:
        """Check that the file is ours to use, and bring its schema up to date; a file that was lost is not made anew."""
        path = self.place.path
        if not first and not Path(path).exists():
            raise Broken(FileNotFoundError(path), f"{path} is gone; put the file back", asked=False)
        try:
            self._bring_up_to_date()
        except DriverError as cause:
            raise meaning(cause, path) from cause
        self._ready = True

    def _let_go_of_lost(self) -> None:
        """Close a file that its path no longer names; its log must not be taken for the new one's."""
        path = self.place.path
        if self._links[0] is not None and not self._is_there(0):
            if is_at(f"{path}-wal", self._log):
                why = f"{path} was replaced, but its log was left beside the new file; remove {path}-wal and {path}-shm"
                raise Broken(FileExistsError(path), why, asked=False)
            self._let_go(0)

    def _bring_up_to_date(self) -> None:
        with self._locks[0]:
            self._let_go_of_lost()
            link = self._link(0)
            prefix = self.place.prefix
            place = self.dialect.place
            if not table_exists(link, f"{prefix}meta") or applied(link, prefix)[0] < len(
                migrations("sqlite")
            ):
                link.query("BEGIN IMMEDIATE", {})
                try:
                    self._migrate(link, place)
                    link.query("COMMIT", {})
                except BaseException:
                    if link.in_transaction():
                        link.query("ROLLBACK", {})
                    raise
            check_client(applied(link, prefix)[1], self.place.path)
            self._log = key_of(f"{self.place.path}-wal")

    def _migrate(self, link: Link, place: Callable[[str], str]) -> None:
        prefix = self.place.prefix
        link.script(place(META))
        number, min_client = applied(link, prefix)
        check_client(min_client, self.place.path)
        for step in migrations("sqlite"):
            if step.number > number:
                link.script(place(step.text))
                insert = place(
                    "INSERT INTO tenure_meta (number, name, min_client) VALUES (:number, :name, :min_client)"
                )
                link.query(insert, {"number": step.number, "name": step.name, "min_client": step.min_client})
        if not self.place.shared:
            link.query(f"PRAGMA application_id = {APPLICATION}", {})

    def _refuse_foreign(self, link: Link) -> None:
        names = [n for (n,) in link.query("SELECT name FROM sqlite_master WHERE type = 'table'", {})]
        foreign = [n for n in names if not n.startswith((self.place.prefix, "sqlite_"))]
        if foreign:
            raise StoreRefused(
                f"{self.place.path} holds tables that are not Tenure's ({', '.join(sorted(foreign)[:3])}); "
                "name another file, or add ?shared=true to live beside them"
            )


def table_exists(link: Link, name: str) -> bool:
    """Whether there is a table of this name."""
    return bool(
        link.query("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = :name", {"name": name})
    )


def applied(link: Link, prefix: str) -> tuple[int, int]:
    """The newest migration applied, and the oldest client it works with; the prefix is a checked identifier."""
    text = "SELECT coalesce(max(number), 0), coalesce(max(min_client), 0) FROM tenure_meta".replace(
        "tenure_", prefix
    )
    [(number, min_client)] = link.query(text, {})
    return number, min_client
