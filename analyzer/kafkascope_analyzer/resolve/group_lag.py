"""How far the offsets that a group's generations committed were behind the high watermarks of their partitions.

First pass: each bucket spills which of its commits were accepted. Between the passes the last offset of each group,
generation and topic-partition of the whole capture is found (`gather_lag_points`).
Second pass: each bucket finds the highest high watermark that its own Fetch responses had reported by the end of the
second of each commit (`HighWatermarks`): consumers, followers and other groups fetch on connections of any bucket.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.ingest.exchanges import OK
from kafkascope_analyzer.ingest.partitions import spill_name
from kafkascope_analyzer.ingest.spill import read_spill
from kafkascope_analyzer.resolve.group_requests import API_KEYS, COMMIT_APIS

SECOND_NS = 1_000_000_000
ACCEPTED_COMMITS = "facts.accepted_commits"
"""Spilled table: connection, number, group and generation of the commits that the coordinator accepted."""
LAST_COMMITS = pa.schema(
    [
        ("group_id", pa.string()),
        ("generation_or_epoch", pa.int32()),
        ("topic", pa.string()),
        ("topic_id", pa.string()),
        ("partition", pa.int32()),
        ("ts_ns", pa.int64()),
        ("offset", pa.int64()),
    ]
)
LAG_POINTS = pa.schema([field for field in LAST_COMMITS if field.name != "topic_id"])
"""The last commit of each group, generation and topic-partition of the capture, sorted by topic, partition, time."""
_COMMIT_KEYS = pa.array([API_KEYS[name] for name in COMMIT_APIS], pa.int16())
_NAMES = ["group_id", "generation_or_epoch", "topic", "topic_id", "partition"]


def pick_accepted_commits(settled: pa.Table) -> pa.Table | None:
    """Of settled requests (SETTLED_SCHEMA) those by which a member committed offsets, if they were accepted: conn,
    number, group_id, generation_or_epoch."""
    commits = pc.is_in(settled["api_key"], _COMMIT_KEYS)
    if not pc.any(commits).as_py():
        return None
    rows = settled.filter(commits)
    accepted = pc.and_(
        pc.and_(pc.equal(rows["status"], OK), pc.equal(pc.fill_null(rows["n_errors"], 0), 0)),
        pc.and_(pc.greater_equal(rows["generation_or_epoch"], 0), rows["group_id"].is_valid()),
    )
    chosen = rows.select(["conn", "number", "group_id", "generation_or_epoch"])
    return chosen.filter(pc.fill_null(accepted, False))


def gather_lag_points(spills: Iterable[Path], topics: Mapping[str, str]) -> pa.Table:
    """The last commits of the capture (LAG_POINTS), from what the buckets spilled. topics: topic names by id."""
    return _named([_last_commits(spill) for spill in spills], topics)


def _last_commits(directory: Path) -> pa.Table:
    """The last offset of each group, generation and topic-partition that a bucket's connections committed."""
    parts = [table for table in read_spill(directory, ACCEPTED_COMMITS)]
    latest = LAST_COMMITS.empty_table()
    if not parts:
        return latest
    commits = pa.concat_tables(parts)
    for name in COMMIT_APIS:
        for offsets in read_spill(directory, spill_name(API_KEYS[name], "request")):
            latest = _latest(pa.concat_tables([latest, _of_groups(offsets, commits)]))
    return latest


def _of_groups(offsets: pa.Table, commits: pa.Table) -> pa.Table:
    """The committed offsets of accepted commits."""
    known = offsets.filter(pc.fill_null(pc.greater_equal(offsets["offset"], 0), False))
    columns = {name: known[name] for name in ("conn", "number", "partition", "offset", "ts_ns")}
    for name in ("topic", "topic_id"):
        columns[name] = known[name].cast(pa.string())
    joined = pa.table(columns).join(commits, keys=["conn", "number"], join_type="inner", use_threads=False)
    return joined.select(LAST_COMMITS.names).cast(LAST_COMMITS)


def _latest(rows: pa.Table) -> pa.Table:
    """Of each group, generation and topic-partition the row that is last by time, then offset."""
    ordered = rows.sort_by([("ts_ns", "ascending"), ("offset", "ascending")])
    names = [name for name in _NAMES if name in rows.column_names]
    last = ordered.group_by(names, use_threads=False).aggregate([("ts_ns", "last"), ("offset", "last")])
    return last.rename_columns([name.removesuffix("_last") for name in last.column_names]).select(rows.column_names)


def _named(buckets: Iterable[pa.Table], topics: Mapping[str, str]) -> pa.Table:
    """The last commits of all buckets together, by the names of the topics."""
    rows = pa.concat_tables([LAST_COMMITS.empty_table(), *buckets])
    named = pc.if_else(pc.equal(rows["topic"], ""), pa.scalar(None, pa.string()), rows["topic"])
    by_id = pa.array([topics.get(topic_id) for topic_id in rows["topic_id"].unique().to_pylist()], pa.string())
    names = by_id.take(pc.index_in(rows["topic_id"], rows["topic_id"].unique()))
    rows = rows.set_column(rows.column_names.index("topic"), "topic", pc.coalesce(named, names))
    known = rows.filter(rows["topic"].is_valid()).select(LAG_POINTS.names)
    order = ("topic", "partition", "ts_ns", "group_id", "generation_or_epoch")
    return _latest(known).sort_by([(name, "ascending") for name in order]).cast(LAG_POINTS).combine_chunks()


class HighWatermarks:
    """The highest high watermarks of the partitions of lag points, by the second, as one bucket's connections report
    them."""

    def __init__(self, points: pa.Table) -> None:
        self._points = points
        topics = points["topic"].combine_chunks().dictionary_encode() if points.num_rows else None
        self._topics = topics.dictionary if topics is not None else pa.array([], pa.string())
        seconds = points["ts_ns"].to_numpy() // SECOND_NS
        self._first_second = int(seconds.min()) if len(seconds) else 0
        self._span = int(seconds.max()) - self._first_second + 1 if len(seconds) else 1
        partitions = points["partition"].to_numpy()
        self._n_partitions = int(partitions.max()) + 1 if len(partitions) else 1
        codes = topics.indices.to_numpy().astype(np.int64) if topics is not None else np.empty(0, np.int64)
        places = codes * self._n_partitions + partitions
        self._slots, self._slot_of_point = np.unique(
            places * self._span + (seconds - self._first_second), return_inverse=True
        )
        self._highest = np.full(len(self._slots), -1, np.int64)
        self._conn_ids = np.full(len(self._slots), None, object)

    def take(self, rows: pa.Table) -> None:
        """Takes finished rows of `partitions` of the responses to Fetch."""
        if not len(self._slots):
            return
        topic = rows["topic"].combine_chunks()
        coded = topic if pa.types.is_dictionary(topic.type) else topic.dictionary_encode()
        which = pc.fill_null(pc.index_in(coded.dictionary, self._topics), -1).to_numpy(zero_copy_only=False)
        codes = np.append(which, -1)[pc.fill_null(coded.indices, len(which)).to_numpy(zero_copy_only=False)]
        partition = rows["partition"].to_numpy()
        reported = pc.fill_null(rows["high_watermark"], -1).to_numpy()
        known = np.flatnonzero((codes >= 0) & (partition < self._n_partitions) & (partition >= 0) & (reported >= 0))
        seconds = np.maximum(rows["ts_ns"].to_numpy()[known] // SECOND_NS - self._first_second, 0)
        places = codes[known].astype(np.int64) * self._n_partitions + partition[known]
        slots = np.searchsorted(self._slots, places * self._span + np.minimum(seconds, self._span))
        in_time = (seconds < self._span) & (slots < len(self._slots))
        in_time[in_time] = self._slots[slots[in_time]] // self._span == places[in_time]
        self._raise(slots[in_time], reported[known[in_time]], rows["conn_id"], known[in_time])

    def _raise(
        self, slots: NDArray[np.int64], reported: NDArray[np.int64], conn_ids: pa.ChunkedArray, rows: NDArray[np.int64]
    ) -> None:
        higher = np.flatnonzero(reported > self._highest[slots])
        np.maximum.at(self._highest, slots[higher], reported[higher])
        best = higher[reported[higher] == self._highest[slots[higher]]]
        self._conn_ids[slots[best]] = conn_ids.take(pa.array(rows[best])).to_pylist()

    def rows(self) -> Iterator[pa.Table]:
        """The points that the bucket's connections report a high watermark for: LAG_POINTS, number (of the point),
        high_watermark and conn_id, the connection that reported it."""
        highest, conn_ids = self._highest.copy(), self._conn_ids.copy()
        for i in range(1, len(highest)):
            if self._slots[i] // self._span == self._slots[i - 1] // self._span and highest[i] < highest[i - 1]:
                highest[i], conn_ids[i] = highest[i - 1], conn_ids[i - 1]
        seen = np.flatnonzero(highest[self._slot_of_point] >= 0)
        if len(seen):
            slots = self._slot_of_point[seen]
            points = self._points.take(pa.array(seen)).append_column("number", pa.array(seen))
            points = points.append_column("high_watermark", pa.array(highest[slots]))
            yield points.append_column("conn_id", pa.array(conn_ids[slots].tolist(), pa.string()))
