"""Streams against what was sent: cut, repeated, reordered, lost, re-blocked segments; kernel against reassembler."""

import random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafkascope_parsers.link import Segments
from kafkascope_parsers.tcp.reader import TcpStreams
from kafkascope_parsers.tcp.state import (
    ACKED_SEGMENTS,
    EVENT_KINDS,
    FAR_SEGMENTS,
    FIRST_COPY_BYTES,
    SIDE,
    WAITING_BYTES_IN_ALL,
)
from kafkascope_parsers.tcp.streams import GAP_LOST, GAP_SNAPLEN

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
GAP, DIFFERS, LIMIT = (EVENT_KINDS.index(kind) for kind in ("gap", "retransmit_differs", "buffer_limit"))
SETTINGS = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


def conversation(wire, rng, isn, *, n=30, handshake=True):
    """A conversation's packets in the order sent, and what each side sent."""
    sent = [bytearray(), bytearray()]
    acked = [0, 0]
    packets = []
    if handshake:
        packets.append(wire.packet(0, isn[0], flags=SYN))
        packets.append(wire.packet(1, isn[1], flags=SYN, ack=isn[0] + 1))
        packets.append(wire.packet(0, isn[0] + 1, ack=isn[1] + 1))
    for _ in range(n):
        side = rng.randrange(2)
        payload = rng.randbytes(rng.choice([0, 1, 1, 5, 40, 300]))
        seq = isn[side] + 1 + len(sent[side])
        acked[side] = rng.randint(acked[side], len(sent[1 - side]))
        packets.append(wire.packet(side, seq, payload, ack=isn[1 - side] + 1 + acked[side]))
        sent[side] += payload
    return packets, [bytes(s) for s in sent]


def read(wire, packets, rng, *, n_blocks=3, leave=True, made_by=TcpStreams):
    """Pushes packets in blocks (n_blocks: 0 for one each) to TcpStreams, or to its slow twin; returns the reader, with
    the events too, and the streams."""
    tcp, reader = made_by(), wire.reader()
    cuts = sorted(rng.randrange(len(packets) + 1) for _ in range(n_blocks - 1)) if n_blocks else range(len(packets))
    for a, b in zip([0, *cuts], [*cuts, len(packets)], strict=True):
        buf, segments = wire.segments(packets[a:b], a + 1)
        streams = tcp.push(buf, segments)
        tcp.keep_rest(streams, reader.take(streams, lambda size: rng.randrange(size + 1) if leave else 0))
        reader.events += tcp.events.tolist()
    reader.take(tcp.finish())
    reader.events += tcp.events.tolist()
    assert not any(reader.left.values())
    return reader, tcp


def ledger_holds(reader, tcp):
    """Bytes handed out, gaps, and what is missing behind the last byte handed out are all of the stream."""
    for d, side in enumerate(tcp.sides):
        gaps = reader.gaps[d]
        assert side["stream_bytes"] == len(reader.streams[d])
        missing = {GAP_LOST: int(side["missing_bytes"]), GAP_SNAPLEN: int(side["cut_bytes"])}
        for _, size, kind in gaps:
            missing[kind] -= size
        assert min(missing.values()) == 0 <= sum(missing.values())
        assert side["next"] == side["stream_bytes"] + side["missing_bytes"] + side["cut_bytes"]
        assert side["next"] == reader.at[d] + sum(missing.values())


def spoil(packets, rng, *, repeat=0.2, reorder=0.2, split=0.2):
    """The same packets, some twice, cut in two, or behind their successor."""
    out = []
    for p in packets:
        if len(p.payload) > 1 and rng.random() < split:
            k = rng.randrange(1, len(p.payload))
            parts = [type(p)(p.side, p.seq, p.payload[: rng.randint(k, len(p.payload))], p.ack)]
            parts.append(type(p)(p.side, p.seq + k, p.payload[k:], p.ack))
        else:
            parts = [p]
        out += parts
        if rng.random() < repeat:
            out.append(rng.choice(parts))
    for i in range(3, len(out) - 1):
        if rng.random() < reorder and out[i].side == out[i + 1].side:
            out[i], out[i + 1] = out[i + 1], out[i]
    return out


ISN = st.one_of(st.sampled_from([0, 1, 0xFFFFFFFF, 0xFFFFFFF0, 0xFFFFFE00, 0x7FFFFFF0]), st.integers(0, 0xFFFFFFFF))


@SETTINGS
@given(seed=st.integers(0, 2**32), isn=st.tuples(ISN, ISN))
def test_spoiled_segments_give_what_was_sent(wire, either_streams, seed, isn):
    rng = random.Random(seed)
    packets, sent = conversation(wire, rng, isn)
    reader, tcp = read(wire, spoil(packets, rng), rng, n_blocks=rng.randint(1, 5), made_by=either_streams)
    assert len(tcp.connections) == 1
    assert [bytes(reader.streams[d]) for d in (0, 1)] == sent
    assert not any(reader.gaps.values())
    assert tcp.sides["bytes"].tolist() == [len(s) for s in sent]
    ledger_holds(reader, tcp)


@SETTINGS
@given(seed=st.integers(0, 2**32), isn=st.tuples(ISN, ISN))
def test_lost_segments_are_gaps_and_nothing_else_changes(wire, seed, isn):
    rng = random.Random(seed)
    packets, sent = conversation(wire, rng, isn)
    packets = packets[:3] + [p for p in spoil(packets[3:], rng, reorder=0) if rng.random() > 0.15]
    reader, tcp = read(wire, packets, rng)
    for d in (0, 1):
        rebuilt, at, taken = bytearray(), 0, 0
        for offset, size, kind in reader.gaps[d]:
            assert kind == GAP_LOST
            rebuilt += reader.streams[d][taken : taken + offset - at]
            taken += offset - at
            rebuilt += sent[d][offset : offset + size]
            at = offset + size
        rebuilt += reader.streams[d][taken:]
        assert sent[d].startswith(bytes(rebuilt))
    ledger_holds(reader, tcp)


COMPARED = ("segments", "bytes", "stream_bytes", "missing_bytes", "cut_bytes", "retransmitted", "out_of_order")
COMPARED = (*COMPARED, "keepalives", "after_fin", "next", "acked", "fin_at")


def nonsense(wire, rng, n):
    """Segments of no sense at all."""
    packets = []
    for _ in range(n):
        seq = rng.choice([rng.getrandbits(32), *[rng.randrange(50)] * 9])
        p = wire.packet(rng.randrange(2), seq, rng.randbytes(rng.randrange(9)))
        p.ack = rng.choice([None, rng.getrandbits(32), *[rng.randrange(60)] * 3])
        p.flags, p.window = rng.choice([0, 0, 0, PSH, FIN, rng.getrandbits(8)]), rng.randrange(2)
        p.cut, p.port = rng.choice([None, None, 0, 3]), rng.choice([1, 2])
        packets.append(p)
    return packets


def assert_same(one, other):
    """That two (reader, TcpStreams) took the same; what of events depends on the slow way's blocks left out."""
    (a, tcp_a), (b, tcp_b) = one, other
    assert a.streams == b.streams
    assert a.gaps == b.gaps
    assert a.pieces == b.pieces
    kinds = {EVENT_KINDS.index(kind) for kind in ("gap", "retransmit_differs", "keepalive", "buffer_limit")}
    assert sorted(e for e in a.events if e[-1] in kinds) == sorted(e for e in b.events if e[-1] in kinds)
    for name in COMPARED:
        assert tcp_a.sides[name].tolist() == tcp_b.sides[name].tolist(), name
    assert tcp_a.connections["close_kind"].tolist() == tcp_b.connections["close_kind"].tolist()


@SETTINGS
@given(seed=st.integers(0, 2**32), loss=st.sampled_from([0, 0.1, 0.4]), cut=st.booleans(), handshake=st.booleans())
def test_kernel_and_reassembler_give_the_same(wire, slow_streams, seed, loss, cut, handshake):
    rng = random.Random(seed)
    packets, _ = conversation(wire, rng, (0xFFFFFF80, 77), handshake=handshake)
    packets = [p for p in spoil(packets, rng) if rng.random() >= loss]
    for p in packets:
        p.cut = rng.choice([0, 10, None]) if cut else None
        if rng.random() < 0.05:
            p.payload = p.payload[:-1] + b"?" * len(p.payload[-1:])
    kernel = read(wire, packets, random.Random(seed))
    slow = read(wire, packets, random.Random(seed + 1), made_by=slow_streams)
    assert_same(kernel, slow)
    ledger_holds(*kernel)


@pytest.mark.slow
@SETTINGS
@given(seed=st.integers(0, 2**32))
def test_kernel_and_reassembler_agree_on_nonsense(wire, slow_streams, seed):
    rng = random.Random(seed)
    packets = nonsense(wire, rng, 60)
    kernel = read(wire, packets, random.Random(seed), n_blocks=1, leave=False)
    assert_same(kernel, read(wire, packets, random.Random(seed), n_blocks=0, made_by=slow_streams))


@pytest.mark.slow
@SETTINGS
@given(seed=st.integers(0, 2**32), reorder=st.booleans())
def test_blocks_change_nothing(wire, seed, reorder):
    rng = random.Random(seed)
    packets, _ = conversation(wire, rng, (0xFFFFFF80, 77), n=60)
    packets = spoil([*packets, *nonsense(wire, rng, 20)], rng) if reorder else nonsense(wire, rng, 80)
    whole = read(wire, packets, random.Random(seed), n_blocks=1, leave=False)
    parts = read(wire, packets, random.Random(seed), n_blocks=0)
    assert_same(whole, parts)
    assert sorted(whole[0].events) == sorted(parts[0].events)


@SETTINGS
@given(seed=st.integers(0, 2**32))
def test_random_segments_never_break_the_ledger(wire, seed):
    """Every byte handed out is accounted for and nothing crashes."""
    rng = random.Random(seed)
    packets = nonsense(wire, rng, 80)
    tcp = TcpStreams()
    reader = wire.reader()
    for at in range(0, 80, 20):
        streams = tcp.push(*wire.segments(packets[at : at + 20], at + 1))
        tcp.keep_rest(streams, reader.take(streams, lambda size: rng.randrange(size + 1)))
        assert set(tcp.events["connection"].tolist()) <= set(range(len(tcp.connections)))
    reader.take(tcp.finish())
    ledger_holds(reader, tcp)
    assert tcp.sides["segments"].sum() == 80


def before_a_hole(wire):
    return [
        wire.packet(0, 100, flags=SYN),
        wire.packet(1, 500, flags=SYN, ack=101),
        wire.packet(0, 101, b"abc", ack=501),
        wire.packet(0, 107, b"ghi", ack=501),
    ]


def gap_events(tcp):
    return [(e["stream_offset"], e["bytes"], e["side"], e["packet_no"]) for e in tcp.events if e["kind"] == GAP]


def test_hole_is_given_up_when_the_peer_answers_what_is_behind_it(wire, either_streams):
    tcp, reader = either_streams(), wire.reader()
    reader.take(tcp.push(*wire.segments(before_a_hole(wire))))
    assert bytes(reader.streams[0]) == b"abc"
    reader.take(tcp.push(*wire.segments([wire.packet(1, 501, b"?", ack=106)], 5)))
    assert bytes(reader.streams[0]) == b"abc"
    reader.take(tcp.push(*wire.segments([wire.packet(1, 502, b"!", ack=110)], 6)))
    assert bytes(reader.streams[0]) == b"abcghi"
    assert reader.gaps[0] == [(3, 3, GAP_LOST)]
    assert reader.pieces[0] == {3: (0, 3000), 4: (6, 4000)}
    assert gap_events(tcp) == [(3, 3, 0, 6)]


def test_acknowledged_hole_may_still_be_filled_for_a_while(wire, either_streams):
    """A capture on several queues may show the acknowledgment first."""
    acked = wire.packet(1, 501, ack=110)
    filled, _ = read(
        wire,
        [*before_a_hole(wire), acked, wire.packet(0, 104, b"def", ack=501)],
        random.Random(1),
        made_by=either_streams,
    )
    assert bytes(filled.streams[0]) == b"abcdefghi"
    tcp, reader = either_streams(), wire.reader()
    reader.take(tcp.push(*wire.segments(before_a_hole(wire) + [acked] * (ACKED_SEGMENTS - 1))))
    assert bytes(reader.streams[0]) == b"abc"
    reader.take(tcp.push(*wire.segments([acked], 100)))
    assert bytes(reader.streams[0]) == b"abcghi"
    assert gap_events(tcp) == [(3, 3, 0, 100)]


@pytest.mark.parametrize("flags", [RST, SYN])
def test_hole_is_given_up_when_the_connection_is_over(wire, either_streams, flags):
    packets = [*before_a_hole(wire), wire.packet(0, 90_000, flags=flags)]
    tcp, reader = either_streams(), wire.reader()
    reader.take(tcp.push(*wire.segments(packets)))
    assert bytes(reader.streams[0]) == b"abcghi"
    assert gap_events(tcp) == [(3, 3, 0, 5)]


def test_first_data_wins_over_a_retransmission_with_other_bytes(wire, either_streams):
    packets = [
        wire.packet(0, 100, flags=SYN),
        wire.packet(0, 101, b"abcd"),
        wire.packet(0, 101, b"XXXX"),
        wire.packet(0, 103, b"YYef"),
        wire.packet(0, 110, b"jk"),
        wire.packet(0, 105, b"ZZghi!K?"),
    ]
    reader, tcp = read(wire, packets, random.Random(1), made_by=either_streams)
    assert bytes(reader.streams[0]) == b"abcdefghijk?"
    assert tcp.sides["retransmitted"][0] == 3


@pytest.mark.parametrize("n_blocks", [1, 9])
def test_retransmission_with_other_bytes_is_said(wire, either_streams, n_blocks):
    packets = [
        wire.packet(0, 100, flags=SYN),
        wire.packet(0, 101, b"abcd"),
        wire.packet(0, 105, b"efgh"),
        wire.packet(0, 111, b"kl"),
        wire.packet(0, 101, b"abcd"),
        wire.packet(0, 102, b"bXXefZ"),
        wire.packet(0, 111, b"k?"),
        wire.packet(0, 109, b"ijK"),
    ]
    reader, tcp = read(wire, packets, random.Random(1), n_blocks=n_blocks, made_by=either_streams)
    assert bytes(reader.streams[0]) == b"abcdefghijkl"
    assert tcp.sides["retransmitted"][0] == 4
    found = [(packet, offset, size) for _, _, packet, offset, size, _, kind in reader.events if kind == DIFFERS]
    assert sorted(found) == [(6, 2, 3), (7, 11, 1), (8, 10, 1)]


@pytest.mark.parametrize("n_blocks", [1, 4])
def test_first_copies_are_compared_as_far_back_as_is_said(wire, n_blocks):
    """However the capture is cut into blocks, and whichever connections the bytes between are of."""
    for between, n_found in ((FIRST_COPY_BYTES - 100_000, 1), (FIRST_COPY_BYTES, 0)):
        packets = [wire.packet(0, 1, b"abcd"), *(wire.packet(0, 9, bytes(between // 4), port=p) for p in (5, 6, 7, 8))]
        packets.append(wire.packet(0, 1, b"abXd"))
        reader, _ = read(wire, packets, random.Random(3), n_blocks=n_blocks, leave=False)
        assert sum(e[-1] == DIFFERS for e in reader.events) == n_found


def test_limit_on_waiting_bytes_in_all(wire):
    big = bytes(7 << 20)
    n = WAITING_BYTES_IN_ALL // len(big)
    packets = []
    for port in range(n + 1):
        packets += [wire.packet(0, 99, flags=SYN, port=port), wire.packet(0, 101, big, port=port)]
    tcp, reader = TcpStreams(), wire.reader()
    reader.take(tcp.push(*wire.segments(packets)))
    assert list(reader.gaps) == [2 * n]
    assert [(e["connection"], e["bytes"]) for e in tcp.events if e["kind"] == LIMIT] == [(n, len(big))]
    reader.take(tcp.finish())
    assert len(reader.gaps) == n + 1


@pytest.mark.parametrize("ahead", [1 << 28, -(1 << 28)])
def test_one_stray_segment_is_left_out_and_many_are_believed(wire, either_streams, ahead):
    stray = wire.packet(0, 1004 + ahead, b"stray")
    reader, _ = read(
        wire,
        [wire.packet(0, 1001, b"abc"), stray, wire.packet(0, 1004, b"def")],
        random.Random(1),
        made_by=either_streams,
    )
    assert bytes(reader.streams[0]) == b"abcdef"
    packets = [wire.packet(0, 1001, b"abc"), *(wire.packet(0, 1004 + ahead + i, b"%d" % (i % 10)) for i in range(20))]
    reader, _ = read(wire, packets, random.Random(1), made_by=either_streams)
    assert bytes(reader.streams[0]) == b"abc56789"
    assert reader.gaps[0] == [(3, (ahead % 2**32) + FAR_SEGMENTS - 1, GAP_LOST)]


def test_streams_beyond_4_gb(wire):
    """Several wraps, a snap length that leaves three bytes of each segment, and a hole behind the last wrap."""
    size, n = 1 << 20, 10_000
    data = bytes(size)
    big = [wire.packet(0, 1000 + i * size, data, cut=3) for i in range(n)]
    del big[9000]
    tcp, reader = TcpStreams(), wire.reader()
    for at in range(0, n, 1000):
        reader.take(tcp.push(*wire.segments(big[at : at + 1000], at + 1)))
    reader.take(tcp.finish())
    ledger_holds(reader, tcp)
    assert tcp.sides["next"][0] == n * size > 2 << 32
    assert len(reader.streams[0]) == 3 * (n - 1)
    lost = [gap for gap in reader.gaps[0] if gap[2] == GAP_LOST]
    assert lost == [(8999 * size + 3, 2 * size - 3, GAP_LOST)]


def test_limit_on_waiting_bytes_gives_a_hole_up(wire):
    big = bytes(1 << 20)
    packets = [wire.packet(0, 99, flags=SYN), *(wire.packet(0, 101 + i * len(big), big) for i in range(9))]
    tcp, reader = TcpStreams(), wire.reader()
    reader.take(tcp.push(*wire.segments(packets)))
    assert reader.gaps[0] == [(0, 1, GAP_LOST)]
    assert len(reader.streams[0]) == 9 << 20


def test_snap_length_cuts_are_gaps_of_their_own_kind(wire):
    packets = [
        wire.packet(0, 99, flags=SYN),
        wire.packet(0, 100, b"abcdef", cut=2),
        wire.packet(0, 106, b"gh"),
        wire.packet(0, 108, b"ij", cut=0),
        wire.packet(0, 112, b"mn"),
        wire.packet(0, 114, b"op"),
    ]
    reader, tcp = read(wire, packets, random.Random(1), n_blocks=1)
    assert bytes(reader.streams[0]) == b"abghmnop"
    assert reader.gaps[0] == [(2, 4, GAP_SNAPLEN), (8, 4, GAP_LOST)]
    ledger_holds(reader, tcp)


def test_tail_waits_until_the_connection_has_payload_again(wire):
    tcp = TcpStreams()
    first = tcp.push(*wire.segments([wire.packet(0, 99, flags=SYN), wire.packet(0, 100, b"abc")]))
    tcp.keep_rest(first, first.start + 1)
    other = tcp.push(*wire.segments([wire.packet(0, 7, b"zz", port=7)], 3))
    assert len(other.start) == 1
    tcp.keep_rest(other, other.start)
    again = tcp.push(*wire.segments([wire.packet(1, 5, b"answer")], 4))
    assert again.direction.tolist() == [0, 1]
    assert again.data.tobytes() == b"bcanswer"
    assert again.stream_offset.tolist() == [1, 0]
    assert again.piece_packet.tolist() == [2, 4]
    assert len(tcp.finish().start) == 1


def test_buckets_share_flows_out_without_loss(wire):
    rng = random.Random(5)
    packets = [
        p for port in range(1, 40) for p in conversation(wire, rng, (port, 9), n=4)[0] if not setattr(p, "port", port)
    ]
    buf, segments = wire.segments(packets)
    parts = [TcpStreams(bucket=b, n_buckets=3) for b in range(3)]
    for part in parts:
        part.push(buf, segments)
    ports = [set(part.sides["port"][0::2].tolist()) for part in parts]
    assert set().union(*ports) == set(range(1, 40))
    assert sum(len(p) for p in ports) == 39
    assert all(ports)
    assert sum(int(part.sides["segments"].sum()) for part in parts) == len(packets)


def test_tables_grow(wire):
    packets = [wire.packet(0, 100, b"x", port=port) for port in range(1, 5001)]
    tcp = TcpStreams()
    first = tcp.push(*wire.segments(packets))
    tcp.keep_rest(first, first.start)
    assert len(tcp.connections) == 5000
    assert tcp.sides["port"][0::2].tolist() == list(range(1, 5001))
    streams = tcp.push(*wire.segments([wire.packet(1, 9, b"y", port=port) for port in range(1, 5001)], 5001))
    assert len(tcp.connections) == 5000
    assert (streams.data == ord("y")).sum() == 5000


def test_segment_larger_than_64_kb(wire):
    data = random.Random(3).randbytes(200_000)
    reader, _ = read(wire, [wire.packet(0, 5, data), wire.packet(0, 200_005, b"end")], random.Random(1), n_blocks=1)
    assert bytes(reader.streams[0]) == data + b"end"


def test_no_segments(wire):
    tcp = TcpStreams()
    buf, segments = wire.segments([])
    assert isinstance(segments, Segments)
    assert len(tcp.push(buf, segments).start) == 0
    assert len(tcp.finish().start) == 0
    assert tcp.sides.dtype == SIDE
    assert np.array_equal(tcp.close_kinds(), [])
