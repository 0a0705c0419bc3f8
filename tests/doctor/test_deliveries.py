"""What the doctor says of webhook sources of any type, from what gateways told the store."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

import tenure
from tenure.clock import machine_micros
from tenure.doctor import Finding, examine
from tenure.gateway import lately
from tenure.gateway.lately import note_of, seen_of
from tests.gateway.house import House, Served
from tests.gateway.signing import body_of, headers_of, settings_of
from tests.worker.house import until

SOURCES = [settings_of("github"), settings_of("stripe")]


@pytest.fixture
def house(url: str) -> Iterator[House]:
    made = House(url)
    yield made
    made.close()


def send(served: Served, number: int, *, signed: bool = True) -> int:
    body = body_of("github", id=number)
    return served.post("github", body, headers_of("github", body, id=str(number)) if signed else {}).status


def found(house: House, served: Served, machine: Callable[[], int] = machine_micros) -> list[Finding]:
    told = examine(house.url, config=served.gateway.registry.settings, machine=machine, ask=False)
    return [finding for finding in told if finding.check == "deliveries"]


def test_a_source_is_told_with_its_last_request_its_answer_and_what_was_rejected(house: House) -> None:
    served = house.serve(*SOURCES)
    assert [send(served, 1), send(served, 2, signed=False), send(served, 3, signed=False)] == [200, 401, 401]
    served.close()  # who leaves tells what it has not told yet
    github, stripe = sorted(found(house, served), key=lambda one: one.found)
    assert github.level == "note"
    for words in ("github: the last request ", " ago, answered 401 (no signature), the last one that was taken ", "; 2 rejects in the last hour: 2 no signature"):  # fmt: skip
        assert words in github.found
    assert (stripe.level, stripe.found) == ("note", "stripe: no request is known of")
    assert "…/stripe" in stripe.fix
    later = found(house, served, lambda: machine_micros() + 2 * 3_600_000_000)
    assert [one.level for one in later if "github" in one.found] == ["ok"]
    assert "none rejected in the last hour" in later[0].found + later[1].found
    [known] = [one for one in examine(house.url) if one.check == "deliveries"]  # without its settings
    assert known.found.startswith("github: the last request ")


def test_nothing_but_rejects_is_worth_a_warning(house: House) -> None:
    served = house.serve(*SOURCES)
    assert send(served, 1, signed=False) == 401
    served.close()
    [github] = [one for one in found(house, served) if "github" in one.found]
    assert (github.level, "1 reject in the last hour: 1 no signature" in github.found) == ("warning", True)
    assert "secret" in github.fix


def test_several_gateways_tell_of_one_source_and_none_forgets_what_another_told(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lately, "_EVERY", 0.02)
    first, second = (house.serve(*SOURCES) for _ in range(2))
    with tenure.open(house.url) as q:

        def rejects() -> int:
            seen = seen_of(q.note(note_of("github")))
            return 0 if seen is None else sum(n for one in seen.rejects.values() for n in one.values())

        for number, served in enumerate([first, second, first, second], 1):
            assert send(served, number, signed=False) == 401
            until(lambda number=number: rejects() == number)  # type: ignore[misc]
    assert send(first, 9) == 200
    first.close()
    [github] = [one for one in found(house, second) if "github" in one.found]
    assert "answered 200; 4 rejects in the last hour: 4 no signature" in github.found


def test_sync_sources_alone_leave_no_word_in_a_store(url: str, house: House) -> None:
    served = house.serve(settings_of("github", **{"async": False}))
    assert send(served, 1) == 200
    served.close()
    assert found(house, served) == []
    with tenure.open(url) as q:
        assert q.note(note_of("github")) is None
