"""Everything that lives through a soak on one store: a worker, a pool of workers, a gateway, a dashboard, two producers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.gateway.ledger import ADDRESS, SETTINGS
from tests.gateway.process import keep_port
from tests.proof.kills.crowd import Crowd
from tests.proof.kills.forged import Forged
from tests.proof.ledger import Effects, JobsLost
from tests.proof.soak.gauge import of_process
from tests.proof.soak.guests import Guests, ask
from tests.support.workers import until

__all__ = ["Household"]

_CHILD = re.compile(r"pool: process \d+ of \d+ has pid (\d+)")
_PROCESSES = 2
_BACKENDS = (
    "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
)


class Household:
    """Started and at work, all of them; the pool handles what comes through the gateway, the worker all the rest."""

    def __init__(self, crowd: Crowd, pace: float) -> None:
        self.crowd, self._scene = crowd, crowd.scene
        self._ports = [keep_port(), keep_port()]
        gateway, dashboard = (str(kept.getsockname()[1]) for kept in self._ports)
        actors = [
            crowd.add_worker("worker", 10),
            crowd.add_producer("producer-a", pace),
            crowd.add_producer("producer-b", pace, "async"),
        ]
        pool = self._start("pool", "worker", ADDRESS, "--processes", f"{_PROCESSES}", "-c", "4")
        self.services = [
            pool,
            self._start("gateway", "gateway", ADDRESS, "-f", str(SETTINGS), "--port", gateway),
            self._start("dashboard", "dashboard", "--port", dashboard),
        ]
        self.guests = Guests(int(gateway), int(dashboard), pace)
        for actor in actors:
            crowd.see(actor)
        until(lambda: ask(int(gateway), "/readyz") == ask(int(dashboard), "/api/me") == 200)
        until(lambda: len(_CHILD.findall(pool.log)) == _PROCESSES)
        self._pids = {actor.name: actor.process.pid for actor in actors if actor.process is not None}
        self._pids |= {
            name: one.pid for name, one in zip(("pool", "gateway", "dashboard"), self.services, strict=True)
        }
        self._pids |= {f"pool-{n}": int(pid) for n, pid in enumerate(_CHILD.findall(pool.log), 1)}
        self._store = self._of_store()

    @property
    def processes(self) -> int:
        """How many are looked at."""
        return len(self._pids)

    def look(self) -> dict[str, float]:
        """What each of them, and the store, takes now."""
        each = {name: of_process(pid) for name, pid in self._pids.items()}
        return self._store() | {
            f"{name} {what}": value for name, told in each.items() for what, value in told.items()
        }

    def done(self) -> int:
        """How many runs of handlers there were so far."""
        return Effects(self._scene.folder / "effects").count() + len(self._handled())

    def losses(self) -> int:
        """What was acknowledged and never ran, when all is at rest: none, or it raises. Nobody was killed: so nothing ran twice either."""
        told = Effects(self._scene.folder / "effects").read()
        runs = {run.job for run in told}
        for claims in (
            [(run.job, run.epoch) for run in told],
            [run.job for run in told if run.said == "done"],
        ):
            twice = [claim for claim, times in Counter(claims).items() if times > 1]
            assert not twice, f"{len(twice)} ran twice: {twice[:3]}"
        if self.crowd.g4:
            self._check_g4()
        assert self._scene.q.pulse(overdue_by=0).overdue_leases == 0, "a lease is overdue at rest"
        handled = self._handled()
        assert len(handled) == len(set(handled)), f"handled twice: {Counter(handled).most_common(3)}"
        updates = self.guests.acked.keys() - set(handled)
        lost = {*self.crowd.acked()} - runs | {self.guests.acked[update] for update in updates}
        if lost:
            raise JobsLost(lost, f"{len(lost)} jobs never ran: {sorted(lost)[:3]}")
        return len(lost)

    def _check_g4(self) -> None:
        """What handlers did in the transactions that ended their jobs is there once, and none of it without a run."""
        rows = Counter(str(job) for (job,) in self._scene.sql("SELECT job FROM tenure.effects"))
        assert rows, "nothing ran in a transaction of its own"
        assert set(rows.values()) == {1}, f"made more than once: {rows.most_common(3)}"
        assert rows.keys() <= {run.job for run in Effects(self._scene.folder / "effects").read()}

    def rows(self) -> int:
        """How many jobs and attempts the store still has."""
        tables = ["jobs", "attempts", *([] if self._scene.url.startswith("sqlite") else ["finished"])]
        return sum(int(self._scene.sql(f"SELECT count(*) FROM tenure.{table}")[0][0]) for table in tables)

    def leave(self) -> list[int]:
        """Everybody is told to go, after so long a life; their exit codes."""
        worker = self.crowd.actors[0].process
        assert worker is not None
        codes = [one.leave() for one in (*self.services, worker)]
        for port in self._ports:
            port.close()
        return codes

    def _start(self, name: str, *args: str) -> Forged:
        return self.crowd.forge.start(name, "tenure.cli:main", *args)

    def _handled(self) -> list[int]:
        ledger = self._scene.folder / "ledger"
        lines = ledger.read_text().splitlines() if ledger.exists() else []
        return [int(line.split()[0]) for line in lines]

    def _of_store(self) -> Callable[[], dict[str, float]]:
        """How large the store's log is; on PostgreSQL, how many connections it has too."""
        scene = self._scene
        if not scene.url.startswith("sqlite"):
            return lambda: {
                "store connections": scene.sql(_BACKENDS)[0][0],
                "store log": float(scene.sql("SELECT sum(size) FROM pg_ls_waldir()")[0][0]),
            }
        file = Path(scene.folder / "jobs.db-wal")
        return lambda: {"store log": file.stat().st_size}
