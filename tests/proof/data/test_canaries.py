"""A password, a token or a header that was told to Tenure is in nothing that Tenure says, whatever goes wrong."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from click.testing import CliRunner
from prometheus_client import CollectorRegistry, generate_latest

import tenure
from tenure.cli import main
from tenure.config import choose_url
from tenure.dashboard import DashboardSettings
from tenure.metrics.prometheus import collect, let_go
from tenure.store.open import open_store
from tests.dashboard.house import House as Desk
from tests.dashboard.house import Served
from tests.proof import depth
from tests.proof.data.canary import CANARY, Aviary, everything_in, listening
from tests.proof.tally import Tally
from tests.support.postgres import PostgresServer
from tests.support.process import free_port
from tests.worker.house import House, until

SHAPES = (
    "postgresql://u:{}@{}/db", "postgres://u:{}@{}/db", "postgresql://u:{}%ZZ@{}/db", "postgresql://u:{}/x@{}/db",
    "postgresql://u:{}@x@{}/db", "postgresql://u:{}:y@{}/db", "postgresql://u:{}?a@{}/db", "postgresql://u:{}#a@{}/db",
    "postgresql://u:{} z@{}/db", "postgresql://u:{}%00@{}/db", "postgresql://u:{}\n@{}/db", "postgresql://u:é{}@{}/db",
    "postgresql://:{}@{}/db", "postgresql://u:{}@{}", "postgresql://u:{}@[::1/db?{}", "postgresql://u:{}@h:port/{}",
    "postgresql://{1}/db?password={0}", "postgresql://{1}/db?user=u&password={0}%ZZ", "postgresql://{1}/db?password={0}&nope=1",
    "postgresql://u:{}@{}/db?sslmode=weird", "postgresql://u:{}@{}/db?schema=Bad Name", "postgresql://u:{}@{}/db?pgbouncer=maybe",
    "postgresql://u:{0}@{1}/db?sslpassword={0}&sslmode=require", "postgresql://u@{1}/db?listen={0}",
    "postgresql://u@{1}/db?listen=postgresql%3A%2F%2Fu%3A{0}%40h%2Fdb", "postgresql:/u:{}@{}/db", "postgresql//u:{}@{}/db",
    "u:{}@{}/db", " postgresql://u:{}@{}/db", "POSTGRESQL://u:{}@{}/db", "postgresql+psycopg://u:{}@{}/db",
    "mysql://u:{}@{}/db", "sqlite://u:{}@{}/db", "host=127.0.0.1 port=1 password={} {}",
)  # fmt: skip
"""URLs as people write them, right and wrong: the password, then the address."""
COMMANDS = (
    ["stats"], ["list"], ["workers"], ["doctor"], ["doctor", "--json"], ["migrate"], ["pause", "mail"], ["enqueue", "k", "{}"],
    ["show", "01890000-0000-7000-8000-000000000000"], ["cron", "list"], ["retry", "state:dead", "--yes"],
)  # fmt: skip


@pytest.fixture
def heard() -> Iterator[Aviary]:
    with listening() as made:
        yield made


def ran(heard: Aviary, *args: str, **environment: str) -> None:
    """`tenure …`; what it prints is heard."""
    done = CliRunner().invoke(main, list(args), env={"DATABASE_URL": "", **environment})
    heard.text(done.output)
    if done.exception is not None:
        heard.error(done.exception)
        assert isinstance(done.exception, SystemExit), done.exception


def test_a_password_is_in_no_error_and_no_log_however_badly_its_url_is_written(
    heard: Aviary, tally: Tally
) -> None:
    nobody = f"127.0.0.1:{free_port()}"
    for shape in SHAPES:
        url = shape.format(CANARY, nobody)
        with pytest.raises(tenure.TenureError) as told:
            open_store(choose_url(url), patience=0)
        heard.error(told.value)
        assert "\n" not in str(told.value), url
        heard.check(CANARY)
    tally(urls=len(SHAPES))


def test_a_password_is_in_nothing_that_a_command_prints(heard: Aviary, tally: Tally) -> None:
    nobody = f"127.0.0.1:{free_port()}"
    for shape in (SHAPES[2], SHAPES[8], SHAPES[26], SHAPES[32]):
        for command in COMMANDS[:4]:
            ran(heard, *command, TENURE_URL=shape.format(CANARY, nobody))
            tally(commands=1)
    heard.check(CANARY)


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """A server that asks for passwords."""
    with PostgresServer(durable=False) as made:
        with psycopg.connect(made.url(), autocommit=True) as own:
            own.execute(f"CREATE ROLE owner SUPERUSER LOGIN PASSWORD '{CANARY}'".encode())
        rules = made.directory / "data" / "pg_hba.conf"
        rules.write_text("host all owner 127.0.0.1/32 scram-sha-256\n" + rules.read_text())
        with psycopg.connect(made.url(), autocommit=True) as own:
            own.execute("SELECT pg_reload_conf()")
        yield made


def of(server: PostgresServer, password: str, **options: str) -> str:
    more = "".join(f"&{name}={value}" for name, value in options.items())
    return f"postgresql://owner:{quote(password)}@127.0.0.1:{server.port}/postgres?connect_timeout=5{more}"


@pytest.mark.timeout(400)
def test_the_password_of_a_store_that_works_fails_and_comes_back_is_nowhere(
    server: PostgresServer, heard: Aviary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tally: Tally
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    url = of(server, CANARY, schema="s")
    with pytest.raises(tenure.StoreUnavailable, match="password authentication failed") as refused:
        open_store(of(server, f"not-{CANARY}"), patience=0)
    heard.error(refused.value)

    house = House("postgres", url)
    registry = CollectorRegistry()
    collect(house.app, registry)

    @house.app.job(retry=tenure.Fixed("1h"), max_attempts=2)
    def fails(how: str) -> None:
        match how:
            case "url":
                raise RuntimeError(f"could not reach {url}")
            case "header":
                raise ValueError(f"refused: {{'Authorization': 'Bearer {CANARY}'}} password={CANARY}")
            case _:
                psycopg.connect(of(server, f"not-{CANARY}"))

    working = house.start(poll="200ms", lease="2s")
    jobs = [fails.enqueue(how) for how in ("url", "header", "driver")]
    for job in jobs:
        house.seen(job, lambda j: j.state == "scheduled")
    server.stop("fast")
    with pytest.raises(tenure.StoreUnavailable) as away:
        fails.enqueue("away")
    heard.error(away.value)
    for command in COMMANDS[: depth.of(test=1, proof=5)]:
        ran(heard, *command, TENURE_URL=url)
    until(lambda: any("claim: " in text for text in heard.said))
    with contextlib.suppress(tenure.StoreUnavailable):
        heard.text(generate_latest(registry))
    server.start()
    until(lambda: fails.enqueue("url").id)
    for command in COMMANDS:
        ran(heard, *command, TENURE_URL=url)
    ran(heard, "show", jobs[0].id, TENURE_URL=url)
    ran(heard, "list", "--json", TENURE_URL=url)
    heard.text(generate_latest(registry))
    let_go(registry)
    working.stop()
    house.close()
    for row in everything_in(server.url(), "s"):
        heard.text(row)
    heard.check(CANARY)
    tally(said=len(heard.said))


def look(served: Served, heard: Aviary, token: str | None, paths: list[str]) -> None:
    """Ask for all of these with a token, and hear what is said."""
    given = {} if token is None else {"Authorization": f"Bearer {token}", "Cookie": f"a={token}"}
    for path in paths:
        answer = served.ask("GET", path, headers=given)
        heard.text(repr(answer.headers) + answer.body.decode("utf-8", "replace"))


ACTS = ("retry", "cancel", "pause", "nothing")


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_tokens_and_headers_shown_to_a_dashboard_are_in_none_of_its_answers(
    store: str, direct: dict[str, str], heard: Aviary, tally: Tally
) -> None:
    desk = Desk(direct[store])
    try:
        desk.dead(payload={"password": CANARY, "plain": 1})
        with pytest.raises(tenure.FieldError) as short:
            DashboardSettings(operator_token=CANARY[:8])
        heard.text(str(short.value).replace(CANARY[:8], CANARY))
        served = desk.serve(DashboardSettings(operator_token=f"op-{CANARY}", viewer_token=f"view-{CANARY}"))
        paths = ["/", "/metrics", "/api/nothing", "/login"]
        paths += [f"/api/{p}" for p in ("me", "overview", "jobs", "errors", "queues", "workers", "cron", "webhooks", "system", "audit")]  # fmt: skip
        for token, asked in ((None, paths), (f"view-{CANARY}", paths)):
            look(served, heard, token, asked)
            tally(requests=len(asked))
        for act in ACTS:
            headers = {"Authorization": f"Bearer view-{CANARY}", "X-Tenure-CSRF": CANARY, "Content-Type": "application/json"}  # fmt: skip
            said = f'{{"action": "{act}", "token": "{CANARY}", "id": 7}}'.encode()
            answer = served.ask("POST", "/api/act", said, headers)
            assert answer.status in (400, 403, 404, 422)
            heard.text(answer.body)
        form = f"password={CANARY}&token={CANARY}".encode()
        heads = {
            "Content-Type": "application/x-www-form-urlencoded",
            "Origin": f"http://127.0.0.1:{served.port}",
        }
        heard.text(served.ask("POST", "/login", form, heads).body)
        look(served, heard, f"wrong-{CANARY}", paths)
        tally(requests=len(paths))
    finally:
        desk.close()
    heard.check(CANARY)
