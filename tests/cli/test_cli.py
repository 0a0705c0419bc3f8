"""The command `tenure`, as people run it: in a process of its own."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

import tenure
from tests.support.fresh import KINDS, Kind, fresh_url

SHOP = """
import logging
import tenure

app = tenure.App(retain={"done": "7d"})

@app.job
async def send(to: str) -> str:
    logging.getLogger("shop").info("sending to %s with password=hunter2", to)
    return to

@app.cron("0 0 1 1 *", args={"to": "all"})
@app.job
async def digest(to: str) -> None: ...

class other:
    app = app
"""
BROKEN = "import no_such_library\n"
DESK = ("enqueue", "list", "show", "explain", "retry", "cancel", "purge", "stats", "top", "workers", "pause", "resume", "cron", "migrate", "bench")  # fmt: skip


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A folder with an app in it."""
    (tmp_path / "shop.py").write_text(SHOP)
    (tmp_path / "broken.py").write_text(BROKEN)
    return tmp_path


def tenure_command(folder: Path, *args: str, url: str = "none", **environment: str) -> subprocess.CompletedProcess[str]:  # fmt: skip
    """`tenure …`, run in this folder."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "tenure", *args],
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        cwd=folder,
        env={**os.environ, "TENURE_URL": url, "TMPDIR": str(folder), "COLUMNS": "100", **environment},
    )


def test_help_teaches_how_to_begin(tmp_path: Path) -> None:
    for args in (["--help"], ["-h"], []):
        told = tenure_command(tmp_path, *args)
        text = told.stdout + told.stderr
        assert told.returncode == (0 if args else 2)
        for word in (
            "tenure demo",
            "tenure worker shop.jobs:app",
            "$TENURE_URL",
            "worker",
            "gateway",
            "dashboard",
            "up",
            "janitor",
            "Commands:",
        ):
            assert word in text


@pytest.mark.parametrize("command", [*("worker", "gateway", "dashboard", "up", "janitor", "demo"), *DESK])
def test_every_command_has_help_of_its_own(tmp_path: Path, command: str) -> None:
    told = tenure_command(tmp_path, command, "--help")
    assert told.returncode == 0
    assert f"tenure {command}" in told.stdout


def test_the_version_is_told(tmp_path: Path) -> None:
    assert tenure_command(tmp_path, "--version").stdout.split()[-1] == tenure.__version__


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["worker", "nosuch:app"], "there is no module 'nosuch' here"),
        (["worker", "nosuch.py:app"], "there is no file 'nosuch.py'"),
        (["worker", "shop"], "write module:app"),
        (["worker", ":app"], "write module:app"),
        (["worker", "shop:nope"], "shop has no app named 'nope'; it has app"),
        (["worker", "json:app"], "it has no tenure.App"),
        (["worker", "shop:app", "-q", "mail:0"], "queues: must be from 1 to 10000, got 0"),
        (["worker", "shop:app", "-q", "mail:-1"], "queues: must be NAME or NAME:N, got 'mail:-1'"),
        (["worker", "shop:app", "-q", "a", "-q", "a:2"], "queues: must name each queue once"),
        (["worker", "shop:app", "-c", "0"], "concurrency: must be from 1 to 10000"),
        (["worker", "shop:app", "--lease", "soon"], "lease: must be a duration, got 'soon'"),
        (["worker", "shop:app", "--grace", "0"], "grace: must be longer than zero"),
        (["worker", "shop:app"], "the queue is switched off"),
        (["janitor", "nosuch:app", "--once"], "there is no module 'nosuch' here"),
        (["janitor", "shop:app", "--once"], "the queue is switched off"),
        (["janitor", "--once"], "the queue is switched off"),
        (["janitor", "shop:app", "--url", "sqlite:///a.db"], "APP and --url both say where the jobs are"),
        (["janitor", "--once", "--url", "sqlite:///nosuch.db"], "there is no file 'nosuch.db' here"),
        (["worker", "shop:app", "-c", "many"], "'many' is not a valid integer"),
        (["worker", "shop:app", "--processes", "0"], "0 is not in the range"),
        (["worker", "shop:app", "--log", "xml"], "'xml' is not one of 'human', 'json'"),
        (["worker"], "Missing argument 'APP'"),
        (["wrok"], "No such command 'wrok'"),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, list) else "",
)
def test_a_mistake_is_told_in_one_sentence_and_an_exit_code(shop: Path, args: list[str], told: str) -> None:
    ended = tenure_command(shop, *args)
    assert ended.returncode in (1, 2)
    errors = [line for line in ended.stderr.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 1
    assert told in errors[0]
    assert "Traceback" not in ended.stderr


def test_a_setting_of_the_environment_that_is_wrong_is_told_too(shop: Path) -> None:
    ended = tenure_command(shop, "worker", "shop:app", TENURE_LEASE="0", url=f"sqlite:///{shop}/jobs.db")
    assert (ended.returncode, ended.stderr) == (1, "Error: TENURE_LEASE: must be longer than zero, got '0'\n")


def test_a_module_that_cannot_be_imported_says_which_of_its_imports_is_missing(shop: Path) -> None:
    ended = tenure_command(shop, "worker", "broken:app")
    assert ended.returncode == 1
    assert "no_such_library" in ended.stderr


def test_a_store_that_is_not_there_is_told_in_one_sentence(shop: Path) -> None:
    ended = tenure_command(
        shop, "janitor", "shop:app", "--once", url="postgresql://nobody:pw1234@127.0.0.1:1/none"
    )
    assert ended.returncode == 1
    assert "Error: " in ended.stderr
    assert "Traceback" not in ended.stderr
    assert "pw1234" not in ended.stderr


@pytest.mark.parametrize("kind", KINDS)
def test_the_janitor_does_its_chores_once_and_tells_what_it_moved(
    shop: Path, postgres_url: str, kind: Kind
) -> None:
    with fresh_url(kind, shop, postgres_url) as url:
        with tenure.open(url) as q:
            q.enqueue("send", {"to": "a"}, delay="1us")
            q.enqueue_many([tenure.NewJob(kind="send", expires_in="1us")] * 2_300)
        ended = tenure_command(shop, "janitor", "shop:app", "--once", "--json", url=url)
        assert ended.returncode == 0, ended.stderr
        moved = json.loads(ended.stdout)
        chores = ("promote", "expire", "reclaim", "schedule", "fire", "retain")
        assert [moved[chore] for chore in chores] == [1, 2_300, 0, 1, 0, 0]
        with tenure.open(url, clock=lambda: datetime(2024, 1, 1, tzinfo=UTC)) as q:
            q.enqueue("of no app", delay="1h")
            q.schedule("monthly", "0 0 1 * *", "of no app")
        bare = tenure_command(shop, "janitor", "--once", "--json", "--url", url, url="none")
        assert bare.returncode == 0, bare.stderr
        assert {"promote": 1, "fire": 1, "expire": 0}.items() <= json.loads(bare.stdout).items()
        again = tenure_command(shop, "janitor", "shop:app", "--once", url=url)
        assert [line.split() for line in again.stdout.splitlines()] == [[chore, "0"] for chore in moved]
        with tenure.open(url) as q:
            assert [s.name for s in q.schedules()] == ["digest", "monthly"]


def test_a_worker_runs_jobs_and_logs_lines_of_json_that_name_them(shop: Path) -> None:
    url = f"sqlite:///{shop}/jobs.db"
    with tenure.open(url) as q:
        job = q.enqueue("send", {"to": "a@b.c"})
    for address in ("shop:app", f"{shop}/shop.py:other.app"):
        ended = tenure_command(
            shop, "worker", address, "--max-jobs", "1", "--log", "json", "--poll", "1s", "--json", url=url
        )
        assert ended.returncode == 0, ended.stderr
        assert json.loads(ended.stdout)["worker"] == {"lines": ["*:50"], "kinds": ["digest", "send"], "processes": 1}  # fmt: skip
        lines = [json.loads(line) for line in ended.stderr.splitlines()]
        [line] = [entry for entry in lines if entry["logger"] == "shop"]
        assert (line["job_id"], line["kind"], line["attempt"]) == (job.id, "send", 1)
        assert line["message"] == "sending to a@b.c with password=***"
        with tenure.open(url) as q:
            seen = q.get(job.id)
            assert seen is not None
            assert (seen.state, seen.result) == ("done", "a@b.c")
            job = q.enqueue("send", {"to": "a@b.c"})


def test_an_installed_package_has_the_command(tmp_path: Path) -> None:
    command = Path(sys.executable).with_name("tenure")
    told = subprocess.run([command, "--version"], check=True, capture_output=True, text=True, cwd=tmp_path)
    assert tenure.__version__ in told.stdout


def test_a_chore_that_fails_is_told_by_the_exit_code(shop: Path) -> None:
    url = f"sqlite:///{shop}/app.db?shared=true"
    tenure.open(url).close()
    with sqlite3.connect(shop / "app.db") as connection:
        connection.execute(
            "CREATE TRIGGER no BEFORE INSERT ON tenure_schedules BEGIN SELECT RAISE(ABORT, 'out of ink'); END"
        )
    connection.close()
    ended = tenure_command(shop, "janitor", "shop:app", "--once", "--json", url=url)
    assert ended.returncode == 1
    moved = json.loads(ended.stdout)
    assert (moved["schedule"], moved["promote"]) == (-1, 0)
    assert "out of ink" in ended.stderr
    assert "Error: a chore failed" in ended.stderr
