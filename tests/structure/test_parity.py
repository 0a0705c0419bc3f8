"""The sync and the async face are one client: same methods, same signatures, same help."""

from __future__ import annotations

import inspect
from typing import Any, get_type_hints

import pytest

import tenure

PAIRS = [(tenure.Queue, tenure.AsyncQueue), (tenure.Transaction, tenure.AsyncTransaction)]
AWAY = {"__enter__": "__aenter__", "__exit__": "__aexit__"}
# Takes the caller's connection and waits for nothing; its type is where the faces differ.
NOT_AWAITED = {"using", "worker"}
# For a thread that waits, and for the app, which has one queue for both kinds of connection.
SYNC_ONLY = {"claim_owner", "inside", "watch"}


def public(face: type[Any]) -> set[str]:
    return {n for n in vars(face) if not n.startswith("_")}


def methods(face: type[Any]) -> list[str]:
    return sorted(n for n in public(face) if inspect.isfunction(vars(face)[n]))


CASES = [(one, other, name) for one, other in PAIRS for name in methods(one) if name not in SYNC_ONLY]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_both_faces_have_the_same_names(one: type[Any], other: type[Any]) -> None:
    assert public(one) - SYNC_ONLY == public(other)
    assert {AWAY[n] for n in AWAY if n in vars(one)} == {n for n in AWAY.values() if n in vars(other)}


@pytest.mark.parametrize(("one", "other", "name"), CASES)
def test_a_method_has_the_same_signature_on_both_faces(one: type[Any], other: type[Any], name: str) -> None:
    mine, theirs = inspect.signature(getattr(one, name)), inspect.signature(getattr(other, name))
    if name == "using":
        assert [(p.name, p.kind, p.default) for p in mine.parameters.values()] == [
            (p.name, p.kind, p.default) for p in theirs.parameters.values()
        ]
    else:
        assert mine == theirs


@pytest.mark.parametrize(("one", "other", "name"), CASES)
def test_a_method_is_awaited_on_the_async_face_alone(one: type[Any], other: type[Any], name: str) -> None:
    assert not inspect.iscoroutinefunction(getattr(one, name))
    assert inspect.iscoroutinefunction(getattr(other, name)) == (name not in NOT_AWAITED)


@pytest.mark.parametrize(("one", "other", "name"), CASES)
def test_a_method_has_help_on_both_faces(one: type[Any], other: type[Any], name: str) -> None:
    words, theirs = inspect.getdoc(getattr(one, name)), inspect.getdoc(getattr(other, name))
    assert words
    assert theirs
    if name not in ("using", "close"):
        assert words == theirs


@pytest.mark.parametrize(("one", "other", "name"), CASES)
def test_a_method_tells_its_types(one: type[Any], other: type[Any], name: str) -> None:
    for face in (one, other):
        hints = get_type_hints(getattr(face, name))
        asked = set(inspect.signature(getattr(face, name)).parameters) - {"self"}
        assert asked | {"return"} == set(hints)


@pytest.mark.parametrize("name", methods(tenure.Transaction))
def test_a_verb_in_a_transaction_is_the_queue_s_own(name: str) -> None:
    assert inspect.signature(getattr(tenure.Transaction, name)) == inspect.signature(
        getattr(tenure.Queue, name)
    )


def test_enqueue_takes_what_a_new_job_takes() -> None:
    taken = inspect.signature(tenure.Queue.enqueue).parameters
    fields = inspect.signature(tenure.NewJob).parameters
    assert set(taken) - {"self"} == set(fields)
    same = set(fields) - {"meta"}
    assert {n: taken[n].default for n in same} == {n: fields[n].default for n in same}


def test_both_faces_open_alike() -> None:
    one, other = inspect.signature(tenure.open), inspect.signature(tenure.aopen)
    assert one.parameters == other.parameters
