"""Pydantic models among a job's arguments and results: checked, dumped and loaded by pydantic itself.

Pydantic is never imported here: whoever annotates with a model has imported it. What would not come back from JSON as it
went in (a SecretStr is written as stars) is refused before it is stored.
"""

from __future__ import annotations

import sys
import typing
from typing import Any

import msgspec

from tenure.errors import PayloadError

__all__ = ["adapter", "dumped", "has_model", "load_any", "loaded", "plain_of"]


def has_model(annotation: Any) -> bool:
    """Whether pydantic must check what is annotated so: a model in it, or a type or rule of pydantic's own."""
    if "pydantic" not in sys.modules:
        return False
    if isinstance(annotation, type) and hasattr(annotation, "__pydantic_validator__"):
        return True
    owner = annotation if isinstance(annotation, type) else type(annotation)
    if owner.__module__.partition(".")[0] == "pydantic":
        return True
    return any(has_model(part) for part in typing.get_args(annotation))


def adapter(annotation: Any) -> Any:
    """What checks, dumps and loads values annotated so."""
    return sys.modules["pydantic"].TypeAdapter(annotation)


def dumped(given: Any, path: str, value: Any, field: str = "payload") -> Any:
    """The value as JSON can hold it, proven to come back."""
    try:
        model = given.validate_python(value)
        plain = given.dump_python(model, mode="json", by_alias=True, warnings=False)
    except (ValueError, RecursionError) as cause:
        raise _misfit(cause, path, value, field) from None
    back = loaded(given, path, plain, field)
    if given.dump_python(back, warnings=False) != given.dump_python(model, warnings=False):
        raise PayloadError(field, path, "would not come back from JSON as it went in", value, "use types that JSON can carry")  # fmt: skip
    return plain


def loaded(given: Any, path: str, value: Any, field: str = "payload") -> Any:
    """A plain value as the annotation has it."""
    try:
        return given.validate_json(msgspec.json.encode(value))
    except (ValueError, RecursionError) as cause:
        raise _misfit(cause, path, value, field) from None


def plain_of(value: Any, path: str, field: str = "payload", *, keyed: bool = True) -> Any:
    """What no annotation says that pydantic checks, as JSON can hold it; `keyed`: keys that are not text may become text."""
    try:
        return msgspec.to_builtins(value, str_keys=keyed, enc_hook=_dump_any)
    except PayloadError as refused:  # by a model, which does not know where it stands
        raise PayloadError(field, path + refused.path, refused.rule, refused.value, refused.fix) from None


def _dump_any(value: Any) -> Any:
    """For msgspec: a model where no annotation told of one, or a text or number of a class of its own."""
    if hasattr(value, "model_dump") and has_model(type(value)):
        return dumped(adapter(type(value)), "", value)
    match value:
        case str():
            return str.__str__(value)
        case int():
            return int.__int__(value)
        case float():
            return float.__float__(value)
        case _:
            pass
    raise TypeError(f"{type(value).__qualname__} is no type that JSON or msgspec knows")


def load_any(kind: Any, value: Any) -> Any:
    """For msgspec: a model inside a dataclass or Struct. Anything else must be of its type already."""
    if hasattr(kind, "model_validate_json"):
        return loaded(adapter(kind), "", value)
    return value


def _misfit(cause: Exception, path: str, value: Any, field: str) -> PayloadError:
    errors: list[Any] = getattr(cause, "errors", list)()
    if not errors:
        return PayloadError(field, path, f"cannot be kept as JSON ({cause})", value)
    inner = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in errors[0]["loc"])
    rule = str(errors[0]["msg"])
    return PayloadError(field, path + inner, rule[:1].lower() + rule[1:], value)
