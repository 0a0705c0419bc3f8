"""What makes failures alike, and what does not."""

from __future__ import annotations

import json

import pytest

import tenure
from tenure.fingerprint import fingerprint, own_frame

ALIKE = [
    ("no user 41", "no user 1729"),
    ("order 0195f1c2-7c1b-7e70-9f3e-5a1b2c3d4e5f is gone", "order 0195f1c2-aaaa-7e70-9f3e-5a1b2c3d4e60 is gone"),
    ("at 0x7f3a9c", "at 0x7f3a00"),
    ("no column 'name'", "no column 'a b'"),
    ('key "x" missing', 'key "yy" missing'),
    ("took 1.5 s", "took 12 s"),
    ("deadbeefcafe is bad", "abcdefabcdef is bad"),
]  # fmt: skip
TRACE = 'Traceback (most recent call last):\n  File "/srv/app/mail/send.py", line {line}, in {name}\n    go()\nValueError: {words}\n'


def told(words: str, line: int = 3, name: str = "send") -> str:
    return fingerprint("mail", "ValueError", words, TRACE.format(line=line, name=name, words=words))


def fails_alike(number: int) -> tenure.Fail:
    try:
        json.loads("{" + "x" * number)
    except ValueError as error:
        return tenure.Fail.of(error)
    raise AssertionError


@pytest.mark.parametrize(("one", "other"), ALIKE, ids=[a for a, _ in ALIKE])
def test_particulars_make_no_new_group(one: str, other: str) -> None:
    assert told(one) == told(other)


def test_another_line_makes_no_new_group_and_another_function_does() -> None:
    assert told("x", line=3) == told("x", line=99)
    assert told("x", name="send") != told("x", name="fetch")


def test_kind_type_and_words_tell_groups_apart() -> None:
    base = fingerprint("mail", "ValueError", "no user", None)
    assert base != fingerprint("post", "ValueError", "no user", None)
    assert base != fingerprint("mail", "KeyError", "no user", None)
    assert base != fingerprint("mail", "ValueError", "no order", None)
    assert len(base) == 16


def test_an_apostrophe_is_no_quote() -> None:
    assert told("can't send, won't try") != told("can't fetch, won't try")


def test_the_frame_is_ours_however_deep_the_library_failed() -> None:
    one, other = fails_alike(1), fails_alike(2)
    assert one.traceback is not None
    assert "json" in one.traceback
    names = [fingerprint("k", f.kind, f.error, f.traceback) for f in (one, other)]
    assert names[0] == names[1]
    elsewhere = one.traceback.replace("fails_alike", "fails_elsewhere")
    assert fingerprint("k", one.kind, one.error, elsewhere) != names[0]
    deeper = one.traceback.replace("raw_decode", "another")
    assert fingerprint("k", one.kind, one.error, deeper) == names[0]


def test_the_frame_is_told_with_its_line_as_a_person_reads_it() -> None:
    assert own_frame(TRACE.format(line=41, name="send", words="x")) == "mail/send.py:41 in send"
    told = own_frame(fails_alike(1).traceback)
    assert told.startswith("unit/test_fingerprint.py:")
    assert told.endswith(" in fails_alike")


@pytest.mark.parametrize("trace", [None, "", "no traceback", "\n"])
def test_any_text_is_taken(trace: str | None) -> None:
    assert len(fingerprint("k", "", "\ud800 ☃", trace)) == 16
    assert own_frame(trace) == ""
