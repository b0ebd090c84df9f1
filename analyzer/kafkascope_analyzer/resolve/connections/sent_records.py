"""Counts the records sent on connections in given spans of time, from batches of requests."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.sorted_rows import distinct_sorted

Ints = NDArray[np.int64]
_UNIT_NS = 1_000
"""Times are compared in microseconds, so that connection and time fit into one number for captures of some days."""


class SentRecords:
    """Counts the records sent on a connection in spans of time, which may overlap. The spans are columns: connection,
    first_ns, last_ns (exclusive). Memory: two numbers for each span, however many requests there are."""

    def __init__(self, conn: Ints, first_ns: Ints, last_ns: Ints) -> None:
        self._start_ns = int(first_ns.min()) if len(first_ns) else 0
        self._length = (int(last_ns.max(initial=self._start_ns)) - self._start_ns) // _UNIT_NS + 3
        self._first, self._last = self._keys(conn, first_ns), self._keys(conn, np.maximum(first_ns, last_ns))
        self._edges = distinct_sorted(np.concatenate([self._first, self._last]))
        self._sums = np.zeros(len(self._edges) + 1, np.int64)

    def _keys(self, conn: Ints, at_ns: Ints) -> Ints:
        at = np.clip((at_ns - self._start_ns) // _UNIT_NS + 1, 0, self._length - 1)
        return np.asarray(conn * self._length + at)

    def take(self, conn: Ints, at_ns: Ints, n: Ints) -> None:
        """Adds requests: connection, time, number of records."""
        np.add.at(self._sums, np.searchsorted(self._edges, self._keys(conn, at_ns), side="right"), n)

    def counts(self) -> pa.Array:
        """Returns the number of records in each span."""
        before = np.cumsum(self._sums)
        last, first = (np.searchsorted(self._edges, edges) for edges in (self._last, self._first))
        return pa.array(before[last] - before[first])
