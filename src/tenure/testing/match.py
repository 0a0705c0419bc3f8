"""Which enqueued jobs are meant: by kind, by some of the arguments as the handler would get them, by some options.

What does not match says where: a list of (name, wanted, found), the fewer the nearer.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from tenure.duration import parse
from tenure.errors import FieldError, PayloadError, shown
from tenure.job import JobSeen
from tenure.kinds import Kind

__all__ = ["Wanted", "wanted_of"]

_OPTIONS = (
    "queue", "priority", "run_at", "delay", "max_attempts", "unique", "unique_for", "group", "group_limit", "order",
    "expires_at", "expires_in", "timeout", "tags", "meta", "parent", "flow", "tenant", "id",
)  # fmt: skip
_SPANS = ("delay", "unique_for", "expires_in", "timeout")
_NOTHING = object()


@dataclass(frozen=True, slots=True)
class Difference:
    """Where a job is not the one that is meant."""

    name: str
    wanted: Any
    found: Any

    def __str__(self) -> str:
        found = "missing" if self.found is _NOTHING else shown(self.found)
        return f"{self.name}: wanted {shown(self.wanted)}, is {found}"


@dataclass(frozen=True, slots=True)
class Wanted:
    """The job that is meant."""

    name: str
    kind: Kind[Any, Any, Any] | None
    arguments: Mapping[str, Any]
    options: Mapping[str, Any]

    def differences(self, job: JobSeen) -> list[Difference]:
        """Where this job, which is of the kind, is not the one that is meant; empty: it is."""
        given = _arguments(job, self.kind)
        found = [
            Difference(name, wanted, given.get(name, _NOTHING))
            for name, wanted in self.arguments.items()
            if not _same(wanted, given.get(name, _NOTHING))
        ]
        for name, wanted in self.options.items():
            value = _option(job, name)
            if not _same(wanted, value):
                found.append(Difference(name, wanted, value))
        return found

    def __str__(self) -> str:
        arguments = ", ".join(f"{n}={shown(v)}" for n, v in self.arguments.items())
        options = ", ".join(f"{n}={shown(v)}" for n, v in self.options.items())
        return f"{self.name}({arguments})" + (f" with {options}" if options else "")


def wanted_of(
    name: str,
    kind: Kind[Any, Any, Any] | None,
    arguments: Mapping[str, Any],
    options: Mapping[str, Any] | None,
) -> Wanted:
    """What is meant, checked: a name that cannot be right would never match, or always."""
    if kind is not None:
        known = _parameters(kind)
        for argument in arguments:
            if argument not in known:
                raise FieldError(
                    f"{name}({', '.join(known)})",
                    "has no argument of this name",
                    argument,
                    "a job's options go into options={…}",
                )
    checked: dict[str, Any] = {}
    for option, value in (options or {}).items():
        if option not in _OPTIONS:
            raise FieldError("options", f"must be among {', '.join(_OPTIONS)}", option)
        checked[option] = parse(value, option) if option in _SPANS and value is not None else value
    return Wanted(name, kind, arguments, checked)


def _parameters(kind: Kind[Any, Any, Any]) -> dict[str, inspect.Parameter]:
    found = dict(inspect.signature(kind.function).parameters)
    found.pop(kind.signature.context_name or "", None)
    return found


def _arguments(job: JobSeen, kind: Kind[Any, Any, Any] | None) -> Mapping[str, Any]:
    """A job's arguments as its handler would get them; what the payload says where there is no such handler."""
    try:
        if kind is not None:
            given = kind.signature.arguments(job.payload_text)
            parameters = _parameters(kind)
            named = (
                dict(zip(parameters, given, strict=True))
                if isinstance(given, tuple)
                else dict[str, Any](given)
            )
            left = {n: p.default for n, p in parameters.items() if p.default is not inspect.Parameter.empty}
            return {**left, **named}
        payload = job.payload
    except PayloadError:
        return {}
    return payload if isinstance(payload, Mapping) else {}


def _option(job: JobSeen, name: str) -> Any:
    if name == "delay":
        return job.run_at - job.created_at
    if name == "expires_in":
        return None if job.expires_at is None else job.expires_at - job.created_at
    return getattr(job, name)


def _same(wanted: Any, found: Any) -> bool:
    """Equal, or the same JSON: a dict for a model, a list for a tuple."""
    if found is _NOTHING:
        return False
    try:
        return bool(wanted == found) or _json(wanted) == _json(found)
    except Exception:
        return False  # what can be neither compared nor told is not the same


def _json(value: Any) -> Any:
    return json.loads(msgspec.json.encode(value, enc_hook=_dump))


def _dump(value: Any) -> Any:
    return value.model_dump(mode="json")
