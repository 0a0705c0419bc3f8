"""Jobs with their periods and requests by one statement, for SQLite: a view that stores nothing, and a trigger that stores all.

Each statement is a turn in which the driver gives away the interpreter's lock and has to wait for it again, while an event loop
that listens hardly lets go of it. So the batch of a gateway goes in one, its commit with it. What is done for a row is what the
statements `ledger`, `enqueue` and `request_add` say, in their own words; whose period another job holds is put aside, and told.

View, trigger and the table of those put aside are the connection's own: no file has them, and they end with it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from tenure.store.dialect import Sql
from tenure.store.sqlite.bind import values_in
from tenure.store.sqlite.connection import Link
from tenure.store.stored import WHOLE

__all__ = ["MOST", "store_whole"]

MOST: Final = 64
"""How many rows go into one statement."""
_COLUMNS: Final = ("now", *WHOLE)
_NOTHING: Final = (None,) * len(WHOLE)
_PARAMETER: Final = re.compile(r":([a-z_]+)")
_ASIDE: Final = "INSERT INTO tenure_whole_aside SELECT NEW.id, l.job_id FROM {ledger} l WHERE l.unique_hash = NEW.unique_hash AND l.job_id <> NEW.id"
_MADE: Final = "tenure_whole"


def store_whole(
    link: Link, statements: Mapping[str, Sql], rows: Sequence[tuple[Any, ...]], now: int
) -> list[tuple[Any, ...]]:
    """Store the rows, in their order; whose period another job holds is not stored: its id, and that job's."""
    if _MADE not in link.made:
        for text in _script(*(statements[name].text for name in ("ledger", "enqueue", "request_add"))):
            link.query(text, {})
        link.made.add(_MADE)  # a rollback, of whatever is broken off, forgets it
    for at in range(0, len(rows), MOST):
        some = rows[at : at + MOST]
        # Few lengths, so that each is compiled once.
        size = 1 << (len(some) - 1).bit_length()
        flat: list[Any] = [now]
        for row in some:
            flat += row
        flat += _NOTHING * (size - len(some))
        link.act(_insert(size), tuple(flat))
    aside = link.query("SELECT id, holder FROM temp.tenure_whole_aside", {})
    if aside:
        link.query("DELETE FROM temp.tenure_whole_aside", {})
    return aside


@lru_cache(maxsize=16)
def _script(ledger: str, enqueue: str, request_add: str) -> tuple[str, ...]:
    """What makes the view, the trigger and the table; from the texts of the three statements."""
    table = ledger.split()[2]
    # The view's `unique_hash` is a period's; a slot that is held while a job is in flight is none of this.
    job = enqueue.replace(":unique_hash", "NULL").replace(":lead", "(NEW.group_key IS NOT NULL)")
    does = (
        _where(ledger, "NEW.unique_for IS NOT NULL"),
        _where(job, "NEW.unique_for IS NULL OR changes() = 1"),
        _where(request_add, "NEW.body IS NOT NULL AND changes() = 1"),
        # Where a request was kept just now, so was its job.
        f"{_ASIDE.format(ledger=table)} AND changes() = 0",
    )
    columns = ", ".join(f"NULL AS {name}" for name in _COLUMNS)
    return (
        "DROP TABLE IF EXISTS temp.tenure_whole_aside",
        "CREATE TEMP TABLE tenure_whole_aside (id TEXT NOT NULL, holder TEXT NOT NULL)",
        f"CREATE TEMP VIEW IF NOT EXISTS tenure_whole AS SELECT {columns}",
        f"CREATE TEMP TRIGGER IF NOT EXISTS tenure_whole_comes INSTEAD OF INSERT ON tenure_whole BEGIN {'; '.join(does)}; END",
    )


def _where(text: str, condition: str) -> str:
    """The INSERT of one row, of the row that comes, under a condition."""
    head, values, tail = values_in(_PARAMETER.sub(r"NEW.\1", text))
    return f"{head}SELECT {values} WHERE {condition} {tail}"


@lru_cache(maxsize=8)
def _insert(size: int) -> str:
    """The statement for so many rows; one without an id is none."""
    row = f"(?1{', ?' * len(_NOTHING)})"
    values = ", ".join([row] * size)
    return f"INSERT INTO temp.tenure_whole WITH r ({', '.join(_COLUMNS)}) AS (VALUES {values}) SELECT * FROM r WHERE id IS NOT NULL"
