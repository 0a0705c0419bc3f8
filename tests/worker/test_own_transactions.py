"""Handlers that settle in a transaction of their own: their writes and the job's end commit together, or not at all."""

from __future__ import annotations

import pytest

import tenure
from tests.worker.apps import fails_in_its_own, forgets_to_await
from tests.worker.house import House, Working, until

_WAITS = {3: None, 5: "5h"}
"""How many hours a failure waits, by what it says."""


def _table(house: House) -> None:
    with house.connection() as db:
        db.execute(f"CREATE TABLE IF NOT EXISTS {_name(house)} (n INTEGER)")
        db.commit()


def _rows(house: House) -> list[int]:
    with house.connection() as db:
        return [n for (n,) in db.execute(f"SELECT n FROM {_name(house)} ORDER BY n").fetchall()]


def _name(house: House) -> str:
    schema = house.url.partition("?schema=")[2]
    return f'"{schema}".effects' if house.store == "postgres" else "effects"


def _insert(house: House, db: object, n: int) -> None:
    db.execute(f"INSERT INTO {_name(house)} VALUES ({n})")  # type: ignore[attr-defined]


def test_the_handlers_writes_and_the_jobs_end_commit_together(own_house: House) -> None:
    house = own_house
    house.queue.counts()
    _table(house)

    @house.app.job
    def later(n: int) -> int:
        return n

    @house.app.job
    def works(ctx: tenure.Context, n: int) -> str:
        with house.connection() as db:
            _insert(house, db, n)
            house.app.using(db).enqueue(later.options(id=_id(n)).call(n))
            ctx.claim.settle_in(db, tenure.Done(f"done {n}"))
            db.commit()
        return "is not what is kept"

    job = works.enqueue(7)
    house.start()
    assert job.result("30s") == "done 7"
    assert _rows(house) == [7]
    until(lambda: (j := house.queue.get(_id(7))) is not None and j.state == "done")
    assert house.story(job) == []


def test_jobs_that_end_in_transactions_of_their_own_count_for_a_worker_that_leaves_after_so_many(
    own_house: House,
) -> None:
    house = own_house

    @house.app.job
    def works(ctx: tenure.Context) -> None:
        with house.connection() as db:
            ctx.claim.settle_in(db, tenure.Done())
            db.commit()

    house.app.enqueue_many([works.call() for _ in range(10)])
    house.start(max_jobs=3, concurrency=2).gone()
    assert {s: n for s, n in house.queue.counts()["default"].items() if n} == {"done": 3, "ready": 7}


def _id(n: int) -> str:
    return f"01890000-0000-7000-8000-00000000000{n}"


def test_a_transaction_that_was_rolled_back_is_a_failed_attempt(own_house: House) -> None:
    house = own_house
    house.queue.counts()
    _table(house)

    @house.app.job(retry=tenure.Fixed("3h"))
    def forgets(ctx: tenure.Context) -> None:
        with house.connection() as db:
            _insert(house, db, 1)
            ctx.claim.settle_in(db, tenure.Done())
            db.rollback()

    job = forgets.enqueue()
    house.start()
    waits = house.seen(job, lambda j: j.state == "scheduled")
    [told] = house.queue.history(job.id)
    assert (told.attempt, told.error_kind) == (1, "RolledBack")
    assert (waits.run_at - told.finished_at).total_seconds() == 3 * 3_600
    assert _rows(house) == []


def test_a_handler_that_goes_on_without_a_connection_that_could_settle_it_ends_as_it_returns(
    own_house: House,
) -> None:
    house = own_house

    @house.app.job
    def goes_on(ctx: tenure.Context) -> str:
        with house.connection() as db:
            db.close()
            with pytest.raises(tenure.UsageError, match="closed"):
                ctx.claim.settle_in(db, tenure.Done("mine"))
        return "returned"

    job = goes_on.enqueue()
    house.start()
    assert job.result("30s") == "returned"
    assert house.story(job) == []


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
@pytest.mark.parametrize("parent_house", ["shared", "postgres"], indirect=True)
@pytest.mark.parametrize("children", [False, True], ids=["here", "in-a-child"])
def test_a_settle_that_nobody_awaited_is_told_as_that(parent_house: House, children: bool) -> None:
    house = parent_house
    if not children:
        house.app = tenure.App(house.url)
        house.app.job(retry=tenure.Fixed("1d"))(forgets_to_await.function)
    job = house.app.enqueue("forgets_to_await", {})
    house.start(children=1)
    house.seen(job, lambda j: j.state == "scheduled")
    [(attempt, error_kind, message)] = house.story(job)
    assert (attempt, error_kind, message[:27]) == (1, "RolledBack", "settle_in was not awaited, ")


def test_a_handler_that_raises_after_settling_rolls_back_and_has_failed(own_house: House) -> None:
    house = own_house
    house.queue.counts()
    _table(house)

    @house.app.job(retry=tenure.Fixed("3h"))
    def breaks(ctx: tenure.Context) -> None:
        with house.connection() as db:
            _insert(house, db, 1)
            ctx.claim.settle_in(db, tenure.Done())
            raise ValueError("before the commit")

    job = breaks.enqueue()
    house.start()
    assert house.seen(job, lambda j: j.state == "scheduled").error == "before the commit"
    assert _rows(house) == []


def test_any_outcome_may_be_settled_so(own_house: House) -> None:
    house = own_house

    @house.app.job
    def buries(ctx: tenure.Context) -> None:
        with house.connection() as db:
            ctx.claim.settle_in(db, tenure.Bury("no use"))
            db.commit()

    job = buries.enqueue()
    house.start()
    end = house.ended(job)
    assert (end.state, end.reason) == ("dead", "no use")


@pytest.mark.parametrize("parent_house", ["shared", "postgres"], indirect=True)
@pytest.mark.parametrize("children", [False, True], ids=["here", "in-a-child"])
def test_a_failure_settled_so_waits_as_it_says_or_else_as_the_kinds_policy_says(
    parent_house: House, children: bool
) -> None:
    house = parent_house
    if not children:
        house.app = tenure.App(house.url)
        house.app.job(retry=tenure.Fixed("3h"))(fails_in_its_own.function)
    jobs = {
        hours: house.app.enqueue("fails_in_its_own", {"retry_in": said}) for hours, said in _WAITS.items()
    }
    house.start(children=1)
    for hours, job in jobs.items():
        waits = house.seen(job, lambda j: j.state in ("scheduled", "dead"))
        [told] = house.queue.history(job.id)
        assert round((waits.run_at - told.finished_at).total_seconds() / 3_600, 2) == hours


def test_a_claim_that_was_lost_rolls_back_what_its_handler_wrote(own_house: House) -> None:
    house = own_house
    house.queue.counts()
    _table(house)
    working: list[Working] = []

    @house.app.job
    def loses(ctx: tenure.Context) -> None:
        assert house.queue.settle(ctx.claim, tenure.Done("theirs"))
        with house.connection() as db:
            _insert(house, db, 1)
            ctx.claim.settle_in(db, tenure.Done("mine"))
            db.commit()

    job = loses.enqueue()
    working.append(house.start())
    assert job.result("30s") == "theirs"
    working[0].stop()
    assert _rows(house) == []
    assert house.story(job) == []
