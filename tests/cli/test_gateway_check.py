"""`tenure gateway check`: what would be served, and everything that is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.files import SETTINGS, source, write
from tests.cli.test_cli import tenure_command

INLINE = "inline_secrets = true\n" + source(secrets=["inline:hunter2-hunter2"], handler="python:on_update")
GITHUB = source(slug="git", type="github", handler="python:waits", secrets=["file:/nosuch"], order="strict", order_by="json:repository.id")  # fmt: skip
EXPIRY = "callback_query 150s, shipping_query 150s, pre_checkout_query 150s, chosen_inline_result 600s, inline_query 30s, * 24h"
ATTACHING = "\nimport tenure.gateway\ntenure.gateway.attach(app, 'gateway.toml')\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a bot in it."""
    return write(tmp_path)


def test_settings_with_nothing_wrong_are_told_in_full_and_nothing_is_made(folder: Path) -> None:
    ended = tenure_command(
        folder, "gateway", "check", "bot:app", url=f"sqlite:///{folder}/jobs.db", BOT_SECRET="abc"
    )
    assert ended.returncode == 0, ended.stderr
    assert [line.split(maxsplit=1) for line in ended.stdout.splitlines()] == [
        ["SLUG", "TYPE      ASYNC  HANDLER           QUEUE    SECRETS"],
        ["bot", "telegram  yes    python:on_update  gateway  1 of 1 found"],
        [],
        ["POST", "/bot"],
        ["type", "telegram"],
        ["handler", "python:on_update, as a job"],
        ["secrets", "env:BOT_SECRET (found)"],
        ["dedupe", "7d, by what the sender names"],
        ["order", "start, by what the sender names"],
        ["expiry", EXPIRY],
        ["retry", "50ms; 2 attempts of 60s each"],
        ["queue", "gateway, priority 0"],
        ["1", "source, and nothing is wrong"],
    ]
    assert not (folder / "jobs.db").exists()


def test_the_sources_stand_in_one_table_above_all_that_is_said_of_each(folder: Path) -> None:
    options = {"then": "python:waits", "allow": [1]}
    write(folder, GITHUB + source(slug="door", handler="auth", options=options, **{"async": False}))
    ended = tenure_command(folder, "gateway", "check", "bot:app", url=f"sqlite:///{folder}/jobs.db")
    assert ended.stdout.splitlines()[:5] == [
        "SLUG  TYPE      ASYNC  HANDLER                 QUEUE    SECRETS",
        "git   github    yes    python:waits            gateway  0 of 1 found",
        "door  telegram  no     auth then python:waits  -        0 of 1 found",
        "",
        "POST /git",
    ]


def test_a_source_whose_sender_names_no_line_is_in_no_order(folder: Path) -> None:
    lined = source(slug="lined", type="github", handler="python:waits", order_by="json:repository.id")
    write(folder, source(slug="git", type="github", handler="python:waits") + lined)
    url = f"sqlite:///{folder}/jobs.db"
    ended = tenure_command(folder, "gateway", "check", "bot:app", url=url, BOT_SECRET="abc")
    orders = [line.split(maxsplit=1)[1] for line in ended.stdout.splitlines() if line.startswith("  order ")]
    assert orders == ["none", "start, by json:repository.id"]


def test_every_problem_is_told_with_the_sources_that_have_it(folder: Path) -> None:
    write(folder, 'prefix = "/in"\n' + SETTINGS + GITHUB)
    ended = tenure_command(folder, "gateway", "check", "bot:app")
    assert ended.returncode == 1
    assert "POST /in/bot" in ended.stdout
    assert "env:BOT_SECRET (MISSING)" in ended.stdout
    assert "strict, by json:repository.id" in ended.stdout
    assert [line.partition(":")[2] for line in ended.stderr.splitlines() if line.startswith("Error")] == [
        " source 'bot': async needs a store, and there is none; set TENURE_URL, or async = false.",
        " source 'bot': the secret env:BOT_SECRET is not set.",
        " source 'git': async needs a store, and there is none; set TENURE_URL, or async = false.",
        " source 'git': the secret file:/nosuch cannot be read (No such file or directory).",
    ]


def test_json_tells_the_same_to_machines(folder: Path) -> None:
    write(folder, SETTINGS + GITHUB)
    url = f"sqlite:///{folder}/jobs.db"
    ended = tenure_command(folder, "gateway", "check", "bot:app", "--json", url=url, BOT_SECRET="abc")
    told = json.loads(ended.stdout)
    assert (ended.returncode, told["ok"], len(told["problems"])) == (1, False, 1)
    bot, git = told["sources"]
    assert bot["secrets"] == [{"reference": "env:BOT_SECRET", "found": True}]
    assert git["secrets"] == [{"reference": "file:/nosuch", "found": False}]
    assert (bot["dedupe"], bot["retry"], bot["max_attempts"]) == ("7d", ["50ms"], 2)
    assert bot["expiry"]["inline_query"] == "30s"


UNTOLD = """Warning: source 'bot': without a token nobody is told of an update that finally failed; write token = "env:NAME", or apology = "" if that is meant."""  # fmt: skip
UNSENT = """Warning: source 'bot': without a token no reply can be sent; write token = "env:NAME"."""


@pytest.mark.parametrize(
    ("change", "warned"),
    [
        ({}, [UNTOLD]),
        ({"handler": "http", "url": "https://example.org/"}, [UNSENT, UNTOLD]),
        ({"handler": "http", "url": "https://example.org/", "apology": ""}, [UNSENT]),
        ({"apology": ""}, []),
        ({"token": "env:BOT_TOKEN"}, []),
        ({"async": False}, []),
        ({"type": "github"}, []),
    ],
    ids=["function", "http", "http, meant", "meant", "token", "sync", "github"],
)
def test_a_bot_that_cannot_speak_is_warned_of_and_nothing_is_wrong(
    folder: Path, change: dict[str, Any], warned: list[str]
) -> None:
    write(folder, source(**change))
    given = {"url": f"sqlite:///{folder}/jobs.db", "BOT_SECRET": "abc", "BOT_TOKEN": "123:" + "a" * 35}
    ended = tenure_command(folder, "gateway", "check", "bot:app", "--json", **given)
    assert (ended.returncode, ended.stderr.splitlines()) == (0, warned)
    assert set(json.loads(ended.stdout)) == {"ok", "sources", "problems"}


UNKEPT = "Warning: source 'bot': dedupe does nothing, for a sync source keeps nothing to tell duplicates by; write async = true, or leave dedupe out."  # fmt: skip


@pytest.mark.parametrize(
    ("change", "warned", "shown"),
    [
        ({"async": False, "dedupe": "1d"}, [UNKEPT], "none (sync)"),
        ({"async": False, "dedupe": "0s"}, [], "none (sync)"),
        ({"async": False}, [], "none (sync)"),
        ({"dedupe": "1d", "apology": ""}, [], "1d, by what the sender names"),
    ],
    ids=["set", "none", "unset", "async"],
)
def test_looking_for_duplicates_where_nothing_is_kept_is_warned_of(
    folder: Path, change: dict[str, Any], warned: list[str], shown: str
) -> None:
    write(folder, source(**change))
    given = {"url": f"sqlite:///{folder}/jobs.db", "BOT_SECRET": "abc"}
    ended = tenure_command(folder, "gateway", "check", "bot:app", **given)
    assert (ended.returncode, ended.stderr.splitlines()) == (0, warned)
    assert f"  dedupe    {shown}\n" in ended.stdout


def test_an_inline_secret_is_not_shown(folder: Path) -> None:
    write(folder, INLINE)
    for flags in ([], ["--json"]):
        ended = tenure_command(
            folder, "gateway", "check", "bot:app", *flags, url=f"sqlite:///{folder}/jobs.db"
        )
        assert ended.returncode == 0, ended.stderr
        assert "inline:***" in ended.stdout
        assert "hunter2" not in ended.stdout + ended.stderr


def test_an_app_that_attaches_wrong_settings_itself_is_told_of_all_of_them(folder: Path) -> None:
    write(folder, source(handler="python:nosuch", timeout="soon"))
    with (folder / "bot.py").open("a") as file:
        file.write(ATTACHING)
    ended = tenure_command(folder, "gateway", "check", "bot:app", url=f"sqlite:///{folder}/jobs.db")
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    errors = [line for line in ended.stderr.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 3
    for words in ("python:nosuch names no job", "timeout: must be a duration", "env:BOT_SECRET is not set"):
        assert any(words in line for line in errors)


def test_an_app_is_asked_for_where_a_handler_is_a_function(folder: Path) -> None:
    ended = tenure_command(folder, "gateway", "check", url=f"sqlite:///{folder}/jobs.db", BOT_SECRET="abc")
    assert ended.returncode == 1
    errors = [line for line in ended.stderr.splitlines() if not line.startswith("Warning: ")]
    assert errors == ["Error: source 'bot': python:on_update is a function of yours; name the app that has it, module:app."]  # fmt: skip
