"""rollups, error_groups, add_figures, tidy_figures: what workers counted, minute by minute and merged."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

import tenure
from tenure.figures import ErrorTally, Histogram, Rollup, Tally
from tests.support.claiming import at_once
from tests.support.clock import MovedClock, move_machine_clock
from tests.support.places import Place

START = datetime(2030, 1, 1, 12, tzinfo=UTC)
FAR = timedelta(days=400)


def tally(kind: str = "mail", queue: str = "default", *, done: int = 1, took: float = 0.1) -> Tally:
    return Tally(queue, kind, done, waited=Histogram([took] * done), ran=Histogram([took * 2] * done))


def failing(name: str, *, count: int = 1, dead: int = 0, words: str = "no", frame: str = "") -> ErrorTally:
    return ErrorTally(name, "mail", "ValueError", words, f"job-{name}", count, dead, frame)


def read(q: tenure.Queue, step: str = "1m", **more: Any) -> list[Rollup]:
    return q.rollups(START - FAR, START + FAR, step=step, **more)


def rows(place: Place) -> list[tuple[Any, ...]]:
    return place.sql(
        "SELECT span, minute, source, kind, done FROM tenure.rollups ORDER BY span, minute, source, kind"
    )


def tidy(q: tenure.Queue, **more: Any) -> int:
    moved = 0
    while piece := q.tidy_figures(**more):
        moved += piece
    return moved


def test_figures_are_told_by_minute_queue_and_kind(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.add_figures("one", [tally(done=3), tally("post", "slow")])
    clock.advance("1m")
    cq.add_figures("one", [Tally("default", "mail", 1, 2, 1, cancelled=4)])
    found = [(r.at, r.queue, r.kind, r.done, r.failed, r.dead, r.cancelled) for r in read(cq)]
    assert found == [
        (START, "default", "mail", 3, 0, 0, 0),
        (START, "slow", "post", 1, 0, 0, 0),
        (START + timedelta(minutes=1), "default", "mail", 1, 2, 1, 4),
    ]


def test_what_is_told_again_in_the_same_minute_is_added(cq: tenure.Queue, place: Place) -> None:
    cq.add_figures("one", [tally(done=2, took=0.1), Tally("default", "stopped", cancelled=2)])
    cq.add_figures("one", [tally(done=1, took=10), Tally("default", "stopped", cancelled=3)])
    cq.add_figures("other", [tally(done=4, took=1)])
    found, stopped = read(cq)
    assert (found.done, found.waited.count, found.ran.count, stopped.cancelled) == (7, 7, 7, 5)
    assert found.waited == Histogram([0.1, 0.1, 10, 1, 1, 1, 1])
    assert found.ran == Histogram([0.2, 0.2, 20, 2, 2, 2, 2])
    assert len(rows(place)) == 3


def test_steps_gather_minutes(cq: tenure.Queue, clock: MovedClock) -> None:
    for _ in range(14):
        cq.add_figures("one", [tally()])
        clock.advance("5m")
    assert [(r.at, r.done) for r in read(cq, "1h")] == [(START, 12), (START + timedelta(hours=1), 2)]
    assert [r.done for r in read(cq, "15m")] == [3, 3, 3, 3, 2]
    assert [r.done for r in read(cq, "1d")] == [14]


def test_only_what_is_between_is_told(cq: tenure.Queue, clock: MovedClock) -> None:
    for _ in range(4):
        cq.add_figures("one", [tally()])
        clock.advance("1m")
    later = [START + timedelta(minutes=n) for n in range(5)]
    assert [r.at for r in cq.rollups(later[1], later[3])] == later[1:3]
    assert [r.at for r in cq.rollups(later[1] + timedelta(seconds=30), later[2])] == [later[1]]
    assert cq.rollups(later[4], later[4]) == []


def test_queues_can_be_asked_for(cq: tenure.Queue) -> None:
    cq.add_figures("one", [tally(queue="a"), tally(queue="b"), tally(queue="c")])
    assert [r.queue for r in read(cq, queues=["a", "c"])] == ["a", "c"]
    assert read(cq, queues=[]) == []


def test_an_hour_that_is_over_is_merged_and_nothing_looks_different(
    cq: tenure.Queue, clock: MovedClock, place: Place
) -> None:
    for _ in range(3):
        for source in ("one", "other"):
            cq.add_figures(source, [replace(tally(), cancelled=2), tally("post", took=3)])
        clock.advance("20m")
    before = {step: read(cq, step) for step in ("1m", "5m", "1h", "1d")}
    assert cq.tidy_figures() == 0
    clock.advance("2m")
    assert tidy(cq) == 12
    assert {step: read(cq, step) for step in before} == before
    minute = int(START.timestamp()) // 60
    assert [(s, m - minute, k, d) for s, m, source, k, d in rows(place) if source == ""] == [
        *((1, at, kind, 2) for at in (0, 20, 40) for kind in ("mail", "post")),
        *((60, 0, kind, 6) for kind in ("mail", "post")),
    ]
    assert len(rows(place)) == 8
    assert tidy(cq) == 0
    assert len(rows(place)) == 8


def test_many_who_tidy_at_once_count_nothing_twice(cq: tenure.Queue, clock: MovedClock, place: Place) -> None:
    for _ in range(3):
        for source in ("one", "other", "third"):
            cq.add_figures(source, [tally(), tally("post", took=3)])
        clock.advance("30m")
    before = {step: read(cq, step) for step in ("1m", "1h")}
    clock.advance("2h")
    others = [place.open(clock=clock) for _ in range(4)]
    at_once([partial(tidy, other) for other in others])
    assert {step: read(cq, step) for step in before} == before
    assert {source for _, _, source, _, _ in rows(place)} == {""}


def test_what_is_counted_after_an_hour_was_merged_is_told_beside_it(
    cq: tenure.Queue, clock: MovedClock
) -> None:
    cq.add_figures("one", [tally(done=5)])
    clock.advance("65m")
    tidy(cq)
    cq.add_figures("one", [tally(done=2)])
    assert [r.done for r in read(cq, "1h")] == [5, 2]
    assert [r.done for r in read(cq)] == [5, 2]
    assert [r.done for r in read(cq, "1d")] == [7]


def test_what_is_committed_long_after_its_hour_is_merged_with_the_next_one(
    cq: tenure.Queue, clock: MovedClock, place: Place
) -> None:
    late = place.open(clock=MovedClock(clock.now))  # the clock of a transaction that stays open
    cq.add_figures("one", [tally(done=5)])
    clock.advance("65m")
    tidy(cq)
    late.add_figures("late", [replace(tally(done=2, took=9), cancelled=3), tally("post")])
    assert [r.done for r in read(cq, "1h")] == [5]
    cq.add_figures("one", [tally(done=4)])
    clock.advance("65m")
    assert tidy(cq) == 4
    assert [(r.kind, r.done, r.cancelled, r.ran.count) for r in read(cq, "1h")] == [
        ("mail", 7, 3, 7),
        ("post", 1, 0, 1),
        ("mail", 4, 0, 4),
    ]
    assert [r.done for r in read(cq)] == [7, 1, 4]
    assert {source for _, _, source, _, _ in rows(place)} == {""}
    assert tidy(cq) == 0


def test_what_is_committed_a_day_after_its_hour_takes_nothing_from_it(
    cq: tenure.Queue, clock: MovedClock, place: Place
) -> None:
    late = place.open(clock=MovedClock(clock.now))
    cq.add_figures("one", [tally(done=5)])
    clock.advance("26h")
    tidy(cq, minutes="1d")  # the minutes of that hour are gone
    late.add_figures("late", [tally(done=2)])
    cq.add_figures("one", [tally(done=4)])
    clock.advance("65m")
    tidy(cq, minutes="1d")
    assert [r.done for r in read(cq, "1h")] == [5, 4]


def test_minutes_go_after_a_while_and_their_hours_stay(
    cq: tenure.Queue, clock: MovedClock, place: Place
) -> None:
    clock.advance("20m")
    cq.add_figures("one", [tally(done=5)])
    clock.advance("5d")
    cq.add_figures("one", [tally(done=2)])
    clock.advance("4d")
    tidy(cq)
    assert [(span, done) for span, _, _, _, done in rows(place)] == [(1, 2), (60, 5), (60, 2)]
    assert [(r.at, r.done) for r in read(cq)] == [
        (START, 5),
        (START + timedelta(days=5, minutes=20), 2),
    ]
    assert [r.done for r in read(cq, "1h")] == [5, 2]
    clock.advance("9d")
    tidy(cq)
    assert [r.done for r in read(cq)] == [5, 2]


def test_figures_are_kept_as_long_as_asked(cq: tenure.Queue, clock: MovedClock, place: Place) -> None:
    cq.add_figures("one", [tally()], [failing("a")])
    clock.advance("89d")
    tidy(cq, keep="90d")
    assert len(read(cq, "1h")) == 1
    assert len(cq.error_groups(START)) == 1
    clock.advance("2d")
    tidy(cq)
    assert len(read(cq, "1h")) == 1
    tidy(cq, keep="90d")
    assert rows(place) == []
    assert cq.error_groups(START) == []


def test_failures_alike_are_one_group_over_hours(cq: tenure.Queue, clock: MovedClock) -> None:
    cq.add_figures("one", errors=[failing("a", count=2), failing("b", count=9, dead=1)])
    cq.add_figures("other", errors=[failing("a", dead=1, words="no 2", frame="app/mail.py:3 in send")])
    assert [group.frame for group in cq.error_groups(START)] == ["", "app/mail.py:3 in send"]
    clock.advance("90m")
    cq.add_figures("one", errors=[failing("a", count=4, words="no 3", frame="app/mail.py:4 in send")])
    b, a = cq.error_groups(START)
    assert (b.fingerprint, b.count, b.dead) == ("b", 9, 1)
    assert (a.fingerprint, a.kind, a.error_kind, a.message) == ("a", "mail", "ValueError", "no 3")
    assert (a.count, a.dead, a.sample_id, a.frame) == (7, 1, "job-a", "app/mail.py:4 in send")
    assert (a.first_seen, a.last_seen) == (START, START + timedelta(minutes=90))
    assert a.hours == {START: 3, START + timedelta(hours=1): 4}
    [later] = cq.error_groups(START + timedelta(hours=1))
    assert (later.count, later.dead, later.first_seen) == (4, 0, START)
    assert later.hours == {START + timedelta(hours=1): 4}
    [later] = cq.error_groups(START + timedelta(hours=1), hours=START)
    assert (later.count, later.hours) == (4, {START: 3, START + timedelta(hours=1): 4})
    b, a = cq.error_groups(START, hours=START + timedelta(hours=1))
    assert (b.count, b.hours, b.message) == (9, {}, "no")
    assert (a.count, a.hours) == (7, {START + timedelta(hours=1): 4})
    assert [g.fingerprint for g in cq.error_groups(START, limit=1)] == ["b"]


def test_the_words_of_a_failure_are_cleaned_and_cut(cq: tenure.Queue) -> None:
    cq.add_figures("one", errors=[failing("a", words="bad\x00 postgresql://u:secret@h/db " + "x" * 5_000)])
    [group] = cq.error_groups(START)
    assert "\x00" not in group.message
    assert "secret" not in group.message
    assert len(group.message) <= 300


def test_failures_alike_tell_where_in_ones_own_code_the_last_of_them_failed(q: tenure.Queue) -> None:
    deep = '  File "/usr/lib/python3.12/json/decoder.py", line 9, in loads\n    ' + "x" * 30_000 + "\n"
    for line in (3, 41):
        trace = f'Traceback:\n{deep}  File "/srv/app/mail.py", line {line}, in send\n    go()\n{deep[:60]}\nValueError: no\n'
        q.enqueue("mail")
        [claim] = q.claim()
        q.settle(claim, tenure.Fail("no", kind="ValueError", traceback=trace))
    [group] = q.error_groups(datetime.now(UTC) - FAR)
    assert (group.count, group.frame) == (2, "app/mail.py:41 in send")


def test_a_failed_attempt_keeps_what_it_has_in_common_with_others(q: tenure.Queue, place: Place) -> None:
    for number in range(2):
        q.enqueue("mail", max_attempts=1 + number)
        [claim] = q.claim()
        q.settle(claim, tenure.Fail(f"no user {number}", kind="KeyError"))
    names = place.sql("SELECT fingerprint FROM tenure.attempts")
    assert len(names) == 2
    assert len(set(names)) == 1
    assert names[0][0]


def test_the_store_s_own_clock_says_which_minute_it_is(
    place: Place, q: tenure.Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not this process's, which is a day ahead; a file has no other clock than its machine's."""
    move_machine_clock(monkeypatch, "1d")
    before = place.now() - timedelta(minutes=2)
    q.add_figures("one", [tally()], [failing("a")])
    after = place.now() + timedelta(minutes=2)
    assert [r.done for r in q.rollups(before, after)] == [1]
    assert before < q.error_groups(before)[0].first_seen < after
    assert q.tidy_figures(keep="30d") == 0


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"since": datetime(2030, 1, 1)}, "since"),  # noqa: DTZ001
        ({"until": "now"}, "until"),
        ({"until": START - FAR * 2}, "until"),
        ({"step": "90s"}, "step"),
        ({"step": 0}, "step"),
        ({"queues": "mail"}, "queues"),
    ],
    ids=["naive", "no time", "backwards", "half a minute", "no step", "one name"],
)
def test_bad_questions_are_refused(q: tenure.Queue, arguments: dict[str, Any], field: str) -> None:
    given: dict[str, Any] = {"since": START - FAR, "until": START, **arguments}
    with pytest.raises((tenure.FieldError, tenure.FieldTypeError), match=field):
        q.rollups(**given)


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda q: q.error_groups(START, limit=0), "limit"),
        (lambda q: q.add_figures("", [tally()]), "source"),
        (lambda q: q.add_figures("one", [{"done": 1}]), "tallies"),
        (lambda q: q.add_figures("one", [tally(), Tally("a", "b", -1)]), "tallies"),
        (lambda q: q.add_figures("one", [tally()], [tally()]), "errors"),
        (lambda q: q.add_figures("one", [tally()], [failing("a", count=-1)]), "errors"),
        (lambda q: q.tidy_figures(minutes="1h"), "minutes"),
    ],
    ids=["no groups", "nobody", "a dict", "less than none", "no error", "fewer errors", "no minutes"],
)
def test_bad_figures_are_refused_and_nothing_is_stored(
    q: tenure.Queue, place: Place, call: Any, field: str
) -> None:
    with pytest.raises((tenure.FieldError, tenure.FieldTypeError), match=field):
        call(q)
    assert rows(place) == []
