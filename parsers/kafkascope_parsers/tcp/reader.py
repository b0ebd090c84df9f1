"""Makes streams from segments, block after block: calls the kernels, and keeps what they need of earlier blocks."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from kafkascope_parsers.link.segments import SegmentArrays, Segments
from kafkascope_parsers.row_copies import copy_rows
from kafkascope_parsers.tcp.assemble import Assembler
from kafkascope_parsers.tcp.first_copies import keep_first_copies
from kafkascope_parsers.tcp.flows import ROWS_OF_CONNECTIONS, grown, with_more_slots
from kafkascope_parsers.tcp.spans import SPAN, open_spans
from kafkascope_parsers.tcp.state import (
    CHUNK,
    EVENT,
    FIRST_COPY_BYTES,
    OPEN,
    UNANSWERED,
    WAITING_BYTES_IN_ALL,
    Payloads,
    Taken,
    empty_tables,
    room_for,
    with_parts,
    with_room,
)
from kafkascope_parsers.tcp.streams import GAP_LOST, Streams
from kafkascope_parsers.tcp.track import take_segments
from kafkascope_parsers.tcp.waiting import Work, finish_waiting, keep_waiting

_NOTHING = np.empty(0, np.uint8)
_CONNECTIONS_AT_A_TIME = 1 << 13
"""Connections whose open spans are gathered at a time: some 1 kB each."""


class TcpStreams:
    """All connections of one bucket of flows. `push` every block of a capture, then `finish`.

    After each push, `connections` and `sides` hold all connections so far, `events` the events of the block, and
    `spans` the runs, waits and slices that ended in it; `open_spans` has those that are left after `finish`. The bytes
    of the streams are valid until the next push, so copy those that are needed longer.

    waiting_limit: bytes that wait behind holes, of all directions together.
    """

    def __init__(self, bucket: int = 0, n_buckets: int = 1, *, waiting_limit: int = WAITING_BYTES_IN_ALL) -> None:
        self._bucket = (bucket, n_buckets)
        self._tables = empty_tables(waiting_limit)
        self._assembler = Assembler()
        self._waiting = _NOTHING
        self._copies = _NOTHING
        self._copy_rows = np.empty(0, CHUNK)
        self.events: NDArray[np.void] = np.empty(0, EVENT)
        self.spans: NDArray[np.void] = np.empty(0, SPAN)

    @property
    def connections(self) -> NDArray[np.void]:
        """CONNECTION rows; a view, valid until the next push."""
        return self._tables.connections[: self._n("connections")]

    @property
    def sides(self) -> NDArray[np.void]:
        """SIDE rows, two per connection; a view, valid until the next push."""
        return self._tables.sides[: 2 * self._n("connections")]

    @property
    def n_over_limit(self) -> int:
        """Segments left out because there were too many connections."""
        return self._n("over_limit")

    def close_kinds(self) -> NDArray[np.uint8]:
        """The end of each connection, as an index into CLOSE_KINDS."""
        connections, sides = self.connections, self.sides
        kinds: NDArray[np.uint8] = connections["close_kind"].copy()
        silent = (sides["segments"][1::2] == 0) & (sides["segments"][0::2] == connections["n_syn"])
        kinds[(kinds == OPEN) & silent & (connections["n_syn"] > 0)] = UNANSWERED
        return kinds

    def push(self, buf: NDArray[np.uint8], segments: Segments) -> Streams:
        """Takes the segments of a block, whose offsets refer to buf."""
        columns = SegmentArrays(*(getattr(segments, name) for name in SegmentArrays._fields))
        n_copies = len(self._copy_rows)
        taken = room_for(len(segments), n_copies)
        copy_rows(taken.chunks, self._copy_rows)
        n, held = self._tables.n, Payloads(buf, self._waiting, self._copies)
        n["first_chunk"] += n["chunks"] - n_copies
        n["chunks"], n["events"], n["spans"] = n_copies, 0, 0
        at = take_segments(columns, 0, self._tables, taken, (held, *self._bucket))
        while at < len(segments):
            taken = self._with_room(taken)
            at = take_segments(columns, at, self._tables, taken, (held, *self._bucket))
        chunks = taken.chunks[n_copies : self._n("chunks")]
        self.events = taken.events[: self._n("events")]
        self.spans = taken.spans[: self._n("spans")]
        streams = self._assembler.assemble(chunks, (held.block, held.waiting), self.sides, final=False)
        self._keep(taken, held)
        return streams

    def keep_rest(self, streams: Streams, consumed: NDArray[np.int64]) -> None:
        """Keeps the unread rest of the streams of the last push, which the next push gives again, before later bytes.
        consumed: int64 per run, how far it was read in streams.data (start <= consumed <= end). Without this call the
        next push continues after the last byte of each run.
        """
        self._assembler.keep_rest(streams, consumed)

    def finish(self) -> Streams:
        """Ends the capture: waiting bytes are given after gaps, and every tail is given once more."""
        held = Payloads(_NOTHING, self._waiting, self._copies)
        n = self._tables.n
        n["first_chunk"] += n["chunks"]
        n["chunks"], n["events"] = 0, 0
        taken = room_for(self._n("parts_used"), 0)
        work = Work(self._tables.parts, taken.chunks, taken.events, n, held)
        finish_waiting(self._tables.scratch[0], self.sides, work)
        chunks, self.events = taken.chunks[: self._n("chunks")], taken.events[: self._n("events")]
        self._copy_rows = self._copy_rows[:0]
        streams = self._assembler.assemble(chunks, (held.block, held.waiting), self.sides, final=True)
        self.spans = self.spans[:0]
        account_for_ends(self.sides)
        return streams

    def open_spans(self) -> Iterator[NDArray[np.void]]:
        """Yields the runs, waits and slices that have not ended at the end of the capture, some connections at a
        time."""
        t, n = self._tables, self._n("connections")
        for first in range(0, n, _CONNECTIONS_AT_A_TIME):
            end = min(first + _CONNECTIONS_AT_A_TIME, n)
            yield open_spans(t.liveness[4 * first : 4 * end], t.ack_times[2 * first : 2 * end], 2 * first)

    def _with_room(self, taken: Taken) -> Taken:
        """More room in all tables for which the kernel may have stopped."""
        if self._n("connections") >= len(self._tables.connections):
            self._tables = with_more_slots(self._tables)
            for name in ROWS_OF_CONNECTIONS:
                self._tables = grown(self._tables, name)
        self._tables = with_parts(self._tables)
        return with_room(taken, self._tables.n)

    def _keep(self, taken: Taken, held: Payloads) -> None:
        """Copies waiting bytes, and bytes with which later segments may be compared, out of the block."""
        n = self._tables.n
        chunks = taken.chunks[: self._n("chunks")]
        position = self._n("position")
        recent = chunks[chunks["position"] > position - FIRST_COPY_BYTES]
        rows, copies = np.empty(len(chunks), CHUNK), np.empty(int(recent["length"].sum()), np.uint8)
        n_rows, size = keep_first_copies(chunks, position, held, (rows, copies))
        waiting = _NOTHING
        if self._n("parts_used"):
            waiting = np.empty(self._n("waiting_bytes"), np.uint8)
            waiting = waiting[: keep_waiting(Work(self._tables.parts, taken.chunks, taken.events, n, held), waiting)]
        else:
            n["parts"], n["free_part"] = 0, -1
        self._copy_rows, self._copies, self._waiting = rows[:n_rows], copies[:size], waiting

    def _n(self, name: str) -> int:
        return int(self._tables.n[name][0])


def account_for_ends(sides: NDArray[np.void]) -> None:
    """Counts the bytes that are missing after the last byte of each stream that was given. sides: rows of SIDE."""
    rest = sides["next"] - sides["stream_bytes"] - sides["missing_bytes"] - sides["cut_bytes"]
    lost = sides["gap_kind"] == GAP_LOST
    sides["missing_bytes"] += np.where(lost, rest, 0)
    sides["cut_bytes"] += np.where(lost, 0, rest)
