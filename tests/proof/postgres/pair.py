"""Two PostgreSQL servers: a primary, and a standby that has every commit before it is acknowledged. Either can be the other.

Clients know both by one URL, and take the one that can be written to.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Self

import psycopg

from tests.support.postgres import PostgresServer, StopMode
from tests.support.workers import until

__all__ = ["Pair"]

_STREAMING = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'"
_SYNCHRONOUS = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"


class _Standby(PostgresServer):
    """A server whose data are another one's, followed as they change."""

    def __init__(self, primary: PostgresServer, port: int | None = None) -> None:
        super().__init__(durable=False, settings=primary.settings)
        self._primary, self._port = primary, port

    def _making(self, data: Path) -> list[str | Path]:
        return [
            *(self.binaries / "pg_basebackup", "--pgdata", data, "--dbname", self._primary.url()),
            *("--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast", "--no-sync"),
        ]


class Pair:
    """A primary and its synchronous standby."""

    def __init__(self) -> None:
        self.primary = PostgresServer(
            durable=False, settings={"wal_keep_size": "64MB", "wal_retrieve_retry_interval": "200ms"}
        )
        self.standby: PostgresServer | None = None

    def __enter__(self) -> Self:
        try:
            self.primary.start()
            self._follow(None)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def url(self) -> str:
        """Both of them, in an order that does not change."""
        assert self.standby is not None
        low, high = sorted((self.primary.port, self.standby.port))
        return (
            f"postgresql://postgres@127.0.0.1:{low},127.0.0.1:{high}/postgres"
            "?target_session_attrs=read-write&connect_timeout=5"
        )

    def fail_over(self, how: StopMode) -> None:
        """The primary goes, and the standby takes its place."""
        old, new = self.primary, self.standby
        assert new is not None
        old.stop(how)
        with psycopg.connect(new.url(), autocommit=True) as server:
            assert server.execute("SELECT pg_promote(true, 60)").fetchone() == (True,)
        self.primary, self.standby = new, old

    def mend(self) -> None:
        """What was the primary follows the new one, from a copy of it, on the port it had."""
        assert self.standby is not None
        port = self.standby.port
        self.standby.close()
        self._follow(port)

    def close(self) -> None:
        for server in (self.standby, self.primary):
            if server is not None:
                server.close()

    def _follow(self, port: int | None) -> None:
        self.standby = _Standby(self.primary, port)
        self.standby.start()
        with psycopg.connect(self.primary.url(), autocommit=True) as server:
            until(lambda: server.execute(_STREAMING).fetchone() == (1,))
            # Only now: a commit would wait for a standby that is still to come.
            server.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            server.execute("SELECT pg_reload_conf()")
            until(lambda: server.execute(_SYNCHRONOUS).fetchone() == (1,))
