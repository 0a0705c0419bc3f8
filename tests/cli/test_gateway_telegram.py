"""`tenure gateway telegram …`, against a stand-in for Telegram."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tenure.cli import main
from tenure.cli.gateway.bots import ago
from tenure.gateway.telegram.api import Bot
from tenure.testing.telegram import FakeTelegram
from tests.cli.files import CERTIFICATE, KEY, SECRET, source
from tests.cli.test_cli import tenure_command
from tests.support.process import free_port

TOKEN = "4242:token-of-nobody"
URL = "https://bot.example.org"


@pytest.fixture
def telegram() -> Iterator[FakeTelegram]:
    """A stand-in for Telegram."""
    with FakeTelegram(token=TOKEN) as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path, telegram: FakeTelegram, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with settings for a bot of it; it is the current one."""
    settings(tmp_path, api=telegram.url)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BOT_TOKEN", TOKEN)
    monkeypatch.setenv("BOT_SECRET", SECRET)
    monkeypatch.setenv("TENURE_URL", f"sqlite:///{tmp_path}/jobs.db")
    return tmp_path


def settings(folder: Path, other: str = source(slug="git", type="github"), **given: Any) -> None:
    """The settings of a bot that Telegram sends updates of, and of something else."""
    bot = source(
        **{"handler": "echo", "token": "env:BOT_TOKEN", "secrets": ["env:BOT_SECRET", "env:OLD"], **given}
    )
    (folder / "gateway.toml").write_text(f'prefix = "/hooks"\n{bot}{other}')


def told(*args: str, typed: str = "") -> Result:
    """`tenure gateway telegram …`, in this process."""
    ended = CliRunner().invoke(main, ["gateway", "telegram", *args], input=typed)
    assert TOKEN.partition(":")[2] not in ended.output
    assert SECRET not in ended.output
    return ended


def was_set(telegram: FakeTelegram, url: str) -> None:
    """The webhook of the bot, set by somebody else."""
    asyncio.run(Bot(TOKEN, telegram.url).call("setWebhook", {"url": url}))
    telegram.calls.clear()


def test_the_webhook_is_set_shown_and_deleted(folder: Path, telegram: FakeTelegram) -> None:
    known = {"BOT_TOKEN": TOKEN, "BOT_SECRET": SECRET}
    ended = tenure_command(folder, "gateway", "telegram", "set-webhook", "bot", "--url", f"{URL}/", **known)
    assert ended.returncode == 0, ended.stderr
    assert telegram.webhook == {"url": f"{URL}/hooks/bot", "secret_token": SECRET}
    assert ended.stdout.splitlines()[:3] == [
        f"asking Telegram to send the updates of bot to {URL}/hooks/bot …",
        "set; Telegram says:",
        f"  url              {URL}/hooks/bot",
    ]
    assert [call.method for call in telegram.calls] == ["setWebhook", "getWebhookInfo"]
    shown = told("info", "bot")
    assert "0 updates not yet delivered" in shown.stdout
    assert "last error       none" in shown.stdout
    deleted = told("delete", "bot", "--yes")
    assert deleted.exit_code == 0
    assert telegram.webhook == {}
    assert "none: updates are sent nowhere" in deleted.stdout


def test_what_is_asked_for_is_sent_along(folder: Path, telegram: FakeTelegram) -> None:
    more = (
        "--max-connections",
        "5",
        "--allowed-updates",
        "message,callback_query",
        "--allowed-updates",
        "pol",
    )
    ended = told("set-webhook", "bot", "--url", f"{URL}:8443", *more, "--drop-pending", "--yes", "--json")
    assert ended.exit_code == 0, ended.output
    assert json.loads(ended.stdout)["url"] == f"{URL}:8443/hooks/bot"
    assert "'pol' is no type of update known here; did you mean poll?" in ended.stderr
    assert telegram.webhook == {
        "url": f"{URL}:8443/hooks/bot",
        "secret_token": SECRET,
        "max_connections": 5,
        "allowed_updates": ["message", "callback_query", "pol"],
        "drop_pending_updates": True,
    }


def test_a_certificate_of_one_s_own_is_sent_along(folder: Path, telegram: FakeTelegram) -> None:
    (folder / "gateway.pem").write_text(CERTIFICATE)
    more = ("--certificate", "gateway.pem", "--max-connections", "5", "--allowed-updates", "message")
    ended = told("set-webhook", "bot", "--url", f"{URL}:8443", *more)
    assert ended.exit_code == 0, ended.output
    assert telegram.webhook == {
        "url": f"{URL}:8443/hooks/bot",
        "secret_token": SECRET,
        "max_connections": "5",  # a form holds texts
        "allowed_updates": '["message"]',
        "certificate": CERTIFICATE.encode(),
    }
    assert "certificate      the one that was sent along with set-webhook" in told("info", "bot").stdout


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "'gateway.pem' cannot be read: No such file or directory"),
        ("", "'gateway.pem' is no certificate in PEM; it must begin with -----BEGIN CERTIFICATE-----"),
        (CERTIFICATE[:200], "is no certificate in PEM"),
        (CERTIFICATE.replace("M", "ü"), "is no certificate in PEM"),
        (f"{CERTIFICATE}{KEY}", "holds a private key, which must not leave this machine"),
    ],
)
def test_what_is_no_certificate_is_not_sent(
    folder: Path, telegram: FakeTelegram, text: str | None, words: str
) -> None:
    if text is not None:
        (folder / "gateway.pem").write_text(text)
    ended = told("set-webhook", "bot", "--url", URL, "--certificate", "gateway.pem")
    assert ended.exit_code == 2
    assert words in ended.stderr
    assert telegram.calls == []


def test_the_last_error_is_told_with_how_long_ago_it_was(folder: Path, telegram: FakeTelegram) -> None:
    was_set(telegram, f"{URL}/{TOKEN}/{SECRET}")
    with pytest.raises(TimeoutError):
        telegram.deliver(f"http://127.0.0.1:{free_port()}", telegram.message("hi"), within=0.01)
    ended = told("info", "bot")
    assert f"url              {URL}/***/***\n" in ended.stdout
    assert re.search(r"last error {7}(just now|\d seconds? ago): Connection failed: Conn", ended.stdout)
    seen = json.loads(told("info", "bot", "--json").stdout)
    assert seen["url"] == f"{URL}/***/***"
    assert seen["last_error_message"].startswith("Connection failed")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-5, "just now"), (0, "just now"), (1, "1 second ago"), (119, "1 minute ago"), (7_200, "2 hours ago"), (200_000, "2 days ago")],
)  # fmt: skip
def test_how_long_ago_is_told_in_words(seconds: int, words: str) -> None:
    assert ago(seconds) == words


def test_deleting_is_asked_about_first(folder: Path, telegram: FakeTelegram) -> None:
    was_set(telegram, URL)
    assert told("delete", "bot", typed="n\n").exit_code == 1
    assert told("set-webhook", "bot", "--url", URL, "--drop-pending", typed="n\n").exit_code == 1
    assert (telegram.webhook, telegram.calls) == ({"url": URL}, [])
    assert told("delete", "bot", "--drop-pending", typed="y\n").exit_code == 0
    assert telegram.calls[0].params == {"drop_pending_updates": True}


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://bot.example.org", "must begin with https://"),
        ("https://bot.example.org:8000", "names port 8000, and Telegram sends to 443, 80, 88, 8443 only"),
        ("bot.example.org", "must be like https://example.org"),
        ("https://me:pw@bot.example.org", "must hold no user"),
        ("https://bot.example.org?a=b", "must hold no user, password, query"),
        ("https://bot.example.org:99999", "is no URL"),
        (
            "https://[2001:db8::1]:8443",
            "--url names the IPv6 address 2001:db8::1, and Telegram sends over IPv4 only; give a name or an IPv4 address",
        ),
    ],
)
def test_a_url_that_telegram_would_not_take_is_refused_before_it_is_asked(
    folder: Path, telegram: FakeTelegram, url: str, words: str
) -> None:
    settings(folder)
    ended = told("set-webhook", "bot", "--url", url)
    assert ended.exit_code == 2
    assert words in ended.stderr
    assert telegram.calls == []


@pytest.mark.parametrize("address", ["2001:db8::1", "203.0.113", "bot.example.org", "203.0.113.7:443", ""])
def test_an_address_that_is_no_ipv4_address_is_refused_before_telegram_is_asked(
    folder: Path, telegram: FakeTelegram, address: str
) -> None:
    ended = told("set-webhook", "bot", "--url", URL, "--ip-address", address)
    assert ended.exit_code == 2
    assert f"--ip-address must be an IPv4 address like 203.0.113.7, got {address!r}" in ended.stderr
    assert telegram.calls == []


def test_the_address_that_telegram_is_to_send_to_is_sent_along_and_shown(
    folder: Path, telegram: FakeTelegram
) -> None:
    ended = told("set-webhook", "bot", "--url", URL, "--ip-address", "203.0.113.7")
    assert ended.exit_code == 0, ended.output
    assert telegram.webhook["ip_address"] == "203.0.113.7"
    assert "  address          203.0.113.7\n" in ended.stdout


@pytest.mark.parametrize(
    ("given", "slug", "words"),
    [
        ({}, "bto", "gateway.toml has no source 'bto'; did you mean 'bot'?"),
        ({}, "git", "source 'git' is of type github, not telegram"),
        ({"token": None}, "bot", "source 'bot': it has no token"),
        ({"token": "env:NOSUCH"}, "bot", "token: the secret env:NOSUCH is not set"),
        ({"token": "env:BOT_SECRET"}, "bot", "token must be a bot's"),
        ({"secrets": []}, "bot", "source 'bot': it has no secret"),
        ({"secrets": ["env:NOSUCH"]}, "bot", "source 'bot': the secret env:NOSUCH is not set"),
        ({"secrets": ["env:BOT_TOKEN"]}, "bot", "a Telegram secret must be 1 to 256 characters"),
        ({"retry": 5}, "bot", "source 'bot': retry: must be a list"),
    ],
)
def test_what_is_missing_is_told_before_telegram_is_asked(
    folder: Path, telegram: FakeTelegram, given: dict[str, Any], slug: str, words: str
) -> None:
    settings(folder, api=telegram.url, **given)
    ended = told("set-webhook", slug, "--url", URL)
    assert ended.exit_code == 1
    assert words in ended.stderr
    assert telegram.calls == []


def test_what_telegram_refuses_is_told_in_its_own_words(folder: Path, telegram: FakeTelegram) -> None:
    telegram.refuse(400, "Bad Request: bad webhook: Failed to resolve host")
    ended = told("set-webhook", "bot", "--url", URL)
    assert ended.exit_code == 1
    assert "Error: Telegram refused (400): Bad Request: bad webhook: Failed to resolve host\n" in ended.stderr
    telegram.refuse(429, "Too Many Requests", retry_after=3)
    assert "Too Many Requests; try again in 3 s" in told("info", "bot").stderr
    telegram.refuse(401, "Unauthorized")
    assert "Telegram refused (401): Unauthorized; is the token right?" in told("info", "bot").stderr


def test_a_telegram_that_cannot_be_reached_is_told_in_one_sentence(folder: Path) -> None:
    port = free_port()
    settings(folder, api=f"http://127.0.0.1:{port}")
    ended = told("info", "bot")
    assert ended.exit_code == 1
    assert f"Error: Telegram cannot be reached: 127.0.0.1:{port}: cannot connect" in ended.stderr


def test_a_code_is_made_and_shown_once(folder: Path) -> None:
    settings(folder, "", handler="auth", options={"then": "echo"})
    first, second = (told("code", "bot", "--keep", "1h", "--json") for _ in range(2))
    assert first.exit_code == 0, first.output
    made = json.loads(first.stdout)
    assert (made["slug"], made["seconds"]) == ("bot", 3600)
    assert json.loads(second.stdout)["code"] != made["code"]
    shown = told("code", "bot")
    assert len(shown.stdout.strip()) == len(made["code"])
    assert "good once, within 7d" in shown.stderr


def test_codes_are_for_bots_that_ask_who_it_is(folder: Path) -> None:
    ended = told("code", "bot")
    assert (ended.exit_code, "codes are for auth" in ended.stderr) == (1, True)
    settings(folder, "", handler="auth", options={"then": "echo", "codes": False})
    ended = told("code", "bot")
    assert (ended.exit_code, ended.stdout, "its options say codes = false" in ended.stderr) == (1, "", True)
    settings(folder, handler="auth", options={"then": "python:on_update"})
    assert "name the app that has it" in told("code", "bot").stderr
