"""PostgreSQL's statements and what sets it apart."""

from __future__ import annotations

from functools import lru_cache

from tenure.store.dialect import Capabilities, Dialect, load_dialect

__all__ = ["CAN", "NEVER_PREPARED", "postgres_dialect"]

CAN = Capabilities(copies=True, marks=True, defers=True, takes=False, tells=True, whole=False)
NEVER_PREPARED = frozenset({"counts", "counts_capped", "retain"})
"""Statements whose best plan depends on their parameters: planned anew each time."""


@lru_cache(maxsize=16)
def postgres_dialect(schema: str) -> Dialect:
    """PostgreSQL's statements on tables in this (checked) schema."""
    return load_dialect("postgres", CAN, lambda text: text.replace("tenure.", f'"{schema}".'), numbered=True)
