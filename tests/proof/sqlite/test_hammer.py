"""Eight processes on one file, all writing all the time: every job ends once, and the file is sound."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tenure
from tests.proof import depth
from tests.proof.ledger import balance, intact
from tests.proof.tally import Tally
from tests.support.child import run_child
from tests.support.fresh import kind_of

HAMMER = """
import json, os, random, sys, time, tenure

url, seed, seconds, folder = sys.argv[1], sys.argv[2], float(sys.argv[3]), sys.argv[4]
tenure.open(url).close()

def insist(call):
    # Eight who take turns may keep one waiting for long; what it holds it ends all the same.
    while True:
        try:
            return call()
        except tenure.StoreUnavailable as error:
            assert "locked" in str(error), error

def hammer(number):
    rng, end = random.Random(f"{seed}-hammer-{number}"), time.monotonic() + seconds
    promised, ended, refused = [], [], 0
    with tenure.open(url) as q:
        while time.monotonic() < end:
            try:
                if rng.random() < 0.5:
                    promised.append(q.enqueue("k", rng.random()).id)
                    jobs = [tenure.NewJob(kind="k", payload=rng.random()) for _ in range(rng.choice((2, 30)))]
                    promised += [answer.id for answer in q.enqueue_many(jobs)]
                claims = q.claim(rng.choice((1, 10, 50)), lease="10m")
                ended += [claim.id for claim in claims]
                assert all(insist(lambda: q.settle_many([(claim, tenure.Done()) for claim in claims])))
                if rng.random() < 0.1:
                    q.counts()
            except tenure.StoreUnavailable as error:
                assert "locked" in str(error), error
                refused += 1
    with open(f"{folder}/{number}.json", "w") as told:
        json.dump([promised, ended, refused], told)

children = []
for number in range(8):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            hammer(number)
            code = 0
        except BaseException as error:
            print(repr(error), file=sys.stderr)
        finally:
            sys.stderr.flush()
            os._exit(code)
    children.append(child)
assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 8
"""


@pytest.mark.timeout(300)
@pytest.mark.parametrize("options", ["", "?shared=true"], ids=["own", "shared"])
def test_eight_processes_hammer_one_file_and_every_job_ends_once(
    options: str, tmp_path: Path, seed: int, tally: Tally
) -> None:
    url = f"sqlite:///{tmp_path}/jobs.db{options}"
    seconds = depth.of(test=1.5, proof=60.0)
    run_child(HAMMER, url, str(seed), str(seconds), str(tmp_path), within=200)
    told = [json.loads((tmp_path / f"{number}.json").read_text()) for number in range(8)]
    promised = [job for mine, _, _ in told for job in mine]
    ended = [job for _, mine, _ in told for job in mine]
    assert len(ended) == len(set(ended)), "a job ran twice"
    with tenure.open(url) as q:
        sums = balance(q, promised, tried=promised, allow=("done", "ready"))
        assert sums.done == len(ended)
    assert depth.DEPTH == "test" or all(mine for _, mine, _ in told), "somebody never got a turn"
    intact(url)
    tally.on(kind_of(url), seconds=int(seconds))
    tally(jobs=sums.acked, losses=sums.losses, processes=8, busy=sum(refused for _, _, refused in told))
