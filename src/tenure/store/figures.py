"""rollups, error_groups, add_figures, tidy_figures: what workers counted, so that nobody has to scan jobs for it.

Who counts adds to minutes of its own (`source`), so that nobody waits for another's row. An hour that is over is merged:
each of its minutes into one row, and all of them into the row of the hour, which is what longer spans are read from. What comes
to an hour that has been merged, from a transaction that was held open, is merged with the next one. After a while the minutes go,
and then the hours. The store's clock says which minute it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import asdict

from tenure.clock import from_micros
from tenure.figures import ErrorGroup, ErrorTally, Rollup, Tally
from tenure.store.pack import pack
from tenure.store.plan import Plan, Statement

__all__ = ["add_figures", "error_groups", "rollups", "tidy_figures"]

_MINUTE, _HOUR = 60_000_000, 3_600_000_000
_LATE = 2
"""How many minutes after its end an hour is merged: who counts tells every few seconds."""
_BACK = 23 * 60
"""How many minutes back a merge looks for what came later still, from a transaction that was held open: minutes are kept for a day."""


def add_figures(
    source: str,
    tallies: Sequence[Tally],
    errors: Sequence[ErrorTally],
    *,
    now: int | None,
    inside: bool = False,
) -> Plan[None]:
    """What was counted since the last time is added to this minute, and to this hour's errors; `inside`: of a transaction."""
    if tallies:
        rows = [
            {
                "queue": t.queue, "kind": t.kind, "done": t.done, "failed": t.failed, "dead": t.dead,
                "cancelled": t.cancelled, "waited": t.waited.encode(), "ran": t.ran.encode(),
            }
            for t in tallies
        ]  # fmt: skip
        yield Statement(
            "add_rollups", {"source": source, "rows": pack(rows), "now": now}, alone=not (errors or inside)
        )
    if errors:
        # In one order, so that two who add do not each wait for the other.
        told = [asdict(e) for e in sorted(errors, key=lambda e: e.fingerprint)]
        yield Statement("add_errors", {"rows": pack(told), "now": now}, alone=not (tallies or inside))


def rollups(since: int, until: int, step: int, queues: Iterable[str] | None) -> Plan[list[Rollup]]:
    """Figures by step, queue and kind, from the step that `since` is in; times and step in microseconds."""
    params = {
        "since": since // step * step // _MINUTE,
        "until": -(-until // _MINUTE),
        "hourly": step % _HOUR == 0,
        "queues": None if queues is None else json.dumps(list(queues)),
    }
    answer = yield Statement("rollups", params, alone=True, reads=True)
    found: dict[tuple[int, str, str], Tally] = {}
    for minute, *row in answer.rows:
        _add(found, minute * _MINUTE // step * step, row)
    return [
        Rollup(
            at=from_micros(at), queue=t.queue, kind=t.kind, done=t.done, failed=t.failed, dead=t.dead,
            cancelled=t.cancelled, waited=t.waited, ran=t.ran,
        )
        for (at, _, _), t in sorted(found.items())
    ]  # fmt: skip


def _add(found: dict[tuple[int, str, str], Tally], at: int, row: Sequence[Any]) -> None:
    queue, kind, done, failed, dead, cancelled, waited, ran = row
    tally = found.get((at, queue, kind))
    if tally is None:
        tally = found[at, queue, kind] = Tally(queue, kind)
    tally.done += done
    tally.failed += failed
    tally.dead += dead
    tally.cancelled += cancelled
    tally.waited.add_text(waited)
    tally.ran.add_text(ran)


def error_groups(
    since: int, *, limit: int, fingerprint: str | None, hours: int | None
) -> Plan[list[ErrorGroup]]:
    """The most frequent failures since the hour that `since` is in, most frequent first; or those of one name.

    They are told hour by hour from the hour that `hours` is in; None: since then.
    """
    first = (since if hours is None else hours) // _HOUR
    params = {"since": since // _HOUR, "limit": limit, "fingerprint": fingerprint, "hours": first}
    answer = yield Statement("error_groups", params, alone=True, reads=True)
    by_name: dict[str, list[Sequence[Any]]] = {}
    for row in answer.rows:
        by_name.setdefault(row[0], []).append(row)
    groups = [_group(name, rows, first) for name, rows in by_name.items()]
    return sorted(groups, key=lambda g: (-g.count, g.fingerprint))


def _group(fingerprint: str, rows: Sequence[Sequence[Any]], first: int) -> ErrorGroup:
    """One group of its hours, the latest last."""
    _, _, _, kind, error_kind, message, sample_id, last_seen, frame, count, dead, first_seen = rows[-1]
    return ErrorGroup(
        fingerprint=fingerprint, kind=kind, error_kind=error_kind, message=message, sample_id=sample_id,
        count=count, dead=dead, first_seen=from_micros(first_seen), last_seen=from_micros(last_seen),
        hours={from_micros(row[1] * _HOUR): row[2] for row in rows if row[1] >= first}, frame=frame,
    )  # fmt: skip


def tidy_figures(*, minutes: int, keep: int | None, now: int | None) -> Plan[int]:
    """Merge one hour that is over; how many rows that took. Where there is none, forget what is old, and answer 0."""
    answer = yield Statement("next_fold", {"late": _LATE, "now": now})
    hour = answer.rows[0][0]
    if hour is not None:
        answer = yield Statement("strays", {"hour": hour, "back": _BACK, "now": now})
        moved = 0
        for (late,) in sorted(answer.rows):
            moved += yield from _fold(late)
        return moved + (yield from _fold(hour))
    yield Statement("retain_rollups", {"span": 1, "age": minutes // _MINUTE, "now": now})
    yield Statement("retain_samples", {"age": minutes // _MINUTE, "now": now})
    if keep is not None:
        yield Statement("retain_rollups", {"span": 60, "age": keep // _MINUTE, "now": now})
        yield Statement("retain_errors", {"age": keep // _HOUR, "now": now})
    return 0


def _fold(hour: int) -> Plan[int]:
    """Whoever does the same at the same time writes the same; what is counted meanwhile stays for the next time."""
    counted = yield Statement("drop_sources", {"hour": hour})
    merged = yield Statement("minutes", {"hour": hour})
    single: dict[tuple[int, str, str], Tally] = {}
    whole: dict[tuple[int, str, str], Tally] = {}
    found = [*counted.rows, *merged.rows]
    for minute, *row in found:
        _add(single, minute, row)
        _add(whole, hour, row)
    rows = [_row(1, at, t) for (at, _, _), t in sorted(single.items())]
    rows += [_row(60, at, t) for (at, _, _), t in sorted(whole.items())]
    yield Statement("set_rollups", {"rows": pack(rows)})
    return len(found)


def _row(span: int, minute: int, tally: Tally) -> dict[str, Any]:
    return {
        "span": span, "minute": minute, "queue": tally.queue, "kind": tally.kind, "done": tally.done,
        "failed": tally.failed, "dead": tally.dead, "cancelled": tally.cancelled, "waited": tally.waited.encode(),
        "ran": tally.ran.encode(),
    }  # fmt: skip
