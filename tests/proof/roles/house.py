"""A schema with the roles that `tenure migrate --roles` makes, and the URLs by which each role comes."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg

import tenure
from tests.support.child import ROOT
from tests.support.postgres import bundled_binaries

__all__ = ["ROLES", "House", "Role", "furnished", "grant"]

Role = Literal["producer", "worker", "viewer", "migrator"]
ROLES: tuple[Role, ...] = ("producer", "worker", "viewer", "migrator")
_SCRIPT = ROOT / "src" / "tenure" / "ops" / "roles.sql"
_PASSWORD = "only-for-tests"


@dataclass(frozen=True, slots=True)
class House:
    """One schema, its roles, and the administrator's way into the database."""

    admin: str
    schema: str

    def url(self, role: Role) -> str:
        """The store, for somebody who is a member of this role."""
        return f"{self.plain(role)}?schema={self.schema}"

    def plain(self, role: Role) -> str:
        """The database, for somebody who is a member of this role."""
        parts = urlsplit(self.admin)
        where = parts.netloc.rpartition("@")[2]
        return urlunsplit(parts._replace(netloc=f"{self.member(role)}:{_PASSWORD}@{where}"))

    def member(self, role: Role) -> str:
        """Who logs in as a member of this role."""
        return f"{self.schema}_{role}_login"

    def named(self, role: Role) -> str:
        """The role's own name here."""
        return f"{self.schema}_{role}"


def psql() -> str:
    """A psql of this machine, or the one that the tests' PostgreSQL brings."""
    bundled = bundled_binaries()
    found = shutil.which("psql") or (str(bundled / "psql") if bundled else None)
    assert found, "there is no psql"
    return found


def grant(house: House) -> None:
    """Run the script as an administrator does."""
    names = [f"--set={role}={house.named(role)}" for role in ROLES]
    ended = subprocess.run(
        [psql(), "--no-psqlrc", f"--set=schema={house.schema}", *names, f"--file={_SCRIPT}", house.admin],
        check=False, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, ""), ended.stderr


@contextmanager
def furnished(admin: str) -> Iterator[House]:
    """Roles, then a schema that the migrator makes, then what each may do; all of it is gone afterwards."""
    house = House(admin, f"r_{uuid4().hex[:12]}")
    try:
        grant(house)
        with psycopg.connect(admin, autocommit=True) as link:
            for role in ROLES:
                member, named = house.member(role), house.named(role)
                link.execute(f"CREATE ROLE {member} LOGIN PASSWORD '{_PASSWORD}' IN ROLE {named}".encode())
                if role == "migrator":
                    # What a member makes belongs to the role, as the script has it.
                    link.execute(f"ALTER ROLE {member} SET role = {named}".encode())
        tenure.open(house.url("migrator")).close()
        grant(house)
        yield house
    finally:
        _remove(house)


def _remove(house: House) -> None:
    with psycopg.connect(house.admin, autocommit=True) as link:
        link.execute("SET client_min_messages = warning")
        link.execute(f'DROP SCHEMA IF EXISTS "{house.schema}" CASCADE'.encode())
        for name in [f(role) for role in ROLES for f in (house.member, house.named)]:
            known = link.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (name,)).fetchone()
            if known:
                link.execute(f"DROP OWNED BY {name}".encode())
                link.execute(f"DROP ROLE {name}".encode())
