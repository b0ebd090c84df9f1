"""Events of the kind commit_slice: the progress of groups, from the offsets committed in each time slice."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.dataset.tables.event_kinds.flow import CommitSlice
from kafkascope_analyzer.resolve.bucket_context import BucketContext
from kafkascope_analyzer.resolve.event_source import EventPlace, EventSource, MessageReader, event_table
from kafkascope_analyzer.scan.accepted_commits import ACCEPTED_COMMITS
from kafkascope_analyzer.scan.apis import int_column
from kafkascope_analyzer.scan.spill import read_spill
from kafkascope_analyzer.scan.unanswered import is_one_of, number_parts, request_numbers
from kafkascope_parsers.api_keys import OFFSET_COMMIT, TXN_OFFSET_COMMIT

_COMMITS = frozenset({OFFSET_COMMIT, TXN_OFFSET_COMMIT})
_SLICE = ["conn", "group_id", "topic", "partition", "ts_ns"]
_LAST = ["last_ns", "number", "committed_offset"]
_NO_COMMITS = pa.schema(
    [
        ("conn", pa.int64()),
        ("group_id", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("ts_ns", pa.int64()),
        ("last_ns", pa.int64()),
        ("number", pa.int64()),
        ("committed_offset", pa.int64()),
    ]
).empty_table()
"""ts_ns: begin of the slice; number: of the request, which orders two commits of one time."""


class CommitEvents(EventSource):
    """EventSource of the kind commit_slice. Memory: the number of each commit and its group, and a row for each
    connection, group, topic-partition and slice."""

    KINDS = (CommitSlice,)

    def __init__(self, context: BucketContext) -> None:
        self._connections = context.connections.select(["conn_id", "client_ip", "node_id"])
        self._slice_ns = context.shared.slice_ns
        self._accepted, self._groups = _accepted(context.spill)
        self._commits = _NO_COMMITS

    def wants_partitions(self, api_key: int, direction: str) -> NDArray[np.bool_] | None:
        """Whether each connection has an accepted commit of a group member, for commits."""
        if api_key not in _COMMITS or direction != "request":
            return None
        wanted = np.zeros(self._connections.num_rows, np.bool_)
        wanted[number_parts(self._accepted)[0]] = True
        return wanted

    def take_partitions(self, rows: pa.Table, api_key: int, direction: str) -> Iterator[pa.Table]:
        """Notes the last accepted commit of each topic-partition in each slice."""
        chosen = is_one_of(request_numbers(rows), self._accepted) & (int_column(rows, "partition_offset", -1) >= 0)
        commits = self._of_slices(rows.filter(pa.array(chosen)))
        self._commits = _last_of_slices(pa.concat_tables([self._commits, commits]))
        yield from ()

    def _of_slices(self, rows: pa.Table) -> pa.Table:
        ts_ns = int_column(rows, "ts_ns", 0)
        columns = {
            "conn": rows["conn"],
            "group_id": self._groups.take(pa.array(np.searchsorted(self._accepted, request_numbers(rows)))),
            "topic": rows["topic"].cast(pa.string()),
            "partition": rows["partition"],
            "ts_ns": pa.array(ts_ns // self._slice_ns * self._slice_ns),
            "last_ns": pa.array(ts_ns),
            "number": rows["number"],
            "committed_offset": rows["partition_offset"],
        }
        return pa.table(columns).filter(columns["topic"].is_valid()).cast(_NO_COMMITS.schema)

    def finish(self, connections: pa.Table, read_messages: MessageReader) -> Iterator[pa.Table]:
        """Yields the slices of the connections of this bucket."""
        rows = self._commits
        known = self._connections.take(rows["conn"])
        columns = {name: flat(rows[name]) for name in rows.column_names}
        columns |= {name: flat(known[name]) for name in known.column_names}
        columns["slice_ms"] = pa.array(np.full(rows.num_rows, self._slice_ns // 1_000_000))
        key = pc.binary_join_element_wise(columns["topic"], columns["partition"].cast(pa.string()), "-")
        place = EventPlace(key, columns["client_ip"], columns["conn_id"], columns["ts_ns"])
        yield event_table(CommitSlice, place, columns)


def _accepted(spill: Path) -> tuple[NDArray[np.int64], pa.Array]:
    """Returns the numbers of the commits of a bucket that their coordinator accepted, sorted, and their groups."""
    found = list(read_spill(spill, ACCEPTED_COMMITS))
    numbers = np.concatenate([np.empty(0, np.int64), *(request_numbers(rows) for rows in found)])
    groups = pa.chunked_array([flat(rows["group_id"]).cast(pa.string()) for rows in found], pa.string())
    order = np.argsort(numbers)
    return numbers[order], flat(groups).dictionary_encode().take(pa.array(order))


def _last_of_slices(commits: pa.Table) -> pa.Table:
    """Returns the last commit of each connection, topic-partition and slice."""
    ordered = commits.sort_by([(name, "ascending") for name in _LAST])
    last = ordered.group_by(_SLICE, use_threads=False).aggregate([(name, "last") for name in _LAST])
    return last.rename_columns([name.removesuffix("_last") for name in last.column_names]).select(commits.column_names)
