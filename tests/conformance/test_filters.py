"""Filters: every word means the same on every store, for whoever lists, counts, replays, cancels or purges."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import tenure
from tenure import query
from tenure.fingerprint import fingerprint
from tests.support.clock import MovedClock
from tests.support.places import Place
from tests.support.states import job_in, look, take

NOBODY = "01900000-0000-7000-8000-000000000001"

# What is asked, and the jobs of `scene` that are meant.
WORDS = [
    ("", "abcdef"),
    ("state:dead", "a"),
    ("state:pending", "bd"),
    ("state:dead,cancelled", "ae"),
    ("-state:done,dead,cancelled", "bdf"),
    ("kind:send_email", "a"),
    ("kind:send_*", "ab"),
    ("kind:*_email", "ae"),
    ("kind:*end_*", "abe"),
    ("kind:send_email,resize", "ac"),
    ("kind:resize*", "cd"),
    ("kind:resize_*", "d"),
    (r"kind:resize_\*", "d"),
    ("kind:resize_%", ""),
    ("kind:*", "abcdef"),
    ("-kind:send_*", "cdef"),
    ("-kind:send_* -kind:resize", "def"),
    ("kind:send_* -kind:*sms", "a"),
    ("queue:mail", "ab"),
    ("queue:img*", "cd"),
    ("queue:img[1]?", "d"),
    ("queue:im?", ""),
    ("-queue:mail,img", "def"),
    ("error:Timeout*", "a"),
    ("error:timed", "a"),
    ('error:"read timed*"', "a"),
    ('error:"TimeoutError: read timed out"', "a"),
    ("error:timed*", ""),
    (r'error:"100% down \*"', "b"),
    ("error:100_", ""),
    ("error:Timeout*,*down*", "ab"),
    ("error:*", "ab"),
    ("-error:Timeout*", "bcdef"),
    ("-error:*", "cdef"),
    ("age:>1h", "ac"),
    ("age:<1h", "bdef"),
    ("age:>1h age:<3h", "a"),
    ("attempt:0", "de"),
    ("attempt:>=1", "abcf"),
    ("attempt:1", "abcf"),
    ("attempt:>1", ""),
    ("-attempt:<1", "abcf"),
    ("priority:>0", "a"),
    ("priority:<0", "d"),
    ("priority:>=0", "abcef"),
    ("priority:-3", "d"),
    ("tag:eu", "ad"),
    ("tag:eu tag:vip", "a"),
    ("tag:eu -tag:vip", "d"),
    ("-tag:eu", "bcef"),
    ("group:g", "f"),
    ("tenant:acme flow:f1", "f"),
    (f"fingerprint:{fingerprint('send_email', 'TimeoutError', 'read timed out', None)}", "a"),
    ("fingerprint:0000000000000000", ""),
    (f"parent:{NOBODY}", "f"),
    (f"id:{NOBODY}", ""),
    ('payload.to:"a@b.c"', "a"),
    ("payload.to:*@b.c", "ab"),
    ("payload.to:a@b.c,b@b.c", "ab"),
    ("payload.to:*", "ab"),
    ("-payload.to:*", "cdef"),
    ("payload.n:3", "ab"),
    ("payload.n:3 payload.to:b*", "b"),
    ("payload.items.0.sku:A1", "a"),
    ("payload.items.1.sku:A1", ""),
    ("payload.name:Zoë", "c"),
    ("state:dead kind:send_* queue:mail error:Timeout* age:>1h attempt:>=1 tag:vip payload.to:a@b.c", "a"),
]


def scene(q: tenure.Queue, clock: MovedClock) -> dict[str, tenure.JobId]:
    """Six jobs that differ in everything a filter can name."""
    made = {}
    made["c"] = q.enqueue("resize", {"name": "Zoë"}, queue="img").id
    q.settle(take(q, made["c"]), tenure.Done())
    clock.advance("2h")
    payload = {"to": "a@b.c", "n": 3, "items": [{"sku": "A1"}, {"sku": "B2"}]}
    made["a"] = q.enqueue(
        "send_email", payload, queue="mail", priority=5, tags=["vip", "eu"], max_attempts=1
    ).id
    q.settle(take(q, made["a"]), tenure.Fail.of(TimeoutError("read timed out")))
    clock.advance("90m")
    made["b"] = q.enqueue("send_sms", {"to": "b@b.c", "n": 3.0}, queue="mail").id
    q.settle(take(q, made["b"]), tenure.Fail("it is 100% down *", retry_in="1h"))
    made["d"] = q.enqueue("resize_*", queue="img[1]?", priority=-3, tags=["eu"]).id
    made["e"] = q.enqueue("Send_email", queue="MAIL").id
    q.cancel(made["e"])
    made["f"] = q.enqueue("sync", group="g", tenant="acme", flow="f1", parent=NOBODY).id
    take(q, made["f"])
    return made


def test_every_word_means_the_same_everywhere(cq: tenure.Queue, clock: MovedClock) -> None:
    made = scene(cq, clock)
    names = {job_id: name for name, job_id in made.items()}
    found = {text: {names[job.id] for job in cq.list(query.parse(text))} for text, _ in WORDS}
    assert found == {text: set(meant) for text, meant in WORDS}
    counted = {text: cq.count(query.parse(text)).total for text, _ in WORDS}
    assert counted == {text: len(meant) for text, meant in WORDS}


def test_ids_are_found_wherever_they_are(cq: tenure.Queue, clock: MovedClock) -> None:
    made = scene(cq, clock)
    for names in ("a", "f", "cf", "bde", "abcdef"):
        which = tenure.Filter(ids=[*(made[name] for name in names), NOBODY])
        assert {job.id for job in cq.list(which)} == {made[name] for name in names}
        assert cq.count(which).total == len(names)
    [only] = cq.list(tenure.Filter(ids=made.values(), states=["dead"]))
    assert only.id == made["a"]


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stretches of three jobs, so that a few jobs are a long way."""
    monkeypatch.setattr("tenure.store.search.STRETCH", 3)
    monkeypatch.setattr("tenure.store.people.STRETCH", 3)


def mixed(q: tenure.Queue, count: int = 20) -> list[tenure.JobId]:
    """Jobs of two kinds, some finished, some not; every fifth is the rare one."""
    jobs = [
        tenure.NewJob(kind="rare" if n % 5 == 4 else "common", payload={"n": n % 2}) for n in range(count)
    ]
    made = [a.id for a in q.enqueue_many(jobs)]
    q.settle_many((claim, tenure.Bury()) for claim in q.claim(count) if made.index(claim.id) % 3 == 0)
    return made


def test_pages_of_a_rare_filter_cover_every_match_once_stretch_by_stretch(
    q: tenure.Queue, short: None
) -> None:
    made = mixed(q)
    for text, meant in [
        ("kind:rare", made[4::5]),
        ("payload.n:1", made[1::2]),
        ("kind:rare payload.n:0", made[4::10]),
    ]:
        for limit in (1, 2, 100):
            seen: list[str] = []
            before = None
            while True:
                page = q.list(query.parse(text), limit=limit, before=before)
                assert len(page) <= limit
                seen += [job.id for job in page]
                before = page.before
                if before is None:
                    break
            assert seen == meant[::-1]


def test_a_page_that_is_told_how_far_to_look_stops_there_and_says_where(q: tenure.Queue, short: None) -> None:
    made = mixed(q)
    seen, before, pages = [], None, 0
    while True:
        page = q.list(tenure.Filter(kinds=["rare"]), before=before, look=3)
        assert len(page) <= 2
        seen += [job.id for job in page]
        before, pages = page.before, pages + 1
        if before is None:
            break
    assert seen == made[4::5][::-1]
    assert pages > 3


def test_the_last_page_says_that_it_is_the_last(q: tenure.Queue) -> None:
    made = mixed(q, 5)
    assert q.list().before is None
    assert q.list(limit=2).before == made[3]
    assert q.list(tenure.Filter(kinds=["rare"])).before is None
    assert q.list(tenure.Filter(kinds=["nobody"])).before is None


def test_a_count_is_told_by_state_and_no_further_than_its_cap(q: tenure.Queue, short: None) -> None:
    mixed(q)
    everything = q.count()
    assert (everything.total, everything.more) == (20, False)
    assert everything.states == {"dead": 7, "running": 13}
    assert q.count(tenure.Filter(kinds=["rare"])) == tenure.Counted({"running": 3, "dead": 1}, False)
    capped = q.count(tenure.Filter(states=["running"]), cap=5)
    assert (capped.total, capped.more) == (5, True)
    near = q.count(tenure.Filter(kinds=["rare"]), look=6)
    assert near.more
    assert near.total <= 2
    assert q.count(tenure.Filter(kinds=["nobody"])) == tenure.Counted({}, False)
    ids = sorted(job.id for job in q.list(limit=100))
    assert [q.count(after=ids[at]).total for at in (0, 12, 19)] == [19, 7, 0]
    with pytest.raises(tenure.FieldError, match="after"):
        q.count(after="nothing")


def test_replay_many_looks_at_one_stretch_a_call_and_goes_on(q: tenure.Queue, short: None) -> None:
    made = mixed(q)
    which, after, calls, replayed = query.parse("kind:common payload.n:0"), None, 0, 0
    while True:
        bulk = q.replay_many(which, after=after)
        after, calls, replayed = bulk.after, calls + 1, replayed + bulk.changed
        if after is None:
            break
    mine = [i for n, i in enumerate(made) if n % 3 == 0 and n % 5 != 4 and n % 2 == 0]
    assert replayed == len(mine)
    assert calls > 3
    assert {job.id for job in q.list(tenure.Filter(states=["ready"]))} == set(mine)


def test_purge_deletes_what_matches_however_far_apart_it_is(q: tenure.Queue, short: None) -> None:
    made = mixed(q)
    assert q.purge(query.parse("payload.n:1 -kind:rare")) == 2
    assert {job.id for job in q.list()} == set(made) - {made[3], made[15]}


def test_cancel_many_cancels_what_waits_asks_what_runs_and_leaves_what_has_finished(q: tenure.Queue) -> None:
    jobs = {state: job_in(q, state, state, queue="mine") for state in tenure.State}
    assert q.cancel_many(tenure.Filter(queues=["mine"]), "enough") == tenure.Cancels(3, 1, None)
    for state in ("scheduled", "waiting", "ready"):
        job = look(q, jobs[tenure.State(state)])
        assert (job.state, job.reason) == ("cancelled", "enough")
    running = look(q, jobs[tenure.State.RUNNING])
    assert (running.state, running.reason) == ("running", "enough")
    assert running.cancel_asked_at is not None
    assert [look(q, jobs[s]).state for s in (tenure.State.DONE, tenure.State.DEAD)] == ["done", "dead"]


def test_cancel_many_goes_on_after_its_limit_until_nothing_is_left(q: tenure.Queue) -> None:
    made = [q.enqueue("k").id for _ in range(5)]
    first = q.cancel_many(tenure.Filter(kinds=["k"]), limit=2)
    assert first == tenure.Cancels(2, 0, made[1])
    second = q.cancel_many(tenure.Filter(kinds=["k"]), limit=2, after=first.after)
    assert second == tenure.Cancels(2, 0, made[3])
    assert q.cancel_many(tenure.Filter(kinds=["k"]), after=second.after) == tenure.Cancels(1, 0, None)
    assert q.counts()["default"]["cancelled"] == 5


def test_cancel_many_does_only_what_the_filter_says(q: tenure.Queue) -> None:
    later, now, busy = job_in(q, "scheduled", "a"), q.enqueue("b").id, job_in(q, "running", "c")
    assert q.cancel_many(query.parse("state:ready")) == tenure.Cancels(1, 0, None)
    assert [look(q, i).state for i in (later, now, busy)] == ["scheduled", "cancelled", "running"]
    assert look(q, busy).cancel_asked_at is None
    assert q.cancel_many(query.parse("state:dead")) == tenure.Cancels(0, 0, None)


def test_cancelling_the_head_of_a_group_lets_the_next_one_go(q: tenure.Queue) -> None:
    first, second = (q.enqueue("k", group="g").id for _ in range(2))
    assert q.cancel_many(tenure.Filter(ids=[first])) == tenure.Cancels(1, 0, None)
    assert look(q, second).state == "ready"


def test_a_payload_that_is_no_json_spoils_no_filter(q: tenure.Queue, place: Place) -> None:
    bad, good = q.enqueue("k", {"to": "x"}).id, q.enqueue("k", {"to": "x"}).id
    place.sql(f"UPDATE tenure.jobs SET payload = '\"to\": x, not json' WHERE id = '{bad}'")
    assert [job.id for job in q.list(query.parse("payload.to:x"))] == [good]
    assert [job.id for job in q.list(query.parse("-payload.to:x"))] == [bad]


@pytest.mark.parametrize(
    "value", ["a\x00b", "\ud800", 'say "no"', "back\\slash", "tab\t", "100%", "_", "é€😀"]
)
def test_a_payload_with_any_text_in_it_can_be_filtered(q: tenure.Queue, value: str) -> None:
    job = q.enqueue("k", {"to": value, "n": 1}).id
    q.enqueue("k", {"to": "other", "n": 2})
    assert [found.id for found in q.list(query.parse("payload.n:1 payload.to:*"))] == [job]
    if "\x00" not in value and value != "\ud800":
        assert [f.id for f in q.list(tenure.Filter(payload={"to": value}))] == [job]


def test_a_job_that_no_longer_matches_when_its_turn_comes_is_left_alone(q: tenure.Queue) -> None:
    job = job_in(q, "dead")
    assert q.replay(job) == "replayed"
    assert q.replay_many(tenure.Filter(ids=[job], states=["dead"])) == tenure.Bulk(0, 0, None)
    assert q.purge(tenure.Filter(ids=[job])) == 0


BAD: list[tuple[dict[str, Any], str, Any]] = [
    ({"states": ["gone"]}, "states", "gone"),
    ({"except_kinds": "k"}, "except_kinds", "k"),
    ({"kinds": [""]}, "kinds", ""),
    ({"queues": ["*" * 9]}, "queues", "*" * 9),
    ({"error": "a\x00"}, "error", "a\x00"),
    ({"error": "\ud800"}, "error", "\ud800"),
    ({"tag": 5}, "tag", 5),
    ({"tag": ["x" * 201]}, "tag", "x" * 201),
    ({"tenant": 5}, "tenant", 5),
    ({"fingerprint": 5}, "fingerprint", 5),
    ({"attempt_from": "3"}, "attempt_from", "3"),
    ({"priority_to": True}, "priority_to", True),
    ({"payload": {"a b": "x"}}, "payload", "a b"),
    ({"payload": {"a": 3}}, "payload", 3),
    ({"payload": {"a": []}}, "payload", "a"),
    ({"except_payload": {"a": "x\x00"}}, "except_payload", "x\x00"),
]


def test_a_bad_part_of_a_filter_is_named_and_nothing_is_changed(q: tenure.Queue) -> None:
    job = q.enqueue("k").id
    for said, field, value in BAD:
        for verb in (q.list, q.count, q.cancel_many):
            with pytest.raises(tenure.FieldError) as caught:
                verb(tenure.Filter(**said))
            assert (caught.value.field, caught.value.value) == (field, value)
    assert look(q, job).state == "ready"


@pytest.mark.parametrize("state", ["dead", "running", "ready", "scheduled", "waiting"])
def test_few_among_many_are_met_without_looking_at_what_is_between(
    q: tenure.Queue, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    monkeypatch.setattr("tenure.store.search.STRETCH", 3)
    monkeypatch.setattr("tenure.store.people.STRETCH", 3)
    wanted, later = [], "1h" if state == "ready" else None
    for n in range(2):
        wanted.append(job_in(q, state, **({"group": f"g{n}"} if state == "waiting" else {})))
        q.enqueue_many([tenure.NewJob(kind="other", delay=later) for _ in range(20)])
    which = tenure.Filter(states=[state])
    page = q.list(which, look=9)
    assert ([job.id for job in page], page.before) == (wanted[::-1], None)
    assert q.count(which, look=9) == ({state: 2}, False)
    assert [job.id for job in q.list(which, before=wanted[1], look=3)] == wanted[:1]
    assert q.list(tenure.Filter(states=[state], kinds=["none"]), look=3).before is not None
    assert q.list(tenure.Filter(states=[state], kinds=["none"])).before is None


def test_dead_jobs_are_found_by_what_they_died_of_alike(q: tenure.Queue) -> None:
    def died(kind: str, *ends: tenure.Outcome) -> tenure.JobId:
        made = q.enqueue(kind, max_attempts=len(ends)).id
        for outcome in ends:
            assert q.settle(take(q, made), outcome)
        return made

    here = 'Traceback:\n  File "/app/a.py", line 1, in f\nE: x\n'
    there = here.replace("a.py", "b.py")
    first = tenure.Fail("no 1", kind="E", traceback=here, retry_in=0)
    again = tenure.Fail("no 2", kind="E", traceback=here, retry_in=0)
    other = tenure.Fail("no 3", kind="E", traceback=there, retry_in=0)
    made = {
        "a": died("k", first),
        "b": died("k", other, again),
        "c": died("k", again, other),
        "d": died("k", tenure.Bury("no 7", error="no 8", kind="E", traceback=there)),
        "e": died("other", first),
        "f": died("k", *[tenure.Crashed("killed by signal 9")] * 3),
        "g": died("k", *[tenure.Crashed()] * 3),
    }
    vanished = q.enqueue("k").id
    for _ in range(3):
        claim = take(q, vanished)
        assert q.vanished(claim.worker, started=[(claim.id, claim.epoch)]) == 1
    names = {**{job_id: name for name, job_id in made.items()}, vanished: "v"}
    found = {
        "".join(sorted(names[job.id] for job in q.list(tenure.Filter(states=["dead"], fingerprint=group.fingerprint))))
        for group in q.error_groups(look(q, vanished).created_at - timedelta(hours=1))
    }  # fmt: skip
    assert found == {"ab", "cd", "e", "f", "g", "v"}


def test_what_is_overdue_is_found_by_for_how_long(cq: tenure.Queue, clock: MovedClock) -> None:
    def found(text: str) -> list[str]:
        page = cq.list(query.parse(text))
        assert cq.count(query.parse(text)).total == len(page)
        return [job.kind for job in page]

    done = cq.enqueue("done").id
    cq.settle(take(cq, done), tenure.Done())
    take(cq, cq.enqueue("leased", queue="a").id)
    cq.enqueue("later", delay="1m", queue="b")
    cq.enqueue("much later", delay="1h", queue="b")
    cq.enqueue("ready", queue="c")
    lease = (look(cq, cq.list(query.parse("state:running"))[0].id).lease_until or clock()) - clock()
    clock.advance(lease + timedelta(minutes=2))
    assert found("overdue:>1s") == ["later", "leased"]
    assert found("state:running overdue:>119s") == ["leased"]
    assert found("state:running overdue:>121s") == []
    assert found(
        f"state:scheduled overdue:>{round((lease + timedelta(minutes=1)).total_seconds()) - 1}s"
    ) == ["later"]
    assert (
        found(f"state:scheduled overdue:>{round((lease + timedelta(minutes=1)).total_seconds()) + 1}s") == []
    )


@pytest.mark.parametrize("text", ["flow:night", "parent:{parent}", "flow:night parent:{parent}"])
def test_jobs_of_a_flow_and_of_a_parent_are_met_however_far_apart_they_are(
    q: tenure.Queue, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr("tenure.store.search.STRETCH", 3)
    monkeypatch.setattr("tenure.store.people.STRETCH", 3)
    parent = q.enqueue("root").id
    wanted = []
    for n in range(3):
        wanted.append(q.enqueue("leaf", flow="night", parent=parent, queue="leaves").id)
        q.enqueue_many([tenure.NewJob(kind="other", flow="day", parent=wanted[0]) for _ in range(20)])
        if n == 1:
            q.settle_many((claim, tenure.Done()) for claim in q.claim(2, queues=["leaves"]))
    which = query.parse(text.format(parent=parent))
    page = q.list(which, look=12)
    assert ([job.id for job in page], page.before) == (wanted[::-1], None)
    assert q.count(which, look=12) == ({"done": 2, "ready": 1}, False)
    some = q.list(which, look=3)
    assert ([job.id for job in some], some.before is None) == (wanted[2:], False)
    assert [job.id for job in q.list(which, before=some.before, look=3)] == wanted[1:2]
    assert [job.id for job in q.list(which.only([tenure.State.DONE]))] == wanted[1::-1]


def test_who_says_how_far_to_look_has_few_payloads_read_at_a_time(
    q: tenure.Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenure.store.search._ROUGH", 2)
    monkeypatch.setattr("tenure.store.search._READ", 4)
    answers = q.enqueue_many([tenure.NewJob(kind="k", payload={"n": n % 2, "m": 1}) for n in range(12)])
    even = [answer.id for answer in answers[::2]]
    which = query.parse("payload.n:0 payload.m:1")
    assert [job.id for job in q.list(which)] == even[::-1]
    assert q.count(which) == ({"ready": 6}, False)
    assert q.count(which, look=100) == ({"ready": 2}, True)
    met: list[str] = []
    before, pages = None, 0
    while pages == 0 or before is not None:
        page = q.list(which, before=before, look=100)
        assert len(page) <= 2
        met += [job.id for job in page]
        before, pages = page.before, pages + 1
    assert met == even[::-1]
    assert pages == 4  # the last one finds nothing left


def test_what_has_not_ended_is_met_in_all_its_states_over_a_long_history(
    q: tenure.Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = [job_in(q, state, kind=state) for state in ("ready", "scheduled", "running")]
    q.enqueue_many([tenure.NewJob(kind="other") for _ in range(20)])
    q.settle_many((claim, tenure.Done()) for claim in q.claim(20, kinds=["other"]))
    monkeypatch.setattr("tenure.store.search.STRETCH", 4)
    monkeypatch.setattr("tenure.store.people.STRETCH", 4)
    which = tenure.Filter(states=["pending", "running"])
    page = q.list(which, look=4)
    assert ({job.id for job in page}, page.before) == (set(wanted), None)
    assert q.count(tenure.Filter(states=["pending"]), look=4).total == 2
    assert q.cancel_many(which)[:2] == (2, 1)
