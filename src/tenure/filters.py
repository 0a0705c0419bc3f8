"""Which jobs are meant: the one filter that list, count, replay, cancel and purge understand.

Every part narrows; a part left out matches everything. In kinds, queues, errors and payload values `*` stands for any run of
characters (`\\*` for a star itself). `older_than` and `newer_than` are measured on the store's clock: for finished jobs from
when they finished, for the others from when they were enqueued. `tenure.query` reads and writes filters as text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tenure.duration import Duration, micros, parse
from tenure.errors import FieldError, FieldTypeError
from tenure.inside import check_path, fits, insides, needles
from tenure.job import PENDING, JobId, State
from tenure.newjob import MAX_NAME, check_id, check_whole
from tenure.patterns import MAX_STARS, is_pattern, packed, parts_of

__all__ = ["MAX_VALUE", "Filter", "expand_states", "listed"]

MAX_VALUE = 1_000
"""How long a text may be that is looked for."""
_LISTS = ("states", "kinds", "except_kinds", "queues", "except_queues", "ids")
_ONE_OR_MORE = ("tag", "except_tag", "error", "except_error")
_INT = 2_147_483_647
Texts = str | Iterable[str]
Within = Mapping[str, Texts] | Iterable[tuple[str, Texts]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which jobs are meant; every part narrows.

    A job has all of `tag` and none of `except_tag`. `error` is found anywhere in the last error, or with a `*` in it is
    the whole of it; "TimeoutError: too late" and "too late" are both the whole. `fingerprint` is what its last failure has in
    common with others that are alike (`q.error_groups`). `overdue_by` is for how long at least it should have been taken back
    from its worker, or been made ready. `payload` maps paths into the payload to
    what stands there: {"to": "a@b.c", "items.0.sku": ["A1", "A2"]}.
    """

    states: Iterable[State | str] | None = None
    kinds: Iterable[str] | None = None
    queues: Iterable[str] | None = None
    ids: Iterable[str] | None = None
    tag: Texts | None = None
    group: str | None = None
    tenant: str | None = None
    flow: str | None = None
    parent: str | None = None
    error: Texts | None = None
    fingerprint: str | None = None
    older_than: Duration | None = None
    newer_than: Duration | None = None
    overdue_by: Duration | None = None
    attempt_from: int | None = None
    attempt_to: int | None = None
    priority_from: int | None = None
    priority_to: int | None = None
    payload: Within | None = None
    except_kinds: Iterable[str] | None = None
    except_queues: Iterable[str] | None = None
    except_tag: Texts | None = None
    except_error: Texts | None = None
    except_payload: Within | None = None

    def __post_init__(self) -> None:
        """Lists given as generators are read once, here."""
        for name in _LISTS:
            values = getattr(self, name)
            if values is not None and not isinstance(values, str):
                if not isinstance(values, Iterable):
                    raise FieldTypeError(name, "must be a list of text", values, 'write ["one", "two"]')
                object.__setattr__(self, name, tuple(values))
        for name in _ONE_OR_MORE:
            object.__setattr__(self, name, listed(getattr(self, name), name))
        for name in ("payload", "except_payload"):
            object.__setattr__(self, name, insides(getattr(self, name), name))

    def parameters(self) -> dict[str, Any]:
        """The filter as the parameters of a statement."""
        words, but = self._insides("payload"), self._insides("except_payload")
        ids = self.chosen()
        return {
            "states": _json(expand_states(self.states)),
            "ids": _json(ids),
            **_names(self.kinds, "kinds", "kind_patterns"),
            **_names(self.except_kinds, "except_kinds", "except_kind_patterns"),
            **_names(self.queues, "queues", "queue_patterns"),
            **_names(self.except_queues, "except_queues", "except_queue_patterns"),
            "tags": _json(_texts(self.tag, "tag", MAX_NAME)),
            "except_tags": _json(_texts(self.except_tag, "except_tag", MAX_NAME)),
            "errors": _errors(self.error, "error"),
            "except_errors": _errors(self.except_error, "except_error"),
            "fingerprint": _one(self.fingerprint, "fingerprint"),
            "group_key": _one(self.group, "group"),
            "tenant": _one(self.tenant, "tenant"),
            "flow": _one(self.flow, "flow"),
            "parent": None if self.parent is None else check_id(self.parent, "parent"),
            "older": None if self.older_than is None else micros(parse(self.older_than, "older_than")),
            "newer": None if self.newer_than is None else micros(parse(self.newer_than, "newer_than")),
            "overdue": None if self.overdue_by is None else micros(parse(self.overdue_by, "overdue_by")),
            "attempt_from": _whole(self.attempt_from, "attempt_from"),
            "attempt_to": _whole(self.attempt_to, "attempt_to"),
            "rank_from": _minus(_whole(self.priority_to, "priority_to")),
            "rank_to": _minus(_whole(self.priority_from, "priority_from")),
            "needles": _json(needles(words)) if words or but else None,
        }

    def chosen(self) -> list[JobId] | None:
        """The ids that are meant, where only some are."""
        return None if self.ids is None else [check_id(i, "ids") for i in _many(self.ids, "ids")]

    def fitting(self) -> Callable[[str], bool] | None:
        """What is left to ask of a payload's text, if anything."""
        words, but = self._insides("payload"), self._insides("except_payload")
        return (lambda text: fits(words, but, text)) if words or but else None

    def only(self, states: Collection[State]) -> Filter:
        """The same jobs, as far as they are in one of these states."""
        allowed = [s.value for s in states]
        said = expand_states(self.states)
        return replace(self, states=[s for s in (allowed if said is None else said) if s in allowed])

    def _insides(self, name: str) -> Any:
        words = getattr(self, name) or ()
        for word in words:
            check_path(word.path, name)
            if not word.values:
                raise FieldError(name, "must say what stands at a path", word.path, 'write "*" for anything')
            for value in word.values:
                _pattern(value, name, MAX_VALUE, shortest=0)
        return words


def expand_states(states: Iterable[State | str] | None) -> list[str] | None:
    """States by name, "pending" standing for scheduled, waiting and ready; unknown names are refused."""
    if states is None:
        return None
    if isinstance(states, str):
        raise FieldTypeError("states", "must be a list of states", states, f"write [{states!r}]")
    known = {s.value for s in State}
    names: list[str] = []
    for state in states:
        if state == "pending":
            names.extend(s.value for s in PENDING)
        elif state in known:
            names.append(str(state))
        else:
            raise FieldError("states", f"must be among {', '.join(sorted(known))} or pending", state)
    return names


def listed(value: Any, field: str) -> tuple[Any, ...] | None:
    """One text, or several, as several."""
    if value is None:
        return None
    if isinstance(value, str):
        return (value,)
    if isinstance(value, bytes) or not isinstance(value, Iterable):
        raise FieldTypeError(field, "must be text, or a list of text", value)
    return tuple(value)


def _json(values: Any) -> str | None:
    return None if values is None else json.dumps(values)


def _names(values: Iterable[str] | None, exact: str, patterns: str) -> dict[str, str | None]:
    """Names as they are, and those with a star as patterns; both parameters of the field of this name."""
    if values is None:
        return {exact: None, patterns: None}
    names = [_pattern(v, exact, MAX_NAME) for v in _many(values, exact)]
    starred = [packed(parts_of(n)) for n in names if is_pattern(n)]
    return {
        exact: json.dumps([parts_of(n)[0] for n in names if not is_pattern(n)]),
        patterns: json.dumps(starred) if starred else None,
    }


def _errors(values: Any, field: str) -> str | None:
    """Patterns of a whole error; one without a star may stand anywhere in it."""
    if values is None:
        return None
    parts = [parts_of(_pattern(v, field, MAX_VALUE)) for v in values]
    return json.dumps([packed(p if len(p) > 1 else ("", *p, "")) for p in parts])


def _one(value: str | None, field: str) -> str | None:
    return None if value is None else _text(value, field, MAX_VALUE)


def _texts(values: Any, field: str, longest: int) -> list[str] | None:
    return None if values is None else [_text(v, field, longest) for v in values]


def _pattern(value: object, field: str, longest: int, shortest: int = 1) -> str:
    text = _text(value, field, longest, shortest)
    if len(parts_of(text)) > MAX_STARS + 1:
        raise FieldError(field, f"must have at most {MAX_STARS} stars", text)
    return text


def _text(value: object, field: str, longest: int, shortest: int = 1) -> str:
    if not isinstance(value, str):
        raise FieldTypeError(field, "must be text", value)
    if not shortest <= len(value) <= longest:
        raise FieldError(field, f"must be {shortest} to {longest} characters", value)
    if "\x00" in value or any("\ud800" <= c <= "\udfff" for c in value):
        raise FieldError(field, "must be text without NUL or lone surrogates", value)
    return value


def _whole(value: int | None, field: str) -> int | None:
    return None if value is None else check_whole(value, field, -_INT, _INT)


def _minus(value: int | None) -> int | None:
    return None if value is None else -value


def _many(values: Iterable[str], field: str) -> Iterable[str]:
    if isinstance(values, str):
        raise FieldTypeError(field, "must be a list of text", values, f"write [{values!r}]")
    return values
