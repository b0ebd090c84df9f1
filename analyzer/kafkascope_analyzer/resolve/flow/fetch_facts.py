"""Between the passes: the runs of Fetch requests of all consumers, and when the next record after each run became
available.

Members of a group fetch on connections of any bucket, and the records for which they wait are produced on others.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.connections.topic_names import TopicNames
from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.resolve.flow.blocks import NamedRows
from kafkascope_analyzer.resolve.flow.offset_times import NEVER, NONE, OffsetTimes
from kafkascope_analyzer.resolve.flow.part_ends import named_rows
from kafkascope_analyzer.scan.apis import int_column
from kafkascope_analyzer.scan.fetch_runs import FETCH_RUNS
from kafkascope_analyzer.scan.service_kernels import LEAST_PAUSE_NS
from kafkascope_analyzer.scan.spill import read_spill
from kafkascope_analyzer.scan.transaction_picks import READERS

Longs = NDArray[np.int64]
RUNS = pa.schema(
    [
        ("conn_id", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("first_ns", pa.int64()),
        ("last_ns", pa.int64()),
        ("number", pa.int64()),
        ("last_number", pa.int64()),
        ("n", pa.int64()),
        ("n_records", pa.int64()),
        ("first_offset", pa.int64()),
        ("next_offset", pa.int64()),
        ("created_ns", pa.int64()),
        ("n_young", pa.int64()),
        ("next_accepted_ns", pa.int64()),
        ("last_answer_offset", pa.int64()),
        ("last_answer_accepted_ns", pa.int64()),
        ("before_last_ns", pa.int64()),
    ]
)
"""Runs by connection, topic-partition and time. created_ns, n_young: as in service_kernels.RUN; next_accepted_ns: when
the record at next_offset became available, last_answer_accepted_ns: when the record at last_answer_offset did; null
where the capture does not show it."""
MOSTLY_YOUNG = 0.9
"""Share of responses whose first record is young, from which on record times count as clock times: a consumer that
keeps up gets new records, but an application may set any time."""
_POINTS = pa.schema(
    [
        *(RUNS.field(name) for name in ("topic", "partition")),
        *((name, pa.int64()) for name in ("offset", "first_ns", "blocked_ns")),
    ]
)
_ORDER = [(name, "ascending") for name in ("conn_id", "topic", "partition", "first_ns", "number")]


class FetchRunEnds:
    """The times of the records after runs of Fetch requests, from the rows of a share (flow.follow.Responses). runs:
    those of its topic-partitions (fetch_runs); is_committed: whether each is of a consumer that reads only committed
    records."""

    def __init__(self, runs: pa.Table, is_committed: NDArray[np.bool_]) -> None:
        self._runs, self._is_committed = runs, is_committed
        points = _points(self._runs)
        partitions = points["partition"].to_numpy().astype(np.int64)
        self._times = OffsetTimes(flat(points["topic"]), partitions, points["offset"].to_numpy())
        self._place_of = np.empty(0, np.int64)

    def begin(self, topics: pa.DictionaryArray, partitions: pa.ChunkedArray) -> None:
        """Finds the places of these topic-partitions among those whose offsets are followed."""
        self._place_of = self._times.find(topics, partitions)

    def take_accepted(self, rows: Mapping[str, Longs]) -> None:
        """Notes when the offsets of accepted batches were there."""
        if self._runs.num_rows:
            self._times.take_accepted(self._place_of[rows["place"]], rows["first_offset"], rows["ts_ns"])

    def take_fetched(self, rows: Mapping[str, Longs]) -> None:
        """Notes when responses to Fetch showed high watermarks."""
        if not self._runs.num_rows:
            return
        places = self._place_of[rows["place"]]
        self._times.take_ends(places, rows["high_watermark"], rows["ts_ns"])
        if self._is_committed.any():
            self._times.take_stable(places, rows["last_stable_offset"], rows["ts_ns"])

    def state(self) -> dict[str, Any]:
        """Returns the state to be saved."""
        if not self._runs.num_rows:
            return {"points": _POINTS.empty_table(), "is_any_committed": False}
        points = _points(self._runs).append_column("first_ns", pa.array(self._times.first_ns()))
        points = points.append_column("blocked_ns", pa.array(self._times.blocked_ns()))
        return {"points": points.cast(_POINTS), "is_any_committed": bool(self._is_committed.any())}

    def resume(self, state: Mapping[str, Any], ends: NamedRows) -> set[int]:
        """Continues from the results of earlier runs. ends: the highest offsets and times of each part
        (part_ends.PART_ENDS). Returns the parts whose rows have to be read again."""
        if not self._runs.num_rows:
            return set()
        needed = self._times.resume(named_rows(state["points"]), ends)
        if self._is_committed.any() and not state["is_any_committed"]:
            return set(ends.rows["part"].to_pylist())
        return needed

    def found(self) -> pa.Table:
        """Returns the runs (RUNS), when all rows were taken."""
        if not self._runs.num_rows:
            return self._runs
        created = _created(self._runs)
        places = self._times.find(flat(created["topic"]).dictionary_encode(), created["partition"])
        offsets, created_ns = int_column(created, "first_offset", NONE), created["created_ns"].to_numpy()
        self._times.take_created(places, offsets, created_ns)
        accepted_ns = self._times.first_ns()
        if self._is_committed.any():
            stable_ns = np.maximum(accepted_ns, self._times.blocked_ns())
            accepted_ns = np.where(np.tile(self._is_committed, 2), stable_ns, accepted_ns)
        n = self._runs.num_rows
        return _joined(self._runs, accepted_ns[:n], accepted_ns[n:])


def _points(runs: pa.Table) -> pa.Table:
    """Returns the offsets to look for: first the record after each run, then the first record of the last response of
    each."""
    places = runs.select(["topic", "partition"])
    offsets = pa.chunked_array([*runs["next_offset"].chunks, *runs["last_answer_offset"].chunks], pa.int64())
    return pa.concat_tables([places, places]).append_column("offset", offsets).combine_chunks()


def _created(runs: pa.Table) -> pa.Table:
    """Returns the runs whose first records have create times: those of consumers whose record times are those of a
    clock."""
    per = ["conn_id", "topic", "partition"]
    total = runs.group_by(per).aggregate([("n", "sum"), ("n_young", "sum")])
    is_clock = pc.greater_equal(total["n_young_sum"], pc.multiply(pc.cast(total["n_sum"], pa.float64()), MOSTLY_YOUNG))
    return runs.join(total.filter(is_clock).select(per), per, join_type="left semi")


def fetch_runs(connections: Mapping[Path, pa.Table], topics: TopicNames) -> tuple[pa.Table, NDArray[np.bool_]]:
    """Returns the runs of all buckets (RUNS), and whether each is of a consumer that reads only committed records.
    connections: with conn_id, by the directory of a bucket's spill."""
    found = [_runs_of(spill, rows["conn_id"], topics) for spill, rows in connections.items()]
    runs = sorted_runs(found)
    return runs, _read_committed(connections, runs)


def sorted_runs(tables: Sequence[pa.Table]) -> pa.Table:
    """Returns the runs of several tables in their order."""
    return pa.concat_tables([RUNS.empty_table(), *tables]).sort_by(_ORDER).combine_chunks()


def _read_committed(connections: Mapping[Path, pa.Table], runs: pa.Table) -> NDArray[np.bool_]:
    """Whether each run is of a consumer that reads only committed records."""
    found = [
        rows["conn_id"].take(conns["conn"])
        for spill, rows in connections.items()
        for conns in read_spill(spill, READERS)
    ]
    readers = pa.concat_arrays([pa.array([], pa.string()), *(each.combine_chunks() for each in found)])
    return np.asarray(pc.is_in(runs["conn_id"], readers).combine_chunks().to_numpy(zero_copy_only=False), np.bool_)


def _runs_of(spill: Path, conn_ids: pa.ChunkedArray, topics: TopicNames) -> pa.Table:
    parts = list(read_spill(spill, FETCH_RUNS))
    if not parts:
        return RUNS.empty_table()
    rows = pa.concat_tables(parts)
    columns = {name: rows[name] for name in rows.column_names}
    columns |= {"conn_id": conn_ids.take(rows["conn"]), "topic": topics.complete(rows["topic"], rows["topic_id"])}
    for name in ("next_accepted_ns", "last_answer_accepted_ns"):
        columns[name] = pa.nulls(rows.num_rows, pa.int64())
    table = pa.table([columns[name] for name in RUNS.names], schema=RUNS)
    return table.filter(table["topic"].is_valid())


def _joined(runs: pa.Table, accepted: NDArray[np.int64], answered: NDArray[np.int64]) -> pa.Table:
    """Returns the runs, in which those of a connection and topic-partition without a wait in between are one. accepted:
    when the record after each run became available; answered: when the first record of its last response did."""
    first_ns, last_ns = runs["first_ns"].to_numpy(), runs["last_ns"].to_numpy()
    same = np.zeros(runs.num_rows, np.bool_)
    same[1:] = True
    for name in ("conn_id", "topic", "partition"):
        coded = runs[name].combine_chunks().dictionary_encode().indices.to_numpy()
        same[1:] &= coded[1:] == coded[:-1]
    first_offset, next_offset = runs["first_offset"].to_numpy(), runs["next_offset"].to_numpy()
    is_short, is_next = np.zeros(runs.num_rows, np.bool_), np.zeros(runs.num_rows, np.bool_)
    is_short[1:] = (accepted[:-1] != NEVER) & (first_ns[1:] - np.minimum(accepted[:-1], first_ns[1:]) < LEAST_PAUSE_NS)
    is_next[1:] = (accepted[:-1] == NEVER) & (first_offset[1:] == next_offset[:-1])
    starts = np.flatnonzero(~(same & (is_short | is_next)))
    ends = np.append(starts[1:], runs.num_rows) - 1
    columns = {name: runs[name].take(pa.array(starts)) for name in runs.column_names}
    for name in ("last_number", "last_answer_offset"):
        columns[name] = runs[name].take(pa.array(ends))
    for name in ("n", "n_records", "n_young"):
        columns[name] = pa.array(np.add.reduceat(runs[name].to_numpy(), starts))
    columns["last_ns"] = pa.array(last_ns[ends])
    columns["next_offset"] = pa.array(next_offset[ends])
    columns["next_accepted_ns"] = pa.array(accepted[ends], mask=accepted[ends] == NEVER)
    columns["last_answer_accepted_ns"] = pa.array(answered[ends], mask=answered[ends] == NEVER)
    before = runs["before_last_ns"].to_numpy()[ends]
    is_alone = (runs["n"].to_numpy()[ends] == 1) & (ends > starts)
    columns["before_last_ns"] = pa.array(np.where(is_alone, last_ns[ends - 1], before))
    return pa.table([columns[name] for name in RUNS.names], schema=RUNS)
