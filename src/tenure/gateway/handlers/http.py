"""http: each delivery is POSTed on to `url`, byte for byte, signed if there is a secret, until it is taken.

    handler = "http"
    url = "https://hooks.example.org/in"
    options = { secret = "env:OUT_SECRET", give_up = [404, 410] }

The receiver knows a delivery by Idempotency-Key (and webhook-id): the same over all attempts and replays. Signatures are
those of Standard Webhooks. What an answer means is told in `verdict`; a Telegram source's receiver may answer with a method
of the Bot API, which is run then: in the answer to Telegram for a sync source, by a job of its own for an async one.
"""

from __future__ import annotations

from base64 import b64encode
from importlib.util import find_spec
from typing import Any

from tenure.app import App
from tenure.clock import machine_micros
from tenure.context import Context
from tenure.errors import UsageError
from tenure.gateway.delivery import Delivery
from tenure.gateway.handlers.base import Misfit
from tenure.gateway.handlers.http_options import OURS, is_reference, is_secret, read_options
from tenure.gateway.handlers.replies import Replies, reply_in
from tenure.gateway.handlers.verdict import GiveUp, judge
from tenure.gateway.limits import Refused
from tenure.gateway.outgoing import Answer, Forbidden, TooLong, fits, is_url, not_public, post
from tenure.gateway.secrets import resolve
from tenure.gateway.settings import SourceSettings
from tenure.gateway.sources import SOURCES, Source
from tenure.gateway.sources.base import signed
from tenure.gateway.sources.standard import key_of
from tenure.outcome import Bury

__all__ = ["HttpHandler"]


class HttpHandler:
    """Sends one source's deliveries on."""

    def __init__(
        self,
        app: App,
        settings: SourceSettings,
        argument: str,
        *,
        inline: bool = False,
        store: bool = True,  # noqa: ARG002 - its shape
    ) -> None:
        self._settings, self._argument, self._inline = settings, argument, inline
        self._options, self._misread = read_options(settings.options)
        self._source: Source | None = None
        self._replies = Replies(app, settings, inline=inline) if settings.type == "telegram" else None

    def problems(self) -> list[str]:
        """What is wrong with its settings, beyond the form of the URL."""
        found = [*self._misread, *self._options.problems(self._settings, inline=self._inline)]
        if self._argument:
            found.append("handler: http takes nothing after it; name the place in url")
        if self._settings.url is None:
            found.append('url must be given for the handler http; write url = "https://…"')
        elif is_url(self._settings.url) and not self._options.private:
            where = not_public(self._settings.url)
            if where is not None:
                found.append(f"url leads to {where}; if it is meant, set private = true in its options")
        if find_spec("httptools") is None:
            found.append("handler: http needs httptools; pip install 'tenure[gateway]'")
        return found

    def secrets(self) -> list[tuple[str | None, str | None]]:
        """Those that it signs with, and those that stand in its headers."""
        ill_written = self._options.about_secrets(inline=self._inline)
        signing = [] if ill_written else [self._look(reference) for reference in self._options.secrets]
        headers = self._options.headers.items()
        return signing + [
            self._look_up(name, value) for name, value in headers if is_reference(value) or is_secret(name)
        ]

    def asks_store(self) -> bool:
        """It does not."""
        return False

    async def handle(self, delivery: Delivery, context: Context) -> Any:
        """Send it on; what came back is a success, or raised as what it means."""
        name = str(context.id) if context.claimed else self._name(delivery)
        headers = self._headers(delivery, context, name)
        seconds = self._options.seconds(self._settings)
        try:
            answer = await post(
                self._settings.url or "",
                delivery.body,
                headers,
                timeout=seconds,
                private=self._options.private,
            )
        except Forbidden as cause:
            if not context.claimed:
                raise  # the settings can be repaired while the sender still tries
            raise Bury("forbidden address", str(cause)) from None
        except TooLong as cause:
            answer = Answer(cause.status, {}, b"")  # it was answered; the body is nothing to us
        judge(answer, GiveUp(self._options.give_up), context)
        reply = None if self._replies is None else reply_in(answer.body, self._settings.slug)
        if not context.claimed:
            return reply
        result = {"status": answer.status}
        if self._replies is not None and reply is not None:
            return {**result, **await self._replies.give(reply, context)}
        return result

    def _name(self, delivery: Delivery) -> str:
        """What tells this delivery from others where no job does; the source's slug keeps it apart from other sources'."""
        settings = self._settings
        if self._source is None:
            self._source = SOURCES[settings.type](settings, ())
        event = delivery.event if settings.json else None
        try:
            return f"{settings.slug}:{self._source.dedupe_key(delivery.headers, event, delivery.body)}"
        except Refused as cause:
            raise Misfit(str(cause)) from None

    def _headers(self, delivery: Delivery, context: Context, name: str) -> dict[str, str]:
        options, settings = self._options, self._settings
        stamp = str(machine_micros() // 1_000_000)
        kind = delivery.headers.get("content-type", "")
        if not kind or not fits("content-type", kind):
            kind = "application/json" if settings.json else "application/octet-stream"
        given = {
            **self._forwarded(delivery),
            **{n.lower(): self._value(n, value) for n, value in options.headers.items()},
            "content-type": kind,
            "idempotency-key": name,
            "webhook-id": name,
            "webhook-timestamp": stamp,
            "tenure-source": settings.slug,
            "tenure-attempt": str(context.attempt),
        }
        if options.secrets:
            given["webhook-signature"] = self._signature(f"{name}.{stamp}.".encode() + delivery.body)
        trace = context.job.meta.get("traceparent") if context.claimed else None
        if trace is not None and fits("traceparent", trace):
            given["traceparent"] = trace
        return given

    def _forwarded(self, delivery: Delivery) -> dict[str, str]:
        """The kept headers that are passed on: never one that is ours to say, or that could not be sent."""
        forward = self._options.forward
        chosen = delivery.headers if forward is None else [n.lower() for n in forward]
        return {
            name: value
            for name in chosen
            if (value := delivery.headers.get(name)) is not None and name not in OURS and fits(name, value)
        }

    def _value(self, name: str, given: str) -> str:
        """A header's value, looked up as it stands now if it is a reference."""
        if not is_reference(given):
            return given
        value, problem = self._look_up(name, given)
        if value is None:
            raise UsageError(
                f"source {self._settings.slug!r} cannot send: {problem}; whoever handles it needs it"
            )
        return value

    def _look_up(self, name: str, given: str) -> tuple[str | None, str | None]:
        """The secret that a header is sent with, or why there is none."""
        if not is_reference(given):
            return given, None
        value, problem = resolve(given, inline=self._inline)
        if value is not None and not fits(name, value):
            return None, f"options.headers.{name} is no plain text"
        return value, None if problem is None else f"{problem} (it stands in options.headers.{name})"

    def _signature(self, message: bytes) -> str:
        """One for each secret, as they stand now: they may be rotated while this runs."""
        keys = map(self._key, self._options.secrets)
        return " ".join(f"v1,{b64encode(signed(key, message)).decode()}" for key in keys)

    def _key(self, reference: str) -> bytes:
        value, problem = self._look(reference)
        if value is None:
            raise UsageError(
                f"source {self._settings.slug!r} cannot sign: {problem}; whoever handles it needs it"
            )
        return key_of(value)

    def _look(self, reference: str) -> tuple[str | None, str | None]:
        """A secret that can be signed with, or why it cannot."""
        value, problem = resolve(reference, inline=self._inline)
        try:
            usable = value is not None and bool(key_of(value))
        except ValueError:
            usable = False
        if usable:
            return value, None
        return None, problem or "options.secret must be base64, with or without whsec_ before it"
