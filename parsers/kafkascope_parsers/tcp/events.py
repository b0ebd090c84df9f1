"""Writes rows of EVENT. Arguments are records: seg a SEGMENT_ROW, n the COUNTERS, row the next one to write."""

from typing import Any, NamedTuple

import numpy as np

from kafkascope_parsers.kernels import kernel


class Event(NamedTuple):
    """A TCP event: its kind (an E_ constant), its direction, its offset in the stream and its length in bytes."""

    kind: int
    direction: int
    stream_offset: int | np.int64
    bytes: int


@kernel
def note_event(seg: Any, n: Any, row: Any, event: Event) -> None:
    """Writes an event of the segment into the row."""
    n.events += 1
    row.kind, row.stream_offset, row.bytes = event.kind, event.stream_offset, event.bytes
    row.connection, row.side = event.direction >> 1, event.direction & 1
    row.ts_ns, row.packet_no = seg.ts_ns, seg.packet_no
