"""Totals of the second pass over the requests of the parts of a bucket's spill that no later run changes. They are
saved with the dataset, so that a run to which captures are appended adds only the requests of new parts.

Of parts that are in the totals, the sources of events still get the requests that some source keeps, and all requests
of connections about which a source learns something now that it needed then. The totals depend on the finished rows:
where something else is learned about a connection or a topic that they name, all requests are added again.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.connections.lifecycle import ConnectionFacts
from kafkascope_analyzer.connections.roles import RoleCounts, request_roles
from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_analyzer.dataset.uncovered import Uncovered
from kafkascope_analyzer.resolve.bucket_events import BucketEvents
from kafkascope_analyzer.resolve.tables.bucket import Bucket
from kafkascope_analyzer.resolve.tables.parted_table import PartedTable
from kafkascope_analyzer.scan.apis import int_column
from kafkascope_analyzer.scan.named_in_parts import NAMED
from kafkascope_analyzer.scan.saved_state import load_state, save_state, table_bytes, table_of
from kafkascope_analyzer.scan.spill import read_spill

SAVED_SUMS = "sums.state"
"""The file of the totals, in the bucket's spill."""
MOST_KEPT = 1 << 18
"""Most requests that are kept for later runs. Where sources need more, as in a storm of errors, nothing more is saved:
each later run adds all of them again."""


class RequestSums:
    """Adds the requests of one bucket to the totals, and passes them to the sources of events."""

    def __init__(self, bucket: Bucket, uncovered: Uncovered, events: BucketEvents, facts: ConnectionFacts) -> None:
        self._bucket, self._uncovered, self._events, self._facts = bucket, uncovered, events, facts
        self._is_saved = bucket.earlier is not None and bucket.whole is None
        self._parts: dict[int, str] = {}
        self._last_ns = 0
        self._kept: list[bytes] = []
        self._n_kept = 0
        self.roles = RoleCounts()

    def resume(self, requests: PartedTable) -> frozenset[int]:
        """Continues from the saved totals of an earlier run, if they are still valid. Returns the parts that are in the
        totals."""
        file = self._bucket.spill / SAVED_SUMS
        state = load_state(file) if self._is_saved and file.exists() else None
        if state is None or not self._still_holds(state, requests):
            return frozenset()
        self._parts, self._last_ns = state["parts"], state["last_ns"]
        self._kept, self._n_kept = state["kept"], state["n_kept"]
        self._facts.resume(state["facts"])
        self.roles.add([table_of(state["roles"])])
        self._events.resume(state["events"])
        return frozenset(self._parts)

    def _still_holds(self, state: dict[str, Any], requests: PartedTable) -> bool:
        """Whether the rows of the parts of a saved state are unchanged."""
        is_kept = all(part in requests.is_kept and requests.keys[part] == key for part, key in state["parts"].items())
        return is_kept and self._uncovered.goes_on(state["uncovered"], state["last_ns"])

    def once_more(self) -> Iterator[pa.Table]:
        """Yields the spilled rows that the sources of events still have to get, of parts that are in the totals."""
        needed = self._events.needs_all_requests()
        for part in self._parts if needed.any() else ():
            named = (rows.filter(pc.equal(rows["table"], REQUESTS.name)) for rows in self._read(NAMED, part))
            if any(needed[rows["conn"].to_numpy()].any() for rows in named):
                for rows in self._read(REQUESTS.name, part):
                    yield _of(rows, needed)
        for kept in self._kept:
            yield _of(table_of(kept), ~needed)

    def _read(self, name: str, part: int) -> Iterator[pa.Table]:
        return read_spill(self._bucket.spill, name, part=part)

    def take(self, batch: pa.Table, rows: pa.Table) -> None:
        """Takes requests of a part that is not in the totals: with their responses, and as finished rows with conn,
        number and status_code."""
        self._events.take_requests(rows)
        self._events.add_up(rows)
        self._facts.note_requests(batch)
        self.roles.add(request_roles(batch))

    def keep(self, spilled: pa.Table, rows: pa.Table) -> None:
        """Keeps for later runs the requests that sources need, of those that were last taken. rows: the spilled ones as
        finished rows."""
        if self._is_saved:
            self._last_ns = max(self._last_ns, int(int_column(rows, "ts_ns", 0).max(initial=0)))
            kept = spilled.filter(pa.array(self._events.keeps(rows)))
            self._n_kept += kept.num_rows
            if self._n_kept <= MOST_KEPT:
                self._kept.append(table_bytes(kept))

    def save(self, requests: PartedTable) -> None:
        """Saves the totals, when all parts were taken but the last one, which each run spills again."""
        if self._is_saved and self._n_kept <= MOST_KEPT:
            state = {
                "parts": requests.keys,
                "uncovered": self._uncovered.times,
                "last_ns": self._last_ns,
                "kept": self._kept,
                "n_kept": self._n_kept,
                "facts": self._facts.added_up(),
                "roles": table_bytes(self.roles.total()),
                "events": self._events.added_up(),
            }
            save_state(self._bucket.spill / SAVED_SUMS, state)


def _of(rows: pa.Table, connections: NDArray[np.bool_]) -> pa.Table:
    """Returns the rows of those connections."""
    return rows.filter(pa.array(connections[rows["conn"].to_numpy()]))
