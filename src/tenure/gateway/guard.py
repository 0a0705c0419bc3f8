"""Which addresses a request of ours may go to: those of the public internet, unless somebody said that private ones are meant.

Judged are addresses as the resolver gave them, so that no spelling of a host (0x7f.1, 2130706433, 0177.0.0.1) hides one, and
so that the one that was judged is the one connected to. An IPv6 address that wraps an IPv4 one is judged by what it wraps.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

__all__ = ["refusal"]

_METADATA = frozenset(
    map(
        ip_address,
        # What clouds tell their machines, keys among it: most of them, Alibaba, Oracle, Azure (a public address), Amazon.
        ("169.254.169.254", "100.100.100.200", "192.0.0.192", "168.63.129.16", "fd00:ec2::254"),
    )
)
_NOT_PUBLIC_4 = tuple(
    map(
        IPv4Network,
        # Python's own lists differ from version to version; these are refused by every one.
        (
            "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
            "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24",
            "203.0.113.0/24", "224.0.0.0/3",
        ),
    )
)  # fmt: skip
_PUBLIC_6 = IPv6Network("2000::/3")
_NOT_PUBLIC_6 = tuple(map(IPv6Network, ("2001::/23", "2001:db8::/32", "3fff::/20")))
_NAT64 = IPv6Network("64:ff9b::/96")


def refusal(address: str) -> str | None:
    """Why nothing is to be sent to this address, as the rest of "10.0.0.1 is …"; None if it is public."""
    bare, _, scope = address.partition("%")
    try:
        given = ip_address(bare)
    except ValueError:
        return "no address"
    if scope:
        return "an address of one link only"
    return _judged(given)


def _judged(given: IPv4Address | IPv6Address) -> str | None:
    if isinstance(given, IPv6Address):
        inner = _wrapped(given)
        if inner is not None:
            return _judged(inner)
    for found, word in (
        (given in _METADATA, "the address of a cloud's metadata"),
        (given.is_loopback, "a loopback address"),
        (given.is_link_local, "a link-local address"),
        (given.is_multicast, "a multicast address"),
        (given.is_unspecified, "no address of anybody"),
        (not _public(given), "not a public address"),
    ):
        if found:
            return word
    return None


def _public(given: IPv4Address | IPv6Address) -> bool:
    if isinstance(given, IPv4Address):
        return given.is_global and not any(given in net for net in _NOT_PUBLIC_4)
    return given.is_global and given in _PUBLIC_6 and not any(given in net for net in _NOT_PUBLIC_6)


def _wrapped(given: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that really is reached, where there is one. (Teredo's and local translators' are not public at all.)"""
    if given.ipv4_mapped is not None:
        return given.ipv4_mapped
    if given.sixtofour is not None:
        return given.sixtofour
    return IPv4Address(int(given) & 0xFFFF_FFFF) if given in _NAT64 else None
