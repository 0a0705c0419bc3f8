"""`tenure top`, as people run it: live on a terminal, and once for programs."""

from __future__ import annotations

import json
import signal

import tenure
from tenure.cli.desk.picture import lines
from tenure.figures import ErrorTally, Histogram, Tally
from tests.cli.desk import Desk, dead


def fill(q: tenure.Queue) -> None:
    """A queue that is paused, one that is worked on, a worker that says much of itself, and failures."""
    q.enqueue_many([tenure.NewJob(kind="letter", queue="bulk") for _ in range(12)])
    q.pause("bulk")
    q.enqueue("resize", queue="pictures")
    [claim] = q.claim(kinds=["resize"], worker="host:1:a")
    q.progress(claim, 0.25, "a quarter \x1b[2J of it")
    about = {"running": 1, "lines": ["pictures:4", "*:6"], "rss": 52_000_000, "version": "9.9.9"}
    q.beat("host:1:a", queues=["pictures", "mail"], about=json.dumps(about))
    tally = Tally("mail", "send", done=240, failed=12, dead=3, waited=Histogram([0.2] * 9), ran=Histogram([3.0] * 9))  # fmt: skip
    q.add_figures(
        "host:1:a",
        [tally],
        [ErrorTally("f1", "send", "TimeoutError", "no answer", claim.id, 12, 3, "mail.py:41 in send")],
    )


def test_a_look_for_programs_has_all_of_it(desk: Desk) -> None:
    with desk.queue() as q:
        fill(q)
    told = desk.run("top", "--json").json
    queues = {one["name"]: one for one in told["queues"]}
    assert (queues["bulk"]["ready"], queues["bulk"]["paused"]) == (12, True)
    assert queues["pictures"]["running"] == 1
    assert queues["mail"]["done_per_second"] > 0 < queues["mail"]["failed_per_second"]
    assert 2.5 < queues["mail"]["run_p95"] < 3.5
    assert told["totals"]["ready"] == 12
    [worker] = told["workers"]
    assert (worker["running"], worker["slots"], worker["memory"], worker["version"]) == (1, 10, 52_000_000, "9.9.9")  # fmt: skip
    [running] = told["running"]
    assert (running["kind"], running["progress"]) == ("resize", 0.25)
    [error] = told["errors"]
    assert (error["count"], error["dead"], error["error_kind"]) == (12, 3, "TimeoutError")
    assert error["frame"] == "mail.py:41 in send"


def test_the_jobs_that_have_run_longest_are_told_of_and_how_many_are_left(desk: Desk) -> None:
    with desk.queue() as q:
        for number in range(53):
            q.enqueue("work", priority=1 if number == 52 else 0)
        [stuck] = q.claim()  # the newest, and the first to run
        q.claim(52)
    told = desk.run("top", "--json").json
    assert (len(told["running"]), told["running"][0]["id"], told["running_left"]) == (50, stuck.id, 3)
    out = desk.run("top").out
    assert "… and 3 more" in out
    with desk.queue() as q:
        q.settle(stuck, tenure.Done())
        q.enqueue_many([tenure.NewJob(kind="work") for _ in range(60)])
        q.claim(60)
        oldest = min(q.list(tenure.Filter(states=["running"]), limit=200), key=lambda job: job.id).id
    told = desk.run("top", "--json").json
    assert (oldest in {one["id"] for one in told["running"]}, told["running_left"]) == (True, 62)


def test_without_a_terminal_it_looks_once(desk: Desk) -> None:
    with desk.queue() as q:
        fill(q)
    told = desk.run("top")
    assert told.code == 0
    for words in ("1 worker, 1 of 10 slots busy", "12 ready", "paused", "52 MB", "9.9.9", "25% a quarter", "TimeoutError: no answer  at mail.py:41 in send"):  # fmt: skip
        assert words in told.out
    assert "\x1b" not in told.out


def test_an_empty_store_has_no_jobs(desk: Desk) -> None:
    assert "there are no jobs" in desk.run("top", "--once").out
    assert desk.run("top", "--every", "1ms").code == 2
    assert desk.run("top", "--every", "soon").code == 2


SPAN = {"done_per_second": 1.0, "failed_per_second": 0.0, "wait_p95": None, "run_p95": None, "oldest_ready": None}  # fmt: skip


def test_a_count_that_ended_at_its_cap_has_a_plus_in_each_queue_it_may_be_short_of() -> None:
    totals = {"ready": 9_003, "running": 4, "scheduled": 10_000, "waiting": 0, "overdue_leases": 0, **SPAN}
    queues = [
        {"name": "a", "paused": False, "ready": 9_000, "running": 4, "scheduled": 10_000, "waiting": 0, "capped": ["ready", "scheduled"], **SPAN},
        {"name": "b", "paused": False, "ready": 3, "running": 0, "scheduled": 0, "waiting": 0, "capped": ["scheduled"], **SPAN},
    ]  # fmt: skip
    told = {"at": "2026-03-01T12:00:00+00:00", "capped": True, "totals": {**totals, "capped": ["ready", "scheduled"]}, "queues": queues, "workers": [], "running": [], "errors": []}  # fmt: skip
    rows = [line.text.split() for line in lines(told, "x", None)]
    assert [row[1:5] for row in rows if row[:1] in (["a"], ["b"])] == [["9,000+", "4", "10,000+", "0"], ["3", "0", "0+", "0"]]  # fmt: skip
    assert "9,003+ ready, 4 running, 10,000+ scheduled, 0 waiting" in " ".join(rows[1])


def test_each_part_has_its_share_of_a_small_screen() -> None:
    states = dict.fromkeys(("ready", "running", "scheduled", "waiting"), 1)
    at = "2026-03-01T12:00:00+00:00"
    worker = {"id": "w", "started_at": at, "seen_at": at, "running": 1, "slots": 2, "memory": None, "version": None, "queues": None}  # fmt: skip
    error = {
        "count": 1,
        "dead": 0,
        "last_seen": at,
        "kind": "send",
        "error_kind": "OSError",
        "message": "no",
        "frame": "",
    }
    told = {
        "at": at, "capped": False, "totals": {**states, **SPAN, "overdue_leases": 0, "capped": []},
        "queues": [{"name": f"q{n}", "paused": False, "capped": [], **states, **SPAN} for n in range(40)],
        "workers": [worker], "running": [], "errors": [error] * 9,
    }  # fmt: skip
    job = {
        "id": "j",
        "kind": "k",
        "queue": "q",
        "attempt": 1,
        "seconds": 1.0,
        "progress": None,
        "note": None,
    }
    some = {**told, "queues": told["queues"][:1], "errors": [], "running": [job] * 4, "running_left": 1_200}  # type: ignore[index]
    drawn = [line.text for line in lines(some, "sqlite:///x.db", 15)]
    assert (len(drawn), drawn[-1]) == (15, "… and 1,201 more")
    assert [line.text for line in lines(some, "sqlite:///x.db", None)][-2:] == [drawn[-2], "… and 1,200 more"]
    drawn = [line.text for line in lines(told, "sqlite:///x.db", 23)]
    assert len(drawn) == 23
    assert [line.split()[0] for line in drawn if line.isupper() or "QUEUE" in line] == [
        "QUEUE",
        "WORKER",
        "ERRORS",
    ]
    assert [line for line in drawn if line.startswith("…")] == ["… and 34 more", "… and 4 more"]


def test_jobs_that_nobody_will_run_are_said_in_red(desk: Desk) -> None:
    with desk.queue() as q:
        q.enqueue("send")
    with desk.terminal("top", "--once") as terminal:
        assert terminal.end() == 0
        assert "\x1b[31mjobs are ready, and no worker lives" in terminal.screen


def test_on_a_terminal_it_looks_again_and_again_until_q(desk: Desk) -> None:
    with desk.terminal("top", "--every", "50ms", NO_COLOR="1") as terminal:
        terminal.until("there are no jobs")
        assert terminal.screen.startswith("\x1b[?1049h")
        with desk.queue() as q:
            dead(q, 3)
            q.enqueue_many([tenure.NewJob(kind="send", queue="mail") for _ in range(4_321)])
        terminal.until("4,321 ready")
        terminal.type("q")
        assert terminal.end() == 0
        assert terminal.screen.endswith("\x1b[?25h\x1b[?1049l")
        rows = terminal.screen.replace("\x1b[K", "").split("\r\n")
        assert max(len(row) for row in rows if "\x1b" not in row) <= 100


def test_however_it_ends_the_terminal_is_given_back(desk: Desk) -> None:
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        with desk.terminal("top") as terminal:
            terminal.until("q ends")
            terminal.process.send_signal(number)
            assert terminal.end() == code
            assert terminal.screen.endswith("\x1b[?25h\x1b[?1049l")
            assert "Traceback" not in terminal.screen


def test_it_works_on_postgresql(postgres_desk: Desk) -> None:
    with postgres_desk.queue() as q:
        fill(q)
    told = postgres_desk.run("top", "--json").json
    assert told["totals"]["ready"] == 12
    assert [one["name"] for one in told["queues"]] == ["bulk", "mail", "pictures"]
    assert told["errors"][0]["count"] == 12
