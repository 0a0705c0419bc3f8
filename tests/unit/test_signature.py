"""Arguments on their way into a payload and back: checked and decoded from a function's annotations."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal, NamedTuple, NewType, NotRequired, TypedDict
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tenure
from tenure.context import Context
from tenure.payload import MAX_PAYLOAD, encode
from tenure.returned import Returned
from tenure.signature import Signature

NOON = datetime(2024, 2, 29, 12, 0, 0, 123_456, tzinfo=UTC)
SOME_ID = UUID("01890a5d-ac96-774b-bcce-b302099a8057")
UserId = NewType("UserId", int)


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


@dataclass
class Address:
    street: str
    since: date | None = None
    lines: list[str] = field(default_factory=list)


class Point(NamedTuple):
    x: int
    y: float = 0.5


class Item(msgspec.Struct):
    sku: str
    price: Decimal
    ids: dict[int, UUID] = {}


class Card(msgspec.Struct, tag="card"):
    number: str


class Transfer(msgspec.Struct, tag="transfer"):
    iban: str


class Tree(msgspec.Struct):
    value: int
    children: list[Tree] = []


class Options(TypedDict):
    name: str
    size: NotRequired[int]


class Polite(str):
    """Text of a class of its own, as template libraries have it."""

    __slots__ = ()


def signature(function: Callable[..., Any]) -> Signature:
    return Signature(function, function.__name__, Context)


def taking(annotation: Any, **more: Any) -> Signature:
    """The signature of a function with one parameter, annotated so."""

    def handler(value: Any) -> None: ...

    handler.__annotations__ = {"value": annotation, **more}
    return signature(handler)


def carried(s: Signature, *args: Any, **kwargs: Any) -> tuple[Any, ...] | dict[str, Any]:
    """What arrives at the handler when this is enqueued."""
    return s.arguments(encode(s.payload(args, kwargs)))


CARRIED: list[tuple[Any, Any]] = [
    (int, -3),
    (int, 2**70),
    (float, 1.5),
    (str, "naïve ☃ \x00"),
    (str, "half a pair: \ud83d"),
    (bool, True),
    (None, None),
    (bytes, b"\x00\xff"),
    (datetime, NOON),
    (datetime, datetime(2024, 1, 1, tzinfo=timezone(timedelta(hours=5, minutes=30)))),
    (date, date(1970, 1, 1)),
    (time, time(23, 59, 59)),
    (timedelta, timedelta(days=3, seconds=1, microseconds=7)),
    (timedelta, timedelta(days=-1)),
    (UUID, SOME_ID),
    (Decimal, Decimal("1.10")),
    (Colour, Colour.BLUE),
    (Level, Level.HIGH),
    (Literal["a", 1], 1),
    (Address, Address("High St", date(2020, 1, 1), ["a", "b"])),
    (Point, Point(1, 2.5)),
    (Item, Item("x", Decimal("9.99"), {7: SOME_ID})),
    (Card | Transfer, Transfer("DE02")),
    (Tree, Tree(1, [Tree(2, [Tree(3)])])),
    (Options, {"name": "a", "size": 3}),
    (UserId, 5),
    (int | None, None),
    (Address | None, Address("Low St")),
    (int | str | list[int], [1, 2]),
    (datetime | int, NOON),
    (list[Item], [Item("x", Decimal(1))]),
    (dict[str, Address], {"home": Address("High St")}),
    (dict[int, str], {1: "one"}),
    (dict[UUID, int], {SOME_ID: 1}),
    (set[Colour], {Colour.RED, Colour.BLUE}),
    (frozenset[int], frozenset({1, 2})),
    (tuple[int, str], (1, "a")),
    (tuple[date, ...], (date(2020, 1, 1), date(2021, 1, 1))),
    (Sequence[int], [1, 2]),
    (Mapping[str, list[Point]], {"path": [Point(0), Point(1, 1.0)]}),
    (Annotated[int, msgspec.Meta(ge=1)], 1),
    (Any, {"a": [1, 2.5, None, "x", True]}),
    (dict, {"a": 1}),
    (list, [1, "a"]),
    (object, "anything"),
]


@pytest.mark.parametrize(("annotation", "value"), CARRIED, ids=lambda v: None)
def test_an_argument_arrives_as_the_annotation_has_it(annotation: Any, value: Any) -> None:
    assert carried(taking(annotation), value) == (value,)


@pytest.mark.parametrize(("annotation", "value"), CARRIED, ids=lambda v: None)
def test_so_does_one_whose_parameter_has_a_default(annotation: Any, value: Any) -> None:
    def handler(value: Any = "default") -> None: ...

    handler.__annotations__ = {"value": annotation}
    assert carried(signature(handler), value) == (value,)
    assert carried(signature(handler)) == {}


MISFITS: list[tuple[Any, Any, str]] = [
    (int, "5", ".value"),
    (int, True, ".value"),
    (int, None, ".value"),
    (str, 5, ".value"),
    (bool, 1, ".value"),
    (datetime, "yesterday", ".value"),
    (UUID, "x", ".value"),
    (Decimal, "x", ".value"),
    (Colour, "green", ".value"),
    (Literal["a"], "b", ".value"),
    (list[int], [1, 2, "x"], ".value[2]"),
    (dict[str, int], {"a": "x"}, ".value[...]"),
    (Address, {"street": 5}, ".value.street"),
    (Address, {}, ".value"),
    (list[Item], [{"sku": "x", "price": "x"}], ".value[0].price"),
    (Tree, {"value": 1, "children": [{"value": "x"}]}, ".value.children[0].value"),
    (Card | Transfer, {"type": "cash"}, ".value.type"),
    (Options, {"size": 1}, ".value"),
    (tuple[int, str], [1], ".value"),
    (Annotated[int, msgspec.Meta(ge=1)], 0, ".value"),
    (Address, 3, ".value"),
    (Any, object(), ".value"),
    (Any, 1j, ".value"),
    (list[Any], [lambda: None], ".value"),
]


@pytest.mark.parametrize(("annotation", "value", "path"), MISFITS, ids=lambda v: None)
def test_what_does_not_fit_is_refused_with_the_path_to_it(annotation: Any, value: Any, path: str) -> None:
    with pytest.raises(tenure.PayloadError) as refused:
        taking(annotation).payload((value,), {})
    assert refused.value.path == path
    assert refused.value.field == f"payload{path}"
    assert refused.value.rule


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("annotation", [float, Any])
def test_a_number_that_json_has_not_is_refused_before_it_is_stored(annotation: Any, value: float) -> None:
    job = tenure.NewJob(kind="x", payload=taking(annotation).payload((value,), {}))
    with pytest.raises(tenure.PayloadError, match=r"payload\.value: must be a finite number"):
        encode(job.payload)


def test_what_is_too_large_or_too_deep_is_refused_before_it_is_stored() -> None:
    with pytest.raises(tenure.PayloadError, match="must be at most"):
        encode(taking(str).payload(("x" * MAX_PAYLOAD,), {}))
    for levels in (150, 100_000):
        deep: Any = []
        for _ in range(levels):
            deep = [deep]
        with pytest.raises(tenure.PayloadError):
            encode(taking(Any).payload((deep,), {}))
        del deep
    round_and_round: list[Any] = []
    round_and_round.append(round_and_round)
    with pytest.raises(tenure.PayloadError):
        encode(taking(Any).payload((round_and_round,), {}))


@pytest.mark.parametrize("annotation", [Any, dict, dict[str, Any], list[dict[str, int]]], ids=str)
def test_keys_that_are_not_text_are_refused_where_no_annotation_tells_of_them(annotation: Any) -> None:
    value: Any = [{1: 2}] if annotation == list[dict[str, int]] else {1: 2}
    with pytest.raises(tenure.PayloadError):
        encode(taking(annotation).payload((value,), {}))


def test_text_and_numbers_of_classes_of_their_own_travel_as_plain_ones() -> None:
    class Dear(float):
        pass

    [text] = carried(taking(str), Polite("hello"))
    assert type(text) is str
    assert text == "hello"
    assert carried(taking(float), Dear(1.5)) == (1.5,)
    assert carried(taking(Any), {"level": Level.HIGH, "colour": Colour.RED}) == (
        {"level": 2, "colour": "red"},
    )


def test_arguments_may_be_passed_by_place_and_by_name() -> None:
    def handler(a: int, b: int = 2, *, c: int = 3) -> tuple[int, int, int]:
        return a, b, c

    s = signature(handler)
    assert s.payload((1,), {"c": 5}) == {"a": 1, "c": 5}
    for args, kwargs, seen in [((1,), {}, (1, 2, 3)), ((1, 7), {"c": 9}, (1, 7, 9)), ((), {"b": 0, "a": 1}, (1, 0, 3))]:  # fmt: skip
        assert s.call(carried(s, *args, **kwargs), None) == seen


@pytest.mark.parametrize(
    "args",
    [
        (1, "a", True),
        (True, "a", True),
        (1, "a", 1),
        (1, b"a", True),
        ("1", "a", True),
        (1.0, "a", True),
        (1, "a"),
        (2**70, "a", False),
    ],
)
def test_plain_arguments_by_place_are_judged_as_the_same_by_name(args: tuple[Any, ...]) -> None:
    def plain(n: int, text: str, yes: bool) -> None: ...

    def answer(call: Callable[[], Any]) -> Any:
        try:
            return call()
        except (tenure.PayloadError, tenure.FieldTypeError) as error:
            return type(error)

    by_name = dict(zip(("n", "text", "yes"), args, strict=False))
    signature = Signature(plain, "plain", Context)
    assert answer(lambda: signature.payload(args, {})) == answer(lambda: signature.payload((), by_name))


def test_positional_only_parameters_are_passed_by_place() -> None:
    def handler(a: int = 1, b: int = 2, /, c: int = 3) -> tuple[int, int, int]:
        return a, b, c

    s = signature(handler)
    assert s.call(carried(s, 5, 6), None) == (5, 6, 3)
    assert s.call(s.arguments('{"b": 9}'), None) == (1, 9, 3)


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [((), {}), ((1, 2, 3), {}), ((1,), {"z": 1}), ((1,), {"a": 1})],
    ids=["missing", "too many", "unknown", "twice"],
)
def test_a_call_that_the_function_would_refuse_is_refused(args: Any, kwargs: Any) -> None:
    def handler(a: int, b: int = 2) -> None: ...

    with pytest.raises(
        tenure.FieldTypeError, match=r"handler\(a: .*int.*, b: .*int.* = 2\): cannot be called so"
    ):
        signature(handler).payload(args, kwargs)


def test_parameters_without_annotations_take_any_json() -> None:
    def handler(a, b=None):  # type: ignore[no-untyped-def]
        return a, b

    s = signature(handler)
    assert carried(s, {"x": [1, None]}, "b") == ({"x": [1, None]}, "b")


def test_annotations_may_be_text() -> None:
    assert carried(taking("Address | None"), Address("x")) == (Address("x"),)
    assert carried(taking("list[Point]"), [Point(1)]) == ([Point(1)],)


@pytest.mark.parametrize("annotation", ["Nowhere", "int |", "tenure.nope", "list[int"])
def test_an_annotation_that_names_nothing_is_a_clear_error(annotation: str) -> None:
    with pytest.raises(
        tenure.FieldError, match="kind 'handler': has an annotation that names no type"
    ) as refused:
        taking(annotation).payload((1,), {})
    assert "top of the module" in refused.value.fix


@pytest.mark.parametrize("annotation", [datetime | str, Item | Tree], ids=["texts", "structs"])
def test_types_that_json_cannot_tell_apart_are_a_clear_error(annotation: Any) -> None:
    with pytest.raises(tenure.FieldTypeError, match="of a type that cannot travel"):
        taking(annotation).payload(("x",), {})


@pytest.mark.parametrize("bad", ["args", "kwargs"])
def test_star_arguments_are_refused_when_the_function_is_decorated(bad: str) -> None:
    def stars(*args: int) -> None: ...
    def double(**kwargs: int) -> None: ...

    with pytest.raises(tenure.FieldError, match="cannot be an argument of a job") as refused:
        signature(stars if bad == "args" else double)
    assert bad in refused.value.field


def test_the_context_is_no_part_of_the_payload_wherever_it_stands() -> None:
    def first(ctx: Context, a: int, b: int = 2) -> Any:
        return ctx, a, b

    def middle(a: int, ctx: Context, b: int = 2) -> Any:
        return ctx, a, b

    def last(a: int, b: int = 2, *, ctx: tenure.Context) -> Any:
        return ctx, a, b

    def perhaps(a: int, b: int = 2, ctx: Context | None = None) -> Any:
        return ctx, a, b

    context = Context()
    for function in (first, middle, last, perhaps):
        s = signature(function)
        assert s.payload((1,), {}) == {"a": 1}
        assert s.payload((1, 5), {}) == {"a": 1, "b": 5}
        assert s.call(carried(s, 1), context) == (context, 1, 2)
        assert s.call(carried(s, 1, b=7), context) == (context, 1, 7)
        found, *rest = s.called((1,), {"b": 3}, Context)
        assert isinstance(found, Context)
        assert rest == [1, 3]
    assert signature(first).called((context, 4), {}, Context) == (context, 4, 2)


def test_a_mutable_default_is_the_functions_own_and_never_stored() -> None:
    def handler(a: list[int] = [], b: dict[str, int] = {}) -> tuple[list[int], dict[str, int]]:  # noqa: B006
        return a, b

    s = signature(handler)
    assert s.payload((), {}) == {}
    first, _ = s.call(carried(s, [1]), None)
    first.append(2)
    assert s.call(carried(s), None) == ([], {})


def test_a_payload_from_before_a_parameter_was_added_takes_its_default() -> None:
    def handler(to: str, urgent: bool = False) -> tuple[str, bool]:
        return to, urgent

    s = signature(handler)
    assert s.call(s.arguments('{"to": "a"}'), None) == ("a", False)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ('{"to": "a", "cc": "b"}', "unknown field `cc`"),
        ("{}", "missing required field `to`"),
        ("null", "missing required field `to`"),
        ('["a"]', "expected `object`, got `array`"),
        ('{"to": 5}', "expected `str`, got `int`"),
        ('{"to": ', "is not JSON"),
    ],
)
def test_a_stored_payload_that_fits_no_more_is_an_error_that_says_so(text: str, rule: str) -> None:
    def handler(to: str) -> None: ...

    with pytest.raises(tenure.PayloadError) as refused:
        signature(handler).arguments(text)
    assert rule in refused.value.rule


def test_a_job_stored_without_a_payload_runs_a_handler_without_arguments() -> None:
    def handler() -> str:
        return "ran"

    assert signature(handler).call(signature(handler).arguments("null"), None) == "ran"


def test_a_payload_by_name_is_checked_and_made_plain_like_a_call() -> None:
    def handler(when: datetime, ids: dict[int, str] | None = None) -> None: ...

    s = signature(handler)
    assert s.fitted({"when": NOON, "ids": {1: "a"}}) == s.payload((NOON, {1: "a"}), {})
    assert s.fitted({"when": "2024-01-01T00:00:00Z"}) == {"when": "2024-01-01T00:00:00Z"}
    for bad in ({"when": 1}, {"whom": NOON}, {}, [NOON], "text", {"when": NOON, 5: 1}):
        with pytest.raises(tenure.PayloadError):
            s.fitted(bad)  # type: ignore[arg-type]


def test_wrapped_functions_partials_and_callable_objects_have_signatures_too() -> None:
    def inner(a: date, b: int = 2) -> tuple[date, int]:
        return a, b

    @functools.wraps(inner)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return inner(*args, **kwargs)

    class Called:
        def __call__(self, a: date, b: int = 2) -> tuple[date, int]:
            return a, b

    day = date(2020, 1, 1)
    for function in (wrapper, functools.partial(inner, b=2), Called()):
        s = Signature(function, "kind", Context)
        assert s.call(carried(s, day), None) == (day, 2)
        with pytest.raises(tenure.PayloadError):
            s.payload((1,), {})


def returned(function: Callable[..., Any]) -> Returned:
    return Returned(signature(function))


@pytest.mark.parametrize(("annotation", "value"), CARRIED, ids=lambda v: None)
def test_a_result_comes_back_as_the_return_annotation_has_it(annotation: Any, value: Any) -> None:
    def handler() -> Any: ...

    handler.__annotations__ = {"return": annotation}
    r = returned(handler)
    assert r.decoded(encode(r.plain(value), "result")) == value


def test_a_result_that_is_not_what_was_promised_says_so() -> None:
    def handler() -> list[int]: ...  # type: ignore[empty-body]

    with pytest.raises(tenure.PayloadError, match=r"result\[1\]: expected `int`, got `str`"):
        returned(handler).decoded('[1, "x"]')


def test_a_result_without_an_annotation_is_plain_json() -> None:
    def handler():  # type: ignore[no-untyped-def]
        ...

    r = returned(handler)
    assert r.decoded(encode(r.plain({"when": NOON}), "result")) == {"when": "2024-02-29T12:00:00.123456Z"}
    assert r.decoded(None) is None


VALUES: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "int": (int, st.integers()),
    "float": (float, st.floats(allow_nan=False, allow_infinity=False)),
    "str": (str, st.text()),
    "bytes": (bytes, st.binary()),
    "datetime": (datetime, st.datetimes(timezones=st.just(UTC))),
    "naive datetime": (datetime, st.datetimes()),
    "date": (date, st.dates()),
    "timedelta": (timedelta, st.timedeltas(timedelta(days=-36_500), timedelta(days=36_500))),
    "UUID": (UUID, st.uuids()),
    "Decimal": (Decimal, st.decimals(allow_nan=False, allow_infinity=False)),
    "Point": (Point, st.builds(Point, st.integers(), st.floats(allow_nan=False, allow_infinity=False))),
    "keyed": (dict[int, list[str]], st.dictionaries(st.integers(-(2**63), 2**63 - 1), st.lists(st.text()))),
    "nested": (list[dict[str, UUID | None]], st.lists(st.dictionaries(st.text(), st.none() | st.uuids()))),
    "Any": (Any, st.recursive(st.none() | st.booleans() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x))),
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_whatever_the_value_it_comes_back_the_same(name: str) -> None:
    annotation, values = VALUES[name]
    s = taking(annotation)

    @given(values)
    def comes_back(value: Any) -> None:
        assert carried(s, value) == (value,)

    comes_back()


def test_an_async_function_may_be_called_by_its_payload() -> None:
    async def handler(a: int) -> int:
        return a

    s = signature(handler)
    assert asyncio.run(s.call(carried(s, 3), None)) == 3
