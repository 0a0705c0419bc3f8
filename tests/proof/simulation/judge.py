"""The verdict on a simulated hour, from what the store holds and what the world saw."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from tenure.duration import micros
from tests.proof.ledger import JobsLost

if TYPE_CHECKING:
    from tests.proof.simulation.world import World

__all__ = ["Verdict", "judge"]

_ENDED = {"done", "dead", "cancelled"}
_MOST_RUNS = 12
"""How often a job that kills whoever runs it may be run before it is convicted, replayed or not, where clocks and machines
misbehave too."""
_LATE = 900
"""How many seconds a schedule may be behind at the end."""


class Verdict(NamedTuple):
    """On an hour in which everything held."""

    jobs: int
    gone: int
    """Those of them that retention has taken."""
    losses: int
    """Jobs that were acknowledged and were never there."""


def judge(world: World) -> Verdict:
    """Raise for whatever does not hold. Jobs that have ended may be gone; they are judged as they were then."""
    see = world.database.see
    columns = "id, seq, kind, state, crashes, reason, created_at, run_at, went_at"
    jobs = {row[0]: row for row in see(f"SELECT {columns} FROM all_jobs")}
    lost = [job_id for job_id in world.acked if job_id not in jobs]
    if lost:
        raise JobsLost(lost, f"acknowledged and not there: {lost}")
    absolved = {job_id for (job_id,) in see("SELECT job_id FROM all_attempts WHERE error_kind = 'LeaseLost'")}
    for job_id, seq, kind, state, crashes, reason, created_at, run_at, went_at in jobs.values():
        # Who was taken for dead and is not takes the crash back when it goes on, unless the job has gone by then.
        deaths = world.fleet.crashes[job_id] + (0 if went_at is None else world.fleet.stood[job_id])
        about = f"{kind} {seq} ({job_id}): {state}, {reason}, {crashes} crashes, in flight in {deaths}"
        fired_late = kind in {"tick", "tock"} and created_at >= world.rested_at * 1_000_000
        back_late = job_id in absolved and run_at >= world.rested_at * 1_000_000
        assert state in _ENDED or (state == "ready" and (fired_late or back_late)), (
            f"it has not ended: {about}"
        )
        assert crashes <= deaths, f"blamed for a crash it had no part in: {about}"
        if reason == "poison":
            assert deaths >= 3, f"convicted too soon: {about}"
        if kind == "poison":
            assert state != "done", about
            lives = 1 + world.database.replayed[job_id]
            assert world.runs[job_id] <= _MOST_RUNS * lives, f"run {world.runs[job_id]} times: {about}"
    gone = _went_in_time(world)
    _work_was_done(world)
    _fired_once(world)
    _told_of_deaths(world)
    assert see("SELECT count(*) FROM tenure_jobs WHERE lease_until IS NOT NULL") == [(0,)]
    assert see("PRAGMA integrity_check") == [("ok",)]
    return Verdict(len(jobs), gone, len(lost))


def _went_in_time(world: World) -> int:
    """Who is gone had ended, and was kept for as long as it had to be; how many are."""
    gone = world.database.see("SELECT seq, kind, state, finished_at, went_at FROM gone")
    for seq, kind, state, finished_at, went_at in gone:
        about = f"{kind} {seq}: {state}, ended at {finished_at}, went at {went_at}"
        assert world.kept is not None, f"nothing was to go: {about}"
        assert went_at is not None, f"it went, and not by retention: {about}"
        kept = micros(getattr(world.kept, state, timedelta(0)))
        assert kept, f"such jobs are kept for ever: {about}"
        assert finished_at is not None, f"it had not ended: {about}"
        assert finished_at + kept <= went_at, f"it went too soon: {about}"
    return len(gone)


def _work_was_done(world: World) -> None:
    """What is done has been done, by a claim that was settled so."""
    for job_id, seq, kind in world.database.see("SELECT id, seq, kind FROM all_jobs WHERE state = 'done'"):
        epochs = [epoch for found, epoch in world.finished if found == job_id]
        settled = [e for e in epochs if world.database.fences.get((job_id, e)) == "done"]
        assert settled, f"{kind} {seq} is done, and nobody did it ({epochs})"


def _fired_once(world: World) -> None:
    """Every fire time has one job; a schedule that makes up for what it missed has all of them."""
    fires = Counter(
        (kind, json.loads(extra)["meta"]["fire_at"])
        for kind, extra in world.database.see(
            "SELECT kind, extra FROM all_jobs WHERE kind IN ('tick', 'tock')"
        )
    )
    twice = [fire for fire, count in fires.items() if count > 1]
    assert not twice, f"fired twice: {twice}"
    since = dict(world.database.see("SELECT name, coalesce(since, 0) / 1000000 FROM tenure_schedules"))
    ticks = sorted(int(datetime.fromisoformat(at).timestamp()) for kind, at in fires if kind == "tick")
    first = since["every-5m"] // 300 * 300 + 300
    last = ticks[-1] if ticks else first - 300  # a clock that was set back may not have come to the first
    assert ticks == list(range(first, last + 1, 300)), "a fire was left out"
    assert last >= world.wall() - _LATE, "it stopped firing" if ticks else "it never fired"
    tocks = [int(datetime.fromisoformat(at).timestamp()) for kind, at in fires if kind == "tock"]
    assert tocks or since["every-7m"] >= world.wall() - _LATE, "it never fired"
    assert all(at % 420 == 0 for at in tocks)


def _told_of_deaths(world: World) -> None:
    """Every death has one job that tells of it; one that was taken back, since the worker came back, may have been told of too."""
    see = world.database.see
    told: Counter[str] = Counter()
    for payload, state in see("SELECT payload, state FROM all_jobs WHERE kind = 'tell'"):
        if state != "cancelled":
            told[json.loads(payload)["dead"]["id"]] += 1
    absolved = Counter(
        job_id for (job_id,) in see("SELECT job_id FROM all_attempts WHERE error_kind = 'LeaseLost'")
    )
    for job_id, seq in see("SELECT id, seq FROM all_jobs WHERE state = 'dead' AND kind <> 'tell'"):
        if job_id not in world.database.replayed:
            most = 1 + absolved[job_id]
            assert 1 <= told[job_id] <= most, f"job {seq} is dead, and {told[job_id]} jobs tell of it"
