"""`tenure demo --story`: a handful of jobs on SQLite, and what happens to them, told line by line. Needs no extra."""

from __future__ import annotations

import os
import sys
import tempfile
from datetime import datetime, timedelta
from pathlib import Path

import tenure
from tenure.clock import from_micros, machine_micros

__all__ = ["main"]

_BOLD, _DIM, _OFF = (
    ("\033[1m", "\033[2m", "\033[0m") if sys.stdout.isatty() and "NO_COLOR" not in os.environ else ("",) * 3
)


class _Clock:
    """The store's clock, moved by hand, so that nobody has to wait for a retry."""

    def __init__(self) -> None:
        self.now = from_micros(machine_micros())

    def __call__(self) -> datetime:
        return self.now


def _say(step: str, what: str) -> None:
    print(f"{_BOLD}{step:>8}{_OFF}  {what}")


def _counts(q: tenure.Queue) -> None:
    for queue, states in q.counts().items():
        told = ", ".join(f"{n} {state}" for state, n in states.items() if n)
        print(f"{_DIM}{'':>8}  {queue}: {told}{_OFF}")


def main() -> int:
    """Run the demonstration in a temporary file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "jobs.db")
        clock = _Clock()
        with tenure.open(f"sqlite:///{path}", clock=clock) as q:
            _say("open", "a SQLite file of Tenure's own, WAL, synchronous=FULL")
            _story(q, clock)
        with tenure.open(f"sqlite:///{path}") as q:
            _say("reopen", "everything is still there:")
            _counts(q)
    print(
        "\nThe same calls work on PostgreSQL: tenure.open('postgresql://…'). Next: the README's 60-second start."
    )
    return 0


def _story(q: tenure.Queue, clock: _Clock) -> None:
    mail = q.enqueue("send_email", {"to": "ann@example.com"}, queue="mail", priority=5, unique="welcome:42")
    _say("enqueue", f"send_email to ann, durable before the call returned ({mail.id})")
    again = q.enqueue("send_email", {"to": "ann@example.com"}, queue="mail", unique="welcome:42")
    _say("enqueue", f"the same once more: inserted={again.inserted}, the first job's id again")
    report = q.enqueue("report", {"day": "monday"}, delay="10m")
    _say("enqueue", "a report, due in 10 minutes")
    q.enqueue_many(
        [tenure.NewJob(kind="reply", payload={"n": n}, queue="chat", group="chat:7") for n in range(3)]
    )
    _say(
        "enqueue",
        "three replies to one chat, in one transaction: only the first is ready, the others wait their turn",
    )
    flaky = q.enqueue("sync", {"page": 3}, max_attempts=2)
    _counts(q)

    claims = q.claim(limit=10, lease="30s", worker="demo-worker")
    _say("claim", f"{len(claims)} jobs under a lease of 30 s: {', '.join(c.kind for c in claims)}")
    for claim in claims:
        if claim.kind == "sync":
            q.settle(claim, tenure.Fail("the site answered 503", retry_in="30s"))
            _say("settle", "sync failed; it will be tried again in 30 s")
        else:
            q.settle(claim, tenure.Done({"ok": True}))
            _say("settle", f"{claim.kind} is done")
    _say("explain", str(q.explain(flaky.id)))

    clock.now += timedelta(seconds=31)
    [second] = [c for c in q.claim(limit=10, worker="demo-worker") if c.kind == "sync"]
    _say(
        "later",
        f"31 s later sync is claimed again, attempt {second.job.attempt}, epoch {second.epoch} — and its worker vanishes",
    )
    clock.now += timedelta(seconds=31)
    _say("reclaim", f"{q.reclaim()} jobs whose lease ran out are taken back; the attempt is given back")
    _say(
        "fence",
        f"the vanished worker wakes up and settles: {q.settle(second, tenure.Done())} (too late, nothing changed)",
    )
    for claim in q.claim(limit=10, worker="other-worker"):
        q.settle(claim, tenure.Bury("given up") if claim.kind == "sync" else tenure.Done())
    _say("settle", "sync is buried: dead jobs are kept until a person decides")
    _say("replay", f"a person decides: {q.replay(flaky.id)}")
    clock.now += timedelta(minutes=10)
    for _ in range(2):
        for claim in q.claim(limit=10, worker="other-worker"):
            q.settle(claim, tenure.Done())
    job = q.get(report.id)
    _say("settle", f"all the rest; the report of 10 minutes ago is {job.state if job else 'gone'}")
    clock.now += timedelta(days=8)
    _say("retain", f"8 days later, done jobs older than 7 days go: {q.retain(done='7d')} deleted")
    last = q.enqueue("send_email", {"to": "ann@example.com"}, queue="mail", unique="welcome:42")
    _say("enqueue", f"the unique slot of the first mail is free again: inserted={last.inserted}")
