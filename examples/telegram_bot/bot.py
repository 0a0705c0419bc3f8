"""The bot: one function gets every update, as a job. What it raises is tried again; what dies is apologised for."""

from __future__ import annotations

import os

import msgspec

import tenure
from tenure.gateway.telegram.api import Bot, BotRefused

app = tenure.App()  # $TENURE_URL, else the file tenure.db


class Chat(msgspec.Struct):
    id: int


class Message(msgspec.Struct):
    chat: Chat
    text: str = ""


class Update(msgspec.Struct):
    """As much of an update as this bot reads; Telegram sends more."""

    update_id: int
    message: Message | None = None


class Reminder(msgspec.Struct):
    """What a person wants to hear again."""

    chat: int
    text: str


@app.job
async def on_update(ctx: tenure.Context, update: Update) -> str:
    if update.message is None:
        return "not a message"
    chat, text = update.message.chat.id, update.message.text
    match text.split():
        case ["/remind", delay, *words]:
            await remind.options(delay=delay).aenqueue(Reminder(chat, " ".join(words)))
            await say(chat, f"In {delay}, then.")
        case ["/joke"]:
            if ctx.attempt < 3:
                raise ConnectionError("the joke server does not answer")
            await say(chat, "Two threads walk into a bar. The barkeeper says: one at a")
        case ["/divide", one, other]:
            await say(chat, str(int(one) / int(other)))
        case _:
            await say(chat, text)
    return "answered"


@app.job(queue="reminders")
async def remind(reminder: Reminder) -> None:
    await say(reminder.chat, reminder.text)


async def say(chat: int, text: str) -> None:
    """Send a message. A process that is killed after this and before the job is settled sends it again."""
    bot = Bot(os.environ["BOT_TOKEN"], os.environ.get("BOT_API", "https://api.telegram.org"))
    try:
        await bot.call("sendMessage", {"chat_id": chat, "text": text})
    except BotRefused as refused:
        if refused.retry_after is not None:
            raise tenure.Snooze(refused.retry_after) from None  # too fast for Telegram: no attempt is burnt
        raise
