"""What a dashboard may be told: who may look and who may act, the names it answers to, what is masked.

Everything is checked when it is made; a mistake is a FieldError that shows no secret.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from tenure.dashboard.passwords import is_hash
from tenure.duration import Duration, parse
from tenure.errors import FieldError, FieldTypeError

__all__ = ["LOOPBACK", "MASKED", "DashboardSettings", "is_loopback"]

LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
MASKED: Final = (
    "password", "passwd", "secret", "token", "api_key", "apikey", "authorization", "cookie", "private_key", "credential",
    "card_number", "cvv", "iban", "ssn",
)  # fmt: skip
"""A field is masked if one of these is among the words of its name, however it is written (`Mask.hides`)."""
_SHORTEST: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardSettings:
    """A dashboard's settings. With no password and no token only this machine is answered, as an operator."""

    operator_token: str | None = None
    viewer_token: str | None = None
    operator_password: str | None = None
    """As `tenure dashboard hash` makes it."""
    viewer_password: str | None = None
    """The same, for who may only look."""
    hosts: tuple[str, ...] = ()
    """Names it answers to, beside those of this machine."""
    mask: tuple[str, ...] = MASKED
    """Words; fields of payloads, results and requests with one of them among the words of their names are shown to viewers as ***."""
    mask_operators: bool = False
    session: Duration = "12h"
    """How long a login lasts."""

    def __post_init__(self) -> None:
        """Refuse what cannot work, and what would be too weak."""
        for name in ("operator_token", "viewer_token"):
            token = getattr(self, name)
            if token is not None and (not isinstance(token, str) or len(token) < _SHORTEST):
                raise FieldError(name, f"must be text of at least {_SHORTEST} characters", "***", "openssl rand -hex 32")  # fmt: skip
        for name in ("operator_password", "viewer_password"):
            made = getattr(self, name)
            if made is not None and not is_hash(made):
                raise FieldError(name, "must be a hash", "***", "`tenure dashboard hash` makes one")
        if self.operator_token is not None and self.operator_token == self.viewer_token:
            raise FieldError("viewer_token", "must differ from operator_token", "***")
        for name in ("hosts", "mask"):
            if isinstance(getattr(self, name), str) or not all(isinstance(one, str) and one for one in getattr(self, name)):  # fmt: skip
                raise FieldTypeError(name, "must be a list of words", getattr(self, name))
        if self.lasting <= timedelta(0):
            raise FieldError("session", "must be longer than zero", self.session)

    @property
    def guarded(self) -> bool:
        """Whether one must log in."""
        return any((self.operator_token, self.viewer_token, self.operator_password, self.viewer_password))

    @property
    def lasting(self) -> timedelta:
        """How long a login lasts."""
        return parse(self.session, "session")

    def check_address(self, host: str) -> None:
        """Refuse to listen where strangers are, unless they must log in."""
        if not self.guarded and not is_loopback(host):
            raise FieldError(
                "host",
                "must be an address of this machine alone where there is no password and no token",
                host,
                "give --token env:NAME or --password-hash (`tenure dashboard hash` makes one), or listen on 127.0.0.1",
            )


def is_loopback(host: str) -> bool:
    """Whether an address reaches this machine alone."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
