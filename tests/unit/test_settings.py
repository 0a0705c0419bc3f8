"""What a worker is told, checked once at the start: its queues, its numbers, its lengths of time."""

from __future__ import annotations

import inspect
from datetime import timedelta
from typing import Any

import pytest

import tenure
from tenure.cli.worker import command
from tenure.duration import parse
from tenure.worker.pool import child_command
from tenure.worker.settings import LineTerms, RunTerms, WorkerSettings, lines_of
from tenure.worker.start import start, worker_settings


@pytest.mark.parametrize(
    ("queues", "concurrency", "lines"),
    [
        (None, None, [LineTerms(None, None, 50)]),
        ([], 7, [LineTerms(None, None, 7)]),
        (["mail:10"], None, [LineTerms(("mail",), None, 10)]),
        (["mail"], 7, [LineTerms(("mail",), None, 7)]),
        (["*:4"], None, [LineTerms(None, None, 4)]),
        (["mail:10", "*:4"], None, [LineTerms(("mail",), None, 10), LineTerms(None, ("mail",), 4)]),
        (["*", "a", "b:2"], 3, [LineTerms(None, ("a", "b"), 3), LineTerms(("a",), None, 3), LineTerms(("b",), None, 2)]),
        (["tenant:acme"], 3, [LineTerms(("tenant:acme",), None, 3)]),
        (["tenant:acme:5"], 3, [LineTerms(("tenant:acme",), None, 5)]),
        (["a:1:2"], None, [LineTerms(("a:1",), None, 2)]),
    ],
    ids=str,
)  # fmt: skip
def test_queues_are_lines_of_slots(
    queues: list[str] | None, concurrency: int | None, lines: list[LineTerms]
) -> None:
    assert list(lines_of(queues, concurrency)) == lines


@pytest.mark.parametrize(
    "queues",
    [
        ["mail:0"], ["mail:-1"], ["mail:1.5"], ["mail:"], ["mail:10001"], ["mail:" + "9" * 5_000], [":10"], ["*:x"],
        ["*:"], ["mail:٣"], ["mail:+3"], [""], [" mail"], ["mail\n"], ["x" * 300], ["mail", "mail"],
        ["mail:1", "mail:2"], ["*", "*:3"], [None], [5], [b"mail"], "mail:10",
    ],
    ids=lambda v: repr(v)[:20],
)  # fmt: skip
def test_queues_that_make_no_sense_are_refused(queues: Any) -> None:
    with pytest.raises(tenure.FieldError) as refused:
        lines_of(queues, None)
    assert refused.value.field == "queues"


def test_a_line_is_called_as_it_was_asked_for() -> None:
    assert [line.name for line in lines_of(["mail:10", "*:4"], None)] == ["mail:10", "*:4"]
    assert worker_settings(queues=["mail:10", "*:4"]).concurrency == 14


@pytest.mark.parametrize(
    "setting",
    [
        {"concurrency": 0}, {"concurrency": 10_001}, {"concurrency": "5"}, {"concurrency": True}, {"lease": 0},
        {"lease": "x"}, {"lease": -1}, {"poll": 0}, {"poll": None}, {"grace": 0}, {"settle_delay": -1}, {"prefetch": -1},
        {"prefetch": 1.5}, {"children": -1}, {"children": "2"}, {"child_jobs": 0}, {"max_jobs": 0}, {"max_memory": 0},
        {"max_memory": "1G"},
    ],
    ids=str,
)  # fmt: skip
def test_a_setting_that_makes_no_sense_is_refused_by_its_name(setting: dict[str, Any]) -> None:
    with pytest.raises(tenure.FieldError) as refused:
        worker_settings(**setting)
    assert refused.value.field == next(iter(setting))


@pytest.mark.parametrize("processes", [0, -1, 1.5, "2"])
def test_so_is_a_number_of_processes_before_any_is_started(processes: Any) -> None:
    with pytest.raises(tenure.FieldError, match="processes"):
        start(tenure.App("sqlite:///never.db"), processes=processes)


def test_an_app_that_no_process_can_import_has_no_pool() -> None:
    with pytest.raises(tenure.UsageError, match="cannot import this app"):
        tenure.App("sqlite:///never.db").run(processes=2)


def test_a_worker_looks_at_least_every_five_seconds() -> None:
    assert worker_settings(poll="1h").poll == timedelta(seconds=5)
    assert worker_settings(poll="200ms").poll == timedelta(milliseconds=200)


def test_the_processes_of_a_pool_are_told_what_the_pool_was_told() -> None:
    given = worker_settings(children=3, child_jobs=4, max_jobs=5, max_memory=6, prefetch=7, janitor=False)
    words = " ".join(child_command("shop:app", given))
    for option in ("children 3", "child-jobs 4", "max-jobs 5", "max-memory 6", "prefetch 7", "no-janitor"):
        assert f"--{option}" in words
    assert "--child-jobs" not in child_command("shop:app", worker_settings())
    assert "--grace 22s" in words  # of 25: the rest is for what their parent has to do after them
    assert "--grace 1.5s" in " ".join(child_command("shop:app", worker_settings(grace="2s")))


def test_the_shortest_spans_reach_the_processes_of_a_pool_as_they_were_told() -> None:
    given = worker_settings(lease="1h", poll="70us", grace="1us", settle_delay="50us")
    words = child_command("shop:app", given)
    spans = {
        word: parse(words[n + 1])
        for n, word in enumerate(words)
        if word in ("--lease", "--poll", "--settle-delay")
    }
    assert spans == {"--lease": given.lease, "--poll": given.poll, "--settle-delay": given.settle_delay}


def test_a_name_that_no_worker_knows_is_refused_with_the_one_that_was_meant() -> None:
    app = tenure.App()
    wrong: dict[str, Any] = {"concurrencyy": 3}
    strange: dict[str, Any] = {"colour": "red"}
    with pytest.raises(tenure.FieldError, match=r"concurrencyy.*3.*did you mean concurrency\?") as caught:
        app.run(**wrong)
    assert isinstance(caught.value, TypeError)
    with pytest.raises(tenure.FieldError, match=r"colour.*known are child_jobs, .*processes"):
        app.run(**strange)


def test_every_term_of_a_worker_is_one_that_people_may_write() -> None:
    assert set(RunTerms.__annotations__) == {*inspect.signature(worker_settings).parameters, "processes"}


def test_a_worker_that_is_told_nothing_is_the_same_however_it_is_started() -> None:
    assert worker_settings() == WorkerSettings()
    [prefetch] = [option for option in command.params if option.name == "prefetch"]
    assert prefetch.default == WorkerSettings().prefetch
