"""First pass: the clocks of producers, from the create times of their batches on each connection.

The waiting time of a batch follows from a comparison of its producer's clock with the capture's, which needs all
connections of the producer (resolve.flow.produce_facts).
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.sorted_rows import distinct_sorted
from kafkascope_analyzer.scan.apis import int_column
from kafkascope_analyzer.scan.service_kernels import MILLISECOND, UNKNOWN_DELAY, measure_clocks
from kafkascope_parsers.api_keys import PRODUCE
from kafkascope_parsers.growing import Growing

CLOCKS = "facts.producer_clocks"
"""Spilled table: conn, client_id, and a clock: the shortest distance between creation and sending, and how many
distances exceeded it by no more than each of CLOCK_EDGES_NS."""
CLOCK_EDGES_NS = np.array([5, 10, 20, 50, 100, 200, 500], np.int64) * MILLISECOND
_UNTIMED = -1
_NO_SLOT = -1
_CLOCK = np.dtype([("numbers", np.int64, (len(CLOCK_EDGES_NS) + 3,))])
"""The numbers of a clock, as measure_clocks keeps them."""


class ClockSamples:
    """The clocks of the producers of one bucket. Memory: four bytes for each connection; for that of a producer ten
    numbers and a client id more."""

    def __init__(self) -> None:
        self._slots = Growing[np.int32](np.int32)
        """The row in _clocks of each connection; _NO_SLOT where it has sent no batch."""
        self._conns = Growing[np.int64](np.int64)
        """The connection of each row of _clocks."""
        self._clocks = Growing[np.void](_CLOCK)
        self._client_ids: dict[int, str | None] = {}

    def take(self, rows: pa.Table, api_key: int, direction: str) -> None:
        """Takes the partitions in messages of one kind (scan.message_rows.NamedPartitions)."""
        if (api_key, direction) != (PRODUCE, "request") or not rows.num_rows:
            return
        conn = int_column(rows, "conn", 0)
        slots = self._slots_of(conn)
        created_ms = int_column(rows, "first_timestamp_ms", _UNTIMED)
        distance = int_column(rows, "ts_ns", 0) - created_ms * MILLISECOND
        distance = np.where(created_ms >= 0, distance, UNKNOWN_DELAY)
        measure_clocks(slots, distance, CLOCK_EDGES_NS, self._clocks.rows["numbers"])

    def _slots_of(self, conn: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns the rows in _clocks of connections, and adds those that are missing."""
        n_new = int(conn.max()) + 1 - len(self._slots)
        if n_new > 0:
            self._slots.add(np.full(n_new, _NO_SLOT, np.int32))
        slots = self._slots.rows
        fresh = distinct_sorted(conn[slots[conn] == _NO_SLOT])
        if len(fresh):
            slots[fresh] = np.arange(len(self._conns), len(self._conns) + len(fresh))
            clocks = np.zeros(len(fresh), _CLOCK)
            clocks["numbers"][:, [0, -1]] = UNKNOWN_DELAY
            self._conns.add(fresh)
            self._clocks.add(clocks)
        return slots[conn].astype(np.int64)

    def note_clients(self, settled: pa.Table) -> None:
        """Takes the client ids of producers from completed requests (scan.exchanges.SETTLED_SCHEMA)."""
        rows = settled.select(["conn", "client_id"]).filter(pc.equal(settled["api_key"], PRODUCE).fill_null(False))
        if not rows.num_rows:
            return
        conns, first = np.unique(rows["conn"].to_numpy(), return_index=True)
        pairs = zip(conns.tolist(), first.tolist(), strict=True)
        fresh = [(conn, at) for conn, at in pairs if conn not in self._client_ids]
        if fresh:
            client_ids = rows["client_id"].take(pa.array([at for _, at in fresh])).to_pylist()
            self._client_ids |= dict(zip((conn for conn, _ in fresh), client_ids, strict=True))

    def clocks(self) -> pa.Table:
        """Returns the clocks of all connections (CLOCKS)."""
        numbers = self._clocks.rows["numbers"]
        kept = np.flatnonzero(numbers[:, 0] != UNKNOWN_DELAY)
        kept = kept[np.argsort(self._conns.rows[kept])]
        conn, counts = self._conns.rows[kept], numbers[kept, 1:-1]
        return pa.table(
            {
                "conn": pa.array(conn),
                "client_id": pa.array([self._client_ids.get(each) for each in conn.tolist()], pa.string()),
                "least_ns": pa.array(numbers[kept, 0]),
                "counts": pa.FixedSizeListArray.from_arrays(pa.array(counts.ravel()), counts.shape[1]),
            }
        )
