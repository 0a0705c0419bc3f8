"""One-time codes that let a stranger use a bot, and the notes in the store that remember codes and people.

    code = make_code(queue, "bot")          # shown once: the store keeps its hash only

A code is open, then used by one person for good. Who used it in an update and is asked about the same update again, after a
crash say, has used it still; in another update the code is worth nothing, so that who was put out does not come back with it.
"""

from __future__ import annotations

import re
import secrets
from hashlib import sha256

from tenure.client.async_queue import AsyncQueue
from tenure.client.queue import Queue
from tenure.duration import Duration

__all__ = ["code_in", "make_code", "redeem", "refused_note", "user_note"]

_ALPHABET = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"
"""Neither 0 and O, nor 1, I and L: what looks alike is not there. Small letters are taken for capital ones."""
_LENGTH = 10
_CODE = re.compile(
    rf"\s*(?:/start(?:@\w+)?\s+)?(?P<code>[{_ALPHABET}]{{{_LENGTH}}})\s*\Z", re.IGNORECASE | re.ASCII
)
_OPEN = "open"
_KEEP_USED = "7d"
"""How long a used code is remembered: longer than its update may be tried again."""


def make_code(queue: Queue, slug: str, keep: Duration = "7d") -> str:
    """A new code for a source, good once and for so long."""
    while True:
        code = "".join(secrets.choice(_ALPHABET) for _ in range(_LENGTH))
        if queue.set_note(_code_note(slug, code), _OPEN, expect=None, keep=keep):
            return code


def code_in(text: str | None) -> str | None:
    """The code that a message is, alone or after /start; None: it is none."""
    found = None if text is None else _CODE.match(text)
    return None if found is None else found["code"].upper()


async def redeem(
    queue: AsyncQueue, slug: str, code: str, person: int, update: int | None, *, known: bool
) -> bool:
    """Whether this code admits this person; one who is `known` uses up no other, but is told again of the own."""
    name, mine = _code_note(slug, code), f"used by {person} in update {update}"
    said = await queue.note(name)
    if said == _OPEN and not known:
        taken = await queue.set_note(name, mine, expect=_OPEN, keep=_KEEP_USED)
        said = mine if taken else await queue.note(name)
    if known:
        return said is not None and said.startswith(f"used by {person} ")
    if said == mine:
        await queue.set_note(user_note(slug, person), "by a code")
        return True
    return False


def user_note(slug: str, person: int) -> str:
    """The note that says a person may use the bot; take it away, and they may no more."""
    return f"gateway.{slug}.user.{person}"


def refused_note(slug: str, person: int) -> str:
    """The note that says a person was told no."""
    return f"gateway.{slug}.refused.{person}"


def _code_note(slug: str, code: str) -> str:
    return f"gateway.{slug}.code.{sha256(code.encode()).hexdigest()}"
