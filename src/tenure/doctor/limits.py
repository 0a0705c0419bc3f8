"""From where on something is worth a word: spans in seconds, sizes in bytes."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Limits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """When a note, a warning or an error is due."""

    check: float = 10.0
    """How long a single check may take."""
    listen: float = 2.0
    """How soon a notification must be heard."""
    ask: float = 4.0
    """How long Telegram may take to answer."""
    clock: float = 1.0
    clock_error: float = 30.0
    lease: float = 5.0
    """A lease that ran out so short a time ago is about to be taken back."""
    scheduled: float = 60.0
    """A due job that is not promoted within this time is stuck."""
    fire: float = 60.0
    ready: float = 60.0
    ready_warning: float = 600.0
    """How long the first ready job may have waited: worth a note, worth a warning."""
    silent: float = 600.0
    """A worker that fell silent within this time is worth a warning, one of the last day a note."""
    crashed: float = 3_600.0
    dead: int = 100
    """So many dead jobs in a day are worth a warning."""
    transaction: float = 300.0
    transaction_error: float = 3_600.0
    xids: int = 1_000_000
    dead_rows: int = 10_000
    dead_rows_warning: int = 100_000
    index: int = 64 * 2**20
    index_per_row: int = 4_096
    connections: float = 0.1
    """The share of connections that should be free."""
    wal: int = 96 * 2**20
    disk: int = 2**30
    disk_error: int = 128 * 2**20
    updates: int = 100
    """So many updates that wait at Telegram are worth a warning."""
    webhook_error: float = 3_600.0
