"""A filter's text in words, each with its place in the text; and the same the other way: values, in quotes where they need them."""

from __future__ import annotations

from typing import Final, NamedTuple

from tenure.errors import FilterError
from tenure.patterns import escape
from tenure.query.near import meant

__all__ = ["MAX_TEXT", "Value", "Word", "exactly", "quoted", "words_of"]

MAX_TEXT: Final = 10_000


class Value(NamedTuple):
    """One value, without its quotes, and where it stands."""

    text: str
    start: int
    end: int


class Word(NamedTuple):
    """`-field:value,value` and where it stands; the field begins at `start`, behind the minus."""

    field: str
    values: tuple[Value, ...]
    negated: bool
    start: int
    end: int


def words_of(text: str) -> list[Word]:
    """The words of a text; FilterError where it has none of their shape."""
    if len(text) > MAX_TEXT:
        raise FilterError(text, MAX_TEXT, MAX_TEXT + 1, f"the filter is longer than {MAX_TEXT} characters")
    for at, char in enumerate(text):
        if char == "\x00" or "\ud800" <= char <= "\udfff":
            raise FilterError(text, at, at + 1, "a character that no job can have")
    found, at = [], _skip(text, 0)
    while at < len(text):
        word = _word(text, at)
        found.append(word)
        at = _skip(text, word.end)
    return found


def quoted(text: str) -> str:
    """The value as it is written: in quotes, if it would be read otherwise without."""
    if text and not text.startswith('"') and not any(c == "," or c.isspace() for c in text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def exactly(name: str) -> str:
    """The value that means this name and no other: a star in it stands for itself."""
    return quoted(escape(name))


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _word(text: str, at: int) -> Word:
    negated = text[at] == "-"
    start = at + 1 if negated else at
    colon = start
    while colon < len(text) and text[colon] != ":" and not text[colon].isspace():
        colon += 1
    if colon == start or colon == len(text) or text[colon] != ":":
        raise _no_word(text, start, max(colon, start + 1))
    values, end = [], colon
    while end == colon or (end < len(text) and text[end] == ","):
        value = _value(text, end + 1)
        values.append(value)
        end = value.end
    return Word(text[start:colon], tuple(values), negated, start, end)


def _value(text: str, at: int) -> Value:
    if text[at : at + 1] == '"':
        return _quoted_value(text, at)
    end = at
    while end < len(text) and text[end] != "," and not text[end].isspace():
        end += 1
    return Value(text[at:end], at, end)


def _quoted_value(text: str, at: int) -> Value:
    value, here = "", at + 1
    while here < len(text) and text[here] != '"':
        if text[here] == "\\" and text[here + 1 : here + 2] in ("\\", '"'):
            here += 1
        value += text[here]
        here += 1
    if here >= len(text):
        raise FilterError(text, at, len(text), "the quote is not closed", 'another " at the end of the value')
    end = here + 1
    if end < len(text) and text[end] != "," and not text[end].isspace():
        raise FilterError(text, end, end + 1, "text behind the closing quote", "a blank or a comma")
    return Value(value, at, end)


def _no_word(text: str, start: int, end: int) -> FilterError:
    said = text[start:end]
    return FilterError(
        text, start, end, f"{said!r} is no word of a filter", "field:value, as in state:dead", meant(said)
    )
