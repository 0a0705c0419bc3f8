"""What is kept of a handler's result, and what becomes of arguments that do not fit."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest

import tenure
from tests.worker.house import House


def test_a_result_is_kept_up_to_64_kib_and_a_larger_one_is_not_but_the_job_is_done(house: House) -> None:
    @house.app.job
    async def text(length: int) -> str:
        return "x" * length

    fits, large = text.enqueue(65_534), text.enqueue(65_535)
    house.start()
    assert fits.result("30s") == "x" * 65_534
    with pytest.raises(tenure.ResultNotKept, match=rf"job {large.id} is done, but .* larger than 64 KiB"):
        large.result("30s")
    assert house.ended(large).state == "done"


def test_none_is_a_result_where_the_annotation_has_it_and_else_a_result_that_was_not_kept(
    house: House,
) -> None:
    @house.app.job
    async def maybe() -> str | None:
        return None

    @house.app.job
    async def whatever():  # type: ignore[no-untyped-def]
        return None

    @house.app.job
    async def said(ctx: tenure.Context) -> int:
        return cast("int", None)

    jobs: list[tenure.Job[Any]] = [maybe.enqueue(), whatever.enqueue()]
    lying = said.enqueue()
    house.start()
    assert [job.result("30s") for job in jobs] == [None, None]
    with pytest.raises(tenure.ResultNotKept, match="or None"):
        asyncio.run(lying.aresult("30s"))
    asyncio.run(house.app.aclose())


def test_a_result_that_is_no_json_is_not_kept_but_the_job_is_done(house: House) -> None:
    made: dict[str, Any] = {"object": object(), "nan": float("nan"), "path": Path(), "deep": []}
    for _ in range(200):
        made["deep"] = [made["deep"]]
    made["self"] = [made]

    @house.app.job
    async def odd(what: str) -> Any:
        return made[what]

    jobs = [odd.enqueue(what) for what in made]
    house.start()
    assert [(j.result("30s"), house.ended(j).state) for j in jobs] == [(None, "done")] * len(jobs)


def test_a_kind_that_keeps_no_results_keeps_none(house: House) -> None:
    @house.app.job(keep_result=False)
    def shout() -> str:
        return "hello"

    job = shout.enqueue()
    house.start()
    with pytest.raises(tenure.ResultNotKept, match="keep_result=False"):
        job.result("30s")
    assert (house.ended(job).state, house.ended(job).result_text) == ("done", None)


def test_bad_arguments_are_the_end_with_their_path_and_harm_no_neighbour(house: House) -> None:
    @house.app.job
    async def send(to: str, sizes: list[int]) -> str:
        return to

    good = [send.enqueue("a", [1]) for _ in range(3)]
    with tenure.open(house.url) as bare:
        bad = bare.enqueue("send", {"to": "a", "sizes": [1, "two"]})
        missing = bare.enqueue("send", {"to": "a"})
        unknown = bare.enqueue("send", {"to": "a", "sizes": [], "extra": 1})
        listed = bare.enqueue("send", [1, 2])
    good += [send.enqueue("b", []) for _ in range(3)]
    house.start(concurrency=1)
    assert [j.result("30s") for j in good] == ["a"] * 3 + ["b"] * 3
    for job, words in (
        (bad, "payload.sizes[1]"),
        (missing, "sizes"),
        (unknown, "extra"),
        (listed, "payload"),
    ):
        end = house.ended(job)
        assert (end.state, end.reason, end.attempt) == ("dead", "bad arguments", 1)
        assert words in str(end.error)
        [told] = house.queue.history(job.id)
        assert told.error_kind == "PayloadError"


def test_a_payload_that_does_not_decode_is_the_end_and_harms_no_neighbour(house: House) -> None:
    @house.app.job
    async def fine(n: int) -> int:
        return n

    @house.app.job
    def threaded(n: int) -> int:
        return n

    good = [fine.enqueue(1), threaded.enqueue(2)]
    bad = [fine.enqueue(3), threaded.enqueue(4)]
    for job, text in zip(bad, ('{"n": ', "[" * 5_000), strict=True):
        _store_payload(house, job.id, text)
    house.start(concurrency=1)
    assert [j.result("30s") for j in good] == [1, 2]
    for job in bad:
        end = house.ended(job)
        assert (end.state, end.reason) == ("dead", "bad arguments")
        assert "payload" in str(end.error)


def _store_payload(house: House, job_id: str, text: str) -> None:
    """Put a text into the store that no client would have put there."""
    import apsw
    import psycopg

    if house.store == "postgres":
        url, _, schema = house.url.partition("?schema=")
        with psycopg.connect(url) as connection:
            connection.execute(
                f'UPDATE "{schema}".jobs SET payload = %s WHERE id = %s'.encode(), (text, job_id)
            )
    else:
        path = house.url.removeprefix("sqlite:///").partition("?")[0]
        house.app.close()
        with apsw.Connection(path) as file:
            file.execute("UPDATE tenure_jobs SET payload = ? WHERE id = ?", (text, job_id))
