"""What a database brings: its SQL texts by name, how a statement is bound, and the named ways in which it differs.

SQL lives in files, one statement each, with parameters by name (`:limit`). The only text that is ever put into it is the
schema's or prefix's name, checked to be a plain identifier.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

__all__ = ["Capabilities", "Dialect", "Sql", "load_dialect", "parameters_of"]

_PARAMETER = re.compile(r"(?<![:\w]):([a-z_][a-z0-9_]*)")
_COMMENT = re.compile(r"^\s*--.*$", re.MULTILINE)


class Capabilities(Struct, frozen=True):
    """How a database differs from the others, by name; the verbs ask for nothing else."""

    copies: bool
    """Rows that ask nothing of others can be stored by a bulk copy."""
    marks: bool
    """Dead index entries stay for a while, so a claim remembers where it stood and reads from there."""
    defers: bool
    """Transactions run side by side, so a group may have to be decided about later."""
    takes: bool
    """A writer is alone: a claim picks from one lane after the other, then takes, and nobody comes between."""
    tells: bool
    """Who sleeps has to be told of new jobs; elsewhere a commit is heard by itself."""
    whole: bool
    """One statement stores a batch of jobs with their periods and requests (`enqueue_whole`); elsewhere it takes one for each."""


class Sql(Struct, frozen=True):
    """A statement's text as the driver takes it, and the names of its parameters in the order they are bound."""

    name: str
    text: str
    parameters: tuple[str, ...]


class Dialect(Struct, frozen=True):
    """A database's statements and capabilities."""

    name: str
    can: Capabilities
    statements: Mapping[str, Sql]
    place: Callable[[str], str]
    """Puts the schema's or prefix's name into a text."""


def parameters_of(text: str) -> tuple[str, ...]:
    """The names of a text's parameters, each once, in the order they first stand in it."""
    return tuple(dict.fromkeys(_PARAMETER.findall(_COMMENT.sub("", text))))


def load_dialect(name: str, can: Capabilities, place: Callable[[str], str], *, numbered: bool) -> Dialect:
    """All of a database's statements, read from its `sql` folder."""
    statements = {}
    for file in sorted(Path(__file__).with_name(name).joinpath("sql").iterdir()):
        sql = _load(file, place, numbered=numbered)
        statements[sql.name] = sql
    return Dialect(name, can, statements, place)


def _load(file: Path, place: Callable[[str], str], *, numbered: bool) -> Sql:
    text = _COMMENT.sub("", file.read_text("utf-8")).strip()
    parameters = parameters_of(text)
    if numbered:
        at = {p: f"${i}" for i, p in enumerate(parameters, 1)}
        text = _PARAMETER.sub(lambda m: at[m[1]], text)
    return Sql(file.stem, place(text), parameters)
