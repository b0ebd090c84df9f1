"""Counts records passing through topic-partitions, and spills the counts of each time slice when it has ended."""

from collections.abc import Mapping, Sequence
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
    ProduceState,
    count_produced,
    follow_flow,
)
from kafkascope_analyzer.scan.places import Slots, TopicPartitions
from kafkascope_analyzer.scan.spill import Spill, spilled_tables

PRODUCE_SLICES, FETCH_SLICES = "facts.produce_slices", "facts.fetch_slices"
"""Spilled tables: conn, topic, partition, ts_ns (begin of the slice), fields of CELL, and latencies. There is a table
of fetched records for each share of the topic-partitions (fetch_slice_table)."""
RECOUNTED = "facts.recounted"
"""Spilled table: conn, part: the first part whose PRODUCE_SLICES count for that connection; for other connections all
parts count."""
MOST_CELLS, MOST_PLACES = 1 << 16, 1 << 14
"""Most pairs of connection and topic-partition (fetched: of a share; accepted: of a bucket), and most topic-partitions
(of a bucket, and of a share), that are followed: 1.2 kB and 8 kB each. Others have no rows in partition_flow, and are
counted in the manifest (limits_hit)."""
CONN_SHIFT = 40
"""Number of bits for the topic-partition in the key of a cell; the connection's number (clients.conn_keys) is above
them."""
LATE_NS = 250_000_000
"""A consumer may get records up to this long before the producer gets its response: both wait for the replicas."""
GATHERED_CELLS = 8_192
"""Cells of ended slices that are held before they are spilled: a slice of a small capture has a handful."""
_LOWEST_US = pa.array([lowest_us(number) for number in range(N_CLASSES)], pa.int64())
_OFFSETS = ("end_offset", "next_offset", "lag_first", "lag_last", "lag_max")
_NAMES = ("first_ns", "last_ns", "n_records", "n_again", "record_bytes", *_OFFSETS)
Array = NDArray[Any]


class FlowRows(NamedTuple):
    """Accepted and fetched records by time (kernels.ACCEPTED, FETCHED), with the keys of the cells of fetched
    records and the number of topic-partitions and readers."""

    accepted: Array
    fetched: Array
    keys: NDArray[np.int64]
    n_places: int
    n_readers: int


class _Ended(NamedTuple):
    """Cells of an ended slice: key of each, begin of the slice, fields of CELL and latency histograms."""

    keys: NDArray[np.int64]
    begin_ns: NDArray[np.int64]
    cells: Array
    counts: Array


class _EndedSlices:
    """Spills the counts of ended slices in the buckets of their connections. name: name of the spilled table; slice_ns:
    length of a slice; partitions: the codes of topic-partitions; spills: spills of the buckets, by number."""

    def __init__(self, name: str, slice_ns: int, partitions: TopicPartitions, spills: Sequence[Spill]) -> None:
        self._name, self._slice_ns, self._partitions, self._spills = name, slice_ns, partitions, spills
        self._ended: list[_Ended] = []

    def take(self, state: FlowState | ProduceState, keys: NDArray[np.int64]) -> None:
        """Takes the counts of an ended slice, and empties its cells. keys: keys of the cells."""
        used = np.flatnonzero(state.cells["n_responses"])
        if len(used):
            begin_ns = np.full(len(used), int(state.slices[0]) * self._slice_ns)
            self._ended.append(_Ended(keys[used], begin_ns, state.cells.take(used), state.counts[used]))
            state.cells[used] = np.zeros(1, CELL)
            state.counts[used] = 0
        state.slices[0] = NONE
        if sum(len(ended.keys) for ended in self._ended) >= GATHERED_CELLS:
            self.spill()

    def spill(self) -> None:
        """Spills all counts that were taken."""
        if not self._ended:
            return
        keys, begin_ns, cells, counts = map(np.concatenate, zip(*self._ended, strict=True))
        self._ended.clear()
        conn, buckets = np.divmod(keys >> CONN_SHIFT, len(self._spills))
        columns = self._partitions.columns(keys & ((1 << CONN_SHIFT) - 1))
        columns["ts_ns"] = pa.array(begin_ns)
        columns["slice_ms"] = pa.array(np.full(len(keys), self._slice_ns // 1_000_000))
        columns |= _cell_columns(cells, counts)
        columns["conn"] = pa.array(conn)
        rows = pa.table(columns)
        for bucket in np.unique(buckets).tolist():
            self._spills[bucket].gather(self._name, rows.filter(pa.array(buckets == bucket)))


def fetch_slice_table(share: int) -> str:
    """Returns the name of the spilled table of the fetched records of a share."""
    return f"{FETCH_SLICES}.{share}"


def slice_tables(spill: Path) -> list[str]:
    """Returns the names of a bucket's spilled tables with fetched records."""
    return [name for name in spilled_tables(spill) if name.startswith(f"{FETCH_SLICES}.")]


class ProduceCounts:
    """Counts the accepted records of one bucket. The counts of a slice may have several rows in PRODUCE_SLICES: one for
    each time that records of another slice came in between. slice_ns, partitions: as in FetchCounts."""

    def __init__(self, slice_ns: int, partitions: TopicPartitions, spill: Spill) -> None:
        self._slice_ns = slice_ns
        self._cells = Slots()
        self._state = ProduceState(np.empty(0, CELL), np.empty((0, N_CLASSES), np.int32), np.full(1, NONE))
        self._ended = _EndedSlices(PRODUCE_SLICES, slice_ns, partitions, [spill])

    def take(self, accepted: Array) -> int:
        """Takes records (kernels.ACCEPTED, with keys of cells) by time. Returns how many are beyond MOST_CELLS."""
        rows = accepted.copy()
        rows["cell"] = self._cells.of(np.ascontiguousarray(rows["cell"]))
        rows = rows[rows["cell"] < MOST_CELLS] if len(self._cells) > MOST_CELLS else rows
        n = min(len(self._cells), MOST_CELLS)
        cells, counts, slices = self._state
        self._state = ProduceState(_with_room(cells, n), _with_room(counts, n), slices)
        at = 0
        while (at := count_produced(rows, self._slice_ns, at, self._state)) < len(rows):
            self._ended.take(self._state, self._cells.keys)
        return len(accepted) - len(rows)

    def finish(self) -> None:
        """Spills all counts."""
        self._ended.take(self._state, self._cells.keys)
        self._ended.spill()


class FetchCounts:
    """Counts fetched records of a share. slice_ns: length of a slice; partitions: the codes of topic-partitions;
    spills: spills of the buckets, by number."""

    def __init__(self, share: int, slice_ns: int, partitions: TopicPartitions, spills: Sequence[Spill]) -> None:
        self._slice_ns = slice_ns
        self._ended = _EndedSlices(fetch_slice_table(share), slice_ns, partitions, spills)
        self._state = FlowState(
            np.empty(0, CELL),
            np.empty((0, N_CLASSES), np.int32),
            np.empty(0, READER),
            np.empty((0, MOST_PIECES), ACCEPTANCE),
            np.empty(0, np.int64),
            np.full(1, NONE),
        )
        self._keys = np.empty(0, np.int64)

    def state(self) -> dict[str, Any]:
        """Spills the slices that have ended. Returns the state, which is valid until rows are taken."""
        self._ended.spill()
        return {"state": tuple(self._state), "keys": self._keys}

    def resume(self, state: Mapping[str, Any]) -> None:
        """Continues with this state."""
        self._state, self._keys = FlowState(*state["state"]), state["keys"]

    def take(self, rows: FlowRows) -> None:
        """Takes the rows of a span of time, after those of all earlier spans."""
        self._make_room(rows)
        self._keys = rows.keys
        times, places = np.array([self._slice_ns, LATE_NS], np.int64), np.zeros(2, np.int64)
        while follow_flow(rows.accepted, rows.fetched, times, places, self._state):
            self._ended.take(self._state, self._keys)

    def finish(self) -> None:
        """Spills the counts of the last slice."""
        self._ended.take(self._state, self._keys)
        self._ended.spill()

    def _make_room(self, rows: FlowRows) -> None:
        state, n_before = self._state, len(self._state.readers)
        self._state = FlowState(
            _with_room(state.cells, len(rows.keys)),
            _with_room(state.counts, len(rows.keys)),
            _with_room(state.readers, rows.n_readers),
            _with_room(state.pieces, rows.n_places),
            _with_room(state.n_pieces, rows.n_places),
            state.slices,
        )
        self._state.readers["position"][n_before:] = NONE


def _with_room(array: Array, n: int) -> Array:
    """Returns the array with n rows or more; new ones are zero."""
    if len(array) >= n:
        return array
    room = np.zeros((max(n, len(array) * 3 // 2), *array.shape[1:]), array.dtype)
    room[: len(array)] = array
    return room


def _cell_columns(cells: Array, counts: Array) -> dict[str, pa.Array]:
    """Returns the fields of CELL, null where they are not known, and latencies."""
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
