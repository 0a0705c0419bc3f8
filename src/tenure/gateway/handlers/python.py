"""python:NAME: a function of the app's own, registered with @app.job, gets each delivery.

It takes one argument (and a Context, if it likes): the delivery's JSON, decoded as the annotation says, or the `Delivery`
itself where that is the annotation. A source that takes any body (`json = false`) needs the latter.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from difflib import get_close_matches
from functools import partial
from typing import Any

import msgspec

from tenure.app import App
from tenure.context import Context
from tenure.errors import ClaimLost, FieldError, JobAsked, PayloadError
from tenure.gateway.delivery import Delivery
from tenure.gateway.handlers.base import Misfit
from tenure.gateway.settings import SourceSettings
from tenure.kinds import Kind
from tenure.outcome import Release

__all__ = ["PythonHandler"]

_THREADS = 64


class PythonHandler:
    """Calls one kind's function; how often and how long is the source's to say, not the kind's."""

    def __init__(
        self,
        app: App,
        settings: SourceSettings,
        argument: str,
        *,
        inline: bool = False,  # noqa: ARG002 - its shape
        store: bool = True,  # noqa: ARG002 - its shape
    ) -> None:
        self._app, self._name = app, argument
        self._any = settings.type == "generic" and not settings.json
        self._kind: Kind[Any, Any, Any] | None = app.kinds.get(argument)
        self._parameter, self._whole = "", False
        self._threads: ThreadPoolExecutor | None = None

    def problems(self) -> list[str]:
        """The kind must be there, and take one argument."""
        if self._kind is None:
            near = get_close_matches(self._name, self._app.kinds, 3) or sorted(self._app.kinds)[:3]
            fix = f"did you mean {', '.join(map(repr, near))}?" if near else "register it with @app.job"
            return [f"handler: python:{self._name} names no job of the app; {fix}"]
        signature = self._kind.signature
        try:
            hints, context = signature.hints, signature.context_name
        except FieldError as cause:
            return [f"handler: {cause}"]
        given = [p for n, p in inspect.signature(self._kind.function).parameters.items() if n != context]
        needed = [p for p in given if p.default is inspect.Parameter.empty]
        if not given or len(needed) > 1:
            return [f"handler: {self._name} must take one argument, the delivery"]
        self._parameter = (needed or given)[0].name
        self._whole = hints.get(self._parameter) is Delivery
        if self._whole or not self._any:
            return []
        return [f"handler: json = false takes any body, so {self._name} must take a tenure.gateway.Delivery"]

    def secrets(self) -> list[tuple[str | None, str | None]]:
        """None of its own."""
        return []

    def asks_store(self) -> bool:
        """It does not."""
        return False

    async def handle(self, delivery: Delivery, context: Context) -> Any:
        """Call it, on this event loop or, if it is a plain def, in a thread."""
        kind = self._kind
        if kind is None or (not self._parameter and self.problems()):
            raise Misfit(f"python:{self._name} cannot be called")
        arguments = self._arguments(kind, delivery)
        if kind.is_async:
            return await kind.signature.call(arguments, context)
        return await self._in_thread(partial(kind.signature.call, arguments, context), context)

    async def _in_thread(self, call: Callable[[], Any], context: Context) -> Any:
        """A thread cannot be stopped, only told: a job that took too long is kept until its thread ends.

        What no thread has begun by then is not begun any more: nobody waits for it, and those who came later would wait behind it.
        """
        if self._threads is None:
            self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="tenure-gateway")
        begun = self._threads.submit(copy_context().run, call)
        work = asyncio.wrap_future(begun)
        while True:
            try:
                return await asyncio.shield(work)
            except asyncio.CancelledError:
                if begun.cancel() or work.done() or not _told(context):
                    raise

    def _arguments(self, kind: Kind[Any, Any, Any], delivery: Delivery) -> Any:
        if self._whole:
            return {self._parameter: delivery}
        try:
            # One value by itself: text after it would be arguments that the sender chose.
            value = bytes(msgspec.json.decode(delivery.body, type=msgspec.Raw))
            return kind.signature.arguments(f'{{"{self._parameter}":{value.decode()}}}')
        except (PayloadError, msgspec.DecodeError, UnicodeError, RecursionError) as cause:
            raise Misfit(str(cause)) from cause


def _told(context: Context) -> bool:
    """Whether the job, still held, was told to stop and will hear of it by ctx.check()."""
    try:
        context.check()
    except (TimeoutError, JobAsked):
        return True
    except (ClaimLost, Release):  # somebody else has it, or will
        return False
    return False
