"""A failure's traceback is what Python itself would print, also when its frames were met before."""

from __future__ import annotations

import traceback
from collections.abc import Callable

import pytest

from tenure import story as module
from tenure.story import story


def plain(n: int = 3) -> None:
    if n:
        plain(n - 1)
    raise RuntimeError("out\nof order")


def caused() -> None:
    try:
        plain()
    except RuntimeError as error:
        raise ValueError("for a reason") from error


def beside() -> None:
    try:
        plain()
    finally:
        int("x")


def noted() -> None:
    error = KeyError("k")
    error.add_note("look here")
    raise error


def grouped() -> None:
    raise ExceptionGroup("all", [ValueError(1), OSError(2, "no")])


def mistyped() -> None:
    _ = "".strp()  # type: ignore[attr-defined]


def wrong_source() -> None:
    compile("a b", "here.py", "exec")


def deep() -> None:
    plain(200)


def marked() -> None:
    _ = [1, 2][0] + [3][0] / (1 - 1)


EVERY = (plain, caused, beside, noted, grouped, mistyped, wrong_source, deep, marked)


@pytest.mark.parametrize("fail", EVERY, ids=lambda f: f.__name__)
def test_it_is_what_python_prints(fail: Callable[[], None]) -> None:
    for _ in range(2):
        with pytest.raises(Exception) as caught:
            fail()
        assert story(caught.value) == "".join(traceback.format_exception(caught.value))


def test_an_error_that_was_never_raised_has_one_too() -> None:
    error = ValueError("made, not raised")
    assert story(error) == "".join(traceback.format_exception(error))


def test_an_error_whose_words_cannot_be_read_still_has_one() -> None:
    class Sullen(Exception):
        def __str__(self) -> str:
            raise ValueError

    assert "<exception str() failed>" in (story(Sullen()) or "")


def test_it_remembers_no_more_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_REMEMBERED", 2)
    monkeypatch.setattr(module, "_frames", {})
    for fail in (plain, marked, plain):
        with pytest.raises((RuntimeError, ZeroDivisionError)) as caught:
            fail()
        assert story(caught.value) == "".join(traceback.format_exception(caught.value))
        assert len(module._frames) <= 2
