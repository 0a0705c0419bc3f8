"""hook, unhook, hooks, and the jobs that hooks make of deaths: one for every death, in the transaction of the death.

Asked only where a job died, so what goes well costs nothing. A hook job's id comes from the death itself, so a death has
one whatever is repeated. No hook keeps a job from dying: one that cannot be made is logged. Jobs of a hook's own kind have
no hooks, or two hooks that die of each other would never end.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, NamedTuple
from uuid import UUID

from tenure.clock import from_micros
from tenure.dead import HookSeen
from tenure.errors import PayloadError, TenureError
from tenure.job import decode_text
from tenure.newjob import NewJob, Row, check
from tenure.store.dialect import Capabilities
from tenure.store.enqueue import enqueue
from tenure.store.pack import pack_ids
from tenure.store.plan import Plan, Statement

__all__ = ["ANY", "call_hooks", "called_for", "hook", "hooks", "unhook"]

ANY = "*"
"""The kind whose hooks are told of every death."""
_LONGEST = 262_144
_BATCH = 100
"""How many of the dead are looked at together: each brings its payload along."""
_MILLIS = 2**48 - 1

_log = logging.getLogger("tenure")


class _Hooked(NamedTuple):
    """What `hooked` tells: a hook, and the job that died."""

    hook: str
    hook_queue: str
    priority: int
    hook_attempts: int
    id: str
    epoch: int
    kind: str
    queue: str
    payload: str | None
    attempt: int
    max_attempts: int
    crashes: int
    reason: str | None
    error: str | None
    created_at: int
    finished_at: int
    tenant: str | None
    extra: str | None


def hook(spec: HookSeen) -> Plan[bool]:
    """Store a hook, or change it; whether anything changed."""
    params = {
        "kind": spec.kind, "hook": spec.hook, "queue": spec.queue, "priority": spec.priority,
        "max_attempts": spec.max_attempts,
    }  # fmt: skip
    answer = yield Statement("hook", params, alone=True)
    return answer.changed > 0


def unhook(kind: str, hook: str) -> Plan[bool]:
    """Forget a hook; whether there was one."""
    answer = yield Statement("unhook", {"kind": kind, "hook": hook}, alone=True)
    return answer.changed > 0


def hooks() -> Plan[list[HookSeen]]:
    """Every hook, by the kind it waits for."""
    answer = yield Statement("hooks", {}, alone=True, reads=True)
    return [
        HookSeen(kind=kind, hook=hook, queue=queue, priority=priority, max_attempts=most)
        for kind, hook, queue, priority, most in answer.rows
    ]


def call_hooks(dead: Sequence[str], can: Capabilities, *, now: int | None) -> Plan[None]:
    """The jobs that hooks make of these deaths, which this transaction has just written."""
    for start in range(0, len(dead), _BATCH):
        ids = pack_ids(dead[start : start + _BATCH])
        answer = yield Statement("hooked", {"ids": ids, "longest": _LONGEST})
        made: dict[str, Row] = {}
        for told in map(_Hooked._make, answer.rows):
            # A hook of the kind comes before the same one of every kind, and they make one job.
            if (given := _id_of(told)) not in made and (row := _row(told, given)) is not None:
                made[given] = row
        if made:
            yield from enqueue(list(made.values()), can, now=now, inside=True)


def called_for(dead: Sequence[str]) -> Plan[dict[str, set[str]]]:
    """The ids of the jobs that hooks made of these deaths, by who died."""
    made: dict[str, set[str]] = {}
    for start in range(0, len(dead), _BATCH):
        ids = pack_ids(dead[start : start + _BATCH])
        answer = yield Statement("hooked", {"ids": ids, "longest": 0})
        for told in map(_Hooked._make, answer.rows):
            made.setdefault(told.id, set()).add(_id_of(told))
    return made


def _id_of(told: _Hooked) -> str:
    """The one id of this hook's job for this death: a UUIDv7, of the moment of the death, so that it sorts as others do."""
    name = f"{told.id}:{told.epoch}:{told.hook}"
    noise = int.from_bytes(blake2b(name.encode(), digest_size=10).digest())
    moment = (told.finished_at // 1_000) & _MILLIS
    value = moment << 80 | noise & ~(0xF << 76) & ~(0b11 << 62) | 0x7 << 76 | 0b10 << 62
    return str(UUID(int=value))


def _row(told: _Hooked, given: str) -> Row | None:
    """The hook's job; without the payload of the dead one where both do not fit into each other."""
    try:
        try:
            return _checked(told, given, _payload(told.payload))
        except PayloadError:
            return _checked(told, given, None)
    except TenureError as problem:
        _log.error("hook %r is not told that job %s died: %s; store it anew with hook", told.hook, told.id, problem)  # fmt: skip
        return None


def _checked(told: _Hooked, given: str, payload: Any) -> Row:
    extra = json.loads(told.extra) if told.extra else {}
    dead = {
        "id": told.id, "kind": told.kind, "queue": told.queue, "payload": payload, "attempt": told.attempt,
        "max_attempts": told.max_attempts, "crashes": told.crashes, "reason": told.reason, "error": told.error,
        "created_at": from_micros(told.created_at).isoformat(), "dead_at": from_micros(told.finished_at).isoformat(),
        "tags": extra.get("tags", []), "meta": extra.get("meta", {}), "tenant": told.tenant,
    }  # fmt: skip
    job = NewJob(
        kind=told.hook, payload={"dead": dead}, queue=told.hook_queue, priority=told.priority,
        max_attempts=told.hook_attempts, parent=told.id, id=given,
    )  # fmt: skip
    return check(job, sys.maxsize)


def _payload(text: str | None) -> Any:
    return None if text is None else decode_text(text)
