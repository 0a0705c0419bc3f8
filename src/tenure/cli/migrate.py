"""`tenure migrate [--sql|--check]`."""

from __future__ import annotations

import click

from tenure.cli.desk.opening import Misused, json_option, place_of, store_options
from tenure.cli.desk.screen import echo_json

__all__ = ["command"]


@click.command("migrate")
@click.option("--sql", is_flag=True, help="Print what would make the schema, and change nothing.")
@click.option("--check", is_flag=True, help="Say whether the schema is up to date: 0 if so, 1 if not; change nothing.")  # fmt: skip
@json_option
@store_options
def command(sql: bool, check: bool, as_json: bool, url: str | None, app: str | None) -> None:
    """Make the schema, or bring it up to date. Opening a store does so too: this is for who must do it beforehand.

    \b
    tenure migrate --url postgresql://admin@host/db
    tenure migrate --sql > schema.sql                  for people who review SQL, or other roles
    tenure migrate --check                             for a deployment, before its workers start
    """
    from tenure.config import without_password
    from tenure.store.open import applied_at, open_store, script_at

    if sql and check:
        raise Misused("--sql and --check do different things; give one of the two")
    place = place_of(url, app)
    if sql:
        script = script_at(place)
        if as_json:
            echo_json({"sql": script})
        else:
            click.echo(script)
        return
    if not check:
        open_store(place).close()
    applied, known = applied_at(place)
    told = {
        "url": without_password(place),
        "applied": applied,
        "known": known,
        "up_to_date": applied >= known,
    }
    if as_json:
        echo_json(told)
    else:
        state = "up to date" if applied >= known else f"{known - applied} to be applied"
        click.echo(f"{told['url']}: {applied} of {known} migrations, {state}")
    if applied < known:
        raise SystemExit(1)
