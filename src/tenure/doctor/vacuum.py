"""Old rows in PostgreSQL: whether they are cleared away, how many there are, and who keeps them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tenure.doctor.finding import Finding, Level, count, size, span
from tenure.doctor.limits import Limits
from tenure.doctor.patient import Patient
from tenure.store import health
from tenure.store.health import Pin

__all__ = ["TABLES", "autovacuum", "bloat", "index_bloat", "pins"]

TABLES: Final = ("jobs", "finished", "attempts")
"""Those that grow with the jobs."""


def autovacuum(patient: Patient) -> Iterator[Finding]:
    """Whether anybody clears old rows away."""
    for name in ("autovacuum", "track_counts"):
        if patient.said(name) != "on":
            fix = f"set {name} = on and reload: every job leaves old rows behind"
            yield Finding("error", "autovacuum", f"{name} is {patient.said(name)}", fix)
            return
    off = [table for table in TABLES if patient.said(f"autovacuum_of_{table}") not in ("true", "on")]
    for table in off:
        fix = f"ALTER TABLE {table} RESET (autovacuum_enabled), in Tenure's schema"
        yield Finding("error", "autovacuum", f"autovacuum is switched off for the table {table}", fix)
    if not off:
        yield Finding("ok", "autovacuum", "autovacuum is on")


def bloat(patient: Patient) -> Iterator[Finding]:
    """Old rows of the tables that grow with the jobs, and what their indexes have grown to."""
    for table in TABLES:
        live, dead = patient.number(f"live_of_{table}"), patient.number(f"dead_of_{table}")
        octets = size(patient.number(f"table_bytes_of_{table}"))
        seen = f"the table {table} has {count(live, 'row')} and {count(dead, 'old one')} in {octets}"
        level: Level = "ok"
        if dead > patient.limits.dead_rows and dead > live:
            level = "warning" if dead > patient.limits.dead_rows_warning else "note"
        fix = (
            f"VACUUM {table}, in Tenure's schema; if they stay, something pins them (see vacuum)"
            if level != "ok"
            else ""
        )
        yield Finding(level, "bloat", seen, fix)
        yield index_bloat(table, patient.number(f"index_bytes_of_{table}"), live, patient.limits)


def index_bloat(table: str, octets: int, live: int, limits: Limits) -> Finding:
    """Indexes that are much larger than what they hold."""
    seen = f"the indexes of {table} have {size(octets)}"
    if octets <= limits.index or octets <= live * limits.index_per_row:
        return Finding("ok", "bloat", seen)
    fix = f"REINDEX TABLE CONCURRENTLY {table}, in Tenure's schema; it locks nobody out"
    return Finding("warning", "bloat", f"{seen} for {count(live, 'row')}", fix)


def pins(patient: Patient) -> Iterator[Finding]:
    """Who keeps old rows: pid, age and state, never what was asked."""
    found = [finding for pin in patient.ask(health.pins) if (finding := _pin(pin, patient.limits))]
    yield from found
    if patient.said("sees_all") != "true":
        fix = "GRANT pg_monitor to this role, or ask with one that has it"
        yield Finding("note", "vacuum", "transactions of other roles cannot be seen by this one", fix)
    elif not found:
        within = span(patient.limits.transaction * 1e6)
        yield Finding(
            "ok", "vacuum", f"no transaction older than {within}, prepared one or slot holds vacuum back"
        )


def _pin(pin: Pin, limits: Limits) -> Finding | None:
    age, xids = (pin.age or 0) / 1e6, pin.xids or 0
    if pin.what == "replication slot":
        return _slot(pin, xids, limits)
    if age < limits.transaction and xids < limits.xids:
        return None
    since = "of unknown age" if pin.age is None else f"open for {span(pin.age)}"
    level: Level = "error" if age >= limits.transaction_error else "warning"
    if pin.what == "prepared transaction":
        seen, fix = (
            f"prepared transaction {pin.name!r}",
            f"end it, or undo it: COMMIT PREPARED '{pin.name}' does the former",
        )
    else:
        seen = f"a transaction of pid {pin.name} ({pin.state})"
        fix = f"end it where it was begun, or SELECT pg_terminate_backend({pin.name})"
    return Finding(
        level, "vacuum", f"{seen}, {since} ({count(xids, 'transaction')} ago), keeps old rows of jobs", fix
    )


def _slot(pin: Pin, xids: int, limits: Limits) -> Finding | None:
    if pin.state != "active":
        seen = f"replication slot {pin.name!r} is used by nobody: it keeps the server's log"
        seen += f", and rows of {count(xids, 'transaction')}" if xids else ""
        return Finding("warning", "vacuum", seen, f"bring its reader back, or SELECT pg_drop_replication_slot('{pin.name}')")  # fmt: skip
    if xids < limits.xids:
        return None
    seen = f"replication slot {pin.name!r} keeps rows of {count(xids, 'transaction')}"
    return Finding("warning", "vacuum", seen, "look for a long query on the standby behind it")
