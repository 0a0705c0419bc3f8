"""What the doctor says of a bot's webhook, against a stand-in for Telegram."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tenure.clock import machine_micros
from tenure.doctor import Finding, Limits, examine
from tenure.gateway.telegram.api import Bot
from tenure.testing.telegram import FakeTelegram
from tests.cli.files import SECRET, source
from tests.support.process import free_port

TOKEN = "4242:token-of-nobody"


@pytest.fixture
def telegram(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeTelegram]:
    monkeypatch.setenv("BOT_TOKEN", TOKEN)
    monkeypatch.setenv("BOT_SECRET", SECRET)
    with FakeTelegram(token=TOKEN) as made:
        yield made


def found(file: Path, **given: Any) -> list[Finding]:
    """What is said of the webhooks of these settings."""
    config = file.with_name("gateway.toml")
    bot = source(**{"handler": "echo", "token": "env:BOT_TOKEN", **given})
    config.write_text(f'prefix = "/hooks"\n{bot}{source(slug="git", type="github")}')
    told = examine(f"sqlite:///{file}", config=str(config), limits=Limits(ask=2.0))
    assert not any(TOKEN.partition(":")[2] in f.found or SECRET in f.found for f in told)
    return [finding for finding in told if finding.check in ("webhook", "gateway")]


def sends_to(telegram: FakeTelegram, url: str) -> None:
    asyncio.run(Bot(TOKEN, telegram.url).call("setWebhook", {"url": url}))


def test_updates_that_go_where_the_gateway_is_are_well(file: Path, telegram: FakeTelegram) -> None:
    sends_to(telegram, "https://bot.example.org/hooks/bot")
    words = "bot: Telegram sends to bot.example.org/hooks/bot, 0 updates wait there"
    assert found(file, api=telegram.url) == [Finding("ok", "webhook", words)]


def test_updates_that_go_nowhere_or_elsewhere(file: Path, telegram: FakeTelegram) -> None:
    [nowhere] = found(file, api=telegram.url)
    assert nowhere.level == "warning"
    assert "sends its updates nowhere" in nowhere.found
    assert "set-webhook bot" in nowhere.fix
    sends_to(telegram, "https://bot.example.org/old/bot")
    [elsewhere] = found(file, api=telegram.url)
    assert elsewhere.level == "warning"
    assert "sends to bot.example.org/old/bot" in elsewhere.found


def test_deliveries_that_fail_or_wait(file: Path, telegram: FakeTelegram) -> None:
    sends_to(telegram, "https://bot.example.org/hooks/bot")
    telegram._methods.pending = 250
    [waits] = found(file, api=telegram.url)
    assert (waits.level, "250 updates wait there" in waits.found) == ("warning", True)
    at = machine_micros() // 1_000_000 - 60
    telegram._methods.trouble = {"last_error_date": at, "last_error_message": f"502 for {SECRET}"}
    [fails] = found(file, api=telegram.url)
    assert fails.level == "warning"
    assert "failed 1m" in fails.found


def test_a_bot_that_telegram_does_not_know_and_one_that_has_no_token(
    file: Path, telegram: FakeTelegram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOT_TOKEN", "1:another")
    [refused] = found(file, api=telegram.url)
    assert (refused.level, "Telegram refused (" in refused.found) == ("error", True)
    monkeypatch.delenv("BOT_TOKEN")
    [none] = found(file, api=telegram.url)
    assert (none.level, none.found) == ("error", "bot: token: the secret env:BOT_TOKEN is not set")


def test_telegram_out_of_reach_is_a_warning(file: Path, telegram: FakeTelegram) -> None:
    [away] = found(file, api=f"http://127.0.0.1:{free_port()}")
    assert away.level == "warning"
    assert "cannot be reached" in away.found


def test_settings_that_are_wrong_are_told(file: Path, telegram: FakeTelegram) -> None:
    [wrong] = found(file, api=telegram.url, token=None, retry="soon and often", queue=5)
    assert (wrong.level, wrong.check) == ("error", "gateway")
    assert "tenure gateway check" in wrong.fix


def test_without_settings_nobody_is_asked(file: Path) -> None:
    told = examine(f"sqlite:///{file}", config=str(file.with_name("none.toml")))
    assert "webhook" not in {finding.check for finding in told}
