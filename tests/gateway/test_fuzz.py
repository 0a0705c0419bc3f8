"""Whatever is sent to whatever address: only documented answers, no secret, nothing of the request."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.gateway.house import House, Served
from tests.gateway.signing import BODIES, SECRETS, SENDERS, body_of, headers_of, settings_of

ANSWERS = {200, 400, 401, 404, 405, 408, 413}
MARK = b"echo-me-if-you-dare"

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
bodies = st.one_of(
    st.binary(max_size=300),
    json_values.map(lambda v: json.dumps(v).encode()),
    st.sampled_from(SENDERS).map(body_of),
    st.tuples(
        st.sampled_from(SENDERS),
        st.sampled_from(["update_id", "id", "message", "type", "event"]),
        json_values,
    ).map(lambda t: json.dumps({**BODIES[t[0]], t[1]: t[2]}).encode()),
)
values = st.text(st.characters(min_codepoint=32, max_codepoint=255, blacklist_characters="\x7f"), max_size=60)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder: Path = tmp_path_factory.mktemp("fuzz")
    house = House(f"sqlite:///{folder}/jobs.db")
    yield house.serve(
        *(settings_of(sender) for sender in SENDERS),
        *(settings_of(sender, slug=f"{sender}-sync", **{"async": False}) for sender in SENDERS),
    )
    house.close()


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_every_route_gives_only_documented_answers(
    served: Served, caplog: pytest.LogCaptureFixture, data: st.DataObject
) -> None:
    sender = data.draw(st.sampled_from(SENDERS))
    body = data.draw(bodies)
    headers = data.draw(st.sampled_from(["good", "junk", "none"]))
    given = headers_of(sender, body) if headers != "none" else {}
    if headers == "junk":
        given = {name: data.draw(values) for name in given}
    path = data.draw(st.sampled_from([f"/{sender}", f"/{sender}-sync", "/healthz", "/readyz", "/nobody"]))
    method = data.draw(st.sampled_from(["POST"] * 6 + ["GET", "PUT", "HEAD"]))
    with caplog.at_level(logging.DEBUG):
        answer = served.ask(method, path, body, {**given, "X-Mark": MARK.decode()})
    assert answer.status in ANSWERS
    told = answer.body + repr(answer.headers).encode() + caplog.text.encode()
    assert MARK not in told
    assert not any(secret.encode() in told for secret in SECRETS.values())
    if headers == "good" and path == f"/{sender}" and method == "POST":
        assert answer.status in (200, 400)
    caplog.clear()
