"""Tests of this suite, run again and again in one process, each time on another mutant of one statement.

A pytest session collects the tests once; then a player runs single ones, as often as it likes. The loader of statements and of
migrations hands out the mutant's text instead of the file's. Whatever waits for a lock, or runs for ever, is given up soon.

`python -m tests.proof.guards.playing`: reads {"store", "name", "test"} lines from stdin, writes a line of JSON for each.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import apsw
import pytest
from msgspec.structs import replace

from tenure.store import dialect
from tenure.store.migrate import Migration, migrations
from tenure.store.postgres import connection as postgres_connection
from tenure.store.postgres import dialect as postgres_dialect
from tenure.store.postgres import store as postgres_store
from tenure.store.sqlite import dialect as sqlite_dialect
from tenure.store.sqlite import store as sqlite_store
from tests.proof.guards.mutants import STORES, Mutant, mutants
from tests.support import schemas, templates

__all__ = ["QUIETLY", "Player", "Stage", "Verdict", "play"]

_PATIENCE = 25.0
_MEMORY = Path("/dev/shm")
QUIETLY = ["-q", "--tb=line", "-p", "no:cacheprovider", "-p", "no:unraisableexception", "-p", "no:threadexception", "-o", "filterwarnings=", "-o", f"timeout={_PATIENCE}"]  # fmt: skip
"""Only what a test asserts counts: what an earlier mutant left behind may warn, and blames nobody."""


class Verdict(NamedTuple):
    """How a test ended."""

    passed: bool
    seconds: float
    why: str


class _Text(NamedTuple):
    """A file that says something else."""

    stem: str
    text: str

    def read_text(self, encoding: str) -> str:
        return self.text


class _Heard(dict[str, dialect.Sql]):
    """Statements that tell which of them were asked for."""

    def __init__(self, store: str, known: Any, heard: set[tuple[str, str]]) -> None:
        super().__init__(known)
        self._store, self._heard = store, heard

    def __getitem__(self, name: str) -> dialect.Sql:
        self._heard.add((self._store, name))
        return super().__getitem__(name)


class Stage:
    """The tests of a session, and the statements they run on."""

    def __init__(self, session: pytest.Session, reports: list[pytest.TestReport]) -> None:
        self._session, self._reports = session, reports
        self.items = {item.nodeid: item for item in session.items}
        self.heard: set[tuple[str, str]] = set()
        self._mutant: Mutant | None = None
        self._deadline = 0.0

    def run(self, test: str, mutant: Mutant | None = None) -> Verdict:
        """Run one test, with one statement changed."""
        item = self.items[test]
        self._change(mutant)
        self._reports.clear()
        self.heard.clear()
        begun = time.monotonic()
        self._deadline = begun + _PATIENCE - 5
        # The session as the next item: what is the test's own is taken down, what is the session's stays.
        nobody: Any = self._session
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=nobody)
        failed = [report for report in self._reports if report.failed]
        why = str(failed[0].longreprtext).strip().splitlines()[-1][:200] if failed else ""
        return Verdict(bool(self._reports) and not failed, time.monotonic() - begun, why)

    @contextmanager
    def set(self) -> Iterator[None]:
        """The loader, the locks and the clocks as a mutant needs them."""
        load, read = dialect.load_dialect, dialect._load

        def load_mutant(file: Path, place: Callable[[str], str], *, numbered: bool) -> dialect.Sql:
            mutant, given = self._mutant, file
            if mutant and file.name == mutant.file and file.parents[1].name == mutant.store:
                given = _Text(file.stem, mutant.text)  # type: ignore[assignment]
            return read(given, place, numbered=numbered)

        def load_heard(name: str, *args: Any, **options: Any) -> dialect.Dialect:
            made = load(name, *args, **options)
            return replace(made, statements=_Heard(name, made.statements, self.heard))

        def bound(link: apsw.Connection) -> None:
            link.set_progress_handler(lambda: time.monotonic() > self._deadline, 100_000)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(dialect, "_load", load_mutant)
            patch.setattr(sqlite_store, "migrations", self._migrations)
            patch.setattr(postgres_store, "migrations", self._migrations)
            patch.setattr(sqlite_dialect, "load_dialect", load_heard)
            patch.setattr(postgres_dialect, "load_dialect", load_heard)
            soon = postgres_connection._SESSION.replace("lock_timeout=10s", "lock_timeout=1s")
            patch.setattr(postgres_connection, "_SESSION", f"{soon} -c statement_timeout=4s")
            patch.setattr(apsw, "connection_hooks", [*apsw.connection_hooks, bound])
            yield
            self._change(None)

    def _migrations(self, database: str) -> list[Migration]:
        mutant, steps = self._mutant, migrations(database)
        if mutant is None or mutant.store != database:
            return steps
        return [
            replace(step, text=mutant.text) if mutant.file == f"{step.number:04}_{step.name}.sql" else step
            for step in steps
        ]

    def _change(self, mutant: Mutant | None) -> None:
        if self._mutant is not mutant:
            # What one of the two made is not what the other expects.
            if any(one and one.file[0].isdigit() for one in (self._mutant, mutant)):
                schemas.forget()
                templates.forget()
            self._mutant = mutant
        sqlite_dialect.sqlite_dialect.cache_clear()
        postgres_dialect.postgres_dialect.cache_clear()


class Player:
    """A pytest plugin that does as it likes with the tests that were collected."""

    def __init__(self, work: Callable[[Stage], None]) -> None:
        self._work = work
        self._reports: list[pytest.TestReport] = []
        self.ended = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._reports.append(report)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        assert not session.testsfailed, "the tests could not be collected"
        stage = Stage(session, self._reports)
        with stage.set():
            self._work(stage)
        self.ended = True
        return True


def play(tests: list[str], work: Callable[[Stage], None], *options: str) -> None:
    """Collect these tests, and do this with them."""
    player = Player(work)
    # Nothing here is about disks, and memory is quicker where it looks like one.
    with TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None) as folder:
        pytest.main([*QUIETLY, f"--basetemp={folder}/tests", *options, *tests], plugins=[player])
    assert player.ended, "the tests could not be played; see above"


def main() -> int:
    """Whether each mutant of the lines on stdin is killed by its test."""
    asked = [json.loads(line) for line in sys.stdin]
    known = {(m.store, m.name): m for store in STORES for m in mutants(store)}
    answers: list[dict[str, Any]] = []

    def each(stage: Stage) -> None:
        well = {test: stage.run(test) for test in dict.fromkeys(one["test"] for one in asked)}
        for one in asked:
            test = one["test"]
            killed = well[test].passed and not stage.run(test, known[one["store"], one["name"]]).passed
            answers.append({**one, "killed": killed, "well": well[test].passed, "why": well[test].why})

    play(list(dict.fromkeys(one["test"] for one in asked)), each)
    for answer in answers:
        sys.__stdout__.write(f"guards: {json.dumps(answer)}\n")  # type: ignore[union-attr]
    return 0


if __name__ == "__main__":
    sys.exit(main())
