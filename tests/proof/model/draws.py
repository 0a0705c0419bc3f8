"""What the state machine draws from: jobs with every option, outcomes, waits; few of each, so that they meet."""

from __future__ import annotations

from typing import Any, Final, cast

from hypothesis import strategies as st

from tests.proof.model.words import SECOND, Ask, Name, Outcome

__all__ = [
    "GROUPS",
    "KINDS",
    "QUEUES",
    "WORKERS",
    "ask_of",
    "asks",
    "few",
    "filters",
    "outcomes",
    "pick",
    "waits",
]

WORKERS: Final = ("ann", "bob", "cid")
QUEUES: Final = ("default", "bulk")
KINDS: Final = ("mail", "sync", "page")
GROUPS: Final = {"one": 1, "two": 2}

few = st.integers(1, 4)
pick = st.integers(0, 255)
"""Which of what there is: taken modulo how many there are."""
waits = st.sampled_from([1, 5, 11, 31, 61]).map(lambda seconds: seconds * SECOND)


def _seldom(*values: object) -> st.SearchStrategy[Any]:
    """One of these, or more often nothing."""
    return st.sampled_from([None, None, None, *values])


def _said(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


asks: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(KINDS),
        "queue": _seldom("bulk"),
        "priority": _seldom(-1, 5),
        "delay": _seldom(0, 10, 60),
        "at": _seldom(-10, 20),
        "max_attempts": _seldom(1, 2, 3),
        "unique": _seldom("a", "b"),
        "unique_for": _seldom(40),
        "group": _seldom(*sorted(GROUPS)),
        "order": _seldom("start"),
        "expires_in": _seldom(15, 50),
        "expires_at": _seldom(-1, 25),
    }
).map(_said)
"""A job's options, times in seconds from now: `ask_of` makes a job of them."""

filters: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.just({}),
    st.fixed_dictionaries({}, optional={"kinds": st.lists(st.sampled_from(KINDS), min_size=1, unique=True)}),
    st.sampled_from(
        [{"queues": ["bulk"]}, {"except_queues": ["bulk"]}, {"queues": ["bulk"], "kinds": ["mail"]}]
    ),
)


def ask_of(now: int, options: dict[str, Any]) -> Ask:
    """The job that is meant; of two options that exclude each other, the first."""
    given = dict(options)
    for first, second in (("at", "delay"), ("expires_at", "expires_in")):
        if first in given:
            given.pop(second, None)
    if "unique" not in given:
        given.pop("unique_for", None)
    if "group" in given:
        given["limit"] = GROUPS[given["group"]]
    for name in ("delay", "unique_for", "expires_in"):
        if name in given:
            given[name] *= SECOND
    for name, option in (("at", "run_at"), ("expires_at", "expires_at")):
        if name in given:
            given[option] = now + given.pop(name) * SECOND
    return Ask(**given)


def _outcome(name: str, wait: int | None, say: int) -> Outcome:
    match name:
        case "done":
            return Outcome("done", result=say)
        case "fail":
            return Outcome("fail", delay=wait, text=f"it is broken ({say})")
        case "snooze":
            return Outcome("snooze", delay=wait or 0)
        case "bury":
            return Outcome("bury", text="it is hopeless" if say else "", reason="no hope")
        case "cancelled":
            return Outcome("cancelled", reason="as you wish" if say else None)
        case "crashed":
            return Outcome("crashed", text="its process is gone")
        case _:
            return Outcome(cast("Name", name))


outcomes = st.builds(
    _outcome,
    st.sampled_from(["done", "done", "fail", "snooze", "release", "bury", "cancelled", "crashed"]),
    st.sampled_from([None, 0, 5 * SECOND, 40 * SECOND]),
    st.integers(0, 1),
)
