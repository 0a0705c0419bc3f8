"""What a test may say about enqueued jobs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import msgspec
import pytest

import tenure
from tenure import testing

app = tenure.App()


class Address(msgspec.Struct):
    street: str
    town: str = "Berlin"


@app.job(queue="mail")
def send_email(ctx: tenure.Context, to: str, subject: str = "hello") -> None:
    """Nothing."""


@app.job
def ship(to: Address, on: date, price: Decimal, parts: tuple[int, ...] = ()) -> None:
    """Nothing."""


@pytest.fixture
def t(url: str | None) -> Iterator[testing.Stage]:
    with testing.run(app, url=url) as stage:
        yield stage


def told(call: Any, *args: Any, **kwargs: Any) -> str:
    with pytest.raises(AssertionError) as caught:
        call(*args, **kwargs)
    return str(caught.value)


def test_a_job_is_found_by_some_of_its_arguments(t: testing.Stage) -> None:
    job = send_email.enqueue("a@b.c", subject="hi")
    send_email.enqueue("d@e.f")
    assert t.assert_enqueued(send_email).kind == "send_email"
    assert t.assert_enqueued(send_email, to="a@b.c").id == job.id
    assert t.assert_enqueued("send_email", subject="hi").id == job.id
    assert t.assert_enqueued(send_email, to="d@e.f", subject="hello").kind == "send_email"


def test_arguments_are_compared_as_the_handler_would_get_them(t: testing.Stage) -> None:
    ship.enqueue(Address("Main"), date(2030, 1, 2), Decimal("5.00"), (1, 2))
    t.assert_enqueued(ship, to=Address("Main"), on=date(2030, 1, 2), price=Decimal(5), parts=(1, 2))
    t.assert_enqueued(ship, to={"street": "Main", "town": "Berlin"}, on="2030-01-02", parts=[1, 2])
    t.assert_not_enqueued(ship, to=Address("Other"))
    t.assert_not_enqueued(ship, price=Decimal(6))


def test_a_job_is_found_by_its_options(t: testing.Stage) -> None:
    send_email.options(delay="1h", tags=["welcome"], unique="u:1", timeout="30s").enqueue("a@b.c")
    t.assert_enqueued(send_email, options={"queue": "mail", "delay": "60m", "tags": ["welcome"]})
    t.assert_enqueued(
        send_email, options={"unique": "u:1", "timeout": "30s", "run_at": t.clock.advance("1h")}
    )
    t.assert_not_enqueued(send_email, options={"queue": "default"})


def test_a_job_that_has_run_is_not_enqueued(t: testing.Stage) -> None:
    send_email.enqueue("a@b.c")
    t.drain()
    t.assert_not_enqueued(send_email)
    t.assert_not_enqueued()
    assert t.enqueued() == []


def test_enqueued_lists_pending_jobs_in_their_order(t: testing.Stage) -> None:
    jobs = [send_email.enqueue("1"), send_email.options(delay="1d").enqueue("2")]
    other = ship.enqueue(Address("Main"), date(2030, 1, 2), Decimal(5))
    assert [job.id for job in t.enqueued()] == [*(job.id for job in jobs), other.id]
    assert [job.id for job in t.enqueued("ship")] == [other.id]
    assert [job.payload["to"] for job in t.enqueued(send_email)] == ["1", "2"]


def test_what_is_missed_is_told_with_the_nearest_first(t: testing.Stage) -> None:
    ship.enqueue(Address("Main"), date(2030, 1, 2), Decimal(5))
    send_email.enqueue("x@y.z", subject="no")
    send_email.enqueue("x@y.z", subject="hi")
    lines = told(
        t.assert_enqueued, send_email, to="a@b.c", subject="hi", options={"queue": "post"}
    ).splitlines()
    assert lines[0] == (
        "send_email(to='a@b.c', subject='hi') with queue='post' is not enqueued; 3 jobs are, the nearest first:"
    )
    assert lines[1].startswith('  send_email {"to":"x@y.z","subject":"hi"} ready in \'mail\', ')
    assert lines[2:4] == ["      to: wanted 'a@b.c', is 'x@y.z'", "      queue: wanted 'post', is 'mail'"]
    assert lines[4].startswith('  send_email {"to":"x@y.z","subject":"no"}')
    assert lines[6] == "      subject: wanted 'hi', is 'no'"
    assert lines[8].startswith("  ship ")
    assert len(lines) == 9


def test_nothing_enqueued_is_told_as_that(t: testing.Stage) -> None:
    assert told(t.assert_enqueued, send_email, to="a") == "send_email(to='a') is not enqueued; nothing is"


def test_what_should_not_be_enqueued_is_listed(t: testing.Stage) -> None:
    for n in range(12):
        send_email.enqueue(f"{n}@b.c")
    assert told(t.assert_not_enqueued, send_email, to="3@b.c").startswith(
        "send_email(to='3@b.c') is enqueued:\n  send_email {\"to\":\"3@b.c\"} ready in 'mail'"
    )
    lines = told(t.assert_not_enqueued).splitlines()
    assert (lines[0], len(lines), lines[-1]) == ("something is enqueued:", 12, "  … and 2 more")


def test_a_payload_that_fits_no_handler_matches_nothing_and_harms_nobody(t: testing.Stage) -> None:
    t.queue.enqueue("send_email", ["not", "a", "mapping"])
    send_email.enqueue("a@b.c")
    t.assert_enqueued(send_email, to="a@b.c")
    assert "to: wanted 'z', is missing" in told(t.assert_enqueued, send_email, to="z")


def test_a_kind_of_other_processes_is_found_by_name(t: testing.Stage) -> None:
    app.enqueue("elsewhere", {"n": 1}, force=True)
    t.assert_enqueued("elsewhere", n=1)
    t.assert_not_enqueued("elsewhere", n=2)


def test_names_that_cannot_be_right_are_refused(t: testing.Stage) -> None:
    with pytest.raises(tenure.UnknownKind, match="did you mean 'send_email'"):
        t.assert_enqueued("send_emial")
    with pytest.raises(tenure.FieldError, match=r"send_email\(to, subject\): has no argument of this name"):
        t.assert_not_enqueued(send_email, recipient="a@b.c")
    with pytest.raises(tenure.FieldError, match="options: must be among queue, priority"):
        t.assert_enqueued(send_email, options={"que": "mail"})
    with pytest.raises(tenure.FieldTypeError, match="must be a kind or its name"):
        t.assert_enqueued(print)  # type: ignore[arg-type]
    with pytest.raises(tenure.UsageError, match="name it first"):
        t.assert_not_enqueued(to="a@b.c")


def test_a_moment_is_the_same_in_any_time_zone(t: testing.Stage) -> None:
    at = datetime(2031, 1, 1, tzinfo=UTC)
    send_email.options(run_at=at).enqueue("a@b.c")
    t.assert_enqueued(send_email, options={"run_at": at.astimezone()})
