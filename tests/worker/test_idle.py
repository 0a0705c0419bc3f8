"""A worker with nothing to do costs next to nothing, and hears of a job from another process."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from itertools import accumulate
from pathlib import Path
from typing import Any

from tests.worker.house import PATIENCE, House, until

_PROMISED = 0.01
"""How much of one processor an idle worker may use. Its own time is measured, not that of the clock, so a busy machine does not count."""


def _cpu(pid: int) -> float:
    """Seconds of processor time that a process has used, by the kernel's clock of it: /proc has only hundredths of a second."""
    return time.clock_gettime((~pid << 3) | 2)


def _share(pid: int, seconds: float) -> float:
    """How much of one processor it uses over a while."""
    began, before = time.monotonic(), _cpu(pid)
    time.sleep(seconds)
    return (_cpu(pid) - before) / (time.monotonic() - began)


def test_an_idle_worker_uses_hardly_any_processor_and_hears_of_a_job_from_another_process(
    parent_house: House, tmp_path: Path
) -> None:
    from tests.worker import apps

    parent_house.queue.counts()
    log = tmp_path / "worker.log"
    with log.open("wb") as told:
        process = subprocess.Popen(
            [sys.executable, "-m", "tenure", "worker", "tests.worker.apps:app"], stdout=told, stderr=told
        )
    try:
        until(lambda: "works on" in log.read_text() or process.poll() is not None, "it never began")
        assert process.poll() is None, log.read_text()
        assert apps.plain_where.enqueue().result(PATIENCE) == process.pid
        until(lambda: _share(process.pid, 1.5) < _PROMISED, "it is never idle")
        assert apps.plain_where.enqueue().result(PATIENCE) == process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0, log.read_text()


class _NothingNew:
    """A watch that keeps how long it was asked to wait, and waits for nothing."""

    def __init__(self, real: Any) -> None:
        self._real, self.asked = real, list[float]()

    def wait(self, timeout: float) -> bool:
        self.asked.append(timeout)
        return False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def test_idle_workers_look_at_times_of_their_own_and_at_least_every_five_seconds(house: House) -> None:
    """However long a poll was asked for: started together, they must not all ask the store together for ever."""

    @house.app.job
    async def mine() -> None: ...

    watches = []
    for working in [house.start(poll="1h") for _ in range(2)]:
        until(lambda working=working: hasattr(working.worker, "_parts"))  # type: ignore[misc]
        claimer: Any = working.worker._claimer
        watch = claimer._watch = _NothingNew(claimer._watch)
        watch.interrupt()
        until(lambda watch=watch: len(watch.asked) >= 50)  # type: ignore[misc]
        working.stop()
        assert 2.5 <= min(watch.asked) < max(watch.asked) <= 5.0
        assert len(set(watch.asked)) > len(watch.asked) / 2
        watches.append(watch)
    # Begun at the same moment, they never look at the same moment again: what each has waited in all is never the same.
    one, other = ({round(moment, 3) for moment in accumulate(watch.asked[:50])} for watch in watches)
    assert len(one & other) < 5


def test_beside_a_busy_queue_the_worker_of_another_looks_seldom_and_finds_its_own(house: House) -> None:
    """Between two looks for nothing it rests for 10 ms, so there are no more of them than that leaves time for."""

    @house.app.job(queue="ours")
    async def ours() -> str:
        return "done"

    working = house.start(queues=["ours"])
    assert ours.enqueue().result(PATIENCE) == "done"
    claimer: Any = working.worker._claimer
    looks = list[float]()
    claim = claimer._claim

    def counted(*args: Any, **kwargs: Any) -> Any:
        looks.append(time.monotonic())
        return claim(*args, **kwargs)

    claimer._claim = counted
    began = time.monotonic()
    while (spent := time.monotonic() - began) < 0.5:
        house.queue.enqueue("theirs", queue="theirs")
    assert len(looks) <= 30 + spent * 110
    assert ours.enqueue().result(PATIENCE) == "done"
