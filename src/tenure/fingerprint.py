"""What makes failures alike: kind, type of error, the innermost frame of the user's own code, and the words without their
particulars.

Particulars are numbers, ids, hex and quoted texts: a thousand jobs that fail for a thousand customers are one group. Line
numbers are left out, so that an edit elsewhere in the file makes no new group; who is shown the frame is told its line too.
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

__all__ = ["fingerprint", "own_frame"]

_LONGEST, _DEEPEST = 500, 16_384
"""How much is looked at, of the words from their start, of the frames from the innermost."""
_QUOTED = re.compile(r"""(?<!\w)'[^'\n]*'(?!\w)|"[^"\n]*"|`[^`\n]*`""")
_PARTICULAR = re.compile(r"[\w.:-]*\d[\w.:-]*|\b[0-9a-fA-F]{8,}\b")
_FRAME = re.compile(r'^  File "([^"\n]+)", line (\d+), in (.+)$', re.MULTILINE)
_FOREIGN = re.compile(r"[/\\](?:lib[/\\]python\d|site-packages[/\\]|dist-packages[/\\])|^<")
_SEPARATOR = re.compile(r"[/\\]")
_HERE = str(Path(__file__).parent)
_REMEMBERED = 1_024


def fingerprint(kind: str, error_kind: object, message: object, traceback: object) -> str:
    """The name that failures alike have in common: 16 hex digits. What is no text, though it should be, tells nothing."""
    error_kind, message, traceback = map(_text, (error_kind, message, traceback))
    return _named(kind, error_kind, message[:_LONGEST], _innermost(_frames(traceback))[0])


def own_frame(traceback: object) -> str:
    """Where in the user's own code it failed, as a person reads it: "mail/send.py:41 in send"; "" where nothing tells."""
    return _innermost(_frames(_text(traceback)))[1]


def _frames(traceback: str) -> str:
    """Without its last line, which is the error's own words: so tracebacks from one place are one text, and are read once."""
    return traceback[: traceback.rfind("\n", 0, -1) + 1][-_DEEPEST:]


def _text(given: object) -> str:
    return given if isinstance(given, str) else ""


@lru_cache(_REMEMBERED)
def _named(kind: str, error_kind: str, message: str, frame: str) -> str:
    words = _PARTICULAR.sub("#", _QUOTED.sub("#", message.partition("\n")[0]))
    told = f"{kind}\n{error_kind}\n{frame}\n{words}"
    return blake2b(told.encode("utf-8", "replace"), digest_size=8).hexdigest()


@lru_cache(_REMEMBERED // 4)
def _innermost(frames: str) -> tuple[str, str]:
    """The innermost frame that is neither a library's nor ours; the innermost of all where there is none.

    As file:function, which is what it is known by, and with its line, as it is shown.
    """
    found = _FRAME.findall(frames)
    own = [f for f in found if not _FOREIGN.search(f[0]) and not f[0].startswith(_HERE)] or found
    if not own:
        return "", ""
    path, line, function = own[-1]
    file = "/".join(_SEPARATOR.split(path)[-2:])
    return f"{file}:{function}", f"{file}:{line} in {function}"
