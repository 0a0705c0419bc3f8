"""What a verb hands to a face: a plan to be made and run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from tenure.newjob import Row
from tenure.store.plan import Plan

__all__ = ["Call"]

T = TypeVar("T")


@dataclass(slots=True)
class Call(Generic[T]):
    """A checked call: how to make its plan (anew, for each try), and how it may be run."""

    make: Callable[[bool], Plan[T]]
    reads: bool = False
    repeatable: bool = True
    row: Row | None = None
    """The one row it stores, where it may be stored together with others'."""
    promises: bool = True
    """Whether its answer is a promise that must survive a power cut; a claim is none, and need not wait for the disk."""
    undo: Callable[[T], Call[Any]] | None = None
    """How to take back what it did, where nobody is left to be told of it."""
