"""The log of a worker: every process that belongs to it writes in the same form, from the same level on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from tests.support.workers import Scene, until

_SCRIPT = """
import logging, sys
import tenure

app = tenure.App()


def say() -> None:
    logging.getLogger("tenure").info("an aside")
    logging.getLogger("tenure").warning("a word")


@app.job
async def says() -> None:
    say()


@app.job(isolate=True)
def says_apart() -> None:
    say()


if __name__ == "__main__":
    if sys.argv[2:]:
        logging.basicConfig(level=sys.argv[2])
    app.run(processes=int(sys.argv[1]), poll="200ms")
"""


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


@pytest.mark.parametrize("processes", ["1", "2"])
@pytest.mark.parametrize(
    "environment", [{}, {"TENURE_LOG": "json", "TENURE_LOG_LEVEL": "debug"}], ids=["", "told"]
)
def test_an_app_run_by_a_script_that_set_up_no_logs_sets_up_none_in_any_process(
    scene: Scene, processes: str, environment: dict[str, str]
) -> None:
    """Python itself then prints warnings, and nothing else, without a word around them."""
    assert sorted(_logged(scene, environment, processes)) == ["a word", "a word"]


@pytest.mark.parametrize("processes", ["1", "2"])
@pytest.mark.parametrize(("level", "words"), [("INFO", {"an aside", "a word"}), ("WARNING", {"a word"})])
def test_an_app_run_by_a_script_that_set_up_logs_logs_from_that_level_in_every_process(
    scene: Scene, processes: str, level: str, words: set[str]
) -> None:
    lines = _logged(scene, {}, processes, level)
    assert {w for w in ("an aside", "a word") if sum(w in line for line in lines) == 2} == words
    assert any("works on" in line for line in lines) == (level == "INFO")


def _logged(scene: Scene, environment: dict[str, str], *args: str) -> list[str]:
    """What a script logs that runs two jobs, one of them in a child process, and is told to stop."""
    path = scene.folder / "shop.py"
    path.write_text(_SCRIPT)
    ours = {k: v for k, v in os.environ.items() if not k.startswith("TENURE_")}
    ours |= {"TENURE_URL": scene.url, "TMPDIR": str(scene.folder), **environment}
    with subprocess.Popen(
        [sys.executable, str(path), *args], env=ours, stderr=subprocess.PIPE, text=True
    ) as script:
        try:
            scene.enqueue("says")
            scene.enqueue("says_apart")
            until(lambda: scene.counts == {"done": 2})
            script.send_signal(signal.SIGTERM)
            _, logged = script.communicate(timeout=60)
        finally:
            script.kill()
    assert script.returncode == 0, logged
    return logged.splitlines()
