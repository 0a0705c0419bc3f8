"""A rolling deploy: workers of this release and of one made up to follow it, on one store, under load, whichever comes first."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import tenure
from tests.proof import depth
from tests.proof.ledger import balance, intact
from tests.proof.tally import Tally
from tests.proof.upgrade.newer import newer
from tests.support.child import ROOT
from tests.support.fresh import Kind, fresh_url
from tests.support.workers import Scene, WorkerProcess, open_scene, until

FEW = [("sqlite", "old first")]
ALL = [(kind, order) for kind in ("sqlite", "shared", "postgres") for order in ("old first", "new first")]
ENOUGH = depth.of(test=20, proof=300)
"""So many jobs each side does before the other leaves."""


@contextmanager
def deployed(
    kind: str, folder: Path, postgres_url: str, *, min_client: int
) -> Iterator[tuple[Scene, dict[str, str]]]:
    """A scene on a store of this release, and the environment in which the next one runs."""
    (folder / "newer").mkdir()
    code = newer(folder / "newer", min_client=min_client)
    known: Kind = "sqlite" if kind == "sqlite" else "shared" if kind == "shared" else "postgres"
    with fresh_url(known, folder, postgres_url) as url, open_scene(url, folder) as scene:
        yield scene, {"PYTHONPATH": str(code)}


class Load:
    """Somebody who enqueues all the time; `ids` are those that were answered."""

    def __init__(self, scene: Scene, draw: random.Random) -> None:
        self.ids: list[str] = []
        self._scene, self._draw = scene, draw
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Load:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(60)

    def _run(self) -> None:
        while not self._stop.wait(self._draw.uniform(0.005, 0.03)):
            for _ in range(self._draw.randint(1, 5)):
                self.ids += self._scene.enqueue("tells", self._draw.randint(1, 4))


def has_done(scene: Scene, worker: WorkerProcess, jobs: int) -> None:
    """Wait until this worker has begun so many jobs."""
    until(
        lambda: sum(n.pid == worker.pid for n in scene.notes()) >= jobs or worker.process.poll() is not None
    )
    assert worker.process.poll() is None, worker.log[-2000:]


def settled_by(scene: Scene) -> set[int | None]:
    """Which releases have settled: 2 is the next one, None this one."""
    table = "finished" if scene.url.startswith("postgres") else "jobs"
    return {who for (who,) in scene.sql(f"SELECT DISTINCT settled_by FROM tenure.{table}")}


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("kind", "order"), (FEW if depth.DEPTH == "test" else ALL))
def test_two_releases_share_a_store_under_load(
    kind: str, order: str, tmp_path: Path, postgres_url: str, seed: int, tally: Tally
) -> None:
    with deployed(kind, tmp_path, postgres_url, min_client=1) as (scene, next_release):
        draw = random.Random(f"{seed}-upgrade-{kind}-{order}")
        environments: list[dict[str, str]] = [{}, next_release]
        first, second = environments if order == "old first" else environments[::-1]
        with Load(scene, draw) as load:
            leaving = scene.start("--lease", "10s", environment=first)
            has_done(scene, leaving, ENOUGH)
            coming = scene.start("--lease", "10s", environment=second)
            has_done(scene, coming, ENOUGH)
            assert scene.sql("SELECT max(number) FROM tenure.meta") == [(2,)]
            # Both at once, on the new schema.
            before = sum(n.pid == leaving.pid for n in scene.notes())
            has_done(scene, leaving, before + ENOUGH)
            leaving.send(signal.SIGTERM)
            assert leaving.left() == 0, leaving.log[-2000:]
            have = sum(n.pid == coming.pid for n in scene.notes())
            has_done(scene, coming, have + ENOUGH)
        until(lambda: scene.counts == {"done": len(load.ids)})
        sums = balance(scene.q, load.ids, tried=(), allow=("done",))
        assert sums.crashes == 0
        # The notes are none of the ledger's effects, and more is asked of them: nobody was killed, so each ran exactly once.
        assert Counter(note.id for note in scene.notes()) == Counter(load.ids)
        assert settled_by(scene) == {None, 2}
        assert not [w.log for w in (leaving, coming) if "Traceback" in w.log]
        assert intact(scene.url)
        tally(jobs=len(load.ids), deploys=1, losses=sums.losses)


@pytest.mark.proof
@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_schema_that_needs_newer_code_refuses_old_code_at_the_door_and_lets_what_runs_end(
    kind: str, tmp_path: Path, postgres_url: str
) -> None:
    with deployed(kind, tmp_path, postgres_url, min_client=2) as (scene, next_release):
        [held] = scene.enqueue("hold")
        old = scene.start("--lease", "10s")
        scene.begun(held)
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("TENURE_", "DATABASE_URL"))}
        migrated = subprocess.run(
            [sys.executable, "-m", "tenure", "migrate", "--url", scene.url],
            check=False, capture_output=True, text=True, cwd=ROOT, env={**inherited, **next_release}, timeout=60,
        )  # fmt: skip
        assert "2 of 2 migrations" in migrated.stdout, migrated.stderr
        with pytest.raises(
            tenure.StoreRefused,
            match=r"needs a client of schema 2 or later, this one is 1\); upgrade tenure here",
        ):
            tenure.open(scene.url)
        refused = scene.start()
        assert refused.left() != 0
        assert "migrated by a newer Tenure" in refused.log
        assert "Traceback" not in refused.log
        # Who had it open goes on: its claims are fenced as ever, and the job it runs ends.
        scene.open_gate()
        until(lambda: scene.job(held).state == "done")
        old.send(signal.SIGTERM)
        assert old.left() == 0
        more = scene.enqueue("tells", 20)
        coming = scene.start(environment=next_release)
        until(lambda: scene.counts == {"done": 21} or coming.process.poll() is not None)
        assert {note.id for note in scene.notes() if note.pid == coming.pid} == set(more)
        assert len(scene.notes("ended", held)) == 1
        assert intact(scene.url)
