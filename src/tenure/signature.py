"""How a function's arguments become a payload, and a payload its arguments again.

A payload is a JSON object with one member per parameter, checked and decoded from the annotations by msgspec; parameters
whose annotation holds a pydantic model are checked and decoded by pydantic. A parameter annotated `Context` is not part of
the payload: the worker passes it in. What does not fit raises PayloadError with the path inside the payload.
"""

from __future__ import annotations

import inspect
import sys
import typing
from collections.abc import Callable, Mapping
from functools import cached_property
from types import FunctionType
from typing import Any

import msgspec

from tenure.errors import FieldError, FieldTypeError, PayloadError
from tenure.job import decode_text

__all__ = ["Arguments", "Returned", "Signature"]

_BAD_KINDS = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class Arguments(typing.NamedTuple):
    """What a handler is called with."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class Signature:
    """One function's parameters, as a payload has them. Annotations are looked at when they are first needed."""

    def __init__(self, function: Callable[..., Any], kind: str, context: type[Any]) -> None:
        self._function, self._kind, self._context = function, kind, context
        self._signature = inspect.signature(function)
        for parameter in self._signature.parameters.values():
            if parameter.kind in _BAD_KINDS:
                raise FieldError(
                    f"{kind}({parameter})",
                    "cannot be an argument of a job",
                    str(parameter),
                    "name each argument; pass a list or dict as one of them",
                )

    @cached_property
    def hints(self) -> dict[str, Any]:
        """The annotations, resolved."""
        function = inspect.unwrap(self._function)
        if not isinstance(function, FunctionType) and callable(function):
            function = getattr(function, "func", function)
        try:
            return typing.get_type_hints(function, include_extras=True)
        except NameError as cause:
            raise FieldError(
                f"kind {self._kind!r}",
                "has an annotation that names nothing",
                str(cause),
                "define or import the type at the top of the module",
            ) from None

    @cached_property
    def context_name(self) -> str | None:
        """The parameter that is given the Context, if there is one."""
        return next((n for n in self._signature.parameters if self.hints.get(n) is self._context), None)

    @cached_property
    def _plain(self) -> inspect.Signature:
        """The signature without the Context."""
        kept = [p for n, p in self._signature.parameters.items() if n != self.context_name]
        return self._signature.replace(parameters=kept)

    @cached_property
    def _types(self) -> dict[str, Any]:
        return {n: self.hints.get(n, Any) for n in self._plain.parameters}

    @cached_property
    def _models(self) -> dict[str, Any]:
        """What pydantic checks, by parameter."""
        return {n: _adapter(t) for n, t in self._types.items() if _has_model(t)}

    @cached_property
    def _struct(self) -> type[msgspec.Struct]:
        fields: list[Any] = []
        for name, parameter in self._plain.parameters.items():
            kind = Any if name in self._models else self._types[name]
            if parameter.default is inspect.Parameter.empty:
                fields.append((name, kind))
            else:
                fields.append((name, kind | msgspec.UnsetType if kind is not Any else Any, msgspec.UNSET))
        try:
            return msgspec.defstruct(
                "Arguments", fields, forbid_unknown_fields=True, kw_only=True, rename=None
            )
        except TypeError as cause:
            raise FieldTypeError(f"kind {self._kind!r}", f"has arguments of a type that cannot travel ({cause})", self._kind) from None  # fmt: skip

    @cached_property
    def _decode(self) -> Callable[[str], Any]:
        return msgspec.json.Decoder(self._struct).decode

    @cached_property
    def _positional(self) -> bool:
        """Whether every argument may be passed by its place, the Context first or not at all."""
        if any(p.kind is inspect.Parameter.KEYWORD_ONLY for p in self._plain.parameters.values()):
            return False
        return self.context_name in (None, next(iter(self._signature.parameters), None))

    def payload(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as a payload, proven to decode."""
        try:
            given = self._plain.bind(*args, **kwargs).arguments
        except TypeError as cause:
            raise FieldTypeError(
                f"{self._kind}{self._plain.replace(return_annotation=inspect.Signature.empty)}",
                f"cannot be called so ({cause})",
                (args, dict(kwargs)),
            ) from None
        builtins: dict[str, Any] = {}
        for name, value in given.items():
            adapter = self._models.get(name)
            builtins[name] = _plain_value(name, value) if adapter is None else _dumped(adapter, name, value)
        self.check(builtins)
        return builtins

    def check(self, payload: object) -> None:
        """Raise PayloadError where a payload does not fit."""
        try:
            found = msgspec.convert(payload, self._struct, str_keys=True)
        except msgspec.ValidationError as cause:
            raise self._misfit(cause, payload) from None
        self._validated(found)

    def arguments(self, text: str) -> tuple[Any, ...] | dict[str, Any]:
        """What a stored payload says: all arguments by place where that can be, else by name."""
        try:
            found = self._decode(text)
        except msgspec.ValidationError as cause:
            raise self._misfit(cause, text) from None
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            decode_text(text)
            raise PayloadError("payload", "", "is not JSON", text[:40], "look at job.payload_text") from None
        self._validated(found)
        values = msgspec.structs.astuple(found)
        if self._positional and msgspec.UNSET not in values:
            return values
        names = self._plain.parameters
        return {n: v for n, v in zip(names, values, strict=True) if v is not msgspec.UNSET}

    def call(self, arguments: tuple[Any, ...] | dict[str, Any], context: Any) -> Any:
        """Call the function with these, and with the context where it asks for one."""
        name = self.context_name
        if isinstance(arguments, tuple):
            return self._function(*arguments) if name is None else self._function(context, *arguments)
        if name is not None:
            arguments = {**arguments, name: context}
        bound = self._signature.bind_partial()
        bound.arguments.update({n: arguments[n] for n in self._signature.parameters if n in arguments})
        return self._function(*bound.args, **bound.kwargs)

    def called(self, args: tuple[Any, ...], kwargs: dict[str, Any], context: Callable[[], Any]) -> Any:
        """A plain call: the caller's arguments, and a context where the function asks for one and none was given."""
        name = self.context_name
        if name is None or name in kwargs or any(isinstance(a, self._context) for a in args):
            return self._function(*args, **kwargs)
        bound = self._plain.bind(*args, **kwargs)
        return self.call(dict(bound.arguments), context())

    def _validated(self, found: Any) -> None:
        for name, adapter in self._models.items():
            value = getattr(found, name)
            if value is not msgspec.UNSET:
                setattr(found, name, _loaded(adapter, name, value))

    def _misfit(self, cause: msgspec.ValidationError, payload: object) -> PayloadError:
        rule, _, path = str(cause).partition(" - at `$")
        shape = self._plain.replace(return_annotation=inspect.Signature.empty)
        return PayloadError(
            "payload",
            path.rstrip("`"),
            rule[0].lower() + rule[1:],
            payload,
            f"{self._kind}{shape} is what it must fit",
        )


class Returned:
    """What a function says it returns, for whoever waits for the result."""

    def __init__(self, signature: Signature) -> None:
        self._signature = signature

    @cached_property
    def _type(self) -> Any:
        return self._signature.hints.get("return", Any)

    def plain(self, value: Any) -> Any:
        """The value as JSON can hold it."""
        if _has_model(self._type):
            return _adapter(self._type).dump_python(value, mode="json")
        return msgspec.to_builtins(value, str_keys=True, enc_hook=_dump_any)

    def decoded(self, text: str | None) -> Any:
        """A stored result as the function's return annotation has it."""
        if text is None:
            return None
        if self._type is Any or self._type is None or self._type is type(None):
            return decode_text(text)
        if _has_model(self._type):
            return _adapter(self._type).validate_python(decode_text(text))
        return msgspec.json.decode(text, type=self._type)


def _plain_value(name: str, value: Any) -> Any:
    if value is None or type(value) in (str, int, bool, float):
        return value
    try:
        return msgspec.to_builtins(value, str_keys=True, enc_hook=_dump_any)
    except (TypeError, ValueError, RecursionError, OverflowError) as cause:
        raise PayloadError("payload", f".{name}", f"cannot be kept as JSON ({cause})", value) from None


def _dump_any(value: Any) -> Any:
    """A pydantic model where no annotation told of one."""
    dump = getattr(value, "model_dump", None)
    if dump is None:
        raise TypeError(f"{type(value).__qualname__} is no type that JSON or msgspec knows")
    return dump(mode="json")


def _has_model(annotation: Any) -> bool:
    pydantic = sys.modules.get("pydantic")
    if pydantic is None:
        return False
    if isinstance(annotation, type) and issubclass(annotation, pydantic.BaseModel):
        return True
    return any(_has_model(part) for part in typing.get_args(annotation))


def _adapter(annotation: Any) -> Any:
    return sys.modules["pydantic"].TypeAdapter(annotation)


def _dumped(adapter: Any, name: str, value: Any) -> Any:
    return adapter.dump_python(_loaded(adapter, name, value), mode="json")


def _loaded(adapter: Any, name: str, value: Any) -> Any:
    try:
        return adapter.validate_python(value)
    except ValueError as cause:
        errors: list[Any] = getattr(cause, "errors", list)()
        path = (
            "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in errors[0]["loc"]) if errors else ""
        )
        rule = errors[0]["msg"] if errors else str(cause)
        raise PayloadError("payload", f".{name}{path}", rule, value) from None
