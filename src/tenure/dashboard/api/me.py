"""Who asks, and of what: /api/me."""

from __future__ import annotations

from typing import Any

import tenure
from tenure.config import SqlitePlace, locate, without_password
from tenure.dashboard.desk import Asked, Desk

__all__ = ["me"]


async def me(asked: Asked) -> dict[str, Any]:
    """The role, the token for what changes something, and where the jobs are."""
    return {
        "role": asked.session.role,
        "csrf": asked.session.csrf,
        "version": tenure.__version__,
        "store": store_of(asked.desk),
        "mask": bool(asked.mask),
        "login": asked.desk.settings.guarded,
    }


def store_of(desk: Desk) -> str:
    """Where the jobs are, without the password."""
    place = locate(desk.app.url)
    if isinstance(place, SqlitePlace):
        return f"SQLite {place.path}"
    return f"PostgreSQL {without_password(desk.app.url).partition('://')[2]}"
