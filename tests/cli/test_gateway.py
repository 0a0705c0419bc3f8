"""`tenure gateway`, as people run it: in a process of its own, on a real port, stopped by real signals."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

import tenure
from tests.cli.files import CERTIFICATE, KEY, SETTINGS, source, write
from tests.cli.running import Running, ask, closed, message, running
from tests.cli.test_cli import tenure_command
from tests.support.workers import until

SERVE = ("gateway", "bot:app", "--port", "0", "--json")
ECHO = source(handler="echo", **{"async": False})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a bot in it."""
    return write(tmp_path)


def asked(url: str, number: int = 1) -> tuple[threading.Thread, list[Any]]:
    """An update on its way, and what will have been answered."""
    answers: list[Any] = []

    def go() -> None:
        try:
            answers.append(ask(url, body=message(number)).json)
        except (OSError, http.client.HTTPException) as error:
            answers.append(type(error).__name__)

    asking = threading.Thread(target=go)
    asking.start()
    return asking, answers


def begun(gateway: Running) -> None:
    until(lambda: gateway.notes("begun") or gateway.process.poll() is not None)
    assert gateway.notes("begun"), gateway.log


def test_what_is_sent_is_a_job_when_it_is_answered(folder: Path, store: str) -> None:
    with running(folder, *SERVE, TENURE_URL=store) as gateway:
        url = gateway.url()
        answer = ask(url, body=message(1))
        assert answer.status == 200
        with tenure.open(gateway.store) as q:
            job = q.get(answer.json["id"])
            assert job is not None
            assert (job.kind, job.queue, job.state) == ("gateway.bot", "gateway", "ready")
        assert ask(url, body=message(1)).json == {**answer.json, "duplicate": True}
        assert ask(url, body=message(2), secret="wrong").status == 401
        gateway.send(signal.SIGTERM)
        assert gateway.left() == 0
        assert "nobodys-secret" not in gateway.log


def test_it_says_where_it_listens_and_what_for(folder: Path) -> None:
    write(folder, SETTINGS + source(slug="sync", handler="python:waits", **{"async": False}))
    with running(folder, "gateway", "bot:app", "--port", "0") as gateway:
        first, *rest = [gateway.line() for _ in range(3)]
        assert first.startswith("the gateway listens on http://127.0.0.1:")
        assert [line.split() for line in rest] == [
            ["POST", "/bot", "telegram", "python:on_update", "as", "a", "job", "in", "gateway"],
            ["POST", "/sync", "telegram", "python:waits", "in", "the", "request"],
        ]
        assert ask(first.split()[-1], "/readyz").status == 200
        gateway.send(signal.SIGINT)
        assert gateway.left() == 0


def test_a_request_under_way_when_it_is_told_to_stop_is_answered(folder: Path) -> None:
    write(folder, source(handler="python:waits", deadline="30s", **{"async": False}))
    with running(folder, *SERVE) as gateway:
        url = gateway.url()
        asking, answers = asked(url)
        begun(gateway)
        gateway.send(signal.SIGTERM)
        until(lambda: closed(url))
        gateway.open_gate()
        asking.join(30)
        assert answers == [{"in": "time"}]
        assert gateway.left() == 0


def test_told_twice_it_waits_for_nobody(folder: Path) -> None:
    write(folder, source(handler="python:waits", deadline="60s", **{"async": False}))
    with running(folder, *SERVE) as gateway:
        url = gateway.url()
        asking, answers = asked(url)
        begun(gateway)
        gateway.send(signal.SIGTERM)
        until(lambda: closed(url))
        gateway.send(signal.SIGTERM)
        assert gateway.left() in (0, 1)
        asking.join(30)
        assert answers != [{"in": "time"}]


def test_what_hangs_is_left_behind_when_the_grace_period_is_over(folder: Path) -> None:
    write(folder, source(handler="python:hangs", deadline="60s", **{"async": False}))
    with running(folder, *SERVE, "--grace", "1s") as gateway:
        asking, _ = asked(gateway.url())
        begun(gateway)
        gateway.send(signal.SIGTERM)
        assert gateway.left() == 1
        assert "the grace period is over" in gateway.log
        asking.join(30)


def test_that_it_has_stopped_is_said_when_the_last_handler_has(folder: Path) -> None:
    write(folder, source(handler="python:outlasts", deadline="100ms", **{"async": False}))
    with running(folder, *SERVE) as gateway:
        url = gateway.url()
        assert ask(url, body=message(1)).status == 503
        gateway.send(signal.SIGTERM)
        until(lambda: closed(url))
        gateway.open_gate()
        assert gateway.left() == 0
        assert gateway.log.index("outlasted") < gateway.log.index("the gateway has stopped")


def test_nothing_that_was_acknowledged_is_lost_by_kill_9(folder: Path, store: str) -> None:
    with running(folder, *SERVE, TENURE_URL=store) as gateway:
        url, acknowledged = gateway.url(), {}
        for number in range(1, 21):
            acknowledged[number] = ask(url, body=message(number, person=number)).json["id"]
            if number == 10:
                under_way = [asked(url, 100 + n) for n in range(5)]
        gateway.kill()
        for asking, _ in under_way:
            asking.join(30)
    acknowledged |= {100 + n: told[0]["id"] for n, (_, told) in enumerate(under_way) if isinstance(told[0], dict)}  # fmt: skip
    with tenure.open(gateway.store) as q:
        kept = {job.id for job in q.list(limit=1_000)}
    assert set(acknowledged.values()) <= kept
    with running(folder, *SERVE, TENURE_URL=store) as again:
        answer = ask(again.url(), body=message(20, person=20))
        assert answer.json == {"ok": True, "id": acknowledged[20], "duplicate": True}


def test_it_needs_no_app_where_no_handler_is_a_function(tmp_path: Path) -> None:
    (tmp_path / "hooks.toml").write_text(source(handler="echo", token="env:BOT_TOKEN"))
    with running(
        tmp_path, "gateway", "-f", "hooks.toml", "--port", "0", "--json", BOT_TOKEN="1:abcd"
    ) as gateway:
        answer = ask(gateway.url(), body=message(1))
        assert answer.json["ok"] is True
        assert answer.json["id"]


@pytest.mark.parametrize("how", ["--no-store", "TENURE_URL=none"])
def test_sync_sources_need_no_store(tmp_path: Path, how: str) -> None:
    (tmp_path / "gateway.toml").write_text(ECHO)
    flags, off = ([how], {}) if how.startswith("--") else ([], {"TENURE_URL": "none"})
    with running(tmp_path, "gateway", "--port", "0", "--json", *flags, **off) as gateway:
        answer = ask(gateway.url(), body=message(1, "hello"))
        assert answer.json == {"method": "sendMessage", "chat_id": 7, "text": "hello"}
        assert list(tmp_path.glob("*.db")) == []


def test_it_speaks_https_with_a_certificate(tmp_path: Path) -> None:
    (tmp_path / "gateway.toml").write_text(ECHO)
    (tmp_path / "cert.pem").write_text(CERTIFICATE)
    (tmp_path / "key.pem").write_text(KEY)
    tls = ("--certfile", "cert.pem", "--keyfile", "key.pem")
    with running(tmp_path, "gateway", "--port", "0", "--json", *tls) as gateway:
        url = gateway.url()
        assert url.startswith("https://127.0.0.1:")
        assert ask(url, "/healthz").status == 200


def test_every_problem_is_told_at_once_and_the_exit_code_is_2(folder: Path) -> None:
    wrong = source(slug="a b", handler="python:on_updat", retry=[]) + source(
        slug="c", type="telegran", timeout="soon"
    )
    (folder / "gateway.toml").write_text(wrong)
    ended = tenure_command(folder, "gateway", "bot:app", url=f"sqlite:///{folder}/jobs.db")
    assert ended.returncode == 2
    lines = ended.stderr.splitlines()
    assert all(line.startswith(("Error: ", "20")) for line in lines), ended.stderr
    told = "\n".join(line for line in lines if line.startswith("Error: "))
    for words in (
        "slug must be", "did you mean 'on_update'", "retry must be", "the secret env:BOT_SECRET is not set",
        "no type 'telegran'; did you mean 'telegram'?", "timeout: must be a duration, got 'soon'",
    ):  # fmt: skip
        assert words in told
    assert not (folder / "jobs.db").exists()


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["gateway", "-f", "nosuch.toml"], "there is no file 'nosuch.toml'"),
        (["gateway"], "source 'bot': python:on_update is a function of yours; name the app that has it"),
        (["gateway", "nosuch:app"], "there is no module 'nosuch' here"),
        (["gateway", "bot:app", "--port", "70000"], "70000 is not in the range"),
        (["gateway", "bot:app", "--grace", "0"], "grace: must be longer than zero"),
        (["gateway", "bot:app", "--host", "no.such.host.invalid"], "no host of this name is known"),
        (["gateway", "bot:app", "--host", "192.0.2.1"], "this machine has no such address"),
        (["gateway", "bot:app", "--certfile", "nosuch.pem"], "--certfile: there is no file 'nosuch.pem'"),
        (["gateway", "bot:app", "--keyfile", "bot.py"], "--keyfile needs --certfile"),
        (["gateway", "bot:app", "--certfile", "bot.py"], "not a certificate"),
        (["gateway", "bot:app", "--no-store"], "async needs a store, and there is none"),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, list) else "",
)
def test_a_mistake_is_told_in_one_sentence(folder: Path, args: list[str], told: str) -> None:
    ended = tenure_command(folder, *args, url=f"sqlite:///{folder}/jobs.db", BOT_SECRET="abc")
    assert ended.returncode in (1, 2)
    errors = [line for line in ended.stderr.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 1, ended.stderr
    assert told in errors[0]
    assert "Traceback" not in ended.stderr


def test_a_port_that_is_taken_is_told_in_one_sentence(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        for command in ("gateway", "up"):
            ended = tenure_command(folder, command, "bot:app", "--port", port, url=f"sqlite:///{folder}/jobs.db", BOT_SECRET="abc")  # fmt: skip
            assert ended.returncode == 1
            assert (
                f"Error: cannot listen on 127.0.0.1 port {port}: another process listens there"
                in ended.stderr
            )
            assert not (folder / "jobs.db").exists()


def test_what_is_no_store_is_told_in_one_sentence_and_nothing_is_served(folder: Path) -> None:
    (folder / "jobs.db").write_bytes(b"not a database" * 100)
    ended = tenure_command(folder, "gateway", "bot:app", "--port", "0", url=f"sqlite:///{folder}/jobs.db", BOT_SECRET="abc")  # fmt: skip
    assert ended.returncode == 2
    assert ended.stdout == ""
    [error] = [line for line in ended.stderr.splitlines() if line.startswith("Error: ")]
    assert "jobs.db is not a SQLite database" in error
    assert "Traceback" not in ended.stderr


def test_help_is_told_for_serving_and_for_each_command(tmp_path: Path) -> None:
    for args, words in (
        (["gateway", "--help"], ["tenure gateway bot:app", "--certfile", "tenure gateway check", "--grace"]),
        (["gateway", "check", "--help"], ["--json", "exit code is 1"]),
        (["gateway", "telegram", "--help"], ["set-webhook", "info", "delete", "code"]),
        (["gateway", "telegram", "set-webhook", "--help"], ["--url", "--allowed-updates", "8443"]),
    ):
        told = tenure_command(tmp_path, *args)
        assert told.returncode == 0, told.stderr
        assert [word for word in words if word not in told.stdout] == []


def test_the_line_of_json_holds_the_sources(folder: Path) -> None:
    with running(folder, *SERVE) as gateway:
        told = json.loads(gateway.line())
    [one] = told["sources"]
    assert (one["slug"], one["path"], one["async"], one["queue"]) == ("bot", "/bot", True, "gateway")
    assert one["secrets"] == [{"reference": "env:BOT_SECRET", "found": True}]
