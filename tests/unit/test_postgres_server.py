from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path
from time import monotonic

import psycopg
import pytest

from tests.support import pgbouncer, postgres
from tests.support.pgbouncer import PgBouncer
from tests.support.postgres import PostgresServer, bundled_binaries, with_database
from tests.support.process import GuardedProcess, User


def ask(url: str, question: str = "SELECT 1") -> object:
    with psycopg.connect(url, connect_timeout=10) as connection:
        row = connection.execute(question).fetchone()
    assert row is not None
    return row[0]


def test_each_worker_has_a_database_of_its_own(postgres_url: str) -> None:
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    assert ask(postgres_url, "SELECT current_database()") == f"tenure_test_{worker}"


def test_the_bundled_server_starts_and_survives_a_crash() -> None:
    with PostgresServer(binaries=bundled_binaries(), durable=False) as server:
        url = server.create_database("odd name/é")
        with psycopg.connect(url) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 7 AS n")
        server.restart("immediate")
        assert ask(url, "SELECT n FROM kept") == 7
        assert ask(url, "SELECT current_database()") == "odd name/é"
        assert ask(url, "SELECT current_setting('fsync')") == "off"
        assert ask(url, "SELECT current_setting('synchronous_commit')") == "on"
        directory = server.directory
    assert not directory.exists()


def test_a_bundled_server_that_its_user_cannot_reach_is_copied(tmp_path: Path) -> None:
    bundled = bundled_binaries()
    assert bundled is not None
    package = bundled.parent.parent
    hidden = tmp_path / "hidden" / package.name / bundled.parent.name
    shutil.copytree(bundled.parent, hidden, symlinks=True)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, tmp_path / "hidden" / libraries.name, symlinks=True)
    (tmp_path / "hidden").chmod(stat.S_IRWXU)
    with PostgresServer(binaries=hidden / "bin", durable=False) as server:
        assert ask(server.url()) == 1
        copied = server.binaries.is_relative_to(server.directory)
    assert copied == (os.geteuid() == 0)


def test_a_server_ends_with_the_process_that_started_it() -> None:
    program = """
from tests.support.postgres import PostgresServer
server = PostgresServer(durable=False)
server.start()
print(server.url(), server.directory, flush=True)
input()
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as starter:
        assert starter.stdout is not None
        url, directory = starter.stdout.readline().split()
        with psycopg.connect(url) as connection:
            starter.send_signal(signal.SIGKILL)
            with pytest.raises(psycopg.OperationalError):
                connection.execute("SELECT pg_sleep(60)")
    deadline = monotonic() + 30
    while Path(directory).exists() and monotonic() < deadline:
        os.sched_yield()
    assert not Path(directory).exists()
    assert not postgres.answers(url)


def test_a_durable_server_keeps_fsync_on() -> None:
    with PostgresServer() as server:
        assert ask(server.url(), "SELECT current_setting('fsync')") == "on"
        assert ask(server.url(), "SELECT current_setting('max_connections')") == "200"


def test_a_process_that_ends_at_once_says_why(tmp_path: Path) -> None:
    process = GuardedProcess(
        ["sh", "-c", "echo out of luck"],
        user=User(uid=None, gid=None),
        directory=tmp_path,
        last_signal=signal.SIGKILL,
    )
    with pytest.raises(RuntimeError, match="out of luck"):
        process.wait_until(lambda: False)
    process.end(signal.SIGKILL)


def test_pgbouncer_stands_in_front_where_it_is_installed(postgres_url: str) -> None:
    if pgbouncer.binary() is None:
        assert not pgbouncer.available()
        with pytest.raises(RuntimeError, match="not installed"):
            PgBouncer(postgres_url).start()
        return
    with PgBouncer(postgres_url) as bouncer:
        assert ask(bouncer.url()) == 1
        assert ask(bouncer.url(), "SELECT current_database()") == ask(
            postgres_url, "SELECT current_database()"
        )
        assert ask(bouncer.url("postgres"), "SELECT current_database()") == "postgres"
        bouncer.restart()
        assert ask(bouncer.url()) == 1


def test_a_url_is_pointed_at_another_database() -> None:
    assert (
        with_database("postgresql://u:p@h:1/a?sslmode=disable", "b c")
        == "postgresql://u:p@h:1/b%20c?sslmode=disable"
    )
