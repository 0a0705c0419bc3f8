"""A real pgbouncer, in transaction pooling mode unless another is asked for, where the machine has one."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote, unquote, urlsplit

from tests.support.postgres import answers
from tests.support.process import (
    GuardedProcess,
    ServerDidNotStart,
    free_port,
    give_to,
    remove,
    server_directory,
    server_user,
)

_SETTINGS = """\
[databases]
* = {target}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
max_client_conn = 500
default_pool_size = {pool_size}
ignore_startup_parameters = extra_float_digits
"""


def binary() -> Path | None:
    found = shutil.which("pgbouncer", path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"]))
    return Path(found) if found else None


def available() -> bool:
    return binary() is not None


class PgBouncer:
    """In front of the server of `url`: any number of clients share `pool_size` connections per database."""

    def __init__(self, url: str, *, pool_size: int = 5, mode: str = "transaction") -> None:
        self._target = urlsplit(url)
        self._pool_size, self._mode = pool_size, mode
        self._user = server_user()
        self._directory: Path | None = None
        self._process: GuardedProcess | None = None
        self._port: int | None = None

    def url(self, dbname: str | None = None) -> str:
        """The pooled URL of a database; by default of the one in the server's own URL."""
        if self._port is None:
            raise RuntimeError("pgbouncer was never started")
        name = quote(dbname, safe="") if dbname is not None else self._target.path.removeprefix("/")
        return f"postgresql://{self._target.username or 'postgres'}@127.0.0.1:{self._port}/{name}"

    def start(self) -> None:
        program = binary()
        if program is None:
            raise RuntimeError("pgbouncer is not installed: ask available() first")
        if self._process is not None:
            return
        if self._directory is None:
            self._directory = server_directory(self._user, prefix="tenure-bouncer-")
        for last_try in (False, False, True):
            try:
                self._launch(program, self._directory, self._port or free_port())
                return
            except ServerDidNotStart as error:
                if last_try or self._port is not None or "in use" not in str(error):
                    raise

    def stop(self) -> None:
        """Cuts every client off at once."""
        if self._process is not None:
            self._process.end(signal.SIGKILL)
            self._process = None

    def restart(self) -> None:
        self.stop()
        self.start()

    def close(self) -> None:
        self.stop()
        if self._directory is not None:
            remove(self._directory)
        self._directory = self._port = None

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

    def _launch(self, program: Path, directory: Path, port: int) -> None:
        settings = directory / "pgbouncer.ini"
        target = {
            "host": self._target.hostname or "127.0.0.1",
            "port": str(self._target.port or 5432),
            "user": unquote(self._target.username or "postgres"),
            "password": unquote(self._target.password or ""),
        }
        parts = [f"{key}='{value.replace(chr(39), chr(39) * 2)}'" for key, value in target.items() if value]
        settings.write_text(
            _SETTINGS.format(target=" ".join(parts), port=port, pool_size=self._pool_size, mode=self._mode),
            encoding="utf-8",
        )
        give_to(self._user, settings)
        process = GuardedProcess(
            [program, settings], user=self._user, directory=directory, last_signal=signal.SIGKILL
        )
        database = self._target.path.removeprefix("/") or "postgres"
        user = self._target.username or "postgres"
        try:
            process.wait_until(lambda: answers(f"postgresql://{user}@127.0.0.1:{port}/{database}"))
        except BaseException:
            process.end(signal.SIGKILL)
            raise
        self._process, self._port = process, port
