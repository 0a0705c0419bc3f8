"""The raw loop that the store is measured against: as durable as it says."""

from __future__ import annotations

from pathlib import Path

from bench.raw import RawSqlite

FULL = 2


def test_only_a_relaxed_claim_does_not_wait_for_the_disk(tmp_path: Path) -> None:
    raw = RawSqlite(str(tmp_path / "raw.db"))
    raw.load(["{}"] * 3)
    raw.relaxed = True
    while rows := raw.claim(2):
        assert raw._db.pragma("synchronous") == FULL
        raw.settle(rows)
    assert raw._db.pragma("synchronous") == FULL
    raw.close()
