"""An exception's traceback as text, the same that Python prints, at a fraction of the cost where many jobs fail alike.

Most of the time goes into each frame's lines (its source, the marks under it), which are the same whenever the same place
fails; they are kept. Whatever is not plain (causes, notes, groups, very deep stacks) is left to Python.
"""

from __future__ import annotations

import traceback
from types import CodeType, TracebackType

__all__ = ["story"]

_REMEMBERED = 1_024
_DEEP = 40
_frames: dict[tuple[CodeType, int, int], str] = {}


def story(error: BaseException) -> str | None:
    """The traceback's text; None where not even that can be had."""
    try:
        return _plain(error) if _is_plain(error) else "".join(traceback.format_exception(error))
    except Exception:
        return None


def _is_plain(error: BaseException) -> bool:
    chained = error.__cause__ is not None or (
        error.__context__ is not None and not error.__suppress_context__
    )
    odd = isinstance(error, (SyntaxError, BaseExceptionGroup, NameError, AttributeError, ImportError))
    return not (chained or odd or getattr(error, "__notes__", None))


def _plain(error: BaseException) -> str:
    lines: list[str] = []
    entry = error.__traceback__
    while entry is not None:
        if len(lines) == _DEEP:  # Python folds what repeats
            return "".join(traceback.format_exception(error))
        lines.append(_frame(entry))
        entry = entry.tb_next
    head = ["Traceback (most recent call last):\n"] if lines else []
    return "".join([*head, *lines, *traceback.format_exception_only(type(error), error)])


def _frame(entry: TracebackType) -> str:
    key = (entry.tb_frame.f_code, entry.tb_lasti, entry.tb_lineno)
    known = _frames.get(key)
    if known is None:
        if len(_frames) >= _REMEMBERED:
            _frames.clear()
        known = _frames[key] = "".join(traceback.extract_tb(entry, limit=1).format())
    return known
