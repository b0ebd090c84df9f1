"""Cuts the requests of a block into frames, and finds out which connections speak Kafka.

A direction is in one of four modes (layout.START...). In SYNC every frame is taken by its size, with any API: a frame
that cannot be decoded is kept whole. Only bytes that cannot be a header are skipped (may_be_request). After a gap the
next frame's place is known if the size of the frame that the gap cut is known (EXPECT); otherwise, and if there is no
request at the expected place, a header with a proof is searched (HUNT).
"""

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.api_keys import CONTROLLED_SHUTDOWN, SASL_HANDSHAKE
from kafkascope_parsers.framing.cutting import (
    Cut,
    Framing,
    add_frame,
    add_stretch,
    cut_reason,
    enter_once,
    is_ended,
    packet_start,
    pass_over_expected,
)
from kafkascope_parsers.framing.header import MORE, NO, YES, int16_at, int32_at, looks_like_request, may_be_request
from kafkascope_parsers.framing.layout import (
    CLIENT_ID_AT,
    EXPECT,
    FRAME_LIMIT,
    HUNT,
    KAFKA,
    OVERSIZE,
    REASON_NOT_KAFKA,
    REASON_OVERSIZE,
    REASON_SASL,
    REASON_TLS,
    REASON_ZOOKEEPER,
    START,
    SYNC,
    TLS,
    TOKEN_LIMIT,
    WHOLE,
    ZOOKEEPER,
)
from kafkascope_parsers.framing.proof import classify_candidate
from kafkascope_parsers.kernels import kernel
from kafkascope_parsers.tcp.streams import Streams


@kernel
def hunt_request(s: Streams, cut: Cut, run: int, at: int, f: Framing, last: bool) -> int:
    """HUNT: searches for a request with a proof and returns the new place; changes to SYNC when it is found."""
    d = f.directions
    k = s.direction[run]
    to = s.end[run]
    for q in range(at, s.end[run]):
        verdict = classify_candidate(s, run, q, f.versions, (last, False, True))
        if verdict == MORE:
            to = max(at, packet_start(s, run, q))
            break
        if verdict != NO:
            d[k].mode = SYNC
            to = q
            break
    add_stretch(s, cut, run, at, to, d[k].reason)
    return to


@kernel
def take_request(s: Streams, cut: Cut, run: int, span: tuple[int, int], wholeness: int, c: NDArray[np.void]) -> None:
    """Writes the request at data[span[0]:span[1]] and its header fields. At least the 12 bytes up to the correlation id
    are there.
    """
    at, to = span
    i = s.direction[run] >> 1
    row = cut.frames[add_frame(s, cut, run, at, to, wholeness)]
    row.api_key = int16_at(s.data, at + 4)
    row.api_version = int16_at(s.data, at + 6)
    row.correlation_id = int32_at(s.data, at + 8)
    if to - at >= CLIENT_ID_AT and not (row.api_key == CONTROLLED_SHUTDOWN and row.api_version == 0):
        length = int16_at(s.data, at + 12)
        row.client_id_length = length if 0 <= length <= to - at - CLIENT_ID_AT else -1
    row.number = c[i].n_requests
    c[i].n_requests += 1
    if row.api_key == SASL_HANDSHAKE and row.api_version == 0:
        c[i].raw_sasl = 1


@kernel
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
        if not may_be_request(s.data, at, end, versions):
            add_stretch(s, cut, run, at, after, REASON_NOT_KAFKA)
            return after
        take_request(s, cut, run, (at, after), WHOLE, c)
        return after
    if size > FRAME_LIMIT:
        verdict = looks_like_request(s.data, at, end, versions)
        if verdict == MORE and not last:
            return at
        if verdict != YES or end - at < CLIENT_ID_AT or int16_at(s.data, at + 12) == 0:
            d[k].mode = HUNT
            d[k].reason = REASON_NOT_KAFKA
            return at
        wholeness, reason = OVERSIZE, REASON_OVERSIZE
    elif last:
        wholeness, reason = cut_reason(s, run)
    else:
        c[k >> 1].pending = 1
        c[k >> 1].pending_id = int32_at(s.data, at + 8)
        return at
    if may_be_request(s.data, at, end, versions):
        take_request(s, cut, run, (at, min(after, end)), wholeness, c)
    add_stretch(s, cut, run, at, min(after, end), reason)
    d[k].mode = EXPECT
    d[k].expect = s.stream_offset[run] + after - s.start[run]
    d[k].reason = reason
    return min(after, end)


@kernel
def cut_requests(s: Streams, cut: Cut, f: Framing, final: bool) -> None:
    """Cuts every run that goes from a client to a server of a Kafka connection; writes frames, stretches, states and
    `consumed`.
    """
    d, c, versions = f.directions, f.connections, f.versions
    for run in range(len(s.direction)):
        k = s.direction[run]
        i = k >> 1
        if c[i].client_side != k & 1 or c[i].protocol != KAFKA:
            continue
        last = final or is_ended(s, run)
        enter_once(s, cut, run, d)
        c[i].pending = 0
        at = cut.consumed[run]
        while at < s.end[run]:
            before, mode = at, d[k].mode
            if mode in (START, SYNC):
                d[k].mode = SYNC
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
            if at == before and d[k].mode == mode:
                break
        cut.consumed[run] = at


@kernel
def pass_over_foreign(s: Streams, cut: Cut, c: NDArray[np.void]) -> None:
    """Writes the bytes of connections of other protocols as stretches."""
    for run in range(len(s.direction)):
        protocol = c[s.direction[run] >> 1].protocol
        if protocol > KAFKA:
            reason = REASON_NOT_KAFKA
            if protocol == TLS:
                reason = REASON_TLS
            elif protocol == ZOOKEEPER:
                reason = REASON_ZOOKEEPER
            add_stretch(s, cut, run, cut.consumed[run], s.end[run], reason)
            cut.consumed[run] = s.end[run]
