"""A PostgreSQL that is durable and has run for a while: its log goes into files that are there already.

While a fresh server makes a new one, every 16 MB, no commit ends, and whoever comes there pays for it: 10 to 40 ms.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from tests.support.postgres import PostgresServer

__all__ = ["SEASONED", "season", "seasoned"]

SEASONED = {"shared_buffers": "512MB", "max_wal_size": "8GB", "min_wal_size": "4GB"}
"""The settings of a server that keeps such files; what one benchmark writes between two checkpoints is less."""
_SEGMENTS = 128
"""Of 16 MB each."""


@contextmanager
def seasoned() -> Iterator[PostgresServer]:
    """Started, and gone afterwards."""
    with PostgresServer(durable=True, settings=SEASONED) as server:
        season(server)
        yield server


def season(server: PostgresServer, segments: int = _SEGMENTS) -> None:
    """Let it write so many files, and keep them to write them again."""
    with psycopg.connect(server.url(), autocommit=True) as connection:
        for _ in range(segments):
            connection.execute("SELECT pg_logical_emit_message(false, 'bench', '')")
            connection.execute("SELECT pg_switch_wal()")
        connection.execute("CHECKPOINT")
