"""The headers of batches in plain Python: the slow twin of the kernel of records.batches."""

import struct
import zlib
from functools import cache
from typing import NamedTuple

_HEADER_V2 = struct.Struct(">qiibIhiqqqhii")


class Header(NamedTuple):
    """Columns of BATCH. position counts from the start of the set."""

    position: int
    size: int
    magic: int
    base_offset: int
    last_offset: int
    crc: int
    crc_valid: bool
    max_timestamp: int
    base_sequence: int


def list_batches(raw):
    """The headers of the whole batches of a record set. A last batch that is cut is none."""
    out, at = [], 0
    while len(raw) - at > 16:
        length, magic = int.from_bytes(raw[at + 8 : at + 12], "big", signed=True), raw[at + 16]
        if magic > 2 or length < (14, 22, 49)[magic] or length > len(raw) - at - 12:
            break
        one = raw[at : at + 12 + length]
        out.append(Header(at, len(one), magic, *(_header_v2(one) if magic == 2 else _header_message(one))))
        at += 12 + length
    return out


def _header_v2(one):
    base, _, _, _, crc, _, delta, _, latest, _, _, sequence, _ = _HEADER_V2.unpack_from(one)
    return base, base + delta, crc, _crc32c(one[21:]) == crc, latest, sequence


def _header_message(one):
    offset, crc = int.from_bytes(one[:8], "big", signed=True), int.from_bytes(one[12:16], "big")
    latest = int.from_bytes(one[18:26], "big", signed=True) if one[16] else -1
    return offset, offset, crc, zlib.crc32(one[16:]) == crc, latest, -1


@cache
def _castagnoli():
    table = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
        table.append(n)
    return tuple(table)


def _crc32c(data):
    table, crc = _castagnoli(), 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF
