"""`tenure enqueue`, as people run it."""

from __future__ import annotations

import pytest

import tenure
from tests.cli.desk import Desk

SHOP = """
import tenure

app = tenure.App()

@app.job(queue="mail", priority=7)
async def send(to: str) -> str:
    return f"sent to {to}"

@app.job(max_attempts=1)
async def fails() -> None:
    raise ValueError("out of stamps")
"""


def test_a_job_is_stored_with_its_options(desk: Desk) -> None:
    told = desk.run(
        "enqueue", "send", '{"to": "a@b.c"}', "--queue", "mail", "--priority", "5", "--delay", "10m", "--max-attempts", "2",
        "--unique", "u", "--tag", "x", "--tag", "y", "--tenant", "acme", "--group", "g", "--timeout", "90s", "--expires-in", "1d",
    )  # fmt: skip
    assert told.code == 0
    with desk.queue() as q:
        job = q.get(told.out.strip())
    assert job is not None
    assert (job.kind, job.queue, job.priority, job.max_attempts, job.state) == (
        "send",
        "mail",
        5,
        2,
        "scheduled",
    )
    assert (job.unique, job.tags, job.tenant, job.group) == ("u", ("x", "y"), "acme", "g")
    assert (job.payload, job.timeout is not None, job.expires_at is not None) == ({"to": "a@b.c"}, True, True)
    again = desk.run("enqueue", "send", "--unique", "u", "--json")
    assert again.json == {"id": job.id, "inserted": False}


def test_a_payload_may_come_from_a_pipe_and_is_an_empty_object_unless_given(desk: Desk) -> None:
    piped = desk.run("enqueue", "send", "-", stdin='{"n": [1, 2]}').out.strip()
    empty = desk.run("enqueue", "send", "--json").json["id"]
    with desk.queue() as q:
        payloads = {job.id: job.payload for job in q.list()}
    assert payloads == {piped: {"n": [1, 2]}, empty: {}}


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["send", "{no"], "the payload is no JSON"),
        (["send", "{}", "--delay", "soon"], "delay: must be a duration, got 'soon'"),
        (["send", "{}", "--priority", "99999"], "priority: must be from"),
        (["", "{}"], "kind: must be 1 to 200 characters"),
        (
            ["--app", "shop:app", "sned", "{}"],
            "kind: is not registered with this app, got 'sned'; did you mean 'send'",
        ),
        (["--app", "shop:app", "send", '{"too": "x"}'], "to"),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, list) else "",
)
def test_a_mistake_is_one_sentence_and_stores_nothing(desk: Desk, args: list[str], told: str) -> None:
    (desk.folder / "shop.py").write_text(SHOP)
    ended = desk.run("enqueue", *args)
    assert ended.code == 2
    assert told in ended.err
    with desk.queue() as q:
        assert q.count().total == 0


def test_a_kind_that_no_live_worker_takes_is_questioned(desk: Desk) -> None:
    with desk.queue() as q:
        q.beat("w", kinds=["send", "resize"])
    told = desk.run("enqueue", "sned")
    assert told.code == 2
    assert "no live worker takes the kind 'sned'; they take 'send'" in told.err
    assert desk.run("enqueue", "sned", "--force").code == 0


def test_an_app_checks_the_job_and_says_where_it_goes(desk: Desk) -> None:
    (desk.folder / "shop.py").write_text(SHOP)
    told = desk.run("enqueue", "--app", "shop:app", "send", '{"to": "a"}', "--json")
    with desk.queue() as q:
        job = q.get(told.json["id"])
    assert job is not None
    assert (job.queue, job.priority, job.payload) == ("mail", 7, {"to": "a"})


@pytest.mark.parametrize("which", ["desk", "postgres_desk"])
def test_waiting_tells_the_result(which: str, request: pytest.FixtureRequest) -> None:
    desk: Desk = request.getfixturevalue(which)
    with desk.queue() as q, desk.terminal("enqueue", "send", '{"to": "a"}', "--wait") as terminal:
        until_there(desk)
        [claim] = q.claim()
        assert terminal.process.poll() is None
        q.settle(claim, tenure.Done({"sent": claim.job.payload["to"]}))
        assert terminal.end() == 0
        assert '{"sent":"a"}' in terminal.screen


def test_waiting_for_what_dies_is_an_error_that_says_why(desk: Desk) -> None:
    with desk.queue() as q, desk.terminal("enqueue", "send", "--wait", "--json") as terminal:
        until_there(desk)
        [claim] = q.claim()
        q.settle(claim, tenure.Bury("no", "out of stamps"))
        assert terminal.end() == 1
        assert '"state": "dead"' in terminal.screen
        assert "is dead: out of stamps" in terminal.screen


def test_waiting_is_ended_by_ctrl_c_which_is_not_a_job_that_died(desk: Desk) -> None:
    with desk.queue() as q, desk.terminal("enqueue", "send", "--wait") as terminal:
        until_there(desk)
        terminal.interrupt()
        assert terminal.end() == 130
        assert "interrupted" in terminal.screen
        assert q.counts()["default"]["ready"] == 1


def test_waiting_ends_in_time(desk: Desk) -> None:
    told = desk.run("enqueue", "send", "--wait-for", "50ms", "--json")
    assert told.code == 1
    assert told.json == {"id": told.json["id"], "inserted": True, "state": "ready", "result": None, "error": None}  # fmt: skip
    assert f"job {told.json['id']} has not ended yet" in told.err


def test_it_works_on_postgresql(postgres_desk: Desk) -> None:
    told = postgres_desk.run("enqueue", "send", '{"to": "a"}', "--queue", "mail", "--json")
    assert told.json["inserted"]
    with postgres_desk.queue() as q:
        assert q.counts()["mail"]["ready"] == 1


def until_there(desk: Desk) -> None:
    from tests.support.workers import until

    with desk.queue() as q:
        until(lambda: q.count().total > 0)
