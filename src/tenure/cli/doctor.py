"""`tenure doctor [APP]`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import click

from tenure.cli.desk.opening import Misused, json_option, place_of
from tenure.cli.desk.screen import echo_json, paint, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tenure.doctor import Finding

__all__ = ["command"]

_COLOURS: Final = {"ok": "green", "note": "cyan", "warning": "yellow", "error": "red"}


@click.command("doctor")
@click.argument("app", required=False)
@click.option("--url", metavar="URL", help="Where the jobs are.  [default: the app's, else $TENURE_URL, …]")
@click.option("-f", "--config", default="gateway.toml", show_default=True, help="The file with the gateway's settings; its webhooks are asked about if it is there.")  # fmt: skip
@click.option("--offline", is_flag=True, help="Ask nobody but the store.")
@json_option
def command(app: str | None, url: str | None, config: str, offline: bool, as_json: bool) -> None:
    """Look for what is wrong, and tell what to do about it. Nothing is changed.

    \b
    tenure doctor                       the store in $TENURE_URL
    tenure doctor shop.jobs:app         the app's own, and the webhooks of gateway.toml
    tenure doctor --json | jq -r '.[] | select(.level == "error") | .found'

    Ends with 0 if nothing is worse than a note, else with 1.
    """
    import logging

    from tenure.doctor.examine import examine
    from tenure.doctor.finding import bad
    from tenure.errors import StoreURLError

    # What the store logs while it is looked at is found, and told in better words.
    logging.getLogger("tenure").addHandler(logging.NullHandler())
    if app is not None and url is not None:
        raise Misused("APP and --url both say where the jobs are; give one of the two")
    try:
        found = examine(place_of(url, app), config=config, ask=not offline)
    except StoreURLError as error:
        raise Misused(str(error)) from None
    if as_json:
        echo_json([{"level": f.level, "check": f.check, "found": f.found, "fix": f.fix} for f in found])
    else:
        _echo(found)
    if bad(found):
        raise SystemExit(1)


def _echo(found: Sequence[Finding]) -> None:
    """A line for each, what to do below it; the worst last, where people look first."""
    width = max(len(finding.check) for finding in found)
    for finding in found:
        level = paint(f"{finding.level:<7}", _COLOURS[finding.level], bold=finding.level == "error")
        click.echo(f"{level}  {finding.check:<{width}}  {plain(finding.found)}")
        if finding.fix:
            click.echo(f"{'':<{width + 9}}  {paint('fix:', bold=True)} {plain(finding.fix)}")
    levels = Counter[str](finding.level for finding in found)
    words = [
        f"{levels[level]} {level}{'s' if level != 'ok' and levels[level] != 1 else ''}" for level in _COLOURS
    ]
    click.echo(", ".join(words))
