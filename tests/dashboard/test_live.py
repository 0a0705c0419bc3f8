"""The live stream, mounting, and what is stored by people who mean harm."""

from __future__ import annotations

import json
import time
from itertools import pairwise

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

import tenure
from tenure.dashboard import DashboardSettings, asgi
from tests.dashboard.house import OPERATOR, House, Served
from tests.dashboard.test_access import log_in

CORPUS = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'-alert(1)-'",
    "</script><svg/onload=alert(1)>",
    "javascript:alert(1)",
    "\u2028\u2029<!--",
    "{{7*7}}${7*7}",
]


def test_a_change_is_heard_without_asking_again(page: Served, house: House) -> None:
    with page.stream() as events:
        name, first = next(events)
        assert (name, first["ready"]) == ("now", 0)
        house.q.enqueue("work")
        assert any(told["ready"] == 1 for _, told in events)
        house.q.pause("default")
        house.q.enqueue("work")
        assert any(told["ready"] == 2 for _, told in events)


def test_it_tells_changes_alone_and_no_faster_than_four_a_second(light: House) -> None:
    told: list[dict[str, object]] = []
    with light.serve().stream() as events:
        told.append(next(events)[1])
        began = time.monotonic()
        while len(told) < 7:
            light.q.enqueue("work")
            told.append(next(events)[1])
        spent = time.monotonic() - began
    assert len(told) - 1 <= 4 * (spent + 0.5)  # the first may have been read late
    assert all(one != other for one, other in pairwise(told))


def test_ten_pages_cost_as_much_as_one(light: House, monkeypatch: pytest.MonkeyPatch) -> None:
    served = light.serve()
    served.get("/api/queues")
    asked: list[float] = []
    pulse = tenure.AsyncQueue.pulse

    async def counted(self: tenure.AsyncQueue, **options: object) -> object:
        asked.append(time.monotonic())
        return await pulse(self, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(tenure.AsyncQueue, "pulse", counted)
    began = time.monotonic()
    for _ in range(40):
        served.get("/api/queues")
    assert len(asked) <= (time.monotonic() - began) / 0.25 + 1


def test_it_works_under_any_root_path(house: House) -> None:
    settings = DashboardSettings(operator_token=OPERATOR)
    outer = Starlette(routes=[Mount("/ops/desk", app=asgi(house.app, settings))])
    served = house.served(outer, "/ops/desk")
    assert served.get("/api/jobs", token=OPERATOR).json["jobs"] == []
    assert served.get("/").headers["location"] == "login"
    answer = log_in(served, OPERATOR)
    assert (answer.status, answer.headers["location"]) == (303, "/ops/desk/")
    assert "Path=/ops/desk/" in answer.headers["set-cookie"]
    cookie = answer.headers["set-cookie"].partition(";")[0]
    assert served.ask("GET", "/api/me", headers={"Cookie": cookie}).json["role"] == "operator"
    assert served.act("pause", name="mail", token=OPERATOR).json["done"] == 1
    assert served.get("/nothing").status == 404


@pytest.mark.parametrize("nasty", CORPUS, ids=range(len(CORPUS)))
def test_what_was_stored_to_do_harm_comes_back_as_json_only(page: Served, house: House, nasty: str) -> None:
    name = nasty.replace("\u2028", "").replace("\u2029", "")
    job = house.q.enqueue_job(
        tenure.NewJob(
            kind=name, payload={nasty: nasty}, queue=name, tags=[name], meta={"m": nasty}, group=name, flow=name,
            tenant=name, unique=name, max_attempts=1, request=tenure.Request(nasty.encode(), {"x": nasty}),
        )
    )  # fmt: skip
    [claim] = house.q.claim(worker=name)
    house.q.progress(claim, 0.5, nasty)
    house.q.settle(claim, tenure.Fail(nasty, kind=name, traceback=nasty))
    house.q.beat(name, queues=[name], kinds=[name], about=json.dumps({"lines": [nasty]}))
    house.q.schedule(name, "@daily", name, {nasty: nasty}, tags=[name])
    house.q.add_audit(name, name, nasty, said=nasty)
    house.q.pause(name)
    paths = [
        *("overview", "jobs", f"jobs/{job.id}", "errors", "queues", "workers", "cron", "audit", "complete?q=kind:"),
        "jobs?q=" + "%3Cscript%3E:x", "jobs?before=%3Cscript%3E", "nothing%3Cscript%3E",
    ]  # fmt: skip
    for path in paths:
        answer = page.get(f"/api/{path}")
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-content-type-options"] == "nosniff"
        json.loads(answer.body)
    told = page.get(f"/api/jobs/{job.id}").json
    assert (told["kind"], json.loads(told["payload"])) == (name, {nasty: nasty})
    assert told["history"][0]["message"] == nasty
    assert told["request"]["body_text"] == nasty
    assert page.act("retry", q=nasty).status in (200, 400)
    assert page.get("/api/audit").json["entries"][-1]["what"] == nasty
