"""The ledger notices what a run must not do: a proof that cannot fail proves nothing."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest

import tenure
from tenure.config import SqlitePlace, locate
from tests.proof.intact import taken
from tests.proof.ledger import at_rest, balance, intact
from tests.proof.notes import Acks, Effect, Effects, Said
from tests.support.fresh import KINDS, Kind, fresh_url


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest, tmp_path: Path, postgres_url: str) -> Iterator[str]:
    kind: Kind = request.param
    with fresh_url(kind, tmp_path, postgres_url) as made:
        yield made


@pytest.fixture
def q(url: str) -> Iterator[tenure.Queue]:
    with tenure.open(url) as queue:
        yield queue


def work(q: tenure.Queue, effects: Effects, times: int = 1) -> tenure.Claim:
    """Run what is next, so many times in one claim, and settle it."""
    [claim] = q.claim()
    for _ in range(times):
        effects.add(claim)
    assert q.settle(claim, tenure.Done())
    return claim


def test_a_run_without_faults_balances_and_its_store_is_intact(
    q: tenure.Queue, url: str, tmp_path: Path
) -> None:
    acks, effects = Acks(tmp_path / "acks"), Effects(tmp_path / "effects")
    acks.add(*(answer.id for answer in q.enqueue_many([tenure.NewJob(kind="k")] * 60)))
    for _ in range(60):
        work(q, effects)
    at_rest(q)
    made = balance(q, acks.read(), tried=(), effects=effects.read(), g4={"k": acks.read()})
    assert (made.acked, made.done, made.dead, made.doubled, made.losses) == (60, 60, 0, 0, 0)
    assert intact(url) in {"integrity_check", "amcheck", "counts"}


def test_a_row_that_one_index_does_not_know_of_is_noticed_by_every_means(q: tenure.Queue, url: str) -> None:
    place = locate(url)
    for _ in range(3):
        q.enqueue("k")
    if isinstance(place, SqlitePlace):
        q.close()
        _forget(place)
        with pytest.raises(AssertionError, match="integrity_check"):
            intact(url)
        return
    taken()
    assert intact(url, amcheck=False) == "counts"
    assert taken() == {"sound by counts": 1}
    assert taken() == {}
    with psycopg.connect(place.conninfo, autocommit=True) as server:
        for index in ("jobs_pkey", "jobs_ready"):
            ready = f"UPDATE pg_index SET indisready = %s, indisvalid = %s WHERE indexrelid = '\"{place.schema}\".{index}'::regclass"
            server.execute(ready.encode(), (False, False))
            with tenure.open(url) as other:
                other.enqueue("k")
            server.execute(ready.encode(), (True, True))
            for amcheck in (True, False):
                with pytest.raises((AssertionError, psycopg.Error), match=index):
                    intact(url, amcheck=amcheck)
            server.execute(f'REINDEX INDEX "{place.schema}".{index}'.encode())
            intact(url)
            intact(url, amcheck=False)


def _forget(place: SqlitePlace) -> None:
    """Have one index of the file know of no row, as after a page that was never written."""
    connect: Any = sqlite3.connect if place.shared else apsw.Connection
    with closing(connect(place.path)) as file:
        file.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        [(page, size)] = file.execute(
            "SELECT rootpage, (SELECT page_size FROM pragma_page_size) FROM sqlite_schema WHERE type = 'index' AND name LIKE '%jobs_ready'"
        ).fetchall()
    with Path(place.path).open("r+b") as raw:
        raw.seek((page - 1) * size)
        raw.write(b"\x0a" + bytes(4) + (size % 65_536).to_bytes(2, "big") + bytes(1))


def test_a_line_that_a_kill_cut_short_is_no_promise(tmp_path: Path) -> None:
    acks = Acks(tmp_path / "acks")
    kept = "019a0000-0000-7000-8000-000000000001"
    (tmp_path / "acks").write_text(f"{kept}\n019a0000-0000-7")
    acks.add(kept)
    (tmp_path / "acks").write_text((tmp_path / "acks").read_text() + kept)
    assert acks.read() == [kept, kept]


def test_a_lost_job_a_strange_one_and_one_that_goes_on_are_noticed(q: tenure.Queue) -> None:
    job = q.enqueue("k").id
    with pytest.raises(AssertionError, match="1 jobs were acknowledged and are not there"):
        balance(q, [job, "019a0000-0000-7000-8000-000000000001"])
    with pytest.raises(AssertionError, match="1 jobs are there that nobody enqueued"):
        balance(q, [], tried=[])
    with pytest.raises(AssertionError, match=r"rest where none should: {\('k', 'ready'\): 1}"):
        balance(q, [job])
    with pytest.raises(AssertionError, match=r"never ended: {'ready': 1}"):
        at_rest(q, 0)
    assert balance(q, [job], allow=["ready"]).pending == 1


def test_a_job_that_rests_in_the_state_of_another_is_noticed(q: tenure.Queue) -> None:
    good, bad = q.enqueue("good").id, q.enqueue("bad").id
    for claim in q.claim(2):
        assert q.settle(claim, tenure.Done())

    def allow(job: tenure.JobSeen) -> list[str]:
        return ["done" if job.kind == "good" else "dead"]

    with pytest.raises(AssertionError, match=r"rest where none should: {\('bad', 'done'\): 1}"):
        balance(q, [good, bad], allow=allow)


def test_a_job_that_is_done_and_that_nobody_did_is_noticed(q: tenure.Queue, tmp_path: Path) -> None:
    effects = Effects(tmp_path / "effects")
    job = q.enqueue("k").id
    [claim] = q.claim()
    assert q.settle(claim, tenure.Done())
    with pytest.raises(AssertionError, match=r"is done at epoch 1, and ran at \[\]"):
        balance(q, [job], effects=[])
    effects.add(claim, "fail")
    with pytest.raises(AssertionError, match="is done, and its handler said fail"):
        balance(q, [job], effects=effects.read())
    earlier = Effect.of(claim)._replace(epoch=0)
    with pytest.raises(AssertionError, match=r"is done at epoch 1, and ran at \[0\]"):
        balance(q, [job], effects=[earlier])


def test_a_claim_that_ran_twice_one_that_nobody_had_and_a_run_without_its_job_are_noticed(
    q: tenure.Queue, tmp_path: Path
) -> None:
    effects = Effects(tmp_path / "effects")
    job = q.enqueue("k").id
    claim = work(q, effects, times=2)
    with pytest.raises(AssertionError, match=r"epoch 1 of job .* ran twice"):
        balance(q, [job], effects=effects.read())
    once = Effect.of(claim)
    assert balance(q, [job], effects=[once]).doubled == 0
    with pytest.raises(AssertionError, match="ran at epoch 2, and was claimed up to 1"):
        balance(q, [job], effects=[once, once._replace(epoch=2)])
    with pytest.raises(AssertionError, match="has run, and is not there"):
        balance(q, [job], effects=[once, once._replace(job="019a0000-0000-7000-8000-000000000001")])


def test_every_run_but_the_last_has_crashed_failed_or_snoozed(q: tenure.Queue, tmp_path: Path) -> None:
    effects = Effects(tmp_path / "effects")
    job = q.enqueue("k", max_attempts=9).id
    ends: list[tuple[tenure.Outcome, Said]] = [
        (tenure.Crashed("gone"), "done"),
        (tenure.Fail("oops", retry_in=0), "fail"),
        (tenure.Snooze(0), "snooze"),
        (tenure.Done(), "done"),
    ]
    for outcome, said in ends:
        [claim] = q.claim()
        effects.add(claim, said)
        assert q.settle(claim, outcome)
    told = effects.read()
    assert balance(q, [job], effects=told).doubled == len(ends) - 1
    # Had the snooze been none, nothing would tell why it ran once more.
    told[2] = told[2]._replace(said="done")
    with pytest.raises(AssertionError, match="ran at 3 and again at 4, without a reason"):
        balance(q, [job], effects=told, lost=lambda _: 9)


def test_a_run_whose_claim_was_lost_unseen_counts_against_what_may_be_lost(
    q: tenure.Queue, tmp_path: Path
) -> None:
    effects = Effects(tmp_path / "effects")
    job = q.enqueue("k").id
    [claim] = q.claim()
    effects.add(claim)
    assert q.settle(claim, tenure.Release())
    work(q, effects)
    assert (
        balance(q, [job], effects=effects.read(), lost=lambda worker: int(worker == claim.worker)).taken_away
        == 1
    )
    with pytest.raises(AssertionError, match=r"1 runs of .* ended without a reason"):
        balance(q, [job], effects=effects.read())


def test_an_effect_of_g4_that_is_missing_there_twice_or_without_its_job_is_noticed(
    q: tenure.Queue, tmp_path: Path
) -> None:
    job = q.enqueue("k").id
    work(q, Effects(tmp_path / "effects"))
    waits = q.enqueue("k").id
    for rows, words in (
        ([], "without the effect"),
        ([job, job], "happened twice"),
        ([job, waits], "not done"),
    ):
        with pytest.raises(AssertionError, match=words):
            balance(q, [job], g4={"k": rows}, allow=["done", "ready"])


def test_a_stale_settle_that_stands_and_a_lease_that_is_overdue_are_noticed(q: tenure.Queue) -> None:
    job = q.enqueue("k").id
    with pytest.raises(AssertionError, match="1 settles of lost claims were not refused"):
        balance(q, [job], stale=[False, True], allow=["ready"])
    q.claim(lease="1us")
    with pytest.raises(AssertionError, match="a lease is overdue at rest"):
        balance(q, [job], allow=["running"])
