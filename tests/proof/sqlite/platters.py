"""What is on the disk after a power cut: all that was synced, and of the rest whatever the cut left of it.

A write that was not synced may be there, not be there, or be there in part (sectors of 512 bytes); later ones may be there
without earlier ones. Names in the folder come and go in order, as journaled file systems keep them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.proof.sqlite.disk import Step

__all__ = ["WAYS", "Platters", "cuts"]

_SECTOR = 512
WAYS = ("lost", "kept", "first ones", "some", "torn")


def _apply(content: bytearray, step: Step) -> None:
    if step[0] == "write":
        _, _, offset, data = step
        if offset > len(content):
            content.extend(bytes(offset - len(content)))
        content[offset : offset + len(data)] = data
    else:
        size = step[2]
        if size < len(content):
            del content[size:]
        else:
            content.extend(bytes(size - len(content)))


def _torn(content: bytearray, step: Step, rng: random.Random) -> None:
    """Some of a write's sectors; a new length comes or does not."""
    if step[0] == "truncate":
        if rng.random() < 0.5:
            _apply(content, step)
        return
    kind, number, offset, data = step
    at = 0
    while at < len(data):
        end = min(at + _SECTOR - (offset + at) % _SECTOR, len(data))
        if rng.random() < 0.5:
            _apply(content, (kind, number, offset + at, data[at:end]))
        at = end


class Platters:
    """A disk, step by step."""

    def __init__(self) -> None:
        self._synced: dict[int, bytearray] = {}
        self._pending: dict[int, list[Step]] = {}
        self._names: dict[str, int] = {}
        self._entries: list[Step] = []

    def step(self, step: Step) -> None:
        """One more thing happened."""
        match step[0]:
            case "write" | "truncate":
                self._pending[step[1]].append(step)
            case "sync":
                for pending in self._pending[step[1]]:
                    _apply(self._synced[step[1]], pending)
                self._pending[step[1]].clear()
            case "create":
                self._synced[step[2]], self._pending[step[2]] = bytearray(), []
                self._entries.append(step)
            case "delete":
                self._entries.append(step)
            case "entries":
                _enter(self._names, self._entries)
                self._entries.clear()
            case _:
                pass

    def leave(self, folder: Path, how: str, rng: random.Random) -> None:
        """The power goes now: put what is left into this folder."""
        names = dict(self._names)
        came = {"lost": 0, "kept": len(self._entries)}.get(how, rng.randint(0, len(self._entries)))
        _enter(names, self._entries[:came])
        for name, number in names.items():
            (folder / name).write_bytes(self._left(number, how, rng))

    def _left(self, number: int, how: str, rng: random.Random) -> bytes:
        content, pending = bytearray(self._synced[number]), self._pending[number]
        kept: Sequence[Step] = pending
        match how:
            case "lost":
                kept = []
            case "first ones":
                kept = pending[: rng.randint(0, len(pending))]
            case "some":
                kept = [step for step in pending if rng.random() < 0.5]
            case _:
                pass
        for step in kept:
            if how == "torn":
                _torn(content, step, rng)
            else:
                _apply(content, step)
        if how == "first ones" and len(kept) < len(pending):
            _torn(content, pending[len(kept)], rng)
        return bytes(content)


def _enter(names: dict[str, int], entries: Sequence[Step]) -> None:
    for entry in entries:
        if entry[0] == "create":
            names[entry[1]] = entry[2]
        else:
            names.pop(entry[1], None)


def cuts(log: Sequence[Step], count: int, rng: random.Random) -> Iterator[tuple[int, Platters]]:
    """The disk at so many moments of a log, in their order; where the moment is, and the disk as it is then.

    What comes before the first mark was on the disk before anything began: there is no moment among it.
    """
    begun = next(number for number, step in enumerate(log, 1) if step[0] == "mark")
    moments = sorted(rng.randint(begun, len(log)) for _ in range(count))
    platters, at = Platters(), 0
    for moment in moments:
        for step in log[at:moment]:
            platters.step(step)
        at = moment
        yield at, platters
