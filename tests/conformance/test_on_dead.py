"""Hooks: a job of its own for every death, exactly one, made in the transaction of the death."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

import tenure
from tests.support.claiming import at_once, claim_all, ids, settle_all
from tests.support.claims import seen, start
from tests.support.clock import MovedClock
from tests.support.connections import Kind, every_kind
from tests.support.places import Place

LONGEST = 262_144


def fail_at_max(q: tenure.Queue, _clock: MovedClock) -> str:
    claim = start(q, max_attempts=1)
    assert q.settle(claim, tenure.Fail("no route to host"))
    return claim.id


def fail_past_expiry(q: tenure.Queue, clock: MovedClock) -> str:
    claim = start(q, expires_in="10s")
    clock.advance("11s")
    assert q.settle(claim, tenure.Fail("no route to host"))
    return claim.id


def bury(q: tenure.Queue, _clock: MovedClock) -> str:
    claim = start(q)
    assert q.settle(claim, tenure.Bury("hopeless"))
    return claim.id


def crash_at_max(q: tenure.Queue, _clock: MovedClock) -> str:
    job_id = q.enqueue("k").id
    for _ in range(3):
        [claim] = q.claim()
        assert q.settle(claim, tenure.Crashed("killed by signal 11"))
    return job_id


def vanish_at_max(q: tenure.Queue, _clock: MovedClock) -> str:
    job_id = q.enqueue("k").id
    for _ in range(3):
        [claim] = q.claim(worker="w")
        assert q.vanished("w", started=[(claim.id, claim.epoch)]) == 1
    return job_id


def lose_its_worker_at_max(q: tenure.Queue, clock: MovedClock) -> str:
    job_id = q.enqueue("k").id
    for _ in range(3):
        [_claim] = q.claim()
        clock.advance("1h")
        assert q.reclaim() == 1
    return job_id


def lose_its_worker_to_a_claim(q: tenure.Queue, clock: MovedClock) -> str:
    job_id = q.enqueue("k").id
    for _ in range(3):
        [_claim] = q.claim(kinds=["k"])
        clock.advance("1h")
    assert q.claim(kinds=["k"]) == []
    return job_id


def expire_once_tried(q: tenure.Queue, clock: MovedClock) -> str:
    claim = start(q, expires_in="1h")
    assert q.settle(claim, tenure.Fail("no route to host", retry_in="10m"))
    clock.advance("2h")
    q.expire()
    return claim.id


WAYS_TO_DIE = [
    fail_at_max, fail_past_expiry, bury, crash_at_max, vanish_at_max, lose_its_worker_at_max, lose_its_worker_to_a_claim,
    expire_once_tried,
]  # fmt: skip
every_death = pytest.mark.parametrize("die", WAYS_TO_DIE, ids=[f.__name__ for f in WAYS_TO_DIE])


def made(q: tenure.Queue, kind: str = "tell") -> list[tenure.JobSeen]:
    """The jobs of a hook, newest first."""
    return q.list(tenure.Filter(kinds=[kind]), limit=1_000)


def told(q: tenure.Queue, kind: str = "tell") -> list[str]:
    """Whose deaths a hook was told of."""
    return [job.payload["dead"]["id"] for job in made(q, kind)]


def dead_of(job: tenure.JobSeen) -> tenure.DeadJob:
    """What a hook is told."""
    return msgspec.json.decode(job.payload_text, type=dict[str, tenure.DeadJob])["dead"]


@every_death
def test_every_death_makes_one_job_of_its_hook(
    cq: tenure.Queue, clock: MovedClock, die: Callable[[tenure.Queue, MovedClock], str]
) -> None:
    cq.hook("k", "tell")
    dead = seen(cq, die(cq, clock))
    [job] = made(cq)
    assert dead.state == "dead"
    assert (job.kind, job.queue, job.state, job.parent) == ("tell", "default", "ready", dead.id)
    assert dead_of(job) == tenure.DeadJob(
        id=dead.id, kind="k", queue="default", payload=None, attempt=dead.attempt, max_attempts=dead.max_attempts,
        crashes=dead.crashes, reason=dead.reason, error=dead.error, created_at=dead.created_at, dead_at=clock.now,
    )  # fmt: skip


@every_death
def test_a_hook_of_every_kind_is_told_once_too(
    cq: tenure.Queue, clock: MovedClock, die: Callable[[tenure.Queue, MovedClock], str]
) -> None:
    cq.hook("*", "tell")
    job_id = die(cq, clock)
    assert told(cq) == [job_id]


@every_death
def test_without_a_hook_a_death_makes_nothing(
    cq: tenure.Queue, clock: MovedClock, die: Callable[[tenure.Queue, MovedClock], str]
) -> None:
    cq.hook("another", "tell")
    die(cq, clock)
    assert made(cq) == []


def test_a_hook_is_told_all_about_the_job(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.hook("k", "tell", queue="alarms", priority=7, max_attempts=9)
    claim = start(
        cq, payload={"to": ["ä", 2**70, 1.5, None]}, queue="mail", tags=["a", "b"], meta={"by": "ann"}, tenant="acme"
    )  # fmt: skip
    born = clock.now
    clock.advance("5s")
    assert cq.settle(claim, tenure.Bury("hopeless", "it cannot be"))
    [job] = made(cq)
    assert (job.queue, job.priority, job.max_attempts) == ("alarms", 7, 9)
    assert dead_of(job) == tenure.DeadJob(
        id=claim.id, kind="k", queue="mail", payload={"to": ["ä", 2**70, 1.5, None]}, attempt=1, max_attempts=5,
        crashes=0, reason="hopeless", error="it cannot be", created_at=born, dead_at=clock.now, tags=("a", "b"),
        meta={"by": "ann"}, tenant="acme",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("payload", "expected"),
    [("x" * (LONGEST - 2), "x" * (LONGEST - 2)), ("x" * (LONGEST - 1), None)],
    ids=["just short enough", "too long"],
)
def test_a_long_payload_stays_with_the_dead_job(q: tenure.Queue, payload: str, expected: str | None) -> None:
    q.hook("k", "tell")
    q.settle(start(q, payload=payload), tenure.Bury("hopeless"))
    assert dead_of(made(q)[0]).payload == expected


def test_a_payload_as_deep_as_can_be_stays_with_the_dead_job(q: tenure.Queue) -> None:
    q.hook("k", "tell")
    deep: list[Any] = []
    for _ in range(99):
        deep = [deep]
    claim = start(q, payload=deep)
    assert q.settle(claim, tenure.Bury("hopeless"))
    [job] = made(q)
    assert (job.parent, dead_of(job).payload) == (claim.id, None)


def test_a_payload_that_is_no_json_keeps_nobody_from_dying(place: Place) -> None:
    q = place.open()
    q.hook("k", "tell")
    claim = start(q)
    place.sql("UPDATE tenure.jobs SET payload = '{no json'")
    assert q.settle(claim, tenure.Bury("hopeless"))
    [job] = made(q)
    assert dead_of(job).payload is None


def test_a_hook_that_cannot_be_made_keeps_nobody_from_dying(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    q = place.open()
    q.hook("k", "tell")
    q.hook("k", "tell too")
    place.sql("UPDATE tenure.hooks SET queue = '' WHERE hook = 'tell'")
    claim = start(q)
    assert q.settle(claim, tenure.Bury("hopeless"))
    assert seen(q, claim.id).state == "dead"
    assert made(q) == []
    assert told(q, "tell too") == [claim.id]
    assert "hook 'tell' is not told" in caplog.text


@pytest.mark.parametrize(
    "outcome",
    [tenure.Done(), tenure.Snooze(0), tenure.Release(), tenure.Cancelled(), tenure.Fail("no"), tenure.Crashed()],
    ids=["done", "snooze", "release", "cancelled", "fail", "crashed"],
)  # fmt: skip
def test_what_does_not_die_makes_nothing(q: tenure.Queue, outcome: tenure.Outcome) -> None:
    q.hook("*", "tell")
    assert q.settle(start(q), outcome)
    assert made(q) == []


def test_a_job_cancelled_before_it_ran_makes_nothing(q: tenure.Queue) -> None:
    q.hook("*", "tell")
    q.cancel(q.enqueue("k").id)
    assert made(q) == []


def test_a_failure_of_a_job_asked_to_cancel_makes_nothing(q: tenure.Queue) -> None:
    q.hook("*", "tell")
    claim = start(q, max_attempts=1)
    q.cancel(claim.id)
    assert q.settle(claim, tenure.Fail("no"))
    assert made(q) == []


def test_a_job_that_expires_untried_makes_nothing(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.hook("*", "tell")
    cq.enqueue("k", expires_in="10m")
    clock.advance("11m")
    cq.expire()
    assert made(cq) == []


@pytest.mark.parametrize(
    "outcome", [tenure.Bury("hopeless"), tenure.Fail("no route"), tenure.Crashed()], ids=["bury", "fail", "crashed"]
)  # fmt: skip
def test_a_settle_repeated_makes_no_second_job(place: Place, outcome: tenure.Outcome) -> None:
    q = place.open(max_crashes=1)
    q.hook("*", "tell")
    claim = start(q, max_attempts=1)
    assert q.settle(claim, outcome)
    assert q.settle(claim, outcome)
    assert q.settle_many([(claim, outcome), (claim, outcome)]) == [True, True]
    assert told(q) == [claim.id]


def test_a_settle_whose_claim_was_lost_makes_nothing(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.hook("*", "tell")
    claim = start(cq, worker="w")
    clock.advance("1m")
    cq.beat("w")
    assert cq.reclaim() == 1
    assert not cq.settle(claim, tenure.Bury("hopeless"))
    assert made(cq) == []


def test_of_many_who_settle_at_once_one_makes_the_job(place: Place) -> None:
    q = place.open()
    q.hook("*", "tell")
    claim = start(q)
    others = [place.open() for _ in range(4)]
    at_once([lambda o=o: o.settle(claim, tenure.Bury("hopeless")) for o in others])  # type: ignore[misc]
    assert told(q) == [claim.id]


def test_a_hook_s_own_death_makes_nothing(q: tenure.Queue) -> None:
    q.hook("*", "tell")
    q.hook("*", "tell too")
    q.hook("tell", "tell too")
    assert q.settle(start(q), tenure.Bury("hopeless"))
    claims = q.claim(10)
    assert {c.kind for c in claims} == {"tell", "tell too"}
    assert q.settle_many([(c, tenure.Bury("hopeless")) for c in claims]) == [True, True]
    assert len(made(q)) == len(made(q, "tell too")) == 1


def test_a_job_replayed_that_dies_again_is_told_of_again(q: tenure.Queue) -> None:
    q.hook("k", "tell")
    claim = start(q)
    assert q.settle(claim, tenure.Bury("at first"))
    assert q.replay(claim.id) == tenure.Replayed.REPLAYED
    [again] = q.claim(kinds=["k"])
    assert q.settle(again, tenure.Bury("once more"))
    assert [dead_of(j).reason for j in made(q)] == ["once more", "at first"]


def test_a_hook_s_job_that_is_done_is_not_made_anew(q: tenure.Queue) -> None:
    q.hook("k", "tell")
    claim = start(q)
    assert q.settle(claim, tenure.Bury("hopeless"))
    [hooked] = q.claim(kinds=["tell"])
    assert q.settle(hooked, tenure.Done())
    assert q.settle(claim, tenure.Bury("hopeless"))
    assert [job.state for job in made(q)] == ["done"]


def die_of_lost_leases(q: tenure.Queue, clock: MovedClock, **options: Any) -> tenure.Claim:
    """A job that dies because its worker was away; the last of its claims."""
    q.enqueue("k", **options)
    for _ in range(3):
        [claim] = q.claim(kinds=["k"])
        clock.advance("1h")
        assert q.reclaim() == 1
    assert seen(q, claim.id).state == "dead"
    return claim


@pytest.mark.parametrize("way", ["renew", "settle"])
def test_of_a_death_that_was_none_nobody_is_told_any_more(
    cq: tenure.Queue, clock: MovedClock, way: str
) -> None:
    cq.hook("k", "tell")
    cq.hook("*", "count")
    claim = die_of_lost_leases(cq, clock)
    own = cq.enqueue("tell", {}, parent=claim.id).id
    cq.pause("default")
    assert [len(made(cq, "tell")), len(made(cq, "count"))] == [2, 1]
    if way == "renew":
        assert cq.renew([claim]).lost == {claim.id}
    else:
        assert not cq.settle(claim, tenure.Done())
    assert (seen(cq, claim.id).state, seen(cq, claim.id).crashes) == ("ready", 2)
    assert {(job.id == own, job.state.value) for job in made(cq, "tell")} == {
        (True, "ready"),
        (False, "cancelled"),
    }
    [counted] = made(cq, "count")
    assert (counted.state, counted.reason) == (
        "cancelled",
        "the job that it tells of is not dead: its worker came back",
    )


@pytest.mark.parametrize("tried", [False, True])
def test_who_was_told_of_a_death_that_was_none_goes_on_and_who_waits_for_another_try_does_not(
    cq: tenure.Queue, clock: MovedClock, tried: bool
) -> None:
    cq.hook("k", "tell")
    claim = die_of_lost_leases(cq, clock)
    [telling] = cq.claim(kinds=["tell"])
    if tried:
        assert cq.settle(telling, tenure.Fail("no route to host", retry_in="1h"))
    cq.renew([claim])
    assert seen(cq, claim.id).state == "ready"
    assert seen(cq, telling.id).state == ("cancelled" if tried else "running")
    assert cq.settle(telling, tenure.Done()) is not tried


def test_a_death_that_was_none_but_cannot_be_taken_back_stays_told(
    cq: tenure.Queue, clock: MovedClock
) -> None:
    cq.hook("k", "tell")
    claim = die_of_lost_leases(cq, clock, unique="slot")
    assert cq.enqueue("k", unique="slot").inserted
    cq.renew([claim])
    assert seen(cq, claim.id).state == "dead"
    [telling] = made(cq)
    assert telling.state == "ready"


def test_a_job_that_came_back_and_dies_after_all_is_told_of(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.hook("k", "tell")
    claim = die_of_lost_leases(cq, clock)
    cq.renew([claim])
    [again] = cq.claim(kinds=["k"])
    assert cq.settle(again, tenure.Bury("hopeless"))
    assert {job.state.value for job in made(cq)} == {"ready", "cancelled"}
    assert told(cq) == [claim.id] * 2


def test_many_deaths_at_once_make_a_job_each(q: tenure.Queue) -> None:
    q.hook("*", "tell")
    q.enqueue_many([tenure.NewJob(kind=f"k{n % 3}") for n in range(250)])
    claims = claim_all(q, 100)
    outcomes = [tenure.Done() if n % 5 == 0 else tenure.Bury("hopeless") for n in range(250)]
    assert all(q.settle_many(zip(claims, outcomes, strict=True)))
    assert sorted(told(q)) == sorted(c.id for n, c in enumerate(claims) if n % 5)


def test_each_hook_of_a_kind_is_told_and_the_same_one_once(q: tenure.Queue) -> None:
    q.hook("*", "tell", queue="all")
    q.hook("k", "tell", queue="mine")
    q.hook("k", "tell too")
    q.hook("*", "log")
    claim = start(q)
    assert q.settle(claim, tenure.Bury("hopeless"))
    assert [(j.kind, j.queue) for j in made(q)] == [("tell", "mine")]
    assert told(q, "tell too") == told(q, "log") == [claim.id]


def test_a_hook_frees_the_dead_job_s_slot_and_key_as_ever(q: tenure.Queue) -> None:
    q.hook("*", "tell")
    claim = start(q, group="g", unique="u")
    behind = q.enqueue("k", group="g")
    assert q.settle(claim, tenure.Bury("hopeless"))
    assert seen(q, behind.id).state == "ready"
    assert q.enqueue("k", unique="u").inserted
    [job] = made(q)
    assert (job.group, job.unique) == (None, None)


def test_who_takes_nothing_else_can_claim_the_hook_s_jobs_by_their_parent(q: tenure.Queue) -> None:
    q.hook("k", "tell", queue="alarms")
    claim = start(q)
    assert q.settle(claim, tenure.Bury("hopeless"))
    [hooked] = q.claim(queues=["alarms"])
    assert ids([hooked]) == [j.id for j in q.list(tenure.Filter(parent=claim.id))]
    settle_all(q, [hooked])


@every_kind
def test_a_death_in_one_s_own_transaction_is_told_when_it_commits_and_never_before(
    own_place: Place, kind: Kind
) -> None:
    q = own_place.open()
    q.hook("k", "tell")
    claim = start(q)
    with kind.open(own_place) as own:
        own.settle_in(claim, tenure.Bury("hopeless"))
        own.rollback()
    assert made(q) == []
    with kind.open(own_place) as own:
        own.settle_in(claim, tenure.Bury("hopeless"))
        assert made(q) == []
        own.commit()
    assert told(q) == [claim.id]


@pytest.mark.parametrize("level", ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"])
def test_a_death_is_told_from_a_transaction_of_any_isolation(own_place: Place, level: str) -> None:
    q = own_place.open()
    q.hook("k", "tell")
    claim = start(q)
    with own_place.transaction() as own:
        if own_place.store == "postgres":
            own.execute(f"SET TRANSACTION ISOLATION LEVEL {level}")
        own.settle_in(claim, tenure.Bury("hopeless"))
    assert told(q) == [claim.id]


def test_a_hook_stored_twice_is_one_and_says_whether_it_changed(q: tenure.Queue) -> None:
    assert q.hook("k", "tell")
    assert not q.hook("k", "tell")
    assert q.hook("k", "tell", queue="alarms")
    assert q.hook("*", "tell", priority=3, max_attempts=1)
    assert q.hooks() == [
        tenure.HookSeen(kind="*", hook="tell", queue="default", priority=3, max_attempts=1),
        tenure.HookSeen(kind="k", hook="tell", queue="alarms", priority=0, max_attempts=5),
    ]


def test_a_hook_forgotten_is_told_no_more(q: tenure.Queue) -> None:
    q.hook("k", "tell")
    assert q.unhook("k", "tell")
    assert not q.unhook("k", "tell")
    assert q.hooks() == []
    assert q.settle(start(q), tenure.Bury("hopeless"))
    assert made(q) == []


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"kind": ""}, "kind"),
        ({"kind": 7}, "kind"),
        ({"hook": " tell"}, "hook"),
        ({"hook": None}, "hook"),
        ({"hook": "*"}, "hook"),
        ({"hook": "k"}, "hook"),
        ({"queue": ""}, "queue"),
        ({"priority": 40_000}, "priority"),
        ({"max_attempts": 0}, "max_attempts"),
    ],
    ids=["no kind", "a number", "space", "no hook", "any", "itself", "no queue", "priority", "attempts"],
)
def test_a_hook_that_cannot_be_is_refused_and_nothing_is_stored(
    q: tenure.Queue, given: dict[str, Any], field: str
) -> None:
    with pytest.raises(tenure.FieldError) as caught:
        q.hook(**{"kind": "k", "hook": "tell", **given})
    assert caught.value.field == field
    assert q.hooks() == []
