"""What guards a batch of webhooks on SQLite: each condition of the trigger that stores it is taken away once, and the scene shows it.

The trigger is put together from statements whose own guards are in the table; these are the ones that it adds. The one that is
missing here, `changes() = 0`, only spares a look: a job that was stored holds its period itself.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tenure
from tenure.store.sqlite import whole

GUARDS = [
    ("NEW.unique_for IS NOT NULL", "true"),
    ("NEW.unique_for IS NULL OR changes() = 1", "true"),
    ("NEW.unique_for IS NULL OR changes() = 1", "NEW.unique_for IS NULL"),
    ("NEW.unique_for IS NULL OR changes() = 1", "changes() = 1"),
    ("NEW.body IS NOT NULL AND changes() = 1", "NEW.body IS NOT NULL"),
    ("NEW.body IS NOT NULL AND changes() = 1", "changes() = 1"),
    ("l.unique_hash = NEW.unique_hash AND", ""),
    ("AND l.job_id <> NEW.id", ""),
    ("(NEW.group_key IS NOT NULL)", "false"),
    ("(NEW.group_key IS NOT NULL)", "true"),
]


def scene(path: Path) -> Any:
    """Redeliveries, rows without a period, without a request and without either, in groups and without: what is told and kept."""

    def hook(n: int, **options: Any) -> tenure.NewJob:
        return tenure.NewJob(kind="k", payload=n, **options)

    request = tenure.Request(b"body", {})
    with tenure.open(f"sqlite:///{path}") as q:
        q.enqueue_many([hook(0, unique="a", unique_for="1h", request=request)])
        told = q.enqueue_many(
            [
                hook(1, unique="a", unique_for="1h", request=request, group="g"),
                hook(2, unique="b", unique_for="1h", group="g"),
                hook(3, request=request),
                hook(4),
                hook(5, unique="c", unique_for="1h", request=request, group="g"),
            ]
        )
        [claim] = q.claim(1)
        link = q._store._link(0)  # type: ignore[attr-defined]
        kept = [
            link.query(f"SELECT {what}", {})
            for what in (
                "payload, state, held FROM tenure_jobs ORDER BY seq",
                "count(*) FROM tenure_requests",
                "count(*) FROM tenure_ledger",
                "count(*) FROM temp.tenure_whole_aside",
            )
        ]
        return [one.inserted for one in told], claim.job.payload, kept


def test_the_scene_is_as_it_should_be(tmp_path: Path) -> None:
    told, first, kept = scene(tmp_path / "jobs.db")
    assert (told, first) == ([False, True, True, True, True], 0)
    assert kept[0] == [
        ("0", "running", None), ("2", "ready", 1), ("3", "ready", None), ("4", "ready", None), ("5", "waiting", None),
    ]  # fmt: skip
    assert kept[1:] == [[(3,)], [(3,)], [(0,)]]


@pytest.mark.parametrize(("guard", "without"), GUARDS, ids=[f"{g} → {w or 'nothing'}" for g, w in GUARDS])
def test_without_a_guard_the_scene_is_another(
    guard: str, without: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, script = scene(tmp_path / "whole.db"), whole._script
    changed = 0

    def weaker(*texts: str) -> tuple[str, ...]:
        nonlocal changed
        made = script(*texts)
        changed += guard in made[-1]
        return (*made[:-1], made[-1].replace(guard, without))

    monkeypatch.setattr(whole, "_script", weaker)
    try:
        found = scene(tmp_path / "weaker.db")
    except tenure.TenureError as error:
        found = error
    assert changed == 1
    assert found != expected
