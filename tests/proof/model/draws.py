"""What the state machine draws from: jobs with every option, outcomes, waits; few of each, so that they meet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

from hypothesis import strategies as st

from tests.proof.model.words import SECOND, Ask, Name, Outcome, Request

__all__ = [
    "DRESSES",
    "GROUPS",
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
PAYLOADS: Final[tuple[Any, ...]] = (
    None, {}, [], "", 0, -0.0, 1.5, True, 2**70, "Straße \x00 ☃ \ud800", {"to": "ann", "parts": [1, 1.0, True, None]},
    {"": {"é": [[], {}, [{"deep": ["er"]}]]}, "b": 0, "a": 2**53 + 1},
)  # fmt: skip
"""Each shape that a payload can have."""
_NOBODY: Final = "01900000-0000-7000-8000-000000000001"
"""The id of a job that is not there: a parent may be gone."""
_HOOK: Final = Request(b'{"update_id": 7}\x00\xff', {"x-secret": "ü", "content-type": "application/json"})
DRESSES: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"payload": PAYLOADS[-2], "timeout": 90 * SECOND, "tags": ("red", "blue"), "meta": {"trace": "00-1", "é": "ü"}},
    {"payload": {}, "request": _HOOK, "tenant": "acme", "flow": "f1"},
    {"payload": PAYLOADS[-1], "request": Request(b"", {}), "tags": ("red",), "parent": _NOBODY},
    {"payload": "plain", "timeout": 1_500_000, "meta": {"a": ""}, "flow": "f2", "tenant": "b", "parent": _NOBODY},
)  # fmt: skip
"""What jobs carry along, for those of the scenes: one after the other."""

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
        "unique": _seldom("a", "7"),
        "unique_for": _seldom(40),
        "group": _seldom(*sorted(GROUPS)),
        "order": _seldom("start"),
        "expires_in": _seldom(15, 50),
        "expires_at": _seldom(-1, 25),
        "payload": st.sampled_from(PAYLOADS),
        "timeout": _seldom(1, 90),
        "tags": _seldom(("red",), ("blue", "red"), ("ü",)),
        "meta": _seldom({"trace": "00-1"}, {"é": "ü", "a": ""}),
        "parent": _seldom(0, 1, 2, 3),
        "flow": _seldom("f1", "f2"),
        "tenant": _seldom("acme", "b"),
        "request": _seldom(_HOOK, Request(b"", {}), Request(bytes(range(256)), {"a": ""})),
    }
).map(_said)
"""A job's options, times in seconds from now, its parent by which of the jobs it is: `ask_of` makes a job of them."""

filters: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.just({}),
    st.fixed_dictionaries({}, optional={"kinds": st.lists(st.sampled_from(KINDS), min_size=1, unique=True)}),
    st.sampled_from(
        [{"queues": ["bulk"]}, {"except_queues": ["bulk"]}, {"queues": ["bulk"], "kinds": ["mail"]}]
    ),
)


def ask_of(now: int, options: dict[str, Any], there: Sequence[str]) -> Ask:
    """The job that is meant; of two options that exclude each other, the first."""
    given = dict(options)
    for first, second in (("at", "delay"), ("expires_at", "expires_in")):
        if first in given:
            given.pop(second, None)
    if "unique" not in given:
        given.pop("unique_for", None)
    if "group" in given:
        # One for all of a group: who is let in where they differ depends on who looks when (tests/conformance/test_groups.py).
        given["limit"] = GROUPS[given["group"]]
    if "parent" in given:
        given["parent"] = there[given["parent"] % len(there)] if there else _NOBODY
    for name in ("delay", "unique_for", "expires_in", "timeout"):
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
