"""In which order a round of `make torture` plays its tests: so that wherever it is cut short, it had a share of everything.

Tests of one function that differ by a number only are a strand: words say what is played (the store, the fault), numbers how
often. All strands go side by side, each as fast as it is long: when half of a round is over, so is half of each. The first of each
comes in the first third. Which test comes when is drawn from the round's seed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TypeVar

import pytest

__all__ = ["spread", "strand_of"]

T = TypeVar("T")
_SOON = 1 / 3
"""The share of a round in which something of everything is played."""


def spread(items: Sequence[T], strand_of: Callable[[T], str], chance: random.Random) -> list[T]:
    """These, in an order in which every strand is spread over all of it."""
    strands: dict[str, list[T]] = {}
    for item in chance.sample(list(items), len(items)):
        strands.setdefault(strand_of(item), []).append(item)
    turns: list[tuple[float, T]] = []
    for strand in strands.values():
        begins = chance.random()
        first, *others = strand
        turns.append((min(begins / len(strand), begins * _SOON), first))
        turns += [((place + begins) / len(strand), item) for place, item in enumerate(others, 1)]
    return [item for _, item in sorted(turns, key=lambda turn: turn[0])]


def strand_of(item: pytest.Item) -> str:
    """The function that a test is of, and the words that it is told."""
    name = getattr(item, "originalname", None) or item.name
    drawn = getattr(item, "callspec", None)
    words = [] if drawn is None else [value for value in drawn.params.values() if isinstance(value, str)]
    return f"{item.path}::{name} {words}"
