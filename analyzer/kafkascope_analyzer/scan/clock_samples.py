"""First pass: the clocks of producers, from the create times of their batches on each connection.

The waiting time of a batch follows from a comparison of its producer's clock with the capture's, which needs all
connections of the producer (resolve.flow.produce_facts).
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.scan.apis import int_column
from kafkascope_analyzer.scan.service_kernels import MILLISECOND, UNKNOWN_DELAY, measure_clocks
from kafkascope_parsers.api_keys import PRODUCE

CLOCKS = "facts.producer_clocks"
"""Spilled table: conn, client_id, and a clock: the shortest distance between creation and sending, and how many
distances exceeded it by no more than each of CLOCK_EDGES_NS."""
CLOCK_EDGES_NS = np.array([5, 10, 20, 50, 100, 200, 500], np.int64) * MILLISECOND
_UNTIMED = -1


class ClockSamples:
    """The clocks of the producers of one bucket. Memory: ten numbers for each connection, and a client id."""

    def __init__(self) -> None:
        self._clock = np.empty((0, len(CLOCK_EDGES_NS) + 3), np.int64)
        self._client_ids: dict[int, str | None] = {}

    def take(self, rows: pa.Table, api_key: int, direction: str) -> None:
        """Takes the partitions in messages of one kind (scan.message_rows.NamedPartitions)."""
        if (api_key, direction) != (PRODUCE, "request") or not rows.num_rows:
            return
        conn = int_column(rows, "conn", 0)
        n_new = int(conn.max()) + 1 - len(self._clock)
        if n_new > 0:
            fresh = np.zeros((n_new, self._clock.shape[1]), np.int64)
            fresh[:, [0, -1]] = UNKNOWN_DELAY
            self._clock = np.concatenate([self._clock, fresh])
        created_ms = int_column(rows, "first_timestamp_ms", _UNTIMED)
        distance = int_column(rows, "ts_ns", 0) - created_ms * MILLISECOND
        measure_clocks(conn, np.where(created_ms >= 0, distance, UNKNOWN_DELAY), CLOCK_EDGES_NS, self._clock)

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
        conn = np.flatnonzero(self._clock[:, 0] != UNKNOWN_DELAY)
        counts = self._clock[conn, 1:-1]
        return pa.table(
            {
                "conn": pa.array(conn),
                "client_id": pa.array([self._client_ids.get(each) for each in conn.tolist()], pa.string()),
                "least_ns": pa.array(self._clock[conn, 0]),
                "counts": pa.FixedSizeListArray.from_arrays(pa.array(counts.ravel()), counts.shape[1]),
            }
        )
