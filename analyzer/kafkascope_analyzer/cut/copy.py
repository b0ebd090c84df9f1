"""The pass over the captures: reads every block once, and copies its chosen packets to the piece. Memory is one block.

Files are read in the dataset's order, packets keep their file's order, time, lengths and link type; those of capture
points get the times of the dataset, which are on one clock.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from kafkascope_analyzer.cut.flows import flow_keys, touches
from kafkascope_analyzer.cut.originals import Original
from kafkascope_analyzer.cut.packet_numbers import PacketRange
from kafkascope_analyzer.cut.plan import Plan
from kafkascope_analyzer.read.points.clock import PointClock
from kafkascope_analyzer.read.source import Block, CaptureFile
from kafkascope_parsers.capture import Packets
from kafkascope_parsers.capture.pcapng_writer import PcapngWriter, Section
from kafkascope_parsers.link import LinkReader, Segments

Flags = NDArray[np.bool_]


@dataclass(slots=True)
class Copied:
    """Counts of the packets in the piece. flows: a hash of each TCP connection's endpoints; ports: all ports of both
    ends."""

    n_packets: int = 0
    n_bytes: int = 0
    first_ns: int = 0
    last_ns: int = 0
    flows: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, np.uint64))
    ports: NDArray[np.uint16] = field(default_factory=lambda: np.zeros(0, np.uint16))

    def take(self, packets: Packets, segments: Segments, chosen: Flags) -> None:
        """Counts chosen packets, and the connections of their segments."""
        ts = packets.ts_ns[chosen]
        first, last = int(ts.min()), int(ts.max())
        self.first_ns = min(first, self.first_ns) if self.n_packets else first
        self.last_ns = max(last, self.last_ns) if self.n_packets else last
        self.n_packets += len(ts)
        kept = np.isin(segments.packet_no, packets.packet_no[chosen])
        self.flows = np.union1d(self.flows, flow_keys(segments)[kept])
        ports = np.concatenate([segments.source_port[kept], segments.destination_port[kept]])
        self.ports = np.union1d(self.ports, ports)


def copy_packets(
    originals: Iterable[Original],
    plan: Plan,
    file: BinaryIO,
    section: Section,
    progress: Callable[[int], None],
) -> Copied:
    """Writes the piece to `file`; nothing at all where no packet is chosen.

    section: the section header of the piece. progress: is called with the number of bytes read so far. Raises
    CaptureError.
    """
    copied, writer, before = Copied(), None, 0
    for original in originals:
        if _is_out_of_time(original, plan):
            continue
        capture, link = CaptureFile(original.place), LinkReader()
        for block in capture.blocks():
            block = _corrected(block, original.clock)
            candidates = _only(block.packets, _by_number_and_time(block.packets, original.capture_id, plan))
            if len(candidates):
                chosen, segments = _by_flow(block, candidates, plan, link)
                if chosen.any():
                    writer = writer or PcapngWriter(file, section)
                    kept = _only(candidates, chosen)
                    writer.write(block.buf, kept, capture.info.snaplen, plan.comments.options(kept))
                    copied.take(candidates, segments, chosen)
            progress(before + capture.info.size_bytes)
        before += capture.info.size_bytes
    copied.n_bytes = writer.n_bytes if writer else 0
    return copied


def _corrected(block: Block, clock: PointClock | None) -> Block:
    """Returns the block with the times of the dataset, so that the packets of all capture points are on one clock."""
    if clock is None:
        return block
    return replace(block, packets=replace(block.packets, ts_ns=clock.corrected(block.packets.ts_ns)))


def _is_out_of_time(original: Original, plan: Plan) -> bool:
    """Whether the manifest shows that no packet of the file is within the plan's time."""
    if original.first_ns is None or original.last_ns is None:
        return False
    bounds = plan.spans.bounds if plan.spans else plan.window
    return bounds is not None and (original.last_ns < bounds[0] or original.first_ns > bounds[1])


def _by_number_and_time(packets: Packets, capture_id: int, plan: Plan) -> Flags:
    chosen = np.ones(len(packets), np.bool_)
    bounds = plan.spans.bounds if plan.spans else plan.window
    if bounds is not None:
        chosen &= (packets.ts_ns >= bounds[0]) & (packets.ts_ns <= bounds[1])
    if plan.packets is not None:
        chosen &= _in_ranges(packets.packet_no, capture_id, plan.packets)
    return chosen


def _in_ranges(numbers: NDArray[np.int64], capture_id: int, ranges: tuple[PacketRange, ...]) -> Flags:
    found = np.zeros(len(numbers), np.bool_)
    for wanted in ranges:
        if wanted.capture_id in (None, capture_id):
            found |= (numbers >= wanted.first) & (numbers <= wanted.last)
    return found


def _by_flow(block: Block, packets: Packets, plan: Plan, link: LinkReader) -> tuple[Flags, Segments]:
    """Returns which packets pass the tests for connections, and their segments."""
    _, segments = link.read_segments(block.buf, packets)
    if plan.flows is None and plan.endpoints is None:
        return np.ones(len(packets), np.bool_), segments
    wanted = np.ones(len(segments), np.bool_)
    if plan.endpoints is not None:
        wanted = np.logical_or.reduce([touches(segments, endpoint) for endpoint in plan.endpoints])
    if plan.flows is not None and plan.spans is not None:
        wanted &= plan.spans.find(plan.flows.of(segments), segments.ts_ns) >= 0
    return np.isin(packets.packet_no, segments.packet_no[wanted]), segments


def _only(packets: Packets, chosen: Flags) -> Packets:
    return Packets(*(getattr(packets, name)[chosen] for name in Packets.__dataclass_fields__))
