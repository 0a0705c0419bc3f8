"""The argument FILTER: the words behind a command that say which jobs are meant."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click
from click.shell_completion import CompletionItem

from tenure.cli.desk.opening import Misused

if TYPE_CHECKING:
    from tenure.filters import Filter

__all__ = ["LANGUAGE", "FilterCommand", "filter_argument", "filter_of", "optional_filter", "some_of"]

C = TypeVar("C", bound=Callable[..., Any])
LANGUAGE: Final = """\b
FILTER is words that all must hold. A comma means or, * any characters,
a minus in front turns a word around:
  state:dead,cancelled    kind:send_*     -queue:bulk      error:Timeout*
  age:>1h                 attempt:>=3     priority:>0      tag:vip
  id:0190…                parent:0190…    group:chat:7     tenant:acme
  payload.to:"a@b.c"      flow:import-7   fingerprint:9f…  overdue:>5s
pending is scheduled, waiting or ready. An id by itself will do for id:…
Put the filter in single quotes, so that the shell leaves it alone."""
_MINUS: Final = re.compile(r"-(?=[^\s:-][^\s:]*:)")
"""The one in front of a word, whatever the field is called: of one that there is not the language itself says so."""
_STAND_IN: Final = "\x1f"


class FilterCommand(click.Command):
    """A command with a filter: `-kind:a` is a word of it, and no option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the minus of such words from being read as an option's; it is put back everywhere, in values of options too."""
        rest = super().parse_args(ctx, [_MINUS.sub(_STAND_IN, arg, count=1) if _MINUS.match(arg) else arg for arg in args])  # fmt: skip
        ctx.params = {name: _put_back(value) for name, value in ctx.params.items()}
        return rest

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Options, and words that are turned around."""
        words = _words(ctx, incomplete) if re.match(r"-[a-z]", incomplete) else []
        return [*words, *super().shell_complete(ctx, incomplete)]


def _put_back(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_put_back(one) for one in value)
    return f"-{value[1:]}" if isinstance(value, str) and value.startswith(_STAND_IN) else value


def _complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001
    return _words(ctx, incomplete)


def _words(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """The words of the language; kinds and queues as the store knows them."""
    from tenure.cli.desk.knowing import known_words
    from tenure.query import complete, open_field

    field = open_field(incomplete)
    found = complete(incomplete, known=None if field is None else known_words(ctx, field))
    return [CompletionItem(incomplete[: found.start] + c.text, help=c.means) for c in found.candidates]


def filter_argument(command: C) -> C:
    """The words, each an argument of its own or all in one."""
    return click.argument("words", metavar="FILTER", nargs=-1, required=True, shell_complete=_complete)(command)  # fmt: skip


def optional_filter(command: C) -> C:
    """The same, where every job may be meant."""
    return click.argument("words", metavar="[FILTER]", nargs=-1, shell_complete=_complete)(command)


def filter_of(words: Sequence[str]) -> Filter:
    """The filter that the words say; a mistake is pointed at."""
    from tenure.errors import FieldError, FilterError
    from tenure.newjob import check_id
    from tenure.query import parse

    ids, rest = [], []
    for word in words:
        try:
            ids.append(check_id(word))
        except FieldError:
            rest.append(word)
    text = " ".join([*([f"id:{','.join(ids)}"] if ids else []), *rest])
    try:
        return parse(text)
    except FilterError as error:
        pointed = "\n".join(f"  {line}" for line in error.pointed().splitlines())
        raise Misused(f"{error}\n\n{pointed}") from None


def some_of(words: Sequence[str]) -> Filter:
    """The same, where nobody can have meant every job there is: an empty filter is a variable that was not set."""
    if not "".join(words).strip():
        raise Misused(
            "the filter is empty, which would mean every job; name at least a state, as in state:dead"
        )
    return filter_of(words)
