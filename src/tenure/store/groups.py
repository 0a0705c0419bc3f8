"""Groups: only the first n jobs of a key are ready (they hold its slots), the others wait.

Whoever may have freed a slot, or put a job behind one, decides about the group in the same transaction. On a database
where transactions run side by side two of them could each miss the other's half, so a decision is made under a lock per
group. Nobody waits for that lock: who does not get it leaves word in `wakes`, and the next claim decides.

A new job whose group is empty is stored as ready, holding its slot, by `enqueue` itself (see there): most jobs of groups
find theirs so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tenure.store.dialect import Capabilities
from tenure.store.pack import pack_groups
from tenure.store.plan import Plan, Result, Statement

__all__ = ["admit", "admit_locked", "admit_woken", "locked", "locking", "sweep"]

_WAKES = 1_000


def admit(groups: Iterable[str], can: Capabilities) -> Plan[int]:
    """Make ready what each group has room for; what cannot be decided now is left word about."""
    keys = list(dict.fromkeys(groups))
    return (yield from admit_locked((yield from locked(keys, locking(keys, can)))))


def locking(groups: Collection[str], can: Capabilities) -> Statement | None:
    """Asks which of the groups may be decided about; None: all of them may."""
    return Statement("group_locks", {"groups": pack_groups(groups)}) if groups and can.defers else None


def locked(groups: Collection[str], asked: Statement | None, heard: Result | None = None) -> Plan[list[str]]:
    """Those of the groups that may be decided about now, and until this transaction ends; word is left about the others.

    What `locking` asked may have been heard already; of groups that it named but are not among these nothing is said.
    """
    if asked is None:
        return list(groups)
    answer = heard or (yield asked)
    known = dict(answer.rows)
    later = [key for key in groups if not known.get(key)]
    if later:
        yield Statement("wake", {"groups": pack_groups(later)})
    return [key for key in groups if known.get(key)]


def admit_locked(groups: Collection[str]) -> Plan[int]:
    """Make ready what each of these groups has room for."""
    if not groups:
        return 0
    answer = yield Statement("admit", {"groups": pack_groups(groups)})
    return answer.changed


def admit_woken(can: Capabilities) -> Plan[int]:
    """Decide about the groups somebody left word about."""
    if not can.defers:
        return 0
    answer = yield Statement("wakes", {"limit": _WAKES})
    keys = [key for (key,) in answer.rows]
    if not keys:
        return 0
    yield Statement("woken", {"groups": pack_groups(keys)})
    answer = yield Statement("admit", {"groups": pack_groups(keys)})
    return answer.changed


def sweep(after: str, limit: int, can: Capabilities) -> Plan[tuple[int, str | None]]:
    """Look at groups with waiting jobs, whoever forgot them: how many jobs were made ready, and where to go on."""
    answer = yield Statement("stalled", {"after": after, "limit": limit})
    keys = [key for (key,) in answer.rows]
    woken = yield from admit(keys, can)
    return woken, keys[-1] if len(keys) >= limit else None
