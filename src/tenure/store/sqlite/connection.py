"""SQLite's drivers behind one shape: apsw for a file Tenure owns, the standard library for the user's own."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol

import apsw

from tenure.errors import StoreError, StoreRefused, StoreUnavailable
from tenure.store.base import Broken

__all__ = ["ApswLink", "DriverError", "Link", "StdlibLink", "meaning"]

BUSY_MS: Final = 10_000
DriverError: Final = (apsw.Error, sqlite3.Error)


class Link(Protocol):
    """One open connection, whichever library it comes from."""

    library: str
    made: set[str]
    """What was made in it that ends with it."""

    def query(self, text: str, params: Mapping[str, Any] | tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """Run a statement; its rows."""
        ...

    def act(self, text: str, params: tuple[Any, ...]) -> None:
        """Run a statement that has no rows to give."""
        ...

    def many(self, text: str, rows: Iterable[Any]) -> int:
        """Run a statement once a row; how many rows it changed."""
        ...

    def changes(self) -> int:
        """How many rows the last statement changed."""
        ...

    def script(self, text: str) -> None:
        """Run several statements."""
        ...

    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        ...

    def close(self) -> None:
        """Close."""
        ...


class ApswLink:
    """A connection through apsw, which carries a current SQLite."""

    library = "apsw"

    def __init__(self, path: str) -> None:
        self._db = apsw.Connection(path)
        self.made: set[str] = set()
        self._db.set_busy_timeout(BUSY_MS)

    def query(self, text: str, params: Mapping[str, Any] | tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """Run a statement; its rows."""
        return self._db.execute(text, params).fetchall()

    def act(self, text: str, params: tuple[Any, ...]) -> None:
        """Run a statement that has no rows to give."""
        self._db.execute(text, params)

    def many(self, text: str, rows: Iterable[Any]) -> int:
        """Run a statement once a row; how many rows it changed."""
        before = self._db.total_changes()
        self._db.executemany(text, rows)
        return self._db.total_changes() - before

    def changes(self) -> int:
        """How many rows the last statement changed."""
        return self._db.changes()

    def script(self, text: str) -> None:
        """Run several statements."""
        self._db.execute(text)

    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        return self._db.in_transaction

    def close(self) -> None:
        """Close."""
        self._db.close()


class StdlibLink:
    """A connection through the standard library, on a file that is the user's."""

    library = "sqlite3"

    def __init__(self, path: str) -> None:
        self._db = sqlite3.connect(
            path, timeout=BUSY_MS / 1000, isolation_level=None, check_same_thread=False
        )
        self._changes = 0
        self.made: set[str] = set()

    def query(self, text: str, params: Mapping[str, Any] | tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """Run a statement; its rows."""
        cursor = self._db.execute(text, params)
        rows = cursor.fetchall()
        self._changes = max(cursor.rowcount, 0)
        return rows

    def act(self, text: str, params: tuple[Any, ...]) -> None:
        """Run a statement that has no rows to give."""
        self._db.execute(text, params)

    def many(self, text: str, rows: Iterable[Any]) -> int:
        """Run a statement once a row; how many rows it changed."""
        return self._db.executemany(text, rows).rowcount

    def changes(self) -> int:
        """How many rows the last statement changed."""
        return self._changes

    def script(self, text: str) -> None:
        """Run several statements."""
        for statement in _split(text):
            self._db.execute(statement)

    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        return self._db.in_transaction

    def close(self) -> None:
        """Close."""
        self._db.close()


def meaning(cause: Exception, path: str) -> Exception:
    """What SQLite's errors mean: another try, or a sentence for people."""
    if isinstance(cause, apsw.Error):
        code = type(cause).__name__.removesuffix("Error").lower()
    else:
        code = str(getattr(cause, "sqlite_errorname", "")).removeprefix("SQLITE_").partition("_")[0].lower()
    match code:
        case "busy" | "locked" | "protocol":
            return Broken(
                cause,
                f"{path} has been locked by another process for {BUSY_MS // 1000} s; find the long transaction",
                asked=False,
            )
        case "full":
            return StoreUnavailable(f"the disk of {path} is full; nothing was stored; free some space")
        case "readonly" | "perm" | "auth":
            return StoreUnavailable(
                f"{path} is read-only for this process; check the rights of the file and its folder"
            )
        case "cantopen":
            return StoreUnavailable(f"cannot open {path}; check that the folder exists and may be written to")
        case "notadb" | "corrupt":
            return StoreRefused(f"{path} is not a SQLite database, or is damaged; name another file")
        case "ioerr" | "io":
            return StoreUnavailable(f"reading or writing {path} failed ({cause}); check the disk")
        case _:
            return StoreError(f"SQLite refused a statement on {path}: {cause}")


def _split(text: str) -> list[str]:
    """A script's statements; a trigger's body is part of its statement."""
    found, current = [], ""
    for line in text.splitlines(keepends=True):
        current += line
        if sqlite3.complete_statement(current):
            found.append(current)
            current = ""
    if current.strip():
        found.append(current)
    return found
