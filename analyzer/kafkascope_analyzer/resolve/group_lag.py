"""How far the offsets that a group's generations committed were behind the high watermarks of their partitions.

First pass: each bucket spills which of its commits were accepted. Between the passes the last offset of each group,
generation and topic-partition of the whole capture is found (`gather_lag_points`).
Second pass: each bucket finds the highest high watermark that the Fetch responses on each of its own connections had
reported by the end of the second of each commit (`HighWatermarks`): consumers, followers and other groups fetch on
connections of any bucket.
"""

from collections.abc import Iterable, Mapping
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
MERGED_ROWS = 1 << 16
"""High watermarks of connections and slots that may lie unmerged."""
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
    parts = list(read_spill(directory, ACCEPTED_COMMITS))
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
    """The highest high watermarks of the partitions of lag points that each connection of a bucket reports, by the
    second of the next commit.

    A place is a topic-partition, a slot a place and the second of a commit for it. Memory: one number for each slot and
    connection that fetches from its place.
    """

    def __init__(self, points: pa.Table) -> None:
        self._points = points
        topics = points["topic"].combine_chunks().dictionary_encode() if points.num_rows else None
        self._topics = topics.dictionary if topics is not None else pa.array([], pa.string())
        codes = topics.indices.to_numpy().astype(np.int64) if topics is not None else np.empty(0, np.int64)
        partitions = points["partition"].to_numpy()
        seconds = points["ts_ns"].to_numpy() // SECOND_NS
        self._n_partitions = int(partitions.max(initial=0)) + 1
        self._first_second = int(seconds.min(initial=np.iinfo(np.int64).max))
        self._span = int(seconds.max(initial=self._first_second)) - self._first_second + 1
        places = codes * self._n_partitions + partitions
        slots = places * self._span + (seconds - self._first_second)
        self._slots, self._slot_of_point = np.unique(slots, return_inverse=True)
        self._highest: list[pa.Table] = []
        self._n_pending = 0

    def take(self, rows: pa.Table) -> None:
        """Takes rows of `partitions` of the responses to Fetch, with the number of their connection (conn)."""
        if not len(self._slots):
            return
        places, high_watermark = self._places(rows), pc.fill_null(rows["high_watermark"], -1).to_numpy()
        known = np.flatnonzero((places >= 0) & (high_watermark >= 0))
        seconds = np.maximum(rows["ts_ns"].to_numpy()[known] // SECOND_NS - self._first_second, 0)
        slots = np.searchsorted(self._slots, places[known] * self._span + np.minimum(seconds, self._span - 1))
        before_end = (seconds < self._span) & (slots < len(self._slots))
        known, slots = known[before_end], slots[before_end]
        same_place = self._slots[slots] // self._span == places[known]
        known, slots = known[same_place], slots[same_place]
        if len(known):
            columns = {"conn": rows["conn"].take(pa.array(known)), "slot": slots, "value": high_watermark[known]}
            self._highest.append(_highest([pa.table(columns)]))
            self._n_pending += self._highest[-1].num_rows
        if self._n_pending > MERGED_ROWS:
            self._highest, self._n_pending = [_highest(self._highest)], 0

    def _places(self, rows: pa.Table) -> NDArray[np.int64]:
        """The place of each row; -1 where nobody commits for its topic-partition."""
        topic = rows["topic"].combine_chunks()
        coded = topic if pa.types.is_dictionary(topic.type) else topic.dictionary_encode()
        of_code = pc.fill_null(pc.index_in(coded.dictionary, self._topics), -1).to_numpy().astype(np.int64)
        codes = np.append(of_code, -1)[pc.fill_null(coded.indices, len(of_code)).to_numpy()]
        partition = rows["partition"].to_numpy()
        is_known = (codes >= 0) & (partition >= 0) & (partition < self._n_partitions)
        return np.where(is_known, codes * self._n_partitions + partition, -1)

    def rows(self) -> pa.Table | None:
        """For each connection and each lag point of a partition that it reports a high watermark of by then: the
        columns of LAG_POINTS, conn, number (of the point) and high_watermark; None where there are none."""
        if not self._highest:
            return None
        found = _highest(self._highest).sort_by([("conn", "ascending"), ("slot", "ascending")])
        conn, slot, value = (found[name].to_numpy() for name in ("conn", "slot", "value"))
        pairs = conn * self._pair_span + self._slots[slot] // self._span
        conns, slots, highest = self._at_all_slots(pairs, slot, _running_maximum(pairs, value))
        order = np.argsort(self._slot_of_point, kind="stable")
        first, last = (np.searchsorted(self._slot_of_point[order], slots, side) for side in ("left", "right"))
        points = order[_ranges(first, last)]
        repeated = np.repeat(np.arange(len(slots)), last - first)
        columns = {"conn": conns[repeated], "number": points, "high_watermark": highest[repeated]}
        table = self._points.take(pa.array(points))
        for name, values in columns.items():
            table = table.append_column(name, pa.array(values))
        return table

    @property
    def _pair_span(self) -> int:
        """Numbers of places are below this."""
        return len(self._topics) * self._n_partitions

    def _at_all_slots(
        self, pairs: NDArray[np.int64], slot: NDArray[np.int64], highest: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Connection, slot and high watermark for all slots of the places of pairs (a connection and a place), from the
        first slot on by which the connection reports one. pairs and slot are sorted."""
        distinct, first, pair_of_row = np.unique(pairs, return_index=True, return_inverse=True)
        places = distinct % self._pair_span
        slot_places = self._slots // self._span
        ends = np.searchsorted(slot_places, places, "right")
        slots = _ranges(slot[first], ends)
        which = np.repeat(np.arange(len(distinct)), ends - slot[first])
        n_slots = len(self._slots)
        reported = np.searchsorted(pair_of_row * n_slots + slot, which * n_slots + slots, "right") - 1
        return distinct[which] // self._pair_span, slots, highest[reported]


def _highest(tables: list[pa.Table]) -> pa.Table:
    """The highest value of each connection and slot."""
    grouped = pa.concat_tables(tables).group_by(["conn", "slot"], use_threads=False).aggregate([("value", "max")])
    return grouped.rename_columns({"value_max": "value"})


def _running_maximum(groups: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.int64]:
    """The maximum of the values so far, within each group; groups are sorted."""
    distinct, ranks = np.unique(values, return_inverse=True)
    _, group = np.unique(groups, return_inverse=True)
    joint = np.maximum.accumulate(group * len(distinct) + ranks)
    return np.asarray(distinct[joint % len(distinct)])


def _ranges(first: NDArray[np.int64], last: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers from each first up to each last, one after the other."""
    lengths = last - first
    starts = np.cumsum(lengths) - lengths
    numbers: NDArray[np.int64] = np.arange(int(lengths.sum())) + np.repeat(first - starts, lengths)
    return numbers
