"""Identifiers of connections: the stable connection id, addresses as text, the Community ID.

A connection id is a hash of both endpoints and the time of the first SYN (or first segment), so it is the same however
the capture was cut into files, blocks or buckets.
"""

import base64
import hashlib
import ipaddress
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.connections.alike_rows import distinct_rows
from kafkascope_parsers.kernels import kernel
from kafkascope_parsers.machine.gather import read_only

_TCP = 6
_V4_MAPPED = 0xFFFF
_COMMUNITY_VERSION = b"1:"
_SHA1_BYTES, _SHA1_BASE64 = 20, 28
_ID_HEX_DIGITS = 16
_MOST_DIGITS = 19
"""Digits of the largest number of a request, which has 63 bits."""
CONNECTION_ID = np.dtype(f"S{_ID_HEX_DIGITS}")
"""A connection id has 64 bits: among a billion connections the chance of a collision is 3 %, among a million it is 3 in
100 million."""


def address_text(halves: NDArray[np.uint64]) -> pa.StringArray:
    """Returns addresses uint64[n, 2] (high, low half; IPv4 as ::ffff:a.b.c.d) as people write them. One Python step per
    distinct address.
    """
    distinct, which = distinct_rows(halves)
    texts = pa.array([str(_address(high, low)) for high, low in distinct.tolist()], pa.string())
    return texts.take(pa.array(which))


def _address(high: int, low: int) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    if high == 0 and low >> 32 == _V4_MAPPED:
        return ipaddress.IPv4Address(low & 0xFFFFFFFF)
    return ipaddress.IPv6Address(high << 64 | low)


def connection_ids(
    addresses: NDArray[np.uint64], ports: NDArray[np.uint16], first_ns: NDArray[np.int64]
) -> NDArray[np.bytes_]:
    """Returns connection ids (CONNECTION_ID[n]): the first 8 bytes of BLAKE2b, in hex, over both ends and the time in
    network byte order.

    addresses: uint64[n, 2, 2] (connection, side, half), ports: uint16[n, 2], first_ns: first SYN or segment.
    """
    addresses, ports = _in_order(addresses, ports)
    ends = np.concatenate([_wire(addresses, ">u8"), _wire(ports[..., np.newaxis], ">u2")], axis=-1)
    data = np.concatenate([ends.reshape(len(ports), -1), _wire(first_ns[:, np.newaxis], ">i8")], axis=-1)
    digests = b"".join(hashlib.blake2b(row).digest()[: _ID_HEX_DIGITS // 2] for row in _rows(data))
    return np.frombuffer(digests.hex().encode(), CONNECTION_ID)


def id_texts(ids: NDArray[np.bytes_]) -> pa.StringArray:
    """Returns connection ids as texts, without copying them."""
    return _texts(ids.view(np.uint8), _ID_HEX_DIGITS)


def community_ids(addresses: NDArray[np.uint64], ports: NDArray[np.uint16]) -> pa.StringArray:
    """Returns Community ID 1 with seed 0 (github.com/corelight/community-id-spec). Shapes as in connection_ids."""
    addresses, ports = _in_order(addresses, ports)
    is_v4 = ((addresses[..., 0] == 0) & (addresses[..., 1] >> np.uint64(32) == _V4_MAPPED)).all(axis=1)
    whole = _wire(addresses, ">u8")
    out = np.empty((len(ports), len(_COMMUNITY_VERSION) + _SHA1_BASE64), np.uint8)
    out[:, : len(_COMMUNITY_VERSION)] = np.frombuffer(_COMMUNITY_VERSION, np.uint8)
    for chosen, from_byte in ((is_v4, 12), (~is_v4, 0)):
        digests = _community_digests(whole[chosen][..., from_byte:], ports[chosen])
        out[chosen, len(_COMMUNITY_VERSION) :] = _base64(digests)
    return _texts(out.tobytes(), out.shape[1])


def _community_digests(addresses: NDArray[np.uint8], ports: NDArray[np.uint16]) -> NDArray[np.uint8]:
    """Returns SHA-1 of seed, addresses (uint8[n, 2, width]), protocol, padding and ports: uint8[n, 20]."""
    n = len(ports)
    width = addresses.shape[1] * addresses.shape[2]
    data = np.zeros((n, 2 + width + 2 + 4), np.uint8)
    data[:, 2 : 2 + width] = addresses.reshape(n, width)
    data[:, 2 + width] = _TCP
    data[:, -4:] = _wire(ports, ">u2")
    digests = b"".join(hashlib.sha1(row, usedforsecurity=False).digest() for row in _rows(data))
    return np.frombuffer(digests, np.uint8).reshape(n, _SHA1_BYTES)


def _base64(digests: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Returns base64 of each row of 20 bytes: with a zero byte after them they are 28 digits, of which the last is
    padding."""
    padded = np.zeros((len(digests), _SHA1_BYTES + 1), np.uint8)
    padded[:, :_SHA1_BYTES] = digests
    texts = np.frombuffer(base64.b64encode(padded.tobytes()), np.uint8).reshape(-1, _SHA1_BASE64).copy()
    texts[:, -1] = ord("=")
    return texts


def _in_order(
    addresses: NDArray[np.uint64], ports: NDArray[np.uint16]
) -> tuple[NDArray[np.uint64], NDArray[np.uint16]]:
    """Returns addresses and ports with the smaller end of each connection first."""
    above = ports[:, 0] > ports[:, 1]
    for half in (1, 0):
        one, other = addresses[:, 0, half], addresses[:, 1, half]
        above = (one > other) | ((one == other) & above)
    return (
        np.where(above[:, np.newaxis, np.newaxis], addresses[:, ::-1], addresses),
        np.where(above[:, np.newaxis], ports[:, ::-1], ports),
    )


def _wire(values: NDArray[np.generic], kind: str) -> NDArray[np.uint8]:
    """Returns numbers in network byte order: the last axis as bytes."""
    return np.ascontiguousarray(values.astype(kind)).view(np.uint8)


def _rows(data: NDArray[np.uint8]) -> Iterator[bytes]:
    """Yields the rows of a matrix of bytes."""
    raw, width = data.tobytes(), data.shape[1]
    return (raw[at : at + width] for at in range(0, len(raw), width))


def _texts(raw: bytes | NDArray[np.uint8], width: int) -> pa.StringArray:
    """Returns texts of equal width from consecutive bytes."""
    ends = np.arange(0, len(raw) + 1, width, dtype=np.int32)
    return pa.StringArray.from_buffers(len(ends) - 1, pa.py_buffer(ends), pa.py_buffer(raw))


def request_ids(conn_ids: pa.Array, conn: NDArray[np.int64], numbers: NDArray[np.int64]) -> pa.Array:
    """Returns request ids: the connection's id, a hyphen, and the number of the request on it; `r` and a number for a
    response without request (below zero).

    conn_ids: by connection number; conn, numbers: one each per request.
    """
    if not len(conn):
        return pa.array([], pa.string())
    first = conn_ids.offset * _ID_HEX_DIGITS  # all ids have one length
    raw = read_only(np.frombuffer(conn_ids.buffers()[2], np.uint8))
    ids = raw[first : first + len(conn_ids) * _ID_HEX_DIGITS]
    ends = np.zeros(len(conn) + 1, np.int32)
    most_digits = len(str(max(int(numbers.max()), -1 - int(numbers.min()))))
    out = np.empty(len(conn) * (_ID_HEX_DIGITS + 2 + most_digits), np.uint8)
    n = _write_request_ids(ids, conn, numbers, ends, out)
    return pa.StringArray.from_buffers(len(conn), pa.py_buffer(ends), pa.py_buffer(out[:n]))


@kernel
def _write_request_ids(
    ids: NDArray[np.uint8],
    conn: NDArray[np.int64],
    numbers: NDArray[np.int64],
    ends: NDArray[np.int32],
    out: NDArray[np.uint8],
) -> int:
    """Writes the texts one after the other and the end of each; returns their total length. ids: the connection ids,
    one after the other. Rows of one request often follow each other: its digits are computed for the first.
    (Slices of constant length are copied at once, and unsigned numbers are divided in half the time.)"""
    at, ten = 0, np.uint64(10)
    for i in range(len(conn)):
        first = conn[i] * _ID_HEX_DIGITS
        source, target = ids[first : first + _ID_HEX_DIGITS], out[at : at + _ID_HEX_DIGITS]
        for k in range(_ID_HEX_DIGITS):
            target[k] = source[k]
        if i > 0 and conn[i] == conn[i - 1] and numbers[i] == numbers[i - 1]:
            n_bytes = at - ends[i - 1]
            for k in range(_ID_HEX_DIGITS, n_bytes):
                out[at + k] = out[at + k - n_bytes]
            at += n_bytes
            ends[i + 1] = at
            continue
        at += _ID_HEX_DIGITS
        out[at] = 45  # "-"
        at += 1
        value = numbers[i]
        if value < 0:
            out[at] = 114  # "r"
            at += 1
            value = -1 - value
        rest, n_digits, above = np.uint64(value), 1, ten
        while n_digits < _MOST_DIGITS and above <= rest:
            n_digits += 1
            above *= ten
        for k in range(n_digits):
            higher = rest // ten
            out[at + n_digits - 1 - k] = 48 + (rest - higher * ten)
            rest = higher
        at += n_digits
        ends[i + 1] = at
    return at
