"""The JSON behind each page, on each store."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import tenure
import tenure.dashboard
import tenure.gateway
from tenure.dashboard.rows import commands_of
from tenure.newjob import new_id
from tenure.testing.telegram import FakeTelegram
from tests.dashboard.house import House, Served
from tests.gateway.house import House as GatewayHouse
from tests.gateway.signing import body_of, headers_of, settings_of

ROW = {
    *("id", "state", "kind", "queue", "priority", "attempt", "max_attempts", "created_at", "run_at", "started_at"),
    *("finished_at", "worker", "error", "tags", "progress"),
}  # fmt: skip


def test_who_asks_on_this_machine_is_an_operator_without_a_login(page: Served, house: House) -> None:
    told = page.get("/api/me").json
    assert told["role"] == "operator"
    assert told["version"] == tenure.__version__
    assert told["store"].split()[0] in ("SQLite", "PostgreSQL")
    assert "://" not in told["store"]
    assert not told["mask"]
    assert len(told["csrf"]) >= 32


def test_the_overview_tells_how_things_stand_and_what_is_wrong(page: Served, house: House) -> None:
    house.dead(queue="mail")
    house.q.enqueue("work", queue="mail")
    house.q.enqueue("work", run_at=datetime.now(UTC) + timedelta(hours=1))
    told = page.get("/api/overview", span="1h").json
    assert {name: told["now"][name] for name in ("ready", "running", "scheduled", "waiting", "dead", "more")} == {
        "ready": 1, "running": 0, "scheduled": 1, "waiting": 0, "dead": 1, "more": False,
    }  # fmt: skip
    assert told["now"]["oldest_ready"] >= 0
    assert [queue["ready"] for queue in told["queues"] if queue["name"] == "mail"] == [1]
    assert [one["level"] for one in told["wrong"]] == ["error", "warning"]
    assert "no worker lives" in told["wrong"][0]["text"]
    assert told["wrong"][1]["link"] == "#/jobs?q=state:dead"
    assert len(told["times"]) == 60 == len(told["series"]["done"]) == len(told["series"]["wait_p99"])
    assert told["times"][1] - told["times"][0] == told["step"] == 60


def test_an_empty_store_has_nothing_wrong(page: Served) -> None:
    told = page.get("/api/overview").json
    assert told["wrong"] == told["queues"] == []
    assert told["now"]["oldest_ready"] is None


@pytest.mark.parametrize("span", ["5m", "1h", "6h", "24h", "7d"])
def test_every_span_has_as_many_figures_as_times(page: Served, span: str) -> None:
    told = page.get("/api/overview", span=span).json
    assert {len(line) for line in told["series"].values()} == {len(told["times"])}


def test_jobs_are_listed_newest_first_and_a_page_at_a_time(page: Served, house: House) -> None:
    ids = [house.q.enqueue("work", tags=["vip"]).id for _ in range(5)]
    first = page.get("/api/jobs", q="kind:work", limit=3).json
    assert set(first["jobs"][0]) == ROW
    assert first["count"] == {"total": 5, "more": False, "states": {"ready": 5}}
    rest = page.get("/api/jobs", q="kind:work", limit=3, before=first["before"]).json
    assert [row["id"] for row in (*first["jobs"], *rest["jobs"])] == ids[::-1]
    assert rest["before"] is None


@pytest.mark.parametrize(
    ("asked", "total"), [("state:ready", 3), ("state:ready queue:a", 2), ("state:dead,scheduled", 2), ("state:dead queue:b", 0), ("state:ready queue:*", 3)]
)  # fmt: skip
def test_what_indexes_know_is_counted_by_them(page: Served, house: House, asked: str, total: int) -> None:
    house.dead("work", queue="a")
    for queue in ("a", "a", "b"):
        house.q.enqueue("work", queue=queue)
    house.q.enqueue("work", delay="1h")
    told = page.get("/api/jobs", q=asked).json
    assert (told["count"]["total"], told["count"]["more"], len(told["jobs"])) == (total, False, total)


def test_there_are_as_many_as_are_shown_at_least(
    page: Served, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenure.store.search.STRETCH", 10)
    monkeypatch.setattr(sys.modules["tenure.dashboard.api.jobs"], "LOOK", 10)
    house.q.enqueue_many([tenure.NewJob(kind="common") for _ in range(40)])
    house.q.enqueue("rare")
    told = page.get("/api/jobs", q="kind:rare").json
    assert (len(told["jobs"]), told["count"]) == (1, {"total": 1, "more": True, "states": {"ready": 1}})


def test_what_is_capped_in_all_queues_together_is_said_of_each_and_one_alone_is_counted_by_looking(
    page: Served, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenure.dashboard.present.CAP", 2)
    house.q.enqueue_many([tenure.NewJob(kind="work", queue="a", delay="1h") for _ in range(3)])
    house.q.enqueue_many([tenure.NewJob(kind="work", queue="b", delay="2h") for _ in range(2)])
    house.q.enqueue_many([tenure.NewJob(kind="work", queue=queue) for queue in "aab"])
    rows = {row["name"]: row for row in page.get("/api/queues").json["queues"]}
    assert [(rows[name]["scheduled"], rows[name]["capped"]) for name in "ab"] == [(2, ["ready", "scheduled"]), (0, ["scheduled"])]  # fmt: skip
    for asked, total, more in (("state:scheduled queue:b", 2, False), ("state:ready queue:b", 1, False), ("state:ready queue:a", 2, True)):  # fmt: skip
        count = page.get("/api/jobs", q=asked).json["count"]
        assert (count["total"], count["more"]) == (total, more), asked


def test_what_an_action_can_change_is_counted_and_shown_for_it(page: Served, house: House) -> None:
    dead, ready = house.dead("send"), house.q.enqueue("send").id
    house.q.enqueue("other")
    for action, meant, q in (
        ("cancel", ready, "state:scheduled,waiting,ready,running kind:send"),
        ("purge", dead, "state:done,dead,cancelled kind:send"),
        ("retry", dead, "state:dead kind:send"),
    ):
        told = page.get("/api/jobs", q="kind:send", action=action).json
        assert ([row["id"] for row in told["jobs"]], told["count"]["total"], told["q"]) == ([meant], 1, q)
    assert page.get("/api/jobs", q="state:dead,ready", action="cancel").json["q"] == "state:ready"
    assert page.get("/api/jobs", q="state:dead", action="cancel").json["error"]["field"] == "q"
    assert page.get("/api/jobs", q="state:dead", action="pause").json["error"]["field"] == "action"


def test_the_last_jobs_of_a_schedule_are_told_with_it(page: Served, house: House) -> None:
    house.q.schedule("digest", "@daily", "send_*")
    house.q.schedule("other", "@daily", "send_*")
    made = page.act("run_cron", name="digest").json["said"].split()[-1]
    house.q.enqueue_many([tenure.NewJob(kind="send_mail") for _ in range(60)])  # of another kind, star or not
    runs = {one["name"]: one["runs"] for one in page.get("/api/cron").json["schedules"]}
    assert [(row["id"], row["state"]) for row in runs["digest"]] == [(made, "ready")]
    assert runs["other"] == []


def test_the_last_jobs_of_a_schedule_are_told_however_many_jobs_are_newer(page: Served, house: House) -> None:
    house.q.schedule("nightly", "@daily", "tidy", max_attempts=1)
    made = page.act("run_cron", name="nightly").json["said"].split()[-1]
    [claim] = house.q.claim()
    assert house.q.settle(claim, tenure.Fail("disk full"))
    for _ in range(3):
        house.q.enqueue_many([tenure.NewJob(kind="tidy") for _ in range(4_000)])
    [told] = page.get("/api/cron").json["schedules"]
    assert [(row["id"], row["state"]) for row in told["runs"]] == [(made, "dead")]
    assert told["failed"] is True
    page.app._desk.forget()  # type: ignore[attr-defined]
    wrong = page.get("/api/overview").json["wrong"]
    assert any(one["text"] == "1 schedule failed when last run: nightly" for one in wrong)


def test_a_bad_filter_is_pointed_at(page: Served) -> None:
    answer = page.get("/api/jobs", q="state:deed")
    assert answer.status == 400
    said = answer.json["error"]
    assert (said["start"], said["end"], said["near"]) == (6, 10, "dead")
    assert "dead" in said["expected"]
    assert said["text"]


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/api/jobs?limit=0", "limit"),
        ("/api/jobs?limit=many", "limit"),
        ("/api/jobs?limit=000000005999", "limit"),
        (f"/api/jobs?limit=000000001{5_000 * '0'}", "limit"),
        ("/api/jobs?before=yesterday", "before"),
        ("/api/jobs/no-id", "id"),
        ("/api/overview?span=2h", "span"),
        ("/api/audit?before=x", "before"),
        ("/api/flow/night?before=x", "before"),
        ("/api/chain/no-id", "id"),
    ],
)
def test_a_bad_argument_is_told_with_its_rule(page: Served, path: str, field: str) -> None:
    answer = page.get(path)
    assert answer.status == 400
    assert answer.json["error"]["field"] == field
    assert answer.json["error"]["rule"].startswith("must")


def test_a_filter_is_completed(page: Served, house: House) -> None:
    house.q.enqueue("send_mail", queue="post")
    told = page.get("/api/complete", q="state:de").json
    assert (told["start"], told["end"]) == (6, 8)
    assert "dead" in [one["text"] for one in told["candidates"]]
    assert [one["text"] for one in page.get("/api/complete", q="kind:send").json["candidates"]] == [
        "send_mail"
    ]
    assert page.get("/api/complete", q="queue:po state:x", at=8).json["candidates"][0]["text"] == "post"


def test_a_job_is_told_with_all_that_belongs_to_it(page: Served, house: House) -> None:
    text = {"to": "a@b.c", "n": 1.50}
    dead = house.dead("send", text, flow="import-7", tags=["vip"])
    child = house.q.enqueue_job(tenure.NewJob(kind="after", parent=dead, flow="import-7")).id
    told = page.get(f"/api/jobs/{dead}").json
    assert set(told) >= ROW
    assert json.loads(told["payload"]) == text
    [attempt] = told["history"]
    assert (attempt["error_kind"], attempt["message"]) == ("ValueError", "no such thing")
    assert (attempt["outcome"], attempt["traceback"]) == ("failed", "Traceback: here")
    assert "dead" in told["explain"]
    assert [row["id"] for row in told["children"]] == [child]
    assert told["cli"]["show"].startswith(f"tenure show {dead}")
    assert told["request"] is None
    assert page.get(f"/api/jobs/{child}").json["parent"] == dead
    flow = page.get("/api/flow/import-7").json["jobs"]
    assert [(row["id"], row["parent"]) for row in flow] == [(dead, None), (child, dead)]


def test_a_flow_is_told_with_the_runs_that_failed_of_jobs_that_ran_more_than_once(
    page: Served, house: House
) -> None:
    dead = house.dead("send", flow="night")
    once = house.dead("send", flow="night")
    assert house.q.replay(dead) == "replayed"
    [claim] = house.q.claim()
    house.q.settle(claim, tenure.Fail("again"))
    runs = {row["id"]: row["history"] for row in page.get("/api/flow/night").json["jobs"]}
    assert [(run["attempt"], run["outcome"]) for run in runs[dead]] == [(1, "failed"), (1, "failed")]
    assert runs[dead][0]["epoch"] < runs[dead][1]["epoch"]
    assert runs[dead][0]["finished_at"] <= runs[dead][1]["started_at"]
    assert runs[once] == []


def test_a_chain_is_told_from_its_first_job_that_is_there_whoever_of_it_is_asked_about(
    page: Served, house: House
) -> None:
    root = house.q.enqueue("root", parent="0190a5d0-0000-7000-8000-000000000000").id  # gone since
    children = [house.q.enqueue("child", parent=root).id for _ in range(2)]
    leaf = house.q.enqueue("leaf", parent=children[1]).id
    house.q.enqueue("stranger")
    for one in (root, children[0], leaf):
        told = page.get(f"/api/chain/{one}").json
        assert [(row["id"], row["parent"]) for row in told["jobs"]][1:] == [
            (children[0], root),
            (children[1], root),
            (leaf, children[1]),
        ]
        assert (told["root"], told["more"]) == (root, False)
    assert page.get("/api/chain/0190a5d0-0000-7000-8000-000000000001").status == 404


def test_a_long_chain_is_told_in_part_and_one_that_bites_its_tail_ends(
    page: Served, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = sys.modules["tenure.dashboard.api.chain"]
    first, second = new_id(), new_id()
    house.q.enqueue("a", id=first, parent=second)
    house.q.enqueue("b", id=second, parent=first)
    told = page.get(f"/api/chain/{first}").json
    assert ({row["id"] for row in told["jobs"]}, told["more"]) == ({first, second}, False)
    root = house.q.enqueue("root").id
    leaves = [house.q.enqueue("leaf", parent=root).id for _ in range(4)]
    monkeypatch.setattr(module, "MOST", 3)
    told = page.get(f"/api/chain/{root}").json
    assert ([row["id"] for row in told["jobs"]], told["more"]) == ([root, *leaves[2:]], True)
    monkeypatch.setattr(module, "MOST", 500)
    monkeypatch.setattr(module, "_LOOKS", 1)
    assert page.get(f"/api/chain/{leaves[0]}").json["more"]
    monkeypatch.setattr(module, "_UP", 0)
    told = page.get(f"/api/chain/{leaves[1]}").json
    assert ([row["id"] for row in told["jobs"]], told["more"]) == ([leaves[1]], True)


def test_the_jobs_of_a_flow_and_the_children_of_a_job_are_found_behind_any_number_of_others(
    page: Served, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenure.store.search.STRETCH", 5)
    for name in ("flow", "job"):
        monkeypatch.setattr(sys.modules[f"tenure.dashboard.api.{name}"], "LOOK", 2)
    made = [house.q.enqueue("root", flow="night").id]
    for _ in range(3):
        made.append(house.q.enqueue("leaf", flow="night", parent=made[0]).id)
        house.q.enqueue_many([tenure.NewJob(kind="other") for _ in range(40)])
    told = page.get(f"/api/jobs/{made[0]}").json
    assert ([row["id"] for row in told["children"]], told["more_children"]) == (made[:1:-1], True)
    newest = page.get("/api/flow/night").json
    older = page.get("/api/flow/night", before=newest["before"]).json
    assert [row["id"] for row in (*older["jobs"], *newest["jobs"])] == made
    assert older["before"] is None


def test_a_copied_command_means_the_same_store_wherever_it_is_run_and_tells_no_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with tenure.open("sqlite:///jobs of mine.db?durability=normal") as queue:
        job = queue.get(queue.enqueue("send").id)
    assert job is not None
    shown = commands_of(job, "sqlite:///jobs%20of%20mine.db?durability=normal")["show"]
    command = [sys.executable, "-m", *shlex.split(shown), "--json"]
    ran = subprocess.run(command, cwd="/", capture_output=True, check=True, timeout=60)
    assert json.loads(ran.stdout)["job"]["id"] == job.id
    assert commands_of(job, "postgresql://me@db/jobs")["retry"] == f"tenure retry {job.id} --url postgresql://me@db/jobs"  # fmt: skip
    for hidden in ("postgresql://me:s3cret@db/jobs", "postgresql://db/jobs?password=s3cret"):
        assert commands_of(job, hidden)["cancel"] == f"tenure cancel {job.id}"


@pytest.mark.parametrize(
    ("body", "shown"),
    [(b'{"a": "b"}', {"body_text": '{"a": "b"}'}), (b"plain", {"body_text": "plain"}), (b"\xff\x00", {"body_base64": "/wA="})],
    ids=["json", "text", "bytes"],
)  # fmt: skip
def test_the_request_that_a_job_was_made_from_is_shown_exactly(
    page: Served, house: House, body: bytes, shown: dict[str, str]
) -> None:
    request = tenure.Request(body, {"content-type": "x"})
    job = house.q.enqueue_job(tenure.NewJob(kind="hook", request=request))
    assert page.get(f"/api/jobs/{job.id}").json["request"] == {"headers": {"content-type": "x"}, **shown}


def test_a_job_that_is_not_there_is_404(page: Served) -> None:
    answer = page.get("/api/jobs/0190a5d0-0000-7000-8000-000000000000")
    assert (answer.status, list(answer.json)) == (404, ["error"])


def test_queues_workers_and_schedules_are_listed(page: Served, house: House) -> None:
    q = house.q
    q.enqueue("work", queue="mail")
    q.pause("mail")
    q.beat("w1", queues=["mail"], about=json.dumps({"running": 2, "lines": ["mail:5", "*:50"], "pid": 7}))
    q.schedule("digest", "0 9 * * *", "send_digest", {"to": "all"})
    [queue] = page.get("/api/queues").json["queues"]
    assert (queue["name"], queue["ready"], queue["paused"]) == ("mail", 1, True)
    assert queue["paused_at"]
    [worker] = page.get("/api/workers").json["workers"]
    assert (worker["id"], worker["slots"], worker["busy"], worker["queues"]) == ("w1", 55, 2, ["mail"])
    [schedule] = page.get("/api/cron").json["schedules"]
    assert (schedule["name"], schedule["kind"], len(schedule["next"])) == ("digest", "send_digest", 5)
    assert "9" in schedule["text"]


def test_the_jobs_that_each_worker_has_run_longest_are_told_of(page: Served, house: House) -> None:
    q, ran = house.q, dict[str, list[str]]()
    for worker in ("old", "busy"):
        q.beat(worker, about=json.dumps({"running": 9, "lines": ["*:20"]}))
        q.enqueue_many([tenure.NewJob(kind="work") for _ in range(9)])
        ran[worker] = [q.claim(worker=worker)[0].id for _ in range(9)]
    told = {one["id"]: [job["id"] for job in one["jobs"]] for one in page.get("/api/workers").json["workers"]}
    assert told == {worker: jobs[:7] for worker, jobs in ran.items()}


@pytest.mark.parametrize("about", [None, "", "no json", "[1]", '{"lines": [1, "x"], "running": "y"}'])
def test_a_worker_that_says_something_odd_of_itself_spoils_nothing(light: House, about: str | None) -> None:
    light.q.beat("w1", about=about)
    [worker] = light.serve().get("/api/workers").json["workers"]
    assert (worker["slots"], worker["busy"]) == (0, 0)


def test_the_other_pages_answer_where_there_is_nothing(page: Served) -> None:
    assert page.get("/api/errors").json == {"groups": []}
    assert page.get("/api/webhooks").json == {"served": False, "sources": []}
    assert page.get("/api/audit").json == {"entries": [], "before": None}
    assert page.get("/api/system").json["version"] == tenure.__version__


def test_the_system_tells_of_the_webhooks_of_a_gateway_in_this_process(light: House) -> None:
    @light.app.job
    async def on_event(event: dict[str, object]) -> None:
        pass

    token = "4242:token-of-nobody"
    with FakeTelegram(token=token) as telegram:
        bot = settings_of("telegram", token=f"inline:{token}", api=telegram.url)
        gateway = tenure.gateway.asgi(light.app, {"inline_secrets": True, "sources": [bot]})
        answer = light.serve(gateway=gateway).get("/api/system")
        [webhook] = [one for one in answer.json["findings"] if one["check"] == "webhook"]
    assert webhook["found"] == "telegram: Telegram sends its updates nowhere, 0 updates wait there"
    assert token.partition(":")[2].encode() not in answer.body
    assert not [one for one in light.serve().get("/api/system").json["findings"] if one["check"] == "webhook"]


def test_what_gateways_elsewhere_noted_in_the_store_is_told(page: Served, house: House) -> None:
    elsewhere = GatewayHouse(house.app.url)
    served = elsewhere.serve(settings_of("github"), settings_of("stripe"))
    body = body_of("github")
    assert [served.post("github", body, given).status for given in (headers_of("github", body), {}, {})] == [200, 401, 401]  # fmt: skip
    elsewhere.close()  # who leaves tells what it has not told yet
    told = page.get("/api/webhooks").json
    [source] = told["sources"]
    assert not told["served"]
    assert (source["slug"], source["status"], source["reason"], source["rejects"]) == ("github", 401, "no signature", {"no signature": 2})  # fmt: skip
    now = datetime.now(UTC)
    assert now > datetime.fromisoformat(source["at"]) >= datetime.fromisoformat(source["taken_at"]) > now - timedelta(hours=1)  # fmt: skip
    [finding] = [one for one in page.get("/api/system").json["findings"] if one["check"] == "deliveries"]
    assert "answered 401 (no signature)" in finding["found"]


def test_a_store_that_is_away_is_503_and_says_so(light: House) -> None:
    away = tenure.App("postgresql://nobody@127.0.0.1:1/none?connect_timeout=1")
    served = light.served(tenure.dashboard.asgi(away, close=True))
    answer = served.get("/api/queues")
    assert (answer.status, answer.headers["retry-after"]) == (503, "2")
    assert served.get("/api/me").status == 200
