"""Where the store is, decided once: the argument, else TENURE_URL, else a PostgreSQL DATABASE_URL, else sqlite:///tenure.db.

    sqlite:///jobs.db                     a file Tenure owns (relative; four slashes for an absolute path)
    sqlite:///app.db?shared=true          the user's own file, Tenure's tables beside theirs
    postgresql://user@host/db             PostgreSQL, in the schema "tenure"
    postgresql+asyncpg://user@host/db     the same, as SQLAlchemy spells it: the driver is left out

Options go into the query: prefix= and durability=normal (SQLite); schema=, pgbouncer=true, listen= (the server's own URL,
percent-encoded, where pgbouncer is in the way of listening) and notify=false (workers look instead of listening) (PostgreSQL).
Everything else in a PostgreSQL URL goes to the driver as it is. TENURE_URL=none switches the queue off.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping
from typing import Literal
from urllib.parse import parse_qsl, unquote, urlsplit

from msgspec import Struct

from tenure.errors import FieldError, FieldTypeError, StoreURLError, UsageError, shown

__all__ = ["PostgresPlace", "SqlitePlace", "check_url", "choose_url", "identifier", "locate"]

log = logging.getLogger("tenure")
DEFAULT_URL = "sqlite:///tenure.db"
_OURS = ("schema", "pgbouncer", "listen", "notify")
_DRIVER = re.compile(r"\A(postgres(?:ql)?)\+\w+(?=://)")
_PASSWORD = re.compile(r"\A(\s*(?:[A-Za-z][\w+.-]*:?/{1,4})?[^:@/\s]*):(?![\s/]).*@", re.DOTALL)
_IDENTIFIER = re.compile(r"[a-z_][a-z0-9_]{0,39}\Z")
_TRUE = {
    "true": True,
    "1": True,
    "yes": True,
    "on": True,
    "false": False,
    "0": False,
    "no": False,
    "off": False,
}


class SqlitePlace(Struct, frozen=True):
    """A SQLite file, and how Tenure lives in it."""

    path: str
    shared: bool
    prefix: str
    durability: Literal["full", "normal"]


class PostgresPlace(Struct, frozen=True):
    """A PostgreSQL database, and how Tenure lives in it."""

    conninfo: str
    schema: str
    pgbouncer: bool
    listen: str | None = None
    """Where to listen, if not there."""
    notify: bool = True


def choose_url(url: str | None, environ: Mapping[str, str] | None = None) -> str:
    """The URL that counts; the choice is logged, without its password."""
    env = os.environ if environ is None else environ
    if url is not None:
        _check_text(url)
    if url:
        chosen, why = url, "the argument"
    elif env.get("TENURE_URL"):
        chosen, why = env["TENURE_URL"], "TENURE_URL"
    elif without_driver(env.get("DATABASE_URL", "")).startswith(("postgresql://", "postgres://")):
        chosen, why = env["DATABASE_URL"], "DATABASE_URL"
    else:
        chosen, why = DEFAULT_URL, "the default"
    if chosen == "none":
        raise UsageError(
            f"the queue is switched off ({why} is none); unset TENURE_URL or give the URL of a store to use it"
        )
    chosen = without_driver(chosen)
    if log.isEnabledFor(logging.INFO):
        _tell(without_password(chosen), why)
    return chosen


_told: dict[str, object] = {}


def _tell(shown: str, why: str) -> None:
    """Said once: one process may ask many times, from several threads at once."""
    mine = object()
    if _told.setdefault(shown, mine) is mine:
        log.info("store: %s (from %s)", shown, why)


def check_url(url: str) -> None:
    """Refuse what names no store, before anybody asks it for one; whether the store is there is not looked at."""
    _check_text(url)
    if url != "none":
        locate(url)


def _check_text(url: object) -> None:
    if not isinstance(url, str):
        raise FieldTypeError("url", "must be text", url, 'for example "sqlite:///jobs.db"')


def locate(url: str) -> SqlitePlace | PostgresPlace:
    """The place a URL names."""
    url = without_driver(url)
    scheme = url.partition(":")[0]
    if scheme == "sqlite":
        return _sqlite(url)
    if scheme in ("postgresql", "postgres"):
        return _postgres(url)
    raise StoreURLError(
        f"store URL: unknown scheme in {shown(without_password(url))}; "
        "use sqlite:///file.db, sqlite:///file.db?shared=true or postgresql://user@host/database"
    )


def identifier(value: str, name: str) -> str:
    """A schema's or prefix's name: a plain identifier, the only text that ever becomes part of SQL."""
    if not _IDENTIFIER.match(value):
        raise FieldError(
            name, "must be a plain identifier: a-z, 0-9 and _, at most 40, no leading digit", value
        )
    return value


def without_driver(url: str) -> str:
    """The URL of a PostgreSQL as libpq reads it: SQLAlchemy writes its driver behind the scheme."""
    return _DRIVER.sub(r"\1", url)


def without_password(url: str) -> str:
    """The URL as it may be logged, however badly it is written: what may be a password is between a colon and the last @."""
    url = re.sub(r"(?i)([?&]listen=)[^&]*", r"\1***", url)
    url = re.sub(r"(?i)(password=)[^&]*", r"\1***", url)
    return _PASSWORD.sub(r"\1:***@", re.sub(r"(://[^/@:]*:)\S*@", r"\1***@", url))


def _sqlite(url: str) -> SqlitePlace:
    place, _, query = url.removeprefix("sqlite:///").partition("?")
    path = unquote(place) if url.startswith("sqlite:///") else ""
    if not path:
        raise StoreURLError(
            f"store URL: {shown(without_password(url))} names no file; write sqlite:///jobs.db, or sqlite:////absolute/path/jobs.db"
        )
    if path == ":memory:":
        raise StoreURLError(
            "store URL: a queue in memory would lose its jobs; name a file, for example in a tmp folder"
        )
    options = dict(parse_qsl(query, keep_blank_values=True))
    shared = _flag(options.pop("shared", "false"), "shared")
    prefix = identifier(options.pop("prefix", "tenure_"), "prefix")
    durability = options.pop("durability", "full")
    if durability not in ("full", "normal"):
        raise FieldError("durability", "must be full or normal", durability)
    if options:
        raise StoreURLError(
            f"store URL: unknown option {shown(next(iter(options)))}; known: shared, prefix, durability"
        )
    return SqlitePlace(path, shared, prefix, "normal" if durability == "normal" else "full")


def _postgres(url: str) -> PostgresPlace:
    try:
        parts = urlsplit(url)
    except ValueError:
        # Its words may hold a part of the URL, and that of the password.
        raise StoreURLError(
            f"store URL: {shown(without_password(url))} is no URL; write postgresql://user:password@host/database, "
            "percent-encoded where user or password hold other characters than letters and digits"
        ) from None
    options = [part for part in parts.query.split("&") if part]
    ours = dict(
        parse_qsl(
            "&".join(part for part in options if part.partition("=")[0] in _OURS), keep_blank_values=True
        )
    )
    rest = "&".join(part for part in options if part.partition("=")[0] not in _OURS)
    conninfo = f"postgresql://{parts.netloc}{parts.path}" + (f"?{rest}" if rest else "")
    schema = identifier(ours.get("schema", "tenure"), "schema")
    return PostgresPlace(
        conninfo,
        schema,
        _flag(ours.get("pgbouncer", "false"), "pgbouncer"),
        None if "listen" not in ours else _listen(ours["listen"]),
        _flag(ours.get("notify", "true"), "notify"),
    )


def _listen(url: str) -> str:
    """Where to listen: a URL inside the URL, percent-encoded."""
    if not url.startswith(("postgresql://", "postgres://")):
        raise FieldError(
            "listen",
            "must be a percent-encoded postgresql:// URL of the server itself",
            "***",
        )
    return _postgres(url).conninfo


def _flag(value: str, name: str) -> bool:
    try:
        return _TRUE[value.lower()]
    except KeyError:
        raise FieldError(name, "must be true or false", value) from None
