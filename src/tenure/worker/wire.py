"""What a worker and its child processes say to each other: small messages over a socket, length first.

The worker says `Start` and `Stop`, the child says `Ready`, `Begun`, `Told` (progress) and `End`. Nothing is pickled: an
outcome travels as its name and its plain values.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import msgspec

from tenure.duration import parse
from tenure.outcome import Bury, Cancelled, Crashed, Done, Fail, Outcome, Release, Snooze, name_of
from tenure.payload import MAX_RESULT, encode

__all__ = [
    "Begun",
    "End",
    "Message",
    "Ready",
    "Start",
    "Stop",
    "Told",
    "outcome_from",
    "packed",
    "plain_outcome",
    "unpack",
]

LENGTH = 4


class Start(msgspec.Struct, tag="start"):
    """Run this claim."""

    row: list[Any]
    worker: str


class Stop(msgspec.Struct, tag="stop"):
    """Stop what you run: why is cancel, lost, timeout or leave."""

    why: str


class Ready(msgspec.Struct, tag="ready"):
    """The app is imported; a claim may come."""


class Begun(msgspec.Struct, tag="begun"):
    """The claim is here, and its handler is called next."""


class Told(msgspec.Struct, tag="told"):
    """How far it is."""

    done: float
    note: str | None


class End(msgspec.Struct, tag="end"):
    """What became of it, and what its handler said in a transaction of its own; no outcome: the claim is lost."""

    outcome: dict[str, Any] | None
    settled_as: dict[str, Any] | None
    unawaited: bool = False


class Refused(msgspec.Struct, tag="refused"):
    """The app could not be imported."""

    why: str


Message = Start | Stop | Ready | Begun | Told | End | Refused
_encode = msgspec.msgpack.Encoder().encode
unpack: Callable[[bytes], Message] = msgspec.msgpack.Decoder(Message).decode


def packed(message: Message) -> bytes:
    """The message as it goes over the wire."""
    body = _encode(message)
    return len(body).to_bytes(LENGTH, "big") + body


def plain_outcome(outcome: Outcome | None) -> dict[str, Any] | None:
    """An outcome as plain values."""
    if outcome is None:
        return None
    if isinstance(outcome, Done):
        # As JSON: a number may be larger than any that the wire knows.
        return {"name": "done", "result": encode(outcome.result, "result", MAX_RESULT)}
    fields = {name: getattr(outcome, name) for name in type(outcome).__dataclass_fields__}
    return {"name": name_of(outcome), **{k: _plain(v) for k, v in fields.items()}}


def _plain(value: Any) -> Any:
    match value:
        case timedelta():
            return value.total_seconds()
        case None | int() | float():
            return value
        case _:
            return str(value).encode("utf-8", "replace").decode()  # half a character goes over no wire


_OUTCOMES: dict[str, Callable[..., Outcome]] = {
    "done": Done,
    "fail": Fail,
    "snooze": Snooze,
    "release": Release,
    "bury": Bury,
    "cancelled": Cancelled,
    "crashed": Crashed,
}


def outcome_from(plain: dict[str, Any] | None) -> Outcome | None:
    """The outcome that these plain values tell of."""
    if plain is None:
        return None
    given = dict(plain)
    make = _OUTCOMES[given.pop("name")]
    if make is Done:
        return Done(json.loads(given["result"]))
    for name in ("retry_in", "delay"):
        if given.get(name) is not None:
            given[name] = parse(given[name], name)
    return make(**given)
