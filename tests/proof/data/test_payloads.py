"""Every payload comes back byte for byte from every store, and every failure is kept whatever its text is."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

import tenure
from tenure.payload import MAX_ERROR, clean_error, encode
from tests.proof import depth
from tests.proof.tally import Tally

_texts = st.text(max_size=30) | st.sampled_from(
    ["\x00", "\ud800", "\udfff\ud800", "\u2028", "\\u0000", "'; DROP TABLE tenure_jobs; --", "\t\\N\\.\n", "💥" * 40, "x" * 5_000]
)  # fmt: skip
_numbers = st.integers() | st.integers(-(10**60), 10**60) | st.floats(allow_nan=False, allow_infinity=False)
_values = st.recursive(
    st.none() | st.booleans() | _numbers | _texts,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(_texts, inner, max_size=5),
    max_leaves=20,
)


def drawn(strategy: st.SearchStrategy[Any], count: int, seed: int) -> list[Any]:
    """So many examples."""
    found: list[Any] = []

    @seeded(seed)
    @settings(max_examples=count, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(strategy)
    def one(value: Any) -> None:
        found.append(value)

    one()
    return found


@pytest.fixture(params=["sqlite", "shared", "postgres"])
def q(request: pytest.FixtureRequest, direct: dict[str, str]) -> Iterator[tenure.Queue]:
    with tenure.open(direct[request.param]) as made:
        yield made


@pytest.mark.timeout(400)
def test_every_payload_comes_back_byte_for_byte(q: tenure.Queue, seed: int, tally: Tally) -> None:
    values = drawn(_values, depth.of(test=80, proof=800), seed)
    rng = random.Random(f"{seed}-payloads")
    sent: dict[str, Any] = {}
    while values:
        some = [values.pop() for _ in range(min(len(values), rng.choice((1, 3, 70))))]
        if len(some) == 1:
            sent[q.enqueue("k", some[0]).id] = some[0]
        else:
            answers = q.enqueue_many([tenure.NewJob(kind="k", payload=value) for value in some])
            sent |= {answer.id: value for answer, value in zip(answers, some, strict=True)}
    checked = 0
    while claims := q.claim(200):
        for claim in claims:
            value = sent[claim.id]
            assert claim.job.payload_text == encode(value)
            assert json.dumps(claim.job.payload) == json.dumps(value)
            checked += 1
        # The result goes the same way, there and back.
        assert all(q.settle_many([(claim, tenure.Done(sent[claim.id])) for claim in claims]))
        for claim in claims[:20]:
            job = q.get(claim.id)
            assert job is not None
            assert json.dumps(job.result) == json.dumps(sent[claim.id])
    assert checked == len(sent)
    tally(payloads=checked)


_errors = _texts | st.text(min_size=1, max_size=200).map(lambda text: text * 200) | st.binary(max_size=80).map(
    lambda data: data.decode("utf-8", "surrogateescape")
)  # fmt: skip


@pytest.mark.timeout(400)
def test_every_failure_is_kept_whatever_its_text_is(q: tenure.Queue, seed: int, tally: Tally) -> None:
    texts = drawn(_errors, depth.of(test=60, proof=600), seed)
    q.enqueue_many([tenure.NewJob(kind="k", payload=n) for n in range(len(texts))])
    claims = q.claim(10_000)
    assert len(claims) == len(texts)
    ends = [
        (claim, tenure.Fail(text, retry_in="1h", kind=text[:50] or "E", traceback=text))
        if n % 2
        else (claim, tenure.Bury(text or "buried", text, traceback=text))
        for n, (claim, text) in enumerate(zip(claims, texts, strict=True))
    ]
    for at in range(0, len(ends), 50):
        assert all(q.settle_many(ends[at : at + 50]))
    for n, (claim, text) in enumerate(zip(claims, texts, strict=True)):
        job, [told] = q.get(claim.id), q.history(claim.id)
        assert job is not None
        assert job.state == ("scheduled" if n % 2 else "dead")
        assert told.message == clean_error(text) or not text
        assert len(told.message) <= MAX_ERROR
    tally(failures=len(texts))
