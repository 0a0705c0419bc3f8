"""The app that simulated workers run: jobs that wait, fail, jam their loop, hang in threads and kill their process.

What a job does is in its payload, so that it does the same in every run of a seed. Each run of a handler is put down in the
world it runs in.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import tenure

if TYPE_CHECKING:
    from tests.proof.simulation.world import World

__all__ = ["EVERY_5M", "app", "stage"]

EVERY_5M = 300
app = tenure.App("sqlite:///simulated.db")
_QUICK = tenure.Ladder("1s", "5s", "20s")


class Stage:
    """Where the app plays now."""

    world: World


stage = Stage()


@app.job(retry=_QUICK, max_attempts=3)
async def work(ctx: tenure.Context, steps: list[float], fail: int = 0, end: str = "done") -> int:
    """Waits now and then, fails the first times, and ends as it was told."""
    run = stage.world.begin(ctx)
    for step in steps:
        await asyncio.sleep(step)
        ctx.progress(0.5)
    if ctx.attempt <= fail:
        raise RuntimeError(f"attempt {ctx.attempt}")
    first = stage.world.first_time(ctx, end)
    match end:
        case "bury":
            raise tenure.Bury("no use")
        case "cancel":
            raise tenure.Cancel("not wanted")
        case "snooze" if first:
            raise tenure.Snooze("30s")
        case "release" if first:
            raise tenure.Release
        case "retry" if first:
            raise tenure.RetryIn("15s")
        case _:
            return run.done()


@app.job(retry=_QUICK, max_attempts=3)
async def orderly(ctx: tenure.Context, seconds: float, fail: int = 0) -> None:
    """One of a group: nobody before it may be left."""
    run = stage.world.begin(ctx)
    await asyncio.sleep(seconds)
    if ctx.attempt <= fail:
        raise RuntimeError(f"attempt {ctx.attempt}")
    run.done()


@app.job(retry=_QUICK, queue="mail")
def thread(ctx: tenure.Context, seconds: float) -> None:
    """Sleeps in a thread, and looks now and then whether it should stop."""
    run = stage.world.begin(ctx)
    for _ in range(4):
        stage.world.hub.sleep(seconds / 4)
        ctx.check()
    run.done()


@app.job
def chain(ctx: tenure.Context, left: int) -> None:
    """Enqueues the next before it ends; run twice, it has two."""
    run = stage.world.begin(ctx)
    if left:
        stage.world.enqueue("chain", {"left": left - 1})
    run.done()


@app.job
async def jam(ctx: tenure.Context, seconds: float) -> None:
    """Blocks the event loop."""
    run = stage.world.begin(ctx)
    stage.world.hub.sleep(seconds)
    run.done()


@app.job(isolate=True, queue="bulk")
async def apart(ctx: tenure.Context, seconds: float) -> None:
    """Runs in a child process."""
    run = stage.world.begin(ctx)
    await asyncio.sleep(seconds)
    run.done()


@app.job(timeout="10s", retry=_QUICK, max_attempts=2)
async def slow(ctx: tenure.Context, seconds: float) -> None:
    """May take longer than it is allowed to."""
    run = stage.world.begin(ctx)
    await asyncio.sleep(seconds)
    run.done()


@app.job(settle="now")
async def poison(ctx: tenure.Context, seconds: float) -> None:
    """Kills whoever runs it."""
    stage.world.begin(ctx)
    await asyncio.sleep(seconds)
    stage.world.kill_who_runs()


@app.cron("*/5 * * * *", missed=1_000, name="every-5m")
@app.job
async def tick(ctx: tenure.Context) -> None:
    """Every five minutes, whatever was missed."""
    stage.world.begin(ctx).done()


@app.cron("@every 7m", missed="one", name="every-7m")
@app.job
async def tock(ctx: tenure.Context) -> None:
    """Every seven minutes, if somebody is there."""
    stage.world.begin(ctx).done()


@app.on_dead
async def tell(ctx: tenure.Context, dead: tenure.DeadJob) -> None:
    """Told of every death."""
    stage.world.begin(ctx).done()
