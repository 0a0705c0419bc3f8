"""Faults of a server while a crowd works on it: when each began, when the server was back, and when every worker was.

Nobody helps the crowd: its processes are the same from the first fault to the last.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import psycopg

from tests.proof import depth
from tests.proof.kills.crowd import Actor, Crowd
from tests.support.postgres import PostgresServer, StopMode
from tests.support.process import ServerDidNotStart
from tests.support.workers import until

__all__ = ["Fault", "Storm", "populate", "start_again"]

_OTHERS = """
SELECT pid FROM pg_stat_activity
WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND application_name = %s ORDER BY backend_start, pid
"""
_END = "SELECT pg_terminate_backend(%s)::int"
_SETTLED = "SELECT DISTINCT worker FROM tenure.finished WHERE state = 'done' AND finished_at > {}"
_PID = re.compile(r":(\d+):")
_PACE = depth.of(test=0.03, proof=0.01)


@dataclass(frozen=True, slots=True)
class Fault:
    """What happened, and when, in seconds since 1970."""

    what: str
    began: float
    back: float
    """The server answered again."""
    recovered: float
    """Every worker had settled a job that it finished after that."""


def populate(crowd: Crowd, slots: int = 10, pace: float = _PACE) -> None:
    """Two workers and two producers."""
    for name in ("worker-a", "worker-b"):
        crowd.add_worker(name, slots, "--lease", "5s", "--poll", "500ms")
    crowd.add_producer("producer-a", pace)
    crowd.add_producer("producer-b", pace, "async")
    for actor in crowd.actors:
        crowd.see(actor)


def start_again(server: PostgresServer) -> None:
    """Start it; after a kill its orphans hold the memory they share for a moment, and it refuses to start."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return server.start()
        except ServerDidNotStart:
            if time.monotonic() > deadline:
                raise


class Storm:
    """Faults, one after another."""

    def __init__(self, crowd: Crowd, chance: random.Random) -> None:
        self._crowd, self._chance = crowd, chance
        self.faults: list[Fault] = []

    def restart(self, server: PostgresServer, how: StopMode) -> None:
        """Stop the server in this way, and start it again."""

        def do() -> None:
            server.stop(how)
            start_again(server)

        self.strike({"fast": "restart", "immediate": "immediate restart"}.get(how, "postmaster killed"), do)

    def terminate(self, admin: psycopg.Connection, name: str, times: int) -> None:
        """End backends of this application_name, one after another, each chosen by chance."""
        ended = 0
        while ended < times:
            until(lambda: admin.execute(_OTHERS, (name,)).fetchone())
            pids = [pid for (pid,) in admin.execute(_OTHERS, (name,)).fetchall()]
            if pids:
                [told] = admin.execute(_END, (self._chance.choice(pids),)).fetchall()
                ended += told[0]
            time.sleep(self._chance.uniform(0, 0.05))

    def strike(self, what: str, do: Callable[[], None], *, times: int = 1) -> None:
        """Let them work for a moment, make this happen (so many faults), and wait until every worker has settled a job again."""
        time.sleep(self._chance.uniform(0.1, 0.5))
        began = time.time()
        self._crowd.outages += times
        do()
        back = time.time()
        self.recovered(back)
        self.faults.append(Fault(what, began, back, time.time()))
        self._crowd.rivals.meet()

    def recovered(self, since: float) -> None:
        """Wait until every worker process has settled a job that it finished after this moment."""
        workers = {a.process.pid: a for a in self._crowd.actors if not a.draws and a.process is not None}
        try:
            until(lambda: self._settled(since) >= workers.keys())
        except AssertionError:
            at = datetime.now().astimezone().isoformat(timespec="seconds")
            away = [workers[pid] for pid in workers.keys() - self._settled(since)]
            raise AssertionError(f"{at}: not back: {''.join(map(_told, away))}") from None

    def _settled(self, since: float) -> set[int]:
        rows = self._crowd.scene.sql(_SETTLED.format(int(since * 1_000_000)))
        return {int(found[1]) for (worker,) in rows if (found := _PID.search(worker or ""))}


def _told(actor: Actor) -> str:
    return f"{actor.name}\n{'' if actor.process is None else actor.process.log[-3000:]}\n"
