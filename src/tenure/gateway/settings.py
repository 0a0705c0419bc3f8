"""What a gateway is told: its sources and its limits, from a TOML file or from code, in the same words.

    prefix = "/hooks"

    [[sources]]
    slug = "bot"                                   # POST /hooks/bot
    type = "telegram"
    handler = "python:on_update"
    async = true
    secrets = ["env:BOT_SECRET", "file:/run/secrets/old_bot"]

Secrets are references; `inline:…` is refused unless `inline_secrets = true` says that it is meant. Reading finds every
value of a wrong type and every unknown name; what the values mean is looked at by the registry.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import fields

from tenure.errors import FieldTypeError

__all__ = ["Check", "GatewaySettings", "SourceSettings", "read"]

Span = str | int | float
S = TypeVar("S", bound=Struct)
_FIELD = re.compile(r"\$\.(?P<name>[a-z_]+)")
_EXPECTED = re.compile(r"Expected `(?P<wanted>[^`]*)`, got `(?P<got>[^`]*)`")
_WORDS = {
    "array": "a list", "bool": "true or false", "float": "a fraction", "int": "a whole number", "object": "a table", "str": "a text",
}  # fmt: skip
_UNKNOWN = re.compile(r"unknown field `(?P<name>[^`]*)`")


class Check(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a generic source proves who sent a request."""

    how: str = "hmac"
    """none, token (a header equals the secret), basic (user:password) or hmac."""
    header: str = "X-Signature"
    algorithm: str = "sha256"
    encoding: str = "hex"
    prefix: str = ""
    """What stands before the signature in its header, "sha256=" say."""
    template: str = "{body}"
    """What is signed: {body}, and {ts} for the value of `timestamp_header`."""
    timestamp_header: str = ""


class SourceSettings(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"is_async": "async"}
):
    """One source of webhooks. What is None is decided by its type."""

    slug: str = ""
    type: str = ""
    handler: str = ""
    secrets: tuple[str, ...] = ()
    is_async: bool = False
    queue: str = "gateway"
    priority: int = 0
    dedupe: Span | None = None
    """How long a key is remembered; 0: duplicates are not looked for."""
    key: str | None = None
    """What tells deliveries apart: "header:X-Id", "json:data.id" or "body"."""
    order: str = "start"
    """start (a failed delivery steps aside while it waits), strict, or none."""
    order_by: str | None = None
    """What is kept in order: "header:…" or "json:…"."""
    expiry: dict[str, Span] = {}
    """How long a delivery is worth handling, by its type; "*" for all others, 0 for ever."""
    tolerance: Span = "300s"
    """How old a signed timestamp may be."""
    retry: tuple[Span, ...] = ("30s", "2m", "10m", "1h")
    max_attempts: int = 5
    timeout: Span = "60s"
    """How long an async source's job may run."""
    deadline: Span | None = None
    """How long a sync source's handler may take."""
    backlog: int = 100_000
    """How many pending jobs its queue may hold before it answers 503; 0: any number."""
    max_body: int = 1_048_576
    json: bool = True
    """False: any body is taken (generic sources)."""
    check: Check = Check()
    url: str | None = None
    """Where a handler that forwards sends to."""
    token: str | None = None
    """A Telegram bot's token, by reference: "env:BOT_TOKEN"."""
    api: str = "https://api.telegram.org"
    """Where Telegram's Bot API is."""
    apology: str | None = None
    """What a person is told whose update finally failed; "": nothing; None: a sentence of ours, where there is a token."""
    options: dict[str, Any] = {}
    """What only its handler reads."""


class GatewaySettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A gateway: its sources, and the limits they share."""

    sources: tuple[SourceSettings, ...] = ()
    prefix: str = ""
    inline_secrets: bool = False
    hosts: tuple[str, ...] = ()
    """The Host names it answers to; none: any."""
    body_deadline: Span = "10s"
    header_deadline: Span = "5s"
    store_deadline: Span = "5s"
    """How long a commit may take before 503 is answered."""
    max_requests: int = 1_000
    """How many requests may be under way at once."""
    max_depth: int = 64
    max_digits: int = 64


def read(config: GatewaySettings | Mapping[str, Any] | str | Path) -> tuple[GatewaySettings, list[str]]:
    """The settings, and every problem with their spelling; what has a problem is left at its default."""
    if isinstance(config, GatewaySettings):
        return config, []
    if isinstance(config, (str, Path)):
        try:
            given: Any = tomllib.loads(Path(config).read_text("utf-8"))
        except (OSError, UnicodeError) as cause:
            return GatewaySettings(), [f"the settings in {str(config)!r} cannot be read ({cause})."]
        except tomllib.TOMLDecodeError as cause:
            return GatewaySettings(), [f"the settings in {str(config)!r} are not TOML ({cause})."]
    elif isinstance(config, Mapping):
        given = dict(config)
    else:
        raise FieldTypeError("config", "must be a path, a mapping or GatewaySettings", config)
    listed = given.pop("sources", [])
    shared, problems = _lenient(given, GatewaySettings, "gateway")
    if not isinstance(listed, list):
        return shared, [*problems, "gateway: sources must be a list; write [[sources]] above each."]
    sources = []
    for at, one in enumerate(listed):
        if isinstance(one, SourceSettings):
            sources.append(one)
        elif isinstance(one, Mapping):
            made, found = _lenient(
                dict(one), SourceSettings, f"source {one.get('slug', f'number {at + 1}')!r}"
            )
            sources.append(made)
            problems += found
        else:
            problems.append(f"source number {at + 1}: must be a table; write [[sources]] above it.")
    return msgspec.structs.replace(shared, sources=tuple(sources)), problems


def _lenient(given: dict[Any, Any], kind: type[S], who: str) -> tuple[S, list[str]]:
    """Convert what fits; one sentence for each thing that does not, which is then left out."""
    problems: list[str] = []
    while True:
        try:
            return msgspec.convert(given, kind), problems
        except msgspec.ValidationError as cause:
            told = str(cause)
            unknown, path = _UNKNOWN.search(told), _FIELD.search(told)
            name = path["name"] if path else unknown["name"] if unknown else None
            if name not in given:
                return kind(), [*problems, f"{who}: cannot be read ({told})."]
            del given[name]
            problems.append(f"{who}: {_unknown(unknown['name'], kind, path) if unknown else _misfit(told)}")


def _unknown(name: str, kind: type[Struct], path: re.Match[str] | None) -> str:
    """That there is no such setting, and which one may be meant."""
    if kind is GatewaySettings and name == "source":
        return "source: there is no such setting; did you mean [[sources]]?"
    inside = "" if path is None else f"{path['name']}."
    near = get_close_matches(name, [field.encode_name for field in fields(Check if inside else kind)], 1)
    return f"{inside}{name}: there is no such setting{f'; did you mean {near[0]!r}?' if near else '.'}"


def _misfit(told: str) -> str:
    """What the value must be, in the words of a TOML file."""
    rule, _, place = told.partition(" - at ")
    name = place.strip("`").removeprefix("$.").replace("[...]", "")
    found = _EXPECTED.match(rule)
    if found is None:
        return f"{name}: {rule[:1].lower() + rule[1:]}."
    wanted, got = found["wanted"].removesuffix(" | null"), found["got"]
    example = ', like secrets = ["env:NAME"]' if (name, wanted) == ("secrets", "array") else ""
    needed = _WORDS.get(wanted, 'a duration like "90s"')
    return f"{name}: must be {needed}{example}, got {_WORDS.get(got, got)}."
