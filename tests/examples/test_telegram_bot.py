"""The Telegram bot of the examples, as its users run it: it plays its story, checks it, and leaves."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib

from examples.telegram_bot.__main__ import HEARD, PEOPLE, SETTINGS
from tests.support.child import ROOT


def test_the_bot_plays_its_story_to_the_end() -> None:
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("TENURE_", "BOT_"))}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "examples.telegram_bot"],
        check=False,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        cwd=ROOT,
        env=inherited,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for person, words in HEARD:
        assert f"{PEOPLE[person]:<5} {words}" in done.stdout
    assert done.stdout.rstrip().endswith("Everybody was heard once, and nobody twice.")
    assert done.stderr == ""


def test_the_settings_of_the_bot_are_for_a_bot_of_yours() -> None:
    [source] = tomllib.loads(SETTINGS.read_text("utf-8"))["sources"]
    assert source["token"].startswith("env:")
    assert "api" not in source
