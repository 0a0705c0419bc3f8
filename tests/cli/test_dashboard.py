"""`tenure dashboard`, and the dashboard of `tenure up`."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

import tenure
from tenure.dashboard.passwords import check_password
from tests.cli.desk import dead
from tests.cli.files import write
from tests.cli.running import Running, running
from tests.cli.test_cli import tenure_command
from tests.support.workers import until

TOKEN = "0123456789abcdef-operator"
SERVE = ("dashboard", "--port", "0", "--json")


def told(url: str, token: str | None = None) -> dict[str, Any]:
    """One answer."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    with urlopen(Request(url, headers=headers), timeout=30) as answer:
        found: dict[str, Any] = json.load(answer)
        return found


def place(up: Running) -> str:
    """Where the dashboard of `up` is, as it says."""
    until(lambda: "dashboard " in up.log or up.process.poll() is not None)
    found = re.search(r"dashboard (http\S+)", up.log)
    assert found, up.log[-2000:]
    return found[1]


def test_it_serves_the_store_that_is_named_until_it_is_told_to_stop(tmp_path: Path, store: str) -> None:
    with running(tmp_path, *SERVE, TENURE_URL=store) as served:
        said = json.loads(served.line())
        assert not said["login"]
        with tenure.open(served.store) as q:
            q.enqueue("work")
        assert told(said["url"] + "api/jobs")["count"] == {"total": 1, "more": False, "states": {"ready": 1}}
        named = str(told(said["url"] + "api/me")["store"])
        assert (str(tmp_path) if store.startswith("sqlite") else store.partition("=")[2]) in named
        stream = urlopen(said["url"] + "api/stream", timeout=30)
        assert stream.readline()
        served.send(signal.SIGTERM)
        assert served.left() == 0
        stream.close()


def test_killed_while_it_acts_it_leaves_that_it_began_and_how_far_it_came(tmp_path: Path, store: str) -> None:
    with tenure.open(store) as q:
        made = dead(q, 9)
        with running(tmp_path, *SERVE, TENURE_URL=store) as served:
            url = json.loads(served.line())["url"]
            order = json.dumps({"action": "retry", "q": "state:dead", "rate": 2}).encode()
            csrf = told(url + "api/me")["csrf"]
            headers = {"Content-Type": "application/json", "X-Tenure-CSRF": csrf}
            with urlopen(Request(url + "api/act", order, headers), timeout=30) as answer:
                assert json.load(answer)["more"]
            served.kill()
        [kept] = q.audits()
        assert (kept.action, kept.what, kept.ended_at) == ("retry", "state:dead", None)
        assert (
            kept.said == f"{kept.count} jobs were started anew; it came as far as job {made[kept.count - 1]}"
        )
        assert q.counts()["default"]["ready"] - kept.count in (0, 2)
    with running(tmp_path, *SERVE, TENURE_URL=store) as served:
        [row] = told(json.loads(served.line())["url"] + "api/audit")["entries"]
    assert (row["count"], row["said"], row["ended"]) == (kept.count, kept.said, None)


def test_an_app_s_kinds_are_known_and_its_jobs_are_where_the_url_says(tmp_path: Path) -> None:
    folder = write(tmp_path)
    elsewhere = f"sqlite:///{tmp_path}/elsewhere.db"
    with tenure.open(elsewhere) as q:
        q.enqueue("work", queue="there")
    with running(folder, "dashboard", "bot:app", "--url", elsewhere, "--port", "0", "--json") as served:
        url = json.loads(served.line())["url"]
        assert [one["name"] for one in told(url + "api/queues")["queues"]] == ["there"]
        known = [one["text"] for one in told(url + "api/complete?q=kind:on_&at=8")["candidates"]]
        assert "on_update" in known
    answer = tenure_command(folder, "dashboard", "bot:nothing", "--url", elsewhere, "--port", "0")
    assert answer.returncode == 1
    assert "has no app named 'nothing'" in answer.stderr


def test_a_token_is_asked_for_where_one_is_named(tmp_path: Path) -> None:
    tenure.open(f"sqlite:///{tmp_path}/jobs.db").close()
    with running(tmp_path, *SERVE, "--token", "env:DESK", DESK=TOKEN) as served:
        url = json.loads(served.line())["url"]
        with pytest.raises(HTTPError) as caught:
            told(url + "api/me")
        assert caught.value.code == 401
        caught.value.close()
        assert told(url + "api/me", TOKEN)["role"] == "operator"


def test_a_file_that_is_not_there_is_not_shown_as_an_empty_store(tmp_path: Path) -> None:
    answer = tenure_command(tmp_path, "dashboard", "--port", "0", url="sqlite:///typo.db")
    assert answer.returncode == 1
    assert "there is no file 'typo.db' here; say where the jobs are" in answer.stderr
    assert not (tmp_path / "typo.db").exists()


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_it_refuses_other_addresses_without_a_password_or_token(tmp_path: Path, host: str) -> None:
    answer = tenure_command(tmp_path, "dashboard", "--host", host, "--port", "0", url="sqlite:///x.db")
    assert answer.returncode == 1
    assert "this machine alone" in answer.stderr
    assert "--password-hash" in answer.stderr


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (("--token", "env:NOT_SET"), "env:NOT_SET is not set"),
        (("--token", "letmein-letmein-letmein"), "env:NAME or file:/path"),
        (("--password-hash", "plain"), "env:NAME or file:/path"),
        (("--password-hash", "scrypt$1"), "must be a hash"),
        (("--url", "ftp://x"), "ftp"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_is_wrong_with_its_settings_is_one_sentence(
    tmp_path: Path, said: tuple[str, ...], why: str
) -> None:
    answer = tenure_command(tmp_path, "dashboard", "--port", "0", *said, url="sqlite:///x.db")
    assert answer.returncode in (1, 2)
    assert why in answer.stderr
    assert "Traceback" not in answer.stderr
    assert "letmein" not in answer.stderr


def test_a_hash_is_made_of_a_password() -> None:
    command = [sys.executable, "-m", "tenure", "dashboard", "hash", "--stdin"]
    made = subprocess.run(command, input="correct horse\n", capture_output=True, text=True, check=True).stdout
    assert check_password("correct horse", made.strip())


def test_up_serves_the_dashboard_too(tmp_path: Path, store: str) -> None:
    folder = write(tmp_path)
    with running(
        folder, "up", "bot:app", "--port", "0", "--json", "--dashboard", "0", TENURE_URL=store
    ) as up:
        json.loads(up.line())
        url = place(up)
        until(lambda: told(url + "api/workers")["workers"])
        assert [source["slug"] for source in told(url + "api/webhooks")["sources"]] == ["bot"]
        up.send(signal.SIGTERM)
        assert up.left() == 0


def test_the_dashboard_of_up_asks_who_one_is_masks_and_knows_the_app_s_kinds(tmp_path: Path) -> None:
    (write(tmp_path) / "gateway.toml").unlink()
    who = (
        "--token",
        "env:DESK",
        "--viewer-token",
        "env:LOOK",
        "--allow-host",
        "desk.example",
        "--mask",
        "chat",
    )
    with running(tmp_path, "up", "bot:app", "--json", "--dashboard", "0.0.0.0:0", *who, DESK=TOKEN, LOOK=f"{TOKEN}-not") as up:  # fmt: skip
        json.loads(up.line())
        url = place(up)
        for headers, code in ({}, 401), ({"Host": "evil.example"}, 421), ({"Host": "desk.example"}, 401):
            with pytest.raises(HTTPError) as caught:
                urlopen(Request(url + "api/me", headers=headers), timeout=30)
            assert caught.value.code == code
            caught.value.close()
        assert told(url + "api/me", TOKEN)["role"] == "operator"
        known = told(url + "api/complete?q=kind:on_&at=8", TOKEN)["candidates"]
        assert "on_update" in [one["text"] for one in known]
        with tenure.open(up.store) as q:
            job = q.enqueue("nobodys", {"chat": 7})
        assert json.loads(told(f"{url}api/jobs/{job.id}", TOKEN)["payload"]) == {"chat": 7}
        assert json.loads(told(f"{url}api/jobs/{job.id}", f"{TOKEN}-not")["payload"]) == {"chat": "***"}


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (("--dashboard", "0.0.0.0:0"), "this machine alone"),
        (("--token", "env:NOT_SET"), "env:NOT_SET is not set"),
        (("--dashboard", "-1", "--token", "env:PATH"), "--dashboard -1 serves none"),
        (("--dashboard", "here"), "no [HOST:]PORT"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_up_does_not_start_where_who_may_look_is_not_clear(
    tmp_path: Path, said: tuple[str, ...], why: str
) -> None:
    folder = write(tmp_path)
    answer = tenure_command(folder, "up", "bot:app", "--port", "0", *said, url="sqlite:///x.db", BOT_SECRET="x")  # fmt: skip
    assert answer.returncode in (1, 2)
    assert why in answer.stderr
    assert not (folder / "x.db").exists()


def test_up_does_not_start_where_the_port_that_was_named_is_taken(tmp_path: Path) -> None:
    folder = write(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        answer = tenure_command(
            folder, "up", "bot:app", "--port", "0", "--dashboard", port, url="sqlite:///x.db", BOT_SECRET="x"
        )
    assert answer.returncode == 1
    assert "another process listens there; choose another port with --dashboard" in answer.stderr


def test_up_serves_no_dashboard_where_none_is_wanted(tmp_path: Path) -> None:
    folder = write(tmp_path)
    with running(folder, "up", "bot:app", "--port", "0", "--json", "--dashboard", "-1") as up:
        json.loads(up.line())
        up.send(signal.SIGTERM)
        assert up.left() == 0
        assert "dashboard http" not in up.log
