"""What Telegram says of the webhooks of a gateway's bots. No token and no secret is ever shown."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tenure.doctor.finding import Finding, Level, count, span
from tenure.doctor.limits import Limits
from tenure.errors import FieldError
from tenure.gateway.outgoing import Forbidden, Unreachable
from tenure.gateway.secrets import Masker, resolve
from tenure.gateway.settings import GatewaySettings, SourceSettings, read
from tenure.gateway.telegram.api import Bot, BotRefused
from tenure.gateway.telegram.checks import token_of

__all__ = ["webhooks"]


def webhooks(config: str | GatewaySettings, limits: Limits, machine: Callable[[], int]) -> Iterator[Finding]:
    """Each bot of these settings that has a token."""
    if isinstance(config, str) and not Path(config).is_file():
        return
    settings, problems = read(config)
    if problems:
        fix = f"`tenure gateway check -f {config}` tells all of it"
        yield Finding(
            "error", "gateway", f"{count(len(problems), 'problem')} in {config}: {problems[0]}", fix
        )
    bots = [source for source in settings.sources if source.type == "telegram" and source.token is not None]
    if bots:
        yield from asyncio.run(_all(settings, bots, limits, machine() // 1_000_000))


async def _all(
    settings: GatewaySettings, bots: list[SourceSettings], limits: Limits, now: int
) -> list[Finding]:
    return list(await asyncio.gather(*(_one(settings, source, limits, now) for source in bots)))


async def _one(settings: GatewaySettings, source: SourceSettings, limits: Limits, now: int) -> Finding:
    token, problem = token_of(source.token or "", inline=settings.inline_secrets)
    if token is None:
        return _found("error", source, problem or "its token is not found", "set it where its settings say")
    try:
        told = await Bot(token, source.api).call("getWebhookInfo", {}, timeout=limits.ask)
    except BotRefused as refused:
        return _found(
            "error", source, f"Telegram refused ({refused.code})", "see that the token is the bot's"
        )
    except (Unreachable, Forbidden) as error:
        return _found(
            "warning",
            source,
            f"Telegram cannot be reached: {error}",
            "see to the network; --offline does not ask",
        )
    except FieldError as error:
        return _found("error", source, f"api: {error.rule}", "write the address of the Bot API")
    secrets = [
        value for name in source.secrets if (value := resolve(name, inline=settings.inline_secrets)[0])
    ]
    mask = Masker([token, token.partition(":")[2], *secrets])
    return _judge(
        source, f"{settings.prefix}/{source.slug}", told if isinstance(told, dict) else {}, mask, limits, now
    )


def _judge(
    source: SourceSettings, path: str, info: Mapping[str, Any], mask: Masker, limits: Limits, now: int
) -> Finding:
    url, pending = str(info.get("url") or ""), int(info.get("pending_update_count") or 0)
    waits = f"{count(pending, 'update')} {'waits' if pending == 1 else 'wait'} there"
    again = f"`tenure gateway telegram set-webhook {source.slug} --url https://…`"
    if not url:
        return _found("warning", source, f"Telegram sends its updates nowhere, {waits}", again)
    parts = urlsplit(url)
    where = mask(f"{parts.hostname}{parts.path}")
    if not parts.path.endswith(path):
        return _found(
            "warning", source, f"Telegram sends to {where}, and the gateway listens at …{path}", again
        )
    failed = info.get("last_error_date")
    if isinstance(failed, int) and now - failed < limits.webhook_error:
        words = mask(str(info.get("last_error_message") or "not told why"), 200)
        seen = f"a delivery to {where} failed {span(max(now - failed, 0) * 1e6)} ago ({words}), {waits}"
        return _found(
            "warning", source, seen, "see that the gateway runs and can be reached from the internet"
        )
    if pending >= limits.updates:
        return _found("warning", source, f"{waits} for {where}", "see that the gateway answers, and quickly")
    return _found("ok", source, f"Telegram sends to {where}, {waits}", "")


def _found(level: Level, source: SourceSettings, words: str, fix: str) -> Finding:
    return Finding(level, "webhook", f"{source.slug}: {words}", fix)
