"""What operators do, on each store: each action changes what it says, and is kept in the audit."""

from __future__ import annotations

import json
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import apsw
import pytest

import tenure
from tenure.dashboard import acting
from tests.dashboard.house import OPERATOR, House, Served
from tests.worker.house import until


def state(house: House, job_id: str) -> str:
    """Where a job stands."""
    job = house.q.get(job_id)
    return "gone" if job is None else job.state.value


def kept(page: Served) -> list[tuple[str, str, int]]:
    """What the audit says, newest first."""
    return [(one["action"], one["what"], one["count"]) for one in page.get("/api/audit").json["entries"]]


def test_jobs_are_retried_by_filter_and_by_id(page: Served, house: House) -> None:
    ids = [house.dead("send") for _ in range(3)]
    other = house.dead("other")
    told = page.act("retry", q="state:dead kind:send").json
    assert told == {"done": 3, "more": False, "said": "3 jobs were started anew", "undo": told["undo"]}
    assert [state(house, one) for one in (*ids, other)] == ["ready", "ready", "ready", "dead"]
    assert page.act("retry", ids=[other]).json["said"] == "1 job was started anew"
    assert state(house, other) == "ready"
    assert kept(page) == [("retry", f"id:{other}", 1), ("retry", "state:dead kind:send", 3)]
    [one, _] = page.get("/api/audit").json["entries"]
    assert one["who"] == "operator 127.0.0.1"
    assert one["said"] == "1 job was started anew"


def test_a_retry_that_names_no_state_means_the_dead(page: Served, house: House) -> None:
    dead = house.dead("send")
    done = house.q.enqueue("send").id
    [claim] = house.q.claim()
    house.q.settle(claim, tenure.Done())
    assert page.act("retry", q="kind:send").json["done"] == 1
    assert (state(house, dead), state(house, done)) == ("ready", "done")
    assert kept(page) == [("retry", "state:dead kind:send", 1)]


def test_jobs_are_cancelled_and_those_that_run_are_asked(page: Served, house: House) -> None:
    first = house.q.enqueue("send").id
    house.q.claim()
    second = house.q.enqueue("send").id
    told = page.act("cancel", q="kind:send").json
    assert (told["done"], told["said"]) == (2, "1 job was cancelled, 1 that run were asked to stop")
    assert (state(house, first), state(house, second)) == ("running", "cancelled")


def test_finished_jobs_are_deleted_and_no_others(page: Served, house: House) -> None:
    dead, ready = house.dead("send"), house.q.enqueue("send").id
    assert page.act("purge", q="kind:send").json["done"] == 1
    assert (state(house, dead), state(house, ready)) == ("gone", "ready")


def test_what_matches_no_more_when_it_is_to_be_deleted_is_left_alone(
    light: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = light.dead("send")
    listed = tenure.AsyncQueue.list

    async def then_it_is_done(self: tenure.AsyncQueue, *given: Any, **options: Any) -> Any:
        page = await listed(self, *given, **options)
        light.q.replay(dead)
        [claim] = light.q.claim()
        light.q.settle(claim, tenure.Done())
        return page

    monkeypatch.setattr(tenure.AsyncQueue, "list", then_it_is_done)
    assert light.serve().act("purge", q="state:dead").json["done"] == 0
    assert state(light, dead) == "done"


def test_dead_jobs_are_discarded_and_that_is_undone(
    page: Served, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("search", "people"):
        monkeypatch.setattr(f"tenure.store.{module}.STRETCH", 2)
    ids = [house.dead("send") for _ in range(3)]
    other, before = house.dead("other"), house.dead("send")
    house.q.discard(tenure.Filter(ids=[before]))
    told = page.act("discard", q="state:dead kind:send").json
    assert (told["done"], told["said"]) == (3, "3 jobs were discarded")
    assert [state(house, one) for one in (*ids, other)] == ["cancelled"] * 3 + ["dead"]
    assert page.act("unreplay", name=told["undo"]).status == 404
    assert page.act("restore", name=told["undo"]).json["said"] == "3 jobs were made dead again"
    assert [state(house, one) for one in (*ids, before)] == ["dead"] * 3 + ["cancelled"]
    again = page.act("restore", name=told["undo"]).json["said"]
    assert again == "0 jobs were made dead again, 3 stayed: changed since, or not there any more"
    assert kept(page)[1:3] == [
        ("restore", "state:dead kind:send", 3),
        ("unreplay", "state:dead kind:send", 0),
    ]
    told = page.act("restore", q="state:dead kind:send").json
    assert (told["done"], told["said"]) == (1, "1 job was made dead again")
    assert page.act("discard", ids=[ids[0]]).json["done"] == 1
    assert page.act("restore", ids=ids).json["done"] == 1
    monkeypatch.setattr(acting, "_MOST", 1)
    told = page.act("discard", q="kind:send").json
    assert told == {
        "done": 4,
        "more": False,
        "said": "4 jobs were discarded; more than 1 cannot be undone",
    }


def test_a_job_is_enqueued_again_with_another_payload_or_at_another_time(page: Served, house: House) -> None:
    request = tenure.Request(b"raw", {"a": "b"})
    old = house.q.enqueue_job(
        tenure.NewJob(kind="send", payload={"n": 1}, queue="mail", tags=["vip"], priority=3, request=request)
    ).id
    told = page.act("enqueue_edited", ids=[old], payload='{"n": 2}').json
    made = house.q.get(told["said"].split()[-1])
    assert made is not None
    assert (made.kind, made.payload, made.queue, made.tags, made.priority) == (
        "send",
        {"n": 2},
        "mail",
        ("vip",),
        3,
    )
    assert house.q.request(made.id) == request
    assert state(house, old) == "ready"
    at = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1)
    told = page.act("enqueue_edited", ids=[old], at=at.isoformat().replace("+00:00", "Z")).json
    later = house.q.get(told["said"].split()[-1])
    assert later is not None
    assert (later.state, later.run_at, later.payload) == ("scheduled", at, {"n": 1})


def test_an_edited_payload_that_the_app_would_not_take_is_refused(page: Served, house: House) -> None:
    @house.app.job
    def send(to: str, n: int = 1) -> None: ...

    old, other = house.q.enqueue("send", {"to": "a@b.c"}).id, house.q.enqueue("elsewhere", {"to": "a@b.c"}).id
    for payload, field in (
        ('{"to": 5, "m": []}', "payload.to"),
        ('{"m": []}', "payload"),
        ("[1]", "payload"),
        ("null", "payload"),
    ):
        answer = page.act("enqueue_edited", ids=[old], payload=payload)
        assert (answer.status, answer.json["error"]["field"]) == (400, field)
        assert answer.json["error"]["fix"].startswith("send(to: ")
    assert house.q.count().total == 2
    # Who knows this kind is not here to ask.
    assert page.act("enqueue_edited", ids=[other], payload='{"to": 5}').status == 200
    told = page.act("enqueue_edited", ids=[old], payload='{"to": "b@b.c", "n": 2}').json
    made = house.q.get(told["said"].split()[-1])
    assert made is not None
    assert made.payload == {"to": "b@b.c", "n": 2}


def test_what_is_wrong_with_an_edited_payload_does_not_tell_what_is_masked(light: House) -> None:
    @light.app.job
    def send(token: Literal["t0p"], n: int) -> None: ...

    old = light.q.enqueue("send", {"token": "s3cret", "n": 1}).id
    served = light.guarded(mask_operators=True)
    answer = served.act("enqueue_edited", token=OPERATOR, ids=[old], payload='{"token": "***", "n": 2}')
    assert (answer.status, answer.json["error"]["field"]) == (400, "payload.token")
    assert b"s3cret" not in answer.body
    answer = light.guarded().act(
        "enqueue_edited", token=OPERATOR, ids=[old], payload='{"token": "s3cret", "n": 2}'
    )
    assert b"s3cret" in answer.body


def test_a_job_is_retried_at_a_time_under_its_id_and_that_is_undone(page: Served, house: House) -> None:
    old = house.dead("send", {"n": 1})
    before = house.q.get(old)
    at = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1)
    told = page.act("retry", ids=[old], at=at.isoformat()).json
    assert told["said"] == f"1 job was started anew for {at:%Y-%m-%d %H:%M:%S} UTC"
    later = house.q.get(old)
    assert later is not None
    assert (later.state, later.run_at) == ("scheduled", at)
    assert page.act("unreplay", name=told["undo"]).json["said"] == "1 job was put back as it was"
    assert house.q.get(old) == before
    assert kept(page) == [("unreplay", f"id:{old}", 1), ("retry", f"id:{old}", 1)]


def test_a_retry_is_undone_but_for_what_was_claimed_since_and_that_is_told(
    page: Served, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [house.dead("send") for _ in range(3)]
    undo = page.act("retry", q="state:dead").json["undo"]
    [claim] = house.q.claim(limit=1)
    told = page.act("unreplay", name=undo).json
    assert told["said"] == "2 jobs were put back as they were, 1 stayed: claimed since, or not there any more"
    assert [state(house, one) for one in ids] == ["running" if one == claim.id else "dead" for one in ids]
    assert page.act("unreplay", ids=ids).json["done"] == 3
    assert page.act("unreplay", name="nothing").status == 404
    assert page.act("unreplay").status == 400
    monkeypatch.setattr(acting, "_MOST", 1)
    assert "undo" not in page.act("retry", q="state:dead").json


@pytest.mark.parametrize(
    ("action", "undo", "then"), [("retry", "unreplay", "ready"), ("discard", "restore", "cancelled")]
)
def test_what_still_goes_on_is_stopped_when_it_is_undone(
    page: Served, house: House, monkeypatch: pytest.MonkeyPatch, action: str, undo: str, then: str
) -> None:
    ids = [house.dead("send") for _ in range(4)]
    with monkeypatch.context() as hasty:
        hasty.setattr(acting, "_PATIENCE", 0.05)
        told = page.act(action, q="state:dead", rate=0.1).json
    assert told["more"]
    until(lambda: [state(house, one) for one in ids].count(then) == 1)
    with monkeypatch.context() as fewer:
        fewer.setattr(acting, "_MOST", 0)
        assert page.act(undo, name=told["undo"]).status == 404
    assert page.act(undo, name=told["undo"]).json["done"] == 1
    assert [state(house, one) for one in ids] == ["dead"] * 4
    until(lambda: page.get(f"/api/acts/{told['act']}").json["said"].endswith("then somebody undid it"))


def test_what_can_be_undone_is_listed_until_it_is_undone(page: Served, house: House) -> None:
    assert page.get("/api/undos").json == {"undos": []}
    ids = [house.dead("send") for _ in range(5)]
    before = datetime.now(UTC) - timedelta(seconds=1)
    first = page.act("discard", q="state:dead kind:send").json["undo"]
    [one] = page.get("/api/undos").json["undos"]
    assert before < datetime.fromisoformat(one.pop("at")) < before + timedelta(minutes=1)
    assert one == {
        "name": first,
        "action": "discard",
        "undo": "restore",
        "what": "state:dead kind:send",
        "count": 5,
        "said": "5 jobs were discarded",
        "more": False,
    }
    page.act("cancel", q="kind:send state:ready")  # that cannot be undone, nor can what changed nothing
    page.act("retry", q="kind:other")
    assert page.act("restore", name=first).json["done"] == 5
    assert page.get("/api/undos").json == {"undos": []}
    names = [page.act("retry", ids=[ids[0]]).json["undo"], page.act("retry", ids=ids[1:]).json["undo"]]
    last, other = page.get("/api/undos").json["undos"]
    assert [other["name"], last["name"]] == names
    assert (other["undo"], other["what"], other["count"]) == ("unreplay", f"id:{ids[0]}", 1)
    assert (last["what"], last["count"]) == (f"id:{','.join(ids[1:4])}, …", 4)
    page.act("unreplay", name=names[0])
    assert [one["name"] for one in page.get("/api/undos").json["undos"]] == names[1:]
    for one in ids:  # five more
        house.q.unreplay(tenure.Filter(ids=[one]))
        names.append(page.act("retry", ids=[one]).json["undo"])
    assert [one["name"] for one in page.get("/api/undos").json["undos"]] == names[:-6:-1]


def test_what_could_not_be_undone_can_be_tried_again(light: House, monkeypatch: pytest.MonkeyPatch) -> None:
    dead, page = light.dead("send"), light.serve()
    undo = page.act("discard", q="state:dead").json["undo"]
    with monkeypatch.context() as away:
        away.setattr(tenure.AsyncQueue, "restore", _away)
        assert page.act("restore", name=undo).status == 503
    assert [one["name"] for one in page.get("/api/undos").json["undos"]] == [undo]
    assert page.act("restore", name=undo).json["done"] == 1
    assert state(light, dead) == "dead"
    assert page.get("/api/undos").json == {"undos": []}


async def _away(*_: Any, **__: Any) -> None:
    raise tenure.StoreError("gone for a while")


def test_queues_are_paused_and_resumed(page: Served, house: House) -> None:
    assert page.act("pause", name="mail").json["done"] == 1
    assert list(house.q.paused()) == ["mail"]
    assert page.act("resume", name="mail").json["done"] == 1
    assert house.q.paused() == {}
    assert page.act("resume", name="mail").json == {
        "done": 0,
        "more": False,
        "said": "queue mail was not paused",
    }
    assert [what for what, _, _ in kept(page)] == ["resume", "resume", "pause"]


def test_schedules_are_run_paused_and_resumed(page: Served, house: House) -> None:
    house.q.schedule("digest", "@daily", "send_digest")
    made = page.act("run_cron", name="digest").json["said"].split()[-1]
    assert state(house, made) == "ready"
    assert page.act("pause_cron", name="digest").json["said"] == "schedule digest is paused"
    assert page.get("/api/cron").json["schedules"][0]["next"] == []
    assert page.act("resume_cron", name="digest").json["said"] == "schedule digest fires again"
    answer = page.act("run_cron", name="nothing")
    assert (answer.status, answer.json) == (404, {"error": "there is no schedule of this name"})
    assert kept(page)[0] == ("run_cron", "nothing", 0)


def test_errors_are_snoozed_and_woken(page: Served, house: House) -> None:
    at = datetime.now(UTC) + timedelta(hours=2)
    assert page.act("snooze_error", name="abc", at=at.isoformat()).status == 200
    assert page.act("snooze_error", name="def").status == 200
    assert set(json.loads(house.q.note("dashboard.snoozed") or "")) == {"abc", "def"}
    page.act("snooze_error", name="abc", at="")
    assert set(json.loads(house.q.note("dashboard.snoozed") or "")) == {"def"}


def test_a_long_action_is_answered_at_once_and_goes_on(
    page: Served, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acting, "_PATIENCE", 0.05)
    ids = [house.dead("send") for _ in range(6)]
    told = page.act("retry", q="state:dead", rate=4).json
    assert told["more"]
    assert "it goes on" in told["said"]
    going = page.get(f"/api/acts/{told['act']}").json
    assert (going["more"], going["done"] < 6) == (True, True)
    [begun] = page.get("/api/audit").json["entries"]
    assert (begun["action"], begun["what"], begun["ended"]) == ("retry", "state:dead", None)
    until(lambda: all(state(house, one) == "ready" for one in ids))
    until(lambda: not page.get(f"/api/acts/{told['act']}").json["more"])
    assert page.get(f"/api/acts/{told['act']}").json["said"] == "6 jobs were started anew"
    assert page.get("/api/acts/nothing").status == 404
    assert kept(page) == [("retry", "state:dead", 6)]
    [ended] = page.get("/api/audit").json["entries"]
    assert (ended["id"], ended["said"]) == (begun["id"], "6 jobs were started anew")
    assert ended["ended"] > ended["at"]


def test_an_action_that_goes_on_ends_with_the_server_and_that_is_kept(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acting, "_PATIENCE", 0.05)
    served = house.serve()
    for _ in range(5):
        house.dead("send")
    assert served.act("retry", q="state:dead", rate=0.5).json["more"]
    served.close()
    [ended] = house.q.audits()
    assert "then the dashboard stopped; it came as far as job " in ended.said
    assert ended.ended_at is not None
    assert house.q.count(tenure.Filter(states=["dead"])).total >= 3


def test_what_was_done_before_it_failed_is_told_and_kept_where_it_can_be(
    light: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acting, "_BATCH", 1)
    ids, page = [light.dead("send") for _ in range(3)], light.serve()
    page.get("/api/audit")
    no = "BEGIN SELECT RAISE(ABORT, 'not that one'); END"
    # The store's own library: another in one process would take its locks away.
    with closing(apsw.Connection(str(tmp_path / "jobs.db"))) as file:
        file.execute(f"CREATE TRIGGER tenure_no BEFORE UPDATE ON tenure_jobs WHEN OLD.id = '{ids[1]}' {no}")
        told = page.act("retry", q="state:dead").json
        assert told["said"].startswith("1 job was started anew, then it failed: ")
        assert [state(light, one) for one in ids] == ["ready", "dead", "dead"]
        assert kept(page) == [("retry", "state:dead", 1)]
        assert light.q.audits()[0].said == told["said"]
        assert page.act("retry", ids=[ids[1]]).status == 503
        assert kept(page)[0] == ("retry", f"id:{ids[1]}", 0)
        file.execute(f"CREATE TRIGGER tenure_nor BEFORE INSERT ON tenure_audit {no}")
        undone = page.act("unreplay", name=told["undo"]).json["said"]
        assert undone == "1 job was put back as it was; the audit could not be told of it"


def test_what_an_order_is_about_is_said_once_and_nothing_else_is_kept(page: Served, house: House) -> None:
    dead = house.dead("send")
    orders: list[tuple[str, dict[str, Any], str]] = [
        ("retry", {"q": "kind:other", "ids": [dead]}, "ids"),
        ("pause", {"name": "mail", "q": "kind:harmless"}, "q"),
        ("restore", {"name": "x", "ids": [dead]}, "name"),
        ("discard", {"q": "state:dead", "at": "2030-01-01T00:00:00Z"}, "at"),
        ("cancel", {"q": "state:dead"}, "q"),
    ]
    for action, said, field in orders:
        answer = page.act(action, **said)
        assert (answer.status, answer.json["error"]["field"]) == (400, field)
    assert (state(house, dead), list(house.q.paused())) == ("dead", [])
    assert kept(page) == [("cancel", "state:dead", 0)]


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("action", {"action": "explode"}),
        ("q", {"action": "purge"}),
        ("q", {"action": "purge", "q": "  "}),
        ("filter", {"action": "retry", "q": "state:deed"}),
        ("rate", {"action": "retry", "q": "state:dead", "rate": 0}),
        ("rate", {"action": "retry", "q": "state:dead", "rate": -1}),
        ("ids", {"action": "cancel", "ids": ["x"]}),
        ("ids", {"action": "enqueue_edited", "ids": []}),
        ("name", {"action": "pause"}),
        ("name", {"action": "run_cron", "name": ""}),
        ("at", {"action": "snooze_error", "name": "a", "at": "soon"}),
        ("at", {"action": "snooze_error", "name": "a", "at": "9999-12-31T23:59:59-12:00"}),
        ("at", {"action": "snooze_error", "name": "a", "at": "2030-01-01T00:00:00"}),
        ("body", {"action": "retry", "qq": "state:dead"}),
        ("body", {"action": "retry", "rate": "fast"}),
        ("body", {"action": 5}),
        ("body", []),
    ],
    ids=str,
)
def test_a_bad_order_is_told_and_changes_nothing(light: House, field: str, said: Any) -> None:
    dead = light.dead("send")
    page = light.serve()
    csrf = page.get("/api/me").json["csrf"]
    headers = {"Content-Type": "application/json", "X-Tenure-CSRF": csrf}
    answer = page.ask("POST", "/api/act", json.dumps(said).encode(), headers)
    assert answer.status == 400
    error = answer.json["error"]
    assert error["field" if field != "filter" else "q"] == (field if field != "filter" else "state:deed")
    assert state(light, dead) == "dead"
    assert light.q.paused() == {}


def test_a_payload_that_is_no_json_is_told(light: House) -> None:
    job = light.q.enqueue("send")
    answer = light.serve().act("enqueue_edited", ids=[job.id], payload="{no")
    assert (answer.status, answer.json["error"]["field"]) == (400, "payload")


def test_an_order_that_is_too_long_is_413(light: House) -> None:
    page = light.serve()
    csrf = page.get("/api/me").json["csrf"]
    headers = {"Content-Type": "application/json", "X-Tenure-CSRF": csrf}
    assert page.ask("POST", "/api/act", b" " * (4 * 1024 * 1024 + 1), headers).status == 413
