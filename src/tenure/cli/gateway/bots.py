"""One Telegram source of the settings, and what Telegram says of its webhook. No token and no secret is ever shown."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import click

from tenure.cli.gateway.sources import path_of
from tenure.clock import machine_micros
from tenure.config import without_password
from tenure.errors import FieldError
from tenure.gateway.outgoing import Unreachable
from tenure.gateway.secrets import Masker, resolve
from tenure.gateway.settings import GatewaySettings, SourceSettings, read
from tenure.gateway.sources.telegram import Telegram
from tenure.gateway.telegram.api import Bot, BotRefused
from tenure.gateway.telegram.checks import token_of
from tenure.gateway.telegram.update import TYPES

__all__ = ["TheBot", "Webhook", "ago", "certificate", "find", "ipv4", "sure", "update_types"]

_OFFICIAL: Final = SourceSettings().api
_PORTS: Final = (443, 80, 88, 8443)
_UNITS: Final = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class TheBot:
    """A source, the settings it stands in, and what must not be shown."""

    settings: GatewaySettings
    source: SourceSettings
    mask: Masker

    def token(self) -> str:
        """The bot's token."""
        if self.source.token is None:
            raise self._wrong('it has no token; write token = "env:BOT_TOKEN"')
        token, problem = token_of(self.source.token, inline=self.settings.inline_secrets)
        if token is None:
            raise self._wrong(problem or "its token is not found")
        return token

    def secret(self) -> str:
        """What Telegram sends along: the first of the secrets."""
        if not self.source.secrets:
            raise self._wrong('it has no secret; write secrets = ["env:BOT_SECRET"]')
        secret, problem = resolve(self.source.secrets[0], inline=self.settings.inline_secrets)
        if secret is None:
            raise self._wrong(problem or "its secret is not found")
        for unfit in Telegram.problems(self.source, [secret]):
            raise self._wrong(unfit)
        return secret

    def place(self, base: str) -> str:
        """Where its updates go; refused where Telegram would not go there."""
        try:
            parts = urlsplit(base)
            port = parts.port or (443 if parts.scheme == "https" else 80)
        except ValueError:
            raise click.UsageError("--url is no URL; write https://example.org") from None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise click.UsageError("--url must be like https://example.org")
        if parts.query or parts.fragment or parts.username is not None:
            raise click.UsageError("--url must hold no user, password, query or fragment")
        if self._is_official and ":" in parts.hostname:
            raise click.UsageError(f"--url names the IPv6 address {parts.hostname}, and Telegram sends over IPv4 only; give a name or an IPv4 address")  # fmt: skip
        if self._is_official and parts.scheme != "https":
            raise click.UsageError("--url must begin with https://; Telegram sends to nothing else")
        if self._is_official and port not in _PORTS:
            raise click.UsageError(f"--url names port {port}, and Telegram sends to {', '.join(map(str, _PORTS))} only")  # fmt: skip
        return base.rstrip("/") + path_of(self.settings, self.source)

    @property
    def _is_official(self) -> bool:
        """Whether it is Telegram's own API, with its rules; a server of one's own sends anywhere."""
        return self.source.api.rstrip("/") == _OFFICIAL

    def shown(self, text: str) -> str:
        """The text, without secrets."""
        return self.mask(without_password(text), 2_000)

    def _wrong(self, sentence: str) -> click.ClickException:
        return click.ClickException(f"source {self.source.slug!r}: {sentence}")


def find(slug: str, config: str) -> TheBot:
    """The Telegram source of this name."""
    if not Path(config).is_file():
        raise click.UsageError(f"there is no file {config!r}; name the gateway's settings with -f")
    settings, problems = read(config)
    found = [source for source in settings.sources if source.slug == slug]
    mine = [
        problem for problem in problems if problem.startswith(f"source {slug!r}:") or not settings.sources
    ]
    if mine:
        raise click.ClickException(mine[0])
    if not found:
        names = [source.slug for source in settings.sources if source.type == "telegram"]
        near = get_close_matches(slug, names, 1) or names
        fix = f"did you mean {near[0]!r}?" if near else "none of its sources is of type telegram"
        raise click.ClickException(f"{config} has no source {slug!r}; {fix}")
    if found[0].type != "telegram":
        raise click.ClickException(f"source {slug!r} is of type {found[0].type}, not telegram")
    return TheBot(settings=settings, source=found[0], mask=_masker(settings, found[0]))


def _masker(settings: GatewaySettings, source: SourceSettings) -> Masker:
    """What is known to be secret; the second half of a token is as good as the whole."""
    named = (*source.secrets, source.token or "")
    known = [value for name in named if (value := resolve(name, inline=settings.inline_secrets)[0])]
    return Masker([*known, *(value.partition(":")[2] for value in known)])


class Webhook:
    """A bot's webhook at Telegram. `quiet`: the answer alone is told, as JSON."""

    def __init__(self, bot: TheBot, *, quiet: bool) -> None:
        self.bot, self._quiet = bot, quiet
        self._api = Bot(bot.token(), bot.source.api)

    def call(self, method: str, params: Mapping[str, Any], files: Mapping[str, bytes] | None = None) -> Any:
        """Ask Telegram; what it refuses is told in its own words."""
        try:
            return asyncio.run(self._api.call(method, params, files=files))
        except BotRefused as refused:
            wait = "" if refused.retry_after is None else f"; try again in {refused.retry_after:g} s"
            wrong = "; is the token right?" if refused.code in (401, 404) else ""
            said = self.bot.shown(refused.description)
            raise click.ClickException(f"Telegram refused ({refused.code}): {said}{wait}{wrong}") from None
        except Unreachable as error:
            raise click.ClickException(f"Telegram cannot be reached: {error}") from None
        except FieldError as error:
            raise click.ClickException(f"source {self.bot.source.slug!r}: api: {error.rule}") from None

    def info(self) -> dict[str, Any]:
        """What Telegram knows of it."""
        told = self.call("getWebhookInfo", {})
        return told if isinstance(told, dict) else {}

    def say(self, words: str) -> None:
        """Progress, for people."""
        click.echo(words, err=self._quiet)

    def tell(self, info: Mapping[str, Any]) -> None:
        """What Telegram knows."""
        if self._quiet:
            masked = {name: self.bot.shown(v) if isinstance(v, str) else v for name, v in info.items()}
            click.echo(json.dumps(masked))
            return
        for name, text in _facts(info):
            click.echo(f"  {name:<16} {self.bot.shown(text)}")


def _facts(info: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "url", info.get("url") or "none: updates are sent nowhere"
    count = info.get("pending_update_count", 0)
    yield "pending", f"{count} update{'' if count == 1 else 's'} not yet delivered"
    if info.get("last_error_message") or info.get("last_error_date"):
        yield (
            "last error",
            f"{_when(info.get('last_error_date'))}: {info.get('last_error_message', 'not told')}",
        )
    else:
        yield "last error", "none"
    if info.get("has_custom_certificate"):
        yield "certificate", "the one that was sent along with set-webhook"
    if info.get("ip_address"):
        yield "address", str(info["ip_address"])
    if info.get("max_connections"):
        yield "max connections", str(info["max_connections"])
    updates = info.get("allowed_updates")
    yield "allowed updates", ", ".join(map(str, updates)) if updates else "Telegram's usual ones"


def _when(moment: Any) -> str:
    if not isinstance(moment, int):
        return "at an unknown time"
    return ago(machine_micros() // 1_000_000 - moment)


def ago(seconds: int) -> str:
    """How long ago, in words."""
    for unit, size in _UNITS:
        count = seconds // size
        if count >= 1:
            return f"{count} {unit}{'' if count == 1 else 's'} ago"
    return "just now"


def ipv4(given: str) -> str:
    """An address that Telegram is to send to whatever the name stands for; it has IPv4 alone."""
    try:
        return str(IPv4Address(given))
    except ValueError:
        raise click.UsageError(f"--ip-address must be an IPv4 address like 203.0.113.7, got {given!r}") from None  # fmt: skip


def sure(what: str, *, yes: bool) -> None:
    """Ask, unless that was answered on the command line."""
    if not yes:
        click.confirm(f"{what} Go on?", abort=True, err=True)


def certificate(file: str) -> bytes:
    """A certificate in PEM, to be sent along; refused where it is none, or holds the key as well."""
    try:
        held = Path(file).read_bytes()
    except OSError as error:
        raise click.UsageError(f"--certificate: {file!r} cannot be read: {error.strerror}") from None
    if b"PRIVATE KEY-----" in held:
        raise click.UsageError(f"--certificate: {file!r} holds a private key, which must not leave this machine; give a file with the certificate alone")  # fmt: skip
    try:
        ssl.PEM_cert_to_DER_cert(held.decode("ascii").strip())
    except ValueError:
        raise click.UsageError(f"--certificate: {file!r} is no certificate in PEM; it must begin with -----BEGIN CERTIFICATE-----") from None  # fmt: skip
    return held


def update_types(given: Sequence[str]) -> list[str]:
    """The types of updates, once each; Telegram passes over words it does not know in silence, so they are told of here."""
    named = list(dict.fromkeys(word.strip() for some in given for word in some.split(",") if word.strip()))
    for word in named:
        if word not in TYPES:
            near = get_close_matches(word, TYPES, 1)
            fix = f"; did you mean {near[0]}?" if near else ""
            click.echo(f"note: {word!r} is no type of update known here{fix}", err=True)
    return named
