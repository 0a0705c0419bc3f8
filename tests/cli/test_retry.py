"""`tenure retry`, as people run it: shown, asked, done in batches, interrupted and resumed."""

from __future__ import annotations

import json
import re
import sqlite3
from urllib.parse import quote
from uuid import uuid4

import psycopg
import pytest

import tenure
from tenure.config import PostgresPlace, locate
from tests.cli.desk import Desk, dead


def states(desk: Desk) -> dict[str, int]:
    with desk.queue() as q:
        return {state: n for state, n in q.counts()["default"].items() if n}


def test_without_a_terminal_it_wants_to_be_told_yes(desk: Desk) -> None:
    with desk.queue() as q:
        dead(q, 3)
    told = desk.run("retry", "state:dead")
    assert told.code == 2
    assert "3 jobs match state:dead: 3 dead" in told.err
    assert "there is no terminal to ask at; to retry 3 jobs, add --yes" in told.err
    assert states(desk) == {"dead": 3}


def test_told_yes_it_retries_what_matches(desk: Desk) -> None:
    with desk.queue() as q:
        dead(q, 3)
        dead(q, 2, kind="other")
    told = desk.run("retry", "kind:send", "--yes")
    assert (told.code, told.out, told.err) == (0, "3 retried\n", "")
    assert states(desk) == {"dead": 2, "ready": 3}
    assert desk.run("replay", "state:dead", "--yes", "--json").json == {
        "matched": 2, "more": False, "retried": 2, "conflicts": 0, "interrupted": False, "after": None,
    }  # fmt: skip


def test_only_dead_jobs_are_meant_where_no_state_is_named(desk: Desk) -> None:
    with desk.queue() as q:
        made = q.enqueue("send").id
        [claim] = q.claim()
        q.settle(claim, tenure.Done())
    told = desk.run("retry", "kind:send", "--yes")
    assert (told.code, told.err) == (
        3,
        "nothing matches state:dead kind:send (no state was named: dead ones)\n",
    )
    assert desk.run("retry", made, "--yes").out == "1 retried\n"
    assert states(desk) == {"ready": 1}


def test_they_are_retried_at_a_time_or_after_a_while(desk: Desk) -> None:
    with desk.queue() as q:
        first, second = dead(q, 2)
    assert desk.run("retry", first, "--yes", "--at", "2999-01-31T09:00:00Z").out == "1 retried\n"
    assert desk.run("retry", second, "--yes", "--delay", "1h").out == "1 retried\n"
    with desk.queue() as q:
        jobs = [q.get(one) for one in (first, second)]
    assert [job and job.state for job in jobs] == ["scheduled", "scheduled"]
    assert jobs[0] is not None
    assert jobs[0].run_at.isoformat() == "2999-01-31T09:00:00+00:00"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--at", "soon"], "--at: expected a time as in 2026-01-31T09:00:00Z, got 'soon'"),
        (["--at", "2999-01-31T09:00"], "--at: must say its zone"),
        (["--delay", "soon"], "--delay: must be a duration"),
        (["--delay", "1h", "--at", "2999-01-31T09:00:00Z"], "give one of the two"),
    ],
    ids=["word", "naive", "duration", "both"],
)
def test_a_time_that_is_none_is_said_and_nothing_is_retried(desk: Desk, given: list[str], told: str) -> None:
    with desk.queue() as q:
        dead(q, 1)
    ended = desk.run("retry", "state:dead", "--yes", *given)
    assert ended.code == 2
    assert told in ended.err
    assert states(desk) == {"dead": 1}


def test_a_dry_run_changes_nothing(desk: Desk) -> None:
    with desk.queue() as q:
        made = dead(q, 7)
    told = desk.run("retry", "state:dead", "--dry-run")
    assert told.code == 0
    assert "7 jobs match" in told.err
    assert "… and 2 more" in told.err
    seen = desk.run("retry", "state:dead", "--dry-run", "--json").json
    assert seen == {"matched": 7, "more": False, "states": {"dead": 7}, "sample": made[:1:-1]}
    assert states(desk) == {"dead": 7}


def test_a_job_whose_unique_key_is_taken_is_counted_and_stays(desk: Desk) -> None:
    with desk.queue() as q:
        q.enqueue("send", unique="u")
        [claim] = q.claim()
        q.settle(claim, tenure.Bury())
        q.enqueue("send", unique="u")
    assert desk.run("retry", "state:dead", "--yes").out == "0 retried, 1 conflicts\n"


@pytest.mark.parametrize(
    ("args", "code", "told"),
    [
        (["retry"], 2, "Missing argument 'FILTER"),
        (["retry", "state:dead"], 3, "nothing matches state:dead"),
        (["retry", "state:running", "--yes"], 2, "to retry is for jobs that are done, dead, cancelled"),
        (["retry", "state:dead", "--rate", "fast"], 2, "--rate: expected a number and /s, /m or /h"),
        (["retry", "state:dead", "--rate", "0/s"], 2, "--rate: expected"),
        (["retry", "state:dead", "--after", "there"], 2, "'there' is no job's id"),
        (["retry", "--yes", "stat:dead"], 2, "there is no field 'stat'"),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, list) else "",
)
def test_a_mistake_is_one_sentence_and_an_exit_code(
    desk: Desk, args: list[str], code: int, told: str
) -> None:
    ended = desk.run(*args)
    assert ended.code == code
    assert told in ended.err


def test_on_a_terminal_it_shows_asks_and_tells_how_far_it_is(desk: Desk) -> None:
    with desk.queue() as q:
        dead(q, 3)
    with desk.terminal("retry", "state:dead") as terminal:
        terminal.until("Retry 3 jobs? [y/N]: ")
        assert "3 jobs match state:dead: 3 dead" in terminal.screen
        assert "no route to host" in terminal.screen
        terminal.type("y\n")
        assert terminal.end() == 0
        assert "[########################] 3 of 3" in terminal.screen
        assert "3 retried" in terminal.screen
    assert states(desk) == {"ready": 3}


def test_on_a_narrow_terminal_the_bar_stays_on_its_line(desk: Desk) -> None:
    with desk.queue() as q:
        dead(q, 20)
    with desk.terminal("retry", "state:dead", "--yes", "--rate", "10/s") as terminal:
        terminal.resize(30)
        terminal.until("of 20")
        assert terminal.end() == 0
    bars = [line for line in re.split(r"[\r\n]", terminal.screen) if line.startswith("[")]
    assert bars
    assert all(len(bar.removesuffix("\x1b[K")) < 30 for bar in bars)


def test_a_role_that_may_only_look_is_refused_in_one_sentence(postgres_desk: Desk) -> None:
    """There is nothing to go on with: the same command would be refused again."""
    with postgres_desk.queue() as q:
        dead(q, 2)
    role, place = f"r_{uuid4().hex[:12]}", locate(postgres_desk.url)
    assert isinstance(place, PostgresPlace)
    with psycopg.connect(place.conninfo, autocommit=True) as admin:
        admin.execute(f"CREATE ROLE {role}".encode())
        try:
            admin.execute(f'GRANT USAGE ON SCHEMA "{place.schema}" TO {role}'.encode())
            admin.execute(f'GRANT SELECT ON ALL TABLES IN SCHEMA "{place.schema}" TO {role}'.encode())
            as_role = f"{postgres_desk.url}&options={quote(f'-c role={role}')}"
            told = postgres_desk.run("retry", "state:dead", "--yes", url=as_role)
        finally:
            admin.execute(f"DROP OWNED BY {role}".encode())
            admin.execute(f"DROP ROLE {role}".encode())
    assert (told.code, told.out) == (1, "")
    assert told.err.startswith("Error: this role may not do that: permission denied for ")
    assert "goes on with the rest" not in told.err


@pytest.mark.parametrize(
    ("answer", "code", "told"),
    [("\n", 1, "nothing was changed"), ("\x04", 1, "Aborted"), (None, 130, "interrupted")],
    ids=["no", "end of input", "Ctrl-C"],
)
def test_who_does_not_say_yes_has_changed_nothing(
    desk: Desk, answer: str | None, code: int, told: str
) -> None:
    with desk.queue() as q:
        dead(q, 1)
    with desk.terminal("retry", "state:dead") as terminal:
        terminal.until("Retry 1 job? [y/N]: ")
        terminal.waits()
        if answer is None:
            terminal.interrupt()
        else:
            terminal.type(answer)
        assert terminal.end() == code
        assert told in terminal.screen
    assert states(desk) == {"dead": 1}


def test_interrupted_it_says_how_far_it_got_and_goes_on_when_told_again(desk: Desk) -> None:
    with desk.queue() as q:
        dead(q, 120)
    with desk.terminal("retry", "state:dead", "--yes", "--rate", "20/s") as terminal:
        terminal.until(" of 120")
        terminal.interrupt()
        assert terminal.end() == 130
        found = re.search(r"interrupted: (\d+) of 120 retried; the same command with --after (\S+) goes on", terminal.screen)  # fmt: skip
    assert found is not None
    done = int(found[1])
    assert 20 <= done < 120
    assert states(desk) == {"dead": 120 - done, "ready": done}
    with desk.queue() as q:  # one of them dies again meanwhile
        [claim] = q.claim(1)
        q.settle(claim, tenure.Bury("failed"))
    rest = desk.run("retry", "state:dead", "--dry-run", "--after", found[2], "--json").json
    assert rest["matched"] == 120 - done
    again = desk.run("retry", "state:dead", "--yes", "--after", found[2])
    assert again.out == f"{120 - done} retried\n"
    assert states(desk) == {"ready": 119, "dead": 1}
    assert desk.run("retry", "state:dead", "--yes").out == "1 retried\n"


def test_sigterm_stops_it_in_good_order_too(desk: Desk) -> None:
    with desk.queue() as q:
        dead(q, 60)
    with desk.terminal("retry", "state:dead", "--yes", "--rate", "10/s", "--json") as terminal:
        terminal.until(" of 60")
        terminal.process.terminate()
        assert terminal.end() == 143
    told = json.loads(re.findall(r"\{.*\}", terminal.screen)[0])
    assert told["interrupted"]
    assert states(desk) == {"dead": 60 - told["retried"], "ready": told["retried"]}
    rest = desk.run("retry", "state:dead", "--yes", "--after", told["after"], "--json").json
    assert rest["retried"] == 60 - told["retried"]
    assert not rest["interrupted"]


def test_a_store_that_goes_away_meanwhile_is_told_with_how_far_it_got(desk: Desk) -> None:
    with desk.queue() as q:
        dead(q, 60)
    with desk.terminal("retry", "state:dead", "--yes", "--rate", "10/s") as terminal:
        terminal.until(" of 60")
        with sqlite3.connect(desk.folder / "jobs.db") as connection:
            connection.execute("CREATE TRIGGER no BEFORE UPDATE ON tenure_jobs BEGIN SELECT RAISE(ABORT, 'out of ink'); END")  # fmt: skip
        connection.close()
        assert terminal.end() == 1
    found = re.search(r"Error: .*out of ink.*: (\d+) of 60 retried; the same command with --after \S+ goes on", terminal.screen)  # fmt: skip
    assert found is not None, terminal.screen
    assert states(desk) == {"dead": 60 - int(found[1]), "ready": int(found[1])}


def test_it_works_on_postgresql(postgres_desk: Desk) -> None:
    with postgres_desk.queue() as q:
        dead(q, 600)
    assert postgres_desk.run("retry", "state:dead error:Timeout*", "--yes").out == "600 retried\n"
    assert states(postgres_desk) == {"ready": 600}
