"""Completion in shells, where click's own does not do for the words of a filter.

To bash `state:de` is three words: it takes words apart at colons. Here it is the one it is meant to be: asked for the whole line
rather than for its words, we find the word that is being written; told what may stand in its place, bash puts it behind the last
colon. After a field, which a value follows at once, neither bash nor zsh writes a blank, and what has commas in it reaches fish whole.
"""

from __future__ import annotations

import os
from typing import Any, Final

from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ZshComplete,
    add_completion_class,
    split_arg_string,
)

__all__ = ["Bash", "Fish", "Zsh", "register"]

_WORDS: Final = 'COMP_WORDS="${COMP_WORDS[*]}"'
_LINE: Final = 'TENURE_LINE="${COMP_LINE:0:COMP_POINT}" TENURE_BREAKS="$COMP_WORDBREAKS"'
_END: Final = "    return 0\n"
_NO_BLANK: Final = "    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[:.] ]] && compopt -o nospace\n"
_DESCRIBED: Final = """\
            else
                completions_with_descriptions+=("$key":"$descr")
"""
_FIELD: Final = """\
            elif [[ "$key" == *[:.] ]]; then
                fields+=("$key":"$descr")
"""
_SHOW: Final = """\
    if [ -n "$completions_with_descriptions" ]; then
"""
_LOCAL: Final = "    local -a completions\n"
_SHOW_FIELDS: Final = """\
    if [ -n "$fields" ]; then
        _describe -V fields fields -U -S ''
    fi

"""
_SPLIT: Final = "string split"
_HERE: Final = "\x1f"
"""Stands where the cursor does, so that a blank before it is seen for what it is: the end of a word, or part of one."""


class Bash(BashComplete):
    """As click has it, with words as the command gets them."""

    source_template = BashComplete.source_template.replace(_WORDS, f"{_LINE} {_WORDS}").replace(
        _END, f"{_NO_BLANK}{_END}"
    )
    _written = ""
    """What bash takes for words that are there already."""

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the one that is being written, and as much as there is of that."""
        line = os.environ.get("TENURE_LINE")
        if line is None:
            return super().get_completion_args()
        *args, last = split_arg_string(f"{line}{_HERE}")
        incomplete = last.removesuffix(_HERE)
        before = line.removesuffix(incomplete)
        if before[-1:].isspace() and ":" in os.environ.get("TENURE_BREAKS", ""):  # it stands in no quotes
            self._written = incomplete[: incomplete.rfind(":") + 1]
        return args[1:], incomplete

    def format_completion(self, item: CompletionItem) -> str:
        """What bash has still to write."""
        return super().format_completion(CompletionItem(item.value.removeprefix(self._written), item.type))


class Zsh(ZshComplete):
    """As click has it, without a blank after a field."""

    source_template = (
        ZshComplete.source_template.replace(_LOCAL, f"{_LOCAL}    local -a fields\n")
        .replace(_DESCRIBED, _FIELD + _DESCRIBED)
        .replace(_SHOW, _SHOW_FIELDS + _SHOW)
    )


class Fish(FishComplete):
    """As click has it, with words that have commas in them."""

    source_template = FishComplete.source_template.replace(_SPLIT, f"{_SPLIT} --max 1")


def register(environment: Any = os.environ) -> None:
    """Have click use what the shell that asks needs."""
    shell = environment.get("_TENURE_COMPLETE", "").partition("_")[0]
    for one in (Bash, Zsh, Fish):
        if one.name == shell:
            add_completion_class(one)
