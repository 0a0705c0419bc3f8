"""Failures that an operator wants to hear nothing of for a while: kept in one note, by fingerprint, until when."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Final

from tenure.client.async_queue import AsyncQueue
from tenure.dashboard.series import now

__all__ = ["snooze", "snoozed"]

_NOTE: Final = "dashboard.snoozed"
_MOST: Final = 500


async def snoozed(queue: AsyncQueue, moment: datetime) -> dict[str, str]:
    """Until when each of those is that are so at this moment."""
    return _read(await queue.note(_NOTE), moment)


async def snooze(queue: AsyncQueue, fingerprint: str, until: datetime | None) -> None:
    """Be silent about a group until then; None: be so no longer."""
    while True:
        before = await queue.note(_NOTE)
        asleep = _read(before, now())
        asleep.pop(fingerprint, None)
        if until is not None:
            asleep[fingerprint] = until.astimezone(UTC).isoformat()
        kept = dict(sorted(asleep.items(), key=lambda one: one[1])[-_MOST:])
        if await queue.set_note(_NOTE, json.dumps(kept), expect=before):
            return


def _read(text: str | None, moment: datetime) -> dict[str, str]:
    said = json.loads(text) if text else {}
    return {name: until for name, until in said.items() if datetime.fromisoformat(until) > moment}
