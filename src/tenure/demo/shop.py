"""The shop of `tenure demo`: jobs that succeed, fail and are tried again, die, have children, and tell how far they are.

Its webhooks come through the real gateway: a Telegram bot that customers write to, and pushes from GitHub. Numbers decide
what goes wrong, not chance, so that the same things are there to be looked at every time.
"""

from __future__ import annotations

import asyncio
import os
import time
from typing import Any

import msgspec

import tenure
from tenure.gateway.telegram.api import Bot

__all__ = ["app", "settings_text"]

app = tenure.App(retain={"done": "1h", "cancelled": "1h"})  # $TENURE_URL
_SOON = tenure.Exponential(first="1s", cap="8s")


class CardDeclined(Exception):
    """Trying again does not help."""


@app.job(queue="mail", max_attempts=4, retry=_SOON, timeout="10s")
async def send_email(ctx: tenure.Context, to: str, order: int) -> str:
    """Every seventh works at the second attempt."""
    await asyncio.sleep(0.05 + order % 7 / 20)
    if order % 7 == 0 and ctx.attempt == 1:
        raise TimeoutError(f"smtp.example.org did not answer for order {order}")
    return f"sent to {to}"


@app.job(queue="billing", priority=5, max_attempts=3, retry=tenure.Fixed("1s", give_up=(CardDeclined,)))
async def charge_card(order: int, cents: int) -> str:
    """Every thirteenth card is declined: dead at once, for a person to see to."""
    await asyncio.sleep(0.1 + order % 5 / 10)
    if order % 13 == 0:
        raise CardDeclined(f"the bank declined order {order}")
    return f"{cents / 100:.2f} EUR"


@app.job(queue="pictures")
def make_thumbnail(picture: str, width: int) -> dict[str, Any]:
    """A plain function: it runs in a thread."""
    time.sleep(0.1 + width % 5 / 10)
    return {"picture": picture, "width": width}


@app.job(queue="stock", max_attempts=2, retry=tenure.Fixed("1s"))
async def reserve(article: str, order: int) -> int:
    """One at a time for each article; one article is broken, and its jobs die of two failures."""
    await asyncio.sleep(0.03)
    if article == "umbrella" and order % 5 == 0:
        raise LookupError(f"no shelf is known for {article!r}")
    return order


@app.job(queue="imports")
async def import_page(page: int) -> int:
    """One page of a catalogue."""
    await asyncio.sleep(0.2 + page % 3 / 4)
    return page * 100


@app.job(queue="imports")
async def import_catalogue(ctx: tenure.Context, pages: int) -> str:
    """A parent and its children; one look at its flow shows them all."""
    for page in range(pages):
        ctx.progress(page / pages, f"page {page + 1} of {pages}")
        made = import_page.options(parent=ctx.id, flow=ctx.job.flow)
        await made.aenqueue(page=page)
        await asyncio.sleep(0.1)
    return f"{pages} pages"


@app.job(queue="reports", timeout="1m")
async def sales_report(ctx: tenure.Context, month: str) -> str:
    """Takes a while, and says how far it is."""
    for day in range(1, 31):
        ctx.progress(day / 30, f"reading {month}-{day:02}")
        await asyncio.sleep(0.2)
        ctx.check()
    return f"report-{month}.pdf"


@app.cron("@every 15s", name="stock levels")
@app.job(queue="stock")
async def count_stock() -> int:
    """By the clock, every quarter of a minute."""
    await asyncio.sleep(0.1)
    return 42


app.cron("0 3 * * *", tz="Europe/Berlin", name="nightly catalogue", args={"pages": 6})(import_catalogue)
app.cron("*/15 9-17 * * mon-fri", name="month so far", args={"month": "2026-01"})(sales_report)


@app.job(queue="newsletter")
async def send_newsletter(to: str) -> str:
    """Its queue is paused when the shop opens; whoever looks may resume it."""
    await asyncio.sleep(0.1)
    return f"sent to {to}"


@app.on_dead(queue="support")
async def tell_support(dead: tenure.DeadJob) -> str:
    """A job of its own for every death."""
    await asyncio.sleep(0.01)
    return f"support knows of {dead.kind}: {dead.error or dead.reason}"


class Chat(msgspec.Struct):
    """Where somebody writes."""

    id: int


class Message(msgspec.Struct):
    """What somebody writes."""

    chat: Chat
    text: str = ""


class Update(msgspec.Struct):
    """As much of a Telegram update as the bot reads."""

    update_id: int
    message: Message | None = None


@app.job
async def on_update(ctx: tenure.Context, update: Update) -> str:
    """What customers write to the bot. A joke needs three attempts, a division by zero never works."""
    if update.message is None:
        return "not a message"
    match update.message.text.split():
        case ["/joke"]:
            if ctx.attempt < 3:
                raise ConnectionError("the joke server does not answer")
            answer = "Two threads walk into a bar. The barkeeper says: one at a"
        case ["/divide", one, other]:
            answer = str(int(one) / int(other))
        case words:
            answer = f"you said: {' '.join(words)}"
    bot = Bot(os.environ["TENURE_DEMO_TOKEN"], os.environ["TENURE_DEMO_API"])
    await bot.call("sendMessage", {"chat_id": update.message.chat.id, "text": answer})
    return "answered"


@app.job
async def on_push(push: dict[str, Any]) -> str:
    """A push to the shop's repository."""
    await asyncio.sleep(0.05)
    return f"built {push['after']}"


def settings_text(api: str) -> str:
    """The gateway's settings, for a Telegram that is served there."""
    return f'''[[sources]]
slug = "bot"                              # POST /bot
type = "telegram"
handler = "python:on_update"
async = true
secrets = ["env:TENURE_DEMO_SECRET"]
token = "env:TENURE_DEMO_TOKEN"
api = "{api}"
apology = "I am sorry, that did not work. My people have been told."
retry = ["1s", "2s"]
max_attempts = 3

[[sources]]
slug = "github"                           # POST /github
type = "github"
handler = "python:on_push"
async = true
secrets = ["env:TENURE_DEMO_SECRET"]
'''
