"""The log beside the file does not grow for ever: not behind a long reader, once it has gone, nor behind readers of ours."""

from __future__ import annotations

import random
import threading
import time
from contextlib import closing
from pathlib import Path

import apsw
import pytest

import tenure
from tests.proof import depth
from tests.proof.ledger import balance, intact
from tests.proof.tally import Tally

_LIMIT = 67_108_864
"""What the log is cut back to."""
_SLACK = 8_388_608
"""A thousand pages until the next checkpoint, and the largest commit here."""


def busy(q: tenure.Queue, commits: int, rng: random.Random) -> list[str]:
    """So many enqueues, each claimed and settled; what was promised."""
    promised: list[str] = []
    for _ in range(commits):
        jobs = [tenure.NewJob(kind="k", payload="x" * rng.randrange(60_000)) for _ in range(5)]
        promised += [answer.id for answer in q.enqueue_many(jobs)]
        for claim in q.claim(5, kinds=["k"]):
            assert q.settle(claim, tenure.Done())
    return promised


@pytest.mark.timeout(400)
def test_a_log_that_grew_behind_a_long_reader_is_used_again_once_it_has_gone(
    tmp_path: Path, seed: int, tally: Tally
) -> None:
    rng = random.Random(f"{seed}-growth-reader")
    path, log = tmp_path / "jobs.db", tmp_path / "jobs.db-wal"
    with tenure.open(f"sqlite:///{path}") as q, closing(apsw.Connection(str(path))) as reader:
        promised: list[str] = [q.enqueue("k").id]
        reader.execute("BEGIN").execute("SELECT count(*) FROM tenure_jobs").fetchall()
        while log.stat().st_size < depth.of(test=2, proof=10) * _SLACK:
            promised += busy(q, 20, rng)
        grown = log.stat().st_size
        reader.execute("COMMIT")
        for _ in range(depth.of(test=2, proof=5)):
            promised += busy(q, 40, rng)
        assert log.stat().st_size <= max(min(grown, _LIMIT), _SLACK) + _SLACK
        sums = balance(q, promised, tried=promised, allow=("done", "ready"))
        assert sums.pending == 1, "five of what is there are taken each time, and six were there at first"
        tally(long_readers=1, grown_mb=grown // 1_000_000, jobs=sums.stored, losses=sums.losses)
    intact(f"sqlite:///{path}")


@pytest.mark.timeout(400)
def test_readers_of_the_queue_itself_hold_no_checkpoint_back(tmp_path: Path, seed: int, tally: Tally) -> None:
    rng = random.Random(f"{seed}-growth-readers")
    url, log = f"sqlite:///{tmp_path}/jobs.db", tmp_path / "jobs.db-wal"
    stop, looks = threading.Event(), []
    end = time.monotonic() + depth.of(test=1, proof=30)

    def look() -> None:
        with tenure.open(url) as mine:
            while not stop.is_set():
                seen = mine.list(limit=1_000)
                mine.counts()
                looks.append(len(seen))

    with tenure.open(url) as q:
        others = q.enqueue_many([tenure.NewJob(kind="other", payload=n) for n in range(1_000)])
        promised: list[str] = [answer.id for answer in others]
        threads = [threading.Thread(target=look) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            while time.monotonic() < end:
                promised += busy(q, 5, rng)
        finally:
            stop.set()
            for thread in threads:
                thread.join(30)
        assert looks
        assert log.stat().st_size < 2 * _LIMIT
        sums = balance(
            q, promised, tried=promised, allow=lambda job: ("ready" if job.kind == "other" else "done",)
        )
        tally(looks=len(looks), log_mb=log.stat().st_size // 1_000_000, jobs=sums.stored, losses=sums.losses)
    intact(url)
