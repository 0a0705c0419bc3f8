"""`tenure up`: gateway, worker and janitor in one process, started together and stopped in turn."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import tenure
from tenure.config import without_password
from tenure.gateway.lately import note_of
from tests.cli.files import SETTINGS, source, write
from tests.cli.running import Running, ask, closed, message, running
from tests.cli.test_cli import tenure_command
from tests.support.child import ROOT
from tests.support.workers import until

UP = ("up", "bot:app", "--port", "0", "--json")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a bot in it."""
    return write(tmp_path)


def ended(up: Running, job_id: str) -> tenure.JobSeen:
    """A job, once it has ended."""
    with tenure.open(up.store) as q:

        def seen() -> tenure.JobSeen:
            job = q.get(job_id)
            assert job is not None
            return job

        until(lambda: seen().state in ("done", "dead") or up.process.poll() is not None)
        assert up.process.poll() is None, up.log[-3000:]
        return seen()


def asked(url: str, path: str) -> tuple[threading.Thread, list[Any]]:
    """An update on its way, and what will have been answered."""
    answers: list[Any] = []

    def go() -> None:
        with suppress(OSError):
            answers.append(ask(url, path, message(1)).json)

    asking = threading.Thread(target=go)
    asking.start()
    return asking, answers


def test_an_update_is_taken_and_handled_by_the_same_process(folder: Path, store: str) -> None:
    with running(folder, *UP, TENURE_URL=store) as up:
        told = json.loads(up.line())
        assert told["store"] == without_password(store)
        assert told["worker"]["lines"] == ["*:50"]
        assert {"gateway.bot", "on_update"} <= set(told["worker"]["kinds"])
        answer = ask(told["gateway"]["url"], body=message(5))
        job = ended(up, answer.json["id"])
        assert (job.state, job.result) == ("done", 5)
        assert up.notes("handled") == [up.process.pid]
        up.send(signal.SIGTERM)
        assert up.left() == 0
        with tenure.open(up.store) as q:
            assert list(q.workers()) == []
            assert q.note(note_of("bot")) is not None  # told at the end, before it was time to


def test_the_first_commands_of_the_readme_enqueue_a_job_and_run_it(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    code, commands = (re.findall(rf"```{kind}\n(.*?)```", readme, re.DOTALL)[0] for kind in ("python", "sh"))
    enqueue, start = (line.partition("#")[0].split() for line in commands.splitlines())
    (tmp_path / "jobs.py").write_text(code, "utf-8")
    assert (enqueue, start) == (["python", "jobs.py"], ["tenure", "up", "jobs:app"])
    told = subprocess.run(
        [sys.executable, *enqueue[1:]], cwd=tmp_path, check=True, capture_output=True, text=True, timeout=60
    )
    with running(tmp_path, *start[1:], "--dashboard", "0") as up:
        assert ended(up, told.stdout.strip()).result == "sent to a@b.c"


def test_where_the_store_is_is_logged_once(folder: Path) -> None:
    with running(folder, *UP) as up:
        assert ask(up.url(), body=message(1)).status == 200
        up.send(signal.SIGTERM)
        assert up.left() == 0
        assert up.log.count("store: sqlite") == 1


def test_it_tells_on_one_screen_what_runs_where(folder: Path) -> None:
    with running(folder, "up", "bot:app", "--port", "0", "-q", "gateway:2") as up:
        lines = [up.line() for _ in range(5)]
        up.send(signal.SIGINT)
        assert up.left() == 0
    assert [line.split()[0] for line in lines] == ["store", "worker", "gateway", "POST", "Ctrl-C"]
    assert up.store in lines[0]
    assert "gateway:2" in lines[1]
    assert "http://127.0.0.1:" in lines[2]


def test_requests_under_way_have_their_worker_until_they_are_answered(folder: Path) -> None:
    write(folder, SETTINGS + source(slug="ask", handler="python:asks", deadline="30s", **{"async": False}))
    with running(folder, *UP) as up:
        url = up.url()
        asking, answers = asked(url, "/ask")
        until(lambda: up.notes("begun"))
        up.send(signal.SIGTERM)
        until(lambda: closed(url))
        up.open_gate()
        asking.join(30)
        assert answers == [{"told": 99}]
        assert up.left() == 0
        assert "has stopped" in up.log


@pytest.mark.parametrize("signals", [1, 2])
def test_a_job_that_runs_is_finished_after_one_signal_and_given_back_after_two(
    folder: Path, signals: int
) -> None:
    write(folder, source(handler="python:waits"))
    with running(folder, *UP) as up:
        url = up.url()
        job = ask(url, body=message(1)).json["id"]
        until(lambda: up.notes("begun"))
        up.send(signal.SIGTERM)
        until(lambda: closed(url))
        if signals == 1:
            up.open_gate()
        else:
            up.send(signal.SIGTERM)
        assert up.left() == 0, up.log
        with tenure.open(up.store) as q:
            seen = q.get(job)
            assert seen is not None
            assert (seen.state, seen.crashes) == ("done" if signals == 1 else "ready", 0)


def test_what_hangs_in_a_request_is_left_behind_when_the_grace_period_is_over(folder: Path) -> None:
    write(folder, SETTINGS + source(slug="ask", handler="python:hangs", deadline="60s", **{"async": False}))
    with running(folder, *UP, "--grace", "2s") as up:
        asking, answers = asked(up.url(), "/ask")
        until(lambda: up.notes("begun"))
        up.send(signal.SIGTERM)
        assert up.left() == 1
        assert "has stopped" in up.log
        assert "the grace period is over" in up.log
        asking.join(30)
        assert answers != [{"ok": True}]


def test_what_was_in_flight_at_kill_9_is_handled_after_a_restart(folder: Path, store: str) -> None:
    write(folder, source(handler="python:dies_once"))
    with running(folder, *UP, TENURE_URL=store) as up:
        job = ask(up.url(), body=message(1)).json["id"]
        assert up.left() == -signal.SIGKILL
    with running(folder, *UP, TENURE_URL=store) as again:
        again.url()
        seen = ended(again, job)
        assert (seen.state, seen.result, seen.crashes) == ("done", "survived", 1)
        assert again.process.pid not in again.notes("begun")


def test_without_settings_there_is_a_worker_alone(folder: Path) -> None:
    (folder / "gateway.toml").unlink()
    with running(folder, "up", "bot:app", "--json") as up:
        assert json.loads(up.line())["gateway"] is None
        with tenure.open(up.store) as q:
            job = q.enqueue("on_update", {"update": {"update_id": 3}})
        assert ended(up, job.id).result == 3
        up.send(signal.SIGTERM)
        assert up.left() == 0


def test_without_an_app_there_are_the_handlers_of_the_settings(tmp_path: Path) -> None:
    (tmp_path / "gateway.toml").write_text(source(handler="echo", token="env:BOT_TOKEN", api="http://127.0.0.1:1", max_attempts=1, apology=""))  # fmt: skip
    with running(tmp_path, "up", "--port", "0", "--json", BOT_TOKEN="1:abcd") as up:
        job = ended(up, ask(up.url(), body=message(1)).json["id"])
        assert job.state == "dead"
        assert "127.0.0.1:1" in (job.error or "")
        assert "abcd" not in up.log


def test_sync_sources_alone_need_no_worker(tmp_path: Path) -> None:
    (tmp_path / "gateway.toml").write_text(source(handler="echo", **{"async": False}))
    with running(tmp_path, "up", "--port", "0", "--json", "--dashboard", "-1") as up:
        told = json.loads(up.line())
        assert told["worker"] is None
        answer = ask(told["gateway"]["url"], body=message(1, "hi"))
        assert answer.json == {"method": "sendMessage", "chat_id": 7, "text": "hi"}
        up.send(signal.SIGTERM)
        assert up.left() == 0
        assert "has stopped" in up.log


@pytest.mark.parametrize("handler", ["echo", "python:greet"])
def test_with_the_queue_switched_off_sync_sources_run_and_nothing_else(tmp_path: Path, handler: str) -> None:
    (tmp_path / "gateway.toml").write_text(source(handler=handler, **{"async": False}))
    (tmp_path / "polite.py").write_text(
        "import tenure\napp = tenure.App()\n@app.job\nasync def greet(event: dict) -> str:\n    return 'hi'\n"
    )
    named = ["polite:app"] if handler != "echo" else []
    with running(tmp_path, "up", *named, "--port", "0", "--json", TENURE_URL="none") as up:
        told = json.loads(up.line())
        assert (told["store"], told["worker"], told["dashboard"]) == (None, None, None)
        assert ask(told["gateway"]["url"], body=message(1, "hi")).status == 200
        up.send(signal.SIGTERM)
        assert up.left() == 0
    assert list(tmp_path.glob("*.db")) == []


def test_there_is_no_dashboard_of_a_queue_that_is_switched_off(tmp_path: Path) -> None:
    (tmp_path / "gateway.toml").write_text(source(handler="echo", **{"async": False}))
    with running(tmp_path, "up", "--port", "0", "--dashboard", "0", TENURE_URL="none") as up:
        assert up.left() == 2
        assert "nothing that a dashboard could show" in up.log


@pytest.mark.parametrize("args", [UP, ("janitor", "bot:app")], ids=["up", "janitor"])
def test_a_signal_is_heard_whichever_thread_takes_it(folder: Path, args: tuple[str, ...]) -> None:
    with running(folder, *args) as up:
        until(lambda: up.threads and ("works on" in up.log or args is not UP))
        os.kill(max(up.threads), signal.SIGTERM)
        assert up.left() == 0, up.log


def test_a_janitor_tells_programs_what_it_does_and_at_the_end_what_it_moved(folder: Path) -> None:
    with running(folder, "janitor", "bot:app", "--json") as janitor:
        began = json.loads(janitor.line())
        assert began["store"] == janitor.store
        assert {"promote", "expire", "reclaim", "fire", "retain"} < set(began["chores"])
        with tenure.open(janitor.store) as q:
            job = q.enqueue("on_update", {}, expires_in="1us")

            def state() -> str:
                seen = q.get(job.id)
                assert seen is not None
                return seen.state

            until(lambda: state() == "cancelled")
        janitor.send(signal.SIGTERM)
        moved = json.loads(janitor.line())
        assert janitor.left() == 0
        assert list(moved) == began["chores"]
        assert moved["expire"] == 1


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["up"], 2, "source 'bot': python:on_update is a function of yours"),
        (["up", "bot:app", "-f", "nosuch.toml"], 2, "there is no file 'nosuch.toml'"),
        (["up", "bot:app", "-c", "0"], 1, "concurrency: must be from 1 to 10000"),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, list) else "",
)
def test_a_mistake_is_told_in_one_sentence(folder: Path, args: list[str], code: int, words: str) -> None:
    done = tenure_command(folder, *args, url=f"sqlite:///{folder}/jobs.db", BOT_SECRET="abc")
    assert done.returncode == code
    errors = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 1, done.stderr
    assert words in errors[0]
    assert not (folder / "jobs.db").exists()


def test_with_nothing_to_run_there_are_the_dashboard_and_the_janitor_and_it_says_what_to_name(tmp_path: Path) -> None:  # fmt: skip
    with running(tmp_path, "up", "--dashboard", "0") as up:
        lines = [up.line() for _ in range(4)]
        assert [line.split()[0] for line in lines] == ["store", "worker", "janitor", "Ctrl-C"]
        assert "no app was named (tenure up module:app)" in lines[1]
        until(lambda: "dashboard http://" in up.log)
        assert ask(re.findall(r"dashboard (http://\S+)/", up.log)[0], "/api/me").status == 200
        with tenure.open(up.store) as q:
            job = q.enqueue("nobody", expires_in="1us").id
            until(lambda: (seen := q.get(job)) is not None and seen.state == "cancelled")
        up.send(signal.SIGTERM)
        assert up.left() == 0, up.log


def test_options_of_a_worker_need_an_app(tmp_path: Path) -> None:
    done = tenure_command(tmp_path, "up", "-c", "5")
    assert done.returncode == 2
    assert "there is no app whose jobs it could run" in done.stderr


def test_a_store_that_cannot_be_opened_is_told_and_nothing_starts(folder: Path) -> None:
    done = tenure_command(
        folder, "up", "bot:app", "--port", "0", url=f"sqlite:///{folder}/nosuch/jobs.db", BOT_SECRET="abc"
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert len([line for line in done.stderr.splitlines() if line.startswith("Error: ")]) == 1
    assert "Traceback" not in done.stderr
