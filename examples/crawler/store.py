"""The crawler's own records: which manga, chapters and pages it has.

They live in the database that holds the queue (SQLite with `?shared=true`; on PostgreSQL, the queue's schema), so that one
transaction can cover both: a chapter is recorded and its job enqueued, or neither.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from tenure.config import PostgresPlace, locate

__all__ = ["Records", "completed", "forget", "prepare", "transaction"]

_TABLES = """
CREATE TABLE IF NOT EXISTS crawler_manga (slug TEXT PRIMARY KEY, title TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS crawler_chapters (
    manga TEXT, number INTEGER, saved BOOLEAN NOT NULL DEFAULT FALSE, dropped BOOLEAN NOT NULL DEFAULT FALSE,
    PRIMARY KEY (manga, number)
);
CREATE TABLE IF NOT EXISTS crawler_pages (
    manga TEXT, chapter INTEGER, file TEXT NOT NULL PRIMARY KEY
);
"""


class Records:
    """The crawler's tables, inside one transaction of `connection`: a sqlite3 or a psycopg one."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self._mark = "?" if isinstance(connection, sqlite3.Connection) else "%s"

    def run(self, sql: str, *values: object) -> list[Any]:
        """Run one statement; its rows."""
        cursor = self.connection.execute(sql.replace("?", self._mark), values)
        return cursor.fetchall() if cursor.description else []

    def add_manga(self, slug: str, title: str) -> None:
        """A manga the site has."""
        self.run(
            "INSERT INTO crawler_manga VALUES (?, ?) ON CONFLICT (slug) DO UPDATE SET title = excluded.title",
            slug,
            title,
        )

    def list_chapters(self, manga: str, listed: list[int]) -> list[int]:
        """The site lists these chapters: take in the new, drop the vanished; answers those still to be saved."""
        for number in listed:
            self.run(
                "INSERT INTO crawler_chapters (manga, number) VALUES (?, ?)"
                " ON CONFLICT (manga, number) DO UPDATE SET dropped = FALSE",
                manga,
                number,
            )
        known = self.run("SELECT number, saved FROM crawler_chapters WHERE manga = ?", manga)
        for number, _ in known:
            if number not in listed:
                self.drop_chapter(manga, number)
        return sorted(number for number, saved in known if number in listed and not saved)

    def drop_chapter(self, manga: str, number: int) -> None:
        """A chapter has vanished from the site. What was saved of it stays."""
        self.run("UPDATE crawler_chapters SET dropped = TRUE WHERE manga = ? AND number = ?", manga, number)

    def save_chapter(self, manga: str, number: int, files: list[str]) -> None:
        """All pages of a chapter are on disk."""
        for file in files:
            self.run(
                "INSERT INTO crawler_pages VALUES (?, ?, ?) ON CONFLICT (file) DO NOTHING",
                manga,
                number,
                file,
            )
        self.run("UPDATE crawler_chapters SET saved = TRUE WHERE manga = ? AND number = ?", manga, number)

    def count(self, what: str) -> int:
        """How many rows: `count("chapters WHERE dropped")`."""
        return int(self.run(f"SELECT count(*) FROM crawler_{what}")[0][0])


@contextmanager
def transaction(url: str) -> Iterator[Records]:
    """A transaction on the queue's database; it commits at the end, and rolls back if the block raises."""
    with closing(_connect(url)) as connection:
        try:
            yield Records(connection)
        except BaseException:
            connection.rollback()
            raise
        connection.commit()


def completed(url: str) -> str:
    """The URL with what this crawler needs of it: a file that is shared, or a schema of its own."""
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    options.setdefault(*(("shared", "true") if parts.scheme == "sqlite" else ("schema", "crawler")))
    return f"{url.partition('?')[0]}?{urlencode(options)}"


def prepare(url: str) -> None:
    """Make the tables where they are missing."""
    with transaction(url) as db:
        if not _is_file(url):
            db.run(f'CREATE SCHEMA IF NOT EXISTS "{_schema(url)}"')
        for statement in _TABLES.split(";")[:-1]:
            db.run(statement)


def forget(url: str) -> list[str]:
    """Delete the whole database file, or schema, unless no crawler has ever been there; the manga it knew."""
    if _is_file(url) and not _path(url).exists():
        return []
    with transaction(url) as db:
        if not db.run(_FIND[_is_file(url)]):
            return []
        slugs = [slug for (slug,) in db.run("SELECT slug FROM crawler_manga")]
        if not _is_file(url):
            db.run(f'DROP SCHEMA "{_schema(url)}" CASCADE')
    if _is_file(url):
        for end in ("", "-wal", "-shm"):
            Path(f"{_path(url)}{end}").unlink(missing_ok=True)
    return slugs


_FIND = {
    True: "SELECT 1 FROM sqlite_master WHERE name = 'crawler_manga'",
    False: "SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'crawler_manga'",
}


def _connect(url: str) -> Any:
    """To where Tenure's URL leads: what in it is for Tenure alone (`notify=`, `pgbouncer=`, …) is for no driver."""
    place = locate(url)
    if not isinstance(place, PostgresPlace):
        return sqlite3.connect(place.path, timeout=30, isolation_level="IMMEDIATE")
    import psycopg

    # Behind pgbouncer nothing lasts longer than a transaction: no prepared statement, and no setting of the session.
    connection = psycopg.connect(place.conninfo, prepare_threshold=None)
    connection.execute(f'SET LOCAL search_path = "{place.schema}"'.encode())
    return connection


def _is_file(url: str) -> bool:
    return not isinstance(locate(url), PostgresPlace)


def _path(url: str) -> Path:
    place = locate(url)
    assert not isinstance(place, PostgresPlace)
    return Path(place.path)


def _schema(url: str) -> str:
    place = locate(url)
    assert isinstance(place, PostgresPlace)
    return place.schema
