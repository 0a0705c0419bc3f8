"""Sources and handlers, built from the settings; whatever is wrong with them is found at start, all of it at once.

`look` builds what can be built and tells every problem; `build` refuses if there is any. Problems are sentences for people,
and hold no secret.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from difflib import get_close_matches
from ipaddress import IPv6Address
from pathlib import Path
from typing import Any, cast

from tenure.app import App
from tenure.duration import Duration, parse
from tenure.errors import FieldError, UsageError
from tenure.gateway.handlers import HANDLERS, Handler
from tenure.gateway.handlers.replies import has_replies
from tenure.gateway.outgoing import is_url
from tenure.gateway.secrets import Masker, resolve
from tenure.gateway.sense import senseless
from tenure.gateway.settings import GatewaySettings, SourceSettings, read
from tenure.gateway.sources import SOURCES, Source
from tenure.gateway.telegram.checks import telegram_problems, token_of
from tenure.job import Order
from tenure.newjob import check_place_name, check_whole

__all__ = ["Config", "GatewayRefused", "Registry", "Route", "build", "has_store", "look"]

Config = GatewaySettings | Mapping[str, Any] | str | Path
_SLUG = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\Z")
_PREFIX = re.compile(r"(/[A-Za-z0-9_.-]+)*\Z")
_HOST = re.compile(r"([A-Za-z0-9_-]{1,63}\.)*[A-Za-z0-9_-]{1,63}\.?\Z")
_RESERVED = ("healthz", "readyz")


class GatewayRefused(UsageError):
    """The gateway does not start: `problems` says why, one sentence each."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One source, ready to take requests."""

    settings: SourceSettings
    source: Source
    handler: Handler
    kind: str
    """The kind of the jobs that it makes."""
    order: Order
    window: timedelta
    deadline: float
    timeout: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """A gateway's routes by slug, its spans in seconds, and what its logs must not show."""

    settings: GatewaySettings
    routes: Mapping[str, Route]
    body_deadline: float
    header_deadline: float
    store_deadline: float
    mask: Masker


def build(app: App, config: Config, *, store: bool = True, secrets: bool = True) -> Registry:
    """The registry; GatewayRefused with every problem, if there is any."""
    registry, problems = look(app, config, store=store, secrets=secrets)
    if problems:
        raise GatewayRefused(problems)
    return registry


def look(app: App, config: Config, *, store: bool = True, secrets: bool = True) -> tuple[Registry, list[str]]:
    """What can be built, and every problem. `store=False`: as if there were none; `secrets=False`: none is looked up."""
    settings, problems = read(config)
    spans = {}
    for name in ("body_deadline", "header_deadline", "store_deadline"):
        span = _span(getattr(settings, name), name, problems, "gateway")
        spans[name] = (span or timedelta(seconds=10)).total_seconds()
    if not _PREFIX.match(settings.prefix):
        problems.append(f"gateway: prefix must be like /hooks, got {settings.prefix!r}.")
    problems += [
        f"gateway: hosts must be names or addresses alone, like example.org or ::1, got {host!r}."
        for host in settings.hosts
        if not _is_host(host)
    ]
    for name in ("max_requests", "max_depth", "max_digits"):
        if getattr(settings, name) < 1:
            problems.append(f"gateway: {name} must be at least 1, got {getattr(settings, name)}.")
    if not settings.sources and not problems:
        problems.append("gateway: there is no source; write one under [[sources]].")
    routes: dict[str, Route] = {}
    known: list[str] = []
    counted: dict[str, int] = {}
    there = store and has_store(app)
    for at, source in enumerate(settings.sources):
        who = f"source {source.slug!r}" if source.slug else f"source number {at + 1}"
        builder = _Builder(app, source, who, problems)
        counted[source.slug] = counted.get(source.slug, 0) + 1
        if counted[source.slug] == 2 and source.slug:
            builder.wrong("the slug is used more than once; give each source its own")
        if source.is_async and not there:
            fix = "set TENURE_URL" if store else "leave out --no-store (in code: store=False)"
            builder.wrong(f"async needs a store, and there is none; {fix}, or async = false")
        route = builder.route(inline=settings.inline_secrets, secrets=secrets, store=there)
        known += builder.secrets + builder.tokens
        if route is not None:
            routes[source.slug] = route
    problems += _clashes(settings)
    return Registry(settings=settings, routes=routes, mask=Masker(known), **spans), problems


def _clashes(settings: GatewaySettings) -> list[str]:
    """Sources whose kind would be that of another's replies."""
    taken = {f"{source.slug}.reply": source.slug for source in settings.sources if has_replies(source)}
    named = [source.slug for source in settings.sources if source.slug in taken]
    return [f"source {n!r}: the name is for the replies of {taken[n]!r}; choose another." for n in named]


class _Builder:
    """Builds one source; problems gather, and the source is built if it had none."""

    def __init__(self, app: App, settings: SourceSettings, who: str, problems: list[str]) -> None:
        self._app, self._settings, self._who, self._problems = app, settings, who, problems
        self.secrets: list[str] = []
        self.tokens: list[str] = []

    def wrong(self, sentence: str) -> None:
        self._problems.append(f"{self._who}: {sentence.rstrip('.')}{'' if sentence.endswith('?') else '.'}")

    def route(self, *, inline: bool, secrets: bool, store: bool) -> Route | None:
        before = len(self._problems)
        settings = self._settings
        self._names()
        kind = self._type()
        handler = self._handler(inline=inline, store=store)
        window = self._span(
            "dedupe", settings.dedupe, Source.window if kind is None else kind.window, zero=True
        )
        deadline = self._span(
            "deadline", settings.deadline, Source.deadline if kind is None else kind.deadline
        )
        timeout = self._span("timeout", settings.timeout)
        self._other_spans()
        if secrets:
            self._secrets(kind, inline=inline)
            self._token(inline=inline)
        if secrets and handler is not None:
            self._sending(handler)
        if kind is None or handler is None or len(self._problems) > before:
            return None
        return Route(
            settings=settings,
            source=kind(settings, self.secrets),
            handler=handler,
            kind=f"gateway.{settings.slug}",
            order=cast("Order", "start" if settings.order == "none" else settings.order),
            window=window,
            deadline=deadline.total_seconds(),
            timeout=timeout,
        )

    def _names(self) -> None:
        settings = self._settings
        if not _SLUG.match(settings.slug) or settings.slug in _RESERVED:
            self.wrong("slug must be 1 to 64 of A-Z, a-z, 0-9, _, . and -, and not healthz or readyz")
        if settings.order not in ("start", "strict", "none"):
            self.wrong(f"order must be start, strict or none, got {settings.order!r}")
        if settings.key not in (None, "body") and not str(settings.key).startswith(("header:", "json:")):
            self.wrong(f'key must be "header:…", "json:…" or "body", got {settings.key!r}')
        if settings.order_by is not None and not settings.order_by.startswith(("header:", "json:")):
            self.wrong(f'order_by must be "header:…" or "json:…", got {settings.order_by!r}')
        if settings.url is not None and not is_url(settings.url):
            self.wrong("url must be http:// or https:// with a valid host, and no user, password or space")
        if not is_url(settings.api) or "?" in settings.api or "#" in settings.api:
            self.wrong(
                "api must be http:// or https:// with a valid host, and no user, password, space or query"
            )
        for problem in (*telegram_problems(settings), *senseless(settings)):
            self.wrong(problem)
        for name, low, high in (
            ("max_attempts", 1, 2_147_483_647),
            ("priority", -32_768, 32_767),
            ("backlog", 0, 2**62),
            ("max_body", 1, 2**30),
        ):
            self._try(check_whole, getattr(settings, name), name, low, high)
        self._try(check_place_name, settings.queue, "queue")

    def _try(self, check: Any, *args: Any) -> None:
        try:
            check(*args)
        except FieldError as cause:
            self.wrong(str(cause))

    def _type(self) -> type[Source] | None:
        found = SOURCES.get(self._settings.type)
        if found is None:
            self.wrong(f"there is no type {self._settings.type!r}; {_nearest(self._settings.type, SOURCES)}")
        elif not self._settings.json and self._settings.type != "generic":
            self.wrong("json = false is for generic sources")
        return found

    def _handler(self, *, inline: bool, store: bool) -> Handler | None:
        name, _, argument = self._settings.handler.partition(":")
        found = HANDLERS.get(name)
        if found is None:
            self.wrong(f"there is no handler {name!r}; {_nearest(name, HANDLERS)}")
            return None
        made = found(self._app, self._settings, argument, inline=inline, store=store)
        for problem in made.problems():
            self.wrong(problem)
        return made

    def _span(
        self, name: str, value: Duration | None, default: Duration = "60s", *, zero: bool = False
    ) -> timedelta:
        given = default if value is None else value
        return _span(given, name, self._problems, self._who, zero=zero) or timedelta(0)

    def _other_spans(self) -> None:
        settings = self._settings
        self._span("tolerance", settings.tolerance)
        for name, span in settings.expiry.items():
            self._span(f"expiry.{name}", span, zero=True)
        for at, span in enumerate(settings.retry):
            self._span(f"retry[{at}]", span, zero=True)
        if not settings.retry:
            self.wrong("retry must be at least one duration")

    def _secrets(self, kind: type[Source] | None, *, inline: bool) -> None:
        settings = self._settings
        for reference in settings.secrets:
            value, problem = resolve(reference, inline=inline)
            if problem is not None:
                self.wrong(problem)
            if value is not None:
                self.secrets.append(value)
        if kind is None:
            return  # what its type would say of them is not known
        needed = kind.secret_needed and not (settings.type == "generic" and settings.check.how == "none")
        if needed and not settings.secrets:
            self.wrong('it has no secret; write secrets = ["env:NAME"]')
        for problem in kind.problems(settings, self.secrets):
            self.wrong(problem)

    def _sending(self, handler: Handler) -> None:
        for value, problem in handler.secrets():
            if problem is not None:
                self.wrong(problem)
            if value is not None:
                self.tokens += [value, value.removeprefix("whsec_")]

    def _token(self, *, inline: bool) -> None:
        known = self._settings.type in SOURCES
        if self._settings.token is not None and (self._settings.type == "telegram" or not known):
            token, problem = token_of(self._settings.token, inline=inline)
            if problem is not None:
                self.wrong(problem)
            if token is not None:
                # The second half by itself is as good as a key.
                self.tokens += [token, token.partition(":")[2]]


def _span(
    value: Duration, name: str, problems: list[str], who: str, *, zero: bool = False
) -> timedelta | None:
    try:
        span = parse(value, name)
    except FieldError as cause:
        problems.append(f"{who}: {cause}.")
        return None
    if not span and not zero:
        problems.append(f"{who}: {FieldError(name, 'must be longer than zero', value)}.")
    return span


def _nearest(name: str, known: Mapping[str, Any]) -> str:
    near = get_close_matches(name, known, 3)
    return f"did you mean {', '.join(map(repr, near))}?" if near else f"known are {', '.join(known)}"


def _is_host(host: str) -> bool:
    """Whether a Host header, less its port, could say this."""
    if _HOST.match(host):
        return True
    try:
        IPv6Address(host[1:-1] if host.startswith("[") and host.endswith("]") else host)
    except ValueError:
        return False
    return True


def has_store(app: App) -> bool:
    """Whether there is a place for jobs: TENURE_URL=none switches the queue off."""
    try:
        _ = app.url
    except UsageError:
        return False
    return True
