"""Guards that are still there and hold less: the near misses of a hand that edits SQL.

- `fence`: the epoch of a claim may be later, or earlier, than the one that is asked for;
- `edge`: a comparison takes the edge in, or leaves it out (`<` and `<=`, `>` and `>=`);
- `or`: of two conditions one is enough (the AND of BETWEEN is none);
- `when`: the only condition of a CASE WHEN is true, so that what comes after it is never reached;
- `one`: LIMIT 1 bounds nothing; SQLite takes the first row of a subquery that stands for a value in any case, so there such a
  one is left alone;
- `more`: any other LIMIT lets one more through;
- `nulls`: rows without a value come at the other end, the others as they did.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.proof.guards.change import Change
from tests.proof.guards.reading import Group, Item, Region, Token, groups, keyword, regions, split

__all__ = ["ALL", "weaker"]

_EDGES = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
_DECIDES = frozenset({"WHERE", "ON", "HAVING", "WHEN", "("})
_WORDS = "AND OR WHERE ON WHEN THEN SELECT FROM , CASE HAVING END LIMIT ORDER GROUP AS UNION"
_ENDS = frozenset(_WORDS.split())
_ROWS = frozenset({"FROM", "JOIN", "AS", "IN", "ALL", "LATERAL", "ARRAY", "MATERIALIZED"})
"""After these words a subquery answers rows, and not one value."""
ALL = {"sqlite": "LIMIT -1", "postgres": "LIMIT ALL"}
"""How each database says that nothing is bounded."""


def weaker(tree: Group, text: str, store: str) -> Iterator[Change]:
    """All ways to hold less, in any order."""
    for group in groups(tree):
        yield from _edges(group, text)
        yield from _nulls(group, text)
        for region in regions(group):
            yield from _ors(region, text)
            if region.after in _DECIDES:
                yield from _fences(region, text)
            if region.after == "WHEN":
                yield from _when(group, region, text)
        yield from _mores(group, text)
    yield from _ones(tree, "FROM", store)


def _edges(group: Group, text: str) -> Iterator[Change]:
    for n, item in enumerate(group.items):
        new = _EDGES.get(keyword(item))
        if new:
            said = _around(group.items, n, text)
            yield Change("edge", item.start, item.end, new, f"{said}: {keyword(item)} → {new}")


def _fences(region: Region, text: str) -> Iterator[Change]:
    items = region.items
    for n, item in enumerate(items[1:-1], 1):
        right = (
            items[n + 1 : n + 4 : 2]
            if [keyword(one) for one in items[n + 2 : n + 3]] == ["."]
            else items[n + 1 : n + 2]
        )
        sides = [keyword(one) for one in (items[n - 1], *right)]
        if keyword(item) == "=" and any(side.endswith("EPOCH") for side in sides):
            for new in (">=", "<="):
                yield Change("fence", item.start, item.end, new, f"{_around(items, n, text)}: = → {new}")


def _ors(region: Region, text: str) -> Iterator[Change]:
    for n in sorted(_stops(region.items)):
        item = region.items[n]
        if keyword(item) == "AND" and 0 < n < len(region.items) - 1:
            yield Change("or", item.start, item.end, "OR", f"{_around(region.items, n, text)}: AND → OR")


def _when(group: Group, region: Region, text: str) -> Iterator[Change]:
    """Only of a CASE that asks; after the word CASE itself stands a value, if it compares one."""
    place = region.place - 1
    cases = [n for n in range(place) if keyword(group.items[n]) == "CASE"]
    compares = any(keyword(group.items[n + 1]) != "WHEN" for n in cases[-1:])
    if compares or not region.items or len(split(region.items, "AND")) > 1:
        return
    start, end = region.items[0].start, region.items[-1].end
    yield Change("when", start, end, "true", f"WHEN {text[start:end]} → true")


def _ones(group: Group, before: str, store: str) -> Iterator[Change]:
    value = bool(group.items) and keyword(group.items[0]) == "SELECT" and before not in _ROWS
    for region in regions(group):
        is_one = len(region.items) == 1 and isinstance(region.items[0], Token) and region.items[0].text == "1"
        if region.after == "LIMIT" and is_one and not (value and store == "sqlite"):
            start, end = group.items[region.place - 1].start, region.items[0].end
            yield Change("one", start, end, ALL[store], f"LIMIT 1 → {ALL[store]}")
    for n, item in enumerate(group.items):
        if isinstance(item, Group):
            yield from _ones(item, keyword(group.items[n - 1]) if n else "", store)


def _mores(group: Group, text: str) -> Iterator[Change]:
    for region in regions(group):
        if region.after == "LIMIT" and region.items:
            start, end = region.items[0].start, region.items[-1].end
            said = text[start:end]
            if said != "1":
                yield Change("more", start, end, f"{said} + 1", f"LIMIT {said} → {said} + 1")


def _nulls(group: Group, text: str) -> Iterator[Change]:
    other = {"LAST": "FIRST", "FIRST": "LAST"}
    for before, item in zip(group.items, group.items[1:], strict=False):
        if keyword(before) == "NULLS":
            said = text[before.start : item.end]
            yield Change(
                "nulls", item.start, item.end, other[keyword(item)], f"{said} → NULLS {other[keyword(item)]}"
            )


def _around(items: tuple[Item, ...], place: int, text: str) -> str:
    """What stands left and right, as far as the next condition."""
    stops = _stops(items)
    low = max((n + 1 for n in stops if n < place), default=0)
    high = min((n - 1 for n in stops if n > place), default=len(items) - 1)
    return text[items[low].start : items[high].end]


def _stops(items: tuple[Item, ...]) -> set[int]:
    """Where a condition ends; the AND of BETWEEN ends none."""
    found, between = set(), False
    for n, item in enumerate(items):
        said = keyword(item)
        if said in _ENDS and not (between and said == "AND"):
            found.add(n)
        between = said == "BETWEEN" or (between and said != "AND")
    return found
