"""Cuts the responses of a block into frames and pairs each with the request that it answers.

A response header has only a correlation id, so the proof of a response is a waiting request with its id. Requests and
responses of a connection are processed together in time order, so that `in_flight` is right at each moment. Kafka
answers the requests of a connection one after the other. A response that comes after that to a later request is still
paired, and marked.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.framing.cutting import (
    Cut,
    add_frame,
    add_stretch,
    begins_packet,
    cut_reason,
    enter_once,
    is_ended,
    packet_start,
    pass_over_expected,
    piece_at,
    piece_from,
)
from kafkascope_parsers.framing.header import MORE, NO, YES, int32_at
from kafkascope_parsers.framing.layout import (
    EXPECT,
    FRAME_LIMIT,
    HUNT,
    KAFKA,
    OVERSIZE,
    REASON_MID_STREAM,
    REASON_NOT_KAFKA,
    REASON_OVERSIZE,
    REASON_SASL,
    REASON_TLS,
    SEARCH_LIMIT,
    START,
    SYNC,
    TLS,
    TOKEN_LIMIT,
    WHOLE,
)
from kafkascope_parsers.framing.pool import (
    NONE,
    Waiting,
    enqueue,
    is_overtaken,
    note_answer,
    take,
    take_overtaken,
    waits,
)
from kafkascope_parsers.framing.proof import PROOF_LIMIT, foreign_protocol
from kafkascope_parsers.kernels import kernel
from kafkascope_parsers.tcp.streams import Streams

RESPONSE_HEAD = 8
"""Size and correlation id."""


class Asked(NamedTuple):
    """requests: FRAME, this block's; silent: bool per request, true when no response is expected; first_row:
    int64[1], open row of the first; at: int64[1], the first request that is not in its queue yet.
    """

    requests: NDArray[np.void]
    silent: NDArray[np.bool_]
    first_row: NDArray[np.int64]
    at: NDArray[np.int64]


class Pairing(NamedTuple):
    """The block's requests, those that wait, and the state that the kernels change (DIRECTION and CONNECTION rows)."""

    asked: Asked
    waiting: Waiting
    directions: NDArray[np.void]
    connections: NDArray[np.void]


@kernel
def ask(asked: Asked, w: Waiting, c: NDArray[np.void]) -> None:
    """Moves one more request into the queue of its connection."""
    n = asked.at[0]
    if not asked.silent[n]:
        i = asked.requests[n].direction >> 1
        enqueue(w, c, i, asked.requests[n], asked.first_row[0] + n)
    else:
        asked.requests[n].in_flight = c[asked.requests[n].direction >> 1].n_waiting + 1
    asked.at[0] = n + 1


@kernel
def ask_until(asked: Asked, w: Waiting, c: NDArray[np.void], i: int, ts_ns: int) -> None:
    """Queues all requests of the connections before i, and those of i whose last byte was sent at ts_ns or earlier.

    Requests and responses are ordered by their last bytes: a block ends with a packet, so a frame that a block does not
    complete comes after all that it completes.
    """
    while asked.at[0] < len(asked.requests):
        request = asked.requests[asked.at[0]]
        other = request.direction >> 1
        if other > i or (other == i and request.last_ns > ts_ns):
            return
        ask(asked, w, c)


@kernel
def ask_ahead(asked: Asked, w: Waiting, c: NDArray[np.void], i: int, correlation_id: int) -> None:
    """Queues connection i's requests up to that correlation id, although stamped later: two capture points can
    disagree on the order.
    """
    for n in range(asked.at[0], min(asked.at[0] + SEARCH_LIMIT, len(asked.requests))):
        if asked.requests[n].direction >> 1 != i:
            return
        if asked.requests[n].correlation_id == correlation_id and not asked.silent[n]:
            while asked.at[0] <= n:
                ask(asked, w, c)
            return


@kernel
def answers(s: Streams, run: int, at: int, w: Waiting, c: NDArray[np.void]) -> bool:
    """Whether a response header at `at` names a waiting request and a possible size."""
    if s.end[run] - at < RESPONSE_HEAD:
        return False
    size = int32_at(s.data, at)
    return 4 <= size <= FRAME_LIMIT and waits(w, c, s.direction[run] >> 1, int32_at(s.data, at + 4))


@kernel
def answers_overtaken(s: Streams, run: int, at: int, w: Waiting, c: NDArray[np.void]) -> bool:
    """Whether a response header at `at`, where one is expected, names an overtaken request and a possible size."""
    if s.end[run] - at < RESPONSE_HEAD:
        return False
    size = int32_at(s.data, at)
    return 4 <= size <= FRAME_LIMIT and is_overtaken(w, c, s.direction[run] >> 1, int32_at(s.data, at + 4))


@kernel
def response_proves(s: Streams, run: int, at: int, p: Pairing, last: bool) -> int:
    """HUNT: whether there is a response at `at`: YES, NO or MORE.

    A response to a waiting request has to fill packets, or to be followed by another such response, because bodies are
    full of small numbers that look like a size and a correlation id. A response whose request was before the capture
    has to fill packets exactly.
    """
    end = s.end[run]
    if end - at < RESPONSE_HEAD:
        return NO if last else MORE
    size = int32_at(s.data, at)
    if size < 4 or size > FRAME_LIMIT:
        return NO
    starts, after = begins_packet(s, run, at), at + 4 + size
    known = answers(s, run, at, p.waiting, p.connections)
    if after > end:
        if not known or size > PROOF_LIMIT:
            return YES if known and starts else NO
        return YES if last and starts else (NO if last else MORE)
    ends = after == end or begins_packet(s, run, after)
    if starts and ends and (known or p.directions[s.direction[run]].reason == REASON_MID_STREAM):
        return YES
    if not known:
        return NO
    if end - after < RESPONSE_HEAD:
        return NO if last else MORE
    if int32_at(s.data, after + 4) == int32_at(s.data, at + 4):
        return NO
    return YES if answers(s, run, after, p.waiting, p.connections) else NO


@kernel
def take_response(s: Streams, cut: Cut, run: int, span: tuple[int, int], wholeness: int, p: Pairing) -> None:
    """Writes the response at data[span[0]:span[1]]; at least its correlation id is there."""
    at, to = span
    w, c = p.waiting, p.connections
    i = s.direction[run] >> 1
    row = cut.frames[add_frame(s, cut, run, at, to, wholeness)]
    row.correlation_id = int32_at(s.data, at + 4)
    node = take(w, c, i, row.correlation_id)
    if node == NONE:
        node = take_overtaken(w, c, i, row.correlation_id)
        row.out_of_order = node != NONE
    if not row.out_of_order:
        row.before_ns = c[i].answered_ns
        c[i].answered_ns = row.last_ns
    note_answer(w, c, i)
    if node == NONE:
        row.number = c[i].n_orphans
        c[i].n_orphans += 1
        return
    row.row = w.nodes[node].row
    row.api_key = w.nodes[node].api_key
    row.api_version = w.nodes[node].api_version


@kernel
def response_synced(s: Streams, cut: Cut, run: int, at: int, p: Pairing, last: bool) -> int:
    """SYNC: takes one response at `at` and returns the place after it, or `at` itself when more bytes are needed."""
    asked, w, d, c = p.asked, p.waiting, p.directions, p.connections
    k = s.direction[run]
    i = k >> 1
    end = s.end[run]
    wholeness, reason = cut_reason(s, run)
    if end - at >= 4 and c[i].raw_sasl and int32_at(s.data, at) < 4:
        add_stretch(s, cut, run, at, at + 4, REASON_SASL)  # an empty token: PLAIN succeeded
        return at + 4
    if end - at < RESPONSE_HEAD:
        if not last:
            return at
        add_stretch(s, cut, run, at, end, reason)
        d[k].mode = HUNT
        d[k].reason = reason
        return end
    size, correlation_id = int32_at(s.data, at), int32_at(s.data, at + 4)
    after = at + 4 + size
    if size < 4:
        d[k].mode = HUNT
        d[k].reason = REASON_NOT_KAFKA
        return at
    if after > end and size <= FRAME_LIMIT and not last:
        return at
    ask_until(asked, w, c, i, s.piece_ts_ns[piece_from(s, cut.n[2], min(after, end) - 1)])
    known = waits(w, c, i, correlation_id)
    if not known:
        ask_ahead(asked, w, c, i, correlation_id)
        known = waits(w, c, i, correlation_id) or is_overtaken(w, c, i, correlation_id)
    if not known and not last and c[i].pending and c[i].pending_id == correlation_id:
        return at  # the rest of its request is missing, and the packet that shows this has not come yet
    if not known and c[i].raw_sasl and size <= TOKEN_LIMIT:
        add_stretch(s, cut, run, at, min(after, end), REASON_SASL)
        return min(after, end)
    if after <= end and size <= FRAME_LIMIT:
        take_response(s, cut, run, (at, after), WHOLE, p)
        return after
    if size > FRAME_LIMIT:
        if not known:
            d[k].mode = HUNT
            d[k].reason = REASON_NOT_KAFKA
            return at
        wholeness, reason = OVERSIZE, REASON_OVERSIZE
    take_response(s, cut, run, (at, min(after, end)), wholeness, p)
    add_stretch(s, cut, run, at, min(after, end), reason)
    d[k].mode = EXPECT
    d[k].expect = s.stream_offset[run] + after - s.start[run]
    d[k].reason = reason
    return min(after, end)


@kernel
def hunt_response(s: Streams, cut: Cut, run: int, at: int, p: Pairing, last: bool) -> int:
    """HUNT: searches for a response with a proof and returns the new place; changes to SYNC when it is found."""
    asked, w, d, c = p.asked, p.waiting, p.directions, p.connections
    k = s.direction[run]
    to = s.end[run]
    piece = -1
    for q in range(at, s.end[run]):
        if piece < 0 or (piece + 1 < len(s.piece_start) and s.piece_start[piece + 1] <= q):
            piece = piece_at(s, q)
            ask_until(asked, w, c, k >> 1, s.piece_ts_ns[piece])
        verdict = response_proves(s, run, q, p, last)
        if verdict == MORE:
            to = max(at, packet_start(s, run, q))
            break
        if verdict == YES:
            d[k].mode = SYNC
            c[k >> 1].lacks_responses = 1
            to = q
            break
    add_stretch(s, cut, run, at, to, d[k].reason)
    return to


@kernel
def cut_responses(s: Streams, cut: Cut, p: Pairing, final: bool) -> None:
    """Cuts every run that goes from a server to a client; queues all requests; writes frames, stretches, states and
    `consumed`.
    """
    asked, w, d, c = p.asked, p.waiting, p.directions, p.connections
    for run in range(len(s.direction)):
        k = s.direction[run]
        i = k >> 1
        if c[i].client_side < 0 or c[i].client_side == k & 1 or c[i].protocol != KAFKA:
            continue
        last = final or is_ended(s, run)
        enter_once(s, cut, run, d)
        at = cut.consumed[run]
        while at < s.end[run]:
            before, mode = at, d[k].mode
            if mode == START:
                d[k].mode = SYNC
                if foreign_protocol(s.data, at, s.end[run]) == TLS:  # a TLS server alerts a client that talks Kafka
                    add_stretch(s, cut, run, at, s.end[run], REASON_TLS)
                    at = s.end[run]
            elif mode == SYNC:
                at = response_synced(s, cut, run, at, p, last)
            elif mode == EXPECT:
                at = pass_over_expected(s, cut, run, at, d)
                if at < s.end[run] and d[k].mode == EXPECT:
                    if s.end[run] - at < RESPONSE_HEAD and not last:
                        break
                    ask_until(asked, w, c, i, s.piece_ts_ns[piece_at(s, at)])
                    expected = answers(s, run, at, w, c) or answers_overtaken(s, run, at, w, c)
                    d[k].mode = SYNC if expected else HUNT
            else:
                at = hunt_response(s, cut, run, at, p, last)
            if at == before and d[k].mode == mode:
                break
        cut.consumed[run] = at
    while asked.at[0] < len(asked.requests):
        ask(asked, w, c)
