"""Producer, worker, viewer and migrator, as `tenure migrate --roles` makes them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from uuid import UUID

import psycopg
import pytest
from psycopg.errors import InsufficientPrivilege

import tenure
from tests.dashboard.house import House as Dashboards
from tests.doctor.visits import visit
from tests.proof import depth
from tests.proof.roles.house import ROLES, House, Role, furnished, grant
from tests.proof.tally import Tally
from tests.support.child import ROOT
from tests.support.workers import open_scene, until

REFUSED = r"this role may not do that: permission denied for .*; grant it the rights it needs"
_SYNC, _ASYNC = "postgres-sync or (postgres and not async)", "postgres-async"
_ELSEWHERE = {"settle_in"}
"""Its connections are the users' own, with tables of theirs."""
SUITE = sorted(
    {path.stem.removeprefix("test_") for path in (ROOT / "tests" / "conformance").glob("test_*.py")}
    - _ELSEWHERE
)
"""The topics of the conformance suite that are played as a worker and as a migrator."""
ENQUEUES = [
    "after_a_while", "bad_input", "concurrency", "enqueue", "expiry", "get", "group_commit", "group_first", "groups", "lost_answer",
    "lost_reply", "order", "payload", "promote", "requests", "unique", "webhooks_together",
]  # fmt: skip
"""Those where jobs come in every way, whose enqueuing comes as a producer."""
LOOKS = [
    "audit", "beat", "counts", "explain", "figures", "filters", "get", "groups", "history", "list", "next_due", "notes", "on_dead",
    "pause", "pulse", "requests", "samples", "schedules",
]  # fmt: skip
"""Those that ask the store for everything that it tells, whose asking comes as a viewer."""
_ITS_OWN_LOST_ANSWERS = "postgres and not (lost and (settle or settles or cancel or schedule or claim))"
"""Who loses answers to a producer loses none that a worker is given."""
PLAYS: dict[str, tuple[Role, list[str], str, int]] = {
    "worker": ("worker", SUITE, _SYNC, 8),
    "worker later": ("worker", SUITE, _ASYNC, 8),
    "migrator": ("migrator", SUITE, _SYNC, 8),
    "producer": ("producer", ENQUEUES, _ITS_OWN_LOST_ANSWERS, 4),
    "viewer": ("viewer", LOOKS, "postgres", 4),
}
"""Who plays which topics, which of their tests, and in how many parts, so that they can be played side by side."""
_PARTS = [(play, part) for play, (_, _, _, parts) in PLAYS.items() for part in range(parts)]


@pytest.fixture(scope="module")
def house(postgres_url: str) -> Iterator[House]:
    with furnished(postgres_url) as made:
        yield made


@pytest.fixture
def admin(house: House) -> Iterator[tenure.Queue]:
    """The store for somebody who may do everything; it is empty before and after."""
    with tenure.open(f"{house.admin}?schema={house.schema}") as q:
        yield q
    with psycopg.connect(house.admin, autocommit=True) as link:
        tables = link.execute(
            "SELECT tablename FROM pg_tables WHERE schemaname = %s AND tablename <> 'meta'", (house.schema,)
        ).fetchall()
        for (table,) in tables:
            link.execute(f'DELETE FROM "{house.schema}"."{table}"'.encode())


def refused(call: Callable[[], object]) -> None:
    """The server itself says no, and the caller is told so in a sentence."""
    with pytest.raises(tenure.StoreRefused, match=REFUSED) as caught:
        call()
    assert isinstance(caught.value.__cause__, InsufficientPrivilege)
    assert caught.value.__cause__.sqlstate == "42501"


def granted(house: House) -> dict[str, dict[str, set[str]]]:
    """What each role may do with each table, as the server has it written down."""
    with psycopg.connect(house.admin) as link:
        rows = link.execute(
            "SELECT grantee, table_name, privilege_type FROM information_schema.role_table_grants WHERE table_schema = %s",
            (house.schema,),
        ).fetchall()
    found: dict[str, dict[str, set[str]]] = {}
    for role, table, privilege in rows:
        found.setdefault(role, {}).setdefault(table, set()).add(privilege)
    return found


def needed() -> dict[str, set[str]]:
    """What the statements do with each table, read from their texts."""
    found: dict[str, set[str]] = {}
    for file in files("tenure.store").joinpath("postgres", "sql").iterdir():
        text = file.read_text("utf-8")
        does = {
            "INSERT": r"(?:INTO|COPY) tenure\.(\w+)",
            "UPDATE": r"UPDATE tenure\.(\w+)|INTO tenure\.(\w+)(?=.*DO UPDATE)",
            "DELETE": r"DELETE FROM tenure\.(\w+)",
            "SELECT": r"(?<!DELETE )(?:FROM|JOIN|,) tenure\.(\w+)\b(?!\()",
        }
        for privilege, pattern in does.items():
            for names in re.findall(pattern, text, re.DOTALL):
                for name in [names] if isinstance(names, str) else names:
                    if name:
                        found.setdefault(name, set()).add(privilege)
        for name in re.findall(r"FROM tenure\.(\w+)(?:(?!FROM).)*?FOR UPDATE", text, re.DOTALL):
            found[name].add("UPDATE")
    return found


def test_a_worker_is_given_what_the_statements_do_and_no_more(house: House) -> None:
    given = granted(house)[house.named("worker")]
    assert given.pop("meta") == {"SELECT"}
    assert given.pop("readable") == {"SELECT"}
    wanted = {table: does | {"SELECT"} for table, does in needed().items() if table != "meta"}
    assert given == wanted


def test_running_the_script_again_changes_nothing(house: House) -> None:
    before = granted(house)
    grant(house)
    assert granted(house) == before
    assert set(before) == {house.named(role) for role in ROLES}


def test_a_producer_enqueues_in_every_way(house: House, admin: tenure.Queue) -> None:
    with tenure.open(house.url("producer")) as q:
        first = q.enqueue("k", {"n": 1}, unique="u")
        assert not q.enqueue("k", unique="u").inserted
        assert q.enqueue("k", unique="p", unique_for="1h").inserted
        assert not q.enqueue("k", unique="p", unique_for="1h").inserted
        q.enqueue("k", group="g")
        q.enqueue("k", group="g")
        q.enqueue("k", group="h", group_limit=2, delay="1s")
        q.enqueue("k", request=tenure.Request(b"body", {}), priority=3, delay="1h")
        q.enqueue_many([tenure.NewJob(kind="k", payload=n) for n in range(300)])
        assert [q.enqueue("k", id=str(UUID(int=7))).inserted for _ in range(2)] == [True, False]
        with psycopg.connect(house.plain("producer")) as own:
            q.using(own).enqueue("k", unique="inside")
            assert q.using(own).enqueue("k", id=str(UUID(int=8))).inserted
        found = q.get(first.id)
        assert found is not None
        assert found.payload == {"n": 1}
    assert sum(admin.counts()["default"].values()) == 309


def test_a_producer_does_nothing_else(house: House, admin: tenure.Queue) -> None:
    job = admin.enqueue("k").id
    dead = admin.enqueue("dead").id
    [claim] = admin.claim(kinds=["dead"])
    assert admin.settle(claim, tenure.Bury("no"))
    with tenure.open(house.url("producer")) as q:
        for call in (
            lambda: q.claim(),
            lambda: q.cancel(job),
            lambda: q.replay(dead),
            lambda: q.purge(tenure.Filter(states=["dead"])),
            lambda: q.pause("default"),
            lambda: q.history(dead),
            lambda: q.request(job),
            lambda: q.beat("w"),
            lambda: q.schedule("s", "@every 1h", "k"),
            lambda: q.set_note("n", "text"),
            lambda: q.audits(),
        ):
            refused(call)
    assert [admin.get(i).state for i in (job, dead)] == ["ready", "dead"]  # type: ignore[union-attr]


def test_a_worker_works(house: House, admin: tenure.Queue) -> None:
    with tenure.open(house.url("worker")) as q:
        q.hook("k", "tell")
        q.schedule("s", "@every 1h", "k")
        q.beat("w")
        ids = [q.enqueue("k", n, group="g").id for n in range(3)]
        [claim] = q.claim(worker="w")
        assert q.renew([claim]).kept == {ids[0]}
        assert q.progress(claim, 0.5)
        assert q.settle(claim, tenure.Fail("no", retry_in=0))
        [claim] = q.claim(worker="w")
        assert q.settle(claim, tenure.Bury("no"))
        assert q.replay(ids[0]) == "replayed"
        q.pause("other")
        assert q.resume("other")
        assert q.unschedule("s")
        assert q.cancel(ids[2])
        assert q.retain(done="1h") == 0
        assert q.purge(tenure.Filter(states=["cancelled"])) == 1
        q.promote()
        q.expire()
        q.reclaim()
        q.set_note("n", "text")
        q.add_audit("ann", "purge", "all", count=1)
        assert len(q.audits()) == 1


def sql_refused(house: House, role: Role, statement: str) -> None:
    with psycopg.connect(house.plain(role)) as link:
        link.execute(f'SET search_path = "{house.schema}"'.encode())
        with pytest.raises(InsufficientPrivilege):
            link.execute(statement.encode())


@pytest.mark.parametrize("role", ["producer", "worker", "viewer"])
@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE jobs", "ALTER TABLE jobs ADD COLUMN more text", "CREATE TABLE more ()", "TRUNCATE jobs",
        "INSERT INTO meta VALUES (9, 'mine', 9)", "DELETE FROM meta", "UPDATE audit SET who = 'nobody'", "DELETE FROM audit",
        "CREATE TRIGGER mine BEFORE INSERT ON jobs FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()",
    ],
)  # fmt: skip
def test_nobody_but_the_migrator_changes_the_schema_and_nobody_what_people_did(
    house: House, role: Role, statement: str
) -> None:
    sql_refused(house, role, statement)


@pytest.mark.parametrize(
    "statement", ["SELECT * FROM attempts", "SELECT * FROM requests", "SELECT * FROM notes", "DELETE FROM jobs", "UPDATE jobs SET payload = ''", "UPDATE jobs SET epoch = 0"],
)  # fmt: skip
def test_a_producer_s_sql_goes_no_further_than_its_verbs(house: House, statement: str) -> None:
    sql_refused(house, "producer", statement)


def test_a_viewer_sees_everything(house: House, admin: tenure.Queue) -> None:
    job = admin.enqueue("k", group="g", request=tenure.Request(b"body", {})).id
    [claim] = admin.claim()
    admin.settle(claim, tenure.Fail("no"))
    admin.beat("w")
    with tenure.open(house.url("viewer")) as q:
        assert [found.id for found in q.list()] == [job]
        assert q.counts()["default"]["scheduled"] == 1
        assert [a.message for a in q.history(job)] == ["no"]
        assert q.request(job) == tenure.Request(b"body", {})
        assert [w.id for w in q.workers()] == ["w"]
        assert q.explain(job).code
        assert q.pulse().counts["default"]["scheduled"] == 1
        assert q.audits() == []
        assert q.count(tenure.Filter(kinds=["k"])).states == {"scheduled": 1}


def test_a_viewer_changes_nothing(house: House, admin: tenure.Queue) -> None:
    job = admin.enqueue("k").id
    admin.cancel(admin.enqueue("gone").id)
    with tenure.open(house.url("viewer")) as q:
        for call in (
            lambda: q.enqueue("k"),
            lambda: q.enqueue_many([tenure.NewJob(kind="k")] * 200),
            lambda: q.claim(),
            lambda: q.cancel(job),
            lambda: q.pause("default"),
            lambda: q.purge(tenure.Filter(states=["cancelled"])),
            lambda: q.beat("w"),
            lambda: q.add_audit("ann", "look", "all"),
        ):
            refused(call)
    assert {state: n for state, n in admin.counts()["default"].items() if n} == {"ready": 1, "cancelled": 1}


def test_the_doctor_says_what_each_role_may_do(house: House) -> None:
    words = {
        "producer": ("note", "this role may enqueue, but not work: it lacks "),
        "worker": ("ok", "this role may do all that workers do"),
        "viewer": ("note", "this role may look on, but neither enqueue nor work: it lacks "),
        "migrator": ("ok", "this role may do all that workers do"),
    }
    for role, (level, said) in words.items():
        [found] = visit(house.url(role), "privileges", listen=0.1)  # type: ignore[arg-type]
        assert (role, found.level, found.found[: len(said)]) == (role, level, said)
    assert [f.level for f in visit(house.url("worker"), "listen")] == ["ok"]


@pytest.mark.proof
@pytest.mark.parametrize("role", ["producer", "worker", "viewer"])
def test_a_schema_that_is_behind_is_not_migrated_by_a_role_that_may_not(
    postgres_url: str, role: Role
) -> None:
    with furnished(postgres_url) as house:
        with psycopg.connect(house.admin, autocommit=True) as link:
            link.execute(f'DELETE FROM "{house.schema}".meta'.encode())
        refused(lambda: tenure.open(house.url(role)))


def test_a_store_that_somebody_else_made_is_handed_to_the_migrator(house: House) -> None:
    with psycopg.connect(house.admin, autocommit=True) as link:
        link.execute(f'ALTER TABLE "{house.schema}".jobs OWNER TO CURRENT_USER'.encode())
        link.execute(f'ALTER FUNCTION "{house.schema}".next_seq() OWNER TO CURRENT_USER'.encode())
        grant(house)
        owners = link.execute(
            "SELECT DISTINCT relowner::regrole::text FROM pg_class WHERE relnamespace = %s::regnamespace",
            (house.schema,),
        ).fetchall()
    assert owners == [(house.named("migrator"),)]
    with tenure.open(house.url("worker")) as q:
        q.cancel(q.enqueue("k", group="owned").id)


def command(house: House, role: Role, *args: str) -> subprocess.CompletedProcess[str]:
    """`tenure …` as somebody of this role."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("TENURE_", "DATABASE_URL"))}
    return subprocess.run(
        [sys.executable, "-m", "tenure", *args, "--url", house.url(role)],
        check=False, capture_output=True, text=True, timeout=60, env=environment,
    )  # fmt: skip


@pytest.mark.proof
def test_the_command_reads_as_a_viewer_and_is_refused_more(house: House, admin: tenure.Queue) -> None:
    job = admin.enqueue("k").id
    listed = command(house, "viewer", "list", "--json")
    assert job in listed.stdout, listed.stderr
    assert command(house, "viewer", "stats").returncode == 0
    assert command(house, "viewer", "show", job).returncode == 0
    cancelled = command(house, "viewer", "cancel", job, "--yes")
    assert cancelled.returncode != 0
    assert "permission denied" in cancelled.stderr
    assert "Traceback" not in cancelled.stderr
    assert command(house, "migrator", "migrate", "--check").returncode == 0


@pytest.mark.proof
def test_a_dashboard_is_served_as_a_viewer(house: House, admin: tenure.Queue) -> None:
    job = admin.enqueue("k").id
    shown = Dashboards(house.url("viewer"))
    try:
        page = shown.serve()
        assert job in json.dumps(page.get("/api/jobs").json)
        for name in ("overview", "queues", "workers", "errors", "system"):
            assert (name, page.get(f"/api/{name}").status) == (name, 200)
    finally:
        shown.close()


@pytest.mark.proof
def test_a_real_worker_works_as_a_worker(house: House, admin: tenure.Queue, tmp_path: Path) -> None:
    with open_scene(house.url("worker"), tmp_path) as scene:
        ids = scene.enqueue("tells", 50)
        worker = scene.start("--lease", "5s")
        until(lambda: scene.counts == {"done": 50} or worker.process.poll() is not None)
        assert scene.counts == {"done": 50}, worker.log[-2000:]
        assert {note.id for note in scene.notes()} == set(ids)
        assert "may not do that" not in worker.log


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("play", "part"), _PARTS[:1] if depth.DEPTH == "test" else _PARTS)
def test_the_conformance_suite_holds_for_each_role(play: str, part: int, tally: Tally) -> None:
    role, topics, which, parts = PLAYS[play]
    environment = {
        **os.environ, "PYTEST_XDIST_WORKER": f"roles_{play.replace(' ', '_')}_{part}", "TENURE_DEPTH": "test",
    }  # fmt: skip
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "tests.proof.roles.as_role", "--as-role", role, "-k", which,
         *(f"tests/conformance/test_{topic}.py" for topic in topics[part::parts])],
        check=False, capture_output=True, text=True, cwd=ROOT, env=environment, timeout=570,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout[-4000:]
    passed = re.search(r"(\d+) passed", ended.stdout)
    assert passed is not None
    tally(**{f"tests as {role}": int(passed[1])})
