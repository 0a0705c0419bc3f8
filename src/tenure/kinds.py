"""Kinds: what `@app.job` makes of a function. Calling one runs it; `enqueue` has it run later.

The function's own signature is kept: type checkers refuse wrong arguments of `enqueue`, `aenqueue` and `call`, and the
same arguments are checked again at run time, before anything is stored.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from difflib import get_close_matches
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Generic, Literal, ParamSpec, TypeVar, cast

from msgspec import Struct
from msgspec.structs import astuple, replace

from tenure.context import Context
from tenure.duration import Duration, parse
from tenure.errors import FieldError, FieldTypeError, UnknownKind
from tenure.job import Order, Request
from tenure.newjob import NewJob, check_place_name, check_whole
from tenure.retry import DEFAULT, RetryPolicy
from tenure.returned import Returned
from tenure.signature import Signature

if TYPE_CHECKING:
    from tenure.handle import Job, Producer

__all__ = ["Kind", "Kinds", "Settling", "check_options"]

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C")
Settling = Literal["batch", "now"]


class Terms(Struct, frozen=True, kw_only=True):
    """How jobs of a kind are stored and run, unless a job says otherwise."""

    queue: str
    priority: int
    max_attempts: int
    retry: RetryPolicy
    timeout: timedelta | None
    isolate: bool
    settle: Settling
    keep_result: bool
    on_dead: str | None


class FittedJob(NewJob, frozen=True, kw_only=True, gc=False):
    """A job made by a kind: its payload is known to fit, so nobody checks it again. It is equal to any job that says the same."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NewJob) and astuple(self) == astuple(other)

    __hash__ = NewJob.__hash__


class Kind(Generic[P, R, C]):
    """A function that can be enqueued. P: its arguments, R: its result, C: what a plain call gives."""

    def __init__(self, function: Callable[..., Any], name: str, terms: Terms, producer: Producer) -> None:
        update_wrapper(self, function)  # first: what the function carries must not replace what is set here
        self.name, self.terms, self.function = name, terms, function
        self.signature = Signature(function, name, Context)
        self.returned = Returned(self.signature)
        self.is_async = _is_async(function)
        self._producer = producer
        self._options: dict[str, Any] = {}
        self.mask: Callable[[str], str] | None = None
        """What a failure's words go through before anybody reads or stores them; None: they hold no secret that is known."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> C:
        """Run the function here and now."""
        return cast("C", self.signature.called(args, kwargs, Context))

    def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> Job[R]:
        """Store a job with these arguments, durably before this returns."""
        return self._producer.enqueue_job(self.call(*args, **kwargs), self)

    async def aenqueue(self, *args: P.args, **kwargs: P.kwargs) -> Job[R]:
        """The same, awaited; concurrent calls share commits."""
        return await self._producer.aenqueue_job(self.call(*args, **kwargs), self)

    def call(self, *args: P.args, **kwargs: P.kwargs) -> NewJob:
        """The job as a value, for `app.enqueue_many` and `app.using(connection)`."""
        return self.new_job(self.signature.payload(args, kwargs))

    def new_job(self, payload: Mapping[str, Any]) -> NewJob:
        """A job of this kind with a payload that is known to fit."""
        terms = self.terms
        if not self._options:
            return FittedJob(
                kind=self.name, payload=payload,
                queue=terms.queue, priority=terms.priority, max_attempts=terms.max_attempts,
            )  # fmt: skip
        given = {
            "queue": terms.queue, "priority": terms.priority, "max_attempts": terms.max_attempts, **self._options
        }  # fmt: skip
        return FittedJob(kind=self.name, payload=payload, **given)

    def options(
        self,
        *,
        queue: str | None = None,
        priority: int | None = None,
        run_at: datetime | None = None,
        delay: Duration | None = None,
        max_attempts: int | None = None,
        unique: str | None = None,
        unique_for: Duration | None = None,
        group: str | None = None,
        group_limit: int | None = None,
        order: Order | None = None,
        expires_at: datetime | None = None,
        expires_in: Duration | None = None,
        timeout: Duration | None = None,
        tags: Sequence[str] | None = None,
        meta: Mapping[str, str] | None = None,
        parent: str | None = None,
        flow: str | None = None,
        tenant: str | None = None,
        request: Request | None = None,
        id: str | None = None,
    ) -> Kind[P, R, C]:
        """The same kind, whose next jobs are stored with these options."""
        given = {name: value for name, value in locals().items() if name != "self" and value is not None}
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._options = {**self._options, **given}
        return other

    def __repr__(self) -> str:
        return f"<kind {self.name!r}>"


_OPTIONS = tuple(name for name in NewJob.__struct_fields__ if name not in ("kind", "payload"))


def check_options(given: Mapping[str, object]) -> None:
    """Refuse a name that is no option of a job; the error names the nearest."""
    for name, value in given.items():
        if name not in _OPTIONS:
            near = get_close_matches(name, _OPTIONS, 1)
            fix = f"did you mean {near[0]}?" if near else f"the options are {', '.join(_OPTIONS)}"
            raise FieldTypeError(name, "is no option of a job", value, fix)


def _is_async(function: Callable[..., Any]) -> bool:
    inner = inspect.unwrap(function)
    if inspect.isgeneratorfunction(inner) or inspect.isasyncgenfunction(inner):
        raise FieldTypeError("job", "must not be a generator: nothing would run it", inner, "return a list")
    return any(
        inspect.iscoroutinefunction(f) or inspect.iscoroutinefunction(getattr(f, "__call__", None))  # noqa: B004
        for f in (function, inner)
    )


class Kinds(dict[str, "Kind[Any, Any, Any]"]):
    """The kinds of an app, by name."""

    def __init__(self) -> None:
        super().__init__()
        self.told_all: list[str] = []
        """Those that are told of every death."""

    def find(self, name: str) -> Kind[Any, Any, Any]:
        """The kind of this name; the error names the nearest."""
        kind = self.get(name)
        if kind is None:
            near = get_close_matches(name, self, 3) or sorted(self)[:3]
            fix = f"did you mean {', '.join(map(repr, near))}?" if near else "register one with @app.job"
            raise UnknownKind(
                "kind",
                "is not registered with this app",
                name,
                f"{fix} (force=True for other processes' kinds)",
            )
        return kind

    def fit(self, job: NewJob, *, force: bool = False) -> NewJob:
        """The job, of a kind that is known (or `force`) and with a payload that fits it; what is no job is left to the store."""
        if type(job) is FittedJob and job.kind in self:
            return job
        given: object = job
        name: object = given.kind if isinstance(given, NewJob) else None
        if not isinstance(name, str) or (force and name not in self):
            return job
        payload = {} if job.payload is None else job.payload
        return replace(job, payload=self.find(name).signature.fitted(payload))

    def fit_all(self, jobs: Iterable[NewJob], *, force: bool = False) -> list[NewJob]:
        """The same for many."""
        given: object = jobs
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise FieldTypeError("jobs", "must be a list of jobs", jobs, "write [kind.call(…), kind.call(…)]")
        return [self.fit(job, force=force) for job in jobs]

    def add(self, kind: Kind[Any, Any, Any]) -> None:
        """Register it; a name is given once."""
        if kind.name in self and self[kind.name].function is not kind.function:
            raise FieldError(
                "kind",
                "is registered already",
                kind.name,
                'give one of them another name: @app.job(kind="…")',
            )
        self[kind.name] = kind


def terms_of(
    *,
    queue: str,
    priority: int,
    max_attempts: int,
    retry: RetryPolicy | None,
    timeout: Duration | None,
    isolate: bool,
    settle: Settling,
    keep_result: bool,
    on_dead: Kind[Any, Any, Any] | None,
) -> Terms:
    """The terms of a kind, checked."""
    if retry is not None and (isinstance(retry, type) or not isinstance(retry, RetryPolicy)):
        raise FieldTypeError("retry", "must be a retry policy", retry, 'tenure.Exponential(first="60s")')
    span = None if timeout is None else parse(timeout, "timeout")
    if span is not None and span <= timedelta(0):
        raise FieldError("timeout", "must be longer than zero", timeout, "leave it out for no timeout")
    if settle not in ("batch", "now"):
        raise FieldError("settle", 'must be "batch" or "now"', settle)
    for name, given in (("isolate", isolate), ("keep_result", keep_result)):
        if not isinstance(given, bool):
            raise FieldTypeError(name, "must be True or False", given)
    if on_dead is not None and not isinstance(on_dead, Kind):
        raise FieldTypeError("on_dead", "must be a kind", on_dead, "decorate the function with @app.job")
    return Terms(
        queue=check_place_name(queue, "queue"),
        priority=check_whole(priority, "priority", -32_768, 32_767),
        max_attempts=check_whole(max_attempts, "max_attempts", 1, 2_147_483_647),
        retry=DEFAULT if retry is None else retry,
        timeout=span,
        isolate=isolate,
        settle=settle,
        keep_result=keep_result,
        on_dead=None if on_dead is None else on_dead.name,
    )
