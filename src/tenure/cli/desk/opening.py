"""Where the store is, and how a command ends: 0 it did what it was told, 1 an error, 2 misused, 3 nothing was found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

if TYPE_CHECKING:
    from tenure.client.queue import Queue

__all__ = [
    "INTERRUPTED",
    "Misused",
    "NotFound",
    "id_of",
    "json_option",
    "must_be_there",
    "place_of",
    "store_options",
    "the_queue",
]

C = TypeVar("C", bound=Callable[..., Any])
INTERRUPTED: Final = 130
"""The exit code of a command that was stopped by Ctrl-C, as shells know it."""
_URL: Final = (
    "Where the jobs are.  [default: $TENURE_URL, else a PostgreSQL $DATABASE_URL, else sqlite:///tenure.db]"
)


class Misused(click.ClickException):
    """The command cannot be meant like this."""

    exit_code = 2


class NotFound(click.ClickException):
    """Nothing is there that the command could be about."""

    exit_code = 3

    def show(self, file: Any = None) -> None:
        """It is an answer rather than an error."""
        click.echo(self.format_message(), file=file, err=file is None)


def store_options(command: C) -> C:
    """`--url` and `--app`: two ways to say where the jobs are."""
    app = click.option("--app", metavar="MODULE:APP", help="The app whose jobs they are; it knows where they are kept.")  # fmt: skip
    return url_option(app(command))


def url_option(command: C) -> C:
    """`--url`: where the jobs are."""
    return click.option("--url", metavar="URL", help=_URL)(command)


def json_option(command: C) -> C:
    """`--json`: the answer for programs."""
    return click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")(command)


def id_of(text: str) -> str:
    """A job's id, in its one spelling."""
    from tenure.errors import FieldError
    from tenure.newjob import check_id

    try:
        return check_id(text)
    except FieldError:
        raise Misused(f"{text!r} is no job's id; it is a UUID, as tenure list tells it") from None


def place_of(url: str | None, app: str | None) -> str:
    """The URL that is meant."""
    from tenure.config import choose_url

    if url is not None and app is not None:
        raise Misused("--url and --app both say where the jobs are; give one of the two")
    if app is not None:
        from tenure.worker.address import load

        return str(load(app).url)
    return choose_url(url)


@contextmanager
def the_queue(url: str | None, app: str | None) -> Iterator[Queue]:
    """The queue that is there; a file that is not is no empty store, but a mistake."""
    import tenure

    chosen = place_of(url, app)
    must_be_there(chosen, "say where the jobs are with --url, --app or $TENURE_URL")
    with tenure.open(chosen) as queue:
        yield queue


def must_be_there(url: str, fix: str) -> None:
    """A SQLite file that is not there would be made, and an empty store shown in place of the one that was meant."""
    from tenure.config import SqlitePlace, locate

    place = locate(url)
    if isinstance(place, SqlitePlace) and not Path(place.path).exists():
        raise click.ClickException(f"there is no file {place.path!r} here; {fix}")
