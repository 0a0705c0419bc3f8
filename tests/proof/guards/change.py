"""One change to the text of a statement: what a mutant is made of."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Change"]


@dataclass(frozen=True, slots=True)
class Change:
    """What stands from `start` to `end` becomes `new`; `word` names the guard, `what` is told to people."""

    word: str
    start: int
    end: int
    new: str
    what: str
