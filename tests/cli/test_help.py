"""Every command teaches: its help has an example, says how it answers programs, and stands in docs/cli.md."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from tenure.cli import main

DOCS = "\n".join(
    (Path(__file__).parents[2] / "docs" / page).read_text("utf-8")
    for page in ("cli.md", "worker.md", "gateway.md", "dashboard.md", "doctor.md")
)


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    """Every command by its words, groups too."""
    ctx = click.Context(group)
    for name in group.list_commands(ctx):
        found = group.get_command(ctx, name)
        assert found is not None
        yield " ".join((*path, name)), found
        if isinstance(found, click.Group):
            yield from commands(found, (*path, name))


ALL = dict(commands(main))


def test_every_command_has_help_with_an_example() -> None:
    for words, command in ALL.items():
        said = words.removesuffix(" serve")  # it is left out when one types it
        assert command.help, words
        if not isinstance(command, click.Group) or words == "cron":
            assert f"tenure {said}" in command.help, words
        silent = [p.name for p in command.params if isinstance(p, click.Option) and not p.help]
        assert not silent, words


def test_every_command_answers_in_json() -> None:
    single = {words: command for words, command in ALL.items() if not isinstance(command, click.Group)}
    assert len(single) > 25
    assert [words for words, command in single.items() if not any("--json" in p.opts for p in command.params)] == []  # fmt: skip


def test_every_command_is_told_of_in_the_docs() -> None:
    assert [words for words in ALL if " " not in words and f"tenure {words}" not in DOCS] == []


def test_every_exit_code_is_told_of_in_the_docs() -> None:
    assert [code for code in (0, 1, 2, 3, 130, 143) if f"\n| {code} |" not in DOCS] == []
