"""`tenure demo --story`: a handful of jobs on SQLite, and what happens to them, told line by line. Needs no extra."""

from __future__ import annotations

import json
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


class _Teller:
    """Tells it to people, or to programs in lines of JSON."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json

    def say(self, step: str, what: str) -> None:
        """What was done, and what came of it."""
        print(
            json.dumps({"step": step, "told": what}) if self._as_json else f"{_BOLD}{step:>8}{_OFF}  {what}"
        )

    def counts(self, q: tenure.Queue) -> None:
        """How the queues stand."""
        found = {queue: {s: n for s, n in states.items() if n} for queue, states in q.counts().items()}
        if self._as_json:
            print(json.dumps({"step": "counts", "queues": found}))
            return
        for queue, states in found.items():
            print(f"{_DIM}{'':>8}  {queue}: {', '.join(f'{n} {state}' for state, n in states.items())}{_OFF}")

    def end(self, what: str) -> None:
        """A last word, for people."""
        if not self._as_json:
            print(f"\n{what}")


def main(*, as_json: bool = False) -> int:
    """Run the demonstration in a temporary file."""
    teller = _Teller(as_json=as_json)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "jobs.db")
        clock = _Clock()
        with tenure.open(f"sqlite:///{path}", clock=clock) as q:
            teller.say("open", "a SQLite file of Tenure's own, WAL, synchronous=FULL")
            _story(q, clock, teller)
        with tenure.open(f"sqlite:///{path}") as q:
            teller.say("reopen", "everything is still there:")
            teller.counts(q)
    teller.end("The same calls work on PostgreSQL: tenure.open('postgresql://…'). Next: the README's 60-second start.")  # fmt: skip
    return 0


def _story(q: tenure.Queue, clock: _Clock, teller: _Teller) -> None:
    mail = q.enqueue("send_email", {"to": "ann@example.com"}, queue="mail", priority=5, unique="welcome:42")
    teller.say("enqueue", f"send_email to ann, durable before the call returned ({mail.id})")
    again = q.enqueue("send_email", {"to": "ann@example.com"}, queue="mail", unique="welcome:42")
    teller.say("enqueue", f"the same once more: inserted={again.inserted}, the first job's id again")
    report = q.enqueue("report", {"day": "monday"}, delay="10m")
    teller.say("enqueue", "a report, due in 10 minutes")
    q.enqueue_many(
        [tenure.NewJob(kind="reply", payload={"n": n}, queue="chat", group="chat:7") for n in range(3)]
    )
    teller.say(
        "enqueue",
        "three replies to one chat, in one transaction: only the first is ready, the others wait their turn",
    )
    flaky = q.enqueue("sync", {"page": 3}, max_attempts=2)
    teller.counts(q)

    claims = q.claim(limit=10, lease="30s", worker="demo-worker")
    teller.say("claim", f"{len(claims)} jobs under a lease of 30 s: {', '.join(c.kind for c in claims)}")
    for claim in claims:
        if claim.kind == "sync":
            q.settle(claim, tenure.Fail("the site answered 503", retry_in="30s"))
            teller.say("settle", "sync failed; it will be tried again in 30 s")
        else:
            q.settle(claim, tenure.Done({"ok": True}))
            teller.say("settle", f"{claim.kind} is done")
    teller.say("explain", str(q.explain(flaky.id)))

    clock.now += timedelta(seconds=31)
    [second] = [c for c in q.claim(limit=10, worker="demo-worker") if c.kind == "sync"]
    teller.say(
        "later",
        f"31 s later sync is claimed again, attempt {second.job.attempt}, epoch {second.epoch} — and its worker vanishes",
    )
    clock.now += timedelta(seconds=31)
    teller.say("reclaim", f"{q.reclaim()} jobs whose lease ran out are taken back; the attempt is given back")
    teller.say(
        "fence",
        f"the vanished worker wakes up and settles: {q.settle(second, tenure.Done())} (too late, nothing changed)",
    )
    for claim in q.claim(limit=10, worker="other-worker"):
        q.settle(claim, tenure.Bury("given up") if claim.kind == "sync" else tenure.Done())
    teller.say("settle", "sync is buried: dead jobs are kept until a person decides")
    teller.say("replay", f"a person decides: {q.replay(flaky.id)}")
    clock.now += timedelta(minutes=10)
    for _ in range(2):
        for claim in q.claim(limit=10, worker="other-worker"):
            q.settle(claim, tenure.Done())
    job = q.get(report.id)
    teller.say("settle", f"all the rest; the report of 10 minutes ago is {job.state if job else 'gone'}")
    clock.now += timedelta(days=8)
    teller.say("retain", f"8 days later, done jobs older than 7 days go: {q.retain(done='7d')} deleted")
    last = q.enqueue("send_email", {"to": "ann@example.com"}, queue="mail", unique="welcome:42")
    teller.say("enqueue", f"the unique slot of the first mail is free again: inserted={last.inserted}")
