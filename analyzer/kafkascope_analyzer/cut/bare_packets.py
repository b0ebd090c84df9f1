"""Makes bare packets for TCP segments: IP and TCP headers, rebuilt from the columns of the segments and the numeric TCP
options, and zeros for payload. redacted.py lists what they keep of the original packets. All work is on arrays, except
for rare options.
"""

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.capture import Packets
from kafkascope_parsers.link import Segments

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Halves = NDArray[np.uint64]

RAW_IP = 101
"""LINKTYPE_RAW: packets begin with the IP header."""
MAPPED = 0xFFFF
"""Bits 32 to 47 of an IPv4 address mapped into IPv6."""
_TCP, _MOST_LENGTH, _HOPS = 6, 0xFFFF, 64
_TCP_HEAD = 20


def _layout(**fields: str) -> np.dtype[np.void]:
    return np.dtype(list(fields.items()))


_IPV4 = _layout(
    version="u1", service="u1", length=">u2", id=">u2", fragment=">u2", hops="u1", protocol="u1", sum=">u2",
    source=">u4", destination=">u4",
)  # fmt: skip
_IPV6 = _layout(version=">u4", length=">u2", protocol="u1", hops="u1", source="2>u8", destination="2>u8")
_TCP_HEADER = _layout(
    source=">u2", destination=">u2", seq=">u4", ack=">u4", size="u1", flags="u1", window=">u2", sum=">u2", urgent=">u2"
)
_TIMESTAMPS = np.frombuffer(b"\x01\x01\x08\x0a", np.uint8)
"""The first bytes of the usual TCP options: two of padding, then the timestamps option (RFC 7323)."""
_TIMESTAMPS_BYTES = 12
_NUMERIC_OPTIONS = {2: 4, 3: 3, 4: 2, 8: 10}
"""Kind -> length of numeric TCP options; SACK (5) has several lengths."""
_END, _PADDING, _SACK = 0, 1, 5
_SACK_LENGTHS = (10, 18, 26, 34)


def bare_packets(buf: Bytes, segments: Segments, source: Halves, destination: Halves) -> tuple[Bytes, Packets]:
    """Returns new packets for segments, and their bytes, one after the other. source, destination: their addresses, as
    in `Segments`; buf: the buffer of the segments' offsets."""
    is_4 = (segments.source[:, 0] == 0) & (segments.source[:, 1] >> np.uint64(32) == MAPPED)
    tcp_bytes = _tcp_header_bytes(buf, segments)
    ip_bytes = np.where(is_4, _IPV4.itemsize, _IPV6.itemsize)
    caplen = ip_bytes + tcp_bytes + segments.captured
    ends = np.cumsum(caplen)
    start, out = ends - caplen, np.zeros(int(ends[-1]), np.uint8)
    on_wire = tcp_bytes + segments.length
    _put(out, start[is_4], _ipv4(source[is_4, 1], destination[is_4, 1], on_wire[is_4]))
    _put(out, start[~is_4], _ipv6(source[~is_4], destination[~is_4], on_wire[~is_4]))
    _put(out, start + ip_bytes, _tcp(segments, tcp_bytes))
    _put_options(out, start + ip_bytes + _TCP_HEAD, buf, segments.offset, tcp_bytes - _TCP_HEAD)
    wirelen = (ip_bytes + on_wire).astype(np.int32)
    linktype = np.full(len(segments), RAW_IP, np.uint16)
    return out, Packets(segments.ts_ns, segments.packet_no, start, caplen.astype(np.int32), wirelen, linktype)


def _tcp_header_bytes(buf: Bytes, segments: Segments) -> Ints:
    """Returns the length in bytes of the TCP header before each payload: it is found from the segment's ports and
    numbers, and has its own length field."""
    head = np.zeros(len(segments), _TCP_HEADER)
    head["source"], head["destination"] = segments.source_port, segments.destination_port
    head["seq"], head["ack"] = segments.seq, segments.ack
    wanted = head.view(np.uint8).reshape(-1, _TCP_HEAD)[:, :12]
    found = np.full(len(segments), _TCP_HEAD, np.int64)
    for n_bytes in range(_TCP_HEAD, 64, 4):
        at = segments.offset - n_bytes
        rows = np.flatnonzero(at >= 0)
        there = buf[at[rows][:, None] + np.arange(13)]
        is_it = (there[:, :12] == wanted[rows]).all(axis=1) & (there[:, 12] >> 4 == n_bytes // 4)
        found[rows[is_it]] = n_bytes
    return found


def _put(out: Bytes, at: Ints, headers: NDArray[np.void]) -> None:
    """Writes headers to their offsets."""
    size = headers.dtype.itemsize
    out[at[:, None] + np.arange(size)] = headers.view(np.uint8).reshape(-1, size)


def _ipv4(source: NDArray[np.uint64], destination: NDArray[np.uint64], payload: Ints) -> NDArray[np.void]:
    """Returns IPv4 headers with their checksums. The length field of a packet that is too long for it is 0, as with
    segmentation offload of network cards."""
    head = np.zeros(len(payload), _IPV4)
    length = payload + _IPV4.itemsize
    head["version"], head["hops"], head["protocol"] = 0x45, _HOPS, _TCP
    head["length"] = np.where(length > _MOST_LENGTH, 0, length)
    head["source"], head["destination"] = source & np.uint64(0xFFFFFFFF), destination & np.uint64(0xFFFFFFFF)
    total = head.view(">u2").reshape(len(head), -1).astype(np.int64).sum(axis=1)
    total = (total & 0xFFFF) + (total >> 16)
    head["sum"] = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
    return head


def _ipv6(source: NDArray[np.uint64], destination: NDArray[np.uint64], payload: Ints) -> NDArray[np.void]:
    head = np.zeros(len(payload), _IPV6)
    head["version"], head["hops"], head["protocol"] = 6 << 28, _HOPS, _TCP
    head["length"] = np.where(payload > _MOST_LENGTH, 0, payload)
    head["source"], head["destination"] = source, destination
    return head


def _tcp(segments: Segments, n_bytes: Ints) -> NDArray[np.void]:
    head = np.zeros(len(segments), _TCP_HEADER)
    head["source"], head["destination"] = segments.source_port, segments.destination_port
    head["seq"], head["ack"], head["window"] = segments.seq, segments.ack, segments.window
    head["size"], head["flags"] = n_bytes // 4 << 4, segments.flags & 0xFF
    return head


def _put_options(out: Bytes, to: Ints, buf: Bytes, payload: Ints, n_bytes: Ints) -> None:
    """Copies the numeric TCP options. payload: where the options end in buf."""
    rows = np.flatnonzero(n_bytes == _TIMESTAMPS_BYTES)
    options = buf[(payload[rows] - _TIMESTAMPS_BYTES)[:, None] + np.arange(_TIMESTAMPS_BYTES)]
    are_usual = (options[:, : len(_TIMESTAMPS)] == _TIMESTAMPS).all(axis=1)
    out[to[rows[are_usual]][:, None] + np.arange(_TIMESTAMPS_BYTES)] = options[are_usual]
    is_rare = n_bytes > 0
    is_rare[rows[are_usual]] = False
    for row in np.flatnonzero(is_rare).tolist():
        raw = buf[payload[row] - n_bytes[row] : payload[row]].tobytes()
        out[to[row] : to[row] + n_bytes[row]] = np.frombuffer(only_numbers(raw), np.uint8)


def only_numbers(options: bytes) -> bytes:
    """Returns TCP options in which non-numeric ones are replaced by padding; nothing is read after a malformed one."""
    out, at = bytearray([_PADDING] * len(options)), 0
    while at < len(options) and options[at] != _END:
        kind, n = options[at], 1
        if kind != _PADDING:
            n = options[at + 1] if at + 1 < len(options) else 0
            if n < 2 or at + n > len(options):
                break
            if _NUMERIC_OPTIONS.get(kind) == n or (kind == _SACK and n in _SACK_LENGTHS):
                out[at : at + n] = options[at : at + n]
        at += n
    return bytes(out)
