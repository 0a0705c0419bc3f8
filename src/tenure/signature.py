"""How a function's arguments become a payload, and a payload its arguments again.

A payload is a JSON object with one member per parameter, checked and decoded from the annotations by msgspec; parameters
whose annotation holds a pydantic model are checked and decoded by pydantic. A parameter annotated `Context` is not part of
the payload: the worker passes it in. What does not fit raises PayloadError with the path inside the payload.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any

import msgspec

from tenure.errors import FieldError, FieldTypeError, PayloadError
from tenure.job import decode_text
from tenure.models import adapter, dumped, has_model, load_any, loaded, plain_of

__all__ = ["Signature", "rule_of"]

_SAFE = frozenset({str, int, bool, float, type(None)})
_BAD_KINDS = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


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
        try:
            return typing.get_type_hints(_annotated(self._function), include_extras=True)
        except Exception as cause:
            raise FieldError(
                f"kind {self._kind!r}",
                "has an annotation that names no type",
                str(cause),
                "define or import the type at the top of the module",
            ) from None

    @cached_property
    def context_name(self) -> str | None:
        """The parameter that is given the Context, if there is one."""
        for name in self._signature.parameters:
            hint = self.hints.get(name)
            if hint is self._context or self._context in typing.get_args(hint):
                return name
        return None

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
        return {n: adapter(t) for n, t in self._types.items() if has_model(t)}

    @cached_property
    def _keyed(self) -> frozenset[str]:
        return frozenset(n for n, t in self._types.items() if _is_keyed(t))

    @cached_property
    def _struct(self) -> type[msgspec.Struct]:
        fields: list[Any] = []
        for name, parameter in self._plain.parameters.items():
            kind = Any if name in self._models else self._types[name]
            if parameter.default is inspect.Parameter.empty:
                fields.append((name, kind))
            else:
                fields.append((name, kind | msgspec.UnsetType if kind is not Any else Any, msgspec.UNSET))
        return msgspec.defstruct("Arguments", fields, forbid_unknown_fields=True, kw_only=True, rename=None)

    @cached_property
    def _decode(self) -> Callable[[str], Any]:
        try:
            return msgspec.json.Decoder(self._struct, dec_hook=load_any).decode
        except TypeError as cause:
            raise FieldTypeError(
                f"kind {self._kind!r}",
                f"has an argument of a type that cannot travel ({cause})",
                str(self._plain),
                "annotate it with types that JSON can tell apart",
            ) from None

    @cached_property
    def _positional(self) -> bool:
        """Whether every argument may be passed by its place, the Context first or not at all."""
        if any(p.kind is inspect.Parameter.KEYWORD_ONLY for p in self._plain.parameters.values()):
            return False
        return self.context_name in (None, next(iter(self._signature.parameters), None))

    @cached_property
    def _by_place(self) -> tuple[tuple[str, ...], int]:
        """The arguments that may be given by place alone, and how many must be: binding takes as long as all the rest."""
        found = self._plain.parameters.values()
        if any(p.kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD for p in found):
            return (), 1
        return tuple(p.name for p in found), sum(p.default is inspect.Parameter.empty for p in found)

    @cached_property
    def _exact(self) -> tuple[Any, ...]:
        """What the arguments are where all are given by place and nothing need be proven of them; empty: there is no such way."""
        types = tuple(self._types[name] for name in self._by_place[0])
        return types if all(kind is int or kind is str or kind is bool for kind in types) else ()

    def payload(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as a payload, proven to decode."""
        names, needed = self._by_place
        if args and not kwargs and tuple(map(type, args)) == self._exact:
            return dict(zip(names, args, strict=False))
        if not kwargs and needed <= len(args) <= len(names):
            return self.fitted(dict(zip(names, args, strict=False)))
        try:
            given = self._plain.bind(*args, **kwargs).arguments
        except TypeError as cause:
            raise FieldTypeError(
                f"{self._kind}{self._plain.replace(return_annotation=inspect.Signature.empty)}",
                f"cannot be called so ({cause})",
                (args, dict(kwargs)),
            ) from None
        return self.fitted(given)

    def fitted(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments by name as a payload; PayloadError where one does not fit."""
        if type(given) is dict and not self._models and _SAFE.issuperset(map(type, given.values())):
            self._converted(given)
            return dict(given)
        if not isinstance(given, Mapping):
            raise self._misfit("must be a mapping of arguments by name", "", given)
        plain: dict[str, Any] = {}
        for name, value in given.items():
            model = self._models.get(name)
            if model is None:
                plain[name] = _plain_value(name, value, keyed=name in self._keyed)
            else:
                plain[name] = dumped(model, f".{name}", value)
        self._converted(plain)
        return plain

    def _converted(self, plain: object) -> Any:
        _ = self._decode  # says what is wrong with the types, if anything is
        try:
            return msgspec.convert(plain, self._struct, str_keys=True, dec_hook=load_any)
        except msgspec.ValidationError as cause:
            raise self._misfit(*rule_of(cause), plain) from None

    def arguments(self, text: str) -> tuple[Any, ...] | dict[str, Any]:
        """What a stored payload says: all arguments by place where that can be, else by name."""
        try:
            found = self._decode("{}" if text == "null" else text)
        except msgspec.ValidationError as cause:
            raise self._misfit(*rule_of(cause), text) from None
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            found = self._converted(decode_text(text))  # msgspec reads no lone surrogates
        for name, model in self._models.items():
            value = getattr(found, name)
            if value is not msgspec.UNSET:
                setattr(found, name, loaded(model, f".{name}", value))
        values = msgspec.structs.astuple(found)
        if self._positional and msgspec.UNSET not in values:
            return values
        names = self._plain.parameters
        return {n: v for n, v in zip(names, values, strict=True) if v is not msgspec.UNSET}

    @cached_property
    def start(self) -> Callable[[str, Any], Any]:
        """Decode a stored payload and call the function with it, in one go where that can be."""
        if self._models or not self._positional:
            return lambda text, context: self.call(self.arguments(text), context)
        decode, function, astuple, unset = (
            self._decode,
            self._function,
            msgspec.structs.astuple,
            msgspec.UNSET,
        )
        with_context = self.context_name is not None

        def start(text: str, context: Any) -> Any:
            try:
                values = astuple(decode(text))
            except (msgspec.DecodeError, UnicodeError, RecursionError):
                return self.call(self.arguments(text), context)  # says what is wrong, if anything is
            if unset in values:
                return self.call(self.arguments(text), context)
            return function(context, *values) if with_context else function(*values)

        return start

    def call(self, arguments: tuple[Any, ...] | dict[str, Any], context: Any) -> Any:
        """Call the function with these, and with the context where it asks for one."""
        name = self.context_name
        if isinstance(arguments, tuple):
            return self._function(*arguments) if name is None else self._function(context, *arguments)
        if name is not None:
            arguments = {**arguments, name: context}
        bound = self._signature.bind_partial()
        bound.arguments.update({n: arguments[n] for n in self._signature.parameters if n in arguments})
        bound.apply_defaults()
        return self._function(*bound.args, **bound.kwargs)

    def called(self, args: tuple[Any, ...], kwargs: dict[str, Any], context: Callable[[], Any]) -> Any:
        """A plain call: the caller's arguments, and a context where the function asks for one and none was given."""
        name = self.context_name
        if name is None or name in kwargs or any(isinstance(a, self._context) for a in args):
            return self._function(*args, **kwargs)
        bound = self._plain.bind(*args, **kwargs)
        return self.call(dict(bound.arguments), context())

    def _misfit(self, rule: str, path: str, payload: object) -> PayloadError:
        shape = self._plain.replace(return_annotation=inspect.Signature.empty)
        return PayloadError("payload", path, rule, payload, f"{self._kind}{shape} is what it must fit")


def _plain_value(name: str, value: Any, *, keyed: bool) -> Any:
    if type(value) in _SAFE:
        return value
    try:
        return plain_of(value, f".{name}", keyed=keyed)
    except PayloadError:
        raise
    except (TypeError, ValueError, RecursionError, OverflowError) as cause:
        raise PayloadError("payload", f".{name}", f"cannot be kept as JSON ({cause})", value) from None


def _is_keyed(annotation: Any) -> bool:
    """Whether it may tell of mappings whose keys are not text: only then do they find back to what they were."""
    parts = typing.get_args(annotation)
    if not parts:
        return bool(getattr(annotation, "__annotations__", None))
    origin = typing.get_origin(annotation)
    if isinstance(origin, type) and issubclass(origin, Mapping) and parts[0] not in (str, Any):
        return True
    return any(_is_keyed(part) for part in parts)


def rule_of(cause: Exception) -> tuple[str, str]:
    """What msgspec found wrong, and the path to it."""
    rule, _, path = str(cause).partition(" - at `$")
    return rule[:1].lower() + rule[1:], path.rstrip("`")


def _annotated(function: Any) -> Any:
    """Where a callable's annotations are: inside partials and wrappers, or on its class."""
    function = inspect.unwrap(function)
    while isinstance(function, partial):
        function = inspect.unwrap(function.func)
    return function if inspect.isroutine(function) else type(function).__call__
