"""`play(seed)`: one simulated hour with its faults, then fair weather until everything is at rest, then the verdict."""

from __future__ import annotations

import logging
import random
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from tenure.errors import StoreUnavailable
from tests.proof.simulation.cast import app, stage
from tests.proof.simulation.children import child_class
from tests.proof.simulation.doubles import installed
from tests.proof.simulation.hub import Hub, Killed
from tests.proof.simulation.judge import judge
from tests.proof.simulation.world import World

__all__ = ["Played", "play"]


@dataclass(frozen=True)
class Played:
    """What became of one run."""

    trace: str
    lines: int
    jobs: int
    gone: int
    losses: int
    kills: int
    faults: tuple[tuple[str, int], ...]
    """How many of each sort."""
    refused: int
    steps: int
    """How often an event loop went on after an await."""
    fired_at: int
    """At which of these steps the first job of a fire began; 0: none did."""


class _Loud(logging.Handler):
    """An error with a traceback in the worker's log is a failure of the run."""

    def __init__(self, hub: Hub) -> None:
        super().__init__(logging.ERROR)
        self._hub = hub

    def emit(self, record: logging.LogRecord) -> None:
        error = None if record.exc_info is None else record.exc_info[1]
        if error is not None and not isinstance(error, (Killed, StoreUnavailable)):
            self._hub.failed(error)


@contextmanager
def _quiet(hub: Hub) -> Iterator[None]:
    log, loud = logging.getLogger("tenure"), _Loud(hub)
    before = log.level, log.propagate
    log.setLevel(logging.ERROR)
    log.propagate = False
    log.addHandler(loud)
    try:
        yield
    finally:
        log.removeHandler(loud)
        log.level, log.propagate = before
        log.setLevel(before[0])


def play(seed: str, fatal: int | None = None) -> Played:
    """One run of one seed, and what must hold at its end: an hour, or a calm scene in which somebody dies at the step `fatal`."""
    with ExitStack() as stack:
        memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tenure-", dir=memory)))
        world = World(seed, folder, fatal)
        stack.callback(world.database.close)
        stage.world = world
        stack.enter_context(_quiet(world.hub))
        stack.enter_context(installed(world.hub, world.wall, random.Random(f"{seed}-package")))
        for target, double in (
            ("tenure.newjob.uuid7", world.new_id),
            (
                "tenure.worker.isolate.Child",
                child_class(world.hub, app, lambda one: world.fleet.blame({one})),
            ),
            ("tenure.worker.marks._lives", lambda _pid, path: world.fleet.lives(path)),
            ("tempfile.tempdir", str(folder)),
            # An idle hour is to cost little: what is done every few seconds, or oftener, is done more seldom.
            ("tenure.worker.lease._LONGEST", 15.0),
            ("tenure.worker.lease._PROGRESS_EVERY", 15.0),
            ("tenure.worker.lease.memory", lambda: 0),
            ("tenure.worker.claim._FULL", 2.0),
            ("tenure.worker.claim._UNSTEADY", 1.0),
            ("tenure.worker.drain._LOOK", 0.2),
            ("tenure.worker.worker._STANDSTILL", 0.5),
            ("tenure.janitor.janitor._FIRE_LATEST", 60.0),
            ("tenure.janitor.janitor._SAMPLE_EVERY", 300.0),
        ):
            stack.enter_context(patch(target, double))
        try:
            world.hub.spawn(world.host, world.live)
            world.hub.run(world.over)
            verdict = judge(world)
        except BaseException as error:
            error.add_note(f"simulated seed {seed!r}; the trace ended with\n{world.hub.last_lines}")
            raise
        finally:
            _end(world)
    return Played(
        world.hub.trace,
        world.hub.told,
        *verdict,
        world.fleet.kills,
        tuple(sorted(world.weather.met.items())),
        world.database.refused,
        world.steps,
        world.fired_at,
    )


def _end(world: World) -> None:
    """Nothing of it is left."""
    for process in (*world.fleet.processes, world.host, world.database.network):
        world.hub.over(process)
    with suppress(AssertionError):
        world.hub.run(
            lambda: not any(t for p in (*world.fleet.processes, world.host) for t in p.threads if not t.ended)
        )
    world.hub.end()
