"""What type checkers must refuse: each line is wrong, and says how. Checked by `make types`; nothing here is run.

An ignore that hides nothing is itself an error there, so every line is proven to be refused.
"""

from __future__ import annotations

import sqlite3
from datetime import date

import tenure
from tests.typing.accepted import (
    app,
    bare_async,
    bare_context,
    bare_sync,
    bare_sync_context,
    context_last,
    full_async,
    full_context,
    full_sync,
    nightly,
)

DAY = date(2024, 1, 1)


def wrong_types() -> None:
    bare_async.enqueue(5)  # type: ignore[arg-type]
    bare_async.enqueue("a", "2")  # type: ignore[arg-type]
    bare_sync.enqueue("2024-01-01")  # type: ignore[arg-type]
    bare_sync.enqueue(DAY, dry="no")  # type: ignore[arg-type]
    bare_context.enqueue(5)  # type: ignore[arg-type]
    bare_sync_context.enqueue(None)  # type: ignore[arg-type]
    full_async.enqueue(to=5)  # type: ignore[arg-type]
    full_sync.enqueue(5)  # type: ignore[arg-type]
    full_context.enqueue(b"a")  # type: ignore[arg-type]
    full_async.options(priority=3).enqueue(5)  # type: ignore[arg-type]
    nightly.enqueue("7")  # type: ignore[arg-type]
    bare_async.call(5)  # type: ignore[arg-type]
    full_context.options(delay="1h").call(5)  # type: ignore[arg-type]
    bare_sync(5)  # type: ignore[arg-type]


def missing_and_unknown() -> None:
    bare_async.enqueue()  # type: ignore[call-arg]
    bare_async.enqueue("a", 1, 2)  # type: ignore[call-arg]
    bare_async.enqueue("a", cc="b")  # type: ignore[call-arg]
    bare_sync.enqueue(DAY, True)  # type: ignore[call-arg]
    bare_context.enqueue()  # type: ignore[call-arg]
    bare_sync_context.enqueue(whom="a")  # type: ignore[call-arg]
    full_async.enqueue()  # type: ignore[call-arg]
    full_sync.enqueue(DAY, 1)  # type: ignore[call-arg]
    full_context.options(priority=1).enqueue()  # type: ignore[call-arg]
    full_context.call(cc="b", to="a")  # type: ignore[call-arg]


def the_context_is_not_given(ctx: tenure.Context) -> None:
    bare_context.enqueue(ctx, "a")  # type: ignore[call-arg, arg-type]
    full_context.call(ctx, to="a")  # type: ignore[misc, arg-type]


async def awaited() -> None:
    await bare_async.aenqueue(5)  # type: ignore[arg-type]
    await bare_context.aenqueue()  # type: ignore[call-arg]
    await full_async.options(queue="x").aenqueue("a", cc="b")  # type: ignore[call-arg]
    bare_sync(DAY).append("x")  # type: ignore[arg-type]
    await bare_sync(DAY)  # type: ignore[misc]


def options_and_terms() -> None:
    bare_async.options(priority="high")  # type: ignore[arg-type]
    bare_async.options(colour="red")  # type: ignore[call-arg]
    bare_async.options(request=b"{}")  # type: ignore[arg-type]
    bare_async.options(order="any")  # type: ignore[arg-type]
    app.job(settle="soon")  # type: ignore[call-overload]
    app.job(retry="60s")  # type: ignore[call-overload]
    app.cron("* * * * *")(print)  # type: ignore[type-var]
    app.enqueue_many([bare_async])  # type: ignore[list-item]
    app.enqueue(bare_async)  # type: ignore[arg-type]


def outcomes(ctx: tenure.Context, mine: sqlite3.Connection) -> None:
    ctx.claim.settle_in(mine, "nonsense")  # type: ignore[call-overload]
    ctx.claim.settle_in(mine, tenure.Done)  # type: ignore[call-overload]
    ctx.claim.settle_in(mine, tenure.RetryIn("1h"))  # type: ignore[call-overload]
    ctx.claim.settle_in(mine)  # type: ignore[call-overload]


def a_worker_s_terms() -> None:
    app.run(concurrencyy=3)  # type: ignore[call-arg]
    app.run(concurrency="3")  # type: ignore[arg-type]
    app.run(queues=5)  # type: ignore[arg-type]
    app.run(5)  # type: ignore[call-arg]


def a_context_that_is_not_first() -> None:
    context_last.enqueue("a")  # type: ignore[call-arg]


def results() -> None:
    number: int = bare_async.enqueue("a").result()  # type: ignore[assignment]
    bare_context.enqueue("a").result() + str(number)  # type: ignore[operator]
    full_sync.enqueue(DAY).result().anything  # type: ignore[attr-defined]  # noqa: B018
    bare_async.enqueue("a").result(patience=1)  # type: ignore[call-arg]
