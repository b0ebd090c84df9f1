"""Framing on hand-made streams: what is cut, what is passed over, what is paired. Each test reads like a trace."""

import struct
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkascope_parsers.framing.framer import Framer
from kafkascope_parsers.framing.layout import (
    CUT_BY_GAP,
    CUT_BY_SNAPLEN,
    FRAME_LIMIT,
    HTTP,
    KAFKA,
    OVERSIZE,
    OVERTAKEN_LIMIT,
    OVERTAKEN_RESPONSES,
    REASONS,
    TLS,
    WHOLE,
)
from kafkascope_parsers.schema import API_VERSION_RANGE
from kafkascope_parsers.tcp.streams import GAP_LOST, GAP_SNAPLEN, Streams

METADATA, PRODUCE, SASL_HANDSHAKE, API_VERSIONS = 3, 0, 17, 18


def metadata_v1(*topics):
    """Body of a Metadata request of version 1, which asks for topics."""
    return struct.pack(">i", len(topics)) + b"".join(struct.pack(">h", len(t)) + t for t in topics)


def request(correlation_id, api_key=METADATA, version=1, client_id=b"app-1", body=b"xxxxxxxx"):
    head = struct.pack(">hhih", api_key, version, correlation_id, len(client_id)) + client_id
    if api_key == METADATA:
        body = metadata_v1(body)
    elif api_key == SASL_HANDSHAKE:
        body = struct.pack(">h", 5) + b"PLAIN"
    return struct.pack(">i", len(head + body)) + head + body


def response(correlation_id, body=b"yyyyyyyyyyyy"):
    return struct.pack(">ii", 4 + len(body), correlation_id) + body


@dataclass
class Wire:
    """Streams of one connection, block by block: `client` and `server` are lists of (ts_ns, bytes or gap)."""

    framer: Framer = field(default_factory=lambda: Framer(API_VERSION_RANGE))
    offset: dict = field(default_factory=lambda: {0: 0, 1: 0})
    tail: dict = field(default_factory=lambda: {0: (0, b"", 0), 1: (0, b"", 0)})
    frames: list = field(default_factory=list)
    stretches: list = field(default_factory=list)
    n_open: int = 0
    packet: int = 0
    total: int = 0

    def __post_init__(self):
        self.framer.open_connections(np.array([True]))

    @classmethod
    def without_syn(cls):
        wire = cls.__new__(cls)
        for name, spec in cls.__dataclass_fields__.items():
            setattr(wire, name, spec.default_factory() if callable(spec.default_factory) else spec.default)
        wire.framer.open_connections(np.array([False]))
        return wire

    def streams(self, client, server):
        """The streams of a block: what is left of the last one first. A packet is bytes, or (length, kind) of a gap."""
        runs, pieces, data = [], [], b""
        for side, packets in ((0, client), (1, server)):
            ts, left, start = self.tail[side]
            gap, kind = 0, 0
            at = len(data)
            if left:
                pieces.append((len(data), ts, 0))
                data += left
            for ts_ns, content in packets:
                self.packet += 1
                if isinstance(content, tuple):
                    if len(data) > at:
                        runs.append((side, at, len(data), start, gap, kind))
                        start += len(data) - at
                        at = len(data)
                    gap, kind = content
                    start += gap
                    continue
                pieces.append((len(data), ts_ns, self.packet))
                data += content
                self.total += len(content)
            if len(data) > at:
                runs.append((side, at, len(data), start, gap, kind))
            self.offset[side] = start + len(data) - at
            if len(data) == at:
                self.tail[side] = (0, b"", start)
        *places, kinds = np.array(runs, np.int64).reshape(-1, 6).T.copy()
        raw = np.frombuffer(bytearray(data), np.uint8)
        nothing = np.zeros(len(runs), np.uint8)
        return Streams(
            raw, *places, kinds.astype(np.uint8), nothing, *np.array(pieces, np.int64).reshape(-1, 3).T.copy()
        )

    def block(self, client=(), server=(), final=False, silent=()):
        streams = self.streams(client, server)
        raw = streams.data
        requests = self.framer.requests(streams, final=final)
        quiet = np.isin(requests.frames["correlation_id"], silent)
        responses, _ = self.framer.responses(streams, requests, quiet, self.n_open, final=final)
        self.n_open += len(requests.frames)
        for cut in (requests, responses):
            self.frames += [(f, bytes(raw[f["start"] : f["end"]])) for f in cut.frames]
            self.stretches += [(int(x["length"]), REASONS[x["reason"]]) for x in cut.stretches]
        self.keep_what_is_left(streams, responses.consumed)
        return self

    def keep_what_is_left(self, streams, consumed):
        """Keeps the bytes of each side that no frame has taken yet, for the next block."""
        for side in (0, 1):
            mine = np.flatnonzero(streams.direction == side).tolist()
            for i in mine[:-1]:
                assert consumed[i] == streams.end[i], "bytes before a gap are left over"
            if mine:
                i = mine[-1]
                left = streams.data[consumed[i] : streams.end[i]].tobytes()
                where = int(np.searchsorted(streams.piece_start, consumed[i], side="right") - 1) if left else 0
                ts = int(streams.piece_ts_ns[where]) if left else 0
                self.tail[side] = (ts, left, self.offset[side] - len(left))

    @property
    def requests(self):
        return [(int(f["api_key"]), int(f["correlation_id"])) for f, _ in self.frames if f["direction"] == 0]

    @property
    def pairs(self):
        return {int(f["correlation_id"]): int(f["row"]) for f, _ in self.frames if f["direction"] == 1}

    @property
    def out_of_order(self):
        return [int(f["correlation_id"]) for f, _ in self.frames if f["out_of_order"]]

    @property
    def protocol(self):
        return int(self.framer.connections["protocol"][0])

    def assert_every_byte_counted(self):
        whole = sum(len(raw) for f, raw in self.frames if f["wholeness"] == WHOLE)
        assert whole + sum(n for n, _ in self.stretches) == self.total


def test_a_request_and_its_response():
    wire = Wire().block([(10, request(1))], [(20, response(1))], final=True)
    assert wire.requests == [(METADATA, 1)]
    assert wire.pairs == {1: 0}
    assert wire.protocol == KAFKA
    assert wire.stretches == []
    frame = wire.frames[1][0]
    assert (frame["ts_ns"], frame["last_ns"], frame["packet_no"]) == (20, 20, 2)


def test_one_byte_at_a_time():
    asked = request(7) + request(8)
    result = response(7) + response(8)
    wire = Wire()
    for i in range(len(asked)):
        wire.block([(i, asked[i : i + 1])])
    for i in range(len(result)):
        wire.block([], [(100 + i, result[i : i + 1])])
    wire.block(final=True)
    assert wire.requests == [(METADATA, 7), (METADATA, 8)]
    assert wire.pairs == {7: 0, 8: 1}
    second = [f for f, _ in wire.frames if f["correlation_id"] == 8]
    assert second[0]["ts_ns"] == len(request(7))
    assert second[0]["last_ns"] == len(asked) - 1
    wire.assert_every_byte_counted()


def test_in_flight_counts_what_waits():
    wire = Wire().block(
        [(1, request(1)), (2, request(2)), (4, request(3))],
        [(3, response(1)), (5, response(2)), (6, response(3))],
        final=True,
    )
    assert [int(f["in_flight"]) for f, _ in wire.frames if f["direction"] == 0] == [1, 2, 2]
    assert wire.framer.connections["max_in_flight"][0] == 2


def test_an_answer_overtakes_the_requests_before_it():
    wire = Wire().block([(1, request(1)), (2, request(2))], [(3, response(2))])
    assert wire.pairs == {2: 1}
    assert wire.framer.connections["n_waiting"][0] == 0
    assert wire.framer.connections["n_overtaken"][0] == 1


def test_a_response_after_that_to_a_later_request_is_paired_and_marked():
    asked = [(i, request(i)) for i in (2, 3, 4, 5, 6)]
    for blocks in (1, 6):
        wire = Wire().block(asked)
        answers = [(100 + n, response(i)) for n, i in enumerate((2, 6, 3, 5, 4))]
        for at in range(0, 5, 5 // blocks or 1):
            wire.block([], answers[at : at + (5 // blocks or 1)])
        wire.block(final=True)
        assert wire.pairs == {2: 0, 3: 1, 4: 2, 5: 3, 6: 4}
        assert wire.out_of_order == [3, 5, 4]
        assert wire.framer.connections["n_overtaken"][0] == 0


def test_the_wait_for_the_response_before_is_that_of_responses_in_order():
    wire = Wire().block(
        [(1, request(1)), (2, request(2)), (3, request(3)), (30, request(4))],
        [(10, response(1)), (12, response(3)), (14, response(2)), (40, response(4))],
        final=True,
    )
    assert [int(f["before_ns"]) for f, _ in wire.frames if f["direction"] == 1] == [0, 10, 0, 12]


def test_after_a_gap_in_the_responses_those_before_an_answer_are_given_up():
    """Their responses were in the gap: a later response that repeats an id is none of theirs."""
    wire = Wire().block(
        [(1, request(1)), (2, request(2)), (3, request(3))],
        [(4, (40, GAP_LOST)), (5, response(3)), (6, response(1))],
        final=True,
    )
    assert wire.pairs == {3: 2, 1: -1}
    assert wire.out_of_order == []


def test_a_request_that_waits_is_answered_before_an_overtaken_one_of_the_same_id():
    wire = Wire().block(
        [(1, request(1)), (2, request(2)), (4, request(1))],
        [(3, response(2)), (5, response(1)), (6, response(1))],
        final=True,
    )
    assert [int(f["row"]) for f, _ in wire.frames if f["direction"] == 1] == [1, 2, 0]
    assert wire.out_of_order == [1]


def test_overtaken_requests_are_bounded():
    """Of those that one answer overtakes the last OVERTAKEN_LIMIT may still be answered; all of them are given up when
    OVERTAKEN_RESPONSES have followed."""
    n = OVERTAKEN_LIMIT + 10
    wire = Wire().block([(i, request(i)) for i in range(n + 1)], [(5000, response(n))])
    assert wire.framer.connections["n_overtaken"][0] == OVERTAKEN_LIMIT
    wire.block([], [(5001, response(5)), (5002, response(20))])
    assert (wire.pairs[5], wire.pairs[20]) == (-1, 20)
    later = range(10_000, 10_000 + OVERTAKEN_RESPONSES)
    wire.block([(6000 + i, request(i)) for i in later], [(90_000 + i, response(i)) for i in later])
    assert wire.framer.connections["n_overtaken"][0] == 0
    wire.block([], [(200_000, response(21))], final=True)
    assert wire.pairs[21] == -1
    wire.assert_every_byte_counted()


@settings(max_examples=40)
@given(st.lists(st.integers(0, 7), max_size=40), st.lists(st.integers(0, 7), max_size=40), st.integers(1, 9))
def test_pairs_are_those_of_a_slow_twin(asked, answered, size):
    """Ids repeat, are answered twice, in any order, or never; blocks are cut anywhere."""
    wire = Wire()
    for at in range(0, len(asked), size):
        wire.block([(at + i, request(c)) for i, c in enumerate(asked[at : at + size])])
    for at in range(0, len(answered), size):
        wire.block([], [(1000 + at + i, response(c)) for i, c in enumerate(answered[at : at + size])])
    wire.block(final=True)
    waiting, overtaken, expected = list(enumerate(asked)), [], []
    for correlation_id in answered:
        place = next((k for k, (_, c) in enumerate(waiting) if c == correlation_id), None)
        late = next((k for k, (_, c) in enumerate(overtaken) if c == correlation_id), None)
        if place is not None:
            overtaken += waiting[:place]
            expected.append((waiting[place][0], 0))
            del waiting[: place + 1]
        elif late is not None:
            expected.append((overtaken.pop(late)[0], 1))
        else:
            expected.append((-1, 0))
    answers = [f for f, _ in wire.frames if f["direction"] == 1]
    assert [(int(f["row"]), int(f["out_of_order"])) for f in answers] == (expected if asked else [])


def test_a_request_without_acks_is_not_waited_for():
    wire = Wire().block([(1, request(1, PRODUCE, 9)), (2, request(2))], [(3, response(2))], silent=[1], final=True)
    assert wire.pairs == {2: 1}


def test_correlation_ids_may_repeat_in_flight():
    wire = Wire().block([(1, request(5)), (2, request(5))], [(3, response(5)), (4, response(5))], final=True)
    assert [int(f["row"]) for f, _ in wire.frames if f["direction"] == 1] == [0, 1]


def test_a_response_stamped_before_its_request_is_still_its_response():
    wire = Wire().block([(10, request(1))], [(9, response(1))], final=True)
    assert wire.pairs == {1: 0}


@pytest.mark.parametrize(
    ("kind", "wholeness", "reason"),
    [(GAP_LOST, CUT_BY_GAP, "gap"), (GAP_SNAPLEN, CUT_BY_SNAPLEN, "truncated_by_snaplen")],
)
def test_a_cut_frame_says_where_the_next_one_begins(kind, wholeness, reason):
    first, second = request(1, body=b"r" * 100), request(2)
    wire = Wire().block([(1, first[:40]), (2, (20, kind)), (3, first[60:] + second)], final=True)
    assert wire.requests == [(METADATA, 1), (METADATA, 2)]
    assert [int(f["wholeness"]) for f, _ in wire.frames] == [wholeness, WHOLE]
    assert sum(n for n, r in wire.stretches if r == reason) == len(first) - 20
    wire.assert_every_byte_counted()


def test_after_a_gap_of_whole_frames_a_header_proves_itself():
    wire = Wire().block(
        [(1, request(1)), (2, (64, GAP_LOST)), (3, b"zzzz-tail-of-a-frame" + request(9)), (4, request(10))],
        final=True,
    )
    assert wire.requests == [(METADATA, 1), (METADATA, 9), (METADATA, 10)]
    assert wire.stretches == [(20, "gap")]


def test_a_response_is_found_again_after_a_gap_by_what_it_answers():
    wire = Wire().block(
        [(1, request(100001)), (2, request(100002))],
        [(3, response(100001)[:10]), (4, (2000, GAP_LOST)), (5, b"q" * 33), (6, response(100002))],
        final=True,
    )
    assert wire.pairs[100002] == 1
    wire.assert_every_byte_counted()


def test_mid_stream_start_tells_the_client_by_its_requests():
    wire = Wire.without_syn().block(
        [(1, b"tail of a frame"), (2, request(3)), (4, request(4))], [(3, response(3))], final=True
    )
    assert wire.requests == [(METADATA, 3), (METADATA, 4)]
    assert wire.pairs == {3: 0}
    assert wire.stretches[0] == (15, "mid_stream_start")
    assert wire.framer.connections["client_side"][0] == 0


def test_mid_stream_start_with_the_client_on_the_other_side():
    wire = Wire.without_syn().block([(2, response(3))], [(1, request(3))], final=True)
    assert wire.framer.connections["client_side"][0] == 1
    assert wire.protocol == KAFKA


@pytest.mark.parametrize(
    ("first", "protocol", "reason"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"r" * 40, TLS, "tls"),
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", HTTP, "not_kafka"),
    ],
)
def test_foreign_protocols_are_told_by_their_first_bytes(first, protocol, reason):
    wire = Wire().block([(1, first)], [(2, b"whatever comes back")], final=True)
    assert wire.protocol == protocol
    assert wire.frames == []
    assert {r for _, r in wire.stretches} == {reason}
    wire.assert_every_byte_counted()


PADDED = bytes.fromhex("00000016001200000000003e0008776f726b65722d3800000000")
"""All that librdkafka 1.0.1 sent on a connection that its broker reset while it went down: ApiVersions 0 of client
worker-8, with four zero bytes after its empty body (packet 7893 of a recording of Kafka 3.5.2)."""


@pytest.mark.parametrize(
    ("raw", "is_kafka"),
    [
        (PADDED, True),
        (PADDED[:-1] + b"\x01", False),
        (b"\x00\x00\x00\x0e" + PADDED[4:12] + bytes(6), False),  # names no client
    ],
)
def test_zeros_after_the_body_of_a_client_with_a_name_are_kafka(raw, is_kafka):
    wire = Wire().block([(1, raw)], final=True)
    assert (wire.protocol == KAFKA) == is_kafka
    assert wire.requests == ([(API_VERSIONS, 62)] if is_kafka else [])
    wire.assert_every_byte_counted()


def test_raw_sasl_tokens_are_never_frames():
    token = b"\x00user\x00secret-password"
    raw = struct.pack(">i", len(token)) + token
    wire = Wire().block(
        [(1, request(1, SASL_HANDSHAKE, 0)), (3, raw), (5, request(2))],
        [(2, response(1)), (4, struct.pack(">i", 0)), (6, response(2))],
        final=True,
    )
    assert wire.requests == [(SASL_HANDSHAKE, 1), (METADATA, 2)]
    assert wire.pairs == {1: 0, 2: 1}
    assert sorted(wire.stretches) == [(4, "sasl_token"), (len(raw), "sasl_token")]


def test_an_oversize_frame_is_passed_over_without_being_kept():
    size = FRAME_LIMIT + 1000
    head = struct.pack(">i", size) + request(1)[4:]
    wire = Wire().block([(1, request(0) + head)])
    assert [int(f["wholeness"]) for f, _ in wire.frames] == [WHOLE, OVERSIZE]
    assert wire.tail[0][1] == b""
    rest = size + 4 - len(head)
    wire.block([(2, b"z" * rest + request(2))], final=True)
    assert wire.requests == [(METADATA, 0), (METADATA, 1), (METADATA, 2)]
    wire.assert_every_byte_counted()


@pytest.mark.parametrize("size", [-1, 0, 4, 7, 2**31 - 1, 0x16030101])
def test_impossible_sizes_cost_nothing(size):
    wire = Wire().block(
        [(1, request(1)), (2, struct.pack(">i", size) + b"\x00" * 40), (3, request(2) + request(3))], final=True
    )
    assert wire.requests[0] == (METADATA, 1)
    wire.assert_every_byte_counted()


def test_an_unknown_api_is_kept_whole():
    wire = Wire().block([(1, request(1)), (2, request(2, api_key=12345, version=7)), (3, request(3))], final=True)
    assert wire.requests == [(METADATA, 1), (12345, 2), (METADATA, 3)]


@settings(max_examples=60)
@given(st.binary(max_size=300), st.binary(max_size=300), st.booleans())
def test_random_bytes_end_as_counted_bytes(client, server, syn):
    wire = Wire() if syn else Wire.without_syn()
    wire.block([(1, client)], [(2, server)]).block([(3, server)], [(4, client)]).block(final=True)
    wire.assert_every_byte_counted()


@pytest.mark.slow
@settings(max_examples=60)
@given(st.data())
def test_any_cut_into_packets_and_blocks_gives_the_same_frames(data):
    asked = b"".join(request(i, body=b"b" * (i * 7 % 50)) for i in range(12))
    result = b"".join(response(i, b"a" * (i * 11 % 70)) for i in range(12))
    wire = Wire()
    at = 0
    while at < len(asked):
        to = at + data.draw(st.integers(1, 90))
        wire.block([(at, asked[at:to])])
        at = to
    at = 0
    while at < len(result):
        to = at + data.draw(st.integers(1, 90))
        wire.block([], [(10_000 + at, result[at:to])])
        at = to
    wire.block(final=True)
    assert [c for _, c in wire.requests] == list(range(12))
    assert wire.pairs == {i: i for i in range(12)}
    assert wire.stretches == []
