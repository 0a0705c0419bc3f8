"""Mutants of the SQL statements: the same statement with one guard gone, by rules that know nothing of any one statement.

What is weaker only is in `weaker.py`, what the schema guards in `schema.py`; what its triggers and functions do is changed by the same rules. Gone is each once:

- a condition (of WHERE and ON, and each side of every AND) is true;
- rows are locked no more (`lock`), or waited for instead of passed over (`skip`);
- a LIMIT other than 1 bounds nothing;
- what an ORDER BY with a LIMIT, or of the answer itself, puts in order comes the other way round, column by column; one that
  only puts locks or inserts in order is left out;
- ON CONFLICT DO NOTHING is left out, DO UPDATE does nothing; UPDATE OR IGNORE ignores nothing.

A mutant's name is the statement's file, the guard's word and its number: `hold.sql:epoch-1`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal

from tests.proof.guards.change import Change
from tests.proof.guards.reading import (
    Group,
    Item,
    groups,
    keyword,
    read,
    regions,
    split,
    tokens,
    without_comments,
)
from tests.proof.guards.schema import bodies, looser, unlike
from tests.proof.guards.weaker import ALL, weaker

__all__ = ["STORES", "Mutant", "StoreName", "done_by", "mutants", "mutants_of"]

StoreName = Literal["sqlite", "postgres"]
STORES: tuple[StoreName, ...] = ("sqlite", "postgres")
_FORCED = re.compile(r" INDEXED BY \w+")
"""SQLite refuses an index that a condition less no longer fits: a mutant may choose another."""
_WORDS = "AND OR NOT EXISTS SELECT FROM IN IS NULL TRUE FALSE ANY ARRAY BETWEEN WHERE CASE WHEN THEN ELSE END DISTINCT"
_NO_NAMES = frozenset(_WORDS.split())


@dataclass(frozen=True, slots=True)
class Mutant:
    """One statement with one guard gone, or weaker."""

    store: StoreName
    file: str
    name: str
    what: str
    text: str


def mutants(store: StoreName) -> list[Mutant]:
    """All mutants of a store's statements and of its schema, in the order of files and of the text."""
    found = []
    for file in sorted(files("tenure.store").joinpath(store, "sql").iterdir(), key=lambda f: f.name):
        found += mutants_of(store, file.name, file.read_text("utf-8"))
    for file in sorted(files("tenure.store").joinpath(store, "migrations").iterdir(), key=lambda f: f.name):
        text = file.read_text("utf-8")
        found += _made(store, file.name, text, [*looser(text), *done_by(text, store)])
    return found


def mutants_of(store: StoreName, file: str, whole: str) -> list[Mutant]:
    """All mutants of one statement."""
    text = without_comments(whole)
    changes = sorted(_changes(read(text), text, store), key=lambda c: (c.start, -c.end, c.word))
    return _made(store, file, text, changes)


def done_by(text: str, store: StoreName) -> Iterator[Change]:
    """All changes of what a migration's triggers and functions do, and of when."""
    for body in bodies(text):
        for place in (body.head, *body.statements):
            at, said = place[0], text[slice(*place)].rstrip("; \n")
            if place == body.head:
                # Of what stands there only a trigger's condition is SQL that the rules read.
                before, when, said = said.partition(" WHEN ")
                if not (when and body.table):
                    continue
                at += len(before) + len(when)
                yield Change(body.name, at, at + len(said), "true", f"WHEN {said} → true")
            for change in _changes(read(said), said, store):
                yield Change(body.name, at + change.start, at + change.end, change.new, change.what)
        yield from unlike(body, text)


def _made(store: StoreName, file: str, text: str, changes: list[Change]) -> list[Mutant]:
    count: Counter[str] = Counter()
    found = []
    for change in changes:
        count[change.word] += 1
        name = f"{file}:{change.word}-{count[change.word]}"
        changed = f"{text[: change.start]}{change.new}{text[change.end :]}"
        found.append(Mutant(store, file, name, " ".join(change.what.split()), _FORCED.sub("", changed)))
    return found


def _changes(tree: Group, text: str, store: StoreName) -> Iterator[Change]:
    for group in groups(tree):
        yield from _conditions(group, text)
        yield from _limits(group, text, store)
        yield from _locks(group)
        yield from _orders(group, text, tree)
        yield from _conflicts(group, text)
    yield from weaker(tree, text, store)


def _conditions(group: Group, text: str) -> Iterator[Change]:
    for region in regions(group):
        decides = region.after in ("WHERE", "ON", "HAVING")
        either = split(region.items, "OR")
        if decides and len(either) > 1:
            yield from _true(region.items, text)
        for one in either:
            parts = split(one, "AND")
            if len(parts) > 1 or (decides and len(either) == 1):
                for part in parts:
                    yield from _true(part, text)


def _true(part: tuple[Item, ...], text: str) -> Iterator[Change]:
    if part:
        start, end = part[0].start, part[-1].end
        said = text[start:end]
        if said.lower() != "true":
            yield Change(_word(part), start, end, "true", f"{said} → true")


def _word(part: tuple[Item, ...]) -> str:
    """What a condition is about: the first column, parameter or table in it."""
    flat = list(tokens(part))
    # A name before a parenthesis is a function; groups are opened here, so look at what follows in the tree.
    called = set(_called(part))
    for n, token in enumerate(flat):
        if token.kind == "parameter":
            return token.text.removeprefix(":")
        follows = flat[n + 1].text if n + 1 < len(flat) else ""
        if token.kind != "name" or token.text.upper() in _NO_NAMES or follows == "." or token.start in called:
            continue
        return token.text.removeprefix("tenure_").strip('"')
    return "condition"


def _called(items: tuple[Item, ...]) -> Iterator[int]:
    for n, item in enumerate(items):
        if isinstance(item, Group):
            yield from _called(item.items)
        elif item.kind == "name" and n + 1 < len(items) and isinstance(items[n + 1], Group):
            yield item.start


def _limits(group: Group, text: str, store: StoreName) -> Iterator[Change]:
    for region in regions(group):
        if region.after == "LIMIT" and region.items:
            start = group.items[region.place - 1].start
            end = region.items[-1].end
            said = text[start:end]
            if said != "LIMIT 1":
                yield Change("limit", start, end, ALL[store], f"{said} → {ALL[store]}")


def _locks(group: Group) -> Iterator[Change]:
    items = group.items
    for n, item in enumerate(items):
        if keyword(item) == "FOR" and n + 1 < len(items) and keyword(items[n + 1]) == "UPDATE":
            last = n + 1
            if last + 2 < len(items) and keyword(items[last + 1]) == "OF":
                last += 2
            if last + 2 < len(items) and keyword(items[last + 1]) == "SKIP":
                start, end = items[last + 1].start, items[last + 2].end
                yield Change("skip", start, end, "", "SKIP LOCKED left out")
                last += 2
            yield Change("lock", item.start, items[last].end, "", "FOR UPDATE left out")


def _orders(group: Group, text: str, tree: Group) -> Iterator[Change]:
    items = group.items
    words = [keyword(item) for item in items]
    # What only puts locks and inserts in order is taken away: the other way round would be an order as well.
    writes = "INSERT" in words or any(
        t.text.upper() == "LOCKED" or t.text.upper() == "FOR" for t in tokens(tree.items)
    )
    for region in regions(group):
        if region.after != "ORDER":
            continue
        keys, last = _keys(group, region.place + 1)
        start = items[region.place - 1].start
        rest = words[last + 1 :]
        until = rest.index("UNION") if "UNION" in rest else len(rest)
        # Who is told no column cannot tell which rows came first: such an order is there for the way it takes.
        blind = words[:2] == ["SELECT", "FROM"]
        if blind or (writes and "LIMIT" not in rest[:until]):
            yield Change("order", start, items[last].end, "", f"{text[start : items[last].end]} left out")
            continue
        for key in keys:
            yield _turned(key, text)


def _keys(group: Group, first: int) -> tuple[list[tuple[Item, ...]], int]:
    """The columns of an ORDER BY, and where its last item stands."""
    keys: list[list[Item]] = [[]]
    stop = frozenset({"LIMIT", "OFFSET", "FOR", "UNION", "RETURNING", "ON", "ROWS"})
    last = first
    for n in range(first, len(group.items)):
        item = group.items[n]
        if keyword(item) in stop:
            break
        last = n
        if keyword(item) == ",":
            keys.append([])
        else:
            keys[-1].append(item)
    return [tuple(key) for key in keys], last


def _turned(key: tuple[Item, ...], text: str) -> Change:
    start, end = key[0].start, key[-1].end
    said = text[start:end]
    words = [keyword(item) for item in key]
    if "DESC" in words:
        new = said.replace(" DESC NULLS LAST", " NULLS FIRST").replace(" DESC", "")
    else:
        new = f"{said} DESC"
    return Change("order", start, end, new, f"ORDER BY {said} → {new}")


def _conflicts(group: Group, text: str) -> Iterator[Change]:
    items = group.items
    words = [keyword(item) for item in items]
    for n in range(len(items) - 1):
        if words[n : n + 2] == ["OR", "IGNORE"]:
            yield Change("ignore", items[n].start, items[n + 1].end, "", "OR IGNORE left out")
        if words[n : n + 2] != ["ON", "CONFLICT"]:
            continue
        do = words.index("DO", n)
        if words[do + 1] == "NOTHING":
            end = items[do + 1].end
            yield Change("conflict", items[n].start, end, "", f"{text[items[n].start : end]} left out")
        else:
            stops = [m for m in range(do, len(items)) if words[m] == "RETURNING"]
            end = items[(stops[0] if stops else len(items)) - 1].end
            yield Change("conflict", items[do].start, end, "DO NOTHING", "DO UPDATE → DO NOTHING")
