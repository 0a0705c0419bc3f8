"""What those who take part in a fault run write down: ids that were promised to them, and each run of a handler.

One write a line, at the end of a file that any number of processes append to: what a killed process wrote before is there, and
a line that a kill cut short is none.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Literal, NamedTuple

import tenure

__all__ = ["Acks", "Effect", "Effects", "Said"]

_UUID = rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_ID = re.compile(_UUID + rb"(?=\n)")
_LINE = re.compile(rb"(" + _UUID + rb") (\d+) (done|fail|snooze) (\S+)\n")

Said = Literal["done", "fail", "snooze"]
"""How a run is about to end, if nothing comes between."""


def _append(path: Path, text: str) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(handle, text.encode())
    finally:
        os.close(handle)


class Acks:
    """Job ids, one a line."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, *ids: str) -> None:
        """Write these down: after `enqueue` has returned them."""
        _append(self.path, "".join(f"{job}\n" for job in ids))

    def read(self) -> list[str]:
        """All that were written down so far."""
        return [found.decode() for found in _ID.findall(self._bytes())]

    def count(self) -> int:
        """How many lines there are so far."""
        return self._bytes().count(b"\n")

    def _bytes(self) -> bytes:
        return self.path.read_bytes() if self.path.exists() else b""


class Effect(NamedTuple):
    """One run of a handler, as it wrote it down itself."""

    job: str
    epoch: int
    said: Said
    worker: str

    @classmethod
    def of(cls, claim: tenure.Claim, said: Said = "done") -> Effect:
        """The run of this claim."""
        return cls(claim.id, claim.epoch, said, claim.worker)


class Effects:
    """What handlers did outside the store: a line "job epoch said worker" for each run."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, claim: tenure.Claim, said: Said = "done") -> None:
        """Write down that this claim's handler runs, and how it is about to end."""
        _append(self.path, "{} {} {} {}\n".format(*Effect.of(claim, said)))

    def read(self) -> list[Effect]:
        """All of them, in their order."""
        found = _LINE.findall(self.path.read_bytes()) if self.path.exists() else []
        return [
            Effect(job.decode(), int(epoch), said.decode(), who.decode()) for job, epoch, said, who in found
        ]

    def count(self) -> int:
        """How many lines there are so far."""
        return self.path.read_bytes().count(b"\n") if self.path.exists() else 0
