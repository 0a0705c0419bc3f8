"""How a job ended in its handler's own transaction is told, counted and measured as what it was, not as what was returned."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from prometheus_client import CollectorRegistry

import tenure
from tenure.events import Abandoned, ClaimGone, Ended, Settled
from tenure.metrics.counting import Counting
from tenure.outcome import name_of
from tests.worker.apps import SAID
from tests.worker.house import Heard, House

_FAR = timedelta(hours=1)
_NEVER = timedelta(days=1)


def _figures(house: House) -> dict[str, tuple[int, int, int, int]]:
    now = datetime.now(UTC)
    found = house.queue.rollups(now - _FAR, now + _FAR, step="1d")
    return {r.kind: (r.done, r.failed, r.dead, r.cancelled) for r in found}


def _settles(house: House, ctx: tenure.Context, how: str, *, commit: bool = True) -> None:
    with house.connection() as db:
        ctx.claim.settle_in(db, SAID[how])
        if commit:
            db.commit()


def test_events_and_figures_tell_what_was_settled(own_house: House) -> None:
    house, registry = own_house, CollectorRegistry()

    @house.app.job(retry=tenure.Fixed(_NEVER))
    def settles(ctx: tenure.Context, how: str) -> str:
        _settles(house, ctx, how)
        return "is not what is kept"

    @house.app.job(retry=tenure.Fixed(_NEVER))
    async def forgets(ctx: tenure.Context) -> None:
        _settles(house, ctx, "done", commit=False)

    @house.app.job(retry=tenure.Fixed(_NEVER))
    def raises(ctx: tenure.Context) -> None:
        _settles(house, ctx, "bury")
        raise ValueError("after the commit")

    @house.app.job(retry=tenure.Fixed(_NEVER))
    def loses(ctx: tenure.Context) -> None:
        assert house.queue.settle(ctx.claim, tenure.Done("theirs"))
        _settles(house, ctx, "done")

    Counting(registry).listen(house.app)
    heard = Heard(house.app, Ended, Abandoned, Settled)
    loses.enqueue()
    said = {settles.enqueue(how).id: how for how in SAID}
    forgets.enqueue()
    raises.enqueue()
    house.start(max_jobs=len(SAID) + 2).gone()
    told = {e.claim.id: e.outcome for e in heard.of(Ended) if e.claim.kind == "settles"}
    assert told == {job: SAID[how] for job, how in said.items()}
    others = {e.claim.kind: e.outcome for e in heard.of(Ended) if e.claim.kind != "settles"}
    assert (others["forgets"].kind, others["raises"]) == ("RolledBack", SAID["bury"])
    assert [e.claim.kind for e in heard.of(Abandoned)] == ["loses"]
    assert sum(e.lost for e in heard.of(Settled)) == 0
    assert _figures(house) == {"settles": (1, 2, 1, 1), "forgets": (0, 1, 0, 0), "raises": (0, 1, 1, 0)}
    groups = house.queue.error_groups(datetime.now(UTC) - _FAR)
    assert sorted(g.error_kind for g in groups) == ["Bury", "Bury", "Closed", "RolledBack"]
    assert {
        (s.labels["kind"], s.labels["outcome"]): s.value
        for metric in registry.collect()
        for s in metric.samples
        if s.name == "tenure_jobs_ended_total"
    } == {
        ("settles", "done"): 1,
        ("settles", "retry"): 1,
        ("settles", "dead"): 1,
        ("settles", "cancelled"): 1,
        ("settles", "snooze"): 1,
        ("forgets", "retry"): 1,
        ("raises", "dead"): 1,
        ("loses", "lost"): 1,
    }


def test_short_jobs_that_nobody_listens_to_are_counted_so_too(own_house: House) -> None:
    house = own_house

    @house.app.job(retry=tenure.Fixed(_NEVER))
    async def settles(ctx: tenure.Context, how: str) -> None:
        _settles(house, ctx, how)

    @house.app.job(retry=tenure.Fixed(_NEVER))
    async def forgets(ctx: tenure.Context) -> None:
        _settles(house, ctx, "bury", commit=False)

    @house.app.job(retry=tenure.Fixed(_NEVER))
    async def raises(ctx: tenure.Context) -> None:
        _settles(house, ctx, "done")
        raise ValueError("after the commit")

    for how in SAID:
        settles.enqueue(how)
    forgets.enqueue()
    raises.enqueue()
    house.start(max_jobs=len(SAID) + 2).gone()
    assert _figures(house) == {"settles": (1, 2, 1, 1), "forgets": (0, 1, 0, 0), "raises": (1, 0, 0, 0)}


def test_a_handler_may_go_on_after_it_has_settled(own_house: House) -> None:
    house = own_house

    def lease() -> datetime | None:
        found = house.queue.get(beside.id)
        return None if found is None else found.lease_until

    @house.app.job
    async def settles(ctx: tenure.Context) -> None:
        _settles(house, ctx, "done")
        for _ in range(2):
            before = lease()
            while lease() == before:  # until what runs here is renewed again
                ctx.check()
                await asyncio.sleep(0.01)
        ended.set()

    @house.app.job
    async def waits() -> None:
        await ended.wait()

    ended = asyncio.Event()
    heard = Heard(house.app, ClaimGone, Ended)
    beside, job = waits.enqueue(), settles.enqueue()
    house.start(max_jobs=2, lease="2s").gone()
    assert ended.is_set()
    assert heard.of(ClaimGone) == []
    assert {e.claim.id: name_of(e.outcome) for e in heard.events} == {beside.id: "done", job.id: "done"}


def test_a_handler_that_swallows_the_loss_of_its_claim_has_settled_nothing(own_house: House) -> None:
    house = own_house

    @house.app.job
    def swallows(ctx: tenure.Context) -> None:
        assert house.queue.settle(ctx.claim, tenure.Bury("theirs"))
        with pytest.raises(tenure.ClaimLost):
            _settles(house, ctx, "done")

    heard = Heard(house.app, Settled)
    job = swallows.enqueue()
    house.start(max_jobs=1).gone()
    assert (house.ended(job).reason, [(e.stood, e.lost) for e in heard.events]) == ("theirs", [(0, 1)])
    assert _figures(house) == {}


@pytest.mark.parametrize("parent_house", ["shared", "postgres"], indirect=True)
def test_what_was_settled_in_a_child_process_is_told_as_what_it_was(parent_house: House) -> None:
    from tests.worker import apps

    house, heard = parent_house, Heard(parent_house.app, Ended)
    said = {apps.settles.enqueue(how).id: how for how in SAID}
    lost = apps.settles.enqueue("done", commit=False)
    house.start(max_jobs=len(SAID) + 1, children=1).gone()
    told = {e.claim.id: e.outcome for e in heard.events}
    assert told.pop(lost.id).kind == "RolledBack"
    assert {job: name_of(outcome) for job, outcome in told.items()} == said
    assert told[next(job for job, how in said.items() if how == "bury")] == SAID["bury"]
    assert _figures(house) == {"settles": (1, 3, 1, 1)}


def test_what_steps_aside_and_waits_for_its_group_before_its_handler_returns_has_ended_as_was_said(
    own_house: House,
) -> None:
    house = own_house

    @house.app.job(retry=tenure.Fixed(_NEVER))
    def steps_aside(ctx: tenure.Context) -> None:
        with house.connection() as db:
            ctx.claim.settle_in(db, tenure.Snooze(timedelta(microseconds=1)))
            db.commit()
        house.queue.promote()
        now = house.queue.get(ctx.id)
        assert now is not None
        assert now.state == "waiting"

    heard = Heard(house.app, Ended, Abandoned, ClaimGone)
    steps_aside.options(group="g", group_limit=1, order="start").enqueue()
    house.queue.enqueue("of another worker", group="g", group_limit=1, order="start")
    house.start(max_jobs=1).gone()
    assert [type(told) for told in heard.events] == [Ended]
    assert [e.outcome for e in heard.of(Ended)] == [tenure.Snooze(timedelta(microseconds=1))]
