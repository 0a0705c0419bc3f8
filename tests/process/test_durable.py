"""G1: when enqueue returned, the job survives the death of the process, and of the server."""

from __future__ import annotations

import random
import signal

import pytest

import tenure
from tests.support.child import start_child
from tests.support.postgres import PostgresServer

SYNC = """
import sys, tenure
q = tenure.open(sys.argv[1])
while True:
    print(q.enqueue("k", {"some": "payload"}).id, flush=True)
"""
MANY = """
import sys, tenure
q = tenure.open(sys.argv[1])
while True:
    answers = q.enqueue_many([tenure.NewJob(kind="k") for _ in range(60)])
    print(*(a.id for a in answers), sep="\\n", flush=True)
"""
ASYNC = """
import asyncio, sys, tenure
async def enqueue(q):
    while True:
        print((await q.enqueue("k")).id, flush=True)
async def main():
    q = await tenure.aopen(sys.argv[1])
    await asyncio.gather(*(enqueue(q) for _ in range(8)))
asyncio.run(main())
"""
PROGRAMS = {"sync": SYNC, "many": MANY, "async": ASYNC}


def ids_told_before_death(program: str, url: str, lines: int) -> set[str]:
    """The ids a child printed before it was killed, after this many lines; whole lines only."""
    with start_child(program, url) as child:
        assert child.stdout is not None
        told = [child.stdout.readline() for _ in range(lines)]
        child.send_signal(signal.SIGKILL)
        told += child.stdout.readlines()
        assert child.wait(30) == -signal.SIGKILL
    return {line.strip() for line in told if line.endswith("\n")}


def ids_stored(url: str) -> set[str]:
    with tenure.open(url) as q:
        found: list[tenure.JobSeen] = []
        while page := q.list(limit=10_000, before=found[-1].id if found else None):
            found += page
        return {job.id for job in found}


@pytest.mark.parametrize("way", PROGRAMS)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_job_survives_kill_9_once_enqueue_returned(url: str, way: str, seed: int) -> None:
    lines = random.Random(f"{seed} {way}").randrange(1, 300)
    told = ids_told_before_death(PROGRAMS[way], url, lines)
    assert len(told) >= lines
    assert told <= ids_stored(url)


def test_a_job_survives_the_crash_of_the_server_once_enqueue_returned() -> None:
    with PostgresServer() as server:
        url = server.url()
        with start_child(SYNC, url) as child:
            assert child.stdout is not None
            told = [child.stdout.readline() for _ in range(100)]
            server.stop("immediate")
            child.send_signal(signal.SIGKILL)
            told += child.stdout.readlines()
        server.start()
        assert {line.strip() for line in told if line.endswith("\n")} <= ids_stored(url)


def test_postgresql_is_asked_to_commit_durably(postgres_url: str) -> None:
    with tenure.open(f"{postgres_url}?schema=t_durable") as q:
        q.enqueue("k")
        [link] = [runner.link for runner in q._store._pool._idle]  # type: ignore[attr-defined]
        assert link.execute("SHOW synchronous_commit").fetchone() == ("on",)
