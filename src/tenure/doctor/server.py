"""A PostgreSQL server: its version and settings, room for connections, what this role may do, what stands in between."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tenure.config import PostgresPlace
from tenure.doctor.finding import Finding, Level, listed
from tenure.doctor.patient import Patient
from tenure.store import health

if TYPE_CHECKING:
    from tenure.store.postgres.standing import Pooling

__all__ = ["connections", "durability", "pooler", "rights", "version"]

_OLDEST, _KEPT_UP = 13, 14


def version(patient: Patient) -> Iterator[Finding]:
    """What the server is."""
    major = patient.number("version_number") // 10_000
    seen = f"PostgreSQL {patient.said('version')}"
    if patient.said("standby") == "true":
        yield Finding("error", "server", f"{seen}, a standby, which takes no jobs", "give the primary's URL, or add target_session_attrs=read-write")  # fmt: skip
    elif major < _OLDEST:
        yield Finding("error", "server", seen, f"upgrade: Tenure needs PostgreSQL {_OLDEST} or later")
    elif major < _KEPT_UP:
        yield Finding("note", "server", f"{seen}, which is repaired no more", "upgrade when you can")
    else:
        yield Finding("ok", "server", seen)


def durability(patient: Patient) -> Iterator[Finding]:
    """What a crash of the server or its machine may cost."""
    wrong = [name for name in ("fsync", "full_page_writes") if patient.said(name) != "on"]
    commit = patient.said("synchronous_commit")
    for name in wrong:
        fix = f"set {name} = on and reload: a crash can damage the whole database without it"
        yield Finding("error", "durability", f"{name} is {patient.said(name)}", fix)
    if commit == "off":
        fix = "set synchronous_commit = on for this role and database: a crash loses jobs that were answered"
        yield Finding("warning", "durability", "synchronous_commit is off", fix)
    elif not wrong:
        yield Finding(
            "ok", "durability", f"fsync and full_page_writes are on, synchronous_commit is {commit}"
        )


def connections(patient: Patient) -> Iterator[Finding]:
    """Whether more processes can come."""
    most, used = patient.number("max_connections"), patient.number("connections")
    usable = most - patient.number("reserved_connections")
    free = max(usable - used, 0)
    seen = f"{used:,} of {usable:,} connections are taken ({most:,}, less those kept for superusers)"
    if free >= usable * patient.limits.connections:
        yield Finding("ok", "connections", seen)
        return
    fix = "raise max_connections, run fewer processes, or put pgbouncer in front (?pgbouncer=true)"
    yield Finding("warning" if free else "error", "connections", f"{seen}, {free:,} are free", fix)


def pooler(place: PostgresPlace) -> Iterator[Finding]:
    """Whether something like pgbouncer stands between, in which mode, and whether the URL says so."""
    from tenure.store.postgres.standing import pooling

    mode = pooling(place)
    level, found, fix = _unsaid(mode) if not place.pgbouncer else _said(mode)
    if place.pgbouncer and mode != "none" and place.notify and place.listen is None:
        level, found = "note", f"{found}; workers look for jobs every few seconds"
        fix = fix or "add listen= with the server's own URL, percent-encoded, and jobs are heard of at once"
    yield Finding(level, "pgbouncer", found, fix)


def _unsaid(mode: Pooling) -> tuple[Level, str, str]:
    """A URL that tells of no pooler."""
    between = (
        "add pgbouncer=true to the URL (and listen= with the server's own), or connect to the server itself"
    )
    match mode:
        case "none":
            return "ok", "nothing stands between", ""
        case "transaction":
            return (
                "error",
                "a pooler in transaction mode stands between, and the URL does not say so",
                between,
            )
        case "session":
            return (
                "ok",
                "a pooler stands between, in session mode as far as can be told: it is in nobody's way",
                "",
            )
        case _:
            return "note", "a pooler stands between, and its mode cannot be told", f"if its pool_mode is not session, {between}"  # fmt: skip


def _said(mode: Pooling) -> tuple[Level, str, str]:
    """A URL with pgbouncer=true."""
    needless = "leave pgbouncer=true out of the URL: statements are prepared and commits heard of then"
    match mode:
        case "none":
            return "note", "the URL says pgbouncer=true, but nothing stands between", needless
        case "session":
            return "note", "the URL says pgbouncer=true, and a pooler stands between that is in session mode, as far as can be told", f"if its pool_mode is session, {needless}"  # fmt: skip
        case "transaction":
            return "ok", "a pooler in transaction mode stands between, and the URL says so", ""
        case _:
            return "ok", "a pooler stands between, its mode cannot be told, and the URL says pgbouncer=true", ""  # fmt: skip


def rights(patient: Patient) -> Iterator[Finding]:
    """What this role may do in the schema."""
    missing = patient.ask(health.privileges)
    if not missing:
        yield Finding("ok", "privileges", "this role may do all that workers do")
        return
    needs = {need for need, _, _ in missing}
    seen = listed([f"{privilege} on {thing}" for _, thing, privilege in missing])
    if needs == {"work"}:
        fix = "grant it what is missing if workers use this role; who only enqueues needs no more"
        yield Finding("note", "privileges", f"this role may enqueue, but not work: it lacks {seen}", fix)
    elif not any(privilege == "SELECT" for _, _, privilege in missing):
        fix = "grant it what is missing if it is to do more than look on"
        yield Finding(
            "note", "privileges", f"this role may look on, but neither enqueue nor work: it lacks {seen}", fix
        )
    else:
        fix = "grant it what is missing; docs/postgres-roles.md has the statements"
        yield Finding("error", "privileges", f"this role may not even enqueue: it lacks {seen}", fix)
