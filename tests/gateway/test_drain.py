"""Told to stop, a gateway answers what it was asked; over its limits or without room it says so, and takes more later."""

from __future__ import annotations

import asyncio
import http.client
import json
import resource
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest

from tests.gateway.house import Answer, House, Served
from tests.gateway.ledger import SECRET
from tests.gateway.process import GatewayProcess
from tests.gateway.senders import Line, update_of
from tests.gateway.signing import body_of, headers_of, settings_of
from tests.support.workers import Scene
from tests.worker.house import Working, until


def send(served: Served, number: int) -> Answer:
    body = body_of("telegram", update_id=number)
    return served.post("telegram", body, headers_of("telegram", body))


@contextmanager
def held(house: House, folder: Path) -> Iterator[None]:
    """Nobody can write to the store meanwhile."""
    url, _, schema = house.url.partition("?schema=")
    if schema:
        with psycopg.connect(url) as connection:
            connection.execute(f'LOCK TABLE "{schema}".jobs IN EXCLUSIVE MODE'.encode())
            yield
    else:
        with closing(apsw.Connection(str(folder / "jobs.db"))) as file:
            file.execute("BEGIN IMMEDIATE")
            yield
            file.execute("ROLLBACK")


def test_what_waits_for_its_commit_when_the_gateway_is_told_to_stop_is_acknowledged(
    house: House, tmp_path: Path
) -> None:
    served = house.serve(settings_of("telegram"), store_deadline="30s")
    assert send(served, 0).status == 200
    with ThreadPoolExecutor(8) as many:
        with held(house, tmp_path):
            asked = [many.submit(send, served, number) for number in range(1, 9)]
            until(lambda: served.gateway.intake.underway == 8)
            served._server.should_exit = True
            until(lambda: not served._server.servers or not served._server.servers[0].is_serving())
            with pytest.raises(OSError):
                served.raw()
        answers = [one.result() for one in asked]
    assert {a.status for a in answers} == {200}
    stored = {job.id: job.unique for job in house.app.queue.list()}
    assert {stored[a.json["id"]] for a in answers} == {str(n) for n in range(1, 9)}


async def send_till_refused(gateway: GatewayProcess) -> tuple[set[int], list[str]]:
    """Send from twenty chats at once; SIGTERM after some answers. The statuses, and the ids that were acknowledged."""
    statuses: set[int] = set()
    ids: list[str] = []

    async def chat(number: int) -> None:
        line = Line(gateway.port)
        try:
            for at in range(10_000):
                status, answer = await line.post(update_of(number * 10_000 + at, number))
                if status == 0:
                    return  # refused, or cut off unanswered: Telegram would send it again
                statuses.add(status)
                ids.append(answer["id"])
                if len(ids) == 100:
                    gateway.process.send_signal(signal.SIGTERM)
        finally:
            line.close()

    async with asyncio.TaskGroup() as tasks:
        for number in range(1, 21):
            tasks.create_task(chat(number))
    return statuses, ids


def test_a_process_that_is_told_to_stop_acknowledges_nothing_that_is_lost(
    scene: Scene, gateway: GatewayProcess
) -> None:
    gateway.ready()
    statuses, ids = asyncio.run(send_till_refused(gateway))
    assert gateway.process.wait(60) == 0
    assert statuses == {200}
    assert {job.id for job in scene.q.list(limit=10_000)} >= set(ids)
    assert SECRET not in gateway.log


def test_a_gateway_that_stops_waiting_for_a_handler_says_503_and_never_500(light: House) -> None:
    @light.app.job
    async def waits(event: dict[str, Any]) -> None:
        await asyncio.Event().wait()

    served = light.serve(
        settings_of("telegram", **{"async": False}, handler="python:waits", deadline="60s"),
        server={"timeout_graceful_shutdown": 1},
    )
    with ThreadPoolExecutor(1) as one:
        asked = one.submit(send, served, 1)
        until(lambda: served.gateway.intake.underway == 1)
        served._server.should_exit = True
        answer = asked.result()
    assert (answer.status, answer.headers["retry-after"]) == (503, "5")


@pytest.mark.parametrize("scene", ["sqlite"], indirect=True)
def test_a_full_disk_is_503_and_takes_more_once_there_is_room(scene: Scene, gateway: GatewayProcess) -> None:
    gateway.ready()
    files = [gateway.file, Path(f"{gateway.file}-wal")]
    room = max(file.stat().st_size for file in files if file.exists()) + 200_000
    pid, unlimited = gateway.process.pid, resource.RLIM_INFINITY
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (room, unlimited))

    async def fill() -> None:
        line, kept = Line(gateway.port), []
        for number in range(1, 1_000):
            status, answer = await line.post(update_of(number, 1, "x" * 20_000))
            if status != 200:
                break
            kept.append(answer["id"])
        assert status == 503
        assert {job.id for job in scene.q.list(limit=1_000)} == set(kept)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (unlimited, unlimited))
        while (await line.post(update_of(number, 1, "x" * 20_000)))[0] == 503:  # noqa: ASYNC110 - asks
            await asyncio.sleep(0.05)
        assert len(scene.q.list(limit=1_000)) == len(kept) + 1
        line.close()

    asyncio.run(fill())
    assert gateway.process.poll() is None


_ROOMLESS = """
CREATE SEQUENCE {0}.commits;
CREATE SEQUENCE {0}.failed_in;
CREATE SEQUENCE {0}.went_in;
CREATE FUNCTION {0}.fill_up() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- What a sequence is set to stays, whatever becomes of the transaction.
    IF nextval('{0}.commits') = 1 THEN
        PERFORM setval('{0}.failed_in', pg_backend_pid());
        RAISE 'could not extend file: No space left on device' USING ERRCODE = 'disk_full';
    END IF;
    PERFORM setval('{0}.went_in', pg_backend_pid());
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER fill_up AFTER INSERT ON {0}.jobs DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION {0}.fill_up();
"""
"""The first commit with a job in it is answered 53100 by the server itself, at COMMIT; every later one goes."""


@pytest.mark.parametrize("house", ["postgres"], indirect=True)
def test_a_full_disk_of_the_server_is_503_stores_nothing_and_costs_no_connection(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    served = house.serve(settings_of("telegram"))
    assert send(served, 0).status == 200
    url, _, schema = house.url.partition("?schema=")
    line = http.client.HTTPConnection("127.0.0.1", served.port, timeout=30)
    with psycopg.connect(url, autocommit=True) as database, closing(line):
        database.execute(_ROOMLESS.format(f'"{schema}"').encode())

        def told_by(table: str, what: str = "count(*)") -> int:
            [found] = database.execute(f'SELECT {what} FROM "{schema}".{table}'.encode()).fetchone() or [0]
            return int(found)

        def sent() -> tuple[int, str | None, Any]:
            body = body_of("telegram", update_id=1)
            line.request("POST", "/telegram", body, headers_of("telegram", body))
            answer = line.getresponse()
            return answer.status, answer.getheader("retry-after"), json.loads(answer.read())

        line.connect()
        kept = line.sock
        assert sent()[:2] == (503, "5")
        assert "PostgreSQL is out of room: could not extend file: No space left on device" in caplog.text
        assert (told_by("jobs"), told_by("requests")) == (1, 1)
        status, _, told = sent()
        assert (status, "duplicate" in told) == (200, False)
        assert line.sock is kept
        assert (told_by("jobs"), told_by("requests"), told_by("commits", "last_value")) == (2, 2, 2)
        assert told_by("failed_in", "last_value") == told_by("went_in", "last_value")
    assert {job.unique for job in house.app.queue.list()} == {"0", "1"}
    assert served.ask("GET", "/readyz").status == 200


def test_a_backlog_that_a_worker_has_drained_takes_updates_again(house: House) -> None:
    served = house.serve(settings_of("telegram", backlog=3))
    assert [send(served, number).status for number in range(1, 6)] == [200, 200, 200, 503, 503]
    working = Working(house.app, {})
    try:
        until(lambda: send(served, 4).status == 200)
        until(lambda: len(house.got) == 4)
    finally:
        working.stop()
