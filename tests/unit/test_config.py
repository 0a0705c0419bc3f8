"""Where the store is: which URL counts, what it names, and what is refused."""

from __future__ import annotations

import logging
from urllib.parse import quote

import pytest
from psycopg.conninfo import conninfo_to_dict

from tenure.config import PostgresPlace, SqlitePlace, _told, choose_url, locate, without_password
from tenure.errors import FieldError, StoreURLError, UsageError

PG = "postgresql://u@h/db"


@pytest.fixture(autouse=True)
def _nothing_was_told() -> None:
    """As in a process that has just begun."""
    _told.clear()


@pytest.mark.parametrize(
    ("argument", "environ", "chosen", "why"),
    [
        (
            "sqlite:///a.db",
            {"TENURE_URL": "sqlite:///b.db", "DATABASE_URL": PG},
            "sqlite:///a.db",
            "the argument",
        ),
        (None, {"TENURE_URL": "sqlite:///b.db", "DATABASE_URL": PG}, "sqlite:///b.db", "TENURE_URL"),
        ("", {"TENURE_URL": "sqlite:///b.db"}, "sqlite:///b.db", "TENURE_URL"),
        (None, {"DATABASE_URL": PG}, PG, "DATABASE_URL"),
        (None, {"TENURE_URL": "", "DATABASE_URL": PG}, PG, "DATABASE_URL"),
        (None, {"DATABASE_URL": "postgres://u@h/db"}, "postgres://u@h/db", "DATABASE_URL"),
        (None, {"DATABASE_URL": "postgresql+asyncpg://u@h/db"}, PG, "DATABASE_URL"),
        (None, {"DATABASE_URL": "postgresql+psycopg://u@h/db"}, PG, "DATABASE_URL"),
        (None, {"DATABASE_URL": "postgres+psycopg2://u@h/db"}, "postgres://u@h/db", "DATABASE_URL"),
        (None, {"TENURE_URL": "postgresql+asyncpg://u@h/db"}, PG, "TENURE_URL"),
        ("postgresql+asyncpg://u@h/db", {}, PG, "the argument"),
        (None, {"DATABASE_URL": "mysql+asyncmy://u@h/db"}, "sqlite:///tenure.db", "the default"),
        (None, {"DATABASE_URL": "mysql://u@h/db"}, "sqlite:///tenure.db", "the default"),
        (None, {"DATABASE_URL": "sqlite:///app.db"}, "sqlite:///tenure.db", "the default"),
        (None, {"TENURE_URL": ""}, "sqlite:///tenure.db", "the default"),
        (None, {}, "sqlite:///tenure.db", "the default"),
    ],
)
def test_the_first_url_given_counts_and_the_choice_is_logged(
    argument: str | None, environ: dict[str, str], chosen: str, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "tenure"):
        assert choose_url(argument, environ) == chosen
    assert caplog.messages == [f"store: {chosen} (from {why})"]


@pytest.mark.parametrize("scheme", ["postgresql+asyncpg", "postgresql+psycopg", "postgres+psycopg2"])
def test_a_url_that_names_sqlalchemys_driver_names_the_same_place(scheme: str) -> None:
    assert locate(f"{scheme}://u@h/db?schema=s&sslmode=require") == locate(f"{PG}?schema=s&sslmode=require")


def test_a_choice_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "tenure"):
        for url in ("sqlite:///a.db", "sqlite:///b.db", "sqlite:///a.db"):
            choose_url(url, {})
    assert caplog.messages == [f"store: sqlite:///{name}.db (from the argument)" for name in "ab"]


def test_without_a_mapping_the_process_environment_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENURE_URL", "sqlite:///from-the-environment.db")
    assert choose_url(None) == "sqlite:///from-the-environment.db"


@pytest.mark.parametrize(("argument", "environ"), [(None, {"TENURE_URL": "none"}), ("none", {})])
def test_none_switches_the_queue_off(argument: str | None, environ: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=r"switched off.*unset TENURE_URL or give the URL"):
        choose_url(argument, {**environ, "DATABASE_URL": PG})


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:hunter2@h/db",
        "postgresql://:hunter2@h/db",
        "postgresql://u:hun/ter2@h/db",
        "postgresql://u:x@hunter2@h/db",
        "postgresql://h/db?user=u&password=hunter2",
        "postgresql://h/db?PASSWORD=hunter2&sslmode=require",
        "postgresql://h/db?sslpassword=hunter2",
        "postgresql://h/db?pgbouncer=true&listen=postgresql%3A%2F%2Fu%3Ahunter2%40own%2Fdb&notify=true",
    ],
)
def test_a_password_is_never_logged(url: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "tenure"):
        choose_url(url, {})
    [message] = caplog.messages
    assert "ter2" not in message
    assert "***" in message


@pytest.mark.parametrize(
    "url", ["sqlite:////data/jobs.db?prefix=q_", PG, "postgresql://h:5432/db?sslmode=require"]
)
def test_a_url_without_a_password_is_logged_as_it_is(url: str) -> None:
    assert without_password(url) == url


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("sqlite:///jobs.db", SqlitePlace("jobs.db", False, "tenure_", "full")),
        ("sqlite:///sub/jobs.db", SqlitePlace("sub/jobs.db", False, "tenure_", "full")),
        ("sqlite:////data/jobs.db", SqlitePlace("/data/jobs.db", False, "tenure_", "full")),
        ("sqlite:///my%20jobs%3F.db", SqlitePlace("my jobs?.db", False, "tenure_", "full")),
        ("sqlite:///jobs.db?shared=true", SqlitePlace("jobs.db", True, "tenure_", "full")),
        ("sqlite:///jobs.db?shared=1", SqlitePlace("jobs.db", True, "tenure_", "full")),
        ("sqlite:///jobs.db?shared=NO", SqlitePlace("jobs.db", False, "tenure_", "full")),
        ("sqlite:///jobs.db?prefix=q_", SqlitePlace("jobs.db", False, "q_", "full")),
        ("sqlite:///jobs.db?durability=normal", SqlitePlace("jobs.db", False, "tenure_", "normal")),
        ("sqlite:///j.db?durability=full&shared=on&prefix=a", SqlitePlace("j.db", True, "a", "full")),
        ("postgresql://u@h/db", PostgresPlace("postgresql://u@h/db", "tenure", False)),
        ("postgres://u:p@h:5433/db", PostgresPlace("postgresql://u:p@h:5433/db", "tenure", False)),
        ("postgresql://h/db?schema=jobs", PostgresPlace("postgresql://h/db", "jobs", False)),
        ("postgresql://h/db?pgbouncer=true", PostgresPlace("postgresql://h/db", "tenure", True)),
        ("postgresql://h/db?notify=false", PostgresPlace("postgresql://h/db", "tenure", False, None, False)),
        (
            "postgresql://h/db?pgbouncer=true&listen=postgres%3A%2F%2Fu%3Ap%40own%2Fdb%3Fschema%3Dx%26sslmode%3Drequire",
            PostgresPlace("postgresql://h/db", "tenure", True, "postgresql://u:p@own/db?sslmode=require"),
        ),
    ],
)
def test_a_url_names_a_place(url: str, place: SqlitePlace | PostgresPlace) -> None:
    assert locate(url) == place


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        (
            "postgresql://u@h/db?sslmode=require&schema=jobs",
            {"user": "u", "host": "h", "dbname": "db", "sslmode": "require"},
        ),
        ("postgresql://h1:1,h2:2/db", {"host": "h1,h2", "port": "1,2", "dbname": "db"}),
        ("postgresql:///db?host=/run/pg&schema=jobs", {"dbname": "db", "host": "/run/pg"}),
        ("postgresql://%2Frun%2Fpg/db", {"dbname": "db", "host": "/run/pg"}),
        ("postgresql://u:a%40b%2Fc@h/db", {"user": "u", "password": "a@b/c", "host": "h", "dbname": "db"}),
        (
            "postgresql://h/db?options=-c%20statement_timeout%3D5s&schema=jobs",
            {"host": "h", "dbname": "db", "options": "-c statement_timeout=5s"},
        ),
        ("postgresql://h/db?application_name=a+b", {"host": "h", "dbname": "db", "application_name": "a+b"}),
        ("postgresql://[::1]:5433/db", {"host": "::1", "port": "5433", "dbname": "db"}),
    ],
)
def test_the_rest_of_a_postgresql_url_goes_to_the_driver_as_it_is(url: str, parts: dict[str, str]) -> None:
    place = locate(url)
    assert isinstance(place, PostgresPlace)
    assert conninfo_to_dict(place.conninfo) == parts


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("mysql://u:hunter2@h/db", "unknown scheme in 'mysql://u:***@h/db'; use sqlite:///file.db"),
        ("jobs.db", "unknown scheme in 'jobs.db'; use sqlite:///file.db"),
        ("", "unknown scheme in ''"),
        ("sqlite://", "names no file; write sqlite:///jobs.db"),
        ("sqlite:///", "names no file; write sqlite:///jobs.db"),
        ("sqlite://jobs.db", "names no file; write sqlite:///jobs.db"),
        ("sqlite:jobs.db", "write sqlite:///jobs.db"),
        ("sqlite:///:memory:", "a queue in memory would lose its jobs; name a file"),
        ("sqlite:///jobs.db?mode=ro", "unknown option 'mode'; known: shared, prefix, durability"),
        ("sqlite:///jobs.db?schema=jobs", "unknown option 'schema'; known: shared, prefix, durability"),
        ("s" + "\udccc" * 300, "… (1803 characters); use sqlite:///file.db"),
        (f"sqlite:///jobs.db?{'x' * 300}=1", "… (302 characters); known: shared, prefix, durability"),
    ],
)
def test_a_url_that_names_no_store_is_refused_with_the_fix(url: str, words: str) -> None:
    with pytest.raises(StoreURLError) as caught:
        locate(url)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["", "1a", "a-b", "a b", 'a"b', "Jobs", "é", "a" * 41, "a;drop", "a\n"])
@pytest.mark.parametrize(
    ("url", "field"),
    [("sqlite:///jobs.db?prefix={}", "prefix"), ("postgresql://h/db?schema={}", "schema")],
)
def test_a_name_that_is_no_plain_identifier_is_refused(name: str, url: str, field: str) -> None:
    with pytest.raises(FieldError, match=r"must be a plain identifier") as caught:
        locate(url.format(quote(name)))
    assert (caught.value.field, caught.value.value) == (field, name)


@pytest.mark.parametrize(
    ("url", "field"),
    [
        ("sqlite:///jobs.db?shared=maybe", "shared"),
        ("sqlite:///jobs.db?shared=", "shared"),
        ("sqlite:///jobs.db?durability=off", "durability"),
        ("postgresql://h/db?pgbouncer=2", "pgbouncer"),
        ("postgresql://h/db?notify=perhaps", "notify"),
        ("postgresql://h/db?listen=own.example", "listen"),
        ("postgresql://h/db?listen=", "listen"),
    ],
)
def test_an_option_with_an_unknown_value_is_refused(url: str, field: str) -> None:
    with pytest.raises(FieldError) as caught:
        locate(url)
    assert caught.value.field == field
