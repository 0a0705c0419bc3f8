"""Every guard in every SQL statement is there for a reason: without it, a named test fails."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from uuid import uuid4

import apsw
import psycopg
import pytest

from tenure.store.dialect import parameters_of
from tenure.store.open import script_at
from tests.proof import depth
from tests.proof.guards.mutants import STORES, Mutant, StoreName, done_by, mutants, mutants_of
from tests.proof.guards.schema import bodies, table_of
from tests.proof.guards.table import read_table, shown
from tests.proof.tally import Tally
from tests.support.child import ROOT
from tests.support.fresh import postgres_schema
from tests.support.postgres import VARIABLE

PARTS = 16
"""So many tests share the mutants in `make proof`."""
SHARE = 6
"""So many mutants of each store are played in `make test`."""
_SLOW = (":lock-", ":skip-")
_PARAMETER = re.compile(r"(?<![:\w]):([a-z_][a-z0-9_]*)")


@pytest.mark.parametrize("store", STORES)
def test_every_guard_has_a_line_in_the_table(store: StoreName) -> None:
    table = read_table(store)
    wanted = {m.name: shown(m) for m in mutants(store)}
    assert {name: line.what for name, line in table.items()} == wanted, (
        f"run `python -m tests.proof.guards.search {store}`"
    )
    assert [name for name, line in table.items() if not line.test] == []


@pytest.mark.parametrize("store", STORES)
def test_every_test_of_the_table_is_there(store: StoreName) -> None:
    texts: dict[str, str] = {}
    for line in read_table(store).values():
        if line.test:
            file, _, name = line.test.partition("::")
            text = texts.setdefault(file, (ROOT / file).read_text("utf-8"))
            assert f"def {name.partition('[')[0]}(" in text, line


def test_rules_find_what_guards_a_statement() -> None:
    text = """-- take: an example.
    UPDATE tenure_jobs SET state = 'running' WHERE seq IN (
        SELECT j.seq FROM tenure_jobs j WHERE j.state = 'ready' AND (j.expires_at IS NULL OR j.expires_at > :now)
          AND j.run_at BETWEEN :low AND :high
        ORDER BY j.run_at, j.seq DESC LIMIT :limit)"""
    found = {m.name: m.what for m in mutants_of("sqlite", "take.sql", text)}
    assert found == {
        "take.sql:seq-1": " ".join(text.partition("WHERE ")[2].split()) + " → true",
        "take.sql:state-1": "j.state = 'ready' → true",
        "take.sql:expires_at-1": "(j.expires_at IS NULL OR j.expires_at > :now) → true",
        "take.sql:run_at-1": "j.run_at BETWEEN :low AND :high → true",
        "take.sql:order-1": "ORDER BY j.run_at → j.run_at DESC",
        "take.sql:order-2": "ORDER BY j.seq DESC → j.seq",
        "take.sql:limit-1": "LIMIT :limit → LIMIT -1",
        "take.sql:more-1": "LIMIT :limit → :limit + 1",
        "take.sql:edge-1": "j.expires_at > :now: > → >=",
        "take.sql:or-1": "j.state = 'ready' AND (j.expires_at IS NULL OR j.expires_at > :now): AND → OR",
        "take.sql:or-2": "(j.expires_at IS NULL OR j.expires_at > :now) AND j.run_at BETWEEN :low AND :high: AND → OR",
    }


def test_rules_weaken_what_they_leave_in_place() -> None:
    text = """-- tell: an example.
    SELECT CASE WHEN j.held THEN 1 END, CASE j.state WHEN 'done' THEN 1 END, (SELECT a.n FROM a LIMIT 1)
    FROM (SELECT * FROM j LIMIT 1) j WHERE j.epoch = c.epoch ORDER BY j.age DESC NULLS LAST"""
    found = {
        m.what for m in mutants_of("sqlite", "tell.sql", text) if not m.name.startswith("tell.sql:order")
    }
    assert found == {
        "WHEN j.held → true", "LIMIT 1 → LIMIT -1", "j.epoch = c.epoch → true", "j.epoch = c.epoch: = → >=",
        "j.epoch = c.epoch: = → <=", "NULLS LAST → NULLS FIRST",
    }  # fmt: skip
    ones = [m for m in mutants_of("sqlite", "tell.sql", text) if ":one-" in m.name]
    assert ["FROM j LIMIT -1" in m.text for m in ones] == [True]
    assert len([m for m in mutants_of("postgres", "tell.sql", text) if ":one-" in m.name]) == 2


def test_rules_loosen_every_key_of_the_schema() -> None:
    for store in STORES:
        [file] = files("tenure.store").joinpath(store, "migrations").iterdir()
        text = file.read_text("utf-8")
        unique = len(re.findall(r"PRIMARY KEY|\bUNIQUE\b", text))
        done_by = {body.name for body in bodies(text)}
        found = [m for m in mutants(store) if m.file == file.name and table_of(m.name) not in done_by]
        assert len([m for m in found if "unique WHERE" not in m.what]) == unique
        assert all(
            m.text.count("CREATE UNIQUE") + m.text.count("PRIMARY KEY") < unique
            for m in found
            if "left out" in m.what
        )


def test_rules_change_what_every_trigger_and_function_does() -> None:
    for store in STORES:
        [file] = files("tenure.store").joinpath(store, "migrations").iterdir()
        text = file.read_text("utf-8")
        found = {body.name for body in bodies(text)}
        assert len(found) == len(
            re.findall("CREATE (?:OR REPLACE )?(?:TRIGGER|FUNCTION|PROCEDURE|RULE)", text)
        )
        assert found <= {table_of(m.name) for m in mutants(store) if m.file == file.name}
    told = """CREATE TRIGGER tenure_gone AFTER UPDATE ON tenure_jobs WHEN new.n < 3 BEGIN
    DELETE FROM tenure_a WHERE id = old.id AND n > 1;
    DELETE FROM tenure_b WHERE id = old.id;
END;"""
    found = {f"{c.word}: {told[c.start : c.end]} → {c.new}" for c in done_by(told, "sqlite")}
    first, second = (line.strip() for line in told.splitlines()[1:3])
    assert found == {
        "gone: new.n < 3 → true", "gone: < → <=", "gone: id = old.id → true", "gone: n > 1 → true", "gone: > → >=", "gone: AND → OR",
        f"gone: {first} → ", f"gone: {second} → ",
    }  # fmt: skip


def test_sqlite_takes_every_mutant_for_a_statement(tmp_path: Path) -> None:
    link = apsw.Connection(":memory:")
    link.execute(script_at(f"sqlite:///{tmp_path}/jobs.db")).fetchall()
    for mutant in mutants("sqlite"):
        if mutant.file[0].isdigit():
            apsw.Connection(":memory:").execute(mutant.text).fetchall()
        else:
            link.execute(f"EXPLAIN {mutant.text}", dict.fromkeys(parameters_of(mutant.text)))
    link.close()


def test_postgresql_takes_every_mutant_for_a_statement(postgres_url: str) -> None:
    with postgres_schema(postgres_url) as schema, psycopg.connect(postgres_url, autocommit=True) as link:
        link.execute(script_at(f"{postgres_url}?schema={schema}").encode())
        for mutant in mutants("postgres"):
            if mutant.file[0].isdigit():
                with link.transaction(force_rollback=True):
                    link.execute(f'DROP SCHEMA "{schema}" CASCADE; CREATE SCHEMA "{schema}"'.encode())
                    link.execute(mutant.text.replace("tenure.", f'"{schema}".').encode())
                continue
            at = {p: f"${n}" for n, p in enumerate(parameters_of(mutant.text), 1)}
            text = _PARAMETER.sub(lambda m, at=at: at[m[1]], mutant.text).replace("tenure.", f'"{schema}".')  # type: ignore[misc]
            link.execute(f"PREPARE looked_at AS {text}".encode())
            link.execute("DEALLOCATE looked_at")


def survivors(chosen: list[Mutant]) -> list[str]:
    """Which of these mutants are not killed by their tests, played in a process (and a database) of their own."""
    lines = [
        json.dumps({"store": m.store, "name": m.name, "test": read_table(m.store)[m.name].test})
        for m in chosen
    ]
    environment = {**os.environ, "PYTEST_XDIST_WORKER": f"guards_{uuid4().hex[:12]}", "TENURE_DEPTH": "test"}
    assert environment.get(VARIABLE)
    ended = subprocess.run(
        [sys.executable, "-m", "tests.proof.guards.playing"],
        check=False, input="\n".join(lines), capture_output=True, text=True, cwd=ROOT, env=environment, timeout=570,
    )  # fmt: skip
    told = [line.partition("guards: ")[2] for line in ended.stdout.splitlines() if "guards: " in line]
    assert len(told) == len(chosen), ended.stdout[-3000:] + ended.stderr[-3000:]
    answers = [json.loads(line) for line in told]
    return [f"{a['store']}/{a['name']} by {a['test']} {a['why']}" for a in answers if not a["killed"]]


def chosen_of(part: int, seed: int) -> list[Mutant]:
    """This part's mutants: in `make test` a few that are killed quickly, drawn by the seed."""
    if depth.DEPTH == "test":
        draw = random.Random(f"{seed}-guards")
        quick = [[m for m in mutants(store) if not any(word in m.name for word in _SLOW)] for store in STORES]
        return [mutant for store in quick for mutant in draw.sample(store, SHARE)]
    return [mutant for store in STORES for mutant in mutants(store)][part::PARTS]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", range(depth.of(test=1, proof=PARTS)))
def test_every_mutant_is_killed(part: int, seed: int, tally: Tally) -> None:
    chosen = chosen_of(part, seed)
    left = survivors(chosen)
    tally(mutants=len(chosen), killed=len(chosen) - len(left))
    assert left == []
