"""What the commands around the gateway have in common: their options, and the app they are about.

The app is the one named; where no handler calls a function of the user's own, none need be, and one is made.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import click

from tenure.errors import FieldError

if TYPE_CHECKING:
    from tenure.app import App
    from tenure.gateway.asgi import Gateway
    from tenure.gateway.settings import GatewaySettings, SourceSettings

__all__ = ["CONFIG", "Refused", "config_option", "find_app", "make_gateway", "merged", "serving_options"]

CONFIG: Final = "gateway.toml"
F = TypeVar("F", bound=Callable[..., Any])

config_option = click.option("-f", "--config", default=CONFIG, show_default=True, help="The file with the gateway's settings.")  # fmt: skip


def serving_options(function: F) -> F:
    """Where a server listens, and how long it may take to stop."""
    for option in reversed((
        click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on; 0.0.0.0 for all."),
        click.option("--port", type=click.IntRange(0, 65_535), default=8000, show_default=True, help="The port to listen on; 0 for any that is free."),
        click.option("--certfile", help="A certificate in PEM, to be spoken to by https."),
        click.option("--keyfile", help="Its key, if that is in a file of its own."),
        click.option("--grace", default="25s", show_default=True, help="How long stopping may take, all in all."),
    )):  # fmt: skip
        function = option(function)
    return function


class Refused(click.ClickException):
    """It does not start: every problem in a line of its own."""

    exit_code = 2

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self._problems = problems

    def show(self, file: IO[Any] | None = None) -> None:
        """Say them all."""
        for problem in self._problems:
            click.echo(f"Error: {problem}", file=file, err=file is None)


class Found(NamedTuple):
    """An app, and what is wrong with it; then it is only there for the other problems to be found."""

    app: App
    problems: list[str]


def find_app(address: str | None, config: str) -> Found:
    """The app at this address, or one of our own where none is needed."""
    from tenure.app import App
    from tenure.gateway.registry import GatewayRefused
    from tenure.gateway.settings import read
    from tenure.worker.address import load

    if not Path(config).is_file():
        raise click.UsageError(f"there is no file {config!r}; name the gateway's settings with -f")
    settings, _ = read(config)
    if address is None:
        own = [(source.slug, name) for source in settings.sources if (name := _own(source))]
        told = [f"source {slug!r}: python:{name} is a function of yours; name the app that has it, module:app." for slug, name in own]  # fmt: skip
        return Found(_stand_in(App(), settings), told)
    try:
        app: App = load(address)
    except GatewayRefused as refused:  # it attaches these settings itself
        return Found(_stand_in(App(), settings), refused.problems)
    return Found(app, [])


def make_gateway(address: str | None, config: str, *, store: bool = True) -> Gateway:
    """The gateway of these settings; every problem is told at once."""
    from tenure.gateway.asgi import asgi
    from tenure.gateway.registry import GatewayRefused

    app, problems = find_app(address, config)
    try:
        gateway = asgi(app, config, store=store)
    except GatewayRefused as refused:
        raise Refused(merged(problems, refused.problems)) from None
    if problems:
        raise Refused(problems)
    return gateway


def merged(*problems: list[str]) -> list[str]:
    """Each of them once."""
    return list(dict.fromkeys(one for some in problems for one in some))


def _stand_in(app: App, settings: GatewaySettings) -> App:
    """As if the functions were there: that they are not is told in better words."""

    async def missing(event: Any) -> None: ...

    for name in filter(None, map(_own, settings.sources)):
        with suppress(FieldError):
            app.job(kind=name)(missing)
    return app


def _own(source: SourceSettings) -> str:
    """The function of the user's own that handles it, at once or after another handler; "": none."""
    for named in (source.handler, source.options.get("then")):
        if isinstance(named, str) and named.startswith("python:"):
            return named.removeprefix("python:")
    return ""
