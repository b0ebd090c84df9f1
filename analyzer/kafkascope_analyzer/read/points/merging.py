"""Reads all capture points side by side and yields each segment once.

A connection has its times from its home: the first point, by number, of those that see it when it begins. Segments that
other points have seen too are measured (network_times) and left out, unless the home lacks them: then they are inserted
at their time, with the number of the previous packet at the home. The connections of a home are a series, so a
connection that only one point has seen has the same result as if that point were read alone, except for the corrected
clock.

Points are read in turn, always the one that lags behind most on the common clock. Segments older by WINDOW_NS than the
last segment of the point that lags behind are judged: by then the views of all points are known. Memory: two or three
blocks of each point, and the segments within WINDOW_NS, up to HELD_BYTES.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.limits_hit import DATAGRAMS, FRAGMENTS
from kafkascope_analyzer.read.points.assignment import CapturePoint, CapturePoints
from kafkascope_analyzer.read.points.clock import PointClock
from kafkascope_analyzer.read.points.copies import WINDOW_NS, FlowTable, Rows, find_copies, find_covered
from kafkascope_analyzer.read.points.network_times import NetworkTimes
from kafkascope_analyzer.read.points.offsets import estimate_clocks
from kafkascope_analyzer.read.points.samples import SegmentSampler, ends_of, hashed
from kafkascope_analyzer.read.reading import ReadBlock
from kafkascope_analyzer.read.series import SLACK_NS
from kafkascope_analyzer.read.source import CaptureFile, CaptureInfo
from kafkascope_analyzer.read.window import Buffers
from kafkascope_parsers.capture import Secrets
from kafkascope_parsers.errors import UsageError
from kafkascope_parsers.kernels import kernel
from kafkascope_parsers.link import Datagram, LinkReader, Segments
from kafkascope_parsers.link.datagrams import DATAGRAM_LIMIT
from kafkascope_parsers.link.segments import room_for_segments
from kafkascope_parsers.tcp.assemble import copy_bytes
from kafkascope_parsers.tcp.flows import flow_hashes

SAMPLED_SEGMENTS = 1 << 21
"""Segments by which clocks are compared, of all points together: 52 MB."""
SAMPLED_AT_A_POINT = 1 << 16

HELD_BYTES = 256 << 20
"""Most bytes of captures that wait for other points. Beyond it they no longer wait for WINDOW_NS."""

_LEAST_BLOCK = 1 << 18
_APART = "one of them has to be a capture point of its own"
_NOTHING = np.empty(0, np.uint8)
_SEGMENT_COST = 64
"""Bytes that are counted for a segment besides its payload when blocks are filled: more than Workers need to have room
for it."""

Longs = NDArray[np.int64]


class _NewBuffers:
    """A separate buffer for each block, so that blocks stay valid as long as they are referenced."""

    def __init__(self, n_bytes: int) -> None:
        self._n_bytes = n_bytes

    def next(self) -> NDArray[np.uint8]:
        """Returns a new buffer."""
        return np.empty(self._n_bytes, np.uint8)


@dataclass(slots=True)
class _Batch:
    """Segments of a block, on the common clock. merge_ns: times that never decrease; keys, flows, directions, matched:
    see copies.Rows. Segments before `judged` were passed on or left out."""

    point: int
    capture_id: int
    buf: NDArray[np.uint8]
    segments: Segments
    merge_ns: Longs
    key: NDArray[np.uint64]
    flow: NDArray[np.uint64]
    direction: NDArray[np.uint8]
    matched: NDArray[np.int16]
    judged: int = 0

    def rows(self, number: int, first: int, end: int) -> Rows:
        """Returns segments as rows; number: number of the batch."""
        s, part = self.segments, slice(first, end)
        n = len(self.key[part])
        return Rows(
            self.key[part],
            self.flow[part],
            self.direction[part],
            np.full(n, self.point, np.int16),
            s.ts_ns[part],
            self.merge_ns[part],
            s.seq[part],
            s.flags[part],
            s.length[part],
            self.matched[part],
            np.full(n, number, np.int32),
            np.arange(n, dtype=np.int64) + first,
        )


class _PointReader:
    """Reads the files of a point in order."""

    def __init__(self, number: int, point: CapturePoint, first_id: int, block_bytes: int) -> None:
        self.number, self._point, self._first_id, self._block_bytes = number, point, first_id, block_bytes
        self._link = LinkReader()
        self.clock = PointClock(point.name, point.name)
        self.infos: list[CaptureInfo] = []
        self.last_ns, self.ended = -(1 << 62), False
        self._datagrams: list[Datagram] = []
        self._secrets: tuple[Secrets, ...] = ()
        self._batches = self._read()

    def next(self) -> _Batch | None:
        """Returns the next segments; None at the end."""
        batch = next(self._batches, None)
        self.ended = batch is None
        return batch

    @property
    def capture_id(self) -> int:
        """The number of the file that was opened last."""
        return self._first_id + max(len(self.infos) - 1, 0)

    def take_secrets(self) -> tuple[Secrets, ...]:
        """Returns the secrets in the files since the last call."""
        found, self._secrets = self._secrets, ()
        return found

    def take_datagrams(self) -> list[Datagram]:
        """Returns datagrams since the last call, on the common clock."""
        found, self._datagrams = self._datagrams, []
        if not found:
            return []
        ts_ns = self.clock.corrected(np.array([each.ts_ns for each in found], np.int64)).tolist()
        return [replace(each, ts_ns=corrected) for each, corrected in zip(found, ts_ns, strict=True)]

    def _read(self) -> Iterator[_Batch]:
        for number, place in enumerate(self._point.files):
            buffers = _NewBuffers(self._block_bytes)
            file = CaptureFile(place, self._block_bytes, may_be_empty=True, buffers=buffers)
            self.infos.append(file.info)
            for block in file.blocks():
                buf, segments = self._link.read_segments(block.buf, block.packets)
                self._datagrams += self._link.take_datagrams()
                self._secrets += file.take_secrets()
                yield self._batch(buf, segments, self._first_id + number)
            file.info.kinds = self._link.take_counts()
            file.info.set_clock(self.clock)

    def _batch(self, buf: NDArray[np.uint8], s: Segments, capture_id: int) -> _Batch:
        s = replace(s, ts_ns=self.clock.corrected(s.ts_ns))
        merge_ns = np.maximum.accumulate(np.maximum(s.ts_ns, self.last_ns))
        if len(s):
            self.last_ns = int(merge_ns[-1])
        flow, direction = flow_hashes(ends_of(s))
        numbers = s.seq.astype(np.uint64) << np.uint64(32) | s.ack.astype(np.uint64)
        rest = s.window.astype(np.uint64) << np.uint64(48) | s.flags.astype(np.uint64) << np.uint64(32)
        rest |= s.length.astype(np.uint64)
        key = hashed(flow, direction, numbers, rest)
        return _Batch(self.number, capture_id, buf, s, merge_ns, key, flow, direction, np.full(len(s), -1, np.int16))


class PointsReading:
    """The files of the capture points, each segment once. Like `Reading`: captures is complete after the last block;
    series are the numbers of points."""

    def __init__(self, inputs: CapturePoints, buffers: Buffers) -> None:
        self._inputs, self._buffers = inputs, buffers
        first = buffers.next()
        block_bytes = max(len(first) // len(inputs.points), _LEAST_BLOCK)
        counts = np.cumsum([0, *(len(point.files) for point in inputs.points)]).tolist()
        self._readers = [_PointReader(i, point, counts[i], block_bytes) for i, point in enumerate(inputs.points)]
        self.total_bytes = 2 * sum(place.size_bytes() for place in inputs.places)
        self._n_sampled = 0
        self._reference = np.arange(len(inputs.points))
        self._batches: list[_Batch] = []
        self._flows, self._times = FlowTable(), NetworkTimes()
        self._names_asked: dict[tuple[bytes, bytes, int, int, bytes], tuple[int, int]] = {}

    @property
    def captures(self) -> list[CaptureInfo]:
        """The files so far, by capture_id."""
        return [info for reader in self._readers for info in reader.infos]

    @property
    def read_bytes(self) -> int:
        """Bytes of the stored files that were read; each file is read twice."""
        return self._n_sampled + sum(info.size_bytes for info in self.captures)

    @property
    def limits_hit(self) -> dict[str, int]:
        """Returns the number of packets or fragments that were left out below TCP, by the name of the limit."""
        kinds = [info.kinds for info in self.captures]
        return {FRAGMENTS: sum(k.over_limit for k in kinds), DATAGRAMS: sum(k.datagrams_left_out for k in kinds)}

    def network_times(self) -> pa.Table:
        """NETWORK_TIMES of all connections, after the last block."""
        return self._times.table(self._flows.rows, [point.name for point in self._inputs.points])

    def blocks(self) -> Iterator[ReadBlock]:
        """Yields blocks in order of time. Raises CaptureError when a file cannot be read, UsageError where files of one
        point overlap in time."""
        self._find_clocks()
        while not all(reader.ended for reader in self._readers):
            self._read_more()
            yield from self._beside_segments()
            yield from self._judge(self._judged_until())

    def _find_clocks(self) -> None:
        """The first pass: takes samples of all points, and estimates their clocks from them."""
        limit = min(SAMPLED_SEGMENTS // len(self._readers), SAMPLED_AT_A_POINT)
        samples = [self._sampled(point, SegmentSampler(limit)).sample() for point in self._inputs.points]
        clocks = estimate_clocks([point.name for point in self._inputs.points], samples)
        for reader, clock in zip(self._readers, clocks, strict=True):
            reader.clock = clock
        references = [clock.reference for clock in clocks]
        self._reference = np.array([references.index(name) for name in references], np.int64)

    def _sampled(self, point: CapturePoint, sampler: SegmentSampler) -> SegmentSampler:
        link, end_ns, before = LinkReader(), 0, ""
        for place in point.files:
            file = CaptureFile(place, may_be_empty=True)
            for number, block in enumerate(file.blocks()):
                if number == 0 and before and int(block.packets.ts_ns[0]) < end_ns - SLACK_NS:
                    raise UsageError(f"capture point {point.name}: {before} and {place} overlap in time; {_APART}")
                sampler.take(link.read_segments(block.buf, block.packets)[1])
                link.take_datagrams()
            link.take_counts()
            self._n_sampled += file.info.size_bytes
            if file.info.end_ts_ns is not None:
                end_ns, before = file.info.end_ts_ns, str(place)
        return sampler

    def _read_more(self) -> None:
        """Reads a block of each point, or more of those that lag behind."""
        for _ in self._readers:
            behind = [reader for reader in self._readers if not reader.ended]
            if not behind:
                return
            batch = min(behind, key=lambda reader: reader.last_ns).next()
            if batch is not None and len(batch.segments):
                self._batches.append(batch)

    def _judged_until(self) -> int:
        """Returns the time before which segments can be judged."""
        reading = [reader.last_ns for reader in self._readers if not reader.ended]
        if not reading:
            return 1 << 62
        waiting = sum(len(batch.buf) for batch in self._batches if batch.judged < len(batch.key))
        return min(reading) - (WINDOW_NS if waiting <= HELD_BYTES else 0)

    def _beside_segments(self) -> Iterator[ReadBlock]:
        """Yields the datagrams and secrets that were read, in blocks without segments."""
        for reader in self._readers:
            fresh, secrets = list(self._fresh_datagrams(reader)), reader.take_secrets()
            if fresh or secrets:
                nothing = Segments(*room_for_segments(0))
                yield ReadBlock(reader.number, reader.capture_id, _NOTHING, nothing, fresh, secrets)

    def _fresh_datagrams(self, reader: _PointReader) -> Iterator[Datagram]:
        """Yields the datagrams of a point that no other point has seen."""
        if len(self._names_asked) > DATAGRAM_LIMIT:
            self._names_asked.clear()
        for each in reader.take_datagrams():
            key = (each.source, each.destination, each.source_port, each.destination_port, each.payload)
            known = self._names_asked.get(key)
            if known is None or known[0] == reader.number or abs(known[1] - each.ts_ns) > WINDOW_NS:
                self._names_asked[key] = (reader.number, each.ts_ns)
                yield each

    def _judge(self, until_ns: int) -> Iterator[ReadBlock]:
        """Yields the segments older than that time, each once."""
        ends = [int(np.searchsorted(batch.merge_ns, until_ns)) for batch in self._batches]
        held = [batch.rows(i, 0, len(batch.key)) for i, batch in enumerate(self._batches)]
        if not held:
            return
        rows = Rows(*(np.concatenate(columns) for columns in zip(*held, strict=True)))
        begins = np.array([batch.judged for batch in self._batches], np.int64)
        now = (rows.at >= begins[rows.batch]) & (rows.at < np.array(ends, np.int64)[rows.batch])
        judged = np.flatnonzero(now)
        judged = judged[np.lexsort((rows.point[judged], rows.merge_ns[judged]))]
        known = self._flows.n
        connection = self._flows.find(rows.only(judged))
        self._flows.settle_homes(known, rows)
        home = self._flows.rows["home"][connection]
        given = self._new_segments(rows, judged, (connection, home))
        for batch, matched, end in zip(self._batches, _split(rows.matched, self._batches), ends, strict=True):
            batch.matched, batch.judged = matched, end
        for point in np.unique(home[given]).tolist():
            yield from self._blocks_of(point, rows.only(judged[given & (home == point)]))
        self._batches = [batch for batch in self._batches if batch.merge_ns[-1] >= until_ns - 2 * WINDOW_NS]
        for batch in self._batches:
            if batch.judged == len(batch.key):
                batch.buf = _NOTHING

    def _new_segments(self, rows: Rows, judged: Longs, of: tuple[Longs, NDArray[np.int16]]) -> NDArray[np.bool_]:
        """Returns a mask of the judged segments that no earlier point in order has seen; measures the others. of: their
        connections and the homes of these."""
        connection, home = of
        given = np.ones(len(judged), np.bool_)
        foreign = np.flatnonzero(rows.point[judged] != home)
        foreign = foreign[np.argsort(rows.point[judged[foreign]], kind="stable")]
        copied = find_copies(rows, judged[foreign], home[foreign])
        is_copy = copied >= 0
        first = copied[is_copy]
        mine = judged[foreign[is_copy]]
        whose = connection[foreign[is_copy]]
        at_home = rows.point[first] == home[foreign[is_copy]]
        at_home &= self._reference[rows.point[mine]] == self._reference[rows.point[first]]
        distance = rows.ts_ns[mine] - rows.ts_ns[first]
        self._times.take(
            whose[at_home],
            rows.point[mine][at_home].astype(np.int64),
            rows.direction[mine][at_home].astype(np.int64),
            distance[at_home],
        )
        given[foreign[is_copy]] = False
        rest = foreign[~is_copy]
        given[rest] = ~find_covered(rows, judged[rest], home[rest])
        return given

    def _blocks_of(self, point: int, rows: Rows) -> Iterator[ReadBlock]:
        """Yields blocks of segments with the packet numbers of a point, as large as fits in a buffer. A segment that
        another point has contributed has the number of the packet before it, where there is one in these rows."""
        of_point = np.flatnonzero(rows.point == point)
        if not len(of_point):
            of_point = np.arange(len(rows.key))
        own = np.searchsorted(of_point, np.arange(len(rows.key)), side="right") - 1
        own = of_point[np.maximum(own, 0)]
        segments = self._segments(rows)
        packet_no = segments.packet_no[own]
        capture_id = np.array([batch.capture_id for batch in self._batches], np.int64)[rows.batch[own]]
        first = 0
        while first < len(rows.key):
            buf = self._buffers.next()
            size = np.cumsum(segments.captured[first:].astype(np.int64) + _SEGMENT_COST)
            end = first + max(int(np.searchsorted(size, len(buf), side="right")), 1)
            changes = np.flatnonzero(capture_id[first:end] != capture_id[first])
            end = first + int(changes[0]) if len(changes) else end
            part = slice(first, end)
            some = Segments(*(getattr(segments, name)[part] for name in Segments.__dataclass_fields__))
            n_bytes = int(some.captured.sum())
            buf = buf if n_bytes <= len(buf) else np.empty(n_bytes, np.uint8)
            some = replace(some, packet_no=packet_no[part], offset=self._copied(rows.only(part), some, buf))
            yield ReadBlock(point, int(capture_id[first]), buf[:n_bytes], some, [])
            first = end

    def _segments(self, rows: Rows) -> Segments:
        """Returns the segments of rows; their offsets count in their batches."""
        out = Segments(*room_for_segments(len(rows.key)))
        for number in np.unique(rows.batch).tolist():
            chosen = rows.batch == number
            for name in Segments.__dataclass_fields__:
                getattr(out, name)[chosen] = getattr(self._batches[number].segments, name)[rows.at[chosen]]
        return out

    def _copied(self, rows: Rows, segments: Segments, buf: NDArray[np.uint8]) -> Longs:
        """Copies payloads into the buffer, one after the other. Returns their offsets."""
        captured = segments.captured.astype(np.int64)
        offset = np.cumsum(captured) - captured
        for number in np.unique(rows.batch).tolist():
            chosen = np.flatnonzero((rows.batch == number) & (captured > 0))
            copy_payloads(self._batches[number].buf, segments.offset[chosen], captured[chosen], offset[chosen], buf)
        return offset


@kernel
def copy_payloads(source: NDArray[np.uint8], at: Longs, length: Longs, to: Longs, target: NDArray[np.uint8]) -> None:
    """Copies ranges of source to offsets in target."""
    for i in range(len(at)):
        copy_bytes(target[to[i] : to[i] + length[i]], source[at[i] : at[i] + length[i]])


def _split(column: NDArray[np.int16], batches: list[_Batch]) -> list[NDArray[np.int16]]:
    return np.split(column, np.cumsum([len(batch.key) for batch in batches])[:-1])
