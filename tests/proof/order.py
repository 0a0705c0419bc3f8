"""In which order a round of `make torture` plays its tests: so that wherever it is cut short, it had a share of everything.

The tests of one function, on one kind of store, are a strand. First comes one of each strand, then all go on side by side, each
as fast as it is long: when half of a round is over, so is half of each strand. Which test comes when within its strand is drawn
from the round's seed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TypeVar

import pytest

from tests.support.fresh import KINDS

__all__ = ["spread", "strand_of"]

T = TypeVar("T")


def spread(items: Sequence[T], strand_of: Callable[[T], str], chance: random.Random) -> list[T]:
    """These, in an order in which every strand is spread over all of it."""
    drawn = chance.sample(list(items), len(items))
    strands: dict[str, list[T]] = {}
    for item in drawn:
        strands.setdefault(strand_of(item), []).append(item)
    turns = [(place / len(strand), item) for strand in strands.values() for place, item in enumerate(strand)]
    chance.shuffle(turns)
    return [item for _, item in sorted(turns, key=lambda turn: turn[0])]


def strand_of(item: pytest.Item) -> str:
    """The function that a test is of, and the kind of store it plays on, if it names one."""
    name = getattr(item, "originalname", None) or item.name
    drawn = getattr(item, "callspec", None)
    stores = [value for value in drawn.params.values() if value in KINDS] if drawn is not None else []
    return f"{item.path}::{name} {stores}"
