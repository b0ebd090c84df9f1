"""Rows of `partitions` of earlier runs that the sources of events get again, where captures are appended.

Most rows of a part make no event. The spilled rows that a source keeps are saved with the dataset, so that the next run
does not read the parts again of which they are. All rows of a connection are read again where a source needs them to
count something, where the connection has runs of errors, and where its client had a failure in the time of earlier
runs that these did not know: other rows then follow it.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.resolve.bucket_context import BucketContext
from kafkascope_analyzer.resolve.bucket_events import BucketEvents
from kafkascope_analyzer.resolve.requests.failure_times import FailureTimes, KnownFailures
from kafkascope_analyzer.resolve.tables.bucket import Bucket
from kafkascope_analyzer.resolve.tables.parted_table import PartedTable
from kafkascope_analyzer.scan.apis import int_column
from kafkascope_analyzer.scan.saved_state import load_state, save_state, table_bytes, table_of
from kafkascope_analyzer.scan.spill import END, joined_batches
from kafkascope_analyzer.scan.unanswered import number_parts

SAVED_PARTITIONS = "partitions.state"
"""The file of the kept rows, in the bucket's spill."""
MOST_KEPT = 1 << 18
"""Most rows that are kept. Where sources need more, as in a storm of errors, none are saved: the next run reads all
parts again."""


class KeptPartitions:
    """Reads the spilled rows of a bucket's `partitions` that the sources of events have to get."""

    def __init__(self, bucket: Bucket, events: BucketEvents, context: BucketContext) -> None:
        self._file = bucket.spill / SAVED_PARTITIONS
        self._is_saved = bucket.earlier is not None and bucket.whole is None
        self._events, self._context = events, context
        failures = context.shared.partition_failures
        self._failures = (failures.partitions, failures.topics)
        self._last_ns = 0
        """Time of the last row of the parts that no later run changes."""
        self._former: dict[str, list[bytes]] | None = None
        """Rows that earlier runs have kept, by the name of the spilled table; None where all are read again."""
        self._kept: dict[str, list[bytes]] = {}
        self._n_kept = 0
        self._again = np.zeros(context.connections.num_rows, np.bool_)
        """The connections of which all rows are read again."""

    def resume(self, partitions: PartedTable) -> None:
        """Continues from the saved rows of an earlier run, if the rows of its parts are unchanged."""
        state = load_state(self._file) if self._is_saved and self._file.exists() else None
        if state is not None and self._still_holds(state, partitions):
            self._former, self._last_ns = state["kept"], state["last_ns"]
            self._again = self._changed(state["known"])

    def _still_holds(self, state: dict[str, Any], partitions: PartedTable) -> bool:
        parts, uncovered = state["parts"], self._context.shared.uncovered
        is_same = all(partitions.keys.get(part) == key for part, key in parts.items())
        is_same &= partitions.is_kept == parts.keys()
        return is_same and uncovered.goes_on(state["uncovered"], state["last_ns"])

    def _changed(self, known: list[dict[str, Any]]) -> NDArray[np.bool_]:
        """Returns whether other rows of each connection may be needed than earlier runs have kept. known: failures that
        these knew."""
        clients = set[str]()
        for failures, state in zip(self._failures, known, strict=True):
            before = KnownFailures()
            before.resume(state)
            clients.update(before.newly_failed(failures))
        client_ips = np.asarray(flat(self._context.connections["client_ip"]).fill_null("").to_pylist(), object)
        changed = np.asarray(np.isin(client_ips, sorted(clients)), np.bool_)
        changed[number_parts(self._context.runs.first)[0]] = True
        return changed

    def batches(self, partitions: PartedTable, name: str, message: tuple[int, str]) -> Iterator[tuple[int, pa.Table]]:
        """Yields the part and the spilled rows of each batch of a message: first those that earlier runs have kept.
        name: the spilled table; message: its API and direction."""
        wanted = self._events.wants_partitions(*message)
        if self._former is not None:
            wanted = (wanted & self._again) | self._events.wants_all_partitions(*message)
            for rows in joined_batches(map(table_of, self._former.get(name, ()))):
                yield max(partitions.is_kept), rows.filter(pa.array(~wanted[rows["conn"].to_numpy()]))
        yield from partitions.batches(name, wanted)

    def keep(self, part: int, name: str, spilled: pa.Table, is_kept: NDArray[np.bool_]) -> None:
        """Keeps rows that the sources have got for later runs. is_kept: whether a source keeps each of them."""
        if self._is_saved and part != END:
            self._last_ns = max(self._last_ns, int(int_column(spilled, "ts_ns", 0).max(initial=0)))
            self._n_kept += int(is_kept.sum())
            if is_kept.any() and self._n_kept <= MOST_KEPT:
                self._kept.setdefault(name, []).append(table_bytes(spilled.filter(pa.array(is_kept))))

    def save(self, partitions: PartedTable) -> None:
        """Saves the rows, when all parts were taken."""
        self._file.unlink(missing_ok=True)
        if self._is_saved and self._n_kept <= MOST_KEPT:
            state = {
                "parts": partitions.keys,
                "uncovered": self._context.shared.uncovered.times,
                "last_ns": self._last_ns,
                "kept": self._kept,
                "known": [self._known(failures) for failures in self._failures],
            }
            save_state(self._file, state)

    def _known(self, failures: FailureTimes) -> dict[str, Any]:
        known = KnownFailures()
        known.note(np.array([self._last_ns]))
        return known.state(failures)
