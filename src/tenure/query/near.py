"""What somebody may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from tenure.errors import TenureError
from tenure.newjob import check_id
from tenure.query.fields import FIELDS, STATES

__all__ = ["meant", "nearest"]


def nearest(said: str, known: Iterable[str], least: float = 0.5) -> str:
    """The known word that is most like what was said, if one is."""
    found = get_close_matches(said.lower(), list(known), 1, least)
    return found[0] if found else ""


def meant(said: str) -> str:
    """A whole word, for text that is none: an id or a state without its field, a field without its value."""
    try:
        return f"id:{check_id(said)}"
    except TenureError:
        pass
    if state := nearest(said, STATES, 0.7):
        return f"state:{state}"
    field = nearest(said, [f.name for f in FIELDS])
    return next((f.example for f in FIELDS if f.name == field), "")
