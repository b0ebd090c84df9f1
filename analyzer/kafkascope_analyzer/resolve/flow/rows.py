"""Makes rows for the flow kernels (flow_kernels.ACCEPTED, FETCHED) of what buckets spilled, and finds the batches of
producers that may have waited.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.resolve.flow.blocks import Block, NamedRows
from kafkascope_analyzer.resolve.flow.counts import CONN_SHIFT, FlowRows
from kafkascope_analyzer.resolve.flow.kernels import ACCEPTED as ACCEPTED_ROW
from kafkascope_analyzer.resolve.flow.kernels import FETCHED as FETCHED_ROW
from kafkascope_analyzer.resolve.flow.kernels import NONE, US, match_requests
from kafkascope_analyzer.resolve.flow.produce_facts import CANDIDATES, LONGEST_NS, ProducerClocks
from kafkascope_analyzer.scan.apis import int_column
from kafkascope_analyzer.scan.block_ends import ACCEPTED, FETCHED, SENT
from kafkascope_analyzer.scan.places import NO_PLACE, Slots, TopicPartitions
from kafkascope_analyzer.scan.service_kernels import LEAST_PAUSE_NS, MILLISECOND
from kafkascope_analyzer.scan.spill import read_spill
from kafkascope_analyzer.scan.unanswered import MOST_NUMBER, UNANSWERED, is_one_of, request_numbers
from kafkascope_parsers.api_keys import PRODUCE

Longs = NDArray[np.int64]
MOST_CELLS, MOST_PLACES = 1 << 16, 1 << 14
"""Pairs of connection and topic-partition on each side, and topic-partitions, that are followed: 1.2 kB and 8 kB each,
280 MB in all. What is beyond has no rows in partition_flow, and is counted in the manifest (limits_hit)."""
_MOST_OPEN = 1 << 19
"""Batches of a bucket whose requests are not answered yet. Those with acks=0 never are."""
_OPEN = np.dtype(
    [
        ("number", np.int64),
        ("place", np.int64),
        ("sent_ns", np.int64),
        ("n_records", np.int64),
        ("record_bytes", np.int64),
        ("first_ms", np.int64),
        ("last_ms", np.int64),
    ]
)
"""A batch on its way: number of connection and request, topic-partition, create times of the first and last record."""


@dataclass(slots=True)
class BucketRows:
    """What was read of one bucket. base: number of its first connection; until_ns: the last response of the last block
    that was read; open: requests of Produce without a response so far; accepted, fetched: rows that wait, by time;
    candidates: of CANDIDATES."""

    blocks: Iterator[Block]
    base: int
    until_ns: int = -1
    is_read: bool = False
    open: NDArray[np.void] = field(default_factory=lambda: np.empty(0, _OPEN))
    accepted: NDArray[np.void] = field(default_factory=lambda: np.empty(0, ACCEPTED_ROW))
    fetched: NDArray[np.void] = field(default_factory=lambda: np.empty(0, FETCHED_ROW))
    candidates: list[pa.Table] = field(default_factory=list)


def by_time(parts: list[NDArray[np.void]]) -> NDArray[np.void]:
    """The rows of the parts by time. (`take` moves a row of many fields at once, an index field by field.)"""
    parts = [part for part in parts if len(part)] or parts[:1]
    rows = np.concatenate(parts) if len(parts) > 1 else parts[0]
    ts_ns = np.ascontiguousarray(rows["ts_ns"])
    return rows if (ts_ns[1:] >= ts_ns[:-1]).all() else rows.take(np.argsort(ts_ns, kind="stable"))


class Flow:
    """Makes rows for the kernels of what was spilled. readers: the number of the reader of each connection."""

    def __init__(self, readers: Longs, clocks: ProducerClocks) -> None:
        self.partitions = TopicPartitions()
        self.n_left_out = 0
        self._reader_of = readers
        self._clocks = clocks
        self._cells = (Slots(), Slots())
        self._places, self._readers = Slots(), Slots()

    def add(self, bucket: BucketRows, block: Block) -> None:
        """Adds a block to what was read of a bucket."""
        sent = [self._sent(named) for named in block[SENT]]
        bucket.open = np.concatenate([bucket.open, *sent])[-_MOST_OPEN:]
        accepted = [self._accepted(bucket, named) for named in block[ACCEPTED]]
        fetched = [self._fetched(bucket, named) for named in block[FETCHED]]
        bucket.accepted = by_time([bucket.accepted, *accepted])
        bucket.fetched = by_time([bucket.fetched, *fetched])

    def _sent(self, named: NamedRows) -> NDArray[np.void]:
        rows = named.rows
        sent = np.empty(rows.num_rows, _OPEN)
        sent["number"], sent["place"] = request_numbers(rows), self.partitions.of_names(named.topics, rows["partition"])
        sent["sent_ns"] = int_column(rows, "ts_ns", 0)
        for name in ("n_records", "record_bytes"):
            sent[name] = int_column(rows, name, 0)
        sent["first_ms"] = int_column(rows, "first_timestamp_ms", NONE)
        sent["last_ms"] = int_column(rows, "max_timestamp_ms", NONE)
        chosen = (sent["n_records"] > 0) & (sent["place"] != NO_PLACE)
        return sent if chosen.all() else sent[chosen]

    def _accepted(self, bucket: BucketRows, named: NamedRows) -> NDArray[np.void]:
        """The accepted ones of the batches that responses are about."""
        rows = named.rows
        numbers, places = request_numbers(rows), self.partitions.of_names(named.topics, rows["partition"])
        matches = _matches(bucket.open, numbers, places)
        ts_ns = int_column(rows, "ts_ns", 0)
        bucket.until_ns = max(bucket.until_ns, int(ts_ns.max(initial=-1)))
        answered = np.flatnonzero(matches != NONE)
        batches, ts_ns, errors = (
            bucket.open.take(matches[answered]),
            ts_ns[answered],
            int_column(rows, "error_code", 0)[answered],
        )
        still_open = np.ones(len(bucket.open), np.bool_)
        still_open[matches[answered]] = False
        bucket.open = bucket.open.take(np.flatnonzero(still_open))
        conn, places = int_column(rows, "conn", 0)[answered] + bucket.base, places[answered]
        found = np.empty(len(answered), ACCEPTED_ROW)
        found["ts_ns"], found["place"], found["cell"] = ts_ns, places, conn << CONN_SHIFT | places
        found["first_offset"] = int_column(rows, "partition_offset", NONE)[answered]
        found["n_records"], found["record_bytes"] = batches["n_records"], batches["record_bytes"]
        oldest_us = self._age_us(ts_ns, batches["first_ms"], conn)
        youngest_us = np.maximum(self._age_us(ts_ns, batches["last_ms"], conn), 0)
        found["oldest_us"], found["youngest_us"] = oldest_us, np.minimum(youngest_us, oldest_us)
        may_have_waited = (errors != 0) | (ts_ns - batches["sent_ns"] >= LEAST_PAUSE_NS)
        may_have_waited |= oldest_us >= LEAST_PAUSE_NS // US
        if may_have_waited.any():
            chosen = may_have_waited
            bucket.candidates.append(self._candidate_rows(batches[chosen], ts_ns[chosen], errors[chosen]))
        return found if not errors.any() else found[errors == 0]

    def _candidate_rows(self, batches: NDArray[np.void], answered_ns: Longs, errors: Longs) -> pa.Table:
        """Rows of CANDIDATES. answered_ns: NONE without a response."""
        columns = self.partitions.columns(np.ascontiguousarray(batches["place"]))
        columns |= {
            "conn": pa.array(batches["number"] // (MOST_NUMBER + 1)),
            "number": pa.array(batches["number"] & MOST_NUMBER),
            "sent_ns": pa.array(np.ascontiguousarray(batches["sent_ns"])),
            "created_ms": pa.array(np.ascontiguousarray(batches["first_ms"])),
            "last_ms": pa.array(np.ascontiguousarray(batches["last_ms"])),
            "n_records": pa.array(np.ascontiguousarray(batches["n_records"])),
            "answered_ns": pa.array(answered_ns, mask=answered_ns == NONE),
            "error_code": pa.array(errors.astype(np.int16)),
        }
        return pa.table([columns[name] for name in CANDIDATES.names], schema=CANDIDATES)

    def candidates(self, bucket: BucketRows, spill: Path) -> pa.Table:
        """The batches of a bucket that may have waited, when all blocks were added; those without a response too."""
        parts = [CANDIDATES.empty_table(), *bucket.candidates]
        for rows in read_spill(spill, UNANSWERED):
            numbers = np.sort(request_numbers(rows)[int_column(rows, "api_key", -1) == PRODUCE])
            lost = bucket.open[is_one_of(np.ascontiguousarray(bucket.open["number"]), numbers)]
            parts.append(self._candidate_rows(lost, np.full(len(lost), NONE), np.zeros(len(lost), np.int64)))
        return pa.concat_tables(parts)

    def _age_us(self, ts_ns: Longs, created_ms: Longs, conn: Longs) -> Longs:
        """How long before a response records were created, on the capture's clock; NONE where it is not known."""
        age_ns = ts_ns - created_ms * MILLISECOND - self._clocks.least_ns[conn]
        is_known = (created_ms >= 0) & self._clocks.is_usable[conn] & (age_ns < LONGEST_NS)
        return np.where(is_known, np.maximum(age_ns, 0) // US, NONE)

    def _fetched(self, bucket: BucketRows, named: NamedRows) -> NDArray[np.void]:
        """The topic-partitions that responses give to consumers."""
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
        return found

    def numbered(self, accepted: NDArray[np.void], fetched: NDArray[np.void]) -> FlowRows:
        """Rows by time with numbers in place of keys; those beyond the limits are left out."""
        sides = []
        for cells, rows in zip(self._cells, (accepted, fetched), strict=True):
            n = len(rows)
            rows["cell"] = cells.of(np.ascontiguousarray(rows["cell"]))
            rows["place"] = self._places.of(np.ascontiguousarray(rows["place"]))
            if rows is fetched:
                rows["reader"] = self._readers.of(np.ascontiguousarray(rows["reader"]))
            if max(len(cells) - MOST_CELLS, len(self._places) - MOST_PLACES) > 0:
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
