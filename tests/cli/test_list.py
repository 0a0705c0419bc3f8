"""`tenure list`, as people run it."""

from __future__ import annotations

import pytest

from tests.cli.desk import Desk, dead


def test_jobs_are_listed_newest_first_with_what_became_of_them(desk: Desk) -> None:
    with desk.queue() as q:
        [died] = dead(q, 1)
        ready = q.enqueue("resize", {"image": "a.png"}, queue="img").id
    told = desk.run("list")
    header, first, second = told.out.splitlines()
    assert header.split() == ["ID", "STATE", "KIND", "QUEUE", "TRY", "WHEN", "WHAT"]
    assert first.split()[:5] == [ready, "ready", "resize", "img", "0/5"]
    assert second.split()[:5] == [died, "dead", "send", "default", "1/5"]
    assert second.endswith("no route to host")
    assert (told.code, told.err) == (0, "")


def test_a_filter_narrows_and_its_words_may_stand_in_one_argument_or_several(desk: Desk) -> None:
    with desk.queue() as q:
        died = dead(q, 2)
        dead(q, 1, kind="other")
        q.enqueue("send")
    for words in (
        ["state:dead", "kind:se*", "-kind:other"],
        ["state:dead kind:se* -kind:other"],
        ["-kind:other", "-payload.orderId:8", "-payload.order-id:8", "-payload.N_2:*", "state:dead"],
    ):
        assert [job["id"] for job in desk.run("list", *words, "--json").lines] == died[::-1]
    assert [job["id"] for job in desk.run("list", died[0], "--json").lines] == died[:1]


def test_a_line_of_json_tells_everything_about_a_job(desk: Desk) -> None:
    with desk.queue() as q:
        made = q.enqueue("send", {"to": "é"}, tags=["x"], meta={"a": "b"}, timeout="90s").id
    told = desk.run("list", "--json").json
    assert (told["id"], told["payload"], told["tags"], told["meta"]) == (made, {"to": "é"}, ["x"], {"a": "b"})
    assert (told["state"], told["timeout"], told["result"], told["finished_at"]) == (
        "ready",
        90.0,
        None,
        None,
    )
    assert told["created_at"].endswith("+00:00")


def test_pages_go_on_where_the_last_one_said(desk: Desk) -> None:
    with desk.queue() as q:
        made = [q.enqueue("send").id for _ in range(3)]
    told = desk.run("list", "--limit", "2")
    assert f"--before {made[1]}" in told.err
    assert made[0] in desk.run("list", "--before", made[1]).out


def test_nothing_that_matches_is_told_by_the_exit_code(desk: Desk) -> None:
    told = desk.run("list", "state:dead")
    assert (told.code, told.out, told.err) == (3, "", "nothing matches\n")


def test_a_bad_filter_is_pointed_at(desk: Desk) -> None:
    told = desk.run("list", "kind:x state:ded")
    error, blank, text, carets = told.err.splitlines()
    assert told.code == 2
    assert error.startswith(
        "Error: filter, column 14: there is no state 'ded'; expected one of scheduled, waiting"
    )
    assert error.endswith("; did you mean dead?")
    assert (blank, text, carets) == ("", "  kind:x state:ded", "               ^^^")


@pytest.mark.parametrize(
    ("args", "code", "told"),
    [
        (["list", "--before", "7"], 2, "'7' is no job's id"),
        (["list", "--limit", "0"], 2, "0 is not in the range"),
        (["list", "--url", "sqlite:///nosuch.db"], 1, "there is no file 'nosuch.db' here"),
        (["list", "--url", "mysql://x"], 1, "unknown scheme"),
        (["list", "--app", "nosuch:app"], 1, "there is no module 'nosuch' here"),
        (["list", "--app", "a:b", "--url", "sqlite:///x"], 2, "give one of the two"),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, list) else "",
)
def test_a_mistake_is_one_sentence_and_an_exit_code(
    desk: Desk, args: list[str], code: int, told: str
) -> None:
    ended = desk.run(*args)
    assert ended.code == code
    assert told in ended.err


def test_an_app_knows_where_its_jobs_are(desk: Desk) -> None:
    (desk.folder / "shop.py").write_text(f"import tenure\napp = tenure.App({desk.url!r})\n")
    with desk.queue() as q:
        made = q.enqueue("send").id
    assert desk.run("list", "--app", "shop:app", "--json", url="none").json["id"] == made


def test_colours_are_for_terminals_that_want_them(desk: Desk) -> None:
    with desk.queue() as q:
        dead(q, 1, error="x" * 200)
    for environment, wanted in (({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)):
        with desk.terminal("list", **environment) as terminal:
            assert terminal.end() == 0
            assert ("\x1b[" in terminal.screen) is wanted
            # The last column ends where the terminal does.
            assert "…" in terminal.screen
    assert "\x1b" not in desk.run("list").out


def test_nothing_in_a_job_steers_the_terminal(desk: Desk) -> None:
    with desk.queue() as q:
        dead(q, 1, error="\x1b]0;pwned\x07\x1b[2Jred")
    with desk.terminal("list", NO_COLOR="1") as terminal:
        terminal.end()
        assert "\x1b" not in terminal.screen
        assert "\x07" not in terminal.screen


def test_words_are_completed_by_the_shell(desk: Desk) -> None:
    told = desk.run(_TENURE_COMPLETE="zsh_complete", COMP_WORDS="tenure list state:d", COMP_CWORD="2")
    assert r"state\:dead" in told.out
    assert r"state\:done" in told.out


def test_it_works_on_postgresql(postgres_desk: Desk) -> None:
    with postgres_desk.queue() as q:
        died = dead(q, 3)
        q.enqueue("send")
    told = postgres_desk.run("list", "state:dead error:Timeout* payload.n:1", "--json")
    assert told.json["id"] == died[1]
    assert postgres_desk.run("list", "state:running").code == 3


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_a_table_is_as_wide_as_its_terminal_and_cuts_ids_last(desk: Desk, columns: int) -> None:
    with desk.queue() as q:
        [died] = dead(q, 1, kind="send_a_very_long_letter", error="no route to host " * 9)
    with desk.terminal("list", COLUMNS=str(columns), NO_COLOR="1") as terminal:
        assert terminal.end() == 0
    header, row = terminal.screen.split("\r\n")[:2]
    assert (header.split()[0], len(row)) == ("ID", columns)
    assert len(header) <= columns
    assert row.endswith("…")
    assert (died in row) == (columns >= 80)
    assert died[-8:] in row
    assert max(map(len, desk.run("list", COLUMNS=str(columns)).out.splitlines())) > 150
