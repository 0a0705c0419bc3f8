"""A proof is compared with every secret, in a time that tells nothing: all of them each time, as bytes, by compare_digest alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from hmac import compare_digest
from pathlib import Path
from typing import Any

import pytest

import tenure.gateway.sources
from tenure.gateway.settings import Check
from tests.gateway.signing import SECRETS, SENDERS, body_of, headers_of
from tests.gateway.test_sources import NOW, lowered, source_of

SOURCES = sorted(Path(tenure.gateway.sources.__file__).parent.glob("*.py"))
CHECKS = {
    "token": Check(how="token", header="X-Token"),
    "basic": Check(how="basic"),
    "base64": Check(encoding="base64", algorithm="sha512"),
}


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Any]]:
    """What was compared."""
    pairs: list[tuple[Any, Any]] = []

    def recorded(given: Any, wanted: Any) -> bool:
        pairs.append((given, wanted))
        return compare_digest(given, wanted)

    monkeypatch.setattr("tenure.gateway.secrets.compare_digest", recorded)
    return pairs


def is_with_each(pairs: list[tuple[Any, Any]], secrets: int, signatures: int) -> bool:
    """Whether each of so many signatures was compared with what each of so many secrets makes, all as bytes."""
    return (
        {type(side) for pair in pairs for side in pair} == {bytes}
        and len(pairs) == len(set(pairs)) == secrets * signatures
        and len({wanted for _, wanted in pairs}) == secrets
        and len({given for given, _ in pairs}) == signatures
    )


@pytest.mark.parametrize("right", [0, 1, 2, None], ids=["first", "second", "third", "none"])
@pytest.mark.parametrize("sender", SENDERS)
def test_a_proof_is_compared_with_every_secret_whichever_is_right(
    compared: list[tuple[Any, Any]], sender: str, right: int | None
) -> None:
    stem = SECRETS[sender][:-4]
    secrets = [stem + end for end in ("AAAA", "BBBB", "CCCC")]
    source, body = source_of(sender, *secrets), body_of(sender)
    secret = stem + "DDDD" if right is None else secrets[right]
    headers = lowered(headers_of(sender, body, secret=secret, at=NOW))
    assert source.reject(headers, body, NOW) == ("bad signature" if right is None else None)
    assert is_with_each(compared, secrets=3, signatures=2 if sender == "stripe" else 1)


@pytest.mark.parametrize("sender", ["stripe", "standard"])
def test_of_several_signatures_all_are_compared_though_the_first_is_right(
    compared: list[tuple[Any, Any]], sender: str
) -> None:
    secrets = [SECRETS[sender][:-4] + end for end in ("AAAA", "BBBB")]
    body = body_of(sender)
    headers = lowered(headers_of(sender, body, secret=secrets[0], at=NOW))
    if sender == "stripe":
        stamp, wrong, right = headers["stripe-signature"].split(",")
        headers["stripe-signature"] = f"{stamp},{right},{wrong}"
    else:
        headers["webhook-signature"] = headers["webhook-signature"].partition(" ")[2] + " v1,wrong"
    assert source_of(sender, *secrets).reject(headers, body, NOW) is None
    assert is_with_each(compared, secrets=2, signatures=2)


@pytest.mark.parametrize("given", ["right", "wrong", "not ASCII: \xe9"])
@pytest.mark.parametrize("how", CHECKS)
def test_a_generic_source_compares_with_every_secret_however_it_checks(
    compared: list[tuple[Any, Any]], how: str, given: str
) -> None:
    source = source_of("generic", "a:right", "b:right", check=CHECKS[how])
    token = f"a:{given}"
    headers = {"x-token": token, "authorization": f"Basic {token}", "x-signature": token}
    if (how, given) == ("basic", "right"):
        headers["authorization"] = "Basic YTpyaWdodA=="
    taken = given == "right" and how != "base64"
    assert source.reject(headers, b"{}", NOW) == (None if taken else "bad signature")
    assert is_with_each(compared, secrets=2, signatures=1)


_TELLING = {"startswith", "endswith", "find", "index", "count", "removeprefix", "removesuffix"}
"""Methods of texts that take a time which depends on how much is the same."""


def is_secret(node: ast.AST, named: set[str]) -> bool:
    """Whether secrets, what they sign, or these names are in it."""
    return any(
        (isinstance(one, ast.Name) and one.id in named)
        or (isinstance(one, ast.Attribute) and one.attr in named)
        for one in ast.walk(node)
    )


def bound(function: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """What is given a name, and the name."""
    for node in ast.walk(function):
        match node:
            case ast.Assign():
                yield from ((node.value, target) for target in node.targets)
            case ast.For() | ast.comprehension():
                yield node.iter, node.target
            case ast.NamedExpr():
                yield node.value, node.target
            case _:
                pass


def compares(text: str) -> list[str]:
    """Where a module compares what is made of secrets by itself. With a constant of its own it may: that is none."""
    found = []
    for function in ast.walk(ast.parse(text)):
        if not isinstance(function, ast.FunctionDef):
            continue
        named = {"secrets", "signed"}
        for _ in range(3):  # a name of a name of a name
            for value, target in bound(function):
                if is_secret(value, named):
                    named |= {one.id for one in ast.walk(target) if isinstance(one, ast.Name)}
        for node in ast.walk(function):
            match node:
                case ast.Compare():
                    sides = [node.left, *node.comparators]
                case ast.Call(func=ast.Attribute(attr=attr)) if attr in _TELLING:
                    sides = [node.func, *node.args]
                case ast.Match():
                    sides = [node.subject]
                case _:
                    continue
            constant = any(isinstance(side, ast.Constant) for side in sides)
            if not constant and any(is_secret(side, named) for side in sides):
                found.append(ast.unparse(node))
    return found


@pytest.mark.parametrize("module", SOURCES, ids=lambda path: path.stem)
def test_no_source_compares_secrets_by_itself(module: Path) -> None:
    assert compares(module.read_text("utf-8")) == []


@pytest.mark.parametrize(
    "line",
    [
        "given in self.secrets",
        "given == self.secrets[0]",
        "any(given == s for s in self.secrets)",
        "given not in [s.hex() for s in self.secrets]",
        "given == signed(key, body)",
        "(wanted := signed(key, body)) and wanted.hex() == given",
        "any(given.startswith(s) for s in self.secrets)",
    ],
)
def test_a_source_that_compares_secrets_by_itself_is_found(line: str) -> None:
    assert len(compares(f"def reject(self, given, body):\n    return {line}")) == 1
    assert len(compares(f"def reject(self, given, body):\n    if {line}:\n        return None")) == 1
