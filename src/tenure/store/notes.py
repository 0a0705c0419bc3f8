"""note, set_note: small texts by name that processes leave each other, set by comparing where that is asked.

A note that is over is as good as gone: it is not told, and whoever expects none may put theirs in its place.
"""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from tenure.store.plan import Plan, Statement

__all__ = ["note", "set_note"]


def note(name: str, *, now: int | None) -> Plan[str | None]:
    """What the note says; None if there is none."""
    answer = yield Statement("note", {"name": name, "now": now}, alone=True, reads=True)
    return answer.rows[0][0] if answer.rows else None


def set_note(
    name: str, value: str | None, *, expect: str | UnsetType | None, keep: int | None, now: int | None
) -> Plan[bool]:
    """Put a note down, or take it away; False if it is not as expected, and then nothing is changed."""
    anyway = expect is UNSET
    if value is None:
        if expect is None:
            return (yield from note(name, now=now)) is None
        params = {"name": name, "expect": None if anyway else expect, "anyway": anyway, "now": now}
        answer = yield Statement("remove_note", params, alone=True)
        return anyway or answer.changed > 0
    params = {"name": name, "value": value, "keep": keep, "now": now}
    if anyway or expect is None:
        answer = yield Statement("set_note", {**params, "anyway": anyway}, alone=True)
    else:
        answer = yield Statement("change_note", {**params, "expect": expect}, alone=True)
    return answer.changed > 0
