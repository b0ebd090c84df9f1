"""First pass: when the consumers on the connections of a bucket got records, as runs (service_kernels.RUN).

A consumer that gets every record soon after it was written has a single run as long as its connection, however often it
fetches. It has the records of a response when the last byte has arrived: on a path that loses packets, seconds after
the first. Followers are not consumers. Members of share groups (KIP-932) get records of one topic-partition in turn.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.scan.apis import int_column
from kafkascope_analyzer.scan.places import NO_PLACE, Slots, TopicPartitions
from kafkascope_analyzer.scan.service_kernels import FETCHED, RUN, follow_fetched
from kafkascope_parsers.api_keys import FETCH, SHARE_FETCH
from kafkascope_parsers.growing import Growing

FETCH_RUNS = "facts.fetch_runs"
"""Spilled table: connection, topic-partition and fields of RUN."""
_FETCHES = frozenset({FETCH, SHARE_FETCH})
_CONN_SHIFT = 40
_NUMBERS = ("last_ns", "number", "last_offset", "n_records")
_COLUMNS = ["conn", *_NUMBERS, "first_offset", "first_timestamp_ms", "topic", "topic_id", "partition"]
"""Columns of partitions that are needed."""
_RUN_FIELDS = [name for name in RUN.names or () if name != "least_delay_ns"]


class FetchRuns:
    """Follows the consumers of one bucket. Memory: a RUN and two numbers for each connection and topic-partition."""

    def __init__(self) -> None:
        self._partitions = TopicPartitions()
        self._slots = Slots()
        self._runs, self._keys = Growing[np.void](RUN), Growing[np.int64](np.int64)

    def take(self, rows: pa.Table, api_key: int, direction: str) -> pa.Table | None:
        """Takes the partitions in messages of one kind (message_rows.NamedPartitions); returns runs that ended."""
        if api_key not in _FETCHES or direction != "response":
            return None
        has_records = rows["last_offset"].is_valid()
        chosen = rows.select(_COLUMNS).filter(pc.and_(has_records, pc.invert(rows["from_replica"])))
        places = self._partitions.of(chosen) if chosen.num_rows else np.empty(0, np.int64)
        chosen, places = chosen.filter(pa.array(places != NO_PLACE)), places[places != NO_PLACE]
        if not len(places):
            return None
        slots = self._slots_of(int_column(chosen, "conn", 0), places)
        ended, ended_slots = np.empty(len(slots), RUN), np.empty(len(slots), np.int64)
        n = follow_fetched(slots, _fetched(chosen), self._runs.rows, ended, ended_slots)
        return self._table(ended[:n], ended_slots[:n]) if n else None

    def finish(self) -> pa.Table:
        """Returns the runs that have not ended."""
        runs = self._runs.rows
        slots = np.flatnonzero(runs["n"] > 0)
        return self._table(runs.take(slots), slots)

    def _slots_of(self, conn: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.int64]:
        keys = conn << _CONN_SHIFT | places
        slots = self._slots.of(keys)
        n_new = len(self._slots) - len(self._runs)
        if n_new:
            self._runs.add(np.zeros(n_new, RUN))
            self._keys.add(np.zeros(n_new, np.int64))
            self._keys.rows[slots] = keys
        return slots

    def _table(self, runs: NDArray[np.void], slots: NDArray[np.int64]) -> pa.Table:
        keys = self._keys.rows[slots]
        columns = {"conn": pa.array(keys >> _CONN_SHIFT)}
        columns |= self._partitions.columns(keys & ((1 << _CONN_SHIFT) - 1))
        return pa.table(columns | {name: pa.array(np.ascontiguousarray(runs[name])) for name in _RUN_FIELDS})


def _fetched(rows: pa.Table) -> NDArray[np.void]:
    """Returns the rows as FETCHED."""
    fetched = np.empty(rows.num_rows, FETCHED)
    for name in _NUMBERS:
        fetched["ts_ns" if name == "last_ns" else name] = int_column(rows, name, 0)
    fetched["first_offset"] = int_column(rows, "first_offset", -1)
    fetched["timestamp_ms"] = int_column(rows, "first_timestamp_ms", -1)
    return fetched
