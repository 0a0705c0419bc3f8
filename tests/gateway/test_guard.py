"""The address guard: only what is public is sent to, however an address is dressed."""

from __future__ import annotations

import pytest

from tenure.gateway.guard import refusal

REFUSED = [
    ("127.0.0.1", "a loopback address"),
    ("127.255.255.254", "a loopback address"),
    ("::1", "a loopback address"),
    ("0.0.0.0", "no address of anybody"),
    ("::", "no address of anybody"),
    ("0.1.2.3", "not a public address"),
    ("10.0.0.1", "not a public address"),
    ("100.64.0.1", "not a public address"),
    ("172.16.0.1", "not a public address"),
    ("172.31.255.255", "not a public address"),
    ("192.168.1.1", "not a public address"),
    ("192.0.0.8", "not a public address"),
    ("192.0.2.1", "not a public address"),
    ("192.88.99.1", "not a public address"),
    ("198.18.0.1", "not a public address"),
    ("198.51.100.1", "not a public address"),
    ("203.0.113.1", "not a public address"),
    ("240.0.0.1", "not a public address"),
    ("255.255.255.255", "not a public address"),
    ("169.254.1.1", "a link-local address"),
    ("fe80::1", "a link-local address"),
    ("fe80::1%eth0", "an address of one link only"),
    ("2001:4860:4860::8888%2", "an address of one link only"),
    ("224.0.0.1", "a multicast address"),
    ("239.255.255.255", "a multicast address"),
    ("ff02::1", "a multicast address"),
    ("169.254.169.254", "the address of a cloud's metadata"),
    ("100.100.100.200", "the address of a cloud's metadata"),
    ("192.0.0.192", "the address of a cloud's metadata"),
    ("168.63.129.16", "the address of a cloud's metadata"),
    ("fd00:ec2::254", "the address of a cloud's metadata"),
    ("fc00::1", "not a public address"),
    ("fdff::1", "not a public address"),
    ("fec0::1", "not a public address"),
    ("100::1", "not a public address"),
    ("2001:db8::1", "not a public address"),
    ("2001:2::1", "not a public address"),
    ("3fff::1", "not a public address"),
    ("5f00::1", "not a public address"),
    ("64:ff9b:1::808:808", "not a public address"),
    ("::7f00:1", "not a public address"),
    ("::ffff:127.0.0.1", "a loopback address"),
    ("::ffff:10.0.0.1", "not a public address"),
    ("::ffff:a9fe:a9fe", "the address of a cloud's metadata"),
    ("2002:7f00:1::", "a loopback address"),
    ("2002:a9fe:a9fe::1", "the address of a cloud's metadata"),
    ("2002:c0a8:101::1", "not a public address"),
    ("2001:0:7f00:1::", "not a public address"),
    ("2001:0:808:808:0:0:f5ff:fffe", "not a public address"),
    ("64:ff9b::7f00:1", "a loopback address"),
    ("64:ff9b::10.1.2.3", "not a public address"),
    ("64:ff9b::a9fe:a9fe", "the address of a cloud's metadata"),
    ("localhost", "no address"),
    ("127.1", "no address"),
    ("", "no address"),
]
PUBLIC = [
    "8.8.8.8",
    "1.1.1.1",
    "172.15.255.255",
    "172.32.0.1",
    "100.63.255.255",
    "100.128.0.1",
    "2001:4860:4860::8888",
    "2606:4700::1111",
    "2a00:1450:4001::1",
    "::ffff:8.8.8.8",
    "2002:808:808::1",
    "64:ff9b::808:808",
]


@pytest.mark.parametrize(("address", "why"), REFUSED, ids=[a or "empty" for a, _ in REFUSED])
def test_what_is_not_public_is_refused_and_told_why(address: str, why: str) -> None:
    assert refusal(address) == why


@pytest.mark.parametrize("address", PUBLIC)
def test_what_is_public_is_not_refused(address: str) -> None:
    assert refusal(address) is None
