"""`tenure demo`, which is what `make up` runs: everything in one process, with something to look at, gone without a trace."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import tenure
from tenure.cli.desk.workers import said_by
from tenure.cli.serving import free_port
from tests.cli.desk import Desk
from tests.cli.running import running
from tests.cli.test_cli import tenure_command
from tests.support.child import ROOT
from tests.support.workers import until

USUAL = (8000, 8788)


def recipe(target: str) -> list[str]:
    """The words behind `python -m tenure` that a target of the Makefile runs, but for ARGS."""
    text = (Path(ROOT) / "Makefile").read_text("utf-8")
    found = re.search(rf"^{target}:.*\n\t@\$\(BIN\)/python -m tenure (.*)\$\(ARGS\)$", text, re.MULTILINE)
    assert found is not None
    return found[1].split()


def told(url: str) -> Any:
    """One answer in JSON."""
    with urlopen(url, timeout=30) as answer:
        return json.load(answer)


def every_page_has_something_to_show(page: str, first: Any) -> None:
    """Without waiting for any work: it was put there before anybody is told where the page is."""
    counted = told(f"{page}api/jobs")["count"]["states"]
    assert {state for state, count in counted.items() if count} >= {"ready", "scheduled", "done", "dead", "cancelled"}  # fmt: skip
    assert sum(1 for done in first["series"]["done"] if done) > 30
    assert any(len(line["ready"]) > 30 for line in first["depths"])
    groups = {(one["kind"], one["error_kind"], one["dead"]) for one in told(f"{page}api/errors")["groups"]}
    assert ("send_email", "TimeoutError", 6) in groups
    assert len(told(f"{page}api/workers")["workers"]) == 1
    assert not any("no worker" in one["text"] for one in first["wrong"])


def test_make_up_opens_worker_gateway_and_dashboard_with_something_to_look_at(tmp_path: Path) -> None:
    with running(tmp_path, *recipe("up"), "--port", "0", "--dashboard", "0", "--json") as up:
        said = json.loads(up.line())
        page = said["dashboard"]
        first = told(f"{page}api/overview")  # there is something to see at the first look
        assert [one["ready"] for one in first["queues"] if one["name"] == "newsletter"] == [40]
        assert told(f"{page}api/jobs?q=flow:catalogue-1")["count"]["total"] >= 1
        every_page_has_something_to_show(page, first)
        assert told(f"{said['gateway']}/healthz")
        with tenure.open(said["store"]) as q:

            def ended(state: str) -> set[str]:
                return {job.kind for job in q.list(tenure.Filter(states=[state]), limit=1_000)}

            mails = {"send_email", "charge_card", "reserve", "gateway.bot", "gateway.github", "import_page"}
            until(lambda: ended("done") >= mails or up.process.poll() is not None)
            until(lambda: ended("dead") >= {"charge_card", "reserve"} or up.process.poll() is not None)
            until(lambda: any(job.attempt > 1 for job in q.list(tenure.Filter(states=["done"]), limit=1_000)))
            until(lambda: len(told(f"{page}api/flow/catalogue-1")["jobs"]) == 7)
            until(lambda: any(job.progress for job in q.list(tenure.Filter(kinds=["sales_report"]))))
            assert up.process.poll() is None, up.log
            [worker] = q.workers()
            busy = said_by(worker)
            assert (busy.version, (busy.memory or 0) > 1_000_000, (busy.slots or 0) > 0) == (tenure.__version__, True, True)  # fmt: skip
            assert q.counts()["newsletter"]["ready"] == 40
        seen = told(f"{page}api/overview")
        assert any("newsletter is paused" in one["text"] for one in seen["wrong"])
        assert {one["name"] for one in told(f"{page}api/cron")["schedules"]} >= {"stock levels", "nightly catalogue"}  # fmt: skip
        sources = {one["slug"]: one for one in told(f"{page}api/webhooks")["sources"]}
        assert sources["bot"]["requests"]["200"] >= 6
        assert sources["bot"]["duplicates"] >= 1
        up.send(signal.SIGINT)
        assert up.left() == 0, up.log
        assert json.loads(up.line())["done"] > 50
    assert up.log == ""
    assert {path.name for path in tmp_path.iterdir()} <= {"log", f"tenure-{os.getuid()}"}  # a worker's marks


def test_it_takes_other_ports_where_its_own_are_taken_and_tells_people_what_to_look_at(desk: Desk) -> None:
    with ExitStack() as taken:
        for port in USUAL:
            with suppress(OSError):  # somebody else has it, which will do as well
                taken.enter_context(socket.create_server(("127.0.0.1", port)))
        with desk.terminal("demo", "--for", "2s", NO_COLOR="1", TMPDIR=str(desk.folder)) as terminal:
            terminal.until("Tenure is up")
            terminal.until("webhooks taken")
            assert terminal.end() == 0
    ports = {int(found) for found in re.findall(r"http://127\.0\.0\.1:(\d+)", terminal.screen)}
    assert len(ports) == 2
    assert not ports & set(USUAL)
    assert "tenure top" in terminal.screen
    assert "ended: jobs: " in terminal.screen
    assert not list(desk.folder.glob("tenure-demo-*"))
    with desk.queue() as q:
        assert q.counts() == {}


def test_a_port_is_taken_or_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert free_port("127.0.0.1", port) == 0
    assert free_port("127.0.0.1", port) == port


def test_the_story_is_told_line_by_line(tmp_path: Path) -> None:
    ended = tenure_command(tmp_path, "demo", "--story")
    assert ended.returncode == 0, ended.stderr
    for word in ("enqueue", "claim", "settle", "fence", "replay", "retain"):
        assert f"{word:>8}  " in ended.stdout


def test_the_story_is_told_to_programs_in_lines_of_json(desk: Desk) -> None:
    told = desk.run("demo", "--story", "--json").lines
    assert {"open", "claim", "settle", "fence", "replay", "retain", "reopen"} < {
        line["step"] for line in told
    }
    assert [line["queues"] for line in told if line["step"] == "counts"][-1] == {"mail": {"ready": 1}}


def test_how_long_it_lasts_must_be_a_length_of_time(tmp_path: Path) -> None:
    ended = tenure_command(tmp_path, "demo", "--for", "soon")
    assert ended.returncode == 1
    assert "--for: must be a duration" in ended.stderr
