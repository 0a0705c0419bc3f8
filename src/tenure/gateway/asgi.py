"""The gateway as a bare ASGI app: POST /<slug>, GET /healthz, GET /readyz.

    200  after the COMMIT (async sources) or the handler's end, giving up too (sync ones); a duplicate is told the first job's id
    400  not JSON, too deep, a number too long     404  no such source (or Host)       408  the body came too slowly
    401  no signature, or a wrong one              405  not POST; Allow says so        413  the body is too long
    503  with Retry-After: store down, full or slow, backlog over its limit, a sync handler that failed or took too long

Nothing else is ever answered. No answer holds any part of a request or a secret, but what a handler returned.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import msgspec

from tenure.app import App
from tenure.context import Context
from tenure.errors import StoreRefused, StoreURLError
from tenure.gateway.answers import STOPPING, Answer, encode, headers_of
from tenure.gateway.deadline import Deadline
from tenure.gateway.delivery import Delivery
from tenure.gateway.handlers import GaveUp, Misfit
from tenure.gateway.intake import Intake, decoded
from tenure.gateway.jobs import register
from tenure.gateway.lately import Lately
from tenure.gateway.limits import HungUp, Receive, Refused, body_of
from tenure.gateway.registry import Config, Registry, Route, build
from tenure.job import Enqueued
from tenure.newjob import NewJob
from tenure.outcome import Bury

__all__ = ["Gateway", "asgi"]

log = logging.getLogger("tenure.gateway")
Scope = MutableMapping[str, Any]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
_RETRY = "5"
_RETRY_LATER = "30"


def asgi(app: App, config: Config, *, store: bool = True) -> Gateway:
    """The gateway of these sources, to be served or mounted; GatewayRefused, with every problem, if there is any.

    Async sources become kinds of the app, `gateway.<slug>`. `store=False` runs without one: sync sources only.
    """
    registry = build(app, config, store=store)
    register(app, registry)
    return Gateway(app, registry)


class Gateway:
    """An ASGI app. `counters` are its numbers, `registry` its sources."""

    def __init__(self, app: App, registry: Registry) -> None:
        self.app, self.registry, self.intake = app, registry, Intake(app, registry)
        self.counters = self.intake.counters
        self.refused: str | None = None
        """Why it did not start, if it was asked to and could not."""
        self._stores = any(r.settings.is_async or r.handler.asks_store() for r in registry.routes.values())
        self._body = Deadline(registry.body_deadline)
        # Where nothing needs a store, none is opened for a word about requests.
        self._lately = (
            Lately(self.counters, self.intake.opened.queue, registry.store_deadline) if self._stores else None
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, or the server's start and end."""
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.perf_counter()
        slug = ""
        self.intake.underway += 1
        try:
            headers = decoded(scope["headers"])
            page = self._page(scope, headers)
            if page is not None:
                answer = await self._look(page)
            else:
                slug = self._slug(scope)
                answer = await self._post(self.registry.routes[slug], headers, receive)
        except HungUp:
            self.counters.answered(slug, 0, 0.0, "hung up")
            return
        except asyncio.CancelledError:  # the server has waited for long enough, and would say 500
            self.counters.answered(slug, STOPPING.status, 0.0, STOPPING.reason)
            await _send(send, STOPPING, head=False)
            raise
        except Exception as error:
            answer = self.intake.failed(slug, error)
        finally:
            self.intake.underway -= 1
        self.counters.answered(slug, answer.status, time.perf_counter() - began, answer.reason)
        await _send(send, answer, head=scope["method"] == "HEAD")

    def _page(self, scope: Scope, headers: dict[str, str]) -> str | None:
        """The page of the gateway's own that is meant, if it is one."""
        if not self.intake.knows(headers):
            raise Refused(404, "unknown host", connection="close")
        path = _path(scope)
        if path not in ("/healthz", "/readyz"):
            return None
        if scope["method"] not in ("GET", "HEAD"):
            raise Refused(405, "wrong method", allow="GET, HEAD", connection="close")
        return path

    def _slug(self, scope: Scope) -> str:
        """The source that is meant."""
        path, prefix = _path(scope), self.registry.settings.prefix + "/"
        slug = path.removeprefix(prefix)
        if not path.startswith(prefix) or slug not in self.registry.routes:
            raise Refused(404, "unknown source", connection="close")
        if scope["method"] != "POST":
            raise Refused(405, "wrong method", allow="POST", connection="close")
        return slug

    async def _look(self, page: str) -> Answer:
        """healthz: this process answers. readyz: so does the store, where one is needed."""
        if page == "/readyz" and self._stores and not await self._answers():
            raise Refused(503, "store unavailable", retry_after=_RETRY)
        return Answer({"ok": True})

    async def _post(self, route: Route, headers: dict[str, str], receive: Receive) -> Answer:
        settings, intake = route.settings, self.intake
        if intake.underway > self.registry.settings.max_requests:
            raise Refused(503, "too many requests under way", retry_after=_RETRY, connection="close")
        body = await body_of(receive, headers.get("content-length"), settings.max_body, self._body)
        event = intake.event(route, headers, body)
        at_once = route.source.at_once(event)
        if at_once is not None:
            return Answer(at_once)
        if not settings.is_async:
            return Answer(await self._handle(route, headers, body))
        job = intake.job(route, headers, body, event)
        return intake.stored(route, await intake.commit.within(self._enqueue(job, settings.backlog)))

    async def _enqueue(self, job: NewJob, backlog: int) -> Enqueued:
        """Keep it. A sender that is told 503 although that did happen sends it again, and is told the first."""
        queue = await self.intake.opened.queue()
        if backlog and await self.intake.backlog.is_full(job.queue, backlog):
            first = None if job.unique is None else await queue.holder(job)
            if first is None:
                raise Refused(503, "backlog full", retry_after=_RETRY_LATER)
            return Enqueued(first, inserted=False)  # it is stored already, so the sender need not come back
        return await queue.enqueue_job(job)

    async def _handle(self, route: Route, headers: dict[str, str], body: bytes) -> Any:
        """Run the handler here and now; what it returns is answered, if it is an object."""
        delivery = Delivery(
            source=route.settings.slug,
            type=route.settings.type,
            body=body,
            headers=route.source.keep(headers),
        )
        limit = asyncio.timeout(route.deadline)
        try:
            async with limit:
                answer = await route.handler.handle(delivery, Context())
            return _fit(answer)
        except GaveUp as error:
            return self._gave_up(route.settings.slug, error)
        except Bury as error:
            why = ": ".join(str(part) for part in (error.reason, error.error) if part)
            return self._gave_up(route.settings.slug, GaveUp(why))
        except Misfit:
            raise Refused(400, "not what the handler takes") from None
        except Exception as error:
            if isinstance(error, TimeoutError) and limit.expired():  # not one of the handler's own
                raise Refused(503, "handler too slow", retry_after=_RETRY) from None
            self.intake.say(route.settings.slug, "the handler failed", error)
            raise Refused(503, "handler failed", retry_after=_RETRY) from None

    def _gave_up(self, slug: str, error: GaveUp) -> dict[str, bool]:
        """It will never work: the sender would only try for a day."""
        self.counters.given_up[slug] += 1
        self.intake.say(slug, "the handler gave up, and the sender need not try again", error)
        return {"ok": True, "gave_up": True}

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                self.refused = await self._unfit()
                if self.refused is not None:
                    await send({"type": "lifespan.startup.failed", "message": self.refused})
                    return
                await send({"type": "lifespan.startup.complete"})
            else:
                await self.close()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def close(self) -> None:
        """Put down what is left to be told of requests, and let go of the store; on any event loop, once nothing is asked."""
        if self._lately is not None:
            await self._lately.leave()
        self.intake.opened.forget()
        await self.app.aclose()

    async def _answers(self) -> bool:
        return await self.intake.opened.ready(self.registry.store_deadline)

    async def _unfit(self) -> str | None:
        """Why it must not start: its store will never do. One that is only away may come back, and that is said."""
        if not self._stores or await self._answers():
            return None
        why = self.intake.opened.why
        told = self.registry.mask(why)
        if isinstance(why, (StoreRefused, StoreURLError)):
            return f"the store cannot be used: {told}"
        log.warning("the store does not answer yet (%s); until it does, async sources answer 503", told)
        return None


def _path(scope: Scope) -> str:
    """The path, seen from where the gateway is mounted."""
    path: str = scope["path"]
    root = scope.get("root_path", "")
    return path[len(root) :] if root and path.startswith(root) else path


def _fit(answer: Any) -> Any:
    """A handler's object as it is answered; anything else, and what is no JSON, is answered as done: so it is."""
    try:
        text = encode(answer)
    except Exception:
        return {"ok": True}
    return msgspec.Raw(text) if text.startswith(b"{") else {"ok": True}


async def _send(send: Send, answer: Answer, *, head: bool) -> None:
    body = encode(answer.content)
    headers = headers_of(answer.headers, len(body))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if head else body})
