"""enqueue: jobs into the store, each answered inserted or duplicate; never raises for a duplicate, never touches one.

Ids are made by the client, so an enqueue whose answer was lost is simply asked again: `again` makes the plan look first.
Whatever need not wait for an answer is asked together, so that jobs with everything a job may have are two round trips to a
server: what they may take (periods, groups), then the jobs, their requests and the commit.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import repeat
from typing import Any

from tenure.errors import FieldError, StoreError
from tenure.job import Enqueued, JobId
from tenure.newjob import NewJob, Row, check, copied_bare
from tenure.payload import MAX_PAYLOAD
from tenure.store.dialect import Capabilities
from tenure.store.groups import admit_locked, locked, locking
from tenure.store.pack import pack, pack_ids
from tenure.store.plan import Plan, Result, Statement
from tenure.store.stored import BODIES, requests, stored, whole

__all__ = ["enqueue", "enqueue_inside", "enqueue_plain", "holder"]

Leads = Mapping[str | None, Row]
"""By group: its row that may be ready at once."""
_TRIES = 5


def enqueue(
    rows: Sequence[Row],
    can: Capabilities,
    *,
    now: int | None,
    again: bool = False,
    inside: bool = False,
    ends: bool = False,
) -> Plan[list[Enqueued]]:
    """Store the rows, in their order; the answers come in the same order.

    `inside`: in a transaction that is open. `ends`: nothing follows in ours.
    """
    met = False
    # An id that the caller chose may be one of a finished job, which an insert need not meet.
    if len(rows) == 1 and rows[0].alone and not (rows[0].named or again or inside):
        answer = yield _one(rows[0], now)
        if answer.changed == 1:
            return [Enqueued(rows[0].id, inserted=True)]
        met = True
    if can.whole and not (again or inside) and _goes_whole(rows):
        answer = yield Statement("enqueue_whole", {"now": now}, rows=list(map(whole, rows)), alone=True)
        others: dict[str, str] = dict(answer.rows)
        return [Enqueued(JobId(others.get(r.id, r.id)), inserted=r.id not in others) for r in rows]
    found: dict[str, JobId] = {}
    named = any(r.named for r in rows)
    if named and len(runs := _runs(rows)) > 1:
        return (yield from _in_turn(runs, can, now=now, again=again))
    if again or met or named:
        found = yield from _resolve(rows)
    periods = [r for r in rows if r.unique_for is not None and r.id not in found]
    locks = locking(_groups(rows, found), can)
    taken, heard = yield from _take_periods(periods, now, again=again, then=locks)
    found |= taken
    stored_before = set(found)
    missing = [r for r in rows if r.id not in found]
    mine = yield from locked(_groups(missing, found), locks, heard)
    leads = _leads(missing, frozenset(mine))
    if not again and all(map(_is_free, missing)):
        rest = [group for group in mine if group not in leads]
        yield from _store_free(missing, leads, rest, now, ends=ends)
        found |= {r.id: r.id for r in missing}
    else:
        stored_before |= yield from _store_contested(missing, leads, mine, found, can, now)
    before = set() if again else stored_before
    return [Enqueued(found[r.id], inserted=found[r.id] == r.id and r.id not in before) for r in rows]


def enqueue_inside(rows: Sequence[Row], can: Capabilities, *, now: int | None) -> Plan[list[Enqueued]]:
    """The same in a caller's transaction, which commits them or does not."""
    if can.defers and any(r.named for r in rows):
        yield from _check_snapshot(rows)
    return (yield from enqueue(rows, can, now=now, inside=True))


def _check_snapshot(rows: Sequence[Row]) -> Plan[None]:
    """Refuse ids of the caller's choosing where jobs that ended since the transaction began are not seen."""
    answer = yield Statement("isolation", {})
    level: str = answer.rows[0][0]
    if level in ("repeatable read", "serializable"):
        row = next(r for r in rows if r.named)
        raise FieldError(
            "id", f"cannot be chosen in a transaction that is {level}: it does not see whether that job has ended meanwhile", row.id,
            "use a transaction that reads what is committed, or unique= instead of id=",
        )  # fmt: skip


def _runs(rows: Sequence[Row]) -> list[list[Row]]:
    """The rows in their order, cut wherever an id comes again: a caller may have chosen one for several."""
    runs: list[list[Row]] = []
    seen: set[str] = set()
    for row in rows:
        if not runs or row.id in seen:
            runs.append([])
            seen.clear()
        seen.add(row.id)
        runs[-1].append(row)
    return runs


def _in_turn(
    runs: Sequence[Sequence[Row]], can: Capabilities, *, now: int | None, again: bool
) -> Plan[list[Enqueued]]:
    """One run after the other: the second of an id is stored only if the first was not, for its key was taken."""
    answers: list[Enqueued] = []
    stands: set[str] = set()
    for run in runs:
        new = [row for row in run if row.id not in stands]
        heard = iter((yield from enqueue(new, can, now=now, again=again, inside=True)) if new else ())
        told = [Enqueued(JobId(r.id), inserted=False) if r.id in stands else next(heard) for r in run]
        stands |= {row.id for row, answer in zip(run, told, strict=True) if answer.id == row.id}
        answers += told
    return answers


def _groups(rows: Sequence[Row], found: Mapping[str, JobId]) -> list[str]:
    """The groups of those rows that nobody stands for yet."""
    return list(dict.fromkeys(r.group_key for r in rows if r.group_key is not None and r.id not in found))


def _is_free(row: Row) -> bool:
    """Whether nothing can be in its way: a fresh id, and no unique slot but a period, which it has taken before."""
    return not row.named and (row.unique_hash is None or row.unique_for is not None)


def _goes_whole(rows: Sequence[Row]) -> bool:
    """Whether nothing but periods decides about the rows, whoever comes first in a group leads it, and their bodies are no burden."""
    ranks: dict[str, int] = {}
    size, has = 0, False
    for row in rows:
        if not _is_free(row):
            return False
        group = row.group_key
        if group is not None and not (_is_plain(row) and ranks.setdefault(group, row.rank) == row.rank):
            return False
        has = has or row.unique_for is not None
        if row.request is not None:
            has, size = True, size + len(row.request.body)
    return has and size <= BODIES


def _is_plain(row: Row) -> bool:
    """Whether it goes by itself in its group, and is due."""
    return row.group_limit == 1 and row.run_at is None and row.delay is None


def _store_free(
    rows: Sequence[Row], leads: Leads, rest: Collection[str], now: int | None, *, ends: bool
) -> Plan[None]:
    """Store rows that nothing can be in the way of, with their requests; all at once, unless that is a lot."""
    if rows:
        asked = [stored(r, lead=leads.get(r.group_key) is r) for r in rows]
        kept = list(requests(rows))
        last = ends and not rest and len(kept) < 2
        first = Statement("request_add", {}, rows=kept[0], last=last) if kept else None
        yield Statement("enqueue", {"now": now}, rows=asked, then=first, last=last and first is None)
        for more in kept[1:]:
            yield Statement("request_add", {}, rows=more)
    yield from admit_locked(rest)


def _store_contested(
    rows: Sequence[Row],
    leads: Leads,
    mine: Collection[str],
    found: dict[str, JobId],
    can: Capabilities,
    now: int | None,
) -> Plan[set[str]]:
    """Store rows that others may be in the way of; `found` has who stands for each of them then.

    Gives the ids that somebody else stored at the same moment: ids that a caller chose.
    """
    missing = rows
    theirs: set[str] = set()
    for _ in range(_TRIES):
        if not missing:
            break
        asked = [stored(r, lead=leads.get(r.group_key) is r) for r in missing]
        # Who waited here for a slot may come after a job that has its id, and has ended meanwhile.
        named = [r.id for r in missing if r.named] if can.defers else []
        twins = Statement("enqueue_undo", {"ids": pack_ids(named)}) if named else None
        answer = yield Statement("enqueue", {"now": now}, rows=asked, then=twins)
        undone = answer.then.rows if answer.then is not None else []
        if answer.changed == len(missing) and not undone:
            found |= {r.id: r.id for r in missing}
        else:
            # A slot may be freed between the insert and this look; then nobody is found, and the row is tried again.
            found |= yield from _resolve(missing)
            leads = {}
        if named:
            mine_now = {i for (i,) in answer.rows}.difference(i for (i,) in undone)
            theirs |= {i for i in named if found.get(i) == i and i not in mine_now}
        missing = [r for r in missing if r.id not in found]
    if missing:
        raise StoreError(
            f"unique slots kept changing hands while {len(missing)} jobs were enqueued; try again"
        )
    for kept in requests([r for r in rows if found[r.id] == r.id and r.id not in theirs]):
        yield Statement("request_add", {}, rows=kept)
    yield from admit_locked([group for group in mine if group not in leads])
    return theirs


def _one(row: Row, now: int | None) -> Statement:
    if row.bare:
        return Statement("enqueue_one", row.bare_params(now), alone=True)
    return Statement("enqueue", {"now": now}, rows=[stored(row)], alone=True)


def enqueue_plain(
    jobs: Sequence[NewJob],
    ids: Sequence[JobId],
    can: Capabilities,
    *,
    bare: bool,
    now: int | None,
    limit: int = MAX_PAYLOAD,
) -> Plan[list[Enqueued]]:
    """Store many jobs that ask nothing of other rows by a bulk copy, checked while they are sent.

    One that breaks a rule breaks the copy, and nothing is stored.
    """
    answer = yield Statement("clock", {"now": now}, alone=True, reads=True)
    moment: int = answer.rows[0][0]
    if bare:
        yield Statement("copy_bare", {}, copied=copied_bare(jobs, ids, limit, moment))
    else:
        yield Statement(
            "copy", {}, copied=(check(j, limit, i).copied(moment) for j, i in zip(jobs, ids, strict=True))
        )
    if can.tells:
        # The other ways to enqueue tell in the statement that stores; a bulk copy cannot.
        yield Statement("tell", {"now": now})
    return list(map(Enqueued._make, zip(ids, repeat(True))))


def holder(row: Row, *, now: int | None) -> Plan[JobId | None]:
    """Who holds the row's unique key; None: nobody does, or it has none."""
    if row.unique_hash is None:
        return None
    params = {"unique_hash": row.unique_hash, "period": row.unique_for is not None, "now": now}
    answer = yield Statement("holder", params, alone=True, reads=True)
    return JobId(answer.rows[0][0]) if answer.rows else None


def _leads(rows: Sequence[Row], mine: Collection[str]) -> dict[str | None, Row]:
    """The first job of each group of mine, where the group's jobs here go one at a time, as they came, and are due now.

    Where its group is empty it is stored as ready; where not, there is no room for it, or somebody has left word. So these
    groups need no second look.
    """
    first: dict[str | None, Row] = {}
    others: set[str] = set()
    for row in rows:
        group = row.group_key
        if group is None or group not in mine:
            continue
        lead = first.setdefault(group, row)
        if not _is_plain(row) or row.rank < lead.rank:
            others.add(group)
    return {group: row for group, row in first.items() if group not in others}


def _resolve(rows: Sequence[Row]) -> Plan[dict[str, JobId]]:
    """Which job stands for each row: itself if it is stored, else the holder of its unique slot; absent if neither."""
    asked = [{"id": r.id, "unique_hash": r.unique_hash if r.unique_for is None else None} for r in rows]
    answer = yield Statement("resolve", {"rows": pack(asked)})
    found: dict[str, JobId] = {}
    for given, holder in answer.rows:
        if given == holder or given not in found:
            found[given] = JobId(holder)
    return found


def _take_periods(
    rows: Sequence[Row], now: int | None, *, again: bool, then: Statement | None
) -> Plan[tuple[dict[str, JobId], Result | None]]:
    """Take the ledger's periods: the rows that lost theirs, with who holds it; and what `then` answered, if it was asked.

    Asked again, a row that holds its period already was stored by an earlier try, even if its job is gone since.
    """
    if not rows:
        return {}, None
    first: dict[str, Row] = {}
    for row in rows:
        first.setdefault(str(row.unique_hash), row)
    asked = [{"id": r.id, "unique_hash": h, "unique_for": r.unique_for} for h, r in first.items()]
    before = (yield from _period_holders(asked)) if again else {}
    answer = yield Statement("ledger", {"now": now}, rows=asked, then=then)
    if answer.changed == len(rows) and not before:
        return {}, answer.then
    if answer.changed == len(asked):
        holder = {h: r.id for h, r in first.items()}
    else:
        holder = yield from _period_holders(asked)
    mine: dict[str, JobId] = {r.id: r.id for r in rows if before.get(str(r.unique_hash)) == r.id}
    lost = {r.id: holder[str(r.unique_hash)] for r in rows if holder[str(r.unique_hash)] != r.id}
    doubtful = [r for r in rows if again and r.id not in mine and r.id not in lost]
    if doubtful and answer.changed < len(asked):
        # The earlier try may have ended while this one waited for its periods, and its jobs may be done by now.
        mine |= yield from _resolve(doubtful)
    return mine | lost, answer.then


def _period_holders(asked: Sequence[dict[str, Any]]) -> Plan[dict[str, JobId]]:
    answer = yield Statement("ledger_holders", {"rows": pack(asked)})
    return {h.replace("-", ""): JobId(i) for h, i in answer.rows}
