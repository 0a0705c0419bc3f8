"""Several processes on one store: side by side, and forked from each other."""

from __future__ import annotations

import json

import tenure
from tests.support.child import run_child, start_child

WORKER = """
import json, sys, tenure
q = tenure.open(sys.argv[1])
sys.stdin.readline()
enqueued, claimed = [], []
for n in range(40):
    enqueued.append(q.enqueue("k", {"n": n}).id)
    for claim in q.claim(2):
        if q.settle(claim, tenure.Done()):
            claimed.append(claim.id)
q.close()
print(json.dumps([enqueued, claimed]))
"""

FORKER = """
import json, os, sys, tenure
q = tenure.open(sys.argv[1])
before = q.enqueue("k").id
assert [c.id for c in q.claim()] == [before]

def work():
    ids = [q.enqueue("k").id for _ in range(20)]
    taken = []
    for _ in range(10):
        for claim in q.claim():
            assert q.settle(claim, tenure.Done())
            taken.append(claim.id)
    return [ids, taken, q.worker]

reading, writing = os.pipe()
child = os.fork()
if child == 0:
    os.close(reading)
    with os.fdopen(writing, "w") as told:
        json.dump(work(), told)
    q.close()
    sys.exit(0)
os.close(writing)
mine = work()
with os.fdopen(reading) as told:
    theirs = json.load(told)
assert os.waitpid(child, 0)[1] == 0
after = q.enqueue("k").id
q.close()
print(json.dumps([before, mine, theirs, after]))
"""


FORKERS = """
import os, sys, threading, tenure
q = tenure.open(sys.argv[1])
q.enqueue("k")
together = threading.Barrier(2)

def fork():
    together.wait()
    for _ in range(15):
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)

def store():
    while any(t.is_alive() for t in forking):
        q.enqueue("k")

forking = [threading.Thread(target=fork) for _ in range(2)]
storing = [threading.Thread(target=store, daemon=True) for _ in range(2)]
for thread in [*forking, *storing]:
    thread.start()
for thread in [*forking, *storing]:
    thread.join(60)
    assert not thread.is_alive(), "it waits for ever"
print(q.enqueue("k").inserted)
q.close()
"""


def test_threads_that_fork_at_the_same_time_leave_nobody_waiting(url: str) -> None:
    assert run_child(FORKERS, url).strip() == "True"


def test_several_processes_enqueue_and_claim_at_once(url: str) -> None:
    tenure.open(url).close()
    children = [start_child(WORKER, url) for _ in range(4)]
    for child in children:
        assert child.stdin is not None
        child.stdin.write("\n")
        child.stdin.flush()
    said = [child.communicate(timeout=100) for child in children]
    assert [(child.returncode, errors) for child, (_, errors) in zip(children, said, strict=True)] == [
        (0, "")
    ] * 4
    work = [json.loads(out) for out, _ in said]
    enqueued = [i for ids, _ in work for i in ids]
    claimed = [i for _, ids in work for i in ids]
    assert len(claimed) == len(set(claimed))
    with tenure.open(url) as q:
        while claim := q.claim():
            assert q.settle(claim[0], tenure.Done())
            claimed.append(claim[0].id)
        assert sorted(claimed) == sorted(enqueued)
        assert q.counts()["default"]["done"] == 160


def test_a_forked_child_and_its_parent_both_go_on(url: str) -> None:
    before, mine, theirs, after = json.loads(run_child(FORKER, url))
    stored = [before, *mine[0], *theirs[0], after]
    taken = [*mine[1], *theirs[1]]
    assert len(taken) == 20
    assert len(set(taken)) == 20
    with tenure.open(url) as q:
        assert {job.id for job in q.list()} == set(stored)
        assert q.counts()["default"]["done"] == 20
        assert q.counts()["default"]["running"] == 1


def test_a_forked_child_is_a_worker_of_its_own(url: str) -> None:
    """A name that two processes share would let one beat for the other's death."""
    _, mine, theirs, _ = json.loads(run_child(FORKER, url))
    assert mine[2] != theirs[2]


ASYNC_FORKER = """
import asyncio, json, os, sys, tenure, uuid, warnings
q = asyncio.run(tenure.aopen(sys.argv[1]))

async def work():
    ids = [e.id for e in await asyncio.gather(*(q.enqueue("k", n) for n in range(10)))]
    ids += [e.id for e in await asyncio.gather(*(q.enqueue("k", n, unique=str(uuid.uuid4())) for n in range(10)))]
    taken = []
    for _ in range(10):
        for claim in await q.claim():
            assert await q.settle(claim, tenure.Done())
            taken.append(claim.id)
    return [ids, taken, q.worker]

before = asyncio.run(work())
reading, writing = os.pipe()
with warnings.catch_warnings():
    # Newer Pythons warn of the threads that are not there in the child; that the queue does without them is what is shown.
    warnings.simplefilter("ignore", DeprecationWarning)
    child = os.fork()
if child == 0:
    os.close(reading)
    with os.fdopen(writing, "w") as told:
        json.dump(asyncio.run(work()), told)
    asyncio.run(q.close())
    sys.exit(0)
os.close(writing)
mine = asyncio.run(work())
with os.fdopen(reading) as told:
    theirs = json.load(told)
assert os.waitpid(child, 0)[1] == 0
after = asyncio.run(work())
asyncio.run(q.close())
print(json.dumps([before, mine, theirs, after]))
"""


def test_a_forked_child_with_its_parent_s_async_queue_and_the_parent_both_go_on(url: str) -> None:
    said = json.loads(run_child(ASYNC_FORKER, url))
    stored = [job for ids, _, _ in said for job in ids]
    taken = [job for _, ids, _ in said for job in ids]
    assert len(stored) == len(set(stored)) == 80
    assert len(taken) == len(set(taken)) == 40
    before, mine, theirs, after = (worker for _, _, worker in said)
    assert before == mine == after != theirs
    with tenure.open(url) as q:
        assert {job.id for job in q.list(limit=500)} == set(stored)
        assert q.counts()["default"]["done"] == 40
        assert q.counts()["default"]["ready"] == 40


OUTLIVED = """
import json, os, sys, tenure
url = sys.argv[1]
q = tenure.open(url)
q.enqueue("before")
ready, go = os.pipe(), os.pipe()
told = os.pipe()
child = os.fork()
if child == 0:
    q.enqueue("first")
    os.write(ready[1], b"x")
    os.read(go[0], 1)
    ids = [q.enqueue("later").id for _ in range(10)]
    os.write(told[1], json.dumps(ids).encode())
    os.kill(os.getpid(), 9)
os.read(ready[0], 1)
q.close()
os.write(go[1], b"x")
os.waitpid(child, 0)
print(os.read(told[0], 65536).decode())
"""


def test_what_a_forked_child_stored_outlives_it_though_its_parent_closed_first(url: str) -> None:
    acknowledged = json.loads(run_child(OUTLIVED, url))
    with tenure.open(url) as q:
        assert {job.id for job in q.list() if job.kind == "later"} == set(acknowledged)
        assert q.counts()["default"]["ready"] == 12
