"""All checks, one after the other, each under its own time limit; one that fails or takes too long is a finding itself."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

from tenure.clock import machine_micros
from tenure.config import PostgresPlace, SqlitePlace, locate
from tenure.doctor import backlog, file, hearing, jobs, schema, server, vacuum
from tenure.doctor.finding import LEVELS, Finding
from tenure.doctor.limits import Limits
from tenure.doctor.patient import Patient
from tenure.errors import StoreRefused, TenureError
from tenure.store.base import Broken
from tenure.store.open import open_store

if TYPE_CHECKING:
    from tenure.gateway.settings import GatewaySettings

__all__ = ["examine"]

Check = Callable[[], Iterable[Finding]]
_BOTH: Final = (
    ("schema", schema.schema), ("clock", hearing.clock), ("listen", hearing.listen), ("leases", jobs.leases),
    ("scheduled", jobs.scheduled), ("cron", jobs.cron), ("workers", backlog.kinds), ("silent", backlog.silent),
    ("paused", backlog.paused), ("backlog", backlog.waiting), ("crashes", jobs.crashed), ("dead", jobs.dead),
)  # fmt: skip
_SERVER: Final = (
    ("server", server.version), ("durability", server.durability), ("connections", server.connections),
    ("privileges", server.rights), ("autovacuum", vacuum.autovacuum), ("bloat", vacuum.bloat), ("vacuum", vacuum.pins),
)  # fmt: skip


def examine(
    url: str,
    *,
    config: str | GatewaySettings | None = None,
    ask: bool = True,
    limits: Limits | None = None,
    machine: Callable[[], int] = machine_micros,
) -> list[Finding]:
    """Everything that was found about the store at this URL, the worst last.

    `config` is a gateway's settings, or names their file: all of its sources are told of, and Telegram is asked about its bots,
    unless `ask` says not to; without, the sources that the store knows of. `machine` is this machine's clock.
    """
    known = limits or Limits()
    found = list(_store(url, known, machine, config))
    if config is not None and ask:
        from tenure.doctor.webhooks import webhooks

        found += _looked("webhook", lambda: webhooks(config, known, machine), known.check)[0]
    return sorted(found, key=lambda finding: LEVELS.index(finding.level))


def _store(
    url: str, limits: Limits, machine: Callable[[], int], config: str | GatewaySettings | None
) -> Iterator[Finding]:
    place = locate(url)
    if isinstance(place, SqlitePlace):
        yield from _looked("disk", partial(file.disk, place, limits), limits.check)[0]
    try:
        closed = schema.before_opening(url)
        store = None if closed is not None else open_store(url, patience=2.0)
    except (TenureError, Broken) as error:
        # What a session is set up with is refused by pgbouncer, unless it is told to let it pass.
        pooled = "startup parameter" in str(error)
        fix = "add pgbouncer=true to the URL: a pooler stands between (one in session mode may let `options` pass instead: ignore_startup_parameters)" if pooled else "see to that first"  # fmt: skip
        closed, store = Finding("error", "store", f"it cannot be opened: {error}", fix), None
    if store is None:
        yield from filter(None, [closed])
        return
    patient = Patient(place, store, limits, machine)
    answers = True
    for name, check in _checks(patient, config):
        some, came_back = _looked(name, check, limits.check)
        answers = answers and came_back
        yield from some
    if answers:
        store.close()
    else:  # it would wait for what did not come back
        threading.Thread(target=store.close, name="doctor-close", daemon=True).start()


def _checks(patient: Patient, config: str | GatewaySettings | None) -> Iterator[tuple[str, Check]]:
    place = patient.place
    if isinstance(place, PostgresPlace):
        yield from ((name, partial(check, patient)) for name, check in _SERVER)
        yield "pgbouncer", partial(server.pooler, place)
    else:
        yield "sqlite", partial(file.library, patient, place)
        yield "wal", partial(file.log, patient, place)
        yield "durability", partial(file.durability, place)
        yield "mode", partial(file.mode, place)
    yield from ((name, partial(check, patient)) for name, check in _BOTH)
    yield "deliveries", partial(_deliveries, patient, config)


def _deliveries(patient: Patient, config: str | GatewaySettings | None) -> Iterable[Finding]:
    from tenure.doctor.deliveries import deliveries

    return deliveries(patient, config)


def _looked(name: str, check: Check, limit: float) -> tuple[list[Finding], bool]:
    """What a check found, and whether it came back; its thread is left behind if it did not."""
    found: list[Finding] = []
    failed: list[Exception] = []

    def work() -> None:
        try:
            found.extend(check())
        except Exception as error:
            failed.append(error)

    thread = threading.Thread(target=work, name=f"doctor-{name}", daemon=True)
    thread.start()
    thread.join(limit)
    if thread.is_alive():
        fix = "ask again; if it stays so, the store is overloaded or away"
        return [Finding("error", name, f"there was no answer within {limit:g} s", fix)], False
    if failed:
        told = f"it could not be looked at: {failed[0]}"
        if isinstance(failed[0], StoreRefused):  # of the role that asks, not of the store
            found.append(Finding("note", name, told, "ask with the role of a viewer or a worker"))
        else:
            found.append(Finding("error", name, told, "see to that first"))
    return found, True
