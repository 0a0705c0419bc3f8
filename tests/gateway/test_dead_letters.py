"""Apologies: whose update finally failed is told, once, whoever dies in between."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

import tenure
import tenure.gateway
from tenure import testing
from tenure.app_hooks import store_hooks
from tenure.gateway.handlers import Misfit
from tenure.gateway.telegram import send
from tenure.gateway.telegram.notice import APOLOGY
from tenure.job import Request
from tenure.newjob import NewJob
from tenure.testing.telegram import FakeTelegram
from tests.gateway.bot import TOKEN, bot_of, deliver, ended, notices, say
from tests.gateway.house import House
from tests.gateway.sorry import ADDRESS
from tests.gateway.test_telegram_api import UPDATES
from tests.support.workers import Scene
from tests.support.workers import until as until_there
from tests.worker.house import Working, until

NOTICE = "gateway.bot.notice"


class Played(NamedTuple):
    """A bot on a store of its own, by a clock of the test's, whose handler does what it is told."""

    t: testing.Stage
    app: tenure.App
    raises: list[BaseException | None]

    def send(self, update: dict[str, Any], **more: Any) -> str:
        """Keep an update as the gateway does."""
        request = Request(json.dumps(update).encode(), {})
        terms = {"queue": "gateway", "max_attempts": 1, "request": request, **more}
        return self.app.queue.enqueue_job(NewJob(kind="gateway.bot", payload={}, **terms)).id

    @property
    def told(self) -> list[Any]:
        """The results of the notices so far, the oldest first."""
        return [job.result for job in notices(self.app.queue)]


def app_of(telegram: FakeTelegram, raises: list[BaseException | None], **source: Any) -> tenure.App:
    app = tenure.App("sqlite:///never-opened.db")

    @app.job
    async def on_event(event: dict[str, Any]) -> None:
        if raises and raises[0] is not None:
            raise raises[0]

    given = {"inline_secrets": True, "sources": [bot_of(telegram, **source)]}
    tenure.gateway.attach(app, given)
    return app


@pytest.fixture(params=["sqlite", "postgres"])
def played(request: pytest.FixtureRequest, telegram: FakeTelegram, postgres_url: str) -> Iterator[Played]:
    raises: list[BaseException | None] = [RuntimeError("broken")]
    app = app_of(telegram, raises, retry=["30s", "2m"])
    with testing.run(app, url=postgres_url if request.param == "postgres" else None) as t:
        yield Played(t, app, raises)


@pytest.mark.parametrize("way", ["attempts", "buried", "misfit", "crashes"])
def test_whose_update_finally_failed_is_told(played: Played, telegram: FakeTelegram, way: str) -> None:
    if way == "buried":
        played.raises[0] = tenure.Bury("hopeless")
    if way == "misfit":
        played.raises[0] = Misfit("not what it takes")
    job_id = played.send(telegram.message("hi", person=7))
    if way == "crashes":
        for _ in range(3):
            [claim] = played.app.queue.claim(1, worker="lost")
            played.app.queue.vanished("lost", started=[(claim.id, claim.epoch)], story="it died")
    played.t.drain()
    job = played.app.queue.get(job_id)
    assert job is not None
    assert job.state == "dead"
    assert [(m["chat_id"], m["text"]) for m in telegram.sent] == [(7, APOLOGY)]
    [notice] = notices(played.app.queue)
    assert (notice.parent, notice.state, notice.result) == (job_id, "done", "sent")


def test_a_failure_that_is_not_the_last_tells_nobody(played: Played, telegram: FakeTelegram) -> None:
    played.send(telegram.message("hi"), max_attempts=2)
    played.t.drain()
    assert telegram.calls == []
    played.raises[0] = None
    played.t.clock.advance("1s")
    played.t.drain()
    assert (telegram.calls, played.told) == ([], [])


def test_of_an_update_that_expired_its_person_is_told_if_it_had_failed(
    played: Played, telegram: FakeTelegram
) -> None:
    """A button's update, say: it expires before the second retry of the usual ladder."""
    played.send(telegram.message("hi", person=7), max_attempts=5, expires_in="150s")
    for wait in ("30s", "2m"):
        played.t.drain()
        assert telegram.calls == []
        played.t.clock.advance(wait)
    played.app.queue.expire()
    played.t.drain()
    [notice] = notices(played.app.queue)
    dead = played.app.queue.get(notice.parent or "")
    assert dead is not None
    assert (dead.state, dead.reason, dead.attempt) == ("dead", "expired", 2)
    assert [(m["chat_id"], m["text"]) for m in telegram.sent] == [(7, APOLOGY)]
    assert played.told == ["sent"]


def test_of_an_update_that_expired_before_anything_failed_nobody_is_told(
    played: Played, telegram: FakeTelegram
) -> None:
    put_off = played.send(telegram.message("hi"), max_attempts=5, expires_in="10s")
    played.raises[0] = tenure.Snooze("1h")
    played.t.drain()
    never = played.send(telegram.message("hi", person=8), expires_in="10s")
    played.t.clock.advance("11s")
    played.app.queue.expire()
    played.t.drain()
    jobs = [played.app.queue.get(i) for i in (put_off, never)]
    assert [j.reason for j in jobs if j] == ["expired", "expired"]
    assert set(played.told) <= {"not told: the update had expired, and nothing had failed"}
    assert telegram.calls == []


def test_the_person_is_told_where_the_update_came_from(played: Played, telegram: FakeTelegram) -> None:
    played.send(telegram.message("hi", person=7, chat=-5))
    played.send({"update_id": 50, "inline_query": UPDATES["inline_query"]})
    for nobodys in ({"poll": {"id": "1"}}, {"channel_post": {"chat": {"id": -9, "type": "channel"}}}):
        played.send({"update_id": 51, **nobodys})
    played.t.drain()
    assert sorted(m["chat_id"] for m in telegram.sent) == [-5, 7]
    assert sorted(played.told) == ["not told: nobody sent it"] * 2 + ["sent"] * 2


def test_a_notice_waits_as_long_as_telegram_says_and_burns_no_attempt(
    played: Played, telegram: FakeTelegram
) -> None:
    telegram.refuse(429, "Too Many Requests: retry after 300", retry_after=300)
    played.send(telegram.message("hi", person=7))
    played.t.drain()
    [notice] = notices(played.app.queue)
    assert (notice.state, notice.attempt) == ("scheduled", 0)
    played.t.clock.advance("299s")
    assert played.t.drain() == []
    played.t.clock.advance("1s")
    played.t.drain()
    [notice] = notices(played.app.queue)
    assert (notice.state, notice.attempt, notice.result) == ("done", 1, "sent")


def test_a_notice_whose_answer_is_lost_is_sent_once_more_and_then_no_more(
    played: Played, telegram: FakeTelegram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(send, "_ANSWERED_WITHIN", 0.3)
    played.send(telegram.message("hi", person=7))
    with telegram.holding(taken=True):
        played.t.drain()
        for seconds in (30, 120, 600, 1_800, *[3_600] * 5):
            played.t.clock.advance(seconds)
            played.t.drain()
    [notice] = notices(played.app.queue)
    assert len(telegram.sent) == 2
    place = telegram.url.removeprefix("http://")
    assert (notice.state, notice.attempt) == ("done", 2)
    assert notice.result == f"perhaps sent: {place}: no answer within 0.3 s"
    assert [a.error_kind for a in played.app.queue.history(notice.id)] == ["PerhapsSent"]


def test_a_notice_whose_answer_was_lost_once_and_that_was_refused_besides_is_tried_until_it_is_told(
    played: Played, telegram: FakeTelegram, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One lost answer beside refusals: each of them is known to have told nobody."""
    monkeypatch.setattr(send, "_ANSWERED_WITHIN", 0.3)
    telegram.fail(times=3)
    played.send(telegram.message("hi", person=7))
    for seconds in (30, 120, 600):
        played.t.drain()
        played.t.clock.advance(seconds)
    with telegram.holding():  # it never arrives
        played.t.drain()
    telegram.fail()
    for seconds in (1_800, 3_600):
        played.t.clock.advance(seconds)
        played.t.drain()
    [notice] = notices(played.app.queue)
    assert (notice.state, notice.attempt, notice.result) == ("done", 6, "sent")
    kinds = [a.error_kind for a in played.app.queue.history(notice.id)]
    assert kinds == ["BotRefused"] * 3 + ["PerhapsSent", "BotRefused"]
    assert len(telegram.sent) == 1


def test_a_notice_is_tried_for_hours_and_its_own_death_tells_nobody(telegram: FakeTelegram) -> None:
    app = app_of(telegram, [RuntimeError("broken")], token="env:NOT_SET_HERE")
    with testing.run(app) as t:
        Played(t, app, []).send(telegram.message("hi"))
        t.drain()
        for seconds in (30, 120, 600, 1_800, *[3_600] * 5):
            t.clock.advance(seconds - 1)
            assert t.drain() == []
            t.clock.advance(1)
            t.drain()
        [notice] = notices(app.queue)
        assert (notice.state, notice.reason, notice.attempt) == ("dead", "failed", 10)
        assert notice.error is not None
        assert notice.error.startswith(
            "source 'bot' cannot send: token: the secret env:NOT_SET_HERE is not set"
        )
        assert len(app.queue.list()) == 2
    assert app.kinds[NOTICE].terms.settle == "now"


def test_who_was_told_is_told_again_after_a_day_if_a_replay_dies(
    played: Played, telegram: FakeTelegram
) -> None:
    job_id = played.send(telegram.message("hi", person=7))
    played.t.drain()
    played.t.clock.advance("23h")
    played.app.queue.replay(job_id)
    played.t.drain()
    assert played.told == ["sent", "not told: was told within a day"]
    played.t.clock.advance("2h")
    played.app.queue.replay(job_id)
    played.t.drain()
    assert played.told == ["sent", "not told: was told within a day", "sent"]
    assert len(telegram.sent) == 2


def test_what_a_notice_that_never_told_leaves_the_next_one_tells(
    played: Played, telegram: FakeTelegram
) -> None:
    telegram.fail()
    job_id = played.send(telegram.message("hi", person=7))
    played.t.drain()
    [notice] = notices(played.app.queue)
    assert notice.state == "scheduled"
    played.app.queue.replay(job_id)
    played.t.drain()
    assert played.told == [None, "not told: was told within a day"]  # the first is still on its way
    played.app.queue.cancel(notice.id)
    played.app.queue.replay(job_id)
    played.t.drain()
    assert played.told[2] == "sent"
    assert len(telegram.sent) == 1


@pytest.mark.parametrize("how", ["empty", "no token"])
def test_where_there_is_no_apology_nobody_is_told_even_if_an_older_start_has_hooked_it(
    telegram: FakeTelegram, how: str
) -> None:
    source = {"apology": ""} if how == "empty" else {"token": None}
    app = app_of(telegram, [RuntimeError("broken")], **source)
    with testing.run(app) as t:
        played = Played(t, app, [])
        played.send(telegram.message("hi"))
        t.drain()
        assert played.told == []
        app.queue.hook("gateway.bot", NOTICE, queue="gateway")
        played.send(telegram.message("hi"))
        t.drain()
        assert played.told == ["not told: there is no apology"]
    assert telegram.calls == []


def test_a_notice_that_ends_before_it_is_settled_tells_again_and_only_then(
    played: Played, telegram: FakeTelegram
) -> None:
    played.send(telegram.message("hi", person=7))
    played.t.crash("before_run", kind=NOTICE)
    played.t.drain()
    assert telegram.sent == []
    played.t.clock.advance("31s")
    played.t.drain()
    assert len(telegram.sent) == 1

    played.send(telegram.message("hi", person=8))
    played.t.crash("before_settle", kind=NOTICE)
    played.t.drain()
    played.t.clock.advance("31s")
    played.t.drain()
    assert [m["chat_id"] for m in telegram.sent] == [7, 8, 8]


def test_a_gateway_that_starts_again_repeats_nothing(
    house: House, working: list[Working], telegram: FakeTelegram
) -> None:
    @house.app.job
    async def fails(event: dict[str, Any]) -> None:
        raise RuntimeError("broken")

    source = bot_of(telegram, handler="python:fails", max_attempts=1, apology="Sorry.")
    served = house.serve(source)
    working.append(Working(house.app, {}))
    update = telegram.message("hi", person=7)
    job = ended(house, deliver(served, telegram, update).json["id"])
    until(lambda: [n.state for n in notices(house.app.queue)] == ["done"])
    working.pop().stop()
    served.close()
    again = house.serve(source)
    working.append(Working(house.app, {}))
    assert deliver(again, telegram, update).json == {"ok": True, "id": job.id, "duplicate": True}
    other = ended(house, say(again, telegram, "hello", person=8).json["id"])
    until(lambda: [n.state for n in notices(house.app.queue)] == ["done", "done"])
    assert [n.parent for n in notices(house.app.queue)] == [job.id, other.id]
    assert [(m["chat_id"], m["text"]) for m in telegram.sent] == [(7, "Sorry."), (8, "Sorry.")]


@pytest.fixture
def there(scene: Scene, telegram: FakeTelegram, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """A scene with an update that will fail, and a Telegram that its workers know."""
    monkeypatch.setenv("SORRY_API", telegram.url)
    monkeypatch.setenv("SORRY_TOKEN", TOKEN)
    request = Request(json.dumps(telegram.message("hi", person=7)).encode(), {})
    scene.q.enqueue_job(NewJob(kind="gateway.bot", payload={}, queue="gateway", request=request))
    return scene


def state_of_notice(scene: Scene) -> str:
    [notice] = notices(scene.q)
    return notice.state.value


@pytest.mark.parametrize(
    "scene", ["sqlite", pytest.param("postgres", marks=pytest.mark.proof)], indirect=True
)
def test_a_worker_killed_before_the_message_went_or_after_all_was_settled_has_told_once(
    there: Scene, telegram: FakeTelegram
) -> None:
    with telegram.holding():
        first = there.start(address=ADDRESS)
        until_there(lambda: telegram.waiting == 1)
        first.kill()
    assert telegram.sent == []
    second = there.start(address=ADDRESS)
    until_there(lambda: state_of_notice(there) == "done")
    second.kill()
    assert [(m["chat_id"], m["text"]) for m in telegram.sent] == [(7, "Sorry.")]
    assert there.q.claim(10) == []  # nothing is left that could tell again
    assert all(TOKEN not in worker.log for worker in there.started)


@pytest.mark.proof
def test_a_worker_killed_after_the_message_went_and_before_that_was_settled_is_the_one_that_tells_twice(
    there: Scene, telegram: FakeTelegram
) -> None:
    with telegram.holding(taken=True):
        first = there.start(address=ADDRESS)
        until_there(lambda: telegram.waiting == 1)
        first.kill()
    there.start(address=ADDRESS)
    until_there(lambda: state_of_notice(there) == "done")
    assert [m["text"] for m in telegram.sent] == ["Sorry.", "Sorry."]


@pytest.mark.proof
def test_a_worker_started_after_all_was_settled_tells_nobody_again(
    there: Scene, telegram: FakeTelegram
) -> None:
    for _ in range(3):
        worker = there.start(address=ADDRESS)
        until_there(lambda: notices(there.q) != [] and state_of_notice(there) == "done")
        worker.says("works on")
        worker.kill()
    assert len(telegram.sent) == 1


def test_an_app_s_hooks_are_stored_by_whoever_works(played: Played) -> None:
    assert store_hooks(played.app.queue, played.app.kinds) == 0
    assert [(h.kind, h.hook, h.max_attempts) for h in played.app.queue.hooks()] == [
        ("gateway.bot", NOTICE, 10)
    ]
