"""Writes rows of EVENT. Arguments are records: seg a SEGMENT_ROW, n the COUNTERS, event the row to be written next."""

from typing import Any

from kafkascope_parsers.kernels import kernel


@kernel
def note_event(seg: Any, n: Any, event: Any, what: tuple[int, int, int, int]) -> None:
    """Writes an event of the segment: kind, direction, stream offset, bytes."""
    n.events += 1
    event.kind, direction, event.stream_offset, event.bytes = what
    event.connection, event.side = direction >> 1, direction & 1
    event.ts_ns, event.packet_no = seg.ts_ns, seg.packet_no
