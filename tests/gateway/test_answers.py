"""What a sender is told, and what is in the store by then."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import tenure
from tests.gateway.house import House
from tests.gateway.signing import SECRETS, SENDERS, body_of, headers_of, settings_of


@pytest.mark.parametrize("sender", SENDERS)
def test_what_is_authentic_is_a_job_with_the_exact_request_before_it_is_answered(
    house: House, sender: str
) -> None:
    served = house.serve(settings_of(sender))
    body = body_of(sender) + b"  \n"
    headers = headers_of(sender, body)
    answer = served.post(sender, body, {**headers, "Content-Type": "application/json"})
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    job = house.app.queue.get(answer.json["id"])
    assert job is not None
    assert (job.kind, job.queue, job.max_attempts) == (f"gateway.{sender}", "gateway", 5)
    request = house.app.queue.request(job.id)
    assert request is not None
    assert request.body == body
    assert request.headers["content-type"] == "application/json"
    assert SECRETS[sender] not in repr(request)

    again = served.post(sender, body, headers_of(sender, body))
    assert again.json == {"ok": True, "id": job.id, "duplicate": True}
    assert again.status == 200

    wrong = headers_of(sender, body, secret=SECRETS[sender][:-4] + "AAAA", id="2")
    for bad in ({}, wrong):
        refused = served.post(sender, body, bad)
        assert (refused.status, refused.json["ok"]) == (401, False)
    assert sum(house.app.queue.counts()["gateway"].values()) == 1
    counters = served.gateway.counters
    assert counters.requests == {(sender, 200): 2, (sender, 401): 2}
    assert counters.duplicates == {sender: 1}
    assert counters.rejects == {(sender, "no signature"): 1, (sender, "bad signature"): 1}
    assert counters.acks[sender].count == 2


def test_of_many_who_send_the_same_at_once_all_are_told_one_id(house: House) -> None:
    served = house.serve(settings_of("telegram"))
    body = body_of("telegram")
    with ThreadPoolExecutor(12) as many:
        answers = list(
            many.map(lambda _: served.post("telegram", body, headers_of("telegram", body)), range(36))
        )
    assert {a.status for a in answers} == {200}
    assert len({a.json["id"] for a in answers}) == 1
    assert sum("duplicate" not in a.json for a in answers) == 1


def test_a_window_of_zero_looks_for_no_duplicates(house: House) -> None:
    served = house.serve(settings_of("telegram", dedupe=0))
    body = body_of("telegram")
    answers = [served.post("telegram", body, headers_of("telegram", body)) for _ in range(2)]
    assert len({a.json["id"] for a in answers}) == 2


def test_one_chat_s_updates_are_claimed_one_after_another_and_other_chats_do_not_wait(house: House) -> None:
    served = house.serve(settings_of("telegram"), settings_of("telegram", slug="strictly", order="strict"))

    def sent(slug: str, number: int, chat: int) -> str:
        body = body_of("telegram", update_id=number, message={"chat": {"id": chat}})
        return str(served.post(slug, body, headers_of("telegram", body)).json["id"])

    first, second, other = sent("telegram", 1, 5), sent("telegram", 2, 5), sent("telegram", 3, 6)
    strict = sent("strictly", 1, 5)
    queue = house.app.queue
    claims: dict[str, tenure.Claim] = {c.id: c for c in queue.claim(10)}
    assert set(claims) == {first, other, strict}
    assert (claims[first].job.order, claims[strict].job.order) == ("start", "strict")
    queue.settle(claims[first], tenure.Fail("no", retry_in="1h"))
    assert [c.id for c in queue.claim(10)] == [second]


@pytest.mark.parametrize(("kind", "seconds"), [("message", 86_400), ("callback_query", 150)])
def test_a_job_expires_with_its_update(house: House, kind: str, seconds: int) -> None:
    served = house.serve(settings_of("telegram"))
    body = json.dumps({"update_id": 1, kind: {"from": {"id": 3}}}).encode()
    job = house.app.queue.get(served.post("telegram", body, headers_of("telegram", body)).json["id"])
    assert job is not None
    assert job.expires_at is not None
    assert (job.expires_at - job.created_at).total_seconds() == seconds


def test_a_message_that_comes_a_day_late_is_taken_and_not_handled(house: House) -> None:
    served = house.serve(settings_of("telegram"))
    ids = []
    for number, hours in enumerate((25, 1)):
        sent = {"date": int(time.time()) - hours * 3_600, "chat": {"id": number}}
        body = body_of("telegram", update_id=number, message=sent)
        answer = served.post("telegram", body, headers_of("telegram", body))
        assert answer.status == 200
        ids.append(answer.json["id"])
    assert [claim.id for claim in house.app.queue.claim(10)] == ids[1:]
    late = house.app.queue.get(ids[0])
    assert late is not None
    assert (late.state, late.reason) == ("cancelled", "expired")


def test_slack_is_answered_its_challenge_and_nothing_is_stored(house: House) -> None:
    served = house.serve(settings_of("slack"))
    body = json.dumps({"type": "url_verification", "challenge": "abc"}).encode()
    assert served.post("slack", body, headers_of("slack", body)).json == {"challenge": "abc"}
    assert served.post("slack", body, {}).status == 401
    assert house.app.queue.list() == []


def test_over_the_backlog_s_limit_senders_are_told_to_come_back(house: House) -> None:
    served = house.serve(settings_of("telegram", backlog=3))
    answers = []
    for number in range(5):
        body = body_of("telegram", update_id=number)
        answers.append(served.post("telegram", body, headers_of("telegram", body)))
    assert [a.status for a in answers] == [200, 200, 200, 503, 503]
    assert answers[3].headers["retry-after"] == "30"
    assert served.gateway.counters.rejects == {("telegram", "backlog full"): 2}


def test_what_workers_have_taken_since_is_no_backlog(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    # Where a count takes long the last one has to do, and on a busy machine it may.
    monkeypatch.setattr("tenure.gateway.backlog._SHARE", 0)
    served = house.serve(settings_of("telegram", backlog=3))
    for number in range(12):
        body = body_of("telegram", update_id=number)
        assert served.post("telegram", body, headers_of("telegram", body)).status == 200
        [claim] = house.app.queue.claim(1)
        assert house.app.queue.settle(claim, tenure.Done())


def test_a_duplicate_is_told_the_first_id_however_full_the_backlog_is(house: House) -> None:
    served = house.serve(settings_of("telegram", backlog=1))
    body, other = (body_of("telegram", update_id=number) for number in (1, 2))
    first = served.post("telegram", body, headers_of("telegram", body))
    assert served.post("telegram", other, headers_of("telegram", other)).status == 503
    again = served.post("telegram", body, headers_of("telegram", body))
    assert (again.status, again.json) == (200, {"ok": True, "id": first.json["id"], "duplicate": True})
    assert served.gateway.counters.duplicates == {"telegram": 1}
    assert served.post("telegram", body, {}).status == 401


def test_health_is_told_at_two_addresses(house: House) -> None:
    served = house.serve(settings_of("telegram"), prefix="/hooks")
    assert [served.ask("GET", p).json for p in ("/healthz", "/readyz")] == [{"ok": True}] * 2
    assert served.ask("HEAD", "/healthz").body == b""
    refused = served.ask("POST", "/readyz")
    assert (refused.status, refused.headers["allow"]) == (405, "GET, HEAD")
    assert served.post("telegram", b"{}").status == 404
    assert served.post("hooks/telegram", b"{}").status == 401


def test_an_answer_without_a_header_of_the_right_host_is_404(light: House) -> None:
    served = light.serve(settings_of("telegram"), hosts=["hooks.example.org"])
    assert served.ask("GET", "/healthz").status == 404
    assert served.ask("GET", "/healthz", headers={"Host": "Hooks.example.org:443"}).status == 200


ADDRESSES, NAMES = ["[::1]:8000", "[::1]"], ["example.org.:8000", "example.org.", "EXAMPLE.org:80"]


@pytest.mark.parametrize("named", ["::1", "[::1]", "example.org", "Example.org."])
def test_a_host_is_told_by_its_name_however_it_is_written(light: House, named: str) -> None:
    served = light.serve(settings_of("telegram"), hosts=[named])
    right, others = (ADDRESSES, NAMES) if ":" in named else (NAMES, ADDRESSES)
    wrong = [*others, "[::2]:8000", "::", "other.org", ""]
    told = [served.ask("GET", "/healthz", headers={"Host": host}).status for host in (*right, *wrong)]
    assert told == [200] * len(right) + [404] * len(wrong)


def test_a_generic_source_takes_any_body_where_it_is_told_to(house: House) -> None:
    @house.app.job
    async def whole(delivery: tenure.gateway.Delivery) -> None: ...

    given: dict[str, Any] = {"slug": "any", "type": "generic", "handler": "python:whole", "async": True}
    served = house.serve({**given, "check": {"how": "none"}, "json": False})
    first, same, other = (served.post("any", b) for b in (b"\xff\x00", b"\xff\x00", b""))
    assert (first.status, same.json["duplicate"], other.status) == (200, True, 200)
    offered = served.post("any", b"\x01", {"Connection": "Upgrade", "Upgrade": "h2c"})
    for answer, body in ((first, b"\xff\x00"), (other, b""), (offered, b"\x01")):
        request = house.app.queue.request(answer.json["id"])
        assert request is not None
        assert request.body == body
