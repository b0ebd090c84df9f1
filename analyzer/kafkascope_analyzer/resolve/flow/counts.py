"""Counts what flows through topic-partitions, and spills the counts of each slice of time when it has ended."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.latency_histogram import HISTOGRAM, N_CLASSES, lowest_us
from kafkascope_analyzer.resolve.flow.kernels import (
    ACCEPTANCE,
    CELL,
    MOST_PIECES,
    NONE,
    READER,
    FlowState,
    follow_flow,
)
from kafkascope_analyzer.scan.places import TopicPartitions
from kafkascope_analyzer.scan.spill import END, Spill

PRODUCE_SLICES, FETCH_SLICES = "facts.produce_slices", "facts.fetch_slices"
"""Spilled tables: conn, topic, partition, ts_ns (begin of the slice), fields of CELL, and latencies."""
CONN_SHIFT = 40
"""The key of a cell is the number of the connection, above that of the topic-partition."""
LATE_NS = 250_000_000
"""A consumer may get records so long before the producer gets its response: both wait for the replicas."""
_LOWEST_US = pa.array([lowest_us(number) for number in range(N_CLASSES)], pa.int64())
_OFFSETS = ("end_offset", "next_offset", "lag_first", "lag_last", "lag_max")
_NAMES = ("first_ns", "last_ns", "n_records", "record_bytes", *_OFFSETS)
Array = NDArray[Any]


class FlowRows(NamedTuple):
    """Accepted and fetched records by time (flow_kernels.ACCEPTED, FETCHED), and what their numbers mean: the keys of
    the cells of both sides; how many topic-partitions and readers there are."""

    accepted: Array
    fetched: Array
    produce_keys: NDArray[np.int64]
    fetch_keys: NDArray[np.int64]
    n_places: int
    n_readers: int


class FlowCounts:
    """Counts accepted and fetched records. slice_ns: length of a slice; partitions: the codes of topic-partitions;
    first_conn: the number of each bucket's first connection by the directory of its spill, ascending."""

    def __init__(self, slice_ns: int, partitions: TopicPartitions, first_conn: Mapping[Path, int]) -> None:
        self._slice_ns = slice_ns
        self._partitions = partitions
        self._first_conn = np.array(list(first_conn.values()), np.int64)
        self._spills = [Spill(path, END) for path in first_conn]  # each run counts anew
        cells, counts = np.empty(0, CELL), np.empty((0, N_CLASSES), np.int32)
        self._state = FlowState(
            cells,
            counts,
            cells,
            counts,
            np.empty(0, READER),
            np.empty((0, MOST_PIECES), ACCEPTANCE),
            np.empty(0, np.int64),
            np.full(2, NONE),
        )
        self._keys = (np.empty(0, np.int64), np.empty(0, np.int64))

    def take(self, rows: FlowRows) -> None:
        """Takes the rows of some time; those of a time before were taken."""
        self._make_room(rows)
        self._keys = (rows.produce_keys, rows.fetch_keys)
        times, places = np.array([self._slice_ns, LATE_NS], np.int64), np.zeros(2, np.int64)
        while ended := follow_flow(rows.accepted, rows.fetched, times, places, self._state):
            self._empty(ended - 1)

    def finish(self) -> None:
        """Spills the counts of the last slices."""
        for side in range(2):
            self._empty(side)
        for spill in self._spills:
            spill.close()

    def _make_room(self, rows: FlowRows) -> None:
        state = self._state
        n_produced, n_fetched = len(rows.produce_keys), len(rows.fetch_keys)
        n_before = len(state.readers)
        self._state = FlowState(
            _with_room(state.produce_cells, n_produced),
            _with_room(state.produce_counts, n_produced),
            _with_room(state.fetch_cells, n_fetched),
            _with_room(state.fetch_counts, n_fetched),
            _with_room(state.readers, rows.n_readers),
            _with_room(state.pieces, rows.n_places),
            _with_room(state.n_pieces, rows.n_places),
            state.slices,
        )
        self._state.readers["position"][n_before:] = NONE

    def _empty(self, side: int) -> None:
        """Spills what was counted of one side, and begins anew."""
        state = self._state
        cells, counts, name = (
            (state.produce_cells, state.produce_counts, PRODUCE_SLICES),
            (state.fetch_cells, state.fetch_counts, FETCH_SLICES),
        )[side]
        used = np.flatnonzero(cells["n_responses"])
        if len(used):
            begin_ns = int(state.slices[side]) * self._slice_ns
            keys = self._keys[side][used]
            conn = keys >> CONN_SHIFT
            columns = self._partitions.columns(keys & ((1 << CONN_SHIFT) - 1))
            columns["ts_ns"] = pa.array(np.full(len(used), begin_ns))
            columns["slice_ms"] = pa.array(np.full(len(used), self._slice_ns // 1_000_000))
            columns |= _cell_columns(cells[used], counts[used])
            self._spill(name, conn, pa.table(columns))
            cells[used] = np.zeros(1, CELL)
            counts[used] = 0
        state.slices[side] = NONE

    def _spill(self, name: str, conn: NDArray[np.int64], rows: pa.Table) -> None:
        """Spills rows in the buckets of their connections."""
        buckets = np.searchsorted(self._first_conn, conn, side="right") - 1
        rows = rows.append_column("conn", pa.array(conn - self._first_conn[buckets]))
        for bucket in np.unique(buckets).tolist():
            self._spills[bucket].gather(name, rows.filter(pa.array(buckets == bucket)))


def _with_room(array: Array, n: int) -> Array:
    """The array with n rows or more; new ones are zero."""
    if len(array) >= n:
        return array
    room = np.zeros((max(n, len(array) * 3 // 2), *array.shape[1:]), array.dtype)
    room[: len(array)] = array
    return room


def _cell_columns(cells: Array, counts: Array) -> dict[str, pa.Array]:
    """Fields of CELL, null where they are not known, and latencies."""
    columns = {}
    for name in _NAMES:
        values = np.ascontiguousarray(cells[name])
        columns[name] = pa.array(values, mask=values == NONE if name in _OFFSETS else None)
    row, number = np.nonzero(counts)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(cells)))]).astype(np.int32)
    fields = [_LOWEST_US.take(pa.array(number)), pa.array(counts[row, number].astype(np.int64))]
    classes = pa.StructArray.from_arrays(fields, fields=list(HISTOGRAM.value_type))
    columns["latencies"] = pa.ListArray.from_arrays(pa.array(offsets), classes).cast(HISTOGRAM)
    return columns
