"""A statement as a tree of tokens and parentheses, and the clauses in it: as much grammar as finding guards needs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Group", "Item", "Region", "Token", "groups", "keyword", "read", "regions", "split", "tokens", "without_comments"]  # fmt: skip

_TOKEN = re.compile(
    r"""(?P<space>\s+)|(?P<text>E?'(?:[^']|'')*')|(?P<name>"[^"]+"|[A-Za-z_]\w*)|(?P<parameter>:[a-z_]\w*)|(?P<number>\d+)"""
    r"""|(?P<sign>::|\|\||<=|>=|<>|->>|->|[-+*/%&=<>().,?;\[\]])"""
)
_COMMENT = re.compile(r"^\s*--.*$", re.MULTILINE)
_BEGIN = (
    "SELECT FROM WHERE ON GROUP ORDER LIMIT OFFSET FOR UNION RETURNING SET VALUES JOIN CROSS LEFT WINDOW HAVING WHEN THEN ELSE "
    "END CASE AS DO CONFLICT USING WITH INSERT UPDATE DELETE ,"
)
_BOUNDARIES = frozenset(_BEGIN.split())


@dataclass(frozen=True, slots=True)
class Token:
    """A word or sign, and where it stands."""

    kind: str
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Group:
    """What stands between two parentheses (or is the whole text), these included."""

    items: tuple[Item, ...]
    start: int
    end: int


Item = Token | Group


@dataclass(frozen=True, slots=True)
class Region:
    """What stands between two words that begin something, and the one it stands after."""

    after: str
    items: tuple[Item, ...]
    place: int
    """Where the first of its items stands in the group."""


def without_comments(text: str) -> str:
    """The statement alone."""
    return _COMMENT.sub("", text).strip()


def read(text: str) -> Group:
    """The tree of a statement."""
    stack: list[tuple[int, list[Item]]] = [(0, [])]
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None or found.lastgroup is None:
            raise ValueError(f"cannot read {text[at : at + 30]!r}")
        token = Token(found.lastgroup, found[0], at, found.end())
        at = found.end()
        if token.text == "(":
            stack.append((token.start, []))
        elif token.text == ")":
            start, items = stack.pop()
            stack[-1][1].append(Group(tuple(items), start, token.end))
        elif token.kind != "space":
            stack[-1][1].append(token)
    [(_, items)] = stack
    return Group(tuple(items), 0, len(text))


def tokens(items: tuple[Item, ...]) -> Iterator[Token]:
    """All words and signs, parentheses opened."""
    for item in items:
        if isinstance(item, Token):
            yield item
        else:
            yield from tokens(item.items)


def groups(group: Group) -> Iterator[Group]:
    """The group and all groups in it, in the order they begin."""
    yield group
    for item in group.items:
        if isinstance(item, Group):
            yield from groups(item)


def keyword(item: Item | None) -> str:
    """A word in capitals, or a sign; nothing for parentheses and texts."""
    return item.text.upper() if isinstance(item, Token) and item.kind in ("name", "sign") else ""


def regions(group: Group) -> list[Region]:
    """The group cut at every word that begins something."""
    found, after, place = [], "(", 0
    for n, item in enumerate(group.items):
        if keyword(item) in _BOUNDARIES:
            found.append(Region(after, group.items[place:n], place))
            after, place = keyword(item), n + 1
    found.append(Region(after, group.items[place:], place))
    return found


def split(items: tuple[Item, ...], word: str) -> list[tuple[Item, ...]]:
    """Cut at AND or OR; the AND of BETWEEN is none."""
    parts: list[list[Item]] = [[]]
    between = False
    for item in items:
        said = keyword(item)
        between = between or said == "BETWEEN"
        if said == word and not (between and word == "AND"):
            parts.append([])
        else:
            between = between and said != "AND"
            parts[-1].append(item)
    return [tuple(part) for part in parts]
