"""Between the passes: how records passed through topic-partitions, from the responses to Produce and Fetch of all
buckets in order of time.

Producers, leaders and consumers of a partition are on connections of any bucket. What is counted of a connection is
spilled in its bucket again (flow_counts), for the second pass.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.connections.topic_names import TopicNames
from kafkascope_analyzer.resolve.apis import int_column
from kafkascope_analyzer.resolve.flow_blocks import ACCEPTED, FETCHED, SENT, Block, NamedRows, blocks
from kafkascope_analyzer.resolve.flow_clients import readers
from kafkascope_analyzer.resolve.flow_counts import CONN_SHIFT, LATE_NS, FlowCounts, FlowRows
from kafkascope_analyzer.resolve.flow_kernels import ACCEPTED as ACCEPTED_ROW
from kafkascope_analyzer.resolve.flow_kernels import FETCHED as FETCHED_ROW
from kafkascope_analyzer.resolve.flow_kernels import NONE, US, match_requests
from kafkascope_analyzer.resolve.places import NO_PLACE, Slots, TopicPartitions
from kafkascope_analyzer.resolve.produce_facts import LONGEST_NS, ProducerClocks
from kafkascope_analyzer.resolve.service_kernels import MILLISECOND
from kafkascope_analyzer.resolve.unanswered import request_numbers

Longs = NDArray[np.int64]
_SECOND_NS = 1_000_000_000
_LENGTHS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400)
_MOST_SLICES = 60
MOST_CELLS, MOST_PLACES = 1 << 16, 1 << 14
"""Pairs of connection and topic-partition on each side, and topic-partitions, that are followed: 1.2 kB and 8 kB each.
What is beyond has no rows in partition_flow."""
_END = np.iinfo(np.int64).max
_STRADDLING_NS = 1_000_000_000
"""A response that begins in one block and ends in the next is read so much later than its time at most, as a rule."""
_MOST_OPEN = 1 << 18
"""Batches of a bucket whose requests are not answered yet. Those with acks=0 never are."""
_OPEN = np.dtype(
    [
        ("number", np.int64),
        ("place", np.int64),
        ("n_records", np.int64),
        ("record_bytes", np.int64),
        ("first_ms", np.int64),
        ("last_ms", np.int64),
    ]
)
"""A batch on its way: number of connection and request, topic-partition, create times of the first and last record."""


def slice_length_ns(capture_ns: int) -> int:
    """The length of a slice of a capture that is so long: the shortest round length, of a second or more, of which 60
    or fewer cover it; a day for captures of more than 60 days."""
    needed = (length for length in _LENGTHS_S if capture_ns <= _MOST_SLICES * length * _SECOND_NS)
    return next(needed, _LENGTHS_S[-1]) * _SECOND_NS


def spill_flow(connections: Mapping[Path, pa.Table], topics: TopicNames, clocks: ProducerClocks) -> int:
    """Counts what flowed through the topic-partitions on the connections of all buckets and spills it there. Returns
    how many rows were left out at the limits. connections: by the directory of a bucket's spill, with conn_id,
    client_ip, first_ns and last_ns."""
    if not connections:
        return 0
    first = min(pc.min(rows["first_ns"]).as_py() for rows in connections.values())
    last = max(pc.max(rows["last_ns"]).as_py() for rows in connections.values())
    sizes = np.array([rows.num_rows for rows in connections.values()])
    first_conn = dict(zip(connections, (np.cumsum(sizes) - sizes).tolist(), strict=True))
    flow = Flow(readers(connections), clocks)
    counts = FlowCounts(slice_length_ns(last - first), flow.partitions, first_conn)
    buckets = [_Bucket(blocks(spill, topics), base) for spill, base in first_conn.items()]
    for accepted, fetched in _in_order(buckets, flow):
        counts.take(flow.numbered(accepted, fetched))
    counts.finish()
    return flow.n_left_out


@dataclass(slots=True)
class _Bucket:
    """What was read of one bucket. base: number of its first connection; until_ns: the last response of the last block
    that was read; open: requests of Produce without a response so far."""

    blocks: Iterator[Block]
    base: int
    until_ns: int = -1
    is_read: bool = False
    open: NDArray[np.void] = field(default_factory=lambda: np.empty(0, _OPEN))
    accepted: NDArray[np.void] = field(default_factory=lambda: np.empty(0, ACCEPTED_ROW))
    fetched: NDArray[np.void] = field(default_factory=lambda: np.empty(0, FETCHED_ROW))


def _in_order(buckets: list[_Bucket], flow: "Flow") -> Iterator[tuple[NDArray[np.void], NDArray[np.void]]]:
    """Accepted and fetched records of all buckets, stretch by stretch of time, each sorted by time. A stretch ends
    a little before the rows of some bucket do that were read."""
    while not all(bucket.is_read for bucket in buckets):
        behind = min((each for each in buckets if not each.is_read), key=lambda each: each.until_ns)
        block = next(behind.blocks, None)
        if block is None:
            behind.is_read = True
        else:
            flow.add(behind, block)
        until_ns = min((each.until_ns for each in buckets if not each.is_read), default=_END) - _STRADDLING_NS
        yield _until(buckets, "accepted", until_ns), _until(buckets, "fetched", until_ns - LATE_NS)


def _until(buckets: list[_Bucket], name: str, until_ns: int) -> NDArray[np.void]:
    """The rows of all buckets up to a time, sorted; they are taken out."""
    parts = []
    for bucket in buckets:
        rows = getattr(bucket, name)
        is_due = rows["ts_ns"] <= until_ns
        parts.append(rows[is_due])
        setattr(bucket, name, rows[~is_due])
    rows = np.concatenate(parts)
    return rows[np.argsort(rows["ts_ns"], kind="stable")]


class Flow:
    """Makes rows for the kernels of what was spilled. readers: the number of the reader of each connection."""

    def __init__(self, readers: Longs, clocks: ProducerClocks) -> None:
        self.partitions = TopicPartitions()
        self.n_left_out = 0
        self._reader_of = readers
        self._clocks = clocks
        self._cells = (Slots(), Slots())
        self._places, self._readers = Slots(), Slots()

    def add(self, bucket: _Bucket, block: Block) -> None:
        """Adds a block to what was read of a bucket."""
        sent = [self._sent(named) for named in block[SENT]]
        bucket.open = np.concatenate([bucket.open, *sent])[-_MOST_OPEN:]
        for named in block[ACCEPTED]:
            self._add_accepted(bucket, named)
        for named in block[FETCHED]:
            self._add_fetched(bucket, named)

    def _sent(self, named: NamedRows) -> NDArray[np.void]:
        rows = named.rows
        sent = np.empty(rows.num_rows, _OPEN)
        sent["number"], sent["place"] = request_numbers(rows), self.partitions.of_names(named.topics, rows["partition"])
        for name in ("n_records", "record_bytes"):
            sent[name] = int_column(rows, name, 0)
        sent["first_ms"] = int_column(rows, "first_timestamp_ms", NONE)
        sent["last_ms"] = int_column(rows, "max_timestamp_ms", NONE)
        return sent[sent["n_records"] > 0]

    def _add_accepted(self, bucket: _Bucket, named: NamedRows) -> None:
        rows = named.rows
        numbers, places = request_numbers(rows), self.partitions.of_names(named.topics, rows["partition"])
        matches = _matches(bucket.open, numbers, places)
        ts_ns = int_column(rows, "ts_ns", 0)
        bucket.until_ns = max(bucket.until_ns, int(ts_ns.max(initial=-1)))
        accepted = np.flatnonzero((matches != NONE) & (int_column(rows, "error_code", 0) == 0))
        batches = bucket.open[matches[accepted]]
        found = np.empty(len(accepted), ACCEPTED_ROW)
        conn = int_column(rows, "conn", 0)[accepted] + bucket.base
        found["ts_ns"], found["place"] = ts_ns[accepted], places[accepted]
        found["cell"] = conn << CONN_SHIFT | np.maximum(places[accepted], 0)
        found["first_offset"] = int_column(rows, "offset", NONE)[accepted]
        found["n_records"], found["record_bytes"] = batches["n_records"], batches["record_bytes"]
        found["oldest_us"] = self._age_us(found["ts_ns"], batches["first_ms"], conn)
        youngest_us = np.clip(self._age_us(found["ts_ns"], batches["last_ms"], conn), 0, None)
        found["youngest_us"] = np.minimum(youngest_us, found["oldest_us"])
        still_open = np.ones(len(bucket.open), np.bool_)
        still_open[matches[matches != NONE]] = False
        bucket.open = bucket.open[still_open]
        bucket.accepted = np.concatenate([bucket.accepted, found[found["place"] != NO_PLACE]])

    def _age_us(self, ts_ns: Longs, created_ms: Longs, conn: Longs) -> Longs:
        """How long before a response records were created, on the capture's clock; NONE where it is not known."""
        age_ns = ts_ns - created_ms * MILLISECOND - self._clocks.least_ns[conn]
        is_known = (created_ms >= 0) & self._clocks.is_usable[conn] & (age_ns < LONGEST_NS)
        return np.where(is_known, np.maximum(age_ns, 0) // US, NONE)

    def _add_fetched(self, bucket: _Bucket, named: NamedRows) -> None:
        rows = named.rows
        ts_ns = int_column(rows, "ts_ns", 0)
        bucket.until_ns = max(bucket.until_ns, int(ts_ns.max(initial=-1)))
        places = self.partitions.of_names(named.topics, rows["partition"])
        is_replica = np.asarray(rows["from_replica"].combine_chunks().to_numpy(zero_copy_only=False), np.bool_)
        chosen = np.flatnonzero(~is_replica & (places != NO_PLACE))
        found = np.empty(len(chosen), FETCHED_ROW)
        conn = int_column(rows, "conn", 0)[chosen] + bucket.base
        found["ts_ns"], found["place"] = ts_ns[chosen], places[chosen]
        found["cell"] = conn << CONN_SHIFT | places[chosen]
        found["reader"] = self._reader_of[conn] << CONN_SHIFT | places[chosen]
        for name in ("first_offset", "last_offset", "high_watermark"):
            found[name] = int_column(rows, name, NONE)[chosen]
        for name in ("n_records", "record_bytes"):
            found[name] = int_column(rows, name, 0)[chosen]
        bucket.fetched = np.concatenate([bucket.fetched, found])

    def numbered(self, accepted: NDArray[np.void], fetched: NDArray[np.void]) -> FlowRows:
        """Rows by time with numbers in place of keys; those beyond the limits are left out."""
        sides = []
        for cells, rows in zip(self._cells, (accepted, fetched), strict=True):
            n = len(rows)
            rows["cell"] = cells.of(np.ascontiguousarray(rows["cell"]))
            rows["place"] = self._places.of(np.ascontiguousarray(rows["place"]))
            if rows is fetched:
                rows["reader"] = self._readers.of(np.ascontiguousarray(rows["reader"]))
            rows = rows[(rows["cell"] < MOST_CELLS) & (rows["place"] < MOST_PLACES)]
            self.n_left_out += n - len(rows)
            sides.append(rows)
        produce_keys, fetch_keys = (cells.keys[:MOST_CELLS] for cells in self._cells)
        n_places = min(len(self._places), MOST_PLACES)
        return FlowRows(sides[0], sides[1], produce_keys, fetch_keys, n_places, len(self._readers))


def _matches(sent: NDArray[np.void], numbers: Longs, places: Longs) -> Longs:
    """The row of `sent` with the number and topic-partition of each response, or NONE."""
    pairs = np.stack([sent["number"], sent["place"]], 1)
    answered = np.stack([numbers, places], 1)
    table = np.full(1 << max(2 * len(sent), 16).bit_length(), NONE)
    matches = np.empty(len(numbers), np.int64)
    match_requests(pairs, answered, table, matches)
    return matches
