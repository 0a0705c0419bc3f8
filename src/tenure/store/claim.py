"""claim: jobs out of the line, under a lease; and renew, progress: what keeps a claim alive.

A claim that finds less than it was asked for first does the chores nobody else may have done (promote what is due, take
back what is overdue, expire), then looks from the start. So a bare loop of claim and settle is a correct worker.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Sequence
from operator import itemgetter
from typing import Any

from tenure.job import Claim, ClaimOwner, JobId, Renewed
from tenure.store.absolve import absolve
from tenure.store.dialect import Capabilities
from tenure.store.groups import admit_woken
from tenure.store.lanes import LaneMemory, Marks, Scope, queue_of
from tenure.store.pack import pack, pack_claims
from tenure.store.plan import COMMIT, ROLLBACK, Plan, Statement
from tenure.store.upkeep import MAX_CRASHES, expire, promote, reclaim

__all__ = ["claim", "progress", "renew"]

_CHORE = 500
_BY_RANK_THEN_TIME = itemgetter(5, 10, 1)
_LOOKS = 24
_TRIES = 3
_SLACK = 5_000_000
_SWEEP_ALL_EVERY = 5.0


def claim(
    memory: LaneMemory,
    can: Capabilities,
    *,
    limit: int,
    queues: tuple[str, ...] | None,
    kinds: tuple[str, ...] | None,
    lease: int,
    worker: str,
    started: bool,
    now: int | None,
    owner: ClaimOwner | None,
    except_queues: tuple[str, ...] = (),
    max_crashes: int = MAX_CRASHES,
    hasty: bool = False,
) -> Plan[list[Claim]]:
    """Take up to `limit` jobs: higher priority first, then earlier run_at, then seq.

    A hasty claim answers with what the first look finds, if it finds anything.
    """
    scope = memory.scope(queues, kinds, except_queues)
    taken: list[tuple[Any, ...]] = []
    terms = {"now": now, "lease": lease, "worker": worker, "started": started}
    began, fresh = time.monotonic(), scope.fresh
    marks = scope.marks if fresh else scope.begin()
    if now is None and (hasty or fresh):
        mine = scope.mine
        quick = can.marks and len(mine) == 1
        taken = yield from (
            _take_quickly(scope, marks, mine[0], limit, terms)
            if quick
            else _take(scope, marks, can, limit, terms)
        )
    if len(taken) < limit and not (hasty and taken):
        if fresh:
            began, fresh, marks = time.monotonic(), False, scope.begin()
        try:
            yield from _tend(memory, can, now, max_crashes)
            if not can.takes:
                yield COMMIT  # so each claim that follows commits by itself, as the first look's did
            marks.clear()
            for _ in range(_TRIES):
                more = yield from _take(scope, marks, can, limit - len(taken), terms)
                taken += more
                if not more or len(taken) >= limit or can.takes:
                    break
        except Exception as failed:
            # In a file all of it is one transaction. Elsewhere what is taken is its caller's, whatever befell the chores: the next
            # claim that finds nothing meets that again.
            if can.takes or not taken:
                raise
            yield ROLLBACK
            memory.tell_of(failed)
            fresh = True  # nothing was learnt for the marks
    if not fresh:
        scope.end(marks, took=time.monotonic() - began if can.marks else 0)
    taken.sort(key=_BY_RANK_THEN_TIME)
    return [Claim(row, worker, owner) for row in taken]


def _take(
    scope: Scope, marks: Marks, can: Capabilities, limit: int, terms: dict[str, Any]
) -> Plan[list[tuple[Any, ...]]]:
    quotas = yield from _look(scope, marks, limit, terms["now"])
    marks.whole = sum(quotas.values()) < limit
    if not quotas:
        return []
    rows: list[tuple[Any, ...]] = []
    if can.takes:
        for lane, quota in quotas.items():
            answer = yield Statement(
                "claim", {**terms, "lane": lane, "queue": queue_of(lane), "limit": quota}
            )
            rows += answer.rows
        if rows:
            yield _taking([r[1] for r in rows], terms)
    else:
        lanes = pack([marks.row(lane, quota) for lane, quota in quotas.items()])
        answer = yield Statement("claim", {**terms, "lanes": lanes, "gaps": "[]", "limit": limit}, alone=True)
        rows = answer.rows
    if can.marks:
        marks.advance(rows)
        marks.whole = marks.whole or (len(scope.mine) == 1 and len(rows) < limit)
    return rows


def _taking(seqs: list[int], terms: dict[str, Any]) -> Statement:
    """The second half of a claim in two statements."""
    low, high = min(seqs), max(seqs)
    if high - low + 1 == len(seqs):
        return Statement("claim_take_run", {**terms, "low": low, "high": high})
    return Statement("claim_take", {**terms, "seqs": str(seqs)})


def _take_quickly(
    scope: Scope, marks: Marks, lane: str, limit: int, terms: dict[str, Any]
) -> Plan[list[tuple[Any, ...]]]:
    """The same in one statement, where there is one lane to choose from; it takes nothing if a new lane came up."""
    lanes = pack([marks.row(lane, limit)])
    answer = yield Statement(
        "claim", {**terms, "lanes": lanes, "gaps": scope.gaps, "limit": limit}, alone=True
    )
    marks.advance_in(lane, answer.rows)
    marks.whole = len(answer.rows) < limit
    return answer.rows


def _look(scope: Scope, marks: Marks, limit: int, now: int | None) -> Plan[dict[str, int]]:
    """How many jobs to take from each lane; new lanes are met on the way."""
    for _ in range(_LOOKS):
        answer = yield Statement("gaps", {"gaps": scope.gaps}, alone=True, reads=True)
        if not answer.rows:
            break
        answer = yield Statement("lanes", {"gaps": scope.gaps}, alone=True, reads=True)
        scope.add(lane for (lane,) in answer.rows)
    mine = scope.mine
    if len(mine) < 2:
        return dict.fromkeys(mine, limit)
    lanes = pack([marks.row(lane, 0) for lane in mine])
    answer = yield Statement("look", {"lanes": lanes, "limit": limit, "now": now}, alone=True, reads=True)
    return dict(answer.rows)


def _tend(memory: LaneMemory, can: Capabilities, now: int | None, max_crashes: int) -> Plan[None]:
    """Do the chores that stand between jobs and a claim; a sweep starts where the last one ended, now and then anew."""
    anew = not can.marks or now is not None or time.monotonic() - memory.swept_all > _SWEEP_ALL_EVERY
    after = 0 if anew else max(memory.swept - _SLACK, 0)
    answer = yield Statement("tend", {"now": now, "after": after}, alone=True, reads=True)
    moment, due, overdue, expired, woken = answer.rows[0]
    if anew:
        memory.swept_all = time.monotonic()
    moved = 0
    if expired:
        yield from expire(can, limit=_CHORE, now=now)
    if due:
        moved = yield from promote(can, limit=_CHORE, after=after, now=now)
    if overdue:
        back = yield from reclaim(can, limit=_CHORE, after=after, now=now, max_crashes=max_crashes)
        moved = max(moved, back)
    memory.swept = moment if moved < _CHORE else after  # there may be more where these were
    if woken:
        yield from admit_woken(can)


def renew(
    claims: Sequence[Claim],
    can: Capabilities,
    *,
    lease: int,
    started: Collection[str] = (),
    now: int | None,
    max_crashes: int = MAX_CRASHES,
) -> Plan[Renewed]:
    """Push leases forward, and keep that these have started. A row that somebody's transaction holds is passed over: its claim stands, unrenewed.

    Each claim is answered for itself: where one of a job stands and another is lost, the job is both among the kept and the lost.
    """
    if not claims:
        return Renewed(frozenset(), frozenset(), frozenset())
    packed = pack_claims(claims)
    params = {"claims": packed, "lease": lease, "started": json.dumps(list(started)), "now": now}
    answer = yield Statement("renew", params, alone=True)
    found: dict[str, bool] = dict(answer.rows)
    lost: list[Claim] = []
    if len(found) < len(claims):
        answer = yield Statement("held_claims", {"claims": packed}, alone=True, reads=True)
        stands = {job_id: epoch for job_id, _, epoch in answer.rows}
        found = {**{job_id: asked for job_id, asked, _ in answer.rows}, **found}
        # One that was renewed, and ended before it was looked at again, was kept.
        lost = [c for c in claims if c.id not in found or stands.get(c.id, c.epoch) != c.epoch]
    yield from absolve(lost, can, now=now, max_crashes=max_crashes)
    return Renewed(
        kept=frozenset(JobId(i) for i in found),
        cancelling=frozenset(JobId(i) for i, asked in found.items() if asked),
        lost=frozenset(c.id for c in lost),
    )


def progress(claim: Claim, *, done: float, note: str | None) -> Plan[bool]:
    """Tell how far a held job is; False if the claim is lost."""
    params = {"id": claim.id, "epoch": claim.epoch, "progress": done, "note": note}
    answer = yield Statement("progress", params, alone=True)
    return answer.changed == 1
