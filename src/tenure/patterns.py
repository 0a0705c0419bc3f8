r"""Patterns: text in which `*` stands for any run of characters, an empty one too, and `\*` for a star itself.

Case counts, and everything else stands for itself. Databases have words of their own for this, so a pattern is sent to
them in each.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["MAX_STARS", "escape", "is_pattern", "matches", "packed", "parts_of"]

MAX_STARS = 8
"""Each star multiplies what a hostile text may cost to match."""
_STAR = re.compile(r"(?<!\\)\*")
_GLOB = re.compile(r"[*?\[]")
_LIKE = re.compile(r"[\\%_]")


def is_pattern(text: str) -> bool:
    """Whether there is a star in it that stands for more than itself."""
    return _STAR.search(text) is not None


def parts_of(text: str) -> tuple[str, ...]:
    """What stands between the stars, each as it is meant; one part alone is no pattern but the text itself."""
    return tuple(part.replace(r"\*", "*") for part in _STAR.split(text))


def escape(text: str) -> str:
    """The pattern that matches this text alone."""
    return text.replace("*", r"\*")


def matches(parts: Sequence[str], text: str) -> bool:
    """Whether a text has these parts, in their order, from its beginning to its end."""
    if len(parts) == 1:
        return text == parts[0]
    first, *middle, last = parts
    if len(text) < len(first) + len(last) or not text.startswith(first) or not text.endswith(last):
        return False
    at, end = len(first), len(text) - len(last)
    for part in middle:
        found = text.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


def packed(parts: Sequence[str]) -> dict[str, str]:
    """The pattern in the words of each database: GLOB on SQLite (its LIKE ignores case), LIKE on PostgreSQL."""
    return {
        "glob": "*".join(_GLOB.sub(lambda found: f"[{found[0]}]", part) for part in parts),
        "liked": "%".join(_LIKE.sub(r"\\\g<0>", part) for part in parts),
    }
