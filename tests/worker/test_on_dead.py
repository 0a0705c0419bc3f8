"""on_dead: what the code wants to be told of deaths is stored by workers and janitors, and runs as any other job."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

import tenure
from tenure.janitor.alone import run_alone
from tests.worker.house import House, until


def hooked(house: House, kind: str) -> list[tenure.JobSeen]:
    """The jobs that a hook was given."""
    return house.queue.list(tenure.Filter(kinds=[kind]))


@pytest.mark.parametrize("way", ["sync", "async", "with a context"])
def test_a_failing_job_s_hook_runs_and_is_told_what_died(house: House, way: str) -> None:
    told: list[Any] = []
    if way == "sync":

        @house.app.on_dead
        def tell(dead: tenure.DeadJob) -> None:
            told.append(dead)

    elif way == "async":

        @house.app.on_dead
        async def tell_async(dead: tenure.DeadJob) -> None:
            told.append(dead)

    else:

        @house.app.on_dead()
        async def tell_with(ctx: tenure.Context, dead: tenure.DeadJob) -> None:
            assert ctx.job.parent == dead.id
            told.append(dead)

    @house.app.job(max_attempts=2, retry=tenure.Fixed(0), queue="orders")
    def charge(order: int) -> None:
        raise ValueError(f"order {order} cannot be charged")

    job = charge.options(tags=["vip"]).enqueue(7)
    house.start()
    seen = house.ended(job)
    until(lambda: told)
    assert seen.state == "dead"
    assert told == [
        tenure.DeadJob(
            id=job.id, kind="charge", queue="orders", payload={"order": 7}, attempt=2, max_attempts=2, crashes=0,
            reason="failed", error=seen.error, created_at=seen.created_at, dead_at=seen.finished_at or seen.created_at,
            tags=("vip",),
        )
    ]  # fmt: skip


def test_a_hook_of_one_kind_is_told_of_no_other(house: House) -> None:
    told: list[str] = []

    @house.app.job
    def page_someone(dead: tenure.DeadJob) -> None:
        told.append(dead.id)

    @house.app.job(max_attempts=1, on_dead=page_someone)
    def charge() -> None:
        raise ValueError("no")

    @house.app.job(max_attempts=1)
    def sweep() -> None:
        raise ValueError("no")

    jobs = [sweep.enqueue(), charge.enqueue()]
    house.start()
    assert {house.ended(j).state for j in jobs} == {"dead"}
    until(lambda: told)
    assert told == [jobs[1].id]
    assert [j.parent for j in hooked(house, "page_someone")] == [jobs[1].id]


def test_a_hook_that_fails_is_tried_again_and_its_own_death_is_told_to_nobody(house: House) -> None:
    @house.app.on_dead(max_attempts=2, retry=tenure.Fixed(0))
    def tell(dead: tenure.DeadJob) -> None:
        raise RuntimeError(f"nobody listens to {dead.id}")

    @house.app.job(max_attempts=1)
    def charge() -> None:
        raise ValueError("no")

    job = charge.enqueue()
    house.start()
    house.ended(job)
    [hook] = hooked(house, "tell")
    assert (house.ended(hook).state, house.ended(hook).attempt) == ("dead", 2)
    assert [j.id for j in hooked(house, "tell")] == [hook.id]


def test_a_hook_s_jobs_are_made_on_its_own_terms_by_whoever_notices_the_death(house: House) -> None:
    @house.app.on_dead(queue="alarms", priority=9, max_attempts=3)
    def tell(dead: tenure.DeadJob) -> None:
        """Be told."""

    assert run_alone(house.app, once=True)["hook"] == 1
    with tenure.open(house.url) as bare:
        bare.enqueue("anything")
        [claim] = bare.claim()
        assert bare.settle(claim, tenure.Bury("hopeless"))
    [job] = hooked(house, "tell")
    assert (job.queue, job.priority, job.max_attempts, job.parent) == ("alarms", 9, 3, claim.id)


def test_a_janitor_stores_what_the_code_names_and_forgets_nothing(house: House) -> None:
    house.queue.hook("k", "of another version")

    @house.app.on_dead
    def tell(dead: tenure.DeadJob) -> None:
        """Be told."""

    @house.app.job(on_dead=tell)
    def charge() -> None:
        """Charge."""

    assert run_alone(house.app, once=True)["hook"] == 2
    assert run_alone(house.app, once=True)["hook"] == 0
    assert [(h.kind, h.hook) for h in house.queue.hooks()] == [
        ("*", "tell"),
        ("charge", "tell"),
        ("k", "of another version"),
    ]


def _nothing() -> None:
    """Take nothing."""


def _other_name(job: tenure.DeadJob) -> None:
    """Take it by another name."""


def _one_too_many(dead: tenure.DeadJob, to: str) -> None:
    """Take more than that."""


BAD: list[Any] = [_nothing, _other_name, _one_too_many]
bad = pytest.mark.parametrize("function", BAD, ids=["nothing", "another name", "one too many"])


@bad
def test_a_hook_that_cannot_be_told_is_refused_where_it_is_written(function: Any) -> None:
    app = tenure.App("none")
    with pytest.raises(tenure.FieldError, match=r"write _\w+\(dead: tenure.DeadJob\)") as caught:
        app.on_dead(function)
    assert caught.value.field == "on_dead"
    assert app.kinds == {}


@bad
def test_a_kind_that_cannot_be_told_is_refused_as_a_hook(function: Any) -> None:
    app = tenure.App("none")
    with pytest.raises(tenure.FieldError) as caught:
        app.job(on_dead=app.job(function))
    assert caught.value.field == "on_dead"


def test_a_function_that_is_no_kind_is_refused_as_a_hook() -> None:
    with pytest.raises(tenure.FieldTypeError, match="must be a kind"):
        tenure.App("none").job(on_dead=_nothing)  # type: ignore[call-overload]


def test_another_app_s_kind_is_refused_as_a_hook() -> None:
    def tell(dead: tenure.DeadJob) -> None:
        """Be told."""

    with pytest.raises(tenure.UnknownKind, match="tell"):
        tenure.App("none").job(on_dead=tenure.App("none").job(tell))


def test_a_hook_is_called_as_the_function_it_is() -> None:
    app = tenure.App("none")

    @app.on_dead
    def tell(dead: tenure.DeadJob) -> str:
        return dead.id

    moment = datetime(2030, 1, 1, tzinfo=UTC)
    dead = tenure.DeadJob(
        id=tenure.JobId("a"), kind="k", queue="default", payload=None, attempt=1, max_attempts=1, crashes=0, reason="failed",
        error=None, created_at=moment, dead_at=moment,
    )  # fmt: skip
    assert tell(dead) == "a"
    assert tell.call(dead).payload["dead"]["dead_at"] == "2030-01-01T00:00:00Z"
