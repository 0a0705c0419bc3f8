"""Who may look at a dashboard and who may act, as the commands that serve one are told: the options, and the settings made of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

if TYPE_CHECKING:
    from tenure.dashboard.settings import DashboardSettings

__all__ = ["access_options", "settings_of"]

F = TypeVar("F", bound=Callable[..., Any])
_SECRET: Final = "env:NAME|file:PATH"  # noqa: S105 - where one is
_HASH: Final = "HASH|env:NAME|file:PATH"


def access_options(function: F) -> F:
    """The options; `settings_of` takes what they were given."""
    for option in reversed((
        click.option("--token", metavar=_SECRET, help="Where the token of the dashboard's operators is, who may act."),
        click.option("--viewer-token", metavar=_SECRET, help="Where the token of its viewers is, who may look."),
        click.option("--password-hash", metavar=_HASH, help="The operators' password, as `tenure dashboard hash` makes it."),
        click.option("--viewer-password-hash", metavar=_HASH, help="The viewers' password."),
        click.option("--allow-host", "hosts", multiple=True, metavar="NAME", help="A name that the dashboard answers to, beside those of this machine. May be given several times."),
        click.option("--mask", multiple=True, metavar="WORD", help="Hide fields with this word in their names from viewers, in place of the words that are known. May be given several times."),
        click.option("--mask-operators", is_flag=True, help="Hide them from operators, too."),
    )):  # fmt: skip
        function = option(function)
    return function


def settings_of(
    token: str | None,
    viewer_token: str | None,
    password_hash: str | None,
    viewer_password_hash: str | None,
    hosts: tuple[str, ...],
    mask: tuple[str, ...],
    mask_operators: bool,
) -> DashboardSettings:
    """What the options say, secrets fetched from where they are."""
    from tenure.dashboard.settings import MASKED, DashboardSettings

    return DashboardSettings(
        operator_token=_secret("--token", token),
        viewer_token=_secret("--viewer-token", viewer_token),
        operator_password=_secret("--password-hash", password_hash, bare="scrypt$"),
        viewer_password=_secret("--viewer-password-hash", viewer_password_hash, bare="scrypt$"),
        hosts=hosts,
        mask=mask or MASKED,
        mask_operators=mask_operators,
    )


def _secret(option: str, reference: str | None, bare: str | None = None) -> str | None:
    """What a reference points to; a hash may be given as it is, a token may not: others see the command line."""
    from tenure.gateway.secrets import resolve

    if reference is None or (bare is not None and reference.startswith(bare)):
        return reference
    found, why = resolve(reference, inline=False)
    if found is None:
        raise click.UsageError(f"{option}: {why}")
    return found
