"""A Telegram bot behind a gateway of the tests, and its people."""

from __future__ import annotations

from typing import Any

import tenure
from tenure.testing.telegram import Delivered, FakeTelegram
from tests.gateway.house import House, Served
from tests.gateway.signing import SECRETS, settings_of
from tests.worker.house import until

__all__ = ["TOKEN", "bot_of", "deliver", "ended", "notices", "say"]

TOKEN = "987654321:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"


def bot_of(telegram: FakeTelegram, **more: Any) -> dict[str, Any]:
    """A source `bot` of this Telegram, as a table of the settings."""
    given = {"token": f"inline:{telegram.token}", "api": telegram.url, "retry": ["1ms"], **more}
    return settings_of("telegram", slug="bot", **given)


def say(served: Served, telegram: FakeTelegram, text: str, **who: Any) -> Delivered:
    """A person says something to the bot: Telegram delivers it."""
    return deliver(served, telegram, telegram.message(text, **who))


def deliver(served: Served, telegram: FakeTelegram, update: dict[str, Any]) -> Delivered:
    return telegram.deliver(f"http://127.0.0.1:{served.port}/bot", update, secret=SECRETS["telegram"])


def ended(house: House, job_id: str) -> tenure.JobSeen:
    """The job, once it is done, dead or cancelled."""
    found: list[tenure.JobSeen] = []

    def over() -> bool:
        found[:] = [j for j in [house.app.queue.get(job_id)] if j is not None]
        return bool(found) and found[0].state in ("done", "dead", "cancelled")

    until(over, "the job never ended")
    return found[0]


def notices(queue: tenure.Queue) -> list[tenure.JobSeen]:
    """The jobs that tell people, the oldest first."""
    return sorted(queue.list(tenure.Filter(kinds=["gateway.bot.notice"])), key=lambda job: job.seq)
