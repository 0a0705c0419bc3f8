"""Those around the workers: producers, who enqueue through the hour and keep what was acknowledged, and an operator."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import tenure
from tenure.errors import StoreUnavailable

if TYPE_CHECKING:
    from tests.proof.simulation.world import World

__all__ = ["each_sort", "operate", "produce"]

_ENDS = ("done",) * 12 + ("bury", "cancel", "snooze", "release", "retry")
_QUEUES = ("default", "mail", "bulk")


def _some_job(draw: random.Random) -> tuple[str, dict[str, Any]]:
    kind = draw.choices(
        ("work", "orderly", "thread", "chain", "jam", "apart", "slow", "poison"), (40, 20, 8, 4, 2, 4, 4, 1)
    )[0]
    seconds = round(draw.choice((0.0, 0.2, 1.0, 4.0, 12.0, 45.0)) * draw.random(), 3)
    match kind:
        case "work":
            steps = [round(draw.random() * 3, 3) for _ in range(draw.choice((0, 0, 1, 2)))]
            return kind, {"steps": steps, "fail": draw.choice((0, 0, 0, 1, 2, 3)), "end": draw.choice(_ENDS)}
        case "orderly":
            return kind, {"seconds": seconds, "fail": draw.choice((0, 0, 0, 0, 1, 3))}
        case "chain":
            return kind, {"left": draw.randrange(3)}
        case _:
            return kind, {"seconds": seconds}


def _options(draw: random.Random, kind: str) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if kind == "orderly":
        return {"group": f"group-{draw.randrange(3)}"}
    if kind == "work" and draw.random() < 0.3:
        options["priority"] = draw.choice((-5, 9))
    if draw.random() < 0.2:
        options["delay"] = draw.choice((0.5, 20, 180, 600))
    if draw.random() < 0.1:
        options["unique"] = f"key-{draw.randrange(4)}"
        if draw.random() < 0.5:
            options["unique_for"] = "10m"
    if draw.random() < 0.1:
        options["expires_in"] = draw.choice((5, 60, 900))
    if draw.random() < 0.05:
        options["group"], options["group_limit"], options["order"] = "pair", 2, "start"
    if kind == "work" and draw.random() < 0.3:
        options["queue"] = draw.choice(_QUEUES)
    return options


def produce(world: World, draw: random.Random, until: float) -> None:
    """Enqueue now and then, alone or many at once; what failed is tried again, or left."""
    while world.hub.now < until:
        world.hub.sleep(min(draw.expovariate(1 / world.pause), until - world.hub.now))
        for _ in range(draw.choice((1, 1, 1, 4))):
            kind, payload = _some_job(draw)
            world.enqueue(kind, payload, **_options(draw, kind))
        if draw.random() < 0.1:
            jobs = [
                tenure.NewJob(kind=k, payload=p)
                for k, p in (_some_job(draw) for _ in range(5))
                if k != "orderly"
            ]
            world.enqueue_many(jobs)


def each_sort(world: World) -> None:
    """One job of each sort, some that end otherwise than well, a group, one that waits and one that is asked to cancel."""
    for end in ("done", "bury", "cancel", "snooze", "release", "retry"):
        world.enqueue("work", {"steps": [0.1], "fail": int(end == "done"), "end": end})
    for seconds in (0.2, 0.0, 0.1):
        world.enqueue("orderly", {"seconds": seconds}, group="group")
    for kind, payload in (
        ("thread", {"seconds": 0.4}), ("chain", {"left": 1}), ("jam", {"seconds": 0.3}), ("apart", {"seconds": 0.3}),
        ("slow", {"seconds": 30.0}), ("poison", {"seconds": 0.1}),
    ):  # fmt: skip
        world.enqueue(kind, payload)
    world.enqueue("work", {"steps": []}, delay=20, unique="key")
    world.enqueue("slow", {"seconds": 8.0})
    world.hub.sleep(5.0)
    world.open(world.host, rough=False).cancel(world.acked[-1])


def operate(world: World, draw: random.Random, until: float) -> None:
    """Cancel, replay, pause and resume, as people do."""
    queue = world.open(world.host, rough=False)
    while world.hub.now < until:
        world.hub.sleep(min(draw.expovariate(1 / 120), until - world.hub.now))
        name = draw.choice(_QUEUES)
        try:
            match draw.choice(("cancel", "replay", "pause", "deploy", "stand still")):
                case "cancel" if world.acked:
                    queue.cancel(draw.choice(world.acked))
                case "replay":
                    _replay(world, queue, draw)
                case "pause":
                    queue.pause(name)
                    world.hub.sleep(draw.uniform(1, 60))
                    queue.resume(name)
                case "deploy":
                    world.fleet.deploy(draw)
                case "stand still":
                    world.fleet.stand_still(draw)
                case _:
                    pass
        except StoreUnavailable:
            pass


def _replay(world: World, queue: tenure.Queue, draw: random.Random) -> None:
    """One that is dead, or any that has ended; none of a group, whose next ones have begun."""
    found = world.database.see(
        "SELECT id, epoch FROM tenure_jobs WHERE state IN ('dead', 'done', 'cancelled') AND group_key IS NULL "
        "AND kind NOT IN ('tell', 'tick', 'tock', 'chain') ORDER BY state = 'dead' DESC, seq LIMIT 20"
    )
    if found:
        job_id, epoch = draw.choice(found)
        world.database.replayed[job_id] += 1
        world.database.replayed_at[job_id] = epoch
        queue.replay(job_id)
