"""A thread that waits on a watch, and what it is told."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Any

from tenure.store.base import Watch

__all__ = ["heard_during", "hears_by_and_by", "quiet", "until"]

_PATIENCE = 30.0


def until(fact: Callable[[], bool]) -> None:
    """Wait for a fact."""
    deadline = time.monotonic() + _PATIENCE
    while not fact():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.002)


def hears_by_and_by(watch: Watch) -> None:
    """Wait until the watch hears."""
    deadline = time.monotonic() + _PATIENCE
    while not watch.hears:
        assert time.monotonic() < deadline, "it never heard"
        watch.wait(0.1)


def quiet(watch: Any) -> Watch:
    """A watch that hears, and has told all it had to tell: what comes next is new."""
    hears_by_and_by(watch)
    deadline = time.monotonic() + _PATIENCE
    while watch.wait(0.3) or _has_more_to_tell(watch):
        assert time.monotonic() < deadline, "it never fell silent"
    return watch  # type: ignore[no-any-return]


def _has_more_to_tell(watch: Any) -> bool:
    """On PostgreSQL: whether it waits for an answer, or will soon say to look again."""
    return bool(getattr(watch, "_asked", ())) or getattr(watch, "_look_at", math.inf) < math.inf


def heard_during(watch: Any, act: Callable[[], object]) -> list[bool]:
    """What a wait that was under way when `act` was done told: one answer."""
    answers: list[bool] = []
    thread = threading.Thread(target=lambda: answers.append(watch.wait(10)))
    thread.start()
    until(lambda: watch._inside)
    act()
    thread.join(_PATIENCE)
    return answers
