"""Which jobs are meant: the one filter that list, replay and purge understand.

Every part narrows; a part left out matches everything. `older_than` and `newer_than` are measured on the store's clock:
for finished jobs from when they finished, for the others from when they were enqueued.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tenure.duration import Duration, micros, parse
from tenure.errors import FieldError, FieldTypeError
from tenure.job import PENDING, State
from tenure.newjob import check_id

__all__ = ["Filter"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which jobs are meant; every part narrows."""

    states: Iterable[State | str] | None = None
    kinds: Iterable[str] | None = None
    queues: Iterable[str] | None = None
    ids: Iterable[str] | None = None
    tag: str | None = None
    group: str | None = None
    tenant: str | None = None
    flow: str | None = None
    parent: str | None = None
    error: str | None = None
    older_than: Duration | None = None
    newer_than: Duration | None = None

    def __post_init__(self) -> None:
        """Lists given as generators are read once, here."""
        for name in ("states", "kinds", "queues", "ids"):
            values = getattr(self, name)
            if values is not None and not isinstance(values, str):
                if not isinstance(values, Iterable):
                    raise FieldTypeError(name, "must be a list of text", values, 'write ["one", "two"]')
                object.__setattr__(self, name, tuple(values))

    def parameters(self) -> dict[str, Any]:
        """The filter as the parameters of a statement."""
        return {
            "states": _texts(expand_states(self.states), "states"),
            "kinds": _texts(self.kinds, "kinds"),
            "queues": _texts(self.queues, "queues"),
            "ids": None
            if self.ids is None
            else _texts([check_id(i, "ids") for i in _many(self.ids, "ids")], "ids"),
            "tag": self.tag,
            "group_key": self.group,
            "tenant": self.tenant,
            "flow": self.flow,
            "parent": None if self.parent is None else check_id(self.parent, "parent"),
            "error": self.error,
            "older": None if self.older_than is None else micros(parse(self.older_than, "older_than")),
            "newer": None if self.newer_than is None else micros(parse(self.newer_than, "newer_than")),
        }


def expand_states(states: Iterable[State | str] | None) -> list[str] | None:
    """States by name, "pending" standing for scheduled, waiting and ready; unknown names are refused."""
    if states is None:
        return None
    if isinstance(states, str):
        raise FieldTypeError("states", "must be a list of states", states, f"write [{states!r}]")
    known = {s.value for s in State}
    names: list[str] = []
    for state in states:
        if state == "pending":
            names.extend(s.value for s in PENDING)
        elif state in known:
            names.append(str(state))
        else:
            raise FieldError("states", f"must be among {', '.join(sorted(known))} or pending", state)
    return names


def _texts(values: Iterable[str] | None, field: str) -> str | None:
    return None if values is None else json.dumps([str(v) for v in _many(values, field)])


def _many(values: Iterable[str], field: str) -> Iterable[str]:
    if isinstance(values, str):
        raise FieldTypeError(field, "must be a list of text", values, f"write [{values!r}]")
    return values
