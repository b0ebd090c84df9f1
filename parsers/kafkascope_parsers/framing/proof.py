"""Finds the connections that speak Kafka, by proofs in their bytes. Ports are not used, and chance is excluded.

A connection is UNKNOWN until one of its requests proves itself; until then no frame of it is cut and the last
UNDECIDED_LIMIT bytes of each direction wait. With a SYN only the first bytes may begin the proof; without one, any
byte. A request proves itself at `at` in one of these ways:

whole      a packet begins with it, a packet ends with it, it names a client (or says null), and its body decodes to the
           last byte; zero bytes may follow the body where the name has NAME_ENOUGH letters (librdkafka 1.0)
chain      headers follow it end to end, two of the ends are ends of packets (records may hold captured frames, but
           these do not stand where packets begin), and its body decodes to the last byte
named      as whole or chain, where the body cannot be decoded (a newer version, a changed byte): the next header names
           the same client; without a SYN it also has the same version where it has the same API: responses to Produce
           look like requests whose client is the topic and whose version is the correlation id
header     it begins a packet, names a client in a known version, and a gap, the snap length or the end of the capture
           cut it, or it is larger than PROOF_LIMIT; the name has NAME_ENOUGH letters, or the frame ends where the gap
           does

Other properties of a header (its size, key and version are small numbers) are shared by many protocols with a length in
front, as ZooKeeper, SMPP and Thrift, and by zeros.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.framing.cutting import (
    Cut,
    Framing,
    begins_packet,
    enter_once,
    has_later_run,
    keep_recent,
    pass_over,
    pass_over_before,
    piece_at,
    return_to,
)
from kafkascope_parsers.framing.header import MORE, NO, YES, int16_at, int32_at, looks_like_request
from kafkascope_parsers.framing.layout import (
    BY_FIRST_REQUEST,
    CLIENT_ID_AT,
    FRAME_LIMIT,
    HTTP,
    KAFKA,
    OTHER,
    PROXY,
    START,
    SYNC,
    TLS,
    UNDECIDED_LIMIT,
    UNKNOWN,
    ZOOKEEPER,
)
from kafkascope_parsers.framing.zookeeper import begins_session, ping_side
from kafkascope_parsers.kernels import kernel
from kafkascope_parsers.tcp.streams import Streams

PROVEN, TRIAL = 3, 4
"""Verdicts besides NO, YES and MORE: it is a request; it is a request if its body decodes."""
PROOF_LIMIT = 1 << 20
"""Largest frame that is waited for to prove a connection."""
CHAIN_LIMIT = 64
"""Frames of a chain that prove it without packets."""
NAME_ENOUGH = 3
"""Letters that a client id needs so that it is not there by chance."""
ROUND_LIMIT = 64
"""Trials of one direction in one block: if so many fail, the bytes are something else that looks similar."""

SUSPECT = np.dtype((np.record, [("run", "i8"), ("at", "i8"), ("end", "i8"), ("api_key", "i2"), ("api_version", "i2")]))
"""A request that would prove its connection if its body decoded: data[at:end], the size included."""


class Search(NamedTuple):
    """Per run of the block. at: int64, where the search goes on, -1 when it is over; failed: int64, the last place
    whose body did not decode, -1 for none; trials: int64, how many there were; open_from: int64, the first place
    that needs more bytes to be judged.
    """

    at: NDArray[np.int64]
    failed: NDArray[np.int64]
    trials: NDArray[np.int64]
    open_from: NDArray[np.int64]


@kernel
def name_length(s: Streams, run: int, at: int) -> np.int64:
    """Bytes of the client id of the header at `at`, -1 for null, -2 where the text is not all there."""
    length = int16_at(s.data, at + 12)
    return length if at + CLIENT_ID_AT + max(length, 0) <= s.end[run] else np.int64(-2)


@kernel
def same_name(s: Streams, run: int, one: int, other: int) -> bool:
    """Whether two headers name the same client, in NAME_ENOUGH letters or more."""
    length = name_length(s, run, one)
    if length < NAME_ENOUGH or length != name_length(s, run, other):
        return False
    name, there = one + CLIENT_ID_AT, other + CLIENT_ID_AT
    differ = 0
    for k in range(length):
        differ += s.data[name + k] != s.data[there + k]
    return differ == 0


@kernel
def fills_packet(s: Streams, run: int, after: int) -> bool:
    """Whether `after`, a place behind the run, is where the next run of the direction begins."""
    return has_later_run(s, run) and s.stream_offset[run] + after - s.start[run] == s.stream_offset[run + 1]


@kernel
def follow_chain(s: Streams, run: int, at: int, versions: NDArray[np.int16], last: bool) -> int:
    """Whether a whole frame at `at` begins a chain of headers in which two joints (counting `at`) are ends of packets:
    YES, NO or MORE.

    A single joint could be chance: records that hold captured frames are themselves divided into packets.
    """
    end, place, n = s.end[run], at, 0
    n_met = 1 if begins_packet(s, run, at) else 0
    while n < CHAIN_LIMIT:
        place = place + 4 + int32_at(s.data, place)
        n += 1
        if place > end or end - place < CLIENT_ID_AT:
            n_met += 1 if place == end else 0
            if n > 1 and n_met > 1:
                return YES
            return NO if last else MORE
        if int32_at(s.data, place) > PROOF_LIMIT:
            return YES if n_met > 0 and looks_like_request(s.data, place, end, versions) == YES else NO
        if looks_like_request(s.data, place, end, versions) != YES:
            return NO
        n_met += 1 if begins_packet(s, run, place) else 0
        if n_met > 1:
            return YES
    return YES


@kernel
def same_api_other_version(s: Streams, one: int, other: int) -> bool:
    """Whether two headers have one API in two versions: a client speaks one version of each on a connection."""
    same_api = int16_at(s.data, one + 4) == int16_at(s.data, other + 4)
    return same_api and int16_at(s.data, one + 6) != int16_at(s.data, other + 6)


@kernel
def classify_candidate(
    s: Streams, run: int, at: int, versions: NDArray[np.int16], state: tuple[bool, bool, bool]
) -> int:
    """The verdict on the bytes at `at`: NO, MORE, PROVEN or TRIAL. state: (no more bytes of this run will come, its
    body did not decode, it is known to be the client's side).
    """
    last, failed, of_client = state
    end = s.end[run]
    verdict = looks_like_request(s.data, at, end, versions)
    if verdict != YES or end - at < CLIENT_ID_AT:
        return MORE if verdict != NO and not last else NO
    size, key = int32_at(s.data, at), int16_at(s.data, at + 4)
    if key == 0 and int32_at(s.data, at + 8) == 0 and int16_at(s.data, at + 12) == 0:
        return NO  # zeros behind a size
    known = int16_at(s.data, at + 6) <= versions[key, 1]
    starts, length, after = begins_packet(s, run, at), name_length(s, run, at), at + 4 + size
    letters = min(int16_at(s.data, at + 12), end - at - CLIENT_ID_AT)
    by_header = starts and known and letters >= (1 if fills_packet(s, run, after) else NAME_ENOUGH)
    if size > PROOF_LIMIT:
        return PROVEN if by_header and size <= FRAME_LIMIT else NO
    if after > end:
        if not last:
            return MORE
        return PROVEN if by_header else NO
    ends = after == end or begins_packet(s, run, after)
    if failed or not known:
        if of_client and not known and starts and ends and length >= NAME_ENOUGH:
            return PROVEN
        if end - after < CLIENT_ID_AT:
            return NO if last or length < NAME_ENOUGH else MORE
        if not of_client and same_api_other_version(s, at, after):
            return NO
        if looks_like_request(s.data, after, end, versions) == YES and same_name(s, run, at, after):
            return PROVEN
        return NO
    if starts and ends and (length != 0 or (last and key != 0)):
        return TRIAL
    chained = follow_chain(s, run, at, versions, last)
    return TRIAL if chained == YES else chained


HTTP_WORDS = (
    0x47455420,  # "GET "
    0x504F5354,  # "POST"
    0x50555420,  # "PUT "
    0x48454144,  # "HEAD"
    0x48545450,  # "HTTP"
    0x44454C45,  # "DELE"
    0x4F505449,  # "OPTI"
    0x50415443,  # "PATC"
    0x434F4E4E,  # "CONN"
    0x50524920,  # "PRI ", HTTP/2
)
"""The first four bytes of HTTP messages, as int32."""


@kernel
def begins_tls(data: NDArray[np.uint8], at: int, end: int) -> bool:
    """Whether the header of a TLS record stands at `at`: type, version 3.x, length."""
    return end - at >= 5 and 0x14 <= data[at] <= 0x17 and data[at + 1] == 0x03 and data[at + 2] <= 4


@kernel
def begins_http(data: NDArray[np.uint8], at: int, end: int) -> bool:
    """Whether one of HTTP_WORDS stands at `at`."""
    if end - at >= 4:
        word = int32_at(data, at)
        for known in HTTP_WORDS:
            if word == known:
                return True
    return False


PROXY_V1 = (0x50524F58, 0x59205443)
"""The first eight bytes of a text header of the PROXY protocol, "PROXY TC", as int32."""
PROXY_V2 = (0x0D0A0D0A, 0x000D0A51, 0x5549540A)
"""The signature of a binary header of the PROXY protocol, as int32."""


@kernel
def begins_proxy(data: NDArray[np.uint8], at: int, end: int) -> bool:
    """Whether a header of the PROXY protocol stands at `at`, with which load balancers name the client."""
    if end - at < 12:
        return False
    first, second = int32_at(data, at), int32_at(data, at + 4)
    if first == PROXY_V1[0]:
        return second == PROXY_V1[1]
    return first == PROXY_V2[0] and second == PROXY_V2[1] and int32_at(data, at + 8) == PROXY_V2[2]


@kernel
def foreign_protocol(data: NDArray[np.uint8], at: int, end: int) -> int:
    """TLS, HTTP, PROXY, ZOOKEEPER or OTHER, by the first bytes of a packet."""
    if begins_tls(data, at, end):
        return TLS
    if begins_http(data, at, end):
        return HTTP
    if begins_proxy(data, at, end):
        return PROXY
    if begins_session(data, at, end) or ping_side(data, at, end) >= 0:
        return ZOOKEEPER
    return OTHER


@kernel
def seek(s: Streams, run: int, f: Framing, search: Search, last: bool) -> int:
    """Continues the search of an undecided run at search.at; returns a verdict, and writes its place to search.at. NO:
    nothing is left to search.
    """
    begin = f.directions[s.direction[run]].mode == START
    of_client = f.connections[s.direction[run] >> 1].client_side == s.direction[run] & 1
    at = search.at[run]
    to = at + 1 if begin else s.end[run]
    while at < to:
        verdict = classify_candidate(s, run, at, f.versions, (last, search.failed[run] == at, of_client))
        if verdict != NO:
            search.at[run] = at
            return verdict
        at += 1
    search.at[run] = at
    return NO


@kernel
def undecided(s: Streams, run: int, f: Framing) -> bool:
    """Whether the run may hold requests of a connection that is not known yet."""
    k = s.direction[run]
    c = f.connections[k >> 1]
    return c.protocol == UNKNOWN and (c.client_side < 0 or c.client_side == k & 1)


@kernel
def prove(s: Streams, cut: Cut, run: int, f: Framing, place: tuple[int, int]) -> None:
    """The request at place[0] proves its connection, by bytes up to place[1].

    Bytes that the other direction sent more than UNDECIDED_LIMIT bytes before that are given up, so that it does not
    matter whether the block still has them.
    """
    at, proof_end = place
    k = s.direction[run]
    c, d = f.connections[k >> 1], f.directions[k]
    if c.client_side < 0:
        c.client_side = k & 1
        c.client_side_by = BY_FIRST_REQUEST
    c.protocol = KAFKA
    pass_over_before(s, cut, run, at, f)
    d.mode = SYNC
    then = s.piece_ts_ns[piece_at(s, min(proof_end, s.end[run]) - 1)]
    other = run
    while other > 0 and s.direction[other - 1] >> 1 == k >> 1:
        other -= 1
    while other < len(s.direction) and s.direction[other] == k:
        other += 1
    while other < len(s.direction) and s.direction[other] == k ^ 1:
        enter_once(s, cut, other, f.directions)
        if not has_later_run(s, other) or s.piece_ts_ns[piece_at(s, s.start[other + 1])] > then:
            return_to(s, cut, other, f.directions)
            keep_recent(s, cut, other, _seen_until(s, other, then), f)
            return
        pass_over(s, cut, other, s.end[other], f)
        other += 1


@kernel
def _seen_until(s: Streams, run: int, ts_ns: int) -> int:
    """The end of the bytes that the run had brought by then."""
    piece, at = piece_at(s, s.start[run]), s.start[run]
    while piece < len(s.piece_start) and s.piece_start[piece] < s.end[run] and s.piece_ts_ns[piece] <= ts_ns:
        piece += 1
        at = s.piece_start[piece] if piece < len(s.piece_start) else s.end[run]
    return min(at, s.end[run])


@kernel
def next_suspects(s: Streams, cut: Cut, f: Framing, search: Search, suspects: NDArray[np.void], final: bool) -> int:
    """Continues the search of every undecided run up to the next request whose body has to be tried, and accepts
    connections that need no trial. Returns the number of suspects, at most one a direction.
    """
    n, busy = 0, np.int64(-1)
    for run in range(len(s.direction)):
        k = s.direction[run]
        if search.at[run] < 0 or k == busy:
            continue
        if not undecided(s, run, f):
            search.at[run] = -1
            continue
        enter_once(s, cut, run, f.directions)
        last = final or has_later_run(s, run)
        verdict = seek(s, run, f, search, last)
        at = search.at[run]
        if verdict == TRIAL and search.trials[run] < ROUND_LIMIT:
            search.trials[run] += 1
            row = suspects[n]
            row.run, row.at, row.end = run, at, at + 4 + int32_at(s.data, at)
            row.api_key, row.api_version = int16_at(s.data, at + 4), int16_at(s.data, at + 6)
            n += 1
            busy = k
            continue
        search.at[run] = -1
        search.open_from[run] = at
        if verdict == PROVEN:
            prove(s, cut, run, f, (at, at + 4 + int32_at(s.data, at)))
        elif f.directions[k].mode == START and verdict != MORE:
            f.connections[k >> 1].protocol = foreign_protocol(s.data, s.start[run], s.end[run])
    return n


@kernel
def apply_decode_results(
    s: Streams, cut: Cut, f: Framing, search: Search, tried: tuple[NDArray[np.void], NDArray[np.bool_]]
) -> None:
    """Takes the results of the trials: tried is (suspects, whether each decodes)."""
    suspects, decodes = tried
    for n in range(len(suspects)):
        row = suspects[n]
        if not undecided(s, row.run, f):
            continue
        if decodes[n]:
            prove(s, cut, row.run, f, (row.at, row.end))
        else:
            search.failed[row.run] = row.at


@kernel
def _pinging_side(s: Streams, run: int) -> int:
    """0 where a packet of the run is a ping of a ZooKeeper client, 1 where one is the answer to it, else -1."""
    piece = piece_at(s, s.start[run])
    while piece < len(s.piece_start) and s.piece_start[piece] < s.end[run]:
        to = s.piece_start[piece + 1] if piece + 1 < len(s.piece_start) else s.end[run]
        side = ping_side(s.data, s.piece_start[piece], min(to, s.end[run]))
        if side >= 0:
            return side
        piece += 1
    return -1


@kernel
def name_foreign(s: Streams, f: Framing, begun: bool) -> None:
    """Recognizes TLS, HTTP and ZooKeeper by the first bytes of either side if no SYN shows which side begins, otherwise
    (begun) by those of the server. ZooKeeper's pings show which side is which.
    """
    for run in range(len(s.direction)):
        k = s.direction[run]
        c = f.connections[k >> 1]
        if (c.client_side >= 0) != begun:
            continue
        if c.protocol == UNKNOWN and not begun:
            side = _pinging_side(s, run)
            if side >= 0:
                c.protocol = ZOOKEEPER
                c.client_side = (k & 1) ^ side
                c.client_side_by = BY_FIRST_REQUEST
                continue
        if c.protocol == UNKNOWN and s.stream_offset[run] == 0 and c.client_side != k & 1:
            named = foreign_protocol(s.data, s.start[run], s.end[run])
            if named != OTHER:
                c.protocol = named


@kernel
def give_up(s: Streams, cut: Cut, f: Framing, search: Search, final: bool) -> None:
    """Gives up bytes of undecided connections that were sent too long ago, or before a gap."""
    for run in range(len(s.direction)):
        k = s.direction[run]
        c = f.connections[k >> 1]
        if c.protocol != UNKNOWN:
            continue
        enter_once(s, cut, run, f.directions)
        if final or has_later_run(s, run):
            pass_over(s, cut, run, s.end[run], f)
        elif c.client_side >= 0 and c.client_side != k & 1:
            keep_recent(s, cut, run, s.end[run], f)
        elif f.directions[k].mode != START:
            keep_recent(s, cut, run, min(search.open_from[run] + UNDECIDED_LIMIT, s.end[run]), f)
