"""The fields of the filter language: what each takes, for parsing, completing and teaching."""

from __future__ import annotations

from typing import Final, NamedTuple

from tenure.job import State

__all__ = ["FIELDS", "PAYLOAD", "STATES", "Field", "field_of"]

STATES: Final = (*(s.value for s in State), "pending")
PAYLOAD: Final = "payload."


class Field(NamedTuple):
    """One field: its name, what may stand behind the colon, what it means, and values to begin with."""

    name: str
    takes: str
    means: str
    example: str
    several: bool = True
    """Whether commas may separate alternatives."""
    negates: bool = True
    """Whether a minus may stand in front."""
    samples: tuple[str, ...] = ()
    stars: bool = False
    """Whether a star in a value stands for any characters."""


FIELDS: Final = (
    Field("state", "a state, or pending", "where it stands; pending is scheduled, waiting or ready", "state:dead,cancelled", samples=STATES),
    Field("kind", "a kind, * for any characters", "its kind", "kind:send_*", stars=True),
    Field("queue", "a queue, * for any characters", "its queue", "queue:mail", stars=True),
    Field("error", "text, * for any characters", "its last error has this text in it; with a * the whole error is this, with or without its type in front", "error:Timeout*", stars=True),
    Field("fingerprint", "an error group's name", "its last failure is one of this group", "fingerprint:9f86d081884c7d65", several=False, negates=False),
    Field("age", "> or < and a length of time", "how long ago it ended, or was enqueued if it has not", "age:>1h", several=False, samples=(">5m", ">1h", ">1d", "<5m", "<1h", "<1d")),
    Field("overdue", "> and a length of time", "for how long it should have been taken back from its worker, or been made ready", "overdue:>5s", several=False, negates=False, samples=(">5s", ">1m")),
    Field("attempt", "a number, or one behind > >= < <=", "how often it was tried", "attempt:>=3", several=False, samples=("0", ">=1", ">=3")),
    Field("priority", "a number, or one behind > >= < <=", "its priority", "priority:>0", several=False, samples=("0", ">0", "<0")),
    Field("tag", "a tag", "it has this tag; say the word again for another it must have too", "tag:vip", several=False),
    Field("id", "a job's id", "this very job", "id:0190a5d0-…", negates=False),
    Field("group", "a group's key", "its group", "group:chat:7", several=False, negates=False),
    Field("tenant", "a tenant", "its tenant", "tenant:acme", several=False, negates=False),
    Field("flow", "a flow", "its flow", "flow:import-7", several=False, negates=False),
    Field("parent", "a job's id", "the job it was made by", "parent:0190a5d0-…", several=False, negates=False),
    Field("payload.", "a value, * for any characters", "what stands in its payload at this path", 'payload.to:"a@b.c"', stars=True),
)  # fmt: skip
"""Every field, in the order in which a filter is written."""
_BY_NAME: Final = {field.name: field for field in FIELDS}


def field_of(name: str) -> Field | None:
    """The field of this name; `payload.` stands for every path."""
    return _BY_NAME.get(PAYLOAD if name.startswith(PAYLOAD) else name)
