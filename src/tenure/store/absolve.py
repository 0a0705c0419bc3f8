"""absolve: a worker that was taken for vanished came back, so what it ran has not crashed.

Asked only for claims that were found lost, so that it costs nothing where nothing went wrong. A crash that somebody saw
(`Crashed`, `vanished`) stands; one that was only concluded from a lease that ran out does not outlive its worker's return.
Who was to be told of a death by it, and has not begun to be, is not told any more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from tenure.job import Claim, State
from tenure.store.changes import Changes
from tenure.store.dialect import Capabilities
from tenure.store.hooks import called_for
from tenure.store.losses import Losses
from tenure.store.pack import pack, pack_claims, pack_ids
from tenure.store.people import bring_back
from tenure.store.plan import Plan, Statement

__all__ = ["absolve"]

_WORDS = "its worker was taken for vanished, and came back: the lease was lost, nothing crashed"
_NOT_DEAD = "the job that it tells of is not dead: its worker came back"


class _Unclaimed(NamedTuple):
    id: str
    seq: int
    epoch: int
    group_key: str | None
    now: int


def absolve(
    lost: Sequence[Claim], can: Capabilities, *, now: int | None, max_crashes: int, inside: bool = False
) -> Plan[None]:
    """Take back the crashes counted for these claims; a job that died of them is ready again."""
    if not lost:
        return
    answer = yield Statement("absolve", {"claims": pack_claims(lost), "message": _WORDS})
    wronged = Counter(job_id for (job_id,) in answer.rows)
    if not wronged:
        return
    # First where jobs are pending or running, then where they end: a job on its way from one to the other is not missed.
    answer = yield Statement("pardon", {"rows": _less(wronged)})
    for (job_id,) in answer.rows:
        del wronged[job_id]
    if not wronged:
        return
    answer = yield Statement("pardon_finished", {"rows": _less(wronged), "max_crashes": max_crashes})
    unjust = [job_id for job_id, died_of_it in answer.rows if died_of_it]
    told = yield from called_for(unjust)
    back = yield from bring_back(unjust, can, anew=False, now=now)
    yield from _tell_nobody(
        [made for job_id in back for made in sorted(told.get(job_id, ()))], can, now=now, inside=inside
    )


def _tell_nobody(made: Sequence[str], can: Capabilities, *, now: int | None, inside: bool) -> Plan[None]:
    """Hooks' jobs of deaths that are none are cancelled, but for those that somebody has claimed."""
    if not made:
        return
    answer = yield Statement("unclaimed", {"ids": pack_ids(made), "now": now})
    changes = Changes()
    for job in map(_Unclaimed._make, answer.rows):
        changes.end(job, State.CANCELLED, None, reason=_NOT_DEAD)
    yield from changes.write(can, now=now)
    yield from Losses(changes).write(now=now, inside=inside)


def _less(crashes: Counter[str]) -> str:
    return pack([{"id": job_id, "less": count} for job_id, count in crashes.items()])
