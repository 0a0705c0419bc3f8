"""An app's hooks: kinds whose jobs are made when other jobs die.

    @app.on_dead                        # of every death
    def tell(dead: tenure.DeadJob) -> None: ...

    @app.job(on_dead=page_someone)      # of this kind's deaths
    def charge(order: int) -> None: ...

Workers and janitors store them when they start; the store makes their jobs, whoever notices a death. A hook that the code
no longer names stays until `queue.unhook` forgets it: another version of the code may be at work still.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypedDict

from tenure.client.queue import Queue
from tenure.context import Context
from tenure.dead import DeadJob
from tenure.duration import Duration
from tenure.errors import FieldError
from tenure.kinds import Kind, Kinds, Settling
from tenure.retry import RetryPolicy

__all__ = ["HookOptions", "Told", "check_hook", "store_hooks"]

Told = (
    Callable[[DeadJob], object] | Callable[[Context, DeadJob], object] | Callable[[DeadJob, Context], object]
)
"""A function that is told of a death."""


class HookOptions(TypedDict, total=False):
    """What `@app.on_dead(…)` takes: what `@app.job(…)` does, but a hook of its own."""

    kind: str | None
    queue: str
    priority: int
    max_attempts: int
    retry: RetryPolicy | None
    timeout: Duration | None
    isolate: bool
    settle: Settling
    keep_result: bool


def check_hook(kind: Kind[Any, Any, Any]) -> Kind[Any, Any, Any]:
    """The kind, whose function must take what a hook is told."""
    names = list(inspect.signature(kind.function).parameters)
    if names != ["dead"] and [n for n in names if n != kind.signature.context_name] != ["dead"]:
        raise FieldError(
            "on_dead",
            "must take one argument, dead (beside a Context)",
            f"{kind.name}({', '.join(names)})",
            f"write {kind.name}(dead: tenure.DeadJob)",
        )
    return kind


def store_hooks(queue: Queue, kinds: Kinds) -> int:
    """Put the hooks that the code names into the store; how many were new or changed there."""
    named = [("*", hook) for hook in kinds.told_all]
    named += [(kind.name, kind.terms.on_dead) for kind in kinds.values() if kind.terms.on_dead is not None]
    changed = 0
    for kind, hook in named:
        terms = kinds[hook].terms
        changed += queue.hook(
            kind, hook, queue=terms.queue, priority=terms.priority, max_attempts=terms.max_attempts
        )
    return changed
