"""Cron: what an expression means, the two nights of a year on which clocks change, and fires that were missed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tenure
from tenure.cron import Cron, Missed, check_missed, due, upcoming

BERLIN = "Europe/Berlin"
BEFORE_GAP = datetime(2026, 3, 28, 23, 59, tzinfo=UTC)  # 00:59; 02:00 is 03:00 that night
BEFORE_FOLD = datetime(2026, 10, 24, 22, 59, tzinfo=UTC)  # 00:59; 03:00 is 02:00 again that night
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def local(cron: Cron, after: datetime, most: int) -> list[str]:
    """The next fires, as the clock on the wall shows them."""
    fires = cron.fires(after, after + timedelta(days=3), most)
    return [fire.astimezone(ZoneInfo(cron.tz)).strftime("%d %H:%M %z") for fire in fires]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("* * * * *", "2026-01-01T12:01"),
        ("*/5 * * * *", "2026-01-01T12:05"),
        ("0 9 * * MON-FRI", "2026-01-02T09:00"),
        ("0 0 L * *", "2026-01-31T00:00"),
        ("0 0 * * MON#2", "2026-01-12T00:00"),
        ("30 * * * * *", "2026-01-01T12:00:30"),
        ("*/10 * * * * *", "2026-01-01T12:00:10"),
        ("@yearly", "2027-01-01T00:00"),
        ("@annually", "2027-01-01T00:00"),
        ("@monthly", "2026-02-01T00:00"),
        ("@weekly", "2026-01-04T00:00"),
        ("@daily", "2026-01-02T00:00"),
        ("@midnight", "2026-01-02T00:00"),
        ("@Hourly", "2026-01-01T13:00"),
        ("@every 30s", "2026-01-01T12:00:30"),
        ("@every 5m", "2026-01-01T12:05"),
        ("  0   18 * *  * ", "2026-01-01T18:00"),
    ],
)
def test_an_expression_fires_next_when_it_says(expression: str, expected: str) -> None:
    assert Cron(expression).next(NOON) == at(expected)


def test_a_sixth_field_is_the_seconds_and_stands_in_front() -> None:
    assert Cron("15 30 2 * * *").next(NOON) == at("2026-01-02T02:30:15")


def test_an_interval_counts_from_1970_whatever_the_zone() -> None:
    fires = Cron("@every 7m", BERLIN).fires(NOON, NOON + timedelta(hours=1), 3)
    assert [fire.timestamp() % 420 for fire in fires] == [0, 0, 0]


def test_the_next_fire_is_later_than_the_moment_it_is_asked_for() -> None:
    cron = Cron("0 12 * * *")
    assert cron.next(NOON) == NOON + timedelta(days=1)
    assert cron.next(NOON - timedelta(microseconds=1)) == NOON
    assert cron.next(NOON + timedelta(microseconds=1)) == NOON + timedelta(days=1)


def test_times_are_those_of_the_zone_and_answers_are_in_utc() -> None:
    fire = Cron("0 9 * * *", BERLIN).next(datetime(2026, 7, 1, tzinfo=ZoneInfo("Asia/Tokyo")))
    assert fire == at("2026-07-01T07:00")
    assert fire.tzinfo is UTC


def test_fires_end_at_the_end_or_when_there_are_enough() -> None:
    cron = Cron("@hourly")
    assert cron.fires(NOON, NOON + timedelta(hours=2), 10) == [NOON + timedelta(hours=n) for n in (1, 2)]
    assert cron.fires(NOON, NOON + timedelta(hours=9), 1) == [NOON + timedelta(hours=1)]
    assert cron.fires(NOON, NOON, 10) == []


@pytest.mark.parametrize(
    ("cron", "words"),
    [
        (Cron("30 2 * * *", BERLIN), "At 02:30 every day (Europe/Berlin)"),
        (Cron("@hourly"), "At the start of every hour (UTC)"),
        (Cron("@every 90m"), "Every 1h30m"),
    ],
    ids=["time", "alias", "interval"],
)
def test_an_expression_is_told_in_english(cron: Cron, words: str) -> None:
    assert cron.text() == words


def test_equal_expressions_in_equal_zones_are_equal() -> None:
    assert Cron("0  2 * * *") == Cron("0 2 * * *")
    assert Cron("0 2 * * *") != Cron("0 2 * * *", BERLIN)
    assert len({Cron("@daily"), Cron("@daily")}) == 1


# The night the clock goes forward: there is no 02:30


@pytest.mark.parametrize(
    "expression", ["30 2 * * *", "0 30 2 * * *", "30,45 2 * * *", "* 2 * * *", "* * 2 * * *"]
)
def test_what_stands_in_the_gap_fires_once_just_after_it(expression: str) -> None:
    first, second = local(Cron(expression, BERLIN), BEFORE_GAP, 2)
    assert first == "29 03:00 +0200"
    assert second.startswith("30 02:")


def test_two_times_that_fall_together_after_the_gap_fire_once() -> None:
    assert local(Cron("30 2,3 * * *", BERLIN), BEFORE_GAP, 3) == [
        "29 03:00 +0200",
        "29 03:30 +0200",
        "30 02:30 +0200",
    ]
    assert local(Cron("0 2,3 * * *", BERLIN), BEFORE_GAP, 2) == ["29 03:00 +0200", "30 02:00 +0200"]


def test_every_second_hour_fires_after_the_gap_it_falls_into() -> None:
    assert local(Cron("0 */2 * * *", BERLIN), BEFORE_GAP, 3) == [
        "29 03:00 +0200",
        "29 04:00 +0200",
        "29 06:00 +0200",
    ]


def test_a_gap_at_midnight_is_a_gap_too() -> None:
    cron = Cron("0 0 * * *", "America/Santiago")
    assert local(cron, at("2026-09-05T12:00"), 2) == ["06 01:00 -0300", "07 00:00 -0300"]


# The night the clock goes back: 02:30 comes twice


@pytest.mark.parametrize("expression", ["30 2 * * *", "0 30 2 * * *", "30 */2 * * *"])
def test_what_comes_twice_fires_the_first_time_only(expression: str) -> None:
    first, second = local(Cron(expression, BERLIN), BEFORE_FOLD, 2)
    assert first == "25 02:30 +0200"
    assert not second.startswith("25 02:")


@pytest.mark.parametrize("minutes", [1, 29, 30, 31, 59])
def test_a_look_from_within_the_second_hour_leads_past_it(minutes: int) -> None:
    second_hour = at("2026-10-25T01:00") + timedelta(minutes=minutes)
    assert local(Cron("30 2 * * *", BERLIN), second_hour, 1) == ["26 02:30 +0100"]


# Every hour is every real hour


@pytest.mark.parametrize("expression", ["0 * * * *", "0 0 * * * *", "0 0-23 * * *", "@hourly"])
@pytest.mark.parametrize("night", [BEFORE_GAP, BEFORE_FOLD], ids=["gap", "fold"])
def test_an_hourly_job_fires_every_real_hour(expression: str, night: datetime) -> None:
    fires = Cron(expression, BERLIN).fires(night, night + timedelta(days=1), 100)
    assert fires == [night + timedelta(minutes=1, hours=n) for n in range(24)]


@pytest.mark.parametrize("night", [BEFORE_GAP, BEFORE_FOLD], ids=["gap", "fold"])
def test_every_quarter_is_every_real_quarter(night: datetime) -> None:
    fires = Cron("*/15 * * * *", BERLIN).fires(night, night + timedelta(days=1), 1_000)
    assert fires == [night + timedelta(minutes=1 + 15 * n) for n in range(96)]


@pytest.mark.parametrize(
    ("zone", "before", "walls"),
    [
        ("Australia/Lord_Howe", "2026-10-03T14:20", ["01:30 +1030", "02:30 +1100", "03:30 +1100"]),
        ("Australia/Lord_Howe", "2026-04-04T14:20", ["01:30 +1100", "01:30 +1030", "02:30 +1030"]),
        ("America/Caracas", "2016-05-01T05:50", ["01:30 -0430", "03:30 -0400", "04:30 -0400"]),
    ],
    ids=["forth", "back", "for-good"],
)
def test_a_change_by_half_an_hour_leaves_out_nothing_that_the_wall_shows(
    zone: str, before: str, walls: list[str]
) -> None:
    fires = Cron("30 * * * *", zone).fires(at(before), at(before) + timedelta(hours=4), 3)
    assert [fire.astimezone(ZoneInfo(zone)).strftime("%H:%M %z") for fire in fires] == walls


@given(
    expression=st.sampled_from(
        ["30 2 * * *", "*/7 1-3 * * *", "0 * * * *", "*/20 * 2 * * *", "0 3 * * SUN", "@every 11m"]
    ),
    after=st.datetimes(datetime(2026, 1, 1), datetime(2027, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001 - bounds
)
def test_fires_only_go_forward_and_none_is_left_out(expression: str, after: datetime) -> None:
    cron = Cron(expression, BERLIN)
    first = cron.next(after)
    assert first > after
    assert cron.next(first) > first
    # Whoever asks anywhere between two fires is told the second.
    assert cron.next(after + (first - after) / 2) == first
    assert cron.latest(after, first, 1) == [first]


# What is refused


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "x",
        "* * * *",
        "* * * * * * *",
        "61 * * * *",
        "0 25 * * *",
        "0 0 30 2 *",
        "0 0 */31 2 1#5",
        "5-1 * * * *",
        "*/0 * * * *",
        "@reboot",
        "@every",
        "@every 0s",
        "@every 1.5s",
        "@every soon",
        "@every -5m",
        "@every 5m 5m",
        "0" * 300,
    ],
)
def test_an_expression_that_means_nothing_is_refused(expression: str) -> None:
    with pytest.raises(tenure.FieldError) as caught:
        Cron(expression)
    assert caught.value.field == "cron"
    assert caught.value.fix


@given(st.text("0123456789*/-,#LW @MONJAN", max_size=30))
def test_any_text_is_an_expression_or_a_field_error(text: str) -> None:
    try:
        cron = Cron(text)
    except tenure.FieldError:
        return
    assert cron.next(NOON) > NOON
    assert cron.text()


@pytest.mark.parametrize(
    "tz", ["Europe/Berln", "", "Europe", "../etc/passwd", "/etc/localtime", "a\x00b", "CEST+"]
)
def test_an_unknown_zone_is_refused(tz: str) -> None:
    with pytest.raises(tenure.FieldError) as caught:
        Cron("@daily", tz)
    assert (caught.value.field, caught.value.value) == ("tz", tz)


def test_the_nearest_zone_is_named() -> None:
    with pytest.raises(tenure.FieldError, match='did you mean "Europe/Berlin"'):
        Cron("@daily", "Europe/Berln")


@pytest.mark.parametrize(("expression", "tz"), [(5, "UTC"), (None, "UTC"), ("@daily", None), ("@daily", UTC)])
def test_what_is_no_text_is_a_type_error(expression: object, tz: object) -> None:
    with pytest.raises(tenure.FieldTypeError):
        Cron(expression, tz)  # type: ignore[arg-type]


def test_a_naive_moment_is_a_type_error() -> None:
    with pytest.raises(tenure.FieldTypeError):
        Cron("@daily").next(datetime(2026, 1, 1))  # noqa: DTZ001 - that is the point


def test_the_end_of_time_is_a_field_error() -> None:
    with pytest.raises(tenure.FieldError):
        Cron("@yearly").next(datetime(9999, 12, 31, tzinfo=UTC))


@pytest.mark.parametrize("missed", ["", "all", "3", 0, -1, 1_001])
def test_a_policy_that_is_none_is_refused(missed: object) -> None:
    with pytest.raises(tenure.FieldError) as caught:
        check_missed(missed)
    assert caught.value.field == "missed"


@pytest.mark.parametrize("missed", [None, True, 1.0, [1]])
def test_a_policy_of_the_wrong_type_is_refused(missed: object) -> None:
    with pytest.raises(tenure.FieldTypeError):
        check_missed(missed)


# Fires that were missed

HOURLY = Cron("@hourly")


def hours(*given: int) -> list[datetime]:
    return [NOON + timedelta(hours=n) for n in given]


@pytest.mark.parametrize(
    ("missed", "late", "expected"),
    [
        ("one", timedelta(0), hours(5)),
        ("one", timedelta(minutes=59), hours(5)),
        ("skip", timedelta(0), hours(5)),
        ("skip", timedelta(seconds=59), hours(5)),
        ("skip", timedelta(seconds=60), []),
        ("skip", timedelta(minutes=59), []),
        (1, timedelta(minutes=30), hours(5)),
        (3, timedelta(minutes=30), hours(3, 4, 5)),
        (9, timedelta(minutes=30), hours(1, 2, 3, 4, 5)),
    ],
)
def test_of_five_missed_fires_the_policy_says_which_are_fired(
    missed: Missed, late: timedelta, expected: list[datetime]
) -> None:
    assert due(HOURLY, NOON, NOON + timedelta(hours=5) + late, missed) == expected


@pytest.mark.parametrize("missed", ["skip", "one", 5])
def test_nothing_is_due_before_the_first_fire_or_twice(missed: Missed) -> None:
    assert due(HOURLY, NOON, NOON + timedelta(minutes=59), missed) == []
    assert due(HOURLY, NOON, NOON, missed) == []
    assert due(HOURLY, None, NOON, missed) == []


@pytest.mark.parametrize("missed", ["skip", "one", 5])
def test_a_clock_that_was_set_back_makes_nothing_due(missed: Missed) -> None:
    assert due(HOURLY, NOON, NOON - timedelta(hours=5), missed) == []
    assert upcoming(HOURLY, NOON, NOON - timedelta(hours=5), missed) == NOON + timedelta(hours=1)


def test_years_of_missed_seconds_are_not_counted_one_by_one() -> None:
    cron = Cron("* * * * * *")
    looked_at = 0
    following = Cron.next

    def counted(self: Cron, after: datetime) -> datetime:
        nonlocal looked_at
        looked_at += 1
        return following(self, after)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Cron, "next", counted)
        assert due(cron, NOON - timedelta(days=3_650), NOON, 3) == [
            NOON - timedelta(seconds=n) for n in (2, 1, 0)
        ]
    assert looked_at < 1_000


def test_what_comes_next_is_what_is_due_already_or_else_to_come() -> None:
    now = NOON + timedelta(hours=5, minutes=30)
    assert upcoming(HOURLY, NOON, now, "one") == NOON + timedelta(hours=5)
    assert upcoming(HOURLY, NOON, now, 2) == NOON + timedelta(hours=4)
    assert upcoming(HOURLY, NOON, now, "skip") == NOON + timedelta(hours=6)
