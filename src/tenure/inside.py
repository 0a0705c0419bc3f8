"""Words about what a payload holds: a path into it, and what stands there.

They are decided here, in Python, on the payload's text, so that every database says the same and a payload that is no JSON
spoils nothing; all that a database is asked for is whether the text has certain pieces in it (`needles`). A path is keys
joined by dots ("items.0.sku"; a number may be a list's index). A value is compared as text, numbers as numbers, and with a
list if it has such an element; `*` stands for any run of characters, and alone for anything at all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tenure.errors import FieldError, FieldTypeError
from tenure.patterns import matches, parts_of

__all__ = ["Inside", "check_path", "fits", "insides", "needles"]

MAX_PATH = 500
_PATH = re.compile(r'[^\s:",.]+(\.[^\s:",.]+)*\Z')
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?\Z")
_PLAIN = re.compile(r"[A-Za-z0-9 _.@:+=-]+")
"""Characters that every writer of JSON writes as they are."""
_NOTHING = object()
_ANYTHING = ("", "")


class Inside(NamedTuple):
    """One of these values stands at the path."""

    path: str
    values: tuple[str, ...]


def insides(given: Any, field: str) -> tuple[Inside, ...] | None:
    """Words as a filter keeps them, from a mapping of paths to a value or several, or from pairs of the same."""
    if given is None:
        return None
    pairs = given.items() if isinstance(given, Mapping) else given
    if isinstance(pairs, str) or not isinstance(pairs, Iterable):
        raise FieldTypeError(field, "must map paths to values", given, 'write {"to": "a@b.c"}')
    found = []
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise FieldTypeError(field, "must map paths to values", pair, 'write {"to": "a@b.c"}')
        path, said = pair
        values = (said,) if isinstance(said, str) else said
        if isinstance(values, bytes) or not isinstance(values, Iterable):
            raise FieldTypeError(field, "must map paths to text", said, 'write {"count": "3"}')
        found.append(Inside(path, tuple(values)))
    return tuple(found)


def check_path(path: object, field: str) -> str:
    """A path that a filter can name."""
    if not isinstance(path, str):
        raise FieldTypeError(field, "must have text as its path", path)
    if len(path) > MAX_PATH or not _PATH.match(path):
        raise FieldError(field, "must have keys joined by dots as its path, without blanks, colons, commas or quotes", path)  # fmt: skip
    return path


def needles(words: Iterable[Inside]) -> list[str]:
    """Pieces that a payload's text must have if all these hold: its keys, and what is plain in a value."""
    found: list[str] = []
    for word in words:
        found += [piece for key in word.path.split(".") if not key.isdecimal() for piece in _longest(key)]
        if len(word.values) == 1 and not _NUMBER.match(word.values[0]):
            found += _longest(*parts_of(word.values[0]))
    return list(dict.fromkeys(found))


def fits(words: Iterable[Inside], but: Iterable[Inside], payload: str) -> bool:
    """Whether all of `words` hold of the payload, and none of `but`; in one that is no JSON nothing stands anywhere."""
    try:
        value = json.loads(payload)
    except (ValueError, RecursionError):
        value = _NOTHING
    return all(_holds(word, value) for word in words) and not any(_holds(word, value) for word in but)


def _longest(*texts: str) -> list[str]:
    runs = [run for text in texts for run in _PLAIN.findall(text)]
    return [max(runs, key=len)] if runs else []


def _holds(word: Inside, payload: Any) -> bool:
    found = _at(payload, word.path.split("."))
    return found is not _NOTHING and any(_is(parts_of(value), found) for value in word.values)


def _at(value: Any, steps: Iterable[str]) -> Any:
    for step in steps:
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isdecimal() and len(step) < 10 and int(step) < len(value):
            value = value[int(step)]
        else:
            return _NOTHING
    return value


def _is(wanted: tuple[str, ...], found: Any) -> bool:
    if wanted == _ANYTHING:
        return True
    if isinstance(found, list):
        return any(not isinstance(inner, list) and _is(wanted, inner) for inner in found)
    if isinstance(found, dict):
        return False
    if matches(wanted, found if isinstance(found, str) else json.dumps(found)):
        return True
    return len(wanted) == 1 and _is_number(found) and _number(wanted[0]) == found


def _is_number(found: Any) -> bool:
    return isinstance(found, (int, float)) and not isinstance(found, bool)


def _number(text: str) -> int | float | None:
    if not _NUMBER.match(text):
        return None
    return int(text) if text.lstrip("-").isdecimal() else float(text)
