"""Customers of the shop: they order, write to its bot and push to its repository, until they are told to stop.

Orders go straight into the store; messages and pushes go to the gateway by HTTP, signed as their senders sign them, and now
and then one is delivered twice, or signed by a stranger.
"""

from __future__ import annotations

import hmac
import json
import logging
import secrets
import threading
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

from tenure.client.queue import Queue
from tenure.demo import shop
from tenure.errors import StoreError
from tenure.newjob import NewJob
from tenure.testing.telegram import FakeTelegram

__all__ = ["Traffic"]

log = logging.getLogger("tenure.demo")
_STEP = 0.5
_PATIENCE = 1.0
"""How long a delivery is tried, in seconds: the gateway is next door."""
_ARTICLES = ("umbrella", "teapot", "lamp", "chair")
_SAID = ("hello", "where is my order?", "/joke", "/divide 1 0", "thank you")
_PEOPLE = (101, 102, 103, 104)


class Traffic:
    """All of them, in a thread."""

    def __init__(self, gateway: str, telegram: FakeTelegram, secret: str) -> None:
        self._gateway, self._telegram, self._secret = gateway, telegram, secret
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tenure-demo", daemon=True)
        self.webhooks = 0
        """How many deliveries the gateway has taken."""
        self._orders = 0

    def furnish(self) -> None:
        """What is there from the first moment on, so that every page has something to show before anybody is told where it is."""
        with shop.app.open() as queue:
            queue.pause("newsletter")
            later = [shop.send_email.options(delay=f"{n + 1}h", tags=["reminder"]).call("ann@example.org", n + 1) for n in range(6)]  # fmt: skip
            letters = [shop.send_newsletter.call(f"reader{n}@example.org") for n in range(40)]
            orders = [job for _ in range(40) for job in self._order()]
            queue.enqueue_many([*letters, *later, *orders, *self._big(1)])

    def start(self) -> None:
        """The shop opens."""
        self._thread.start()

    def leave(self) -> None:
        """It closes. May be called from a signal handler."""
        self._stop.set()

    def stop(self) -> None:
        """It closes; waits for what is under way, but not for long."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(2 * _PATIENCE)

    def _run(self) -> None:
        try:
            with shop.app.open() as queue:
                for text in _SAID:
                    self._write(text, _PEOPLE[0])
                self._push(1)
                step = 0
                while not self._stop.wait(_STEP):
                    step += 1
                    self._come(queue, step)
        except Exception:
            log.exception("nobody comes to the shop any more")

    def _come(self, queue: Queue, step: int) -> None:
        """Half a second of the shop's day. A store that is busy is no reason to stay away for good."""
        try:
            queue.enqueue_many([job for _ in range(1 + step % 4) for job in self._order()])
            if step % 18 == 0:
                queue.enqueue_many(self._big(step // 18 + 1))
        except StoreError as error:
            log.warning("the shop's door is stuck: %s", error)
        if step % 4 == 0:
            self._write(_SAID[step // 4 % len(_SAID)], _PEOPLE[step // 4 % len(_PEOPLE)])
        if step % 10 == 0:
            self._push(step // 10 + 1)

    def _order(self) -> list[NewJob]:
        """What one order makes."""
        self._orders += 1
        order, article = self._orders, _ARTICLES[self._orders % len(_ARTICLES)]
        jobs = [
            shop.charge_card.options(unique=f"order:{order}").call(order, order * 199),
            shop.send_email.options(tags=["receipt"]).call(f"customer{order}@example.org", order),
            shop.reserve.options(group=f"article:{article}", order="strict").call(article, order),
        ]
        if order % 3 == 0:
            jobs.append(shop.make_thumbnail.call(f"{article}-{order}.jpg", order))
        return jobs

    def _big(self, number: int) -> list[NewJob]:
        """Work that has children, and work that takes a while."""
        return [
            shop.import_catalogue.options(flow=f"catalogue-{number}").call(6),
            shop.sales_report.call(f"2026-{number % 12 + 1:02}"),
        ]

    def _write(self, text: str, person: int) -> None:
        """Telegram delivers a message; thanks are delivered twice, and taken once."""
        update = self._telegram.message(text, person=person)
        for _ in range(2 if text == "thank you" else 1):
            try:
                self._telegram.deliver(f"{self._gateway}/bot", update, secret=self._secret, within=_PATIENCE)
                self.webhooks += 1
            except TimeoutError as late:
                log.info("a message was not taken: %s", late)

    def _push(self, number: int) -> None:
        """GitHub delivers a push; every third is a stranger's, and refused."""
        body = json.dumps({"ref": "refs/heads/main", "after": f"{number:040x}", "pusher": {"name": "ann"}}).encode()  # fmt: skip
        key = "a stranger's guess" if number % 3 == 0 else self._secret
        headers = {
            "Content-Type": "application/json",
            "X-GitHub-Event": "push",
            "X-GitHub-Delivery": f"{number}-{secrets.token_hex(8)}",
            "X-Hub-Signature-256": f"sha256={hmac.digest(key.encode(), body, 'sha256').hex()}",
        }
        parts = urlsplit(self._gateway)
        connection = HTTPConnection(parts.hostname or "", parts.port, timeout=_PATIENCE)
        try:
            connection.request("POST", "/github", body=body, headers=headers)
            self.webhooks += connection.getresponse().status == 200
        except (OSError, HTTPException) as error:
            log.info("a push was not taken: %s", error)
        finally:
            connection.close()
