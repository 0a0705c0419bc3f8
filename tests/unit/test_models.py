"""Pydantic models among arguments and results, in whatever they are nested."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal, TypedDict

import msgspec
import pytest
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, SecretStr
from pydantic.dataclasses import dataclass as checked_dataclass

import tenure
from tenure.context import Context
from tenure.payload import encode
from tenure.returned import Returned
from tenure.signature import Signature


class User(BaseModel):
    name: str
    born: datetime | None = None


class Exact(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    when: datetime
    blob: bytes
    both: tuple[int, ...]


class Named(BaseModel):
    first: str = Field(alias="firstName")


class Marked(BaseModel):
    value: int
    _mark: object = PrivateAttr(default_factory=object)


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    tricks: list[str]


class Login(BaseModel):
    password: SecretStr


@checked_dataclass
class Checked:
    age: Annotated[int, Field(ge=0)]


@dataclass
class Team:
    lead: User
    others: list[User]


class Box(msgspec.Struct):
    user: User | None


@dataclass
class Guarded:
    lead: Login


class Safe(msgspec.Struct):
    lead: Login


class Door(TypedDict):
    lead: Login


Pet = Annotated[Cat | Dog, Field(discriminator="kind")]
BORN = datetime.fromisoformat("1984-01-02T03:04:05+00:00")

CARRIED: list[tuple[Any, Any]] = [
    (User, User(name="Ann", born=BORN)),
    (Exact, Exact(when=BORN, blob=b"x", both=(1, 2))),
    (Named, Named(firstName="Ann")),
    (list[User], [User(name="Ann"), User(name="Bob")]),
    (User | None, None),
    (User | None, User(name="Ann")),
    (User | int, 5),
    (dict[str, User], {"a": User(name="Ann")}),
    (Pet, Dog(tricks=["roll"])),
    (list[Pet], [Cat(lives=9), Dog(tricks=[])]),
    (Pet | None, Cat(lives=9)),
    (Checked, Checked(age=3)),
    (Team, Team(User(name="Ann"), [User(name="Bob", born=BORN)])),
    (Box, Box(User(name="Ann"))),
    (list[Box | None], [None, Box(None)]),
]


def taking(annotation: Any) -> Signature:
    def handler(value: Any, note: str = "") -> Any: ...

    handler.__annotations__ = {"value": annotation, "note": "str", "return": annotation}
    return Signature(handler, "handler", Context)


@pytest.mark.parametrize(("annotation", "value"), CARRIED, ids=lambda v: None)
def test_a_model_arrives_as_the_model_it_was(annotation: Any, value: Any) -> None:
    s = taking(annotation)
    assert s.arguments(encode(s.payload((value, "n"), {}))) == (value, "n")
    r = Returned(s)
    assert r.decoded(encode(r.plain(value), "result")) == value


def test_a_model_may_be_given_as_the_mapping_it_is_made_of() -> None:
    s = taking(User)
    assert s.fitted({"value": {"name": "Ann"}}) == s.payload((User(name="Ann"),), {})


@pytest.mark.parametrize(
    ("annotation", "value", "path"),
    [
        (User, {"name": 5}, ".value.name"),
        (User, {}, ".value.name"),
        (User, "Ann", ".value"),
        (list[User], [User(name="Ann"), {"name": None}], ".value[1].name"),
        (Pet, {"kind": "cow"}, ".value"),
        (Pet, {"kind": "dog", "tricks": [1]}, ".value.dog.tricks[0]"),
        (Exact, {"when": BORN, "blob": b"x", "both": (), "more": 1}, ".value.more"),
        (User | None, {"born": "x"}, ".value.name"),
        (Annotated[int, Field(ge=1)], 0, ".value"),
        (User, User.model_construct(name=5), ".value.name"),
        (Exact, Exact(when=BORN, blob=b"\xff", both=()), ".value"),
        (Team, {"lead": {"name": 5}, "others": []}, ".value.lead"),
    ],
    ids=lambda v: None,
)
def test_what_a_model_refuses_is_refused_with_the_path_to_it(annotation: Any, value: Any, path: str) -> None:
    with pytest.raises(tenure.PayloadError) as refused:
        taking(annotation).payload((value,), {})
    assert refused.value.path == path


def test_a_stored_payload_that_the_model_refuses_says_where() -> None:
    with pytest.raises(tenure.PayloadError, match=r"payload\.value\.name: input should be a valid string"):
        taking(User).arguments('{"value": {"name": 5}}')
    with pytest.raises(tenure.PayloadError, match=r"result\.name: field required"):
        Returned(taking(User)).decoded("{}")


@pytest.mark.parametrize("annotation", [Login, Login | None, list[Login]], ids=str)
def test_a_secret_that_json_would_turn_into_stars_is_refused(annotation: Any) -> None:
    login = Login(password=SecretStr("hunter2"))
    value: Any = [login] if annotation == list[Login] else login
    with pytest.raises(tenure.PayloadError, match="would not come back from JSON as it went in") as refused:
        taking(annotation).payload((value,), {})
    assert "hunter2" not in str(refused.value)


LOGIN = Login(password=SecretStr("hunter2"))
INSIDE: list[tuple[Any, Any]] = [
    (Guarded, Guarded(LOGIN)),
    (Safe, Safe(LOGIN)),
    (Door, Door(lead=LOGIN)),
    (Any, {"lead": LOGIN}),
]


@pytest.mark.parametrize(("annotation", "value"), INSIDE, ids=lambda v: None)
def test_a_secret_is_refused_in_a_model_that_no_annotation_tells_of(annotation: Any, value: Any) -> None:
    s = taking(annotation)
    with pytest.raises(tenure.PayloadError, match="would not come back from JSON as it went in") as refused:
        s.payload((value,), {})
    assert (refused.value.field, refused.value.path) == ("payload.value", ".value")
    with pytest.raises(tenure.PayloadError, match=r"^result: would not come back from JSON") as kept:
        Returned(s).plain(value)
    assert "hunter2" not in f"{refused.value} {kept.value}"


def test_what_such_a_model_refuses_is_refused_with_its_place_in_it() -> None:
    with pytest.raises(tenure.PayloadError, match=r"payload\.value\.name: input should be a valid string"):
        taking(Any).payload(([User.model_construct(name=5)],), {})


def test_what_a_model_keeps_to_itself_does_not_travel() -> None:
    s = taking(Marked)
    assert s.payload((Marked(value=1),), {}) == {"value": {"value": 1}}


def test_a_model_without_an_annotation_travels_as_plain_json() -> None:
    s = taking(Any)
    assert s.arguments(encode(s.payload(({"user": User(name="Ann")},), {}))) == {
        "value": {"user": {"name": "Ann", "born": None}}
    }
