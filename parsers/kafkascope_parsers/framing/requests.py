"""Cuts the requests of a block, and tells which connections speak Kafka.

A direction is in one of four modes (layout.START...). In SYNC every frame is taken by its size, whatever API it names:
what cannot be decoded is kept whole. After a gap the next frame's place is known when the frame that the gap cut said
its size (EXPECT); else, and where the expected place holds no request, a header has to prove itself (HUNT).
"""

from typing import NamedTuple

import numba as nb
import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.framing.header import (
    MORE,
    NO,
    YES,
    int16_at,
    int32_at,
    looks_like_request,
    request_starts_chain,
)
from kafkascope_parsers.framing.layout import (
    BY_FIRST_REQUEST,
    BY_PORT,
    CLIENT_ID_AT,
    CUT_BY_END,
    CUT_BY_GAP,
    CUT_BY_SNAPLEN,
    EXPECT,
    FRAME_LIMIT,
    HTTP,
    HUNT,
    KAFKA,
    OTHER,
    OVERSIZE,
    REASON_END,
    REASON_GAP,
    REASON_MID_STREAM,
    REASON_NOT_KAFKA,
    REASON_OVERSIZE,
    REASON_SASL,
    REASON_SNAPLEN,
    REASON_TLS,
    START,
    SYNC,
    TLS,
    TOKEN_LIMIT,
    UNDECIDED_LIMIT,
    UNKNOWN,
    WHOLE,
)
from kafkascope_parsers.tcp.streams import GAP_SNAPLEN, Streams

SASL_HANDSHAKE = 17
HUNT_KEEP = CLIENT_ID_AT - 1
"""Bytes kept when a hunt ends: a header may have begun in them."""


class Cut(NamedTuple):
    """Where kernels write: frames and stretches, and how many of each there are (n[0], n[1])."""

    frames: NDArray[np.void]
    stretches: NDArray[np.void]
    n: NDArray[np.int64]


class Framing(NamedTuple):
    """State that the kernels change, and what they know of APIs: DIRECTION rows, CONNECTION rows, int16[n_keys, 2]."""

    directions: NDArray[np.void]
    connections: NDArray[np.void]
    versions: NDArray[np.int16]


@nb.njit(cache=True, nogil=True)
def piece_at(s: Streams, at: int) -> int:
    """Index of the packet piece that holds the byte at `at`."""
    low, high = 0, len(s.piece_start)
    while low < high:
        middle = (low + high) >> 1
        if s.piece_start[middle] <= at:
            low = middle + 1
        else:
            high = middle
    return max(low - 1, 0)


@nb.njit(cache=True, nogil=True)
def add_stretch(s: Streams, cut: Cut, run: int, at: int, to: int, reason: int) -> None:
    """Writes data[at:to] of the run as a stretch; adjoining stretches of one reason become one."""
    if to <= at:
        return
    offset = s.stream_offset[run] + at - s.start[run]
    n = cut.n[1]
    if n > 0:
        last = cut.stretches[n - 1]
        if (
            last.direction == s.direction[run]
            and last.reason == reason
            and last.stream_offset + last.length == offset
            and last.start + last.length == at
        ):
            cut.stretches[n - 1].length += to - at
            return
    piece = piece_at(s, at)
    row = cut.stretches[n]
    row.direction = s.direction[run]
    row.stream_offset = offset
    row.start = at
    row.length = to - at
    row.ts_ns = s.piece_ts_ns[piece]
    row.packet_no = s.piece_packet[piece]
    row.reason = reason
    cut.n[1] = n + 1


@nb.njit(cache=True, nogil=True)
def add_frame(s: Streams, cut: Cut, run: int, at: int, to: int, wholeness: int) -> int:
    """Writes data[at:to] as a frame, its API fields still empty, and returns its index."""
    n = cut.n[0]
    first, last = piece_at(s, at), piece_at(s, to - 1)
    row = cut.frames[n]
    row.direction = s.direction[run]
    row.start = at
    row.end = to
    row.size = 4 + int32_at(s.data, at)
    row.ts_ns = s.piece_ts_ns[first]
    row.last_ns = s.piece_ts_ns[last]
    row.packet_no = s.piece_packet[first]
    row.number = 0
    row.row = -1
    row.correlation_id = 0
    row.in_flight = 0
    row.api_key = -1
    row.api_version = -1
    row.client_id_length = -1
    row.wholeness = wholeness
    cut.n[0] = n + 1
    return n


@nb.njit(cache=True, nogil=True)
def has_later_run(s: Streams, run: int) -> bool:
    """Whether the same direction goes on in this block, after a gap."""
    return run + 1 < len(s.direction) and s.direction[run + 1] == s.direction[run]


@nb.njit(cache=True, nogil=True)
def cut_reason(s: Streams, run: int) -> tuple[int, int]:
    """(wholeness, reason) of a frame that the end of this run cuts."""
    if not has_later_run(s, run):
        return CUT_BY_END, REASON_END
    if s.gap_kind[run + 1] == GAP_SNAPLEN:
        return CUT_BY_SNAPLEN, REASON_SNAPLEN
    return CUT_BY_GAP, REASON_GAP


@nb.njit(cache=True, nogil=True)
def enter_run(s: Streams, run: int, d: NDArray[np.void], k: int) -> None:
    """A gap before the run ends SYNC; a stream whose first byte is not the connection's first is hunted."""
    if s.gap_before[run] > 0:
        if d[k].mode == SYNC or d[k].mode == START:
            d[k].mode = HUNT
            d[k].reason = REASON_SNAPLEN if s.gap_kind[run] == GAP_SNAPLEN else REASON_GAP
        elif d[k].mode == HUNT and d[k].reason == REASON_MID_STREAM:
            d[k].reason = REASON_GAP


@nb.njit(cache=True, nogil=True)
def foreign_protocol(data: NDArray[np.uint8], at: int, end: int) -> int:
    """TLS, HTTP or OTHER, by the first bytes of a client."""
    if end - at >= 3 and data[at] == 0x16 and data[at + 1] == 0x03 and data[at + 2] <= 4:
        return TLS
    if end - at >= 4:
        a, b, c, e = data[at], data[at + 1], data[at + 2], data[at + 3]
        if (
            (a == 71 and b == 69 and c == 84 and e == 32)  # "GET "
            or (a == 80 and (b == 79 or b == 85) and (c == 83 or c == 84))  # "POS", "PUT"
            or (a == 72 and (b == 69 or b == 84) and (c == 65 or c == 84))  # "HEA", "HTT"
        ):
            return HTTP
    return OTHER


@nb.njit(cache=True, nogil=True)
def pass_over_expected(s: Streams, cut: Cut, run: int, at: int, d: NDArray[np.void]) -> int:
    """EXPECT: passes over bytes up to the expected frame and returns the new place; HUNT when the place is already
    behind.
    """
    k = s.direction[run]
    here = s.stream_offset[run] + at - s.start[run]
    if d[k].expect < here:
        d[k].mode = HUNT
        return at
    to = min(s.end[run], at + d[k].expect - here)
    add_stretch(s, cut, run, at, to, d[k].reason)
    return to


@nb.njit(cache=True, nogil=True)
def hunt_request(s: Streams, cut: Cut, run: int, at: int, f: Framing, last: bool) -> int:
    """HUNT: looks for a request that proves itself and returns the new place; SYNC when it is found."""
    d = f.directions
    k = s.direction[run]
    end = s.end[run]
    piece = piece_at(s, at)
    for q in range(at, end - CLIENT_ID_AT + 3):
        while piece + 1 < len(s.piece_start) and s.piece_start[piece + 1] <= q:
            piece += 1
        if request_starts_chain(s.data, q, end, f.versions, s.piece_start[piece] == q or q == s.start[run]):
            add_stretch(s, cut, run, at, q, d[k].reason)
            d[k].mode = SYNC
            return q
    to = end if last else max(at, end - HUNT_KEEP)
    add_stretch(s, cut, run, at, to, d[k].reason)
    return to


@nb.njit(cache=True, nogil=True)
def take_request(s: Streams, cut: Cut, run: int, at: int, to: int, wholeness: int, c: NDArray[np.void]) -> None:
    """Writes the request at data[at:to] and its header fields. At least the 12 bytes up to the correlation id are
    there.
    """
    i = s.direction[run] >> 1
    row = cut.frames[add_frame(s, cut, run, at, to, wholeness)]
    row.api_key = int16_at(s.data, at + 4)
    row.api_version = int16_at(s.data, at + 6)
    row.correlation_id = int32_at(s.data, at + 8)
    if to - at >= CLIENT_ID_AT and not (row.api_key == 7 and row.api_version == 0):
        length = int16_at(s.data, at + 12)
        row.client_id_length = length if 0 <= length <= to - at - CLIENT_ID_AT else -1
    row.number = c[i].n_requests
    c[i].n_requests += 1
    if row.api_key == SASL_HANDSHAKE and row.api_version == 0:
        c[i].raw_sasl = 1


@nb.njit(cache=True, nogil=True)
def begin_stream(s: Streams, run: int, at: int, c: NDArray[np.void], versions: NDArray[np.int16], last: bool) -> int:
    """START: YES when the connection's first request is there, NO when it is something else, MORE when it is too
    early to say.
    """
    i = s.direction[run] >> 1
    verdict = looks_like_request(s.data, at, s.end[run], versions)
    if verdict == YES and int32_at(s.data, at) > FRAME_LIMIT:
        verdict = NO  # no client begins with so large a request, but TLS and HTTP read as one
    if verdict == YES:
        c[i].protocol = KAFKA
    elif verdict == NO or last:
        c[i].protocol = foreign_protocol(s.data, at, s.end[run])
        verdict = NO
    return verdict


@nb.njit(cache=True, nogil=True)
def cut_synced(s: Streams, cut: Cut, run: int, at: int, f: Framing, last: bool) -> int:
    """SYNC: takes one frame at `at` and returns the place after it, or `at` itself when more bytes are needed."""
    d, c, versions = f.directions, f.connections, f.versions
    k = s.direction[run]
    end = s.end[run]
    if end - at < CLIENT_ID_AT - 2:
        if not last:
            return at
        add_stretch(s, cut, run, at, end, cut_reason(s, run)[1])
        d[k].mode = HUNT
        d[k].reason = cut_reason(s, run)[1]
        return end
    size = int32_at(s.data, at)
    if c[k >> 1].raw_sasl and looks_like_request(s.data, at, end, versions) == NO and 0 <= size <= TOKEN_LIMIT:
        if at + 4 + size > end and not last:
            return at
        add_stretch(s, cut, run, at, min(end, at + 4 + size), REASON_SASL)
        return min(end, at + 4 + size)
    if size < 8:
        d[k].mode = HUNT
        d[k].reason = REASON_NOT_KAFKA
        return at
    after = at + 4 + size
    if after <= end and size <= FRAME_LIMIT:
        take_request(s, cut, run, at, after, WHOLE, c)
        return after
    if size > FRAME_LIMIT:
        if looks_like_request(s.data, at, end, versions) == NO:
            d[k].mode = HUNT
            d[k].reason = REASON_NOT_KAFKA
            return at
        wholeness, reason = OVERSIZE, REASON_OVERSIZE
    elif last:
        wholeness, reason = cut_reason(s, run)
    else:
        return at
    take_request(s, cut, run, at, min(after, end), wholeness, c)
    add_stretch(s, cut, run, at, min(after, end), reason)
    d[k].mode = EXPECT
    d[k].expect = s.stream_offset[run] + after - s.start[run]
    d[k].reason = reason
    return min(after, end)


@nb.njit(cache=True, nogil=True)
def cut_requests(s: Streams, cut: Cut, f: Framing, final: bool) -> None:
    """Cuts every run that goes from a client to a server; writes frames, stretches, states and `consumed`."""
    d, c, versions = f.directions, f.connections, f.versions
    for run in range(len(s.direction)):
        k = s.direction[run]
        i = k >> 1
        if c[i].client_side != k & 1 or c[i].protocol > KAFKA:
            continue
        last = final or has_later_run(s, run)
        enter_run(s, run, d, k)
        at = s.start[run]
        while at < s.end[run]:
            before, mode = at, d[k].mode
            if mode == START:
                verdict = begin_stream(s, run, at, c, versions, last)
                if verdict != YES:
                    break
                d[k].mode = SYNC
            elif mode == SYNC:
                at = cut_synced(s, cut, run, at, f, last)
            elif mode == EXPECT:
                at = pass_over_expected(s, cut, run, at, d)
                if at < s.end[run] and d[k].mode == EXPECT:
                    verdict = looks_like_request(s.data, at, s.end[run], versions)
                    if verdict == MORE and not last:
                        break
                    d[k].mode = SYNC if verdict != NO else HUNT
            else:
                at = hunt_request(s, cut, run, at, f, last)
                if d[k].mode == SYNC and c[i].protocol == UNKNOWN:
                    c[i].protocol = KAFKA
            if at == before and d[k].mode == mode:
                break
        s.consumed[run] = at


@nb.njit(cache=True, nogil=True)
def pass_over_foreign(s: Streams, cut: Cut, c: NDArray[np.void]) -> None:
    """Gives what no Kafka reader took of foreign connections as stretches."""
    for run in range(len(s.direction)):
        protocol = c[s.direction[run] >> 1].protocol
        if protocol > KAFKA:
            reason = REASON_TLS if protocol == TLS else REASON_NOT_KAFKA
            add_stretch(s, cut, run, s.consumed[run], s.end[run], reason)
            s.consumed[run] = s.end[run]


@nb.njit(cache=True, nogil=True)
def sends_requests(s: Streams, run: int, versions: NDArray[np.int16]) -> bool:
    """Whether a packet of the run begins with a request that proves itself and names its client.

    The name matters: a response with zeros behind a small correlation id looks like a request without a client id.
    """
    end = s.end[run]
    piece = piece_at(s, s.start[run])
    while piece < len(s.piece_start) and s.piece_start[piece] < end:
        at = max(s.piece_start[piece], s.start[run])
        if request_starts_chain(s.data, at, end, versions, True) and int16_at(s.data, at + 12) > 0:
            return True
        piece += 1
    return False


@nb.njit(cache=True, nogil=True)
def tell_clients(
    s: Streams,
    c: NDArray[np.void],
    server_side_by_port: NDArray[np.int8],
    versions: NDArray[np.int16],
    final: bool,
) -> None:
    """Tells client from server where no SYN did: by the side that sends requests, else, once enough was seen, by
    port.
    """
    for run in range(len(s.direction)):
        k = s.direction[run]
        if c[k >> 1].client_side < 0 and sends_requests(s, run, versions):
            c[k >> 1].client_side = k & 1
            c[k >> 1].told_by = BY_FIRST_REQUEST
    for run in range(len(s.direction)):
        i = s.direction[run] >> 1
        if c[i].client_side < 0 and (final or s.end[run] - s.start[run] > UNDECIDED_LIMIT):
            c[i].client_side = 1 - server_side_by_port[i]
            c[i].told_by = BY_PORT
