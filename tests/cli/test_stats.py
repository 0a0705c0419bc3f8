"""`tenure stats`, `workers`, `pause` and `resume`, as people run them."""

from __future__ import annotations

import getpass
import json
import socket
from pathlib import Path

import tenure
from tests.cli.desk import Desk, dead
from tests.support.postgres import PostgresServer


def test_jobs_are_counted_by_queue_and_state(desk: Desk) -> None:
    with desk.queue() as q:
        dead(q, 2)
        q.enqueue("send", queue="mail", delay="10m")
        q.pause("mail")
        q.beat("w1")
    told = desk.run("stats")
    lines = told.out.splitlines()
    assert lines[0].split() == [
        "QUEUE",
        "SCHEDULED",
        "WAITING",
        "READY",
        "RUNNING",
        "DONE",
        "DEAD",
        "CANCELLED",
    ]
    assert lines[1].split() == ["default", "0", "0", "0", "0", "0", "2", "0"]
    assert lines[2].split()[:8] == ["mail", "1", "0", "0", "0", "0", "0", "0"]
    assert "paused" in lines[2]
    assert lines[3].split()[:3] == ["(all)", "1", "0"]
    assert lines[4].startswith("1 worker; next due in ")
    exact = desk.run("stats", "--json", "--exact").json
    assert exact["queues"]["default"]["dead"] == 2
    assert (exact["workers"], list(exact["paused"])) == (1, ["mail"])
    assert exact["more"] == {"finished": False, "others": False}


def test_an_empty_store_has_no_jobs(desk: Desk) -> None:
    told = desk.run("stats")
    assert (told.code, told.out) == (0, "there are no jobs\n0 workers\n")


def test_watching_goes_on_until_it_is_interrupted(desk: Desk) -> None:
    with desk.terminal("stats", "--watch", "--every", "50ms", NO_COLOR="1") as terminal:
        terminal.until("there are no jobs")
        with desk.queue() as q:
            dead(q, 7)
        terminal.until("\x1b[H\x1b[J")
        terminal.until("7")
        terminal.interrupt()
        assert terminal.end() == 130
        assert "Traceback" not in terminal.screen
    assert desk.run("stats", "--watch", "--every", "soon").code == 2
    assert desk.run("stats", "--watch", "--every", "0s").code == 2


def test_watching_outlasts_a_store_that_is_away_for_a_while(tmp_path: Path) -> None:
    with PostgresServer(durable=False) as server:
        desk = Desk(tmp_path, server.create_database("watched"))
        with desk.queue() as q:
            q.enqueue("send", queue="mail")
        with desk.terminal("stats", "--watch", "--every", "50ms", NO_COLOR="1") as terminal:
            terminal.until("mail")
            server.stop("immediate")
            terminal.until("the store is away: ")
            server.start()
            terminal.screen = ""
            terminal.until("mail")
            terminal.interrupt()
            assert terminal.end() == 130


def test_workers_are_listed_with_what_they_take(desk: Desk) -> None:
    assert desk.run("workers").code == 3
    with desk.queue() as q:
        about = {"running": 2, "lines": ["mail:10"], "rss": 61_400_000, "version": "0.1.0"}
        q.beat("host:1:a", queues=["mail"], kinds=["send", "resize"], about=json.dumps(about))
        q.beat("host:2:b", about="no JSON")
    lines = desk.run("workers").out.splitlines()
    assert lines[0].split() == ["WORKER", "STARTED", "SEEN", "BUSY", "MEMORY", "VERSION", "QUEUES", "KINDS"]
    assert lines[1].split()[0] == "host:1:a"
    assert lines[1].endswith("2/10  61 MB   0.1.0    mail    send, resize")
    assert lines[2].endswith("-     -       -        any     any")
    told = desk.run("workers", "--json").lines
    assert [w["queues"] for w in told] == [["mail"], None]
    assert [(w["running"], w["slots"], w["memory"], w["version"]) for w in told] == [(2, 10, 61_400_000, "0.1.0"), (None,) * 4]  # fmt: skip


def test_a_queue_is_paused_and_resumed(desk: Desk) -> None:
    with desk.queue() as q:
        q.enqueue("send", queue="mail")
    told = desk.run("pause", "mail", "mial")
    assert told.out.splitlines() == [
        "mail is paused; 1 jobs wait there",
        "mial is paused; no job of it is known; is that its name?",
    ]
    with desk.queue() as q:
        assert set(q.paused()) == {"mail", "mial"}
        assert q.claim() == []
    assert desk.run("resume", "mail", "other").out.splitlines() == ["mail goes on", "other was not paused"]
    assert desk.run("resume", "mial", "--json").json == {"mial": True}
    assert desk.run("resume", "mail").code == 3
    assert set(desk.run("pause", "mail", "--json").json) == {"mail"}


def test_what_is_done_is_kept_in_the_audit_with_who_did_it(desk: Desk) -> None:
    with desk.queue() as q:
        dead(q, 3)
        q.schedule("digest", "@daily", "send")
    done = (
        ("retry", "state:dead", "--yes"), ("cancel", "kind:send", "--yes"), ("purge", "state:cancelled", "--yes"), ("pause", "mail"),
        ("resume", "mail", "other"), ("cron", "run", "digest"), ("cron", "pause", "digest"), ("cron", "resume", "digest"),
    )  # fmt: skip
    for command in done:
        assert desk.run(*command).code == 0
    made = [desk.run("enqueue", "send", "{}", "--unique", "u", "--json").json["id"] for _ in range(2)]
    for nothing in (("retry", "state:dead", "--yes"), ("cancel", "kind:send", "--dry-run"), ("stats",)):
        desk.run(*nothing)
    with desk.queue() as q:
        kept = [*reversed(q.audits())]
    assert [(one.action, one.what, one.count) for one in kept] == [
        ("retry", "state:dead", 3), ("cancel", "kind:send", 3), ("purge", "state:cancelled", 3), ("pause", "mail", 1),
        ("resume", "mail", 1), ("run_cron", "digest", 1), ("pause_cron", "digest", 1), ("resume_cron", "digest", 1),
        ("enqueue", "send", 1), ("enqueue", "send", 0),
    ]  # fmt: skip
    assert {one.who for one in kept} == {f"cli {getpass.getuser()}@{socket.gethostname()}"}
    assert kept[0].said == "3 retried"
    assert [one.said for one in kept[-2:]] == [f"enqueued as {made[0]}", f"job {made[0]} was there"]


def test_figures_are_never_cut_where_the_terminal_is_narrow(desk: Desk) -> None:
    with desk.queue() as q:
        q.enqueue_many([tenure.NewJob(kind="send", queue="a-queue-with-a-long-name") for _ in range(1_234)])
        q.pause("a-queue-with-a-long-name")
    with desk.terminal("stats", COLUMNS="60", NO_COLOR="1") as terminal:
        assert terminal.end() == 0
    lines = [line for line in terminal.screen.split("\r\n") if line]
    assert max(map(len, lines)) <= 60
    assert lines[1].split()[:4] == ["a-que…", "0", "0", "1,234"]


def test_it_works_on_postgresql(postgres_desk: Desk) -> None:
    with postgres_desk.queue() as q:
        q.enqueue_many([tenure.NewJob(kind="send") for _ in range(60)])
        q.beat("w")
    assert postgres_desk.run("stats", "--json").json["queues"]["default"]["ready"] == 60
    assert postgres_desk.run("workers", "--json").json["id"] == "w"
    assert postgres_desk.run("pause", "default").out == "default is paused; 60 jobs wait there\n"
    assert postgres_desk.run("resume", "default").out == "default goes on\n"
