"""One store with rows put into it by hand, and its statements run one by one: what each picks, and what it leaves alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import psycopg

from tenure.newjob import lane_of
from tenure.store.base import Store
from tenure.store.open import open_store
from tenure.store.plan import Plan, Result, Statement
from tests.support.fresh import postgres_schema
from tests.support.schemas import give_back, take

__all__ = ["NOW", "Workbench", "furnish", "pack", "uid", "unused"]

NOW = 2_000_000_000_000_000
"""The time it is, in microseconds."""
_ENDED = ("done", "dead", "cancelled")
_PENDING_ONLY = ("lane", "lease_until", "held", "doubt")


def uid(n: int) -> str:
    """The id of the n-th job; ids sort as their numbers do."""
    return f"00000000-0000-7000-8000-{n:012x}"


def pack(*rows: dict[str, Any]) -> str:
    """Rows as a statement takes them."""
    return json.dumps(rows)


class Workbench:
    """A store, and a connection of somebody else to it."""

    def __init__(self, store: Store, name: str, prefix: str, link: Any, url: str = "") -> None:
        self.store, self.name, self.link, self.url = store, name, link, url
        self.prefix = prefix

    def sql(self, text: str, *values: Any, link: Any = None) -> list[tuple[Any, ...]]:
        """SQL of the test's own; `tenure.` stands before the names of tables, `?` for a value."""
        placed = text.replace("tenure.", self.prefix)
        if self.name == "sqlite":
            return list(self.link.execute(placed, values).fetchall())
        cursor = (link or self.link).execute(placed.replace("?", "%s").encode(), values)
        return [tuple(map(_plain, row)) for row in cursor.fetchall()] if cursor.description else []

    @property
    def schema(self) -> str:
        """The schema of its tables, on PostgreSQL."""
        return self.prefix.strip('".')

    def put(self, table: str, **values: Any) -> None:
        """A row into a table."""
        marks = ", ".join("?" * len(values))
        self.sql(f"INSERT INTO tenure.{table} ({', '.join(values)}) VALUES ({marks})", *values.values())

    def job(self, n: int, state: str = "ready", **given: Any) -> str:
        """The n-th job, in this state; its id."""
        values = {
            "id": uid(n), "seq": n, "epoch": 0, "run_at": NOW, "created_at": NOW, "rank": 0, "attempt": 0, "max_attempts": 3,
            "crashes": 0, "queue": "q", "kind": "k", "payload": "{}", "state": state, **given,
        }  # fmt: skip
        table = "jobs"
        if state in _ENDED:
            values.setdefault("finished_at", NOW)
            table = "jobs" if self.name == "sqlite" else "finished"
        if table == "jobs":
            values["lane"] = lane_of(values["queue"], values["kind"], values["rank"])
        else:
            values = {k: v for k, v in values.items() if k not in _PENDING_ONLY}
        self.put(table, **values)
        return uid(n)

    def ask(
        self, name: str, /, *, rows: Any = None, columns: Any = None, packed: Any = None, **params: Any
    ) -> Result:
        """Run one statement of the store's; `packed` is its parameter :rows, where it takes that as a text."""
        if packed is not None:
            params["rows"] = packed

        def plan() -> Plan[Result]:
            return (yield Statement(name, params, rows=rows, columns=columns))

        return self.store.run(lambda _: plan())

    def first(self, name: str, /, **params: Any) -> list[Any]:
        """The first column of what a statement answers."""
        return [row[0] for row in self.ask(name, **params).rows]

    def states(self) -> dict[int, str]:
        """Each job's state, by number."""
        tables = ["jobs"] if self.name == "sqlite" else ["jobs", "finished"]
        found = [row for table in tables for row in self.sql(f"SELECT seq, state FROM tenure.{table}")]
        return dict(sorted(found))


def _plain(value: Any) -> Any:
    return value if isinstance(value, (int, float, str, bytes, type(None))) else str(value)


@contextmanager
def furnish(name: str, folder: Path, postgres_url: str) -> Iterator[Workbench]:
    """An empty store."""
    if name == "sqlite":
        store = open_store(f"sqlite:///{folder}/jobs.db")
        link = apsw.Connection(f"{folder}/jobs.db")
        link.set_busy_timeout(10_000)
        yield Workbench(store, name, "tenure_", link)
        link.close()
        store.close()
        return
    schema = take()
    store = open_store(f"{postgres_url}?schema={schema}")
    with psycopg.connect(postgres_url, autocommit=True) as server:
        yield Workbench(store, name, f'"{schema}".', server, postgres_url)
    store.close()
    give_back(postgres_url, schema)


@contextmanager
def unused(b: Workbench) -> Iterator[Workbench]:
    """Another whose tables and indexes nobody has used before, and nobody uses again: files are so anyway."""
    if b.name == "sqlite":
        yield b
        return
    with postgres_schema(b.url) as schema:
        store = open_store(f"{b.url}?schema={schema}")
        yield Workbench(store, b.name, f'"{schema}".', b.link, b.url)
        store.close()
