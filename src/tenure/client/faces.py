"""How a verb becomes a method: one wrapper for those who wait at once, one for those who await."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import wraps
from types import FunctionType
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast

from tenure.client.verbs import Call, Verbs

__all__ = ["AsyncFace", "SyncFace", "asynchronous", "synchronous"]

P = ParamSpec("P")
T = TypeVar("T")


class SyncFace(Protocol):
    """Something that runs calls at once."""

    _verbs: Verbs

    def _run(self, call: Call[T]) -> T: ...


class AsyncFace(Protocol):
    """Something that runs calls when awaited."""

    _verbs: Verbs

    async def _run(self, call: Call[T]) -> T: ...


def synchronous(
    verb: Callable[Concatenate[Verbs, P], Call[T]],
    short: Callable[[Any, tuple[Any, ...], dict[str, Any]], T | None] | None = None,
) -> Callable[Concatenate[SyncFace, P], T]:
    """The verb as a method that answers; `short` is asked first, and may know a shorter way for these arguments."""

    @wraps(verb)
    def method(self: SyncFace, /, *args: P.args, **kwargs: P.kwargs) -> T:
        if short is not None:
            answer = short(self, args, kwargs)
            if answer is not None:
                return answer
        return self._run(verb(self._verbs, *args, **kwargs))

    return _signed(method, verb)


def asynchronous(
    verb: Callable[Concatenate[Verbs, P], Call[T]],
) -> Callable[Concatenate[AsyncFace, P], Coroutine[Any, Any, T]]:
    """The verb as a method to await."""

    @wraps(verb)
    async def method(self: AsyncFace, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._run(verb(self._verbs, *args, **kwargs))

    return _signed(method, verb)


M = TypeVar("M", bound=Callable[..., Any])


def _signed(method: M, verb: Callable[..., Any]) -> M:
    """The method with the verb's signature, answering what the call answers.

    Whoever asks for it reads it off `__wrapped__`: to make all of them here would take every process some milliseconds.
    """
    answer = str(verb.__annotations__["return"]).removeprefix("Call[").removesuffix("]")
    made = cast(FunctionType, verb)
    signed = FunctionType(made.__code__, made.__globals__, made.__name__, made.__defaults__, made.__closure__)
    signed.__kwdefaults__ = made.__kwdefaults__
    signed.__annotations__ = method.__annotations__ = {**verb.__annotations__, "return": answer}
    method.__wrapped__ = signed  # type: ignore[attr-defined]
    return method
