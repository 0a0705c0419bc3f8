"""Marks: where they are, what they tell, and that nothing is left of them once it is told."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from tenure.job import CLAIM_COLUMNS, Claim
from tenure.worker.marks import Marks, _lives, excuse, forget, left_behind, marks_in, read_marks


def claim_of(seq: int, epoch: int) -> Claim:
    """A claim on a job."""
    row = dict.fromkeys(CLAIM_COLUMNS, 0) | {"seq": seq, "epoch": epoch}
    return Claim(list(row.values()), "w", None)


def test_marks_tell_what_ran_inside_the_worker_and_what_in_its_children(tmp_path: Path) -> None:
    marks = Marks(tmp_path / "store" / "1.marks", "w", 4)
    marks.start(0, claim_of(7, 1))
    marks.start(2, claim_of(8, 3), apart=True)
    told = read_marks(marks.path)
    assert told is not None
    assert (told.worker, told.started, told.apart) == ("w", ((7, 1),), ((8, 3),))
    marks.start(2, claim_of(9, 1))
    told = read_marks(marks.path)
    assert told is not None
    assert (told.started, told.apart) == (((7, 1), (9, 1)), ())
    marks.stopping()
    told = read_marks(marks.path)
    assert told is not None
    assert (told.started, told.apart) == ((), ())
    marks.close()


def test_the_last_to_leave_removes_the_folder(tmp_path: Path) -> None:
    first, second = (Marks(tmp_path / "store" / f"{n}.marks", "w", 1) for n in range(2))
    first.close()
    assert [p.name for p in (tmp_path / "store").iterdir()] == ["1.marks"]
    second.close()
    assert list(tmp_path.iterdir()) == []
    forget(second.path)


def test_who_comes_while_another_leaves_finds_a_folder_all_the_same(tmp_path: Path) -> None:
    errors: list[BaseException] = []

    def come_and_go(name: str) -> None:
        try:
            for _ in range(2_000):
                Marks(tmp_path / "store" / name, "w", 1).close()
        except OSError as error:
            errors.append(error)

    threads = [threading.Thread(target=come_and_go, args=(name,)) for name in ("a", "b", "c")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert list(tmp_path.iterdir()) == []


def test_who_looks_for_the_dead_while_others_leave_finds_nobody(tmp_path: Path) -> None:
    over = threading.Event()

    def come_and_go() -> None:
        while not over.is_set():
            Marks(tmp_path / "store" / "1-w.marks", "w", 1).close()

    thread = threading.Thread(target=come_and_go)
    thread.start()
    try:
        for _ in range(1_000):
            assert left_behind(tmp_path / "store") == []
            assert len(marks_in(tmp_path / "store", 1)) <= 1
    finally:
        over.set()
        thread.join()


def test_marks_that_are_gone_when_they_are_looked_at_again_are_of_one_who_lives(tmp_path: Path) -> None:
    """It leaves in good order: nothing is to be told of it."""
    assert _lives(os.getpid(), tmp_path / "store" / "1.marks")


def test_who_was_killed_for_leaving_late_has_crashed_nothing(tmp_path: Path) -> None:
    marks = Marks(tmp_path / "store" / "1.marks", "w", 1)
    marks.start(0, claim_of(7, 1))
    excuse(marks.path)
    told = read_marks(marks.path)
    assert told is not None
    assert (told.started, told.apart) == ((), ())
    marks.close()
    excuse(marks.path)


def test_a_folder_that_cannot_be_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "store").touch()
    with pytest.raises(OSError, match="store"):
        Marks(tmp_path / "store" / "1.marks", "w", 1)
