"""The app whose workers are killed: jobs that are short, wait, fail, snooze, or write in the job's own transaction.

Where the jobs are is $TENURE_URL; what handlers did is written down in a file in $SCENE, and what they did through G4 in a
table of the same database.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from pathlib import Path

import psycopg

import tenure
from tenure.config import PostgresPlace, locate
from tests.proof.notes import Effects, Said

__all__ = ["ADDRESS", "ATTEMPTS", "G4", "PERIOD", "TABLE", "TOLD", "app", "rests", "write_and_end"]

ADDRESS = f"{__name__}:app"
G4 = "effect"
TOLD = "tell"
PERIOD = "p"
"""How keys begin that are unique for longer than a scene lasts."""
TABLE = "CREATE TABLE tenure.effects (job text)"
ATTEMPTS = 4
"""How often a job that fails is tried."""
_SOON = tenure.Fixed("50ms")

app = tenure.App(max_crashes=int(os.environ.get("SCENE_MAX_CRASHES", "1000")))


def rests(job: tenure.JobSeen) -> str:
    """The state in which this job has to end, by its kind and payload."""
    return "dead" if job.kind == "fails" and job.payload["times"] >= ATTEMPTS else "done"


def _did(ctx: tenure.Context, said: Said = "done") -> None:
    Effects(Path(os.environ["SCENE"]) / "effects").add(ctx.claim, said)


@app.job
async def note(ctx: tenure.Context) -> None:
    """Done at once."""
    _did(ctx)


@app.job
async def waits(ctx: tenure.Context) -> None:
    """Waits for somebody else, as most jobs do, and lets others run."""
    await asyncio.sleep(0.01)
    _did(ctx)


@app.job
def blocks(ctx: tenure.Context) -> None:
    """The same in a thread."""
    _did(ctx)
    time.sleep(0.005)


@app.job(retry=_SOON)
async def fails(ctx: tenure.Context, times: int) -> None:
    """Fails so many times before it is done."""
    _did(ctx, "fail" if ctx.attempt <= times else "done")
    if ctx.attempt <= times:
        raise RuntimeError(f"attempt {ctx.attempt} of {times} that fail")


@app.job
async def snoozes(ctx: tenure.Context) -> None:
    """Not the first time, and not the second."""
    _did(ctx, "snooze" if ctx.claim.epoch < 3 else "done")
    if ctx.claim.epoch < 3:
        raise tenure.Snooze("30ms")


@app.on_dead
async def tell(ctx: tenure.Context, dead: tenure.DeadJob) -> None:
    """Told of every death."""
    _did(ctx)


@app.job(retry=_SOON)
def effect(ctx: tenure.Context) -> None:
    """Writes a row and ends the job in one transaction: both happen, or neither."""
    _did(ctx)
    write_and_end(app.url, ctx.claim)


def write_and_end(url: str, claim: tenure.Claim) -> None:
    """Both in one transaction."""
    place = locate(url)
    if isinstance(place, PostgresPlace):
        with psycopg.connect(place.conninfo) as connection:
            connection.execute(f'INSERT INTO "{place.schema}".effects VALUES (%s)'.encode(), (claim.id,))
            claim.settle_in(connection, tenure.Done())
        return
    file = sqlite3.connect(place.path, timeout=60)
    try:
        file.execute("BEGIN IMMEDIATE")
        file.execute("INSERT INTO tenure_effects VALUES (?)", (claim.id,))
        claim.settle_in(file, tenure.Done())
        file.commit()
    finally:
        file.close()
