"""The log of a worker: every process that belongs to it writes in the same form, from the same level on."""

from __future__ import annotations

import json
import signal

from tests.support.workers import Scene, until


def test_every_process_of_a_pool_logs_as_the_pool_was_told(scene: Scene) -> None:
    pool = scene.start("--processes", "2", "--log", "json", "--log-level", "warning", "--poll", "200ms")
    jobs = dict(zip(("says", "says_apart"), scene.enqueue("says") + scene.enqueue("says_apart"), strict=True))
    until(lambda: scene.counts == {"done": 2})
    pool.send(signal.SIGTERM)
    assert pool.left() == 0
    lines = [json.loads(line) for line in pool.log.splitlines()]
    assert {line["level"] for line in lines} == {"warning"}
    told = [line for line in lines if line["message"] == "a word"]
    assert {(t["kind"], t["job_id"], t["attempt"]) for t in told} == {(k, j, 1) for k, j in jobs.items()}
