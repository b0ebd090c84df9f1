"""How connections open, close and follow each other on one port pair, and the events on the way."""

import pytest

from kafkascope_parsers.tcp.reader import TcpStreams
from kafkascope_parsers.tcp.state import CLOSE_KINDS, EVENT_KINDS

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16


def follow(wire, packets, made_by=TcpStreams):
    tcp, reader = made_by(), wire.reader()
    reader.take(tcp.push(*wire.segments(packets)))
    events = [(EVENT_KINDS[e["kind"]], int(e["connection"]), int(e["side"])) for e in tcp.events]
    reader.take(tcp.finish())
    return tcp, reader, events, [CLOSE_KINDS[kind] for kind in tcp.close_kinds()]


def handshake(wire, isn=100, peer=500):
    return [
        wire.packet(0, isn, flags=SYN),
        wire.packet(1, peer, flags=SYN, ack=isn + 1),
        wire.packet(0, isn + 1, ack=peer + 1),
    ]


@pytest.mark.parametrize(
    ("flags", "side", "kind"),
    [(FIN, 0, "fin_0"), (FIN, 1, "fin_1"), (RST, 0, "rst_0"), (RST, 1, "rst_1")],
)
def test_first_fin_or_rst_tells_how_it_ended(wire, either_streams, flags, side, kind):
    packets = [*handshake(wire), wire.packet(0, 101, b"hi", ack=501, ts_ns=10_000)]
    packets.append(wire.packet(side, (103, 501)[side], ack=(501, 103)[side], flags=flags, ts_ns=17_000))
    packets.append(wire.packet(1 - side, (501, 103)[side], ack=1, flags=RST, ts_ns=18_000))
    tcp, _, events, kinds = follow(wire, packets, either_streams)
    assert kinds == [kind]
    row = tcp.connections[0]
    assert (row["close_ts_ns"], row["close_idle_ns"]) == (17_000, 7_000)
    assert events[:2] == [("syn", 0, 0), ("syn_ack", 0, 1)]
    assert events[2] == (kind[:3], 0, side)
    assert (row["syn_ts_ns"], row["synack_ts_ns"], row["first_packet"], row["opened_by_syn"]) == (1000, 2000, 1, 1)


def test_syn_answered_by_rst_is_refused(wire):
    packets = [wire.packet(0, 100, flags=SYN), wire.packet(1, 0, ack=101, flags=RST, window=0)]
    _, _, events, kinds = follow(wire, packets)
    assert kinds == ["refused"]
    assert events == [("syn", 0, 0), ("refused", 0, 1)]


def test_a_client_goes_on_after_the_acknowledgment_of_an_earlier_connection_of_its_port(wire, either_streams):
    """RFC 9293, 3.5.2, figure 9: the peer acknowledges what it has of the earlier connection, the RST ends that one."""
    first = [*handshake(wire), wire.packet(0, 101, b"one", ack=501)]
    again = [
        wire.packet(0, 90_000, flags=SYN),
        wire.packet(1, 501, ack=104),
        wire.packet(0, 104, flags=RST, window=0),
        *handshake(wire, 90_000, 7_000),
        wire.packet(0, 90_001, b"two", ack=7_001),
    ]
    tcp, reader, events, kinds = follow(wire, first + again, either_streams)
    assert kinds == ["open", "open"]
    assert {d: bytes(s) for d, s in reader.streams.items() if s} == {0: b"one", 2: b"two"}
    assert [event for event in events if event[1] == 1] == [
        ("syn", 1, 0),
        ("rst", 1, 0),
        ("syn_retry", 1, 0),
        ("syn_ack", 1, 1),
    ]
    assert tcp.connections["close_ts_ns"].tolist() == [0, 0]
    assert tcp.sides["acked"].tolist()[2:] == [0, 0]


def test_a_client_that_ends_its_attempt_ends_it(wire):
    packets = [wire.packet(0, 100, flags=SYN), wire.packet(0, 101, flags=RST, window=0)]
    assert follow(wire, packets)[3] == ["rst_0"]


def test_syn_without_answer(wire):
    packets = [wire.packet(0, 100, flags=SYN), wire.packet(0, 100, flags=SYN), wire.packet(0, 100, flags=SYN)]
    tcp, _, events, kinds = follow(wire, packets)
    assert kinds == ["unanswered"]
    assert events == [("syn", 0, 0), ("syn_retry", 0, 0), ("syn_retry", 0, 0)]
    assert tcp.connections["n_syn"].tolist() == [3]


def test_capture_of_one_direction_is_open_not_unanswered(wire):
    packets = [wire.packet(0, 100, flags=SYN), wire.packet(0, 101, b"request")]
    assert follow(wire, packets)[3] == ["open"]


def test_syn_ack_first_names_its_receiver_side_0(wire):
    tcp, reader, _, _ = follow(
        wire, [wire.packet(1, 500, flags=SYN, ack=101), wire.packet(0, 104, b"def"), wire.packet(1, 501, ack=107)]
    )
    assert tcp.sides["port"].tolist() == [40000, 9092]
    assert tcp.connections["opened_by_syn"].tolist() == [1]
    assert reader.gaps[0] == [(0, 3, 1)]


def test_port_reuse_is_another_connection(wire):
    one = [*handshake(wire), wire.packet(0, 101, b"one"), wire.packet(0, 104, flags=FIN)]
    two = [*handshake(wire, 90_000, 7), wire.packet(0, 90_001, b"two")]
    tcp, reader, _, kinds = follow(wire, one + two)
    assert kinds == ["fin_0", "open"]
    assert {d: bytes(s) for d, s in reader.streams.items() if s} == {0: b"one", 2: b"two"}
    assert tcp.sides["segments"].tolist() == [4, 1, 3, 1]


def test_port_reuse_without_syn_after_the_end(wire):
    one = [*handshake(wire), wire.packet(0, 101, b"one"), wire.packet(0, 104, flags=RST)]
    _, reader, _, kinds = follow(wire, [*one, wire.packet(0, 101 + (3 << 29), b"two")])
    assert kinds == ["rst_0", "open"]
    assert bytes(reader.streams[2]) == b"two"


def test_syn_captured_behind_the_first_data_is_the_same_connection(wire):
    tcp, reader, _, _ = follow(
        wire, [wire.packet(0, 101, b"abc"), wire.packet(0, 100, flags=SYN), wire.packet(0, 104, b"def")]
    )
    assert len(tcp.connections) == 1
    assert bytes(reader.streams[0]) == b"abcdef"


def test_data_in_syn_rst_and_after_fin(wire, either_streams):
    packets = [
        wire.packet(0, 100, b"fast ", flags=SYN),
        wire.packet(1, 500, flags=SYN, ack=106),
        wire.packet(0, 106, b"open", ack=501, flags=FIN),
        wire.packet(0, 111, b"late", ack=501),
        wire.packet(1, 501, b"reset for a reason", ack=111, flags=RST),
    ]
    tcp, reader, events, kinds = follow(wire, packets, either_streams)
    assert bytes(reader.streams[0]) == b"fast open"
    assert not reader.streams[1]
    assert tcp.sides["after_fin"].tolist() == [1, 0]
    assert kinds == ["fin_0"]
    assert ("rst", 0, 1) in events


@pytest.mark.parametrize("garbage", [b"", b"\0"])
def test_keepalives_are_not_data(wire, either_streams, garbage):
    packets = [*handshake(wire), wire.packet(0, 101, b"abc", ack=501), wire.packet(0, 103, garbage, ack=501)]
    packets += [wire.packet(1, 501, ack=104), wire.packet(0, 104, b"def", ack=501)]
    tcp, reader, events, _ = follow(wire, packets, either_streams)
    assert bytes(reader.streams[0]) == b"abcdef"
    assert tcp.sides["keepalives"].tolist() == [1, 0]
    assert ("keepalive", 0, 0) in events
    assert tcp.sides["retransmitted"].tolist() == [0, 0]


def test_a_closed_window_is_noted_when_it_begins_and_when_it_ends(wire):
    packets = handshake(wire) + [wire.packet(1, 501, ack=101, window=w) for w in (5, 0, 0, 3, 0)]
    events = [event for event in follow(wire, packets)[2] if "window" in event[0]]
    assert events == [("zero_window", 0, 1), ("window_open", 0, 1), ("zero_window", 0, 1)]


def test_duplicated_capture_changes_no_stream(wire):
    """`-i any` and mirror ports show every packet twice."""
    packets = [*handshake(wire), wire.packet(0, 101, b"abc", ack=501), wire.packet(1, 501, b"xyz", ack=104)]
    packets += [wire.packet(0, 104, ack=504, flags=FIN), wire.packet(1, 504, ack=105, flags=FIN)]
    tcp, reader, _, kinds = follow(wire, [p for p in packets for _ in range(2)])
    assert (bytes(reader.streams[0]), bytes(reader.streams[1])) == (b"abc", b"xyz")
    assert kinds == ["fin_0"]
    assert not any(reader.gaps.values())
    assert tcp.sides["bytes"].tolist() == [3, 3]
