"""`tenure gateway telegram …`: a bot's webhook, and codes that let people use it."""

from __future__ import annotations

import json
from typing import Any

import click

from tenure.cli.gateway.options import config_option

__all__ = ["command"]

json_option = click.option("--json", "as_json", is_flag=True, help="Tell it as JSON.")
drop_option = click.option("--drop-pending", is_flag=True, help="Have Telegram forget the updates it still holds.")  # fmt: skip
yes_option = click.option("--yes", is_flag=True, help="Do not ask.")


@click.group("telegram")
def command() -> None:
    """Tell Telegram where a bot's updates go, and ask it how that works out.

    \b
    tenure gateway telegram set-webhook bot --url https://example.org
    tenure gateway telegram info bot
    tenure gateway telegram delete bot
    tenure gateway telegram code bot

    SLUG is a source of type telegram in gateway.toml (-f names another file). Its `token` says where the bot's token is,
    "env:BOT_TOKEN" say; the first of its `secrets` is the secret token that Telegram sends along.
    """


@command.command("set-webhook")
@click.argument("slug")
@config_option
@click.option(
    "--url", required=True, help="Where the gateway is on the internet; the source's path is added."
)
@click.option("--certificate", "pem", metavar="FILE", help="The gateway's own certificate in PEM, where no authority that Telegram knows has signed it.")  # fmt: skip
@click.option("--ip-address", metavar="IPV4", help="The address Telegram sends to, instead of the one that the name in --url stands for.")  # fmt: skip
@click.option("--max-connections", type=click.IntRange(1, 100), help="The most connections Telegram opens.  [default: Telegram's, 40]")  # fmt: skip
@click.option("--allowed-updates", multiple=True, metavar="TYPE", help="A type of update to be sent, message say; may be given several times, or as a list with commas.  [default: as set before]")  # fmt: skip
@drop_option
@yes_option
@json_option
def set_webhook(
    slug: str,
    config: str,
    url: str,
    pem: str | None,
    ip_address: str | None,
    max_connections: int | None,
    allowed_updates: tuple[str, ...],
    drop_pending: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Have Telegram send a bot's updates here.

    \b
    tenure gateway telegram set-webhook bot --url https://example.org
    tenure gateway telegram set-webhook bot --url https://example.org:8443 --allowed-updates message,callback_query
    tenure gateway telegram set-webhook bot --url https://203.0.113.7:8443 --certificate gateway.pem

    Telegram wants https, a certificate it knows or is sent (--certificate), and one of the ports 443, 80, 88 and 8443;
    it sends over IPv4 only.
    """
    from tenure.cli.gateway.bots import Webhook, certificate, find, ipv4, sure, update_types

    webhook = Webhook(find(slug, config), quiet=as_json)
    place = webhook.bot.place(url)
    params: dict[str, Any] = {"url": place, "secret_token": webhook.bot.secret()}
    if ip_address is not None:
        params["ip_address"] = ipv4(ip_address)
    if max_connections is not None:
        params["max_connections"] = max_connections
    if allowed_updates:
        params["allowed_updates"] = update_types(allowed_updates)
    files = None if pem is None else {"certificate": certificate(pem)}
    if drop_pending:
        sure("Telegram will forget the updates it still holds.", yes=yes)
        params["drop_pending_updates"] = True
    webhook.say(f"asking Telegram to send the updates of {slug} to {webhook.bot.shown(place)} …")
    webhook.call("setWebhook", params, files)
    info = webhook.info()
    if info.get("url") != place:
        raise click.ClickException(f"Telegram took it, but sends updates to {webhook.bot.shown(info.get('url') or 'nowhere')} now")  # fmt: skip
    webhook.say("set; Telegram says:")
    webhook.tell(info)


@command.command("info")
@click.argument("slug")
@config_option
@json_option
def info(slug: str, config: str, as_json: bool) -> None:
    """Tell where Telegram sends a bot's updates, how many wait there, and what went wrong last.

    \b
    tenure gateway telegram info bot
    """
    from tenure.cli.gateway.bots import Webhook, find

    webhook = Webhook(find(slug, config), quiet=as_json)
    webhook.say("asking Telegram …")
    webhook.tell(webhook.info())


@command.command("delete")
@click.argument("slug")
@config_option
@drop_option
@yes_option
@json_option
def delete(slug: str, config: str, drop_pending: bool, yes: bool, as_json: bool) -> None:
    """Have Telegram send a bot's updates nowhere; it keeps them for 24 hours, unless --drop-pending.

    \b
    tenure gateway telegram delete bot
    tenure gateway telegram delete bot --drop-pending --yes
    """
    from tenure.cli.gateway.bots import Webhook, find, sure

    webhook = Webhook(find(slug, config), quiet=as_json)
    what = "forget the updates it still holds" if drop_pending else "keep new updates for 24 hours"
    sure(f"Telegram will send the updates of {slug} nowhere, and {what}.", yes=yes)
    webhook.say("asking Telegram to delete the webhook …")
    webhook.call("deleteWebhook", {"drop_pending_updates": drop_pending})
    webhook.say("deleted; Telegram says:")
    webhook.tell(webhook.info())


@command.command("code")
@click.argument("slug")
@click.argument("app", required=False)
@config_option
@click.option("--keep", default="7d", show_default=True, help="How long the code can be used.")
@json_option
def code(slug: str, app: str | None, config: str, keep: str, as_json: bool) -> None:
    """Make a code that lets one person use a bot whose handler is auth. It is shown this once.

    \b
    tenure gateway telegram code bot bot:app         into the store of the app in bot.py
    tenure gateway telegram code bot --keep 1h       into $TENURE_URL, for an hour

    The person sends it to the bot, by itself or as `/start CODE`.
    """
    from tenure.cli.gateway.bots import find
    from tenure.cli.gateway.options import Refused, find_app
    from tenure.duration import spell
    from tenure.gateway.telegram.codes import make_code
    from tenure.worker.settings import positive_span

    bot, span = find(slug, config), positive_span(keep, "keep")
    if bot.source.handler != "auth":
        raise click.ClickException(
            f"source {slug!r} is handled by {bot.source.handler}, and codes are for auth"
        )
    if bot.source.options.get("codes") is False:
        raise click.ClickException(f"source {slug!r} takes no codes: its options say codes = false")
    found = find_app(app, config)
    if found.problems:
        raise Refused(found.problems)
    with found.app.open() as queue:
        made = make_code(queue, slug, span)
    if as_json:
        click.echo(json.dumps({"code": made, "slug": slug, "seconds": span.total_seconds()}))
        return
    click.echo(made)
    click.echo(f"good once, within {spell(span)}; send it to the bot, or as a link: t.me/<bot>?start={made}", err=True)  # fmt: skip
