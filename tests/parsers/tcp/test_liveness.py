"""When sides of a connection were heard from and when they waited: by hand, and as a slow twin in plain Python says."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from kafkascope_parsers.tcp.reader import TcpStreams
from kafkascope_parsers.tcp.spans import ACKED, ENDED_BY, WAIT

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
S = 1_000_000_000
MS = 1_000_000
KINDS = ("run packet", "run payload", "wait packet", "wait payload")


def rows_of(wire, packets, block=1000):
    """All spans, in the order in which they end."""
    tcp, found = TcpStreams(), []
    for first in range(0, max(len(packets), 1), block):
        tcp.push(*wire.segments(packets[first : first + block], first + 1))
        found.append(tcp.spans)
    tcp.finish()
    spans = np.concatenate([*found, *tcp.open_spans()])
    return spans[spans["kind"] != ACKED]


def spans_of(wire, packets, block=1000):
    """(direction, kind, first packet, last packet, until packet, ended by) of all spans, in order."""
    names = ("first_packet", "last_packet", "until_packet")
    return sorted(
        (int(r["direction"]), KINDS[r["kind"]], *(int(r[name]) for name in names), ENDED_BY[r["ended_by"]])
        for r in rows_of(wire, packets, block)
    )


def quick_of(wire, packets, block=1000):
    """(direction, kind, first packet, quick waits before it) of all waits, in order."""
    rows = rows_of(wire, packets, block)
    waits = (r for r in rows if r["kind"] >= WAIT)
    return sorted((int(r["direction"]), KINDS[r["kind"]], int(r["first_packet"]), int(r["n_quick"])) for r in waits)


def waits_of(spans):
    return [span for span in spans if KINDS.index(span[1]) >= WAIT]


def handshake(wire, at=0):
    return [
        wire.packet(0, 100, flags=SYN, ts_ns=at + 1 * MS),
        wire.packet(1, 500, ack=101, flags=SYN, ts_ns=at + 2 * MS),
        wire.packet(0, 101, ack=501, ts_ns=at + 3 * MS),
    ]


def test_a_server_whose_kernel_answers_and_whose_process_does_not(wire):
    packets = [
        *handshake(wire),
        wire.packet(0, 101, b"q" * 10, ack=501, ts_ns=10 * MS),
        wire.packet(1, 501, ack=111, ts_ns=11 * MS),
        wire.packet(1, 501, b"a" * 5, ack=111, ts_ns=4 * S),
    ]
    assert [span for span in waits_of(spans_of(wire, packets)) if span[0] == 0] == [
        (0, "wait payload", 4, 4, 6, "data")
    ]


def test_a_server_that_is_silent(wire):
    packets = [
        *handshake(wire),
        wire.packet(0, 101, b"q" * 10, ack=501, ts_ns=10 * MS),
        wire.packet(0, 101, b"q" * 10, ack=501, ts_ns=300 * MS),
        wire.packet(0, 101, b"q" * 10, ack=501, ts_ns=900 * MS),
    ]
    assert spans_of(wire, packets) == [
        (0, "run packet", 1, 4, 0, "open"),
        (0, "run payload", 4, 4, 0, "open"),
        (0, "wait packet", 4, 6, 0, "open"),
        (0, "wait payload", 4, 6, 0, "open"),
        (1, "run packet", 2, 2, 0, "open"),
    ]


def test_connections_that_are_not_accepted(wire):
    silent = [wire.packet(0, 100, flags=SYN, ts_ns=at) for at in (1 * S, 2 * S, 4 * S)]
    assert waits_of(spans_of(wire, silent)) == [(0, "wait packet", 1, 3, 0, "open")]
    refused = [*silent, wire.packet(1, 0, ack=101, flags=RST, ts_ns=4 * S + MS)]
    assert waits_of(spans_of(wire, refused)) == [(0, "wait packet", 1, 3, 4, "rst")]


def test_what_a_server_repeats_without_receiving_anything_is_no_reaction(wire):
    """The way to the server is cut: both sides send again what the other does not acknowledge."""
    packets = [
        *handshake(wire),
        wire.packet(0, 101, b"q" * 10, ack=501, ts_ns=10 * MS),
        wire.packet(1, 501, b"a" * 5, ack=111, ts_ns=20 * MS),
        wire.packet(0, 111, b"q" * 10, ack=506, ts_ns=30 * MS),
        wire.packet(1, 501, b"a" * 5, ack=111, ts_ns=400 * MS),
        wire.packet(0, 111, b"q" * 10, ack=506, ts_ns=500 * MS),
        wire.packet(1, 501, b"a" * 5, ack=111, ts_ns=1000 * MS),
        wire.packet(1, 506, ack=121, ts_ns=1100 * MS),
    ]
    spans = spans_of(wire, packets)
    assert (0, "wait packet", 6, 8, 10, "ack") in spans
    assert (1, "run payload", 5, 5, 0, "open") in spans


def test_what_a_server_repeats_while_nobody_waits_is_no_sign_of_it(wire):
    """The client's acknowledgments are lost on their way."""
    packets = [
        *handshake(wire),
        wire.packet(0, 101, b"q" * 10, ack=501, ts_ns=10 * MS),
        wire.packet(1, 501, b"a" * 5, ack=111, ts_ns=20 * MS),
        wire.packet(0, 111, ack=506, ts_ns=21 * MS),
        wire.packet(1, 501, b"a" * 5, ack=111, ts_ns=3 * S),
    ]
    assert (1, "run packet", 2, 5, 0, "open") in spans_of(wire, packets)


def test_an_acknowledgment_shows_what_the_capture_lacks(wire):
    """Only the packets of the client are captured."""
    packets = [
        wire.packet(0, 100, flags=SYN, ts_ns=1 * MS),
        wire.packet(0, 101, b"q" * 10, ack=501, ts_ns=2 * MS),
        wire.packet(0, 111, b"q" * 10, ack=600, ts_ns=3 * S),
        wire.packet(0, 121, b"q" * 10, ack=700, ts_ns=6 * S),
    ]
    spans = spans_of(wire, packets)
    assert {span[5] for span in waits_of(spans)} == {"hidden", "open"}
    assert [span[2:4] for span in spans if span[:2] == (1, "run payload")] == [(2, 2), (3, 3), (4, 4)]


@pytest.mark.parametrize("flags", [FIN, RST])
def test_a_client_that_gives_up(wire, flags):
    packets = [
        *handshake(wire),
        wire.packet(0, 101, b"q", ack=501, ts_ns=10 * MS),
        wire.packet(1, 501, ack=102, ts_ns=11 * MS),
        wire.packet(0, 102, ack=501, flags=flags, ts_ns=3 * S),
    ]
    assert (0, "wait payload", 4, 4, 6, "gave_up") in spans_of(wire, packets)


def test_waits_that_end_at_once_are_counted_until_a_long_one(wire):
    packets = [
        *handshake(wire),
        wire.packet(0, 101, b"q", ack=501, ts_ns=10 * MS),
        wire.packet(1, 501, ack=102, ts_ns=11 * MS),
        wire.packet(0, 102, b"q", ack=501, ts_ns=20 * MS),
        wire.packet(1, 501, ack=103, ts_ns=720 * MS),
        wire.packet(0, 103, b"q", ack=501, ts_ns=800 * MS),
        wire.packet(1, 501, ack=104, ts_ns=1500 * MS),
    ]
    assert [quick for quick in quick_of(wire, packets) if quick[1] == "wait packet"] == [
        (0, "wait packet", 6, 2),
        (0, "wait packet", 8, 0),
    ]


@dataclass
class Side:
    """What the twin keeps of a side."""

    sent: dict[str, list[tuple[int, int]]] = field(default_factory=lambda: {"packet": [], "payload": []})
    asked: dict[str, list[tuple[int, int]]] = field(default_factory=lambda: {"packet": [], "payload": []})
    quick: dict[str, int] = field(default_factory=lambda: {"packet": 0, "payload": 0})
    high: int | None = None
    ack: int | None = None
    syn: bool = False


class Twin:
    """The same in plain Python, for streams whose sequence numbers do not wrap: it keeps everything."""

    def __init__(self):
        self.sides = (Side(), Side())
        self.spans = []
        self.quick = []

    def take(self, number, p):
        me, peer = self.sides[p.side], self.sides[1 - p.side]
        size, at = len(p.payload), (p.ts_ns, number)
        end = p.seq + size + bool(p.flags & SYN) + bool(p.flags & FIN)
        fresh = size > 0 and (me.high is None or p.seq + size > me.high)
        moved = p.ack is not None and (me.ack is None or p.ack > me.ack)
        probes = me.high is not None and size <= 1 and not p.flags & (SYN | FIN | RST) and p.seq == me.high - 1
        idle = not peer.asked["packet"] and (size == 0 or fresh or probes)
        if idle or p.flags & (SYN | RST) or (size == 0 and not p.flags & FIN) or moved:
            me.sent["packet"].append(at)
            self.answer(1 - p.side, "packet", at, self.kind(p))
        if fresh and not p.flags & RST:
            me.sent["payload"].append(at)
        if (fresh and not p.flags & RST) or p.flags & (FIN | RST):
            self.answer(1 - p.side, "payload", at, self.kind(p))
        if p.ack is not None and not p.flags & (SYN | RST) and self.shows_more(p, me, peer):
            for layer in ("packet", "payload"):
                peer.sent[layer].append(at)
                self.answer(p.side, layer, at, "hidden")
            if peer.high is not None:
                peer.high = p.ack
        if p.flags & RST:
            for layer in ("packet", "payload"):
                self.answer(p.side, layer, at, "gave_up")
            return
        probe = me.high is not None and size <= 1 and not p.flags & (SYN | FIN) and p.seq == me.high - 1
        if size or probe or p.flags & (SYN | FIN):
            me.asked["packet"].append(at)
        if size and not probe and (fresh or me.asked["payload"]):
            me.asked["payload"].append(at)
        if p.flags & FIN:
            self.answer(p.side, "payload", at, "gave_up")
        me.high = end if me.high is None or p.flags & SYN else max(me.high, end)
        me.syn |= bool(p.flags & SYN)
        me.ack = me.ack if p.ack is None else p.ack

    @staticmethod
    def kind(p):
        if p.flags & RST:
            return "rst"
        if p.payload:
            return "data"
        return "fin" if p.flags & FIN else "syn_ack" if p.flags & SYN else "ack"

    @staticmethod
    def shows_more(p, me, peer):
        if peer.high is not None:
            return p.ack > peer.high
        return me.syn if me.ack is None else p.ack != me.ack

    def answer(self, side, layer, at, ended_by):
        asked, least = self.sides[side].asked[layer], 220 * MS if layer == "packet" else S
        if asked and at[0] - asked[0][0] >= least:
            self.spans.append((side, f"wait {layer}", asked[0][1], asked[-1][1], at[1], ended_by))
            self.note_quick(side, layer)
        elif asked:
            self.sides[side].quick[layer] += 1
        asked.clear()

    def note_quick(self, side, layer):
        me = self.sides[side]
        self.quick.append((side, f"wait {layer}", me.asked[layer][0][1], me.quick[layer]))
        me.quick[layer] = 0

    def finish(self):
        for number, side in enumerate(self.sides):
            for layer, sent in side.sent.items():
                cuts = [i for i in range(1, len(sent)) if sent[i][0] - sent[i - 1][0] >= S]
                for first, last in zip([0, *cuts], [*cuts, len(sent)], strict=True):
                    if sent:
                        self.spans.append((number, f"run {layer}", sent[first][1], sent[last - 1][1], 0, "open"))
            for layer, asked in side.asked.items():
                if asked:
                    self.spans.append((number, f"wait {layer}", asked[0][1], asked[-1][1], 0, "open"))
                    self.note_quick(number, layer)
        return sorted(self.spans)


def random_packets(wire, seed):
    """Segments of two sides with repetitions, losses and pauses, after a handshake or from the middle."""
    rng = np.random.default_rng(seed)
    packets = handshake(wire) if rng.random() < 0.7 else []
    sent, acked, at = [101, 501], [101, 501], 4 * MS
    for _ in range(int(rng.integers(5, 60))):
        at += int(rng.choice([1 * MS, 40 * MS, 400 * MS, 1200 * MS, 5000 * MS], p=[0.5, 0.2, 0.15, 0.1, 0.05]))
        side = int(rng.integers(2)) if packets else 0
        size, back = int(rng.choice([0, 1, 10])), int(rng.choice([0, 1, 10], p=[0.8, 0.1, 0.1]))
        if rng.random() < 0.8:
            acked[1 - side] = max(acked[1 - side], sent[1 - side])
        seq = max(sent[side] - back, 101 if side == 0 else 501)
        ack = acked[1 - side] + (7 if rng.random() < 0.05 else 0)
        flags = int(rng.choice([0, FIN, RST], p=[0.96, 0.02, 0.02]))
        packets.append(wire.packet(side, seq, b"x" * size, ack=ack, flags=flags, ts_ns=at))
        if not flags & RST:
            sent[side] = max(sent[side], seq + size + bool(flags & FIN))
    return packets


@pytest.mark.parametrize("seed", range(200))
def test_kernels_find_what_the_twin_finds(wire, seed):
    packets = random_packets(wire, seed)
    twin = Twin()
    for number, packet in enumerate(packets, 1):
        twin.take(number, packet)
    expected = twin.finish()
    assert spans_of(wire, packets) == expected
    assert spans_of(wire, packets, block=7) == expected
    assert quick_of(wire, packets) == quick_of(wire, packets, block=7) == sorted(twin.quick)
