"""`tenure migrate [--sql|--roles|--check]`."""

from __future__ import annotations

import click

from tenure.cli.desk.opening import Misused, json_option, place_of, store_options
from tenure.cli.desk.screen import echo_json

__all__ = ["command"]


@click.command("migrate")
@click.option("--sql", is_flag=True, help="Print what is to be applied, and change nothing.")
@click.option(
    "--all", "whole", is_flag=True, help="With --sql: print what makes the whole schema, and ask no store."
)
@click.option(
    "--roles", is_flag=True, help="Print SQL for roles of least privilege on PostgreSQL, and ask no store."
)
@click.option("--check", is_flag=True, help="Say whether the schema is up to date: 0 if so, 1 if not; change nothing.")  # fmt: skip
@json_option
@store_options
def command(
    sql: bool, whole: bool, roles: bool, check: bool, as_json: bool, url: str | None, app: str | None
) -> None:
    """Make the schema, or bring it up to date. Opening a store does so too: this is for who must do it beforehand.

    \b
    tenure migrate --url postgresql://admin@host/db
    tenure migrate --sql > upgrade.sql                 what is missing there, for people who review SQL, or other roles
    tenure migrate --sql --all > schema.sql            all of it, whatever is there
    tenure migrate --roles > roles.sql                 producer, worker, viewer, migrator, for psql -f
    tenure migrate --check                             for a deployment, before its workers start
    """
    from importlib.resources import files

    from tenure.config import without_password
    from tenure.store.open import applied_at, open_store

    if sql + check + roles > 1:
        raise Misused("--sql, --roles and --check do different things; give one of them")
    if whole and not sql:
        raise Misused("--all says how much --sql prints; give both")
    if roles:
        _print(files("tenure").joinpath("ops", "roles.sql").read_text("utf-8"), as_json)
        return
    place = place_of(url, app)
    if sql:
        _print(_script(place, whole=whole), as_json)
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


def _print(script: str, as_json: bool) -> None:
    if as_json:
        echo_json({"sql": script})
    else:
        click.echo(script or "-- the schema is up to date: there is nothing to be applied")


def _script(place: str, *, whole: bool) -> str:
    """What is to be applied there: all of it where nothing is."""
    from tenure.errors import StoreUnavailable
    from tenure.store.open import applied_at, script_at

    try:
        return script_at(place, since=0 if whole else applied_at(place)[0])
    except StoreUnavailable as error:
        raise click.ClickException(
            f"{error}; --sql --all prints the whole schema without asking the store"
        ) from None
