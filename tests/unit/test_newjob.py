"""A job before it is stored: how its options become a row, and what is refused at the door."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from tenure.errors import FieldError, FieldTypeError
from tenure.job import Request
from tenure.newjob import NewJob, check, check_id, new_id

CANONICAL = "0192f0c1-7b1e-7abc-8def-00000000000a"


def test_a_job_of_one_kind_and_nothing_else_has_the_defaults() -> None:
    row = check(NewJob(kind="k"))
    assert (row.queue, row.kind, row.rank, row.payload, row.max_attempts) == ("default", "k", 0, "null", 5)
    assert (row.run_at, row.delay, row.unique_hash, row.group_key, row.group_limit) == (None,) * 5
    assert (row.extra, row.alone, UUID(row.id).version) == (None, True, 7)


def test_options_become_whole_numbers_and_text() -> None:
    at = datetime(2030, 1, 1, tzinfo=UTC)
    row = check(
        NewJob(
            kind="k",
            priority=7,
            run_at=at,
            expires_in="1h",
            unique="u",
            unique_for="1d",
            group="g",
            tags=["t"],
        )
    )
    assert (row.rank, row.run_at, row.expires_in) == (-7, 1_893_456_000_000_000, 3_600_000_000)
    assert (row.unique_for, row.group_key, row.group_limit, row.alone) == (86_400_000_000, "g", 1, False)
    assert row.extra == '{"unique":"u","unique_for":86400000000,"tags":["t"]}'


def test_ids_grow_with_time() -> None:
    made = [new_id() for _ in range(100)]
    assert made == sorted(made)
    assert len(set(made)) == 100


def test_a_unique_key_counts_per_kind_and_whatever_its_length_takes_128_bits() -> None:
    def fingerprint(kind: str, key: str) -> str:
        found = check(NewJob(kind=kind, unique=key)).unique_hash
        assert found is not None
        return found

    different = {
        fingerprint(*pair)
        for pair in [("a", "bc"), ("ab", "c"), ("a", "b"), ("1:a", "b"), ("a", "x" * 8_192)]
    }
    assert len(different) == 5


def test_numbers_that_come_in_a_row_are_neighbours_and_none_is_taken_for_another_key() -> None:
    def fingerprint(key: str, kind: str = "a") -> str:
        return str(check(NewJob(kind=kind, unique=key)).unique_hash)

    row = [fingerprint(str(n)) for n in (0, 1, 9, 10, 99, 1_000_000_000, 10**18 - 1)]
    assert row == sorted(row)
    assert len({one[:16] for one in row}) == 1
    others = ("01", "00", "\u0661", "1 ", "-1", "+1", "1_0", "1.0", str(10**18), "9" * 19)
    different = {*row, *map(fingerprint, others), fingerprint("1", "b"), fingerprint("a1")}
    assert len(different) == len(row) + len(others) + 2
    assert {len(one) for one in different} == {32}
    assert {len(f) for f in different} == {32}
    assert fingerprint("a", "b") == fingerprint("a", "b")


@pytest.mark.parametrize(
    "given",
    [
        CANONICAL,
        CANONICAL.upper(),
        UUID(CANONICAL),
        CANONICAL.replace("-", ""),
        f"{{{CANONICAL}}}",
        f"urn:uuid:{CANONICAL}",
        "urn:" + CANONICAL.replace("-", ""),
        "0-1-9-2-f0c17b1e7abc8def00000000000a",
    ],
)
def test_an_id_has_one_spelling(given: str | UUID) -> None:
    assert check_id(given) == CANONICAL


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"kind": ""}, "kind"),
        ({"kind": "k" * 201}, "kind"),
        ({"kind": "a\nb"}, "kind"),
        ({"kind": " k"}, "kind"),
        ({"kind": "\ud800"}, "kind"),
        ({"queue": ""}, "queue"),
        ({"queue": "q\x00"}, "queue"),
        ({"priority": 32_768}, "priority"),
        ({"priority": -32_769}, "priority"),
        ({"max_attempts": 0}, "max_attempts"),
        ({"max_attempts": 2**31}, "max_attempts"),
        ({"delay": -1}, "delay"),
        ({"delay": 1, "run_at": datetime(2030, 1, 1, tzinfo=UTC)}, "delay"),
        ({"expires_in": 1, "expires_at": datetime(2030, 1, 1, tzinfo=UTC)}, "expires_in"),
        ({"unique": ""}, "unique"),
        ({"unique": "a\x00"}, "unique"),
        ({"unique": "\udfff"}, "unique"),
        ({"unique": "x" * 8_193}, "unique"),
        ({"unique_for": "1h"}, "unique_for"),
        ({"unique": "u", "unique_for": 0}, "unique_for"),
        ({"group": ""}, "group"),
        ({"group": "g", "group_limit": 0}, "group_limit"),
        ({"group": "g", "order": "any"}, "order"),
        ({"timeout": 0}, "timeout"),
        ({"tags": ["t"] * 33}, "tags"),
        ({"tags": [""]}, "tags"),
        ({"meta": {"": "x"}}, "meta"),
        ({"parent": "not-an-id"}, "parent"),
        ({"id": "not-an-id"}, "id"),
        ({"flow": "f" * 201}, "flow"),
        ({"tenant": ""}, "tenant"),
    ],
)
def test_an_option_that_breaks_a_rule_is_named(options: dict[str, Any], field: str) -> None:
    with pytest.raises(FieldError) as caught:
        check(NewJob(**{"kind": "k", **options}))
    assert caught.value.field == field
    assert str(caught.value).startswith(f"{field}: {caught.value.rule}, got ")


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"kind": None}, "kind"),
        ({"queue": b"q"}, "queue"),
        ({"priority": True}, "priority"),
        ({"priority": 1.0}, "priority"),
        ({"max_attempts": "5"}, "max_attempts"),
        ({"run_at": datetime(2030, 1, 1)}, "run_at"),  # noqa: DTZ001 - naive on purpose
        ({"run_at": "2030-01-01"}, "run_at"),
        ({"expires_at": datetime(2030, 1, 1)}, "expires_at"),  # noqa: DTZ001 - naive on purpose
        ({"delay": None, "expires_in": [1]}, "expires_in"),
        ({"unique": 5}, "unique"),
        ({"group": 5}, "group"),
        ({"tags": "t"}, "tags"),
        ({"tags": [1]}, "tags"),
        ({"meta": ["a"]}, "meta"),
        ({"meta": {"a": 1}}, "meta.a"),
        ({"id": 5}, "id"),
        ({"request": Request("text", {})}, "request.body"),  # type: ignore[arg-type]
    ],
)
def test_an_option_of_the_wrong_type_is_a_type_error(options: dict[str, Any], field: str) -> None:
    with pytest.raises(FieldTypeError) as caught:
        check(NewJob(**{"kind": "k", **options}))
    assert caught.value.field == field
    assert isinstance(caught.value, TypeError)
