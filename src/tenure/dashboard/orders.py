"""What an operator asks for, as it arrives, and which jobs that means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from msgspec import Struct

from tenure.clock import to_micros
from tenure.dashboard.masking import Mask
from tenure.errors import FieldError
from tenure.filters import Filter
from tenure.job import FINISHED, PENDING, State
from tenure.query import format as written
from tenure.query import parse

__all__ = ["TAKES", "TOUCHES", "Order", "one_id", "touched", "until_of", "which_of"]

_MOST: Final = 10_000
TOUCHES: Final[Mapping[str, Sequence[State]]] = {
    "retry": FINISHED,
    "cancel": (*PENDING, State.RUNNING),
    "purge": FINISHED,
    "discard": (State.DEAD,),
    "restore": (State.CANCELLED,),
}
"""The states in which jobs are that an action on many can change."""
TAKES: Final[Mapping[str, Sequence[str]]] = {
    "retry": ("q", "ids", "rate", "at"),
    "unreplay": ("name", "ids"),
    "cancel": ("q", "ids", "rate"),
    "purge": ("q", "ids", "rate"),
    "discard": ("q", "ids", "rate"),
    "restore": ("q", "ids", "name", "rate"),
    "enqueue_edited": ("ids", "payload", "at"),
    "pause": ("name",),
    "resume": ("name",),
    "run_cron": ("name",),
    "pause_cron": ("name",),
    "resume_cron": ("name",),
    "snooze_error": ("name", "at"),
}
"""What may be said beside each action."""
_ABOUT: Final = ("q", "ids", "name")


class Order(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One action, on the jobs of a filter, on jobs by their ids, or on what has a name."""

    action: str
    q: str | None = None
    ids: tuple[str, ...] = ()
    name: str | None = None
    at: str | None = None
    payload: str | None = None
    rate: float | None = None
    """No more jobs than this in a second."""

    def check(self) -> None:
        """Refuse what its action does not use: nobody is to think that it was about that."""
        if self.action not in TAKES:
            raise FieldError("action", f"must be one of {', '.join(TAKES)}", self.action)
        said = {name: value for name in self.__struct_fields__ if (value := getattr(self, name)) not in (None, ())}  # fmt: skip
        for name, value in said.items():
            if name not in ("action", *TAKES[self.action]):
                raise FieldError(name, f"must be left out: {self.action} does not use it", value)
        if len(about := [name for name in _ABOUT if name in said]) > 1:
            raise FieldError(about[1], f"must be left out where {about[0]} is given", said[about[1]])

    def named(self) -> str:
        """The name, where there must be one."""
        if not self.name:
            raise FieldError("name", f"must be given for {self.action}", self.name)
        return self.name


def which_of(order: Order, mask: Mask) -> Filter:
    """The jobs that are meant; nobody can have meant every job there is."""
    if order.ids:
        if len(order.ids) > _MOST:
            raise FieldError("ids", f"must be at most {_MOST:,}", len(order.ids), "say a filter, as q")
        return Filter(ids=order.ids)
    if not (order.q or "").strip():
        raise FieldError("q", "must name at least a state", order.q, "state:dead")
    which = parse(order.q or "")
    mask.check(which)
    return touched(which, order.action)


def touched(which: Filter, action: str) -> Filter:
    """Those of these jobs that an action can change: they are counted, shown and acted on, and no others."""
    if action not in TOUCHES:
        raise FieldError("action", f"must be one of {', '.join(TOUCHES)}", action)
    if action == "restore":
        return replace(which, states=("cancelled",))
    if action == "retry" and which.states is None and which.ids is None:
        return replace(which, states=("dead",))
    found = which.only(TOUCHES[action])
    if not found.states:
        told = ", ".join(TOUCHES[action])
        raise FieldError("q", f"must mean jobs that {action} can change ({told})", written(which))
    return found


def one_id(order: Order) -> str:
    """The one job that is meant."""
    if len(order.ids) != 1:
        raise FieldError("ids", "must be one job for this", list(order.ids)[:5])
    return order.ids[0]


def until_of(text: str | None) -> datetime | None:
    """A moment as the page sends it."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise FieldError("at", "must be a time in ISO 8601", text, "2026-01-31T09:00:00Z") from None
    if moment.utcoffset() is None:
        raise FieldError("at", "must say its zone", text, "end it with Z for UTC")
    to_micros(moment, "at")
    return moment
