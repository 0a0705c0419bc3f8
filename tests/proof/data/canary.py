"""Secrets that nobody else has, and everything that was said while they were about."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import sql

__all__ = ["CANARY", "Aviary", "everything_in", "listening"]

CANARY = "CaNaRy-7Qz0x-nobody-has-this"


class Aviary(logging.Handler):
    """All that was said: logs of every level with their tracebacks, exceptions with their causes, answers, outputs."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(self.format(record))

    def error(self, error: BaseException) -> None:
        """An exception that a caller met."""
        self.said.append("".join(traceback.format_exception(error)) + repr(error))

    def text(self, text: str | bytes) -> None:
        """Anything that somebody was told."""
        self.said.append(text if isinstance(text, str) else text.decode("utf-8", "replace"))

    def check(self, *canaries: str) -> None:
        """No secret was said; and what was said is counted, so that silence is no proof."""
        found = [
            text[max(text.find(c) - 200, 0) :][:400] for text in self.said for c in canaries if c in text
        ]
        assert not found, found[:2]
        assert self.said


@contextmanager
def listening() -> Iterator[Aviary]:
    """Hear every logger."""
    root, heard = logging.getLogger(), Aviary()
    before = root.level
    root.addHandler(heard)
    root.setLevel(logging.DEBUG)
    try:
        yield heard
    finally:
        root.removeHandler(heard)
        root.setLevel(before)


def everything_in(url: str, schema: str) -> list[str]:
    """Every row of every table of a schema."""
    rows: list[str] = []
    with psycopg.connect(url) as server:
        names = server.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (schema,)).fetchall()
        for (name,) in names:
            text = sql.SQL("SELECT t::text FROM {} t").format(sql.Identifier(schema, name))
            found: list[Any] = server.execute(text).fetchall()
            rows += [row for (row,) in found]
    return rows
