"""The app's front: jobs are made by calling kinds, checked at the door, stored with their options."""

from __future__ import annotations

import pickle
import threading
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

import tenure
from tests.app.front import Front
from tests.support.connections import Kind, every_kind
from tests.support.places import Place

SOON = datetime(2099, 1, 1, tzinfo=UTC)


def test_enqueue_stores_the_arguments_and_the_terms_of_the_kind(front: Front) -> None:
    job = front.enqueue(front.send, "a@b.c", subject="tea")
    seen = front.seen(job)
    assert (job.kind, job.inserted) == ("send", True)
    assert (seen.kind, seen.queue, seen.priority, seen.max_attempts) == ("send", "mail", 3, 2)
    assert (seen.payload, seen.state) == ({"to": "a@b.c", "subject": "tea"}, "ready")


def test_a_plain_call_runs_the_function_here(front: Front) -> None:
    assert front.place.loop.wait(front.send("a")) == "hi to a"
    assert front.receipt(1, date(2024, 1, 1)).number == 1
    with pytest.raises(RuntimeError, match="why"):
        front.explode("why")
    assert front.stored() == 0


def test_wrong_arguments_store_nothing(front: Front) -> None:
    send: Any = front.send
    wrong = [((), {}), ((1,), {}), (("a", "b", "c"), {}), (("a",), {"cc": "b"}), ((object(),), {})]
    for args, kwargs in wrong:
        front.refused(lambda a=args, k=kwargs: front.enqueue(send, *a, **k), tenure.FieldError)  # type: ignore[misc]
    front.refused(lambda: front.enqueue(front.receipt, 1, "someday"), tenure.PayloadError)
    front.refused(lambda: front.enqueue(send, "x" * 1_048_576), tenure.PayloadError)


def test_every_option_reaches_the_stored_job(front: Front) -> None:
    parent = front.enqueue(front.send, "parent")
    job = front.enqueue(
        front.send.options(
            queue="slow", priority=-1, run_at=SOON, max_attempts=9, unique="u", unique_for="1h", group="g",
            group_limit=2, order="start", expires_at=SOON, timeout="90s", tags=["x"], meta={"k": "v"},
            parent=parent.id, flow="f", tenant="t", id="01890a5d-ac96-774b-bcce-b302099a8057",
        ),
        "a",
    )  # fmt: skip
    seen = front.seen(job)
    assert job.id == "01890a5d-ac96-774b-bcce-b302099a8057"
    assert (seen.queue, seen.priority, seen.max_attempts, seen.unique) == ("slow", -1, 9, "u")
    assert (seen.group, seen.group_limit, seen.order) == ("g", 2, "start")
    assert (seen.run_at, seen.expires_at, seen.timeout) == (SOON, SOON, timedelta(seconds=90))
    assert (list(seen.tags), dict(seen.meta)) == (["x"], {"k": "v"})
    assert (seen.parent, seen.flow, seen.tenant) == (parent.id, "f", "t")


def test_options_add_up_and_leave_the_kind_as_it_was(front: Front) -> None:
    later = front.send.options(delay="1h", tags=["a"])
    both = later.options(tags=["b"])
    assert [list(front.seen(front.enqueue(k, "x")).tags) for k in (front.send, later, both)] == [
        [],
        ["a"],
        ["b"],
    ]
    assert front.seen(front.enqueue(both, "x")).state == "scheduled"
    assert front.seen(front.enqueue(front.send, "x")).state == "ready"


def test_a_bad_option_stores_nothing(front: Front) -> None:
    for options in ({"priority": 99_999}, {"delay": "soon"}, {"run_at": datetime(2024, 1, 1)}, {"queue": ""}):  # noqa: DTZ001
        front.refused(lambda o=options: front.enqueue(front.send.options(**o), "a"), tenure.FieldError)  # type: ignore[misc]


def test_the_web_request_a_job_was_made_from_is_an_option_too(front: Front) -> None:
    request = tenure.Request(b'{"a":1}', {"content-type": "application/json"})
    by_kind = front.enqueue(front.send.options(request=request), "Ann")
    by_name = front.do(front.app, "enqueue", "send", {"to": "Ann"}, request=request)
    assert [front.app.queue.request(job.id) for job in (by_kind, by_name)] == [request, request]


@pytest.mark.parametrize(("kind", "force"), [("send", False), ("of_others", True)])
def test_a_name_that_is_no_option_is_refused_and_the_nearest_is_named(
    front: Front, kind: str, force: bool
) -> None:
    def told(**options: Any) -> str:
        enqueue = lambda: front.do(front.app, "enqueue", kind, {"to": "a"}, force=force, **options)  # noqa: E731
        return str(front.refused(enqueue, tenure.FieldError))

    assert told(prioritty=5) == "prioritty: is no option of a job, got 5; did you mean priority?"
    assert told(colour="red").startswith(
        "colour: is no option of a job, got 'red'; the options are queue, priority, "
    )


def test_a_duplicate_is_the_job_that_was_there_before(front: Front) -> None:
    once = front.send.options(unique="welcome:42")
    first, second = front.enqueue(once, "a"), front.enqueue(once, "b")
    assert (first.inserted, second.inserted) == (True, False)
    assert first.id == second.id
    assert front.seen(second).payload == {"to": "a"}


def test_enqueue_many_answers_each_job_in_its_order(front: Front) -> None:
    once = front.send.options(unique="k")
    jobs = front.enqueue_many(
        iter(
            [once.call("a"), front.receipt.call(1, date(2024, 1, 1)), once.call("b"), front.explode.call("x")]
        )
    )
    assert [j.kind for j in jobs] == ["send", "receipt", "send", "explode"]
    assert [j.inserted for j in jobs] == [True, True, False, True]
    assert jobs[0].id == jobs[2].id
    assert front.seen(jobs[1]).payload == {"number": 1, "day": "2024-01-01"}
    assert front.enqueue_many([]) == []


def test_enqueue_many_stores_all_or_none(front: Front) -> None:
    bad = tenure.NewJob(kind="send", payload=float("nan"))
    front.refused(lambda: front.enqueue_many([front.send.call("a"), bad]), tenure.PayloadError)
    front.refused(lambda: front.enqueue_many(cast("Any", [front.send])), tenure.FieldTypeError)


def test_a_kind_may_be_called_by_its_name(front: Front) -> None:
    job = front.do(front.app, "enqueue", "send", {"to": "a"}, priority=7, delay="1h")
    seen = front.seen(job)
    assert (seen.queue, seen.priority, seen.max_attempts, seen.payload) == ("mail", 7, 2, {"to": "a"})
    assert seen.state == "scheduled"
    made = front.do(front.app, "enqueue", front.receipt.call(1, date(2024, 1, 1)))
    assert made.kind == "receipt"
    by_name = front.do(front.app, "enqueue", "receipt", {"number": 1, "day": date(2024, 1, 1)})
    assert front.seen(by_name).payload == front.seen(made).payload


def test_a_payload_by_name_is_checked_against_the_function(front: Front) -> None:
    for payload in ({"to": 5}, {"whom": "a"}, {}, None, ["a"], "a"):
        front.refused(
            lambda p=payload: front.do(front.app, "enqueue", "send", p),  # type: ignore[misc]
            tenure.PayloadError,
        )


def test_an_unknown_kind_is_refused_and_the_nearest_is_named(front: Front) -> None:
    error = front.refused(lambda: front.do(front.app, "enqueue", "sennd", {"to": "a"}), tenure.UnknownKind)
    assert "did you mean 'send'" in str(error)
    assert "force=True" in str(error)


def test_a_job_of_an_unknown_kind_or_with_a_payload_that_does_not_fit_is_refused_on_every_way_in(
    front: Front,
) -> None:
    def add(job: tenure.NewJob) -> object:
        return front.app.schedules.add("nightly", "0 3 * * *", job)

    ways: list[Any] = [
        lambda job: front.do(front.app, "enqueue", job), lambda job: front.enqueue_many([front.send.call("a"), job]), add
    ]  # fmt: skip
    for way in ways:
        error = front.refused(lambda w=way: w(tenure.NewJob(kind="sennd")), tenure.UnknownKind)  # type: ignore[misc]
        assert "did you mean 'send'" in str(error)
        for payload in ({"to": 5}, {"whom": "a"}, None, ["a"]):
            job = tenure.NewJob(kind="send", payload=payload)
            front.refused(lambda w=way, j=job: w(j), tenure.PayloadError)  # type: ignore[misc]
    assert front.app.schedules.list() == []


def test_a_job_made_by_hand_is_stored_as_its_kind_would_have_it(front: Front) -> None:
    by_hand = tenure.NewJob(kind="receipt", payload={"number": 1, "day": date(2024, 1, 1)}, priority=7)
    for job in (front.do(front.app, "enqueue", by_hand), *front.enqueue_many([by_hand])):
        seen = front.seen(job)
        assert (seen.payload, seen.priority) == ({"number": 1, "day": "2024-01-01"}, 7)


def test_a_job_made_by_its_kind_is_equal_to_one_that_says_the_same() -> None:
    app = tenure.App()

    @app.job
    def send(to: str) -> None: ...

    same, other = (tenure.NewJob(kind="send", payload={"to": name}) for name in "ab")
    assert send.call("a") == same == send.call("a")
    assert send.call("a") != other != send.call("a")
    assert pickle.loads(pickle.dumps(send.call("a"))) == same


def test_force_stores_jobs_of_kinds_that_only_others_know(front: Front) -> None:
    job = tenure.NewJob(kind="elsewhere", payload=[1])
    made = [front.do(front.app, "enqueue", job, force=True)]
    made += front.do(front.app, "enqueue_many", [job, front.send.call("a")], force=True)
    assert [front.seen(j).payload for j in made] == [[1], [1], {"to": "a"}]
    assert front.app.schedules.add("nightly", "0 3 * * *", job, force=True)


def test_force_stores_a_kind_that_only_others_know(front: Front) -> None:
    job = front.do(front.app, "enqueue", "elsewhere", {"x": 1}, force=True, queue="far")
    seen = front.seen(job)
    assert (seen.kind, seen.queue, seen.payload) == ("elsewhere", "far", {"x": 1})
    assert job.kind == "elsewhere"


def test_force_does_not_bend_a_kind_that_is_known(front: Front) -> None:
    front.refused(lambda: front.do(front.app, "enqueue", "send", {}, force=True), tenure.PayloadError)


def test_what_is_no_name_and_no_job_is_refused(front: Front) -> None:
    for bad in (front.send, None, 5, ["send"]):
        front.refused(lambda b=bad: front.do(front.app, "enqueue", b, {"to": "a"}), tenure.FieldTypeError)  # type: ignore[misc]


def test_options_beside_a_job_that_has_its_own_are_refused(front: Front) -> None:
    made = front.send.call("a")
    front.refused(lambda: front.do(front.app, "enqueue", made, priority=5), tenure.FieldError)
    front.refused(lambda: front.do(front.app, "enqueue", made, {"to": "b"}), tenure.FieldError)


@every_kind
def test_a_job_made_in_the_callers_transaction_commits_or_rolls_back_with_it(
    own_place: Place, kind: Kind
) -> None:
    front = Front(own_place)

    def inside(connection: Any, verb: str, given: Any) -> Any:
        answer = getattr(front.app.using(connection), verb)(given)
        return answer if kind.way == "sync" else own_place.loop.wait(answer)

    unknown = tenure.NewJob(kind="sennd", payload={"to": "a"})

    try:
        with kind.open(own_place) as own:
            one = inside(own.connection, "enqueue", front.send.call("a"))
            many = inside(own.connection, "enqueue_many", [front.send.call("b"), front.forget.call("c")])
            assert front.stored() == 0
            own.commit()
        assert front.stored() == 3
        assert all(e.inserted for e in (one, *many))
        with kind.open(own_place) as own:
            for verb, given in (("enqueue", unknown), ("enqueue_many", [front.send.call("d"), unknown])):
                with pytest.raises(tenure.UnknownKind, match="did you mean 'send'"):
                    inside(own.connection, verb, given)
            inside(own.connection, "enqueue", front.send.call("d"))
            own.rollback()
        assert front.stored() == 3
    finally:
        front.close()


def test_two_apps_know_their_own_kinds_and_share_a_store(front: Front) -> None:
    other = tenure.App(front.place.url)

    @other.job(kind="send")
    def another(to: int) -> int:
        return to

    try:
        mine, theirs = front.enqueue(front.send, "a"), another.enqueue(5)
        assert other.queue.get(mine.id) is not None
        assert front.app.queue.get(theirs.id) is not None
        assert [*other.kinds] == ["send"]
        assert "receipt" in front.app.kinds
    finally:
        other.close()


def test_an_app_that_was_closed_opens_again_when_it_is_needed(front: Front) -> None:
    job = front.enqueue(front.send, "a")
    front.app.close()
    front.place.loop.wait(front.app.aclose())
    front.place.loop.wait(front.app.aclose())
    assert front.seen(job).kind == "send"


def test_making_an_app_opens_nothing(tmp_path: Path) -> None:
    file = tmp_path / "jobs.db"
    app = tenure.App(f"sqlite:///{file}")

    @app.job
    def tick(n: int = 0) -> None: ...

    @app.cron("* * * * *")
    @app.job
    def tock() -> None: ...

    tick.call(1)
    tick(1)
    app.close()
    assert not file.exists()
    tick.enqueue()
    assert file.exists()
    app.close()


def test_threads_that_ask_at_once_share_one_queue(front: Front) -> None:
    together, found = threading.Barrier(8), list[tenure.Queue]()

    def ask() -> None:
        together.wait()
        found.append(front.app.queue)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [queue is front.app.queue for queue in found] == [True] * 8


def test_two_schedules_of_the_code_cannot_have_one_name() -> None:
    app = tenure.App("none")

    @app.cron("0 3 * * *")
    @app.job
    def report() -> None: ...

    @app.job
    def other(n: int = 0) -> None: ...

    second: list[tuple[Any, str, dict[str, str]]] = [
        (other, "0 4 * * *", {"name": "report"}),
        (report, "0 4 * * *", {}),
        (report, "0 3 * * *", {"tz": "Europe/Berlin"}),
    ]
    for kind, cron, options in second:
        with pytest.raises(tenure.FieldError, match=rf"\.report \('0 3 .*\.{kind.name} \(") as refused:
            app.cron(cron, **options)(kind)  # type: ignore[arg-type]
        assert (refused.value.field, refused.value.value) == ("name", "report")
    app.cron("0 4 * * *", name="early")(report)
    assert [(s.name, s.cron) for s in app.crons] == [("report", "0 3 * * *"), ("early", "0 4 * * *")]


def test_the_very_same_schedule_named_again_is_no_other() -> None:
    app = tenure.App("none")

    @app.job
    def report(days: int) -> None: ...

    for _ in range(2):
        app.cron("0 3 * * *", args={"days": 7})(report)
    assert [s.name for s in app.crons] == ["report"]


def test_a_schedule_s_name_is_checked_where_it_is_written() -> None:
    app = tenure.App("none")

    @app.job
    def report() -> None: ...

    with pytest.raises(tenure.FieldError) as refused:
        app.cron("0 3 * * *", name="x" * 5_000)(report)
    assert refused.value.field == "name"


def test_the_environment_names_the_store_when_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = tenure.App()
    monkeypatch.setenv("TENURE_URL", f"sqlite:///{tmp_path}/named.db")
    assert app.enqueue("anything", force=True).inserted
    assert (tmp_path / "named.db").exists()
    app.close()
    monkeypatch.setenv("TENURE_URL", "none")
    with pytest.raises(tenure.UsageError, match="switched off"):
        app.enqueue("anything", force=True)


def test_a_name_is_given_once() -> None:
    app = tenure.App()

    def send() -> None: ...

    first = app.job(send)
    assert app.job(send).name == first.name
    with pytest.raises(tenure.FieldError, match="is registered already") as refused:

        @app.job(kind="send")
        def other() -> None: ...

    assert "another name" in refused.value.fix
    assert app.kinds["send"].function is send


def test_what_cannot_be_a_job_is_refused_where_it_is_decorated() -> None:
    app: Any = tenure.App()

    def numbers() -> Any:
        yield 1

    async def anumbers() -> Any:
        yield 1

    class Called:
        def __call__(self) -> None: ...

    for bad in (numbers, anumbers, 5, Called()):
        with pytest.raises(tenure.FieldTypeError):
            app.job()(bad)
    bad_terms: list[dict[str, Any]] = [
        {"kind": ""}, {"queue": "  "}, {"priority": 1.5}, {"max_attempts": 0}, {"retry": "60s"}, {"timeout": 0},
        {"timeout": "x"}, {"settle": "soon"}, {"on_dead": print}, {"kind": 5}, {"kind": "*"}, {"queue": "*"},
        {"retry": tenure.Exponential}, {"isolate": "no"}, {"isolate": None}, {"keep_result": 0}, {"keep_result": "yes"},
    ]  # fmt: skip
    for terms in bad_terms:
        with pytest.raises(tenure.FieldError) as refused:
            app.job(**terms)(lambda: None)
        assert [refused.value.field] == list(terms)
    assert not app.kinds


def test_an_app_is_not_made_of_what_names_no_store_or_no_limit() -> None:
    for url in ("mysql://x", "sqlite://jobs.db", "sqlite:///a.db?shard=1", "postgresql://h/d?notify=maybe"):
        with pytest.raises((tenure.StoreURLError, tenure.FieldError)):
            tenure.App(url)
    bad: list[tuple[str, Any]] = [
        ("schema", {"url": "postgresql://h/d?schema=a-b"}), ("url", {"url": 5}), ("max_payload", {"max_payload": "1MB"}),
        ("max_payload", {"max_payload": -1}), ("max_crashes", {"max_crashes": 0}),
    ]  # fmt: skip
    for field, said in bad:
        with pytest.raises(tenure.FieldError) as refused:
            tenure.App(**said)
        assert refused.value.field == field


def test_a_job_is_buried_for_a_reason_that_is_said() -> None:
    bad: Any = None
    with pytest.raises(tenure.FieldTypeError, match="reason: must be text, got None"):
        tenure.Bury(reason=bad)
    assert tenure.Bury().reason == "buried"


def test_a_kind_looks_like_the_function_it_was_made_of() -> None:
    app = tenure.App()

    def send(to: str) -> str:
        """Send it."""
        return to

    send.name = "mine"  # type: ignore[attr-defined]
    kind = app.job(kind="mail.send")(send)
    assert (kind.name, kind.__name__, kind.__doc__) == ("mail.send", "send", "Send it.")  # type: ignore[attr-defined]
    assert repr(kind) == "<kind 'mail.send'>"
    assert kind("a") == "a"


def test_a_function_may_be_wrapped_before_it_is_a_job() -> None:
    import functools

    app = tenure.App()

    async def asked(a: int) -> int:
        return a

    @functools.wraps(asked)
    def plain_wrapper(*args: Any) -> Any:
        return asked(*args)

    def answered(a: int) -> int:
        return a

    @functools.wraps(answered)
    async def async_wrapper(*args: Any) -> Any:
        return answered(*args)

    assert app.job(plain_wrapper).is_async
    assert app.job(async_wrapper).is_async
    assert app.job(kind="partial")(functools.partial(asked, 1)).is_async
    assert not app.job(kind="lambda")(lambda: None).is_async
