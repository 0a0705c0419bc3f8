"""A batch of webhooks on SQLite that is broken off: nothing of it is stored, and the next one is."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

import tenure
from tenure.store.sqlite import connection, whole

FILES = pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])


def hooks(batch: str, count: int) -> list[tenure.NewJob]:
    return [
        tenure.NewJob(
            kind="k", unique=f"{batch} {n}", unique_for="1h", request=tenure.Request(b"x" * 2_000, {})
        )
        for n in range(count)
    ]


def opened(path: Path, *, shared: bool) -> tenure.Queue:
    return tenure.open(f"sqlite:///{path}{'?shared=true' if shared else ''}")


@FILES
@pytest.mark.parametrize("count", [10, 200], ids=["one statement", "several in a transaction"])
def test_where_the_first_batch_finds_the_disk_full_later_ones_are_stored(
    tmp_path: Path, count: int, *, shared: bool
) -> None:
    with opened(tmp_path / "jobs.db", shared=shared) as q:
        link = q._store._link(0)  # type: ignore[attr-defined]
        [(pages,)] = link.query("PRAGMA page_count", {})
        link.query(f"PRAGMA max_page_count = {pages + 3}", {})
        with pytest.raises(tenure.StoreUnavailable, match="full"):
            q.enqueue_many(hooks("first", count))
        link.query("PRAGMA max_page_count = 1000000", {})
        assert q.counts() == {}
        for batch in ("second", "third"):
            assert all(one.inserted for one in q.enqueue_many(hooks(batch, count)))
        assert q.count().states == {"ready": 2 * count}


@FILES
def test_what_was_put_aside_before_a_break_is_not_told_of_later_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, shared: bool
) -> None:
    with opened(tmp_path / "jobs.db", shared=shared) as q:
        [first] = q.enqueue_many(hooks("a", 1))
        link = q._store._link(0)  # type: ignore[attr-defined]
        query = type(link).query

        def broken(self: Any, text: str, params: Any) -> Any:
            if text.startswith("DELETE FROM temp"):
                raise KeyboardInterrupt
            return query(self, text, params)

        with monkeypatch.context() as patch:
            patch.setattr(type(link), "query", broken)
            with pytest.raises(KeyboardInterrupt):
                q.enqueue_many(hooks("a", 1))
        assert "tenure_whole" not in link.made
        [again, other] = q.enqueue_many(hooks("a", 2))
        assert (again.inserted, again.id, other.inserted) == (False, first.id, True)
        assert link.query("SELECT count(*) FROM temp.tenure_whole_aside", {}) == [(0,)]


def test_what_is_half_made_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = whole._script
    with opened(tmp_path / "jobs.db", shared=False) as q:
        with monkeypatch.context() as patch:
            patch.setattr(
                whole, "_script", lambda *texts: (*script(*texts)[:-1], "CREATE TEMP TRIGGER broken")
            )
            with pytest.raises(tenure.StoreError):
                q.enqueue_many(hooks("a", 2))
        assert all(one.inserted for one in q.enqueue_many(hooks("a", 2)))


def test_a_commit_that_is_refused_leaves_no_transaction_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of the user's without a write-ahead log: who reads for long keeps a commit out."""
    path = tmp_path / "theirs.db"
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("CREATE TABLE theirs (x)")
    monkeypatch.setattr(connection, "BUSY_MS", 100)
    with opened(path, shared=True) as q:
        q._store._patience = 0.0  # type: ignore[attr-defined]
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM theirs").fetchall()
        with pytest.raises(tenure.StoreUnavailable, match="locked"):
            q.enqueue_many(hooks("a", 100))
        assert not q._store._link(0).in_transaction()  # type: ignore[attr-defined]
        reader.execute("COMMIT")
        [told] = q.enqueue_many(hooks("a", 1))
        assert told.inserted
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM tenure_jobs").fetchall() == [(1,)]
        reader.execute("COMMIT")
        assert len(q.claim(5)) == 1
    reader.close()
