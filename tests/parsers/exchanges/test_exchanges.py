"""Exchanges of hand-made streams: what a caller is given of them, block by block."""

import struct
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkascope_parsers.exchanges import (
    STATUSES,
    UNDECODED_SCHEMA,
    Exchanges,
    RawToken,
    TlsHandshake,
    settled_schema,
)
from kafkascope_parsers.tcp.streams import GAP_NONE, GAP_SNAPLEN, Streams

PRODUCE, METADATA, SASL_HANDSHAKE = 0, 3, 17
NO_TOPICS = struct.pack(">i", 0)


def sized(body):
    return struct.pack(">i", len(body)) + body


def request(correlation_id, api_key=METADATA, version=1, body=NO_TOPICS, client_id=b"app-1"):
    return sized(struct.pack(">hhih", api_key, version, correlation_id, len(client_id)) + client_id + body)


def produce(correlation_id, acks, transactional_id=b"\xff\xff"):
    """A Produce request of version 3 for no topic."""
    return request(correlation_id, PRODUCE, 3, transactional_id + struct.pack(">hii", acks, 1000, 0))


def metadata_response(correlation_id, controller=1):
    """A response to Metadata version 1: no brokers, a controller, no topics."""
    return sized(struct.pack(">iiii", correlation_id, 0, controller, 0))


REQUESTED = pa.schema([("name", pa.string()), ("client", pa.string())])
RESPONDED = pa.schema([("controller", pa.int32())])


class Handler:
    """Carries a column of each message along, and counts how often each frame was decoded."""

    def __init__(self):
        self.seen = Counter()
        self.requested_by = []

    def requests(self, requests):
        names = [None] * len(requests.frames)
        for messages in requests.messages:
            for row, number, conn in zip(messages.rows, messages.numbers, messages.connections, strict=True):
                names[row] = messages.message.name
                self.seen["request", int(conn), int(number)] += 1
        return pa.table([pa.array(names, pa.string()), pa.nulls(len(names), pa.string())], REQUESTED)

    def responses(self, responses):
        found = [None] * len(responses.frames)
        for messages in responses.messages:
            if messages.message.api_key == METADATA:
                controllers = messages.columns.values(messages.message.node("controller_id")).tolist()
                for row, controller in zip(messages.rows, controllers, strict=True):
                    found[row] = controller
            for conn, number in zip(messages.connections, messages.numbers, strict=True):
                self.seen["response", int(conn), int(number)] += 1
            rows = pa.array(messages.frames["row"])
            self.requested_by += responses.open_requests["name"].take(rows).to_pylist()
        return pa.table([pa.array(found, pa.int32())], RESPONDED)


@dataclass
class Wire:
    """One connection, block by block: `client` and `server` are lists of bytes, a packet each, 10 ns apart."""

    exchanges: Exchanges = field(default_factory=Exchanges)
    handler: Handler = field(default_factory=Handler)
    blocks: list = field(default_factory=list)
    rest: list = field(default_factory=lambda: [(0, b""), (0, b"")])
    at_ns: int = 0
    total: int = 0

    def __post_init__(self):
        self.exchanges.open_connections(np.array([True]), np.array([1], np.int8))

    def streams(self, client, server, gap_after):
        """The streams of a block: what was left of the last one first."""
        data, pieces, runs = b"", [], []
        for side, packets in ((0, client), (1, server)):
            offset, left = self.rest[side]
            start = len(data)
            for n, packet in enumerate([left, *packets]):
                self.at_ns += 10
                if packet:
                    pieces.append((len(data), self.at_ns))
                    data += packet
                    self.total += len(packet) if n else 0
            if len(data) > start:
                runs.append((side, start, len(data), offset))
        sides, starts, ends, offsets = (np.array([run[i] for run in runs], np.int64) for i in range(4))
        zeros = np.zeros(len(runs), np.int64)
        kinds = zeros.astype(np.uint8)
        places, times = (np.array([piece[i] for piece in pieces], np.int64) for i in range(2))
        return Streams(
            np.frombuffer(bytearray(data), np.uint8),
            sides,
            starts,
            ends,
            offsets,
            zeros,
            kinds,
            np.where(sides == 0, gap_after, GAP_NONE).astype(np.uint8),
            places,
            times,
            np.arange(len(pieces)),
        )

    def push(self, client=(), server=(), gap_after=GAP_NONE):
        streams = self.streams(client, server, gap_after)
        return self._took(streams, self.exchanges.push(streams, self.handler))

    def finish(self, is_closed=False):
        streams = self.streams((), (), GAP_NONE)
        return self._took(streams, self.exchanges.finish(streams, self.handler, np.array([is_closed])))

    def _took(self, streams, block):
        self.rest = [(offset + len(left), b"") for offset, left in self.rest]
        for run, side in enumerate(streams.direction.tolist()):
            consumed = int(block.consumed[run])
            offset = int(streams.stream_offset[run]) + consumed - int(streams.start[run])
            self.rest[side] = (offset, streams.data[consumed : streams.end[run]].tobytes())
        self.blocks.append(block)
        return block

    def rows(self):
        """(correlation id, status) of all exchanges and orphans so far."""
        tables = [table for block in self.blocks for table in (block.settled, block.orphans)]
        return [(row["correlation_id"], STATUSES[row["status"]]) for table in tables for row in table.to_pylist()]

    def undecoded(self):
        """(bytes, reason, detail, head) of all that was not decoded."""
        names = ("bytes", "reason", "detail", "head")
        return [tuple(row[name] for name in names) for block in self.blocks for row in block.undecoded.to_pylist()]

    def assert_every_byte_is_counted_once(self):
        undecoded = sum(sum(block.undecoded["bytes"].to_pylist()) for block in self.blocks)
        assert sum(block.decoded_bytes for block in self.blocks) + undecoded == self.total


def test_an_exchange_has_both_sides_and_the_handlers_columns():
    wire = Wire()
    block = wire.push([request(1)], [metadata_response(1, controller=7)])
    (row,) = block.settled.to_pylist()
    assert block.settled.schema == settled_schema(REQUESTED, RESPONDED)
    assert (row["name"], row["controller"], row["client_id"]) == ("MetadataRequest", 7, "app-1")
    assert (row["conn"], row["number"], row["api_key"], row["api_version"]) == (0, 0, METADATA, 1)
    assert (row["request_bytes"], row["response_bytes"]) == (len(request(1)), len(metadata_response(1)))
    assert row["response_ns"] > row["ts_ns"]
    assert wire.rows() == [(1, "ok")]
    assert block.undecoded.schema == UNDECODED_SCHEMA
    assert wire.undecoded() == []
    wire.assert_every_byte_is_counted_once()


def test_a_response_comes_blocks_later_and_its_frame_in_pieces():
    wire = Wire()
    first = wire.push([request(1), request(2)])
    assert first.settled.num_rows == 0
    answer = metadata_response(1)
    wire.push([], [answer[:9]])
    wire.push([request(3)], [answer[9:] + metadata_response(2)])
    wire.finish()
    assert wire.rows() == [(1, "ok"), (2, "ok"), (3, "unanswered")]
    assert wire.handler.requested_by == ["MetadataRequest"] * 2
    wire.assert_every_byte_is_counted_once()


def test_each_frame_is_handed_over_once():
    wire = Wire()
    for n in range(4):
        wire.push([request(n)[:6]], [])
        wire.push([request(n)[6:]], [metadata_response(n)])
    wire.finish()
    assert set(wire.handler.seen.values()) == {1}
    assert len(wire.handler.seen) == 8


def test_a_handler_that_looks_at_no_message_gives_nothing_up():
    class Blind(Handler):
        def requests(self, requests):
            return pa.table([pa.nulls(len(requests.frames), pa.string())] * 2, REQUESTED)

        def responses(self, responses):
            return pa.table([pa.nulls(len(responses.frames), pa.int32())], RESPONDED)

    wire = Wire(handler=Blind())
    wire.push([produce(1, acks=0), request(2)], [metadata_response(2)])
    assert wire.rows() == [(1, "no_response_expected"), (2, "ok")]
    wire.assert_every_byte_is_counted_once()


@pytest.mark.parametrize(("acks", "status"), [(0, "no_response_expected"), (1, "unanswered"), (-1, "unanswered")])
def test_produce_without_acks_expects_no_response(acks, status):
    wire = Wire()
    wire.push([request(1), produce(2, acks)])
    wire.finish()
    assert dict(wire.rows()) == {1: "unanswered", 2: status}


@pytest.mark.parametrize(("acks", "status"), [(0, "no_response_expected"), (1, "undecoded")])
def test_a_cut_produce_request_still_has_its_acks(acks, status):
    wire = Wire()
    wire.push([request(1)])
    wire.push([produce(2, acks, transactional_id=b"\x00\x02tx")[:-8]], gap_after=GAP_SNAPLEN)
    wire.finish()
    assert dict(wire.rows()) == {1: "unanswered", 2: status}
    assert [reason for _, reason, *_ in wire.undecoded()] == ["truncated_by_snaplen"]


def test_what_does_not_decode_says_why_and_where():
    wire = Wire()
    odd = [
        request(2, api_key=12345),
        request(3, version=99),
        request(4, body=struct.pack(">ih", 1, 300)),
        request(5) + b"",
        sized(request(6)[4:] + bytes(3)),
    ]
    wire.push([request(1), *odd])
    wire.finish()
    texts = [(n, reason, detail) for n, reason, detail, _ in wire.undecoded()]
    assert texts == [
        (len(odd[0]), "unknown_api", "API key 12345"),
        (len(odd[1]), "unknown_version", "MetadataRequest v99"),
        (
            len(odd[2]),
            "malformed_body",
            "MetadataRequest v1: length_beyond_end at byte 19, topics[].name",
        ),
        (3, "trailing_zeros", "MetadataRequest v1: 3 zero bytes after its end"),
    ]
    assert {head for _, _, _, head in wire.undecoded()} == {None}
    assert dict(wire.rows()) == dict.fromkeys((1, 5, 6), "unanswered") | dict.fromkeys((2, 3, 4), "undecoded")
    wire.assert_every_byte_is_counted_once()


def test_a_response_without_its_request_is_an_orphan_whose_bytes_are_not_shown():
    wire = Wire()
    wire.push([request(1)], [metadata_response(1)])
    wire.push([], [metadata_response(99), metadata_response(98)])
    wire.finish()
    assert wire.rows() == [(1, "ok"), (99, "orphan_response"), (98, "orphan_response")]
    orphans = pa.concat_tables([block.orphans for block in wire.blocks])
    assert orphans["number"].to_pylist() == [-1, -2]
    assert {(reason, head) for _, reason, _, head in wire.undecoded()} == {("orphan_response", None)}
    wire.assert_every_byte_is_counted_once()


def test_raw_tokens_are_greetings_and_their_bytes_stand_nowhere_else():
    wire = Wire()
    handshake = request(1, SASL_HANDSHAKE, 0, struct.pack(">h", 5) + b"PLAIN")
    answer = sized(struct.pack(">ihih", 1, 0, 1, 5) + b"PLAIN")
    wire.push([handshake], [answer])
    block = wire.push([sized(b"\0alice\0secret")], [sized(b"")])
    assert block.greetings == (
        RawToken(0, b"\0alice\0secret", is_answer=False),
        RawToken(0, b"", is_answer=True),
    )
    assert "secret" not in repr(block.greetings)
    assert {(reason, head) for _, reason, _, head in wire.undecoded()} == {("sasl_token", None)}


def test_a_tls_handshake_is_a_greeting():
    name = b"broker.example"
    sni = struct.pack(">HHHBH", 0, len(name) + 5, len(name) + 3, 0, len(name)) + name
    body = b"\x03\x03" + bytes(32) + b"\0" + b"\0\x02\x13\x01" + b"\x01\0" + struct.pack(">H", len(sni)) + sni
    hello = b"\x16\x03\x01" + struct.pack(">H", len(body) + 4) + b"\x01" + len(body).to_bytes(3, "big") + body
    wire = Wire()
    block = wire.push([hello])
    assert block.greetings == ()  # the handshake goes on
    (greeting,) = wire.finish().greetings
    assert isinstance(greeting, TlsHandshake)
    assert greeting.facts.client.sni == "broker.example"
    assert block.undecoded["reason"].to_pylist() == ["tls"]
    assert block.undecoded["head"].to_pylist() == [hello[:5].hex()]


@pytest.mark.parametrize(
    ("sent", "head"),
    [
        (b"GET /?password=hunter2 HTTP/1.1\r\n\r\n", b"GET ".hex()),
        (b"POST /?password=hunter2 HTTP/1.1\r\n\r\n", b"POST".hex()),
        (sized(b"\0alice\0hunter2"), None),
        (b"\0alice\0hunter2hunter2", None),
        (b"\x16\x07hunter2hunter2", None),
    ],
)
def test_of_bytes_that_are_not_kafka_only_what_names_a_protocol_is_shown(sent, head):
    wire = Wire()
    wire.push([sent], [b"HTTP/1.1 400\r\n" if head else b""])
    wire.push([sent])
    wire.finish()
    heads = [found for _, _, _, found in wire.undecoded()]
    assert heads[0] == head
    assert set(heads) <= {None, head, b"HTTP".hex()}
    wire.assert_every_byte_is_counted_once()


@pytest.mark.parametrize(("is_closed", "reason"), [(True, "connection_end"), (False, "capture_end")])
def test_the_last_bytes_say_whether_the_connection_or_the_capture_ended(is_closed, reason):
    wire = Wire()
    wire.push([request(1), request(2)[:11]])
    wire.finish(is_closed)
    assert wire.undecoded() == [(11, reason, None, None)]
    wire.assert_every_byte_is_counted_once()


@pytest.mark.slow
@settings(max_examples=20)
@given(st.data())
def test_blocks_and_batches_of_any_size_give_the_same_exchanges(data):
    asked = b"".join(request(n) if n % 3 else produce(n, acks=n % 2) for n in range(7))
    answers = b"".join(metadata_response(n, n) for n in range(7) if n % 3)
    wire = Wire(Exchanges(batch_bytes=data.draw(st.integers(1, 2_000))))
    at = 0
    while at < len(asked):
        to = at + data.draw(st.integers(1, 90))
        wire.push([asked[at:to]])
        at = to
    for at in range(0, len(answers), step := data.draw(st.integers(1, 50))):
        wire.push([], [answers[at : at + step]])
    wire.finish()
    expected = {n: "ok" if n % 3 else "not_captured" if n % 2 else "no_response_expected" for n in range(7)}
    assert sorted(wire.rows()) == sorted(expected.items())
    assert set(wire.handler.seen.values()) == {1}
    wire.assert_every_byte_is_counted_once()


@settings(max_examples=40)
@given(st.lists(st.binary(max_size=60), max_size=4), st.lists(st.binary(max_size=60), max_size=4))
def test_random_bytes_among_requests_are_all_counted(client, server):
    wire = Wire()
    wire.push([request(1), *client], [metadata_response(1), *server])
    wire.push(server, client)
    wire.finish()
    wire.assert_every_byte_is_counted_once()
