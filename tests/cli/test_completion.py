"""Completion in a shell: the command's own words, and kinds, queues and schedules as the store knows them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from tenure.cli import main
from tests.cli.desk import Desk, Terminal
from tests.support.workers import until


def completed(*words: str) -> list[str]:
    """What may stand in place of the last word."""
    asked = ShellComplete(main, {}, "tenure", "_TENURE_COMPLETE")
    return [item.value for item in asked.get_completions(list(words[:-1]), words[-1])]


def test_the_store_is_asked_for_kinds_queues_tags_and_schedules(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    with desk.queue() as q:
        q.enqueue("send_email", queue="mail", tags=["vip", "very slow"])
        q.enqueue("resize", queue="pictures", tags=["vip", "bulk"])
        q.pause("misc")
        q.beat("w", kinds=["send_letter"])
        q.schedule("digest", "@daily", "send_email")
    monkeypatch.setenv("TENURE_URL", desk.url)
    assert completed("pause", "m") == ["mail", "misc"]
    assert completed("pause", "mail", "") == ["misc", "pictures"]
    assert completed("resume", "--url", desk.url, "p") == ["pictures"]
    assert completed("enqueue", "send") == ["send_email", "send_letter"]
    assert completed("cron", "run", "d") == ["digest"]
    assert completed("list", "kind:send") == ["kind:send_email", "kind:send_letter"]
    assert completed("list", "state:dead", "-queue:pi") == ["-queue:pictures"]
    assert completed("list", "tag:v") == ['tag:"very slow"', "tag:vip"]
    assert completed("list", "-tag:") == ["-tag:bulk", '-tag:"very slow"', "-tag:vip"]
    assert completed("retry", "state:de") == ["state:dead"]
    assert completed("to") == ["top"]


def test_a_shell_is_told_and_nobody_is_disturbed(desk: Desk) -> None:
    with desk.queue() as q:
        q.enqueue("send", queue="mail")
    asked = {"_TENURE_COMPLETE": "bash_complete", "COMP_WORDS": "tenure pause m", "COMP_CWORD": "2"}
    told = desk.run(**asked)
    assert (told.code, told.out, told.err) == (0, "plain,mail\n", "")
    away = desk.run(url="postgresql://nobody@127.0.0.1:1/none", **asked)
    assert (away.code, away.out.strip(), away.err) == (0, "", "")


def test_it_makes_nothing_where_there_is_no_store(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENURE_URL", f"sqlite:///{desk.folder}/nosuch.db")
    assert completed("pause", "") == []
    assert not (desk.folder / "nosuch.db").exists()
    monkeypatch.setenv("TENURE_URL", "ftp://x")
    assert completed("pause", "") == []


def test_it_works_on_postgresql_and_makes_no_schema_there(
    postgres_desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENURE_URL", postgres_desk.url)
    assert completed("pause", "") == []
    assert postgres_desk.run("migrate", "--check").code == 1
    with postgres_desk.queue() as q:
        q.enqueue("send", queue="mail")
    until(lambda: completed("pause", "") == ["mail"])  # it waits for a busy server no longer than a moment


def environment(desk: Desk) -> dict[str, str]:
    """As a shell has it that finds this very command."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {
        **os.environ,
        "PATH": path,
        "TENURE_URL": desk.url,
        "TERM": "dumb",
        "PS1": "$ ",
        "HOME": str(desk.folder),
    }


def test_bash_completes_a_word_with_a_colon_in_it(desk: Desk) -> None:
    """In the shell itself: it takes words apart at colons, and writes a blank behind what is complete."""
    with desk.queue() as q:
        q.enqueue("send_email", queue="mail")
    bash = Terminal(["bash", "--noprofile", "--norc", "-i"], desk.folder, environment(desk))
    try:
        bash.type('eval "$(_TENURE_COMPLETE=bash_source tenure)"; echo r""eady\n')
        bash.until("ready\r\n")
        bash.type("tenure list st\tde\tkind:send\t")
        bash.until("tenure list state:dead kind:send_email ")
        bash.type("'queue:mail state:can\t")
        bash.until("'queue:mail state:cancelled'")
    finally:
        bash.close()


def test_zsh_completes_a_word_with_a_colon_in_it(desk: Desk) -> None:
    """In the shell itself, where there is one: it writes no blank behind a field."""
    script = desk.run(_TENURE_COMPLETE="zsh_source").out
    assert "_describe -V fields fields -U -S ''" in script
    assert "fields+=" in script
    if shutil.which("zsh") is None:
        return
    with desk.queue() as q:
        q.enqueue("send_email", queue="mail")
    zsh = Terminal(["zsh", "-f", "-i"], desk.folder, environment(desk))
    try:
        zsh.type(
            'autoload -Uz compinit; compinit -u -D; eval "$(_TENURE_COMPLETE=zsh_source tenure)"; echo r""eady\n'
        )
        zsh.until("ready\r\n")
        zsh.type("tenure list st\t")
        zsh.until("tenure list state:")
        zsh.type("de\t")
        zsh.until("state:dead")
        zsh.type("kind:send\t")
        zsh.until("kind:send_email")
        zsh.type("'queue:mail state:can\t")
        zsh.until("'queue:mail state:cancelled'")
        assert "state: " not in zsh.screen
    finally:
        zsh.close()


def test_fish_completes_a_word_with_a_comma_in_it(desk: Desk) -> None:
    """In the shell itself, where there is one."""
    assert 'string split --max 1 "," $completion' in desk.run(_TENURE_COMPLETE="fish_source").out
    if shutil.which("fish") is None:
        return
    with desk.queue() as q:
        q.enqueue("send_email", queue="mail")
    lines = (
        "list st",
        "list state:dead,can",
        "list state:dead kind:send",
        "list 'queue:mail state:can",
        "pause m",
    )
    asked = "; ".join(f'complete -C "tenure {line}"' for line in lines)
    told = subprocess.run(
        ["fish", "--no-config", "-c", f"_TENURE_COMPLETE=fish_source tenure | source; {asked}"],
        check=True, capture_output=True, text=True, timeout=60, cwd=desk.folder, env=environment(desk),
    )  # fmt: skip
    assert [line.partition("\t")[0] for line in told.stdout.splitlines()] == [
        "state:", "state:dead,cancelled", "kind:send_email", "queue:mail state:cancelled", "mail",
    ]  # fmt: skip
