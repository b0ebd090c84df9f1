"""Pseudonyms of IP addresses: other valid addresses, unique for each, by a keyed permutation.

A Feistel network of eight rounds with HMAC-SHA256 is a permutation of all numbers of that width; a result outside of
the addresses that hosts may have is permuted again ("cycle walking"), until it is one of them (as in NIST SP 800-38G,
which does the same with AES).
"""

import hmac
from ipaddress import IPv4Address, IPv6Address, ip_address

_ROUNDS = 8
_GLOBAL_UNICAST = 1
"""2000::/3: the first three bits of host addresses."""


def parse_address(text: str) -> IPv4Address | IPv6Address | None:
    """Returns the address in a text; None where it is not one."""
    if not text or len(text) > 45 or not (text[0].isalnum() or text[0] == ":"):
        return None
    try:
        return ip_address(text)
    except ValueError:
        return None


def other_address(address: IPv4Address | IPv6Address, key: bytes) -> IPv4Address | IPv6Address:
    """Returns the pseudonym of an address. Addresses that name no host of a network (loopback, unspecified, multicast,
    link-local of IPv6) stay unchanged."""
    if address.is_loopback or address.is_unspecified or address.is_multicast:
        return address
    if isinstance(address, IPv4Address):
        return address if not _is_host_4(int(address)) else IPv4Address(_walk(int(address), 32, key))
    if address.ipv4_mapped is not None:
        mapped = other_address(address.ipv4_mapped, key)
        return IPv6Address(0xFFFF << 32 | int(mapped))
    # Unique local, link-local and global addresses all become global ones: 125 bits that follow the first three.
    return IPv6Address(_GLOBAL_UNICAST << 125 | _hashed_bits(int(address), key))


def _is_host_4(number: int) -> bool:
    """Whether a host may have that IPv4 address: not 0/8, 127/8, 224/4 and above."""
    first = number >> 24
    return 0 < first < 224 and first != 127


def _walk(number: int, bits: int, key: bytes) -> int:
    number = _permuted(number, bits, key)
    while not _is_host_4(number):
        number = _permuted(number, bits, key)
    return number


def _permuted(number: int, bits: int, key: bytes) -> int:
    """Returns a number with the same number of bits, unique for each."""
    half = bits // 2
    left, right = number >> half, number & ((1 << half) - 1)
    for step in range(_ROUNDS):
        digest = hmac.digest(key, b"address" + bytes([bits, step]) + right.to_bytes(16, "big"), "sha256")
        left, right = right, left ^ (int.from_bytes(digest, "big") & ((1 << half) - 1))
    return left << half | right


def _hashed_bits(number: int, key: bytes) -> int:
    """Returns 125 bits for an IPv6 address, from a hash: they are so many that collisions are improbable."""
    digest = hmac.digest(key, b"address6" + number.to_bytes(16, "big"), "sha256")
    return int.from_bytes(digest, "big") >> (256 - 125)
