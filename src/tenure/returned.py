"""How a handler's result is kept, and comes back to whoever waits for it: as the return annotation has it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import msgspec

from tenure.errors import FieldTypeError, PayloadError
from tenure.job import decode_text
from tenure.models import adapter, dumped, has_model, load_any, loaded, plain_of
from tenure.signature import Signature, rule_of

__all__ = ["Returned"]


class Returned:
    """What a function says it returns, for whoever waits for the result."""

    def __init__(self, signature: Signature) -> None:
        self._signature = signature

    @cached_property
    def _type(self) -> Any:
        return self._signature.hints.get("return", Any)

    @cached_property
    def _model(self) -> Any:
        return adapter(self._type) if has_model(self._type) else None

    @cached_property
    def _decode(self) -> Callable[[str], Any]:
        try:
            return msgspec.json.Decoder(self._type, dec_hook=load_any).decode
        except TypeError as cause:
            raise FieldTypeError(
                "result", f"is annotated with a type that cannot travel ({cause})", str(self._type)
            ) from None

    @cached_property
    def may_be_none(self) -> bool:
        """Whether None is one of the values that the annotation allows."""
        try:
            return self.decoded("null") is None
        except Exception:
            return False

    def plain(self, value: Any) -> Any:
        """The value as JSON can hold it."""
        if self._model is not None:
            return dumped(self._model, "", value, "result")
        return plain_of(value, "", "result")

    def decoded(self, text: str | None) -> Any:
        """A stored result as the function's return annotation has it."""
        if text is None:
            return None
        if self._type in (Any, None, type(None)):
            return decode_text(text)
        if self._model is not None:
            return loaded(self._model, "", decode_text(text), "result")
        try:
            return self._decode(text)
        except msgspec.ValidationError as cause:
            rule, path = rule_of(cause)
            raise PayloadError("result", path, rule, text, "look at job.get().result") from None
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return msgspec.convert(decode_text(text), self._type, str_keys=True, dec_hook=load_any)
