"""Failures that are alike, together: /api/errors?span=24h&fingerprint=…, with the span "all" as far back as they are kept."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from tenure.dashboard.desk import Asked
from tenure.dashboard.rows import when
from tenure.dashboard.series import SPANS, now
from tenure.dashboard.snoozed import snoozed
from tenure.errors import FieldError

__all__ = ["errors"]

_MOST: Final = 500
_FRESH: Final = 1.0
_ALL: Final = "all"
_BEGINNING: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SPARK: Final = 24


async def errors(asked: Asked) -> dict[str, Any]:
    """The groups of this span, those that failed last first; or the one of this name."""
    name, one = asked.said("span", "24h"), asked.said("fingerprint") or None
    queue, moment = await asked.desk.queue(), now()
    since, day = _since(name, moment), moment - timedelta(hours=_SPARK)
    groups = await asked.desk.kept(
        ("errors", name, one),
        _FRESH,
        lambda: queue.error_groups(since, limit=_MOST, fingerprint=one, hours=day),
    )
    asleep = await snoozed(queue, moment)
    rows = [
        {
            "fingerprint": group.fingerprint,
            "kind": group.kind,
            "error_kind": group.error_kind,
            "message": group.message,
            "frame": group.frame,
            "count": group.count,
            "dead": group.dead,
            "first_seen": when(group.first_seen),
            "last_seen": when(group.last_seen),
            "spark": _spark(group.hours, moment),
            "sample_id": group.sample_id,
            "snoozed_until": asleep.get(group.fingerprint),
        }
        for group in sorted(groups, key=lambda one: one.last_seen, reverse=True)
    ]
    return {"groups": rows}


def _since(name: str, moment: datetime) -> datetime:
    """When the span begins that is meant."""
    if name == _ALL:
        return _BEGINNING
    if name not in SPANS:
        raise FieldError("span", f"must be one of {', '.join(SPANS)}, {_ALL}", name)
    return moment - timedelta(seconds=SPANS[name].seconds)


def _spark(hours: Mapping[datetime, int], moment: datetime) -> list[int]:
    """How many in each of the last 24 hours."""
    this = moment.replace(minute=0, second=0, microsecond=0)
    return [hours.get(this - timedelta(hours=back), 0) for back in reversed(range(_SPARK))]
