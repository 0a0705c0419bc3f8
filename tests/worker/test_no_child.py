"""Apps that no child process can import, though their worker did: their isolated jobs wait, and burn nothing."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from tenure.events import Outage
from tenure.worker import isolate
from tenure.worker.address import load
from tests.worker.house import Heard, House

_SCRIPT = """
import os
import time

import tenure

app = tenure.App()

@app.job(isolate=True, max_attempts=1)
def where() -> int:
    return os.getpid()

match os.environ.get("TENURE_TEST_ILL"):
    case "raises":
        raise LookupError("no such thing")
    case "runs":
        app.run()
    case "leaves":
        os._exit(3)
    case "hangs":
        time.sleep(3600)
"""


@pytest.fixture
def script_house(house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    """An app in a script that can be imported as long as $TENURE_TEST_ILL says nothing."""
    path = tmp_path / "script_of_test.py"
    path.write_text(_SCRIPT)
    monkeypatch.setenv("TENURE_URL", house.url)
    made = House(house.store, house.url, load(f"{path}:app"))
    yield made
    made.close()


@pytest.mark.parametrize(
    ("ill", "words"),
    [
        ("raises", "LookupError: no such thing"),
        ("runs", "guard it with if __name__ == '__main__'"),
        ("leaves", "left with exit code 3"),
        ("hangs", "within 0.5 s"),
    ],
)
def test_a_child_that_cannot_be_started_burns_no_attempt_and_the_worker_goes_on(
    ill: str, words: str, script_house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = Heard(script_house.app, Outage)
    where = script_house.app.kinds["where"]
    with monkeypatch.context() as ailing:
        ailing.setenv("TENURE_TEST_ILL", ill)
        if ill == "hangs":
            ailing.setattr(isolate, "_BIRTH", 0.5)
        job = where.enqueue()
        script_house.start(children=1)
        waits = script_house.seen(job, lambda j: j.state == "scheduled")
    assert (waits.attempt, waits.crashes, script_house.story(job)) == (0, 0, [])
    assert waits.run_at - waits.created_at >= timedelta(seconds=30)
    [outage] = heard.events
    assert outage.doing == "starting a child process"
    assert words in outage.error
    assert isinstance(where.enqueue().result("30s"), int)
