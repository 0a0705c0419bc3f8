"""What an operator asks for, as it arrives, and which jobs that means."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Final

from msgspec import Struct

from tenure.dashboard.masking import Mask
from tenure.errors import FieldError
from tenure.filters import Filter
from tenure.query import parse

__all__ = ["Order", "one_id", "until_of", "which_of"]

_MOST: Final = 10_000


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
    if order.action == "restore":
        return replace(which, states=("cancelled",))
    if order.action == "retry" and which.states is None and which.ids is None:
        return replace(which, states=("dead",))
    return which


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
    return moment
