"""The verbs of notes: small texts by name that processes leave each other."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from tenure.client.arguments import positive, text_of
from tenure.client.call import Call
from tenure.duration import Duration
from tenure.errors import FieldError
from tenure.newjob import check_name
from tenure.store import notes

__all__ = ["NoteVerbs"]


class NoteVerbs:
    """What can be done with notes."""

    def _now(self) -> int | None:
        raise NotImplementedError

    def note(self, name: str) -> Call[str | None]:
        """What a note says; None if there is none, or it is over."""
        known, now = check_name(name, "name"), self._now()
        return Call(lambda _: notes.note(known, now=now), reads=True)

    def set_note(
        self,
        name: str,
        value: str | None,
        *,
        expect: str | UnsetType | None = UNSET,
        keep: Duration | None = None,
    ) -> Call[bool]:
        """Put a note down under a name, in the place of any; None takes it away. Kept for ever, or as long as `keep`.

        With `expect` only if the note says that (None: if there is none): of many who try at once one is told True.
        False: it says something else, and nothing was changed.
        """
        known = check_name(name, "name")
        text = None if value is None else text_of(value, "value")
        wanted = expect if expect is None or expect is UNSET else text_of(expect, "expect")
        span = None if keep is None else positive(keep, "keep")
        if text is None and span is not None:
            raise FieldError("keep", "must not be given where a note is taken away", keep, "leave it out")
        now = self._now()
        return Call(
            lambda _: notes.set_note(known, text, expect=wanted, keep=span, now=now),
            # Who compared and lost the answer would find its own note, and not know it from another's.
            repeatable=expect is UNSET,
        )
