"""What importing and opening costs: only what is needed, when it is needed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.child import run_child

LISTED = "import json, sys; print(json.dumps(sorted({m.partition('.')[0] for m in sys.modules})))"
DRIVERS = {"aiosqlite", "apsw", "asyncpg", "psycopg", "sqlalchemy", "sqlite3"}


def imported_by(program: str, *args: str) -> set[str]:
    """The top-level modules a program imports beyond a bare interpreter."""
    bare: list[str] = json.loads(run_child(LISTED))
    full: list[str] = json.loads(run_child(f"{program}\n{LISTED}", *args))
    return set(full) - set(bare)


def cpu_seconds(program: str) -> float:
    """The processor time of a fresh interpreter that runs the program: the best of several."""
    spent = []
    for _ in range(7):
        with subprocess.Popen([sys.executable, "-c", program]) as child:
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        assert child.returncode == 0
        spent.append(usage.ru_utime + usage.ru_stime)
    return min(spent)


def test_importing_tenure_imports_next_to_nothing() -> None:
    found = imported_by("import tenure")
    assert "tenure" in found
    assert not found & {
        *DRIVERS,
        "asyncio",
        "click",
        "rich",
        "msgspec",
        "logging",
        "uuid_utils",
        "uvicorn",
        "httptools",
        "opentelemetry",
        "prometheus_client",
    }


def test_importing_tenure_costs_less_than_60_ms() -> None:
    assert cpu_seconds("import tenure") - cpu_seconds("pass") < 0.060


def test_opening_sqlite_imports_no_other_driver(tmp_path: Path) -> None:
    found = imported_by(
        "import sys, tenure; tenure.open(sys.argv[1]).close()", f"sqlite:///{tmp_path}/jobs.db"
    )
    assert found & DRIVERS == {"apsw", "sqlite3"}
    assert "asyncio" not in found  # nor an event loop that nobody asked for


def test_opening_postgresql_imports_no_other_driver(postgres_url: str) -> None:
    found = imported_by(
        "import sys, tenure; tenure.open(sys.argv[1]).close()", f"{postgres_url}?schema=t_imports"
    )
    assert found & DRIVERS == {"psycopg"}


@pytest.mark.parametrize("module", ["tenure.errors", "tenure.outcome", "tenure.retry", "tenure.job"])
def test_plain_values_need_no_driver(module: str) -> None:
    assert not imported_by(f"import {module}") & DRIVERS


COMMAND = "import sys; from tenure.cli import main; main({args!r}, standalone_mode=False)"


@pytest.mark.parametrize(
    "args",
    [
        ["--help"],
        ["--version"],
        ["worker", "--help"],
        ["janitor", "--help"],
        ["up", "--help"],
        ["gateway", "--help"],
        ["dashboard", "--help"],
        ["gateway", "check", "--help"],
        ["gateway", "telegram", "set-webhook", "--help"],
        ["list", "--help"],
        ["retry", "--help"],
        ["top", "--help"],
        ["bench", "--help"],
        ["demo", "--help"],
    ],
    ids=" ".join,
)
def test_the_commands_help_needs_no_driver_and_no_event_loop(args: list[str]) -> None:
    program = (
        f"import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()): {COMMAND.format(args=args)}"
    )
    assert not imported_by(program) & {*DRIVERS, "asyncio", "cronsim", "uuid_utils"}


def test_the_commands_help_costs_less_than_100_ms() -> None:
    program = f"import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()): {COMMAND.format(args=['--help'])}"
    assert cpu_seconds(program) - cpu_seconds("pass") < 0.100


def test_importing_an_app_needs_no_driver_and_no_pydantic(tmp_path: Path) -> None:
    program = "import tenure\napp = tenure.App()\n@app.job\nasync def send(to: str) -> str: return to\nsend.call('a')"
    assert not imported_by(program) & {*DRIVERS, "click", "pydantic"}


def test_the_gateway_needs_no_server_and_no_driver_until_it_is_served() -> None:
    program = "import sys, tenure\nassert 'tenure.gateway' not in sys.modules\nimport tenure.gateway"
    assert not imported_by(program) & {*DRIVERS, "click", "pydantic", "uvicorn", "httptools"}


@pytest.mark.parametrize("module", ["tenure.metrics", "tenure.metrics.names", "tenure.metrics.conventions"])
def test_metrics_need_nothing_until_they_are_asked_for(module: str) -> None:
    program = f"import sys, tenure\nassert 'tenure.metrics' not in sys.modules\nimport {module}"
    assert not imported_by(program) & {*DRIVERS, "click", "prometheus_client", "opentelemetry", "http"}


def test_a_worker_that_nobody_scrapes_imports_no_metrics() -> None:
    found = imported_by("import tenure.app, tenure.worker.start, tenure.cli.worker, tenure.cli.up")
    assert not found & {"prometheus_client", "opentelemetry"}
