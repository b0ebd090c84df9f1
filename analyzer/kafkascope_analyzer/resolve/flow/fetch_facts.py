"""Between the passes: the runs of Fetch requests of all consumers, and when the next record after each run became
available.

Members of a group fetch on connections of any bucket, and the records for which they wait are produced on others.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.connections.topic_names import TopicNames
from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.resolve.flow.blocks import NamedRows
from kafkascope_analyzer.resolve.flow.offset_times import NEVER, OffsetTimes
from kafkascope_analyzer.resolve.flow.part_ends import named_rows
from kafkascope_analyzer.scan.fetch_runs import FETCH_RUNS
from kafkascope_analyzer.scan.service_kernels import LEAST_PAUSE_NS
from kafkascope_analyzer.scan.spill import read_spill
from kafkascope_analyzer.scan.transaction_picks import READERS

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
    """The runs of all buckets, and the times of the records after them from responses (flow.facts.Responses).
    connections: with conn_id, by the directory of a bucket's spill."""

    def __init__(self, connections: Mapping[Path, pa.Table], topics: TopicNames) -> None:
        found = [_runs_of(spill, rows["conn_id"], topics) for spill, rows in connections.items()]
        self._runs = pa.concat_tables([RUNS.empty_table(), *found]).sort_by(_ORDER).combine_chunks()
        self._is_committed = _read_committed(connections, self._runs)
        points = _points(self._runs)
        partitions = points["partition"].to_numpy().astype(np.int64)
        self._times = OffsetTimes(flat(points["topic"]), partitions, points["offset"].to_numpy())

    def take_accepted(self, named: NamedRows) -> None:
        """Takes responses to Produce."""
        if not self._runs.num_rows:
            return
        rows = named.rows
        accepted = pc.if_else(pc.equal(rows["error_code"], 0), rows["partition_offset"], None)
        times = rows["ts_ns"].fill_null(0)  # null where the broker did not respond
        columns = {"partition": rows["partition"], "partition_offset": accepted, "ts_ns": times}
        self._times.take_accepted(named.topics, pa.table(columns))

    def take_fetched(self, named: NamedRows) -> None:
        """Takes responses to Fetch."""
        if not self._runs.num_rows:
            return
        self._times.take_ends(named.topics, named.rows, "high_watermark")
        if self._is_committed.any():
            self._times.take_stable(named.topics, named.rows)

    def state(self) -> dict[str, Any]:
        """Returns the state to be saved."""
        if not self._runs.num_rows:
            return {"points": _POINTS.empty_table(), "is_any_committed": False}
        points = _points(self._runs).append_column("first_ns", pa.array(self._times.first_ns()))
        points = points.append_column("blocked_ns", pa.array(self._times.blocked_ns()))
        return {"points": points.cast(_POINTS), "is_any_committed": bool(self._is_committed.any())}

    def resume(self, state: Mapping[str, Any], ends: NamedRows) -> set[int]:
        """See flow.facts.Responses."""
        if not self._runs.num_rows:
            return set()
        needed = self._times.resume(named_rows(state["points"]), ends)
        if self._is_committed.any() and not state["is_any_committed"]:
            return set(ends.rows["part"].to_pylist())
        return needed

    def runs(self) -> pa.Table:
        """Returns the runs (RUNS), when all responses were taken."""
        if not self._runs.num_rows:
            return self._runs
        self._times.take_created(*_created(self._runs))
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


def _created(runs: pa.Table) -> tuple[pa.DictionaryArray, pa.Table]:
    """Returns topics and rows (partition, partition_offset, ts_ns) of the first records of runs, with their create
    times, where the record times of a consumer are those of a clock."""
    per = ["conn_id", "topic", "partition"]
    total = runs.group_by(per).aggregate([("n", "sum"), ("n_young", "sum")])
    is_clock = pc.greater_equal(total["n_young_sum"], pc.multiply(pc.cast(total["n_sum"], pa.float64()), MOSTLY_YOUNG))
    chosen = runs.join(total.filter(is_clock).select(per), per, join_type="left semi")
    rows = chosen.select(["partition", "first_offset", "created_ns"]).rename_columns(
        ["partition", "partition_offset", "ts_ns"]
    )
    return flat(chosen["topic"].cast(pa.dictionary(pa.int32(), pa.string()))), rows


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
