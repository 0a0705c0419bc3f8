"""SQLite's statements and what sets it apart."""

from __future__ import annotations

from functools import lru_cache

from tenure.store.dialect import Capabilities, Dialect, load_dialect

__all__ = ["CAN", "sqlite_dialect"]

CAN = Capabilities(copies=True, marks=False, defers=False, takes=True, tells=False, whole=True)


@lru_cache(maxsize=16)
def sqlite_dialect(prefix: str) -> Dialect:
    """SQLite's statements on tables with this (checked) prefix."""
    return load_dialect("sqlite", CAN, lambda text: text.replace("tenure_", prefix), numbered=False)
