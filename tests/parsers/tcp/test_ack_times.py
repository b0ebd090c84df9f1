"""How soon what a side sends is acknowledged: by hand, and as a slow twin in plain Python says."""

import numpy as np
import pytest

from kafkascope_parsers.tcp.reader import TcpStreams
from kafkascope_parsers.tcp.spans import ACKED, SLICE_NS

FIN, SYN, RST, ACK = 1, 2, 4, 16
MS = 1_000_000


def slices_of(wire, packets, block=1000):
    """(direction, first packet, last packet, acknowledged, least, most without payload) of all slices; milliseconds."""
    tcp, found = TcpStreams(), []
    for first in range(0, max(len(packets), 1), block):
        tcp.push(*wire.segments(packets[first : first + block], first + 1))
        found.append(tcp.spans)
    tcp.finish()
    rows = [row for row in np.concatenate([*found, *tcp.open_spans()]) if row["kind"] == ACKED]
    names = ("direction", "first_packet", "last_packet", "n_quick")
    return sorted((*(int(r[n]) for n in names), int(r["least_ns"]) // MS, int(r["most_ns"]) // MS) for r in rows)


def test_a_kernel_that_delays_and_a_response_that_comes_sooner(wire):
    packets = [
        wire.packet(0, 101, b"q" * 10, ack=501, ts_ns=10 * MS),
        wire.packet(1, 501, ack=111, ts_ns=50 * MS),
        wire.packet(0, 111, b"q" * 10, ack=501, ts_ns=60 * MS),
        wire.packet(1, 501, b"a" * 5, ack=121, ts_ns=63 * MS),
        wire.packet(0, 121, ack=506, ts_ns=64 * MS),
    ]
    assert slices_of(wire, packets) == [(0, 1, 4, 2, 3, 40), (1, 4, 5, 1, 1, 1)]


def test_an_acknowledgment_of_earlier_segments_is_none_of_later_ones(wire):
    """A path of 100 ms: what arrives right after a segment was sent is about those before it."""
    packets = [
        wire.packet(0, 101, b"q" * 10, ack=501, ts_ns=10 * MS),
        wire.packet(0, 111, b"q" * 10, ack=501, ts_ns=109 * MS),
        wire.packet(1, 501, ack=111, ts_ns=110 * MS),
        wire.packet(0, 121, b"q" * 10, ack=501, ts_ns=111 * MS),
        wire.packet(1, 501, ack=121, ts_ns=209 * MS),
        wire.packet(1, 501, ack=131, ts_ns=211 * MS),
    ]
    assert slices_of(wire, packets) == [(0, 1, 6, 2, 100, 100)]


def test_what_is_sent_again_is_not_timed(wire):
    packets = [
        wire.packet(0, 101, b"q" * 10, ack=501, ts_ns=10 * MS),
        wire.packet(0, 101, b"q" * 10, ack=501, ts_ns=210 * MS),
        wire.packet(1, 501, ack=111, ts_ns=211 * MS),
    ]
    assert slices_of(wire, packets) == []


def test_a_slice_of_time_has_a_row_of_its_own(wire):
    packets = []
    for number, at in enumerate((10 * MS, SLICE_NS - MS, SLICE_NS + MS, 7 * SLICE_NS)):
        seq = 101 + 10 * number
        packets.append(wire.packet(0, seq, b"q" * 10, ack=501, ts_ns=at))
        packets.append(wire.packet(1, 501, ack=seq + 10, ts_ns=at + (number + 3) * MS))
    assert slices_of(wire, packets) == [(0, 1, 4, 2, 3, 4), (0, 5, 6, 1, 5, 5), (0, 7, 8, 1, 6, 6)]


class Twin:
    """The same in plain Python, for streams whose sequence numbers do not wrap."""

    def __init__(self):
        self.high, self.timed, self.samples = [None, None], [None, None], []

    def take(self, number, p):
        size = len(p.payload) + bool(p.flags & SYN) + bool(p.flags & FIN)
        if p.flags & RST:
            self.timed = [None, None]
            return
        asked = self.timed[1 - p.side]
        if p.ack is not None and asked is not None and p.ack >= asked[2]:
            self.samples.append((1 - p.side, *asked[:2], p.ts_ns, number, not p.payload))
            self.timed[1 - p.side] = None
        end, high = p.seq + size, self.high[p.side]
        if size and high is not None and end <= high:
            self.timed[p.side] = None
        elif size and self.timed[p.side] is None:
            self.timed[p.side] = (p.ts_ns, number, end)
        if size or high is None:
            self.high[p.side] = max(end, high or 0)

    def slices(self):
        of_slice = {}
        for side, asked_ns, *rest in self.samples:
            of_slice.setdefault((side, asked_ns // SLICE_NS), []).append((asked_ns, *rest))
        rows = []
        for (side, _), samples in of_slice.items():
            took = [until - asked for asked, _, until, _, _ in samples]
            pure = [ns for ns, (*_, alone) in zip(took, samples, strict=True) if alone]
            ends = samples[0][1], samples[-1][3]
            rows.append((side, *ends, len(samples), min(took) // MS, max(pure, default=0) // MS))
        return sorted(rows)


def random_packets(wire, seed):
    """Segments of two sides: new ones, some sent again, with acknowledgments of all or of less, and pauses."""
    rng = np.random.default_rng(seed)
    sent, packets, at = [101, 501], [], 0
    for _ in range(int(rng.integers(5, 120))):
        at += int(rng.choice([MS, 40 * MS, 400 * MS, 3000 * MS], p=[0.6, 0.2, 0.15, 0.05]))
        side, size = int(rng.integers(2)) if packets else 0, int(rng.choice([0, 1, 10]))
        back = int(rng.choice([0, 10], p=[0.9, 0.1]))
        seq, ack = max(sent[side] - back, (101, 501)[side]), sent[1 - side] - int(rng.choice([0, 5], p=[0.7, 0.3]))
        flags = RST if rng.random() < 0.01 else 0
        packets.append(wire.packet(side, seq, b"x" * size, ack=ack, flags=flags, ts_ns=at))
        if not flags:
            sent[side] = max(sent[side], seq + size)
    return packets


@pytest.mark.parametrize("seed", range(100))
def test_kernels_find_what_the_twin_finds(wire, seed):
    packets = random_packets(wire, seed)
    twin = Twin()
    for number, packet in enumerate(packets, 1):
        twin.take(number, packet)
    assert slices_of(wire, packets) == slices_of(wire, packets, block=7) == twin.slices()
