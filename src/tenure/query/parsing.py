"""From text to a filter. Every mistake is told with its place, what was expected there, and what is most like it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from tenure.duration import parse as parse_duration
from tenure.errors import FieldError, FilterError
from tenure.filters import MAX_VALUE, Filter, expand_states
from tenure.inside import check_path
from tenure.job import State
from tenure.newjob import MAX_NAME, check_id
from tenure.patterns import MAX_STARS, parts_of
from tenure.query.fields import FIELDS, PAYLOAD, STATES, Field, field_of
from tenure.query.near import nearest
from tenure.query.words import Value, Word, words_of

__all__ = ["parse"]

_COMPARED: Final = re.compile(r"(>=|<=|>|<|)(.*)", re.DOTALL)
_WHOLE: Final = re.compile(r"-?\d{1,9}\Z")
_OTHER: Final = {">": "<=", ">=": "<", "<": ">=", "<=": ">"}
_LISTS: Final = {"kind": "kinds", "queue": "queues", "error": "error"}


def parse(text: str) -> Filter:
    """The filter that a text says; an empty text means every job."""
    said = _Said(text)
    for word in words_of(text):
        said.take(word)
    return Filter(**said.given())


class _Said:
    """What has been said so far, word by word."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._parts: dict[str, Any] = {}
        self._not_states: list[str] = []
        self._once: set[str] = set()

    def take(self, word: Word) -> None:
        """One word more."""
        field = field_of(word.field)
        if field is None:
            raise self._unknown(word)
        if word.negated and not field.negates:
            raise self._wrong(word, f"{word.field} cannot be turned around", "the word without the minus")
        for value in word.values:
            self._check(field, value)
        if len(word.values) > 1 and not field.several:
            raise self._wrong(word.values[1], f"{word.field} takes one value", _one_value(field))
        self._takers()[field.name](word)

    def given(self) -> dict[str, Any]:
        """The parts of the filter."""
        if self._not_states:
            states = expand_states(self._parts.get("states")) or [s.value for s in State]
            left = [s for s in states if s not in (expand_states(self._not_states) or ())]
            if not left:
                raise FilterError(self._text, 0, len(self._text), "no state is left", "a state that is not excluded")  # fmt: skip
            self._parts["states"] = tuple(left)
        return self._parts

    def _takers(self) -> dict[str, Callable[[Word], None]]:
        return {
            "state": self._state,
            **dict.fromkeys(_LISTS, self._listed),
            "age": self._age,
            "overdue": self._overdue,
            "attempt": self._compared,
            "priority": self._compared,
            "tag": self._tag,
            "id": self._ids,
            **dict.fromkeys(("fingerprint", "group", "tenant", "flow"), self._alone),
            "parent": self._parent,
            PAYLOAD: self._payload,
        }

    def _state(self, word: Word) -> None:
        for value in word.values:
            if value.text not in STATES:
                raise self._wrong(
                    value,
                    f"there is no state {value.text!r}",
                    f"one of {', '.join(STATES)}",
                    nearest(value.text, STATES),
                )
        names = _texts(word)
        if word.negated:
            self._not_states += names
        else:
            self._first(word)
            self._parts["states"] = names

    def _listed(self, word: Word) -> None:
        part = _LISTS[word.field]
        if word.negated:
            part = f"except_{part}"
        else:
            self._first(word)
        self._add(part, _texts(word))

    def _tag(self, word: Word) -> None:
        self._add("except_tag" if word.negated else "tag", _texts(word))

    def _ids(self, word: Word) -> None:
        self._first(word)
        self._parts["ids"] = tuple(self._id(value) for value in word.values)

    def _parent(self, word: Word) -> None:
        self._first(word)
        self._parts["parent"] = self._id(word.values[0])

    def _alone(self, word: Word) -> None:
        self._first(word)
        self._parts[word.field] = word.values[0].text

    def _payload(self, word: Word) -> None:
        path = word.field.removeprefix(PAYLOAD)
        try:
            check_path(path, "payload")
        except FieldError:
            raise FilterError(
                self._text,
                word.start,
                word.start + len(word.field),
                f"{path!r} is no path into a payload",
                "keys joined by dots, as in payload.items.0.sku",
            ) from None
        self._add("except_payload" if word.negated else "payload", ((path, _texts(word)),))

    def _age(self, word: Word) -> None:
        value = word.values[0]
        operator, rest = self._comparison(word)
        expected = "> or < and a length of time, as in age:>1h or age:<7d"
        if not operator:
            raise self._wrong(value, "an age is never exact", expected, f"age:>{rest}" if rest else "")
        try:
            span = parse_duration(rest, "age")
        except FieldError:
            raise self._wrong(value, f"{rest!r} is no length of time", expected) from None
        if operator in (">", ">="):
            self._tighten("older_than", span, max)
        else:
            self._tighten("newer_than", span, min)

    def _overdue(self, word: Word) -> None:
        value = word.values[0]
        operator, rest = self._comparison(word)
        expected = "> and a length of time, as in overdue:>5s"
        if operator not in (">", ">="):
            raise self._wrong(value, "it can only be asked what is overdue for longer", expected)
        try:
            self._tighten("overdue_by", parse_duration(rest, "overdue"), max)
        except FieldError:
            raise self._wrong(value, f"{rest!r} is no length of time", expected) from None

    def _compared(self, word: Word) -> None:
        value, name = word.values[0], word.field
        operator, rest = self._comparison(word)
        if not _WHOLE.match(rest):
            raise self._wrong(value, f"{rest!r} is no whole number", f"a number, as in {name}:3 or {name}:>=3")  # fmt: skip
        number = int(rest)
        if word.negated and not operator:
            raise self._wrong(word, f"-{name}:{rest} cannot be asked", f"{name}:<{rest} or {name}:>{rest}")
        if operator in ("", ">", ">="):
            self._tighten(f"{name}_from", number + (operator == ">"), max)
        if operator in ("", "<", "<="):
            self._tighten(f"{name}_to", number - (operator == "<"), min)

    def _comparison(self, word: Word) -> tuple[str, str]:
        found = _COMPARED.match(word.values[0].text)
        operator, rest = (found[1], found[2].strip()) if found else ("", "")
        return (_OTHER[operator] if word.negated and operator else operator), rest

    def _check(self, field: Field, value: Value) -> None:
        """What holds of every value."""
        if not value.text and (field.name != PAYLOAD or value.start == value.end):
            raise self._wrong(value, f"{field.name.rstrip('.')} has no value", field.takes)
        longest = MAX_NAME if field.name in ("kind", "queue", "tag") else MAX_VALUE
        if len(value.text) > longest:
            raise self._wrong(value, f"a value of {len(value.text)} characters", f"at most {longest}")
        if field.name in (*_LISTS, PAYLOAD) and len(parts_of(value.text)) > MAX_STARS + 1:
            raise self._wrong(value, "too many stars", f"at most {MAX_STARS}")

    def _id(self, value: Value) -> str:
        try:
            return check_id(value.text)
        except FieldError:
            raise self._wrong(value, f"{value.text!r} is no job's id", "a UUID, as tenure list tells it") from None  # fmt: skip

    def _first(self, word: Word) -> None:
        """A word of which one is enough: a second would have to mean both."""
        if word.field in self._once:
            field = field_of(word.field)
            several = field is not None and field.several
            expected = (
                f"alternatives in one word, as in {word.field}:one,two" if several else f"one {word.field}"
            )
            raise self._wrong(word, f"{word.field} is said twice", expected)
        self._once.add(word.field)

    def _add(self, part: str, more: Iterable[Any]) -> None:
        self._parts[part] = tuple(dict.fromkeys((*self._parts.get(part, ()), *more)))

    def _tighten(self, part: str, value: Any, choose: Callable[[Any, Any], Any]) -> None:
        self._parts[part] = choose(self._parts[part], value) if part in self._parts else value

    def _unknown(self, word: Word) -> FilterError:
        names = [f.name for f in FIELDS]
        near = nearest(word.field, names)
        if near == PAYLOAD or word.field == "payload":
            near = f"{PAYLOAD}{word.field.partition('.')[2] or 'PATH'}"
        told = ", ".join(n if n != PAYLOAD else f"{PAYLOAD}PATH" for n in names)
        end = word.start + len(word.field)
        return FilterError(self._text, word.start, end, f"there is no field {word.field!r}", f"one of {told}", near)  # fmt: skip

    def _wrong(self, where: Word | Value, what: str, expected: str, near: str = "") -> FilterError:
        return FilterError(self._text, where.start, where.end, what, expected, near)


def _texts(word: Word) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value.text for value in word.values))


def _one_value(field: Field) -> str:
    if field.name == "tag":
        return "the word once more, as in tag:a tag:b"
    return f"{field.takes}; a comma in a value needs quotes"
