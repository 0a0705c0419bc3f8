"""tenure.testing: an app's jobs run in a test, on a store of their own, by the test's clock."""

from __future__ import annotations

import asyncio
import contextvars
import sqlite3
import threading
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

import tenure
from tenure import testing
from tenure.events import Ended, Fired, Settled, Started
from tests.support.child import run_child

START = datetime(2030, 1, 1, 12, tzinfo=UTC)


class Shop:
    """An app with a few kinds, and what they did."""

    def __init__(self) -> None:
        self.app = app = tenure.App("sqlite:///never-made.db")
        self.did: list[Any] = []

        @app.job(queue="mail")
        async def send_email(to: str, subject: str = "hello") -> str:
            await asyncio.sleep(0)
            self.did.append((to, subject))
            return f"sent to {to}"

        @app.job
        def charge(amount: int) -> int:
            self.did.append(amount)
            return amount

        @app.job(retry=tenure.Fixed("60s"), max_attempts=2)
        def fragile(reason: str) -> None:
            self.did.append(reason)
            raise ValueError(reason)

        self.send_email, self.charge, self.fragile = send_email, charge, fragile


@pytest.fixture
def shop() -> Shop:
    return Shop()


def kinds(runs: list[testing.Ran]) -> list[str]:
    return [ran.job.kind for ran in runs]


def test_a_drain_runs_what_is_ready_and_answers_the_runs_that_ended(shop: Shop, url: str | None) -> None:
    with testing.run(shop.app, url=url) as t:
        first = shop.send_email.enqueue("a@b.c")
        second = shop.charge.enqueue(5)
        runs = t.drain()
        assert [(ran.job.id, ran.job.state) for ran in runs] == [(first.id, "done"), (second.id, "done")]
        assert [ran.outcome for ran in runs] == [tenure.Done("sent to a@b.c"), tenure.Done(5)]
        assert shop.did == [("a@b.c", "hello"), 5]
        assert first.result("1s") == "sent to a@b.c"
        assert t.drain() == []


def test_what_a_job_enqueues_runs_in_the_same_drain(url: str | None) -> None:
    app, did = tenure.App(), []

    @app.job
    async def last(n: int) -> None:
        did.append(n)

    @app.job
    async def middle(n: int) -> None:
        await last.aenqueue(n + 1)

    @app.job
    def first(n: int) -> None:
        middle.enqueue(n + 1)

    with testing.run(app, url=url) as t:
        first.enqueue(1)
        assert kinds(t.drain()) == ["first", "middle", "last"]
    assert did == [3]


def test_jobs_run_one_at_a_time_by_priority_and_then_in_order(shop: Shop, url: str | None) -> None:
    with testing.run(shop.app, url=url) as t:
        shop.charge.enqueue(1)
        shop.charge.enqueue(2)
        shop.charge.options(priority=9).enqueue(3)
        t.drain()
    assert shop.did == [3, 1, 2]


def test_a_failed_job_waits_until_the_clock_is_moved_past_its_retry(shop: Shop, url: str | None) -> None:
    with testing.run(shop.app, url=url, clock=testing.Clock(START)) as t:
        job = shop.fragile.enqueue("no luck")
        [ran] = t.drain()
        assert (ran.job.state, ran.job.run_at) == ("scheduled", START + timedelta(seconds=60))
        assert isinstance(ran.error, ValueError)
        t.clock.advance("59s")
        assert t.drain() == []
        t.clock.advance("1s")
        [ran] = t.drain()
        assert (ran.job.state, t.job(job).attempt) == ("dead", 2)


def test_a_delayed_job_waits_for_the_clock(shop: Shop, url: str | None) -> None:
    with testing.run(shop.app, url=url) as t:
        shop.charge.options(delay="1h").enqueue(1)
        assert t.drain() == []
        t.clock.advance("1h")
        assert kinds(t.drain()) == ["charge"]


def test_a_schedule_fires_once_when_the_clock_passes_its_time(url: str | None) -> None:
    app = tenure.App()
    fired: list[object] = []

    @app.cron("0 3 * * *", args={"what": "logs"})
    @app.job
    def nightly(what: str) -> None:
        fired.append(what)

    app.listen(lambda event: fired.append(event.fire_at), Fired)
    with testing.run(app, url=url, clock=testing.Clock(START)) as t:
        assert t.drain() == []
        t.clock.advance("1d")
        assert kinds(t.drain()) == ["nightly"]
        assert t.drain() == []
        t.clock.set(datetime(2030, 1, 3, 2, 59, tzinfo=UTC))
        assert t.drain() == []
        t.clock.advance("1m")
        assert kinds(t.drain()) == ["nightly"]
    assert fired == [datetime(2030, 1, 2, 3, tzinfo=UTC), "logs", datetime(2030, 1, 3, 3, tzinfo=UTC), "logs"]


def test_a_job_killed_before_its_settle_runs_again_when_its_lease_is_over(
    shop: Shop, url: str | None
) -> None:
    with testing.run(shop.app, url=url) as t:
        job = shop.charge.enqueue(7)
        t.crash("before_settle", kind=shop.charge)
        assert t.drain() == []
        assert (t.job(job).state, shop.did) == ("running", [7])
        t.clock.advance("29s")
        assert t.drain() == []
        t.clock.advance("2s")
        [ran] = t.drain()
        assert (ran.job.state, ran.job.crashes, ran.job.attempt, shop.did) == ("done", 1, 1, [7, 7])


def test_a_job_killed_before_its_run_has_not_crashed(shop: Shop, url: str | None) -> None:
    with testing.run(shop.app, url=url) as t:
        shop.charge.enqueue(7)
        shop.send_email.enqueue("a@b.c")
        t.crash("before_run", kind="charge")
        assert kinds(t.drain()) == ["send_email"]
        t.clock.advance("31s")
        [ran] = t.drain()
        assert (ran.job.kind, ran.job.crashes, shop.did) == ("charge", 0, [("a@b.c", "hello"), 7])


def test_a_job_that_is_killed_three_times_is_dead_of_poison(shop: Shop, url: str | None) -> None:
    with testing.run(shop.app, url=url) as t:
        job = shop.charge.enqueue(7)
        t.crash("before_settle", times=3)
        for _ in range(4):
            t.drain()
            t.clock.advance("31s")
        assert (t.job(job).state, t.job(job).reason, shop.did) == ("dead", "poison", [7, 7, 7])


def test_a_handler_can_be_killed_in_its_midst(url: str | None) -> None:
    app, did = tenure.App(), []

    @app.job
    async def two_steps() -> None:
        did.append("one")
        if len(did) == 1:
            raise testing.Killed
        did.append("two")

    with testing.run(app, url=url) as t:
        two_steps.enqueue()
        assert t.drain() == []
        t.clock.advance("31s")
        [ran] = t.drain()
        assert (ran.job.crashes, did) == (1, ["one", "one", "two"])


def test_a_crash_that_never_came_fails_the_test(shop: Shop) -> None:
    with (
        pytest.raises(AssertionError, match="never came: before_settle of charge, 1 times"),
        testing.run(shop.app) as t,
    ):
        t.crash("before_settle", kind=shop.charge)


def test_errors_can_be_raised_as_the_objects_they_were(url: str | None) -> None:
    app, error = tenure.App(), ValueError("mine")

    @app.job
    async def breaks() -> None:
        raise error

    @app.job
    def breaks_in_a_thread() -> None:
        raise error

    with testing.run(app, url=url) as t:
        for kind in (breaks, breaks_in_a_thread):
            job = kind.enqueue()
            with pytest.raises(ValueError, match="mine") as caught:
                t.drain(raise_errors=True)
            assert caught.value is error
            assert t.job(job).state == "scheduled"


def test_what_a_handler_says_on_purpose_is_not_raised() -> None:
    app = tenure.App()

    @app.job
    async def says(what: str) -> None:
        raise {
            "snooze": tenure.Snooze("1h"),
            "bury": tenure.Bury("no use"),
            "cancel": tenure.Cancel("not needed"),
            "retry": tenure.RetryIn("1h"),
        }[what]

    with testing.run(app) as t:
        for what in ("snooze", "bury", "cancel", "retry"):
            says.enqueue(what)
        runs = t.drain(raise_errors=True)
        assert [ran.job.state for ran in runs] == ["scheduled", "dead", "cancelled", "scheduled"]


def test_arguments_that_do_not_fit_bury_the_job(shop: Shop) -> None:
    with testing.run(shop.app) as t:
        t.queue.enqueue("charge", {"amount": "much"})
        [ran] = t.drain()
        assert (ran.job.state, ran.job.reason) == ("dead", "bad arguments")
        assert isinstance(ran.error, tenure.PayloadError)
        t.queue.enqueue("charge", {"amount": "much"})
        with pytest.raises(tenure.PayloadError, match="amount"):
            t.drain(raise_errors=True)


def test_a_timeout_applies() -> None:
    app = tenure.App()

    @app.job(timeout="10ms")
    async def slow() -> None:
        await asyncio.Event().wait()

    with testing.run(app) as t:
        slow.enqueue()
        [ran] = t.drain()
        assert isinstance(ran.error, TimeoutError)
        assert (ran.job.state, ran.job.error) == (
            "scheduled",
            "the job ran longer than its timeout of 0.01 s",
        )


def test_an_isolated_kind_runs_in_this_process() -> None:
    app, did = tenure.App(), []

    @app.job(isolate=True)
    def apart() -> None:
        did.append("here")

    with testing.run(app) as t:
        apart.enqueue()
        t.drain()
    assert did == ["here"]


def test_middleware_context_progress_and_listeners_are_the_real_ones(url: str | None) -> None:
    app, seen = tenure.App(), []

    @app.middleware
    async def around(ctx: tenure.Context, call: Callable[[], Awaitable[Any]]) -> Any:
        seen.append(f"before {ctx.job.kind}")
        result = await call()
        seen.append("after")
        return result

    @app.job
    def work(ctx: tenure.Context, n: int) -> int:
        ctx.progress(0.5, "half")
        return n + ctx.attempt

    app.listen(lambda event: seen.append(type(event).__name__), Started, Ended, Settled)
    with testing.run(app, url=url) as t:
        job = work.enqueue(1)
        t.drain()
        assert job.result("1s") == 2
        assert (t.job(job).progress, t.job(job).progress_note) == (0.5, "half")
    assert seen == ["Started", "before work", "after", "Ended", "Settled"]


def test_a_drain_stops_at_its_limit_or_when_it_is_told(shop: Shop) -> None:
    with testing.run(shop.app) as t:
        jobs = [shop.charge.enqueue(n) for n in range(6)]
        assert len(t.drain(limit=1)) == 1
        assert len(t.drain(until=jobs[2])) == 2
        assert len(t.drain(until=lambda ran: ran.outcome == tenure.Done(3))) == 1
        assert len(t.drain(until=jobs[4].id)) == 1
        assert len(t.drain()) == 1


def test_jobs_without_end_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    app = tenure.App()
    monkeypatch.setattr("tenure.testing.drain._MOST", 20)

    @app.job
    def again() -> None:
        again.enqueue()

    with testing.run(app) as t:
        again.enqueue()
        with pytest.raises(tenure.UsageError, match=r"20 jobs have run, the last .*again.* no end"):
            t.drain()


def test_a_stop_of_the_test_itself_goes_through_the_drain() -> None:
    app = tenure.App()

    @app.job
    async def work(what: str) -> None:
        if what == "fail":
            pytest.fail("from inside")
        raise KeyboardInterrupt

    with testing.run(app) as t:
        work.enqueue("fail")
        with pytest.raises(pytest.fail.Exception, match="from inside"):
            t.drain()
        work.enqueue("interrupt")
        with pytest.raises(KeyboardInterrupt):
            t.drain()


def test_handlers_see_the_test_s_context_variables() -> None:
    app, variable, seen = tenure.App(), contextvars.ContextVar[str]("variable"), []

    @app.job
    async def look() -> None:
        seen.append(variable.get())

    with testing.run(app) as t:
        for value in ("one", "two"):
            variable.set(value)
            look.enqueue()
            t.drain()
    assert seen == ["one", "two"]


def test_the_same_in_an_async_test(shop: Shop, url: str | None) -> None:
    async def test() -> None:
        async with testing.arun(shop.app, url=url) as t:
            job = await shop.send_email.aenqueue("a@b.c")
            shop.fragile.enqueue("no luck")
            t.assert_enqueued(shop.send_email, to="a@b.c")
            assert kinds(await t.drain()) == ["send_email", "fragile"]
            assert await job.aresult("1s") == "sent to a@b.c"
            t.clock.advance("1m")
            with pytest.raises(ValueError, match="no luck"):
                await t.drain(raise_errors=True)

    asyncio.run(test())


def test_async_handlers_run_on_the_loop_of_the_async_test() -> None:
    app, loops = tenure.App(), []

    @app.job
    async def look() -> None:
        loops.append(asyncio.get_running_loop())

    async def test() -> None:
        async with testing.arun(app) as t:
            await look.aenqueue()
            await t.drain()
            assert loops == [asyncio.get_running_loop()]

    asyncio.run(test())


def test_a_drain_that_is_cancelled_gives_its_job_back() -> None:
    app, begun = tenure.App(), asyncio.Event()

    @app.job
    async def endless() -> None:
        begun.set()
        await asyncio.Event().wait()

    async def test() -> None:
        async with testing.arun(app) as t:
            job = await endless.aenqueue()
            task = asyncio.ensure_future(t.drain())
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (t.job(job).state, t.job(job).attempt) == ("ready", 0)

    asyncio.run(test())


def test_a_sync_run_inside_an_event_loop_says_what_to_use() -> None:
    async def test() -> None:
        with (
            pytest.raises(tenure.UsageError, match=r"async with testing\.arun"),
            testing.run(tenure.App()),
        ):
            pass

    asyncio.run(test())


def test_afterwards_the_app_stands_where_it_stood(shop: Shop, tmp_path: Path) -> None:
    app = tenure.App(f"sqlite:///{tmp_path}/own.db")
    app.kinds.update(shop.app.kinds)
    before = app.queue
    before.enqueue("charge", {"amount": 1})
    with testing.run(app) as t:
        assert t.queue is app.queue
        assert t.queue is not before
        t.assert_not_enqueued()
        app.enqueue("charge", {"amount": 2})
    assert app.queue is before
    assert app.url == f"sqlite:///{tmp_path}/own.db"
    assert [job.payload for job in app.queue.list()] == [{"amount": 1}]
    app.close()


def test_afterwards_the_app_stands_where_it_stood_whatever_was_raised(shop: Shop, url: str | None) -> None:
    with pytest.raises(ZeroDivisionError), testing.run(shop.app, url=url) as t:
        shop.charge.enqueue(1)
        t.crash("before_run")
        raise ZeroDivisionError
    assert shop.app.url == "sqlite:///never-made.db"
    with testing.run(shop.app, url=url) as t:
        t.assert_not_enqueued()


def test_the_store_is_gone_afterwards(shop: Shop, tmp_path: Path, postgres_url: str) -> None:
    def schemas() -> list[Any]:
        with psycopg.connect(postgres_url) as connection:
            return connection.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'test_%'").fetchall()  # fmt: skip

    with testing.run(shop.app, url=f"{postgres_url}?schema=mine"):
        assert len(schemas()) == 1
    assert schemas() == []
    with testing.run(shop.app, url=f"sqlite:///{tmp_path}/jobs.db"):
        assert (tmp_path / "jobs.db").exists()
    assert list(tmp_path.iterdir()) == []
    with testing.run(shop.app) as t:
        path = Path(t.app.url.removeprefix("sqlite:///").partition("?")[0])
        assert path.exists()
    assert not path.parent.exists()


def test_a_file_that_is_there_is_never_deleted(shop: Shop, tmp_path: Path) -> None:
    (tmp_path / "jobs.db").touch()
    with (
        pytest.raises(tenure.UsageError, match="exists, and a test's store is deleted"),
        testing.run(shop.app, url=f"sqlite:///{tmp_path}/jobs.db"),
    ):
        pass
    assert (tmp_path / "jobs.db").exists()


def test_two_apps_may_be_under_test_at_once_one_app_only_once(shop: Shop) -> None:
    other = Shop()
    with testing.run(shop.app) as t, testing.run(other.app) as u:
        shop.charge.enqueue(1)
        u.assert_not_enqueued()
        t.assert_enqueued("charge")
        with pytest.raises(tenure.UsageError, match="under test already"), testing.run(shop.app):
            pass
        t.assert_enqueued("charge")


def test_handlers_in_threads_leave_no_thread_behind(shop: Shop) -> None:
    before = set(threading.enumerate())
    with testing.run(shop.app) as t:
        shop.charge.enqueue(1)
        t.drain()
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
    assert set(threading.enumerate()) == before


def test_misuse_is_told(shop: Shop) -> None:
    with pytest.raises(tenure.FieldTypeError, match=r"must be a tenure\.App"), testing.run("app"):  # type: ignore[arg-type]
        pass
    with (
        pytest.raises(tenure.FieldTypeError, match=r"must be a testing\.Clock"),
        testing.run(shop.app, clock=lambda: START),  # type: ignore[arg-type]
    ):
        pass
    with testing.run(tenure.App()) as t, pytest.raises(tenure.UsageError, match="no kinds to run"):
        t.drain()
    with testing.run(shop.app) as t:
        with pytest.raises(tenure.UnknownKind, match="did you mean 'charge'"):
            t.crash("before_run", kind="chrage")
        with pytest.raises(tenure.FieldError, match="before_run or before_settle"):
            t.crash("somewhere")  # type: ignore[arg-type]
        with pytest.raises(tenure.FieldError, match="times"):
            t.crash("before_run", times=0)
        with pytest.raises(tenure.FieldError, match="limit"):
            t.drain(limit=0)
        with pytest.raises(tenure.UsageError, match="there is no job"):
            t.job("00000000-0000-7000-8000-000000000000")


def test_a_clock_refuses_what_is_no_moment() -> None:
    naive = datetime(2030, 1, 1)  # noqa: DTZ001 - what is tested
    clock = testing.Clock(START)
    for wrong in (lambda: testing.Clock(naive), lambda: clock.set(naive)):
        with pytest.raises(tenure.FieldTypeError, match="timezone-aware"):
            wrong()
    with pytest.raises(tenure.FieldError, match="by"):
        clock.advance("-1s")
    assert clock.now == clock() == START


def test_a_clock_without_a_start_stands_at_the_machine_s_time() -> None:
    before = datetime.now(UTC)
    clock = testing.Clock()
    assert before - timedelta(seconds=1) <= clock.now <= datetime.now(UTC)
    assert clock.now == clock.now


def test_a_death_makes_the_job_of_its_hook(url: str | None) -> None:
    app, told = tenure.App(), []

    @app.on_dead
    def tell(dead: tenure.DeadJob) -> None:
        told.append((dead.kind, dead.reason))

    @app.job
    def hopeless() -> None:
        raise tenure.Bury("no use")

    with testing.run(app, url=url) as t:
        hopeless.enqueue()
        assert kinds(t.drain()) == ["hopeless", "tell"]
    assert told == [("hopeless", "no use")]


class Accounts:
    """A table of the user's own beside the jobs, and a handler that writes to it in one transaction with its end."""

    def __init__(self, url: str, tmp_path: Path) -> None:
        self._url, self._path = url, tmp_path / "app.db"
        self.app, self.broken = tenure.App(url), False
        self.execute("CREATE TABLE accounts (amount integer)")

        @self.app.job
        def book(ctx: tenure.Context, amount: int) -> None:
            connection = self.connect()
            try:
                connection.execute(f"INSERT INTO accounts VALUES ({amount})")
                ctx.claim.settle_in(connection, tenure.Done())
                if not self.broken:
                    connection.commit()
            finally:
                connection.close()

        self.book = book

    def connect(self) -> Any:
        return (
            psycopg.connect(self._url) if self._url.startswith("postgresql") else sqlite3.connect(self._path)
        )

    def execute(self, text: str) -> list[Any]:
        connection = self.connect()
        try:
            cursor = connection.execute(text)
            rows: list[Any] = cursor.fetchall() if cursor.description else []
            connection.commit()
        finally:
            connection.close()
        return rows


@pytest.fixture(params=["shared", "postgres"])
def accounts(request: pytest.FixtureRequest, tmp_path: Path, postgres_url: str) -> Iterator[Accounts]:
    url = postgres_url if request.param == "postgres" else f"sqlite:///{tmp_path}/app.db?shared=true"
    made = Accounts(url, tmp_path)
    yield made
    made.execute("DROP TABLE accounts")


def test_a_job_that_settles_in_its_own_transaction_is_done_once_however_it_dies(accounts: Accounts) -> None:
    with testing.run(accounts.app, url=accounts.app.url) as t:
        job = accounts.book.enqueue(5)
        t.crash("before_settle", kind=accounts.book)
        t.drain()
        t.clock.advance("1m")
        assert t.drain() == []
        assert t.job(job).state == "done"
        accounts.book.enqueue(6)
        [ran] = t.drain()
        assert (ran.outcome, ran.job.state) == (None, "done")
    assert accounts.execute("SELECT amount FROM accounts ORDER BY amount") == [(5,), (6,)]


def test_a_transaction_that_was_not_committed_fails_the_attempt(accounts: Accounts) -> None:
    accounts.broken = True
    with testing.run(accounts.app, url=accounts.app.url) as t:
        accounts.book.enqueue(5)
        [ran] = t.drain()
        assert (ran.job.state, type(ran.outcome)) == ("scheduled", tenure.Fail)
        assert "rolled back" in str(ran.error)


def test_a_file_of_the_user_s_own_keeps_only_the_user_s_tables(accounts: Accounts) -> None:
    before = _tables(accounts)
    with testing.run(accounts.app, url=accounts.app.url):
        assert _tables(accounts) > before
    assert _tables(accounts) == before >= {"accounts"}


def _tables(accounts: Accounts) -> set[str]:
    """All of them, whosever they are: other tests may have left some in a server's database."""
    try:
        rows = accounts.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    except psycopg.Error:
        rows = accounts.execute(
            "SELECT CASE schemaname WHEN 'public' THEN '' ELSE schemaname || '.' END || tablename FROM pg_tables"
        )
    return {name for (name,) in rows if not name.startswith("sqlite_")}


INTERRUPTED = """
import asyncio, os, signal, tenure
from tenure import testing

app = tenure.App()

@app.job
async def endless() -> None:
    os.kill(os.getpid(), signal.SIGINT)
    await asyncio.Event().wait()

with testing.run(app) as t:
    endless.enqueue()
    try:
        t.drain()
    except KeyboardInterrupt:
        print(*[job.state.value for job in t.enqueued()])
"""


def test_ctrl_c_ends_a_drain_and_gives_its_job_back() -> None:
    assert run_child(INTERRUPTED).split() == ["ready"]
