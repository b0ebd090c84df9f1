"""Reads secrets for decryption and names of addresses, which a capture may contain besides packets. Source:
draft-ietf-opsawg-pcapng, sections 4.5 (names) and 4.7 (secrets).
"""

import ipaddress
import struct
from dataclasses import dataclass, field

TLS_KEY_LOG = 0x544C534B
"""Kind of secrets: lines of NSS's key log format (SSLKEYLOGFILE)."""

_IPV4, _IPV6 = 1, 2
_ADDRESS_BYTES = {_IPV4: 4, _IPV6: 16}
_LONGEST_NAME = 255
"""RFC 1035: a longer text is not a host name."""


@dataclass(frozen=True, slots=True)
class Secrets:
    """Secrets of one block. kind: TLS_KEY_LOG or another; data: never shown, not even by repr."""

    kind: int
    data: bytes = field(repr=False)


def secrets_of(body: bytes, order: str) -> Secrets | None:
    """The secrets of a decryption secrets block; None if its body is shorter than it states."""
    if len(body) < 8:
        return None
    kind, length = struct.unpack_from(f"{order}II", body)
    return Secrets(kind, body[8 : 8 + length]) if length <= len(body) - 8 else None


def names_of(body: bytes, order: str) -> list[tuple[str, str]]:
    """(address, name) of a name resolution block, as far as it can be read."""
    found: list[tuple[str, str]] = []
    at = 0
    while at + 4 <= len(body):
        kind, length = struct.unpack_from(f"{order}HH", body, at)
        value = body[at + 4 : at + 4 + length]
        at += 4 + ((length + 3) & ~3)
        if kind == 0 or len(value) < length:
            break
        n = _ADDRESS_BYTES.get(kind)
        if n is None or length <= n:
            continue
        address = str(ipaddress.ip_address(value[:n]))
        names = [raw for raw in value[n:].split(b"\0") if 0 < len(raw) <= _LONGEST_NAME]
        found += [(address, raw.decode("utf-8", "replace")) for raw in names]
    return found
