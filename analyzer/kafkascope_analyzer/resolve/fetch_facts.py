"""Between the passes: the runs of all consumers, and since when the first record that a run did not bring was there.

Members of a group fetch on connections of any bucket, and what they wait for is written on others.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.connections.topic_names import TopicNames
from kafkascope_analyzer.ingest.partitions import spill_name
from kafkascope_analyzer.ingest.spill import read_spill
from kafkascope_analyzer.resolve.apis import FETCH, PRODUCE
from kafkascope_analyzer.resolve.fetch_runs import FETCH_RUNS
from kafkascope_analyzer.resolve.offset_times import NEVER, OffsetTimes
from kafkascope_analyzer.resolve.service_kernels import LEAST_PAUSE_NS
from kafkascope_analyzer.resolve.transaction_picks import READERS

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
        ("next_accepted_ns", pa.int64()),
        ("last_answer_offset", pa.int64()),
        ("last_answer_accepted_ns", pa.int64()),
        ("before_last_ns", pa.int64()),
    ]
)
"""Runs by connection, topic-partition and time. next_accepted_ns: since when the record at next_offset was there,
last_answer_accepted_ns: that at last_answer_offset; null where the capture does not tell."""
_ORDER = [(name, "ascending") for name in ("conn_id", "topic", "partition", "first_ns", "number")]
_ACCEPTED = ["topic", "topic_id", "partition", "offset", "error_code", "ts_ns"]
_ENDS = ["topic", "topic_id", "partition", "high_watermark", "ts_ns"]


def gather_fetch_runs(connections: Mapping[Path, pa.Table], topics: TopicNames) -> pa.Table:
    """The runs of all buckets (RUNS). connections: by the directory of a bucket's spill, with conn_id."""
    found = [_runs_of(spill, rows["conn_id"], topics) for spill, rows in connections.items()]
    runs = pa.concat_tables([RUNS.empty_table(), *found]).sort_by(_ORDER).combine_chunks()
    if not runs.num_rows:
        return runs
    accepted = _accepted_ns(connections, topics, _points(runs), _read_committed(connections, runs))
    return _joined(runs, accepted[: runs.num_rows], accepted[runs.num_rows :])


def _points(runs: pa.Table) -> pa.Table:
    """What is looked for: first the record after each run, then the first record of the last response of each."""
    places = runs.select(["topic", "partition"])
    offsets = pa.chunked_array([*runs["next_offset"].chunks, *runs["last_answer_offset"].chunks], pa.int64())
    return pa.concat_tables([places, places]).append_column("offset", offsets).combine_chunks()


def _read_committed(connections: Mapping[Path, pa.Table], runs: pa.Table) -> NDArray[np.bool_]:
    """Whether each run is of a consumer that reads committed records only."""
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


def _accepted_ns(
    connections: Mapping[Path, pa.Table], topics: TopicNames, points: pa.Table, is_committed: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Since when there is a record at each point (_points): it was accepted, or shown to be there; for who reads
    committed records only (is_committed, of each run) not before the last stable offset was beyond it. NEVER where the
    capture does not tell."""
    partitions = points["partition"].to_numpy().astype(np.int64)
    times = OffsetTimes(points["topic"].combine_chunks(), partitions, points["offset"].to_numpy())
    for names, rows in _responses(connections, topics, PRODUCE, _ACCEPTED):
        is_accepted = pc.fill_null(pc.equal(rows["error_code"], 0), False)
        times.take_accepted(names.filter(is_accepted.combine_chunks()), rows.filter(is_accepted))
    stable = ["last_stable_offset"] if is_committed.any() else []
    for names, rows in _responses(connections, topics, FETCH, [*_ENDS, *stable]):
        times.take_ends(names, rows, "high_watermark")
        if stable:
            times.take_stable(names, rows)
    first_ns = times.first_ns()
    if not stable:
        return first_ns
    stable_ns = np.maximum(first_ns, times.blocked_ns())
    return np.where(np.concatenate([is_committed, is_committed]), stable_ns, first_ns)


def _responses(
    connections: Mapping[Path, pa.Table], topics: TopicNames, api_key: int, columns: list[str]
) -> Iterator[tuple[pa.DictionaryArray, pa.Table]]:
    """Partitions of the responses of all buckets, and the names of their topics."""
    for spill in connections:
        for rows in read_spill(spill, spill_name(api_key, "response"), columns):
            names, ids = (rows[name].combine_chunks() for name in ("topic", "topic_id"))
            yield topics.complete_coded(names, ids), rows


def _joined(runs: pa.Table, accepted: NDArray[np.int64], answered: NDArray[np.int64]) -> pa.Table:
    """Runs of a connection and topic-partition between which there was no wait are one. accepted: since when the record
    after each run was there; answered: the first record of its last response."""
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
    for name in ("n", "n_records"):
        columns[name] = pa.array(np.add.reduceat(runs[name].to_numpy(), starts))
    columns["last_ns"] = pa.array(last_ns[ends])
    columns["next_offset"] = pa.array(next_offset[ends])
    columns["next_accepted_ns"] = pa.array(accepted[ends], mask=accepted[ends] == NEVER)
    columns["last_answer_accepted_ns"] = pa.array(answered[ends], mask=answered[ends] == NEVER)
    before = runs["before_last_ns"].to_numpy()[ends]
    is_alone = (runs["n"].to_numpy()[ends] == 1) & (ends > starts)
    columns["before_last_ns"] = pa.array(np.where(is_alone, last_ns[ends - 1], before))
    return pa.table([columns[name] for name in RUNS.names], schema=RUNS)
