"""The lag of the offsets that each generation of a group committed, behind the high watermarks of their partitions.

First pass: each bucket spills its accepted commits. Between the passes (`LagPoints`) the last offset of each group,
generation and topic-partition of the whole capture is found, and the highest high watermark that responses to Fetch had
reported by the end of the second of that commit: consumers, followers and other groups fetch on connections of any
bucket. Second pass: each bucket writes the events of the commits on its own connections.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.connections.topic_names import TopicNames
from kafkascope_analyzer.resolve.flow.blocks import NamedRows
from kafkascope_analyzer.resolve.flow.known_places import KnownPlaces
from kafkascope_analyzer.resolve.flow.part_ends import named_rows
from kafkascope_analyzer.resolve.groups.requests import API_KEYS, COMMIT_APIS
from kafkascope_analyzer.scan.accepted_commits import ACCEPTED_COMMITS
from kafkascope_analyzer.scan.apis import int_column
from kafkascope_analyzer.scan.partitions import spill_name
from kafkascope_analyzer.scan.spill import read_spill

Longs = NDArray[np.int64]
SECOND_NS = 1_000_000_000
NOT_REPORTED = -1
"""Stands for a high watermark that was not reported."""
LAST_COMMITS = pa.schema(
    [
        ("group_id", pa.string()),
        ("generation_or_epoch", pa.int32()),
        ("topic", pa.string()),
        ("topic_id", pa.string()),
        ("partition", pa.int32()),
        ("ts_ns", pa.int64()),
        ("partition_offset", pa.int64()),
        ("conn_id", pa.string()),
        ("number", pa.int64()),
    ]
)
LAG_POINTS = pa.schema(
    [
        *(field for field in LAST_COMMITS if field.name not in ("topic_id", "number")),
        ("high_watermark", pa.int64()),
        ("number", pa.int64()),
    ]
)
"""The last commit of each group, generation and topic-partition of the capture, with its connection and the high
watermark with which it is compared; sorted and numbered."""
_WATERMARKS = pa.schema([LAG_POINTS.field(name) for name in ("topic", "partition", "ts_ns", "high_watermark")])
_NOT_NUMBERED = pa.schema([field for field in LAG_POINTS if field.name != "number"])
_ORDER = [(name, "ascending") for name in ("topic", "partition", "ts_ns", "group_id", "generation_or_epoch")]
_SUBJECT = ["group_id", "generation_or_epoch", "topic", "topic_id", "partition"]


class LagPoints:
    """The high watermarks at the times of commits, from the rows of a share (flow.follow.Responses). points: the last
    commits for its topic-partitions (last_commits)."""

    def __init__(self, points: pa.Table) -> None:
        self._points = points
        self._watermarks = HighWatermarks(self._points) if self._points.num_rows else None
        self._place_of = np.empty(0, np.int64)

    def begin(self, topics: pa.DictionaryArray, partitions: pa.ChunkedArray) -> None:
        """Finds the places of these topic-partitions among those of committed offsets."""
        if self._watermarks is not None:
            self._place_of = self._watermarks.find(topics, partitions)

    def take_accepted(self, rows: Mapping[str, Longs]) -> None:
        """Ignores responses to Produce."""

    def take_fetched(self, rows: Mapping[str, Longs]) -> None:
        """Keeps the high watermarks in responses to Fetch, from which the lag follows."""
        if self._watermarks is not None:
            self._watermarks.take(self._place_of[rows["place"]], rows["ts_ns"], rows["high_watermark"])

    def state(self) -> dict[str, Any]:
        """Returns the state to be saved."""
        if self._watermarks is None:
            return {"points": _WATERMARKS.empty_table()}
        watermarks = self._watermarks.of_points().fill_null(NOT_REPORTED)
        return {
            "points": self._points.append_column("high_watermark", watermarks)
            .select(_WATERMARKS.names)
            .cast(_WATERMARKS)
        }

    def resume(self, state: Mapping[str, Any], ends: NamedRows) -> set[int]:
        """Continues from the results of earlier runs. ends: the highest offsets and times of each part
        (part_ends.PART_ENDS). Returns the parts whose rows have to be read again."""
        return set() if self._watermarks is None else self._watermarks.resume(named_rows(state["points"]), ends)

    def found(self) -> pa.Table:
        """Returns the last commits with their high watermarks, when all rows were taken, without those of partitions
        whose high watermark no response had reported by then."""
        if self._watermarks is None:
            return _NOT_NUMBERED.empty_table()
        points = self._points.append_column("high_watermark", self._watermarks.of_points())
        return points.filter(points["high_watermark"].is_valid()).select(_NOT_NUMBERED.names).cast(_NOT_NUMBERED)


def last_commits(connections: Mapping[Path, pa.Table], topics: TopicNames) -> pa.Table:
    """Returns the last commits of all buckets by the names of their topics. connections: with conn_id, by the directory
    of a bucket's spill."""
    commits = [_last_commits(spill, rows["conn_id"]) for spill, rows in connections.items()]
    return _last_of_names(pa.concat_tables([LAST_COMMITS.empty_table(), *commits]), topics)


def lag_points(tables: Sequence[pa.Table]) -> pa.Table:
    """Returns what was found for all shares, sorted and numbered (LAG_POINTS)."""
    points = pa.concat_tables([_NOT_NUMBERED.empty_table(), *tables]).sort_by(_ORDER)
    return points.append_column("number", pa.array(np.arange(points.num_rows))).cast(LAG_POINTS).combine_chunks()


def _last_commits(directory: Path, conn_ids: pa.ChunkedArray) -> pa.Table:
    """Returns the last offset of each group, generation and topic-partition that a bucket's connections committed."""
    parts = list(read_spill(directory, ACCEPTED_COMMITS))
    latest = LAST_COMMITS.empty_table()
    if not parts:
        return latest
    commits = pa.concat_tables(parts)
    commits = commits.filter(pc.fill_null(pc.greater_equal(commits["generation_or_epoch"], 0), False))
    commits = commits.append_column("conn_id", conn_ids.take(commits["conn"]))
    for name in COMMIT_APIS:
        for offsets in read_spill(directory, spill_name(API_KEYS[name], "request")):
            latest = _latest(pa.concat_tables([latest, _of_groups(offsets, commits)]))
    return latest


def _of_groups(offsets: pa.Table, commits: pa.Table) -> pa.Table:
    """Returns the committed offsets of accepted commits."""
    known = offsets.filter(pc.fill_null(pc.greater_equal(offsets["partition_offset"], 0), False))
    columns = {name: known[name] for name in ("conn", "number", "partition", "partition_offset", "ts_ns")}
    for name in ("topic", "topic_id"):
        columns[name] = known[name].cast(pa.string())
    joined = pa.table(columns).join(commits, keys=["conn", "number"], join_type="inner", use_threads=False)
    return joined.select(LAST_COMMITS.names).cast(LAST_COMMITS)


def _latest(rows: pa.Table) -> pa.Table:
    """Returns the row of each group, generation and topic-partition that is last by time, then offset, then request."""
    subject = [name for name in _SUBJECT if name in rows.column_names]
    order = ["ts_ns", "partition_offset", "conn_id", "number"]
    ordered = rows.sort_by([(name, "ascending") for name in order])
    last = ordered.group_by(subject, use_threads=False).aggregate([(name, "last") for name in order])
    return last.rename_columns([name.removesuffix("_last") for name in last.column_names]).select(rows.column_names)


def _last_of_names(commits: pa.Table, topics: TopicNames) -> pa.Table:
    """Returns the last commits by the names of the topics, sorted; those of topics whose names the capture lacks are
    left out."""
    names = topics.complete(commits["topic"], commits["topic_id"])
    named = commits.drop_columns(["topic", "topic_id"]).append_column("topic", names)
    latest = _latest(named.filter(named["topic"].is_valid())).drop_columns("number")
    return latest.sort_by(_ORDER)


class HighWatermarks:
    """For each lag point the highest high watermark of its partition that had been reported by the end of its second.

    A place is a topic-partition, a slot a place and the second of a commit for it. Memory: one number for each slot.
    """

    def __init__(self, points: pa.Table) -> None:
        self._known = KnownPlaces(points["topic"].combine_chunks(), points["partition"].to_numpy())
        seconds = points["ts_ns"].to_numpy() // SECOND_NS
        self._first_second = int(seconds.min())
        self._span = int(seconds.max()) - self._first_second + 1
        slots = self._known.of_rows * self._span + (seconds - self._first_second)
        self._slots, self._slot_of_point = np.unique(slots, return_inverse=True)
        self._highest = np.full(len(self._slots), NOT_REPORTED)
        """The highest of the watermarks that were reported after the previous slot, up to the end of this one."""

    def find(self, topics: pa.DictionaryArray, partitions: pa.ChunkedArray) -> Longs:
        """Returns the place of each topic-partition; -1 for those without points."""
        return self._known.find(topics, partitions)

    def take(self, places: Longs, ts_ns: Longs, high_watermark: Longs) -> None:
        """Takes partitions of responses to Fetch. high_watermark: NOT_REPORTED where there is none."""
        known = np.flatnonzero((places >= 0) & (high_watermark >= 0))
        seconds = np.maximum(ts_ns[known] // SECOND_NS - self._first_second, 0)
        slots = np.searchsorted(self._slots, places[known] * self._span + np.minimum(seconds, self._span - 1))
        before_end = (seconds < self._span) & (slots < len(self._slots))
        known, slots = known[before_end], slots[before_end]
        same_place = self._slots[slots] // self._span == places[known]
        np.maximum.at(self._highest, slots[same_place], high_watermark[known[same_place]])

    def resume(self, found: NamedRows, ends: NamedRows) -> set[int]:
        """Takes over the results of earlier parts. found: the points of earlier runs (partition, ts_ns,
        high_watermark); ends: the highest offsets and times of each part (part_ends.PART_ENDS). Returns the parts that
        may have watermarks for new points."""
        places = self._known.find(found.topics, found.rows["partition"])
        seconds = found.rows["ts_ns"].to_numpy() // SECOND_NS - self._first_second
        keys = places * self._span + seconds
        slots = np.minimum(np.searchsorted(self._slots, keys), len(self._slots) - 1)
        is_there = (places >= 0) & (seconds >= 0) & (seconds < self._span) & (self._slots[slots] == keys)
        chosen = np.flatnonzero(is_there)
        np.maximum.at(self._highest, slots[chosen], found.rows["high_watermark"].to_numpy()[chosen])
        is_new = np.ones(len(self._slots), np.bool_)
        is_new[slots[chosen]] = False
        return self._needed(self._slots[is_new], ends)

    def _needed(self, new: NDArray[np.int64], ends: NamedRows) -> set[int]:
        """Returns the parts whose time contains a new point. For earlier parts their highest offsets suffice."""
        places = self._known.find(ends.topics, ends.rows["partition"])
        self.take(places, ends.rows["last_ns"].to_numpy(), int_column(ends.rows, "high_watermark", NOT_REPORTED))
        begin, end = (
            places * self._span + np.clip(ends.rows[name].to_numpy() // SECOND_NS - self._first_second, 0, self._span)
            for name in ("first_ns", "last_ns")
        )
        is_in = np.searchsorted(new, end) > np.searchsorted(new, begin)
        return set(ends.rows["part"].to_numpy()[(places >= 0) & is_in].tolist())

    def of_points(self) -> pa.Array:
        """Returns the high watermark of each lag point, int64; null where none was reported by then."""
        highest = _running_maximum(self._slots // self._span, self._highest)[self._slot_of_point]
        return pa.array(highest, mask=highest == NOT_REPORTED)


def _running_maximum(groups: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns the running maximum of the values within each group; groups are sorted."""
    distinct, ranks = np.unique(values, return_inverse=True)
    _, group = np.unique(groups, return_inverse=True)
    joint = np.maximum.accumulate(group * len(distinct) + ranks)
    return np.asarray(distinct[joint % len(distinct)])
