"""`tenure show` and `tenure explain`, as people run them."""

from __future__ import annotations

import base64

import pytest

import tenure
from tests.cli.desk import Desk, dead

NOBODY = "01900000-0000-7000-8000-000000000000"


def test_everything_about_a_job_is_shown(desk: Desk) -> None:
    with desk.queue() as q:
        request = tenure.Request(b'{"update": 7}', {"x-kind": "test"})
        made = q.enqueue("send", {"to": "é"}, request=request, tags=["vip"], unique="u1", max_attempts=1).id
        [claim] = q.claim(worker="w1")
        q.settle(claim, tenure.Fail.of(TimeoutError("read timed out")))
    told = desk.run("show", made)
    assert told.code == 0
    for piece in (
        f"send  {made}", "state       dead (failed)", "attempt     1 of 1", "worker      w1", "unique      u1", "tags        vip",
        '"to": "é"', "attempt 1: TimeoutError", "TimeoutError: read timed out", "x-kind: test", '"update": 7', " s ago",
    ):  # fmt: skip
        assert piece in told.out.replace("now", "0 s ago"), piece
    exact = desk.run("show", made, "--json").json
    assert exact["job"]["payload"] == {"to": "é"}
    assert exact["attempts"][0]["error_kind"] == "TimeoutError"
    assert "read timed out" in exact["attempts"][0]["traceback"]
    assert base64.b64decode(exact["request"]["body"]) == request.body
    assert exact["request"]["headers"] == {"x-kind": "test"}


def test_a_job_that_is_done_shows_its_result(desk: Desk) -> None:
    with desk.queue() as q:
        made = q.enqueue("send").id
        [claim] = q.claim()
        q.settle(claim, tenure.Done({"sent": 3}))
    assert '"sent": 3' in desk.run("show", made).out
    told = desk.run("show", made, "--json").json
    assert (told["job"]["result"], told["attempts"], told["request"]) == ({"sent": 3}, [], None)


def test_a_job_is_explained(desk: Desk) -> None:
    with desk.queue() as q:
        q.pause("mail")
        made = q.enqueue("send", queue="mail").id
    assert "Queue 'mail' is paused" in desk.run("explain", made).out
    told = desk.run("explain", made, "--json").json
    assert (told["code"], told["job"]["id"]) == ("paused", made)


@pytest.mark.parametrize("command", ["show", "explain"])
def test_a_job_that_is_not_there_is_told_by_the_exit_code(desk: Desk, command: str) -> None:
    told = desk.run(command, NOBODY)
    assert (told.code, told.out) == (3, "")
    assert "o job has th" in told.err
    assert desk.run(command, "seven").code == 2


def test_it_works_on_postgresql(postgres_desk: Desk) -> None:
    with postgres_desk.queue() as q:
        [died] = dead(q, 1)
    assert "no route to host" in postgres_desk.run("show", died).out
    assert postgres_desk.run("explain", died, "--json").json["code"] == "dead"
