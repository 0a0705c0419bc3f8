"""What viewers are not shown: values under keys that name a secret, wherever they are in a payload, result or request."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from tenure.errors import FieldError, FilterError
from tenure.filters import Filter
from tenure.query.fields import PAYLOAD, field_of
from tenure.query.words import Word, words_of

__all__ = ["Mask"]

STARS: Final = "***"
_SHORT: Final = 3
"""So many letters are found in many a word that means nothing by them."""
_COUNTED: Final = frozenset(("max", "min", "n", "num", "total"))


class Mask:
    """Hides; with no words it hides nothing."""

    def __init__(self, words: Iterable[str]) -> None:
        self._words = tuple(_plain(word) for word in words)

    def __bool__(self) -> bool:
        return bool(self._words)

    def hides(self, name: str) -> bool:
        """Whether what has this name is hidden.

        Names are held against our words by words of their own, however they are written: api_key, apiKey and API-KEYS are all
        an apikey, business_name is no ssn. A word of more than three letters may be a part of one (accesstoken), and several of
        something behind max, min, n, num or total are a count (max_tokens).
        """
        plain = _plain(name)
        near = [word for word in self._words if word in plain]
        parts = _split(name) if near else []
        return any(_stands(word, parts) for word in near)

    def text(self, text: str | None) -> str | None:
        """JSON text, as it is or with stars in it; what is no JSON cannot be looked into, and is all stars."""
        if text is None or not self._words:
            return text
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return STARS
        hidden, changed = self._value(value)
        return json.dumps(hidden) if changed else text

    def headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        """A request's headers; what signs a request is no secret, what lets one in is."""
        return {name: STARS if self.hides(name) else value for name, value in headers.items()}

    def put_back(self, given: Any, old: str) -> Any:
        """What was edited as `text` shows it, with the old values where stars were left; new values stay as they are given.

        Stars that cannot be told to stand for one value are refused: where there was none, and in a list's items that were
        edited or moved, for there another item's secret could be taken for this one's.
        """
        if not self._words:
            return given
        try:
            known = json.loads(old)
        except (ValueError, RecursionError):
            known = None
        return self._back(given, known, "payload")

    def check(self, which: Filter) -> None:
        """Refuse a filter that asks for what is hidden: by asking often enough, one could read it."""
        for word in (*(which.payload or ()), *(which.except_payload or ())):
            path: str = word.path
            if any(self.hides(key) for key in path.split(".")):
                raise FieldError(
                    "filter", "must not ask for a field that is masked", path, "an operator can look for it"
                )

    def asked(self, text: str) -> str | None:
        """What may be a filter, with stars for the values that `check` would not let be asked for; None: it is none."""
        if not self._words:
            return text
        try:
            words = words_of(text)
        except FilterError:
            return None
        for word in reversed(words):
            if self._asks(word):
                start = word.values[0].start
                text = f"{text[:start]}{STARS}{text[word.end :]}"
        return text

    def _asks(self, word: Word) -> bool:
        """Whether a word is about what is hidden; a field that is misspelt counts as well."""
        known = field_of(word.field) is not None and not word.field.startswith(PAYLOAD)
        return not known and any(self.hides(key) for key in word.field.split("."))

    def _back(self, given: Any, old: Any, path: str) -> Any:
        if isinstance(given, dict):
            known = old if isinstance(old, dict) else {}
            return {key: self._entry(key, inner, known, f"{path}.{key}") for key, inner in given.items()}
        if isinstance(given, list):
            same = isinstance(old, list) and len(old) == len(given)
            return [self._item(inner, old[at] if same else None, f"{path}[{at}]") for at, inner in enumerate(given)]  # fmt: skip
        return given

    def _entry(self, key: str, given: Any, old: Mapping[str, Any], path: str) -> Any:
        if not self.hides(key):
            return self._back(given, old.get(key), path)
        if given != STARS:
            return given
        if key not in old:
            raise _unknown(path)
        return old[key]

    def _item(self, given: Any, old: Any, path: str) -> Any:
        """Of a list: as it was, or without stars."""
        shown, hidden = self._value(old)
        # As texts, for 1 and true are equal in Python.
        if hidden and json.dumps(given, sort_keys=True) == json.dumps(shown, sort_keys=True):
            return old
        return self._back(given, None, path)

    def _value(self, value: Any) -> tuple[Any, bool]:
        if isinstance(value, dict):
            made, changed = {}, False
            for key, inner in value.items():
                hidden, other = (STARS, True) if self.hides(key) else self._value(inner)
                made[key], changed = hidden, changed or other
            return made, changed
        if isinstance(value, list):
            pairs = [self._value(inner) for inner in value]
            return [hidden for hidden, _ in pairs], any(other for _, other in pairs)
        return value, False


def _unknown(path: str) -> FieldError:
    return FieldError("payload", f"must say {path}: its stars stand for no value that is known", STARS, "write the value itself")  # fmt: skip


def _plain(name: str) -> str:
    return "".join(c.lower() for c in name if c.isalnum())


def _split(name: str) -> list[str]:
    """The words of a name, in small letters: what stands between separators, humps and digits, and the digits."""
    words, last = [""], ""
    for at, char in enumerate(name):
        if char.isupper():
            begins = not last.isupper() or name[at + 1 : at + 2].islower()
        else:
            begins = char.isdecimal() != last.isdecimal()
        if begins or not last.isalnum():
            words.append("")
        if char.isalnum():
            words[-1] += char.lower()
        last = char
    return [word for word in words if word]


def _stands(word: str, parts: Sequence[str]) -> bool:
    """Whether a word stands among the words of a name: as some of them in a row, or in one of them."""
    for at, part in enumerate(parts):
        counted = at > 0 and parts[at - 1] in _COUNTED
        if len(word) > _SHORT and word in part and not (counted and part == f"{word}s"):
            return True
        run = ""
        for further in parts[at:]:
            run += further
            if run == word or (run == f"{word}s" and not counted):
                return True
            if len(run) > len(word):
                break
    return not word
