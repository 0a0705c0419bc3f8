"""How many connections a worker holds: as many as docs/worker.md says, however many jobs it runs."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.workers import Scene, until


@pytest.mark.parametrize("scene", ["postgres"], indirect=True)
def test_a_worker_holds_five_connections_to_postgresql(scene: Scene) -> None:
    """One each for claims, settles, renewals and chores, and one that listens."""
    scene.worker_url = f"{scene.url}&application_name=counted-{scene.folder.name}"
    scene.start("-c", "200")
    until(lambda: scene.enqueue("good", 200) and _count(scene) >= 5)
    until(lambda: set(scene.counts) == {"done"})
    assert _count(scene) == 5


def _count(scene: Scene) -> int:
    text = f"SELECT count(*) FROM pg_stat_activity WHERE application_name = 'counted-{scene.folder.name}'"
    return int(scene.sql(text)[0][0])


@pytest.mark.parametrize("scene", ["sqlite", "shared"], indirect=True)
def test_a_worker_opens_a_file_six_times(scene: Scene) -> None:
    """To write claims and settles, renewals, and chores; to read for the first and the last; and to hear of commits."""
    worker = scene.start("-c", "200")
    until(lambda: scene.enqueue("good", 200) and _opened(worker.pid, scene.folder / "jobs.db") >= 6)
    until(lambda: set(scene.counts) == {"done"})
    assert _opened(worker.pid, scene.folder / "jobs.db") == 6


def _opened(pid: int, path: Path) -> int:
    found = 0
    for handle in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            found += handle.readlink() == path
    return found
