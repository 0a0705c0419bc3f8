"""`tenure gateway check [APP]`."""

from __future__ import annotations

import json

import click

from tenure.cli.gateway.options import config_option

__all__ = ["command"]


@click.command("check")
@click.argument("app", required=False)
@config_option
@click.option("--no-store", is_flag=True, help="As if there were no store.")
@click.option("--json", "as_json", is_flag=True, help="Tell it as JSON.")
def command(app: str | None, config: str, no_store: bool, as_json: bool) -> None:
    """Tell what a gateway would serve, and everything that is wrong with its settings; nothing is opened or sent.

    \b
    tenure gateway check bot:app                the settings in gateway.toml, for the app in bot.py
    tenure gateway check -f hooks.toml --json   for scripts: the exit code is 1 if anything is wrong

    Secrets are told as references, and whether they are found in this environment. Warnings change no exit code.
    """
    from tenure.cli.desk.screen import table
    from tenure.cli.gateway.options import find_app, merged
    from tenure.cli.gateway.sources import HEADER, blocks, rows, told, warnings
    from tenure.gateway.registry import look

    found = find_app(app, config)
    registry, problems = look(found.app, config, store=not no_store)
    problems = merged(found.problems, problems)
    for warning in warnings(registry):
        click.echo(f"Warning: {warning}", err=True)
    if as_json:
        click.echo(json.dumps({"ok": not problems, "sources": told(registry.settings), "problems": problems}))
    else:
        if registry.settings.sources:
            table(HEADER, rows(registry.settings))
            click.echo()
        for line in blocks(registry.settings):
            click.echo(line)
        for problem in problems:
            click.echo(f"Error: {problem}", err=True)
        if not problems:
            count = len(registry.settings.sources)
            click.echo(f"{count} source{'' if count == 1 else 's'}, and nothing is wrong")
    raise SystemExit(1 if problems else 0)
