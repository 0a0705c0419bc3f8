"""A line: how many claims it asks for, who is woken for them, and what is left when it closes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from tenure.job import CLAIM_COLUMNS, Claim
from tenure.worker import line as line_module
from tenure.worker.berths import Berths
from tenure.worker.line import Line
from tenure.worker.settings import LineTerms


def claims(count: int) -> list[Claim]:
    """As many things to wait for a slot; a line never looks inside them."""
    return cast("list[Claim]", [object() for _ in range(count)])


def on_a_line(work: Callable[[Line], Awaitable[Any]], *, concurrency: int = 10, prefetch: int = 1_000) -> Any:
    """Do this with a fresh line, on an event loop."""

    async def whole() -> Any:
        return await work(Line(LineTerms(None, None, concurrency), prefetch, asyncio.get_running_loop()))

    return asyncio.run(whole())


def hurry(line: Line, ended: int) -> None:
    """Let it look as if so many jobs had ended within the last second."""
    line.wanted()
    line._pace.since -= 1.0
    line.ended += ended


async def settle_down() -> None:
    """Let every task take the steps it can."""
    for _ in range(5):
        await asyncio.sleep(0)


def test_it_asks_for_as_many_claims_as_slots_are_free() -> None:
    async def work(line: Line) -> None:
        assert line.wanted() == 10
        line.running = 4
        assert line.wanted() == 6
        line.running = 10
        assert line.wanted() == 0

    on_a_line(work)


def test_it_asks_for_nothing_while_more_than_three_quarters_of_what_it_wants_are_here() -> None:
    async def work(line: Line) -> None:
        line.sent += 8
        line.deliver(claims(8))
        assert line.wanted() == 0
        line.buffer.pop()
        assert line.wanted() == 3

    on_a_line(work)


def test_what_is_on_its_way_counts_as_here() -> None:
    async def work(line: Line) -> None:
        line.sent += 10
        assert line.wanted() == 0
        line.deliver(claims(10))
        assert line.wanted() == 0
        line.buffer.clear()
        assert line.wanted() == 10

    on_a_line(work)


def test_short_jobs_come_in_large_batches_and_slow_ones_do_not() -> None:
    async def work(line: Line) -> None:
        hurry(line, 5_000)
        assert line.wanted() == pytest.approx(10 + 500, abs=5)
        line._pace._rate = 0.0
        hurry(line, 20)
        assert line.wanted() == 10

    on_a_line(work)


@pytest.mark.parametrize("prefetch", [0, 7])
def test_it_never_holds_more_than_it_was_told_to(prefetch: int) -> None:
    async def work(line: Line) -> None:
        hurry(line, 1_000_000)
        assert line.wanted() == 10 + prefetch

    on_a_line(work, prefetch=prefetch)


def test_the_rate_is_forgotten_when_jobs_get_slow() -> None:
    async def work(line: Line) -> None:
        hurry(line, 5_000)
        fast = line.wanted()
        for _ in range(20):
            hurry(line, 0)
        assert fast > line.wanted() == 10

    on_a_line(work)


def test_a_delivery_wakes_as_many_slots_as_there_are_claims() -> None:
    async def work(line: Line) -> None:
        slots = [asyncio.create_task(line.something()) for _ in range(3)]
        await settle_down()
        line.deliver(claims(2))
        await settle_down()
        assert sorted(slot.done() for slot in slots) == [False, True, True]
        line.deliver(claims(5))
        await settle_down()
        assert all(slot.result() for slot in slots)

    on_a_line(work)


def test_a_slot_does_not_wait_while_claims_are_here() -> None:
    async def work(line: Line) -> None:
        line.deliver(claims(1))
        assert await line.something()

    on_a_line(work)


def test_a_slot_that_is_cancelled_as_it_is_woken_wakes_the_next() -> None:
    async def work(line: Line) -> None:
        first, second = (asyncio.create_task(line.something()) for _ in range(2))
        await settle_down()
        line.deliver(claims(1))
        first.cancel()
        assert await second
        with pytest.raises(asyncio.CancelledError):
            await first

    on_a_line(work)


def test_a_slot_that_was_cancelled_before_is_not_woken_in_anothers_stead() -> None:
    async def work(line: Line) -> None:
        first, second = (asyncio.create_task(line.something()) for _ in range(2))
        await settle_down()
        first.cancel()
        await settle_down()
        line.deliver(claims(1))
        assert await second

    on_a_line(work)


def test_closing_sends_every_slot_home_and_gives_back_what_waited() -> None:
    async def work(line: Line) -> None:
        slots = [asyncio.create_task(line.something()) for _ in range(3)]
        await settle_down()
        assert line.close() == []
        assert [await slot for slot in slots] == [False] * 3
        assert not await line.something()
        assert line.wanted() == 0

    async def full(line: Line) -> None:
        given = claims(4)
        line.deliver(given)
        assert line.close() == given
        assert not line.buffer

    on_a_line(work)
    on_a_line(full)


def waiting_aside(line: Line, *seqs: int) -> list[Claim]:
    """Claims that need a berth."""
    made = [claim_of(seq) for seq in seqs]
    line.sent += len(made)
    line.deliver([], aside=made)
    return made


def claim_of(seq: int, *, crashes: int = 0, group: str | None = None) -> Claim:
    """A claim that came at this place."""
    row: dict[str, Any] = dict.fromkeys(CLAIM_COLUMNS, 0)
    row |= {"seq": seq, "crashes": crashes, "group_key": group}
    return Claim(list(row.values()), "w", None)


def on_a_line_with_berths(work: Callable[[Line], Awaitable[Any]], berths: Berths) -> None:
    """Do this with a fresh line of two slots."""

    async def whole() -> None:
        line = Line(LineTerms(None, None, 2), 0, asyncio.get_running_loop(), berths)
        berths.serve([line])
        await work(line)

    asyncio.run(whole())


def test_what_waits_for_a_berth_keeps_no_slot_from_others_and_what_can_board_does() -> None:
    berths = Berths(1)

    async def work(line: Line) -> None:
        waiting_aside(line, 1, 2, 3)
        assert line.wanted() == 1
        assert line.board()
        line.running += 1
        line.aside.popleft()
        assert (line.wanted(), line.board()) == (1, False)

    on_a_line_with_berths(work, berths)


def test_who_came_first_starts_first_also_if_it_needs_a_berth() -> None:
    async def work(line: Line) -> None:
        waiting_aside(line, 2)
        line.deliver([claim_of(1), claim_of(3)])
        assert not line.board()
        line.buffer.popleft()
        assert line.board()

    on_a_line_with_berths(work, Berths(1))


def test_a_slot_that_waits_is_woken_by_a_berth_that_is_free_again() -> None:
    berths = Berths(1)

    async def work(line: Line) -> None:
        berths.take()
        slot = asyncio.ensure_future(line.something())
        await settle_down()
        waiting_aside(line, 1)
        await settle_down()
        again = asyncio.ensure_future(line.something())
        await settle_down()
        assert (slot.done(), again.done()) == (True, False)
        berths.give()
        assert await again

    on_a_line_with_berths(work, berths)


def test_a_suspect_that_found_no_berth_for_a_second_is_put_off_and_others_wait_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(line_module, "_PATIENCE", 0.01)
    berths, late = Berths(1), list[tuple[Claim, float]]()
    berths.on_late = lambda claim, rest: late.append((claim, rest.total_seconds()))

    async def work(line: Line) -> None:
        suspects = [claim_of(n, crashes=1) for n in (1, 2, 3)]
        others = [claim_of(4), claim_of(5, crashes=1, group="g")]
        line.deliver([], aside=[*suspects, *others])
        assert line.board()
        line.aside.popleft()
        await asyncio.sleep(0.05)
        assert late == [(suspect, 1.0) for suspect in suspects[1:]]
        assert list(line.aside) == others

    on_a_line_with_berths(work, berths)


@pytest.mark.parametrize(("since", "rest"), [(0.0, 1.0), (20.0, 5.0), (3_600.0, 10.0)])
def test_the_longer_no_berth_became_free_the_longer_suspects_are_put_off(since: float, rest: float) -> None:
    berths, late = Berths(1), list[float]()
    berths.on_late = lambda _claim, rest: late.append(rest.total_seconds())
    berths._freed -= since
    berths.put_off([claim_of(1)])
    crowded = [berths.crowded]
    berths.give()
    crowded.append(berths.crowded)
    berths.put_off([claim_of(1)])
    assert crowded == [True, False]
    assert late == pytest.approx([rest, 1.0], abs=0.5)


def test_the_room_for_isolated_jobs_is_what_neither_runs_nor_waits_nor_comes() -> None:
    berths = Berths(5, isolated=["k"])

    async def work(line: Line) -> None:
        berths.take()
        berths.sent += 1
        assert berths.room() == 3
        [waits] = waiting_aside(line, 1)
        berths.received += 1
        assert berths.room() == 3
        assert line.remove(waits)
        assert (berths.room(), line.remove(waits)) == (4, False)
        waiting_aside(line, 1)
        assert len(line.close()) == 1
        assert berths.room() == 4

    on_a_line_with_berths(work, berths)


def test_short_isolated_jobs_are_held_ready_as_many_as_end_in_a_tenth_of_a_second() -> None:
    berths = Berths(1, isolated=["k"])
    berths.room()
    for _ in range(100):
        berths.take()
        berths.give()
    berths._pace.since -= 1.0
    assert berths.room() == pytest.approx(1 + 10, abs=1)
