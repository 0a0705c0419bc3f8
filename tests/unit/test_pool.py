"""The pool: no more than its size, nobody waits for ever, and what is gone makes room."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tenure.store.postgres.pool import Pool


def test_no_more_are_made_than_its_size_and_none_is_lent_twice() -> None:
    made: list[object] = []
    lent: set[int] = set()
    most: list[int] = []
    guard = threading.Lock()

    def make() -> object:
        made.append(object())
        return made[-1]

    pool = Pool(make, 3)

    def borrow(_: int) -> None:
        thing = pool.take()
        with guard:
            assert id(thing) not in lent
            lent.add(id(thing))
            most.append(len(lent))
        with guard:
            lent.discard(id(thing))
        pool.give_back(thing)

    with ThreadPoolExecutor(16) as threads:
        list(threads.map(borrow, range(3_000)))
    assert len(made) <= 3
    assert max(most) <= 3


@pytest.mark.parametrize("served", [False, True], ids=["before", "after"])
def test_who_is_interrupted_while_it_waits_costs_nobody_a_thing(
    monkeypatch: pytest.MonkeyPatch, *, served: bool
) -> None:
    """A Ctrl-C, say; what was given to it at that very moment goes on to others."""
    pool = Pool(object, 1)
    first = pool.take()

    def interrupted(_self: threading.Event, _timeout: float | None = None) -> bool:
        if served:
            pool.give_back(first)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(threading.Event, "wait", interrupted)
        with pytest.raises(KeyboardInterrupt):
            pool.take()
    if not served:
        pool.give_back(first)
    assert pool.take() is first


def test_who_waits_gets_what_is_given_back() -> None:
    pool = Pool(object, 1)
    first = pool.take()
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(pool.take)
        pool.give_back(first)
        assert waiting.result(30) is first


def test_what_is_gone_makes_room_for_a_new_one() -> None:
    pool = Pool(object, 1)
    first = pool.take()
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(pool.take)
        pool.forget()
        assert waiting.result(30) is not first


def test_one_that_cannot_be_made_takes_no_room() -> None:
    answers = iter([ValueError("no"), object()])

    def make() -> object:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    pool = Pool(make, 1)
    with pytest.raises(ValueError, match="no"):
        pool.take()
    assert pool.take() is not None


def test_draining_takes_out_all_that_are_idle() -> None:
    pool = Pool(object, 2)
    one, two = pool.take(), pool.take()
    pool.give_back(one)
    pool.give_back(two)
    assert set(pool.drain()) == {one, two}
    assert pool.take() not in (one, two)


def test_who_waits_is_served_before_those_who_take_and_give_back_all_the_time() -> None:
    pool = Pool(object, 2)
    stop = threading.Event()

    def busy() -> None:
        while not stop.is_set():
            pool.give_back(pool.take())

    with ThreadPoolExecutor(3) as threads:
        loops = [threads.submit(busy) for _ in range(2)]
        try:
            for _ in range(200):
                pool.give_back(threads.submit(pool.take).result(30))
        finally:
            stop.set()
        for loop in loops:
            loop.result(30)
