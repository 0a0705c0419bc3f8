"""A few real workers on one store, and what a test of time asks of them."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterable
from pathlib import Path

import tenure
from tests.proof.ledger import Acks, Balance, Effects, at_rest, balance, intact
from tests.proof.time.works import ADDRESS
from tests.support.workers import Scene, WorkerProcess, until

__all__ = ["Crew"]

_LOST = re.compile(
    r"job (\S+): (?:its claim was lost, so \w+ counts for nothing|its claim is lost; its handler is told to stop)"
)
_SLOTS = 4


class Crew:
    """Workers at work on jobs that take a while."""

    def __init__(self, scene: Scene, draw: random.Random, workers: int, lease: str) -> None:
        self.scene, self.draw = scene, draw
        self.acks, self.effects = Acks(scene.folder / "acks"), Effects(scene.folder / "effects")
        self.workers = [
            scene.start("-c", f"{_SLOTS}", "--lease", lease, "--poll", "500ms", address=ADDRESS)
            for _ in range(workers)
        ]

    @property
    def at_once(self) -> int:
        """How many jobs each of them runs at once, at most."""
        return _SLOTS

    def enqueue(self, count: int, most: float, *, delay: str | None = None) -> list[str]:
        """So many jobs that take up to so long."""
        lengths = [round(self.draw.uniform(0.1, most), 2) for _ in range(count)]
        jobs = [tenure.NewJob(kind="takes", payload={"seconds": n}, delay=delay) for n in lengths]
        ids: list[str] = [answer.id for answer in self.scene.q.enqueue_many(jobs)]
        self.acks.add(*ids)
        return ids

    def supply(self, least: int, most: float) -> None:
        """See to it that there is work for all."""
        pulse = self.scene.q.pulse()
        ready = sum(states.get("ready", 0) for states in pulse.counts.values())
        if ready < least:
            self.enqueue(2 * least, most)

    def held_by(self, worker: WorkerProcess, *, known: bool = False) -> set[tuple[str, int]]:
        """The claims that a worker has, as the store knows them: id and epoch; those alone that it knows to have started."""
        sure = " AND doubt IS NULL" if known else ""
        rows = self.scene.sql(f"SELECT id, epoch, worker FROM tenure.jobs WHERE state = 'running'{sure}")
        return {(str(job), epoch) for job, epoch, name in rows if name.split(":")[1] == str(worker.pid)}

    def begun(self, claims: set[tuple[str, int]]) -> set[tuple[str, int]]:
        """Those of these whose handlers have begun."""
        return claims & {(effect.job, effect.epoch) for effect in self.effects.read()} if claims else claims

    def outlived(self, claims: set[tuple[str, int]]) -> set[tuple[str, int]]:
        """Those of these that somebody else had afterwards."""
        return {(job, epoch) for job, epoch in claims if self.scene.job(job).epoch > epoch}

    def beats(self, workers: Iterable[WorkerProcess]) -> None:
        """Wait until all of these have said anew that they live."""
        for worker in workers:
            before = self._seen(worker)
            until(lambda w=worker, b=before: self._seen(w) != b)  # type: ignore[misc]

    def beats_ahead(self) -> float:
        """By how many seconds the last beat of all is ahead of this clock."""
        return max(map(self._seen, self.workers)) / 1_000_000 - time.time()

    def _seen(self, worker: WorkerProcess) -> int:
        rows = self.scene.sql("SELECT id, seen_at FROM tenure.workers")
        return max((seen for name, seen in rows if name.split(":")[1] == str(worker.pid)), default=0)

    def set_clock(self, ahead: int, worker: WorkerProcess | None = None) -> None:
        """Their clock, or that of one of them, is so many seconds ahead."""
        name = "clock" if worker is None else f"clock-{worker.pid}"
        new = self.scene.folder / f"{name}.new"
        new.write_text(str(ahead))
        new.rename(self.scene.folder / name)

    def refused(self) -> int:
        """How often a worker was told that a claim was lost."""
        return len(self._refusals())

    def told_lost(self) -> set[str]:
        """The jobs whose handlers were told that they had lost their claims."""
        return set(self._refusals())

    def crashes(self) -> list[tuple[object, ...]]:
        """What the store tells of crashes."""
        return list(self.scene.sql("SELECT job_id, message FROM tenure.attempts WHERE error_kind = 'Crash'"))

    def noted(self) -> int:
        """How often handlers have put down what their clock shows."""
        return len(self._clocks())

    def saw(self, ahead: int, since: int) -> bool:
        """Whether a handler has seen a clock so many seconds ahead of this one, to within half an hour, since so many had noted theirs."""
        return any(abs(float(seen) - time.time() - ahead) < 1_800 for seen in self._clocks()[since:])

    def _clocks(self) -> list[str]:
        noted = self.scene.folder / "clocks"
        return noted.read_text().splitlines() if noted.exists() else []

    def _refusals(self) -> list[str]:
        logs: list[Path] = [worker._log for worker in self.workers]
        return [job for log in logs for job in _LOST.findall(log.read_text(errors="replace"))]

    def balances(self, *, lost: int = 0, within: float = 90.0) -> Balance:
        """Wait for the end of every job; all are done, none has crashed, and the store is sound.

        Each worker may have lost so many claims.
        """
        at_rest(self.scene.q, within)
        sums = balance(
            self.scene.q,
            self.acks.read(),
            tried=(),
            effects=self.effects.read(),
            lost=lambda _: lost,
            allow=("done",),
        )
        assert (sums.crashes, self.crashes()) == (0, []), f"somebody was blamed: {self.crashes()[:3]}"
        attempts = {job.attempt for job in self.scene.jobs(self.acks.read())}
        assert attempts == {1}, "a lost lease burnt an attempt"
        # Whatever ran again was taken from somebody, who was told.
        until(lambda: self.refused() >= sums.doubled)
        intact(self.scene.url)
        return sums
