"""The processes of a PostgreSQL that serve one application's connections."""

from __future__ import annotations

import psycopg

__all__ = ["backends"]


def backends(url: str) -> list[int]:
    """Those that serve the connections of this URL's application, which it names last."""
    name = url.partition("application_name=")[2]
    with psycopg.connect(url.partition("?")[0]) as other:
        asked = other.execute("SELECT pid FROM pg_stat_activity WHERE application_name = %s", (name,))
        return [pid for (pid,) in asked]
