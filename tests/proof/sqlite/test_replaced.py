"""The file is removed or replaced under a process that uses it: nothing is promised that only the old file would know of."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

import tenure
from tenure.store.open import open_store
from tests.worker.house import House, until

_BESIDE = ("", "-wal", "-shm", "-journal")


@pytest.fixture(params=["", "?shared=true"], ids=["own", "shared"])
def options(request: pytest.FixtureRequest) -> str:
    """The kinds of file there are."""
    return str(request.param)


@pytest.fixture
def q(options: str, tmp_path: Path) -> Iterator[tenure.Queue]:
    """A queue that does not wait long for a file that is gone."""
    with tenure.Queue(open_store(f"sqlite:///{tmp_path}/jobs.db{options}", patience=0.2)) as made:
        yield made


def move(before: Path, after: Path) -> None:
    """A file with all that belongs to it."""
    for end in _BESIDE:
        if (one := before.with_name(before.name + end)).exists():
            one.rename(after.with_name(after.name + end))


def test_a_file_that_is_gone_is_said_to_be_and_is_not_made_anew(
    q: tenure.Queue, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kept = q.enqueue("k", 1).id
    move(tmp_path / "jobs.db", tmp_path / "away.db")
    for call in (lambda: q.enqueue("k", 2), q.claim, q.counts, lambda: q.enqueue("k", unique="u")):
        with pytest.raises(tenure.StoreUnavailable, match=r"jobs\.db .*put the file back"):
            call()
    assert not (tmp_path / "jobs.db").exists()
    [warned] = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    assert "was removed or replaced under this process" in warned
    move(tmp_path / "away.db", tmp_path / "jobs.db")
    assert kept in {job.id for job in q.list()}
    assert q.enqueue("k", 3).inserted


def test_what_is_enqueued_after_the_file_was_replaced_is_in_the_new_one(
    q: tenure.Queue, options: str, tmp_path: Path
) -> None:
    q.enqueue("k", "old")
    [held] = q.claim()
    with tenure.open(f"sqlite:///{tmp_path}/new.db{options}") as new:
        theirs = new.enqueue("other").id
    move(tmp_path / "jobs.db", tmp_path / "old.db")
    move(tmp_path / "new.db", tmp_path / "jobs.db")
    mine = [q.enqueue("k", n).id for n in range(3)]
    assert {job.id for job in q.list()} == {theirs, *mine}
    assert not q.settle(held, tenure.Done())
    with tenure.open(f"sqlite:///{tmp_path}/jobs.db{options}") as another:
        assert {claim.id for claim in another.claim(100)} == {theirs, *mine}


def test_a_new_file_is_not_opened_with_the_log_of_the_old_one(
    q: tenure.Queue, options: str, tmp_path: Path
) -> None:
    for n in range(20):
        q.enqueue("k", n)
    with tenure.open(f"sqlite:///{tmp_path}/new.db{options}") as new:
        kept = new.enqueue("k", "new").id
    (tmp_path / "new.db").replace(tmp_path / "jobs.db")
    with pytest.raises(tenure.StoreUnavailable, match=r"remove .*jobs\.db-wal and .*jobs\.db-shm"):
        q.enqueue("k", "lost")
    for end in ("-wal", "-shm"):
        (tmp_path / f"jobs.db{end}").unlink()
    mine = q.enqueue("k", "mine").id
    assert {job.id for job in q.list()} == {kept, mine}


def test_a_worker_whose_file_is_replaced_goes_on_with_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    house = House("sqlite", f"sqlite:///{tmp_path}/jobs.db")
    ran: list[int] = []

    @house.app.job
    async def other(n: int) -> None:
        ran.append(n)

    try:
        house.start(poll="100ms")
        other.enqueue(0)
        until(lambda: ran == [0])
        with tenure.open(f"sqlite:///{tmp_path}/new.db") as new:
            for n in range(1, 4):
                new.enqueue("other", {"n": n})
        move(tmp_path / "jobs.db", tmp_path / "old.db")
        move(tmp_path / "new.db", tmp_path / "jobs.db")
        until(lambda: sorted(ran) == [0, 1, 2, 3])
        until(lambda: house.queue.counts()["default"]["done"] == 3)
    finally:
        house.close()
