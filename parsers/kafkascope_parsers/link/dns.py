"""DNS messages: question, addresses and aliases of the answer.

Sources: RFC 1035 (format, name compression), RFC 3596 (AAAA). A name is read in at most NAME_LIMIT steps, and an answer
with at most RECORD_LIMIT records. Messages that are cut or broken raise ValueError.
"""

import ipaddress
import struct
from dataclasses import dataclass

A, CNAME, AAAA = 1, 5, 28
TYPES = {1: "A", 2: "NS", 5: "CNAME", 6: "SOA", 12: "PTR", 16: "TXT", 28: "AAAA", 33: "SRV", 64: "SVCB", 65: "HTTPS"}
RCODES = ("NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED")
RECORD_LIMIT, NAME_LIMIT = 256, 255
_HEADER, _RESPONSE, _INTERNET = 12, 0x8000, 1


def split_stream(data: bytes) -> list[bytes]:
    """The whole messages at the beginning of a TCP stream, in which each has its length (16 bits) before it (RFC
    1035)."""
    found, at = [], 0
    while len(data) - at >= 2:
        (size,) = struct.unpack_from("!H", data, at)
        if len(data) - at - 2 < size:
            break
        found.append(data[at + 2 : at + 2 + size])
        at += 2 + size
    return found


@dataclass(frozen=True, slots=True)
class DnsMessage:
    """One question and its answer. name: lower case, without the last dot, other bytes as \\DDD; rcode: of a response;
    addresses, aliases: of A and AAAA, of CNAME, in order."""

    id: int
    is_response: bool
    name: str
    type: str
    rcode: str | None
    addresses: tuple[str, ...]
    aliases: tuple[str, ...]


def read_dns(data: bytes) -> DnsMessage:
    """Reads a message with one question. Raises ValueError for anything else."""
    if len(data) < _HEADER:
        raise ValueError("shorter than a DNS header")
    number, flags, n_questions, n_answers = struct.unpack_from("!HHHH", data)
    if n_questions != 1:
        raise ValueError(f"{n_questions} questions")
    name, at = _name(data, _HEADER)
    kind, of = _shorts(data, at, 2)
    if of & 0x7FFF != _INTERNET:
        raise ValueError(f"class {of}")
    is_response = bool(flags & _RESPONSE)
    addresses, aliases = _answers(data, at + 4, min(n_answers, RECORD_LIMIT)) if is_response else ((), ())
    code = flags & 15
    rcode = (RCODES[code] if code < len(RCODES) else f"RCODE{code}") if is_response else None
    return DnsMessage(number, is_response, name, TYPES.get(kind, f"TYPE{kind}"), rcode, addresses, aliases)


def _answers(data: bytes, at: int, n: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Addresses and aliases of the records at `at`; records after a cut (TC) are missing."""
    addresses, aliases = [], []
    for _ in range(n):
        if at >= len(data):
            break
        _, at = _name(data, at)
        kind, of, _, _, size = _shorts(data, at, 5)
        at += 10
        content = data[at : at + size]
        if len(content) < size:
            raise ValueError("a record ends behind the message")
        if of == _INTERNET and (kind, size) in ((A, 4), (AAAA, 16)):
            addresses.append(str(ipaddress.ip_address(content)))
        elif of == _INTERNET and kind == CNAME:
            aliases.append(_name(data, at)[0])
        at += size
    return tuple(addresses), tuple(aliases)


def _shorts(data: bytes, at: int, n: int) -> tuple[int, ...]:
    if len(data) - at < 2 * n:
        raise ValueError("the message ends in a record")
    return struct.unpack_from(f"!{n}H", data, at)


def _name(data: bytes, at: int) -> tuple[str, int]:
    """The name at `at`, and the place after it."""
    labels: list[str] = []
    after, length = None, 0
    for _ in range(NAME_LIMIT):
        if at >= len(data):
            raise ValueError("the message ends in a name")
        size = data[at]
        if size >= 0xC0:
            if len(data) - at < 2:
                raise ValueError("the message ends in a name")
            after = after if after is not None else at + 2
            target = (size & 0x3F) << 8 | data[at + 1]
            if target >= at:
                raise ValueError("a name points forward")  # every jump goes backwards, so that reading ends
            at = target
            continue
        if size == 0:
            return ".".join(labels), after if after is not None else at + 1
        length += size + 1
        if size > 63 or length > NAME_LIMIT or len(data) - at <= size:
            raise ValueError("a label is too long")
        labels.append(_label(data[at + 1 : at + 1 + size]))
        at += 1 + size
    raise ValueError("a name has too many parts")


def _label(raw: bytes) -> str:
    """A label as zone files write it, in lower case."""
    return "".join(chr(byte).lower() if 33 <= byte <= 126 and byte not in b".\\" else f"\\{byte:03d}" for byte in raw)
