"""Names of connections: the stable connection id, addresses as text, the Community ID.

A connection id is a hash of both endpoints and the time of the first SYN (or first segment), so it is the same however
the capture was cut into files, blocks or buckets.
"""

import base64
import hashlib
import ipaddress
import struct

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_parsers.kernels import kernel

_TCP = 6
_V4_MAPPED = 0xFFFF
_MOST_DIGITS = 19
_ID_HEX_DIGITS = 16
"""64 bits: a billion connections collide with a chance of 3 %, a million with one of 3 in 100 million."""


def address_text(halves: NDArray[np.uint64]) -> list[str]:
    """Addresses uint64[n, 2] (high, low half; IPv4 as ::ffff:a.b.c.d) as people write them. One Python step per
    connection.
    """
    return [str(_address(int(high), int(low))) for high, low in halves]


def _address(high: int, low: int) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    if high == 0 and low >> 32 == _V4_MAPPED:
        return ipaddress.IPv4Address(low & 0xFFFFFFFF)
    return ipaddress.IPv6Address(high << 64 | low)


def connection_ids(addresses: NDArray[np.uint64], ports: NDArray[np.uint16], first_ns: NDArray[np.int64]) -> list[str]:
    """Connection ids. addresses: uint64[n, 2, 2] (connection, side, half), ports: uint16[n, 2], first_ns: first SYN
    or segment.
    """
    return [
        _connection_id(sides, both, at)
        for sides, both, at in zip(addresses.tolist(), ports.tolist(), first_ns.tolist(), strict=True)
    ]


def _connection_id(sides: list[list[int]], ports: list[int], first_ns: int) -> str:
    ends = sorted(struct.pack(">QQH", *half, port) for half, port in zip(sides, ports, strict=True))
    return hashlib.blake2b(b"".join(ends) + struct.pack(">q", first_ns)).hexdigest()[:_ID_HEX_DIGITS]


def community_ids(addresses: NDArray[np.uint64], ports: NDArray[np.uint16]) -> list[str]:
    """Community ID 1 with seed 0 (github.com/corelight/community-id-spec). Shapes as in connection_ids."""
    return [_community_id(sides, both) for sides, both in zip(addresses.tolist(), ports.tolist(), strict=True)]


def _community_id(sides: list[list[int]], ports: list[int]) -> str:
    ends = sorted((_address(*half).packed, port) for half, port in zip(sides, ports, strict=True))
    (low, low_port), (high, high_port) = ends
    data = struct.pack(">H", 0) + low + high + struct.pack(">BBHH", _TCP, 0, low_port, high_port)
    return "1:" + base64.b64encode(hashlib.sha1(data, usedforsecurity=False).digest()).decode()


def request_ids(conn_ids: pa.Array, conn: NDArray[np.int64], numbers: NDArray[np.int64]) -> pa.Array:
    """Request ids: the connection's id, a hyphen, and the number of the request on it; `r` and a number for a response
    without request (below zero).

    conn_ids: by connection number; conn, numbers: one each per request.
    """
    first = conn_ids.offset * _ID_HEX_DIGITS  # all ids have one length, so that the text buffer is a matrix
    raw = np.frombuffer(conn_ids.buffers()[2], np.uint8) if len(conn) else np.zeros(0, np.uint8)
    ids = raw[first : first + len(conn_ids) * _ID_HEX_DIGITS].reshape(-1, _ID_HEX_DIGITS)
    ends = np.zeros(len(conn) + 1, np.int32)
    out = np.empty(len(conn) * (_ID_HEX_DIGITS + 2 + _MOST_DIGITS), np.uint8)
    n = _write_request_ids(ids, conn, numbers, ends, out)
    return pa.StringArray.from_buffers(len(conn), pa.py_buffer(ends), pa.py_buffer(out[:n].copy()))


@kernel
def _write_request_ids(
    ids: NDArray[np.uint8],
    conn: NDArray[np.int64],
    numbers: NDArray[np.int64],
    ends: NDArray[np.int32],
    out: NDArray[np.uint8],
) -> int:
    """Writes the texts one after the other and where each ends; returns the length of all."""
    at = 0
    for i in range(len(conn)):
        for k in range(ids.shape[1]):
            out[at + k] = ids[conn[i], k]
        at += ids.shape[1]
        out[at] = 45  # "-"
        at += 1
        value = numbers[i]
        if value < 0:
            out[at] = 114  # "r"
            at += 1
            value = -1 - value
        n_digits, rest = 1, value // 10
        while rest > 0:
            n_digits += 1
            rest //= 10
        for k in range(n_digits):
            out[at + n_digits - 1 - k] = 48 + value % 10
            value //= 10
        at += n_digits
        ends[i + 1] = at
    return at
