"""A pool starts who has worked again at once, and who did not live, or only left, after longer and longer rests."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from tenure.client.queue import Queue
from tenure.worker import pool as pools
from tenure.worker.pool import MADE_ROOM, Pool
from tenure.worker.settings import WorkerSettings
from tests.worker.house import until


class _Watched:
    """A pool of one, whose child only ends, by a clock that the test moves."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = time.monotonic()
        monkeypatch.setattr(pools, "time", SimpleNamespace(monotonic=lambda: self.now))
        self._code = folder / "code"
        command = ["sh", "-c", f"until [ -s {self._code} ]; do sleep 0.01; done; exit $(cat {self._code})"]
        self._pool = Pool(
            "nobody:app", _no_queue, 1, WorkerSettings(), place=f"sqlite:///{folder}/jobs.db", command=command
        )
        [self._place] = self._pool._places
        self._pool._reports.start()

    def rest_after(self, code: int, *, lived: float = 0.0) -> float:
        """Have a child end so, and see how long it takes until another is started."""
        process = self._child()
        self._code.write_text(f"{code:03d}")
        process.wait(60)
        self._code.unlink()
        self.now += lived
        assert self._pool._tend()
        rest = max(self._place.due - self.now, 0.0)
        assert (self._place.process is None) == (rest > 0)
        self.now += rest
        return rest

    def _child(self) -> subprocess.Popen[bytes]:
        until(lambda: not self._pool._reports.pending)
        if self._place.process is None:
            assert self._pool._tend()
        assert self._place.process is not None
        return self._place.process


def _no_queue() -> Queue:
    raise AssertionError("nothing was left to tell the store")


@pytest.mark.parametrize("code", [0, 1])
def test_who_does_not_live_is_started_again_after_longer_and_longer_rests(
    code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = _Watched(tmp_path, monkeypatch)
    rests = [watched.rest_after(code) for _ in range(8)]
    assert rests == pytest.approx([0.5, 1, 2, 4, 8, 16, 30, 30])
    assert watched.rest_after(code, lived=31) == pytest.approx(0.5)
    assert watched.rest_after(code) == pytest.approx(1)


def test_who_has_run_its_share_makes_room_for_a_fresh_one_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = _Watched(tmp_path, monkeypatch)
    assert [watched.rest_after(code) for code in (1, 1, MADE_ROOM, MADE_ROOM, 1)] == pytest.approx(
        [0.5, 1, 0, 0, 0.5]
    )
