"""Finds when offsets of topic-partitions were accepted or readable, from any message of the capture that shows it.

A point is a topic-partition (place) and an offset whose time is wanted. Points are collected first, from all buckets;
then the rows of Produce and Fetch responses about these topic-partitions are read once. Memory: four numbers for each
point. Where captures are appended, the results of earlier runs are reused, and parts that these have read are read
again only where they may have the time of a new point.
"""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.sorted_rows import distinct_sorted
from kafkascope_analyzer.resolve.flow.blocks import NamedRows
from kafkascope_analyzer.resolve.flow.known_places import KnownPlaces
from kafkascope_analyzer.scan.apis import int_column

Longs = NDArray[np.int64]
NONE = -1
"""Stands for an offset that is not known."""
NEVER = np.iinfo(np.int64).max


class OffsetTimes:
    """The times of points. topics: text, partitions, offsets: one of each per point."""

    def __init__(self, topics: pa.Array, partitions: Longs, offsets: Longs) -> None:
        self._topic_partitions = KnownPlaces(topics, partitions)
        self._offsets = distinct_sorted(offsets)
        keys = self._topic_partitions.of_rows * len(self._offsets) + np.searchsorted(self._offsets, offsets)
        self._keys, self._point_slots = np.unique(keys, return_inverse=True)
        self._places = self._keys // max(len(self._offsets), 1)
        self._first_ns = np.full(len(self._keys), NEVER)
        self._blocked_ns = np.zeros(len(self._keys), np.int64)
        self._is_written = np.zeros(len(self._topic_partitions), np.bool_)
        """By topic-partition: whether the capture shows its producers."""

    def find(self, topics: pa.DictionaryArray, partitions: pa.ChunkedArray) -> Longs:
        """Returns the place of each topic-partition, as the other methods take them; -1 for those without points."""
        return self._topic_partitions.find(topics, partitions)

    def take_accepted(self, places: Longs, first_offsets: Longs, ts_ns: Longs) -> None:
        """Takes batches that brokers accepted. Offsets are -1 where they are not known."""
        known = _known(places, first_offsets)
        self._is_written[known[0]] = True
        slots, chosen = self._up_to(*known)
        np.minimum.at(self._first_ns, slots, ts_ns[chosen])

    def take_created(self, places: Longs, offsets: Longs, ts_ns: Longs) -> None:
        """Takes records with their create times, after all batches. They count for topic-partitions whose producers the
        capture does not show."""
        slots, chosen = self._up_to(*_known(places, offsets))
        is_other = ~self._is_written[self._places[slots]]
        np.minimum.at(self._first_ns, slots[is_other], ts_ns[chosen[is_other]])

    def take_ends(self, places: Longs, ends: Longs, ts_ns: Longs) -> None:
        """Takes ends of partitions: the offset after the last record."""
        slots, chosen = self._up_to(*_known(places, ends - 1))
        np.minimum.at(self._first_ns, slots, ts_ns[chosen])

    def take_stable(self, places: Longs, stable: Longs, ts_ns: Longs) -> None:
        """Takes last stable offsets: records at or after them belong to open transactions, or come after such
        records."""
        places, chosen, offsets = _known(places, stable)
        rank = np.searchsorted(self._offsets, offsets)
        slots = np.searchsorted(self._keys, places * len(self._offsets) + rank)
        is_there = slots < len(self._keys)
        is_there[is_there] = self._places[slots[is_there]] == places[is_there]
        np.maximum.at(self._blocked_ns, slots[is_there], ts_ns[chosen[is_there]])

    def resume(self, found: NamedRows, ends: NamedRows) -> set[int]:
        """Takes over the results of earlier parts. found: the points of earlier runs (partition, offset, first_ns,
        blocked_ns); ends: the highest offsets and times of each part (part_ends.PART_ENDS). Returns the parts that may
        have times of new points."""
        slots, chosen = self._exactly(found.topics, found.rows)
        np.minimum.at(self._first_ns, slots, found.rows["first_ns"].to_numpy()[chosen])
        np.maximum.at(self._blocked_ns, slots, found.rows["blocked_ns"].to_numpy()[chosen])
        is_new = np.ones(len(self._keys), np.bool_)
        is_new[slots] = False
        return self._needed(self._keys[is_new], ends)

    def _exactly(self, topics: pa.DictionaryArray, points: pa.Table) -> tuple[Longs, Longs]:
        """Returns the slots of points that exist here too, and their rows."""
        places, offsets = self._topic_partitions.find(topics, points["partition"]), points["offset"].to_numpy()
        rank = np.minimum(np.searchsorted(self._offsets, offsets), len(self._offsets) - 1)
        keys = places * len(self._offsets) + rank
        slots = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        chosen = np.flatnonzero((places >= 0) & (self._offsets[rank] == offsets) & (self._keys[slots] == keys))
        return slots[chosen], chosen

    def _needed(self, new: Longs, ends: NamedRows) -> set[int]:
        """Returns the parts whose offsets of a topic-partition go beyond a new point of it. For the other parts their
        highest offsets suffice."""
        rows, places = ends.rows, self.find(ends.topics, ends.rows["partition"])
        self.take_stable(places, int_column(rows, "last_stable_offset", NONE), int_column(rows, "stable_ns", 0))
        self._is_written[places[(places >= 0) & (rows["is_written"].to_numpy() == 1)]] = True
        first = places * len(self._offsets)
        end = first + np.searchsorted(self._offsets, rows["end_offset"].to_numpy())
        is_behind = np.searchsorted(new, end) > np.searchsorted(new, first)
        return set(rows["part"].to_numpy()[(places >= 0) & is_behind].tolist())

    def blocked_ns(self) -> Longs:
        """For each point the last time at which responses show that the last stable offset is not beyond it; 0 where
        none does."""
        distinct, ranks = np.unique(self._blocked_ns, return_inverse=True)
        _, group = np.unique(self._places, return_inverse=True)
        latest = np.maximum.accumulate(group * len(distinct) + ranks) % max(len(distinct), 1)
        return np.asarray(distinct[latest][self._point_slots])

    def first_ns(self) -> Longs:
        """The time since when a record at the offset of each point, or at a later one, is available: it was accepted,
        or a response shows that the partition reaches that far; NEVER where the capture does not show it. Records with
        acks=1 are accepted before earlier ones with acks=all."""
        return _least_from_here(self._places, self._first_ns)[self._point_slots]

    def _up_to(self, places: Longs, rows: Longs, offsets: Longs) -> tuple[Longs, Longs]:
        """Returns for each row of `_known` the slot of the last point of its topic-partition up to its offset, and the
        numbers of the rows that have one."""
        rank = np.searchsorted(self._offsets, offsets, side="right") - 1
        slots = np.searchsorted(self._keys, places * len(self._offsets) + rank, side="right") - 1
        is_there = (slots >= 0) & (rank >= 0)
        is_there[is_there] = self._places[slots[is_there]] == places[is_there]
        return slots[is_there], rows[is_there]


def _known(places: Longs, offsets: Longs) -> tuple[Longs, Longs, Longs]:
    """Returns the rows about a topic-partition with points that have an offset: their places, row numbers and
    offsets."""
    chosen = np.flatnonzero((places >= 0) & (offsets >= 0))
    return places[chosen], chosen, offsets[chosen]


def _least_from_here(groups: Longs, times: Longs) -> Longs:
    """Returns the minimum of the times of each slot and of the slots after it in its group."""
    distinct, ranks = np.unique(times, return_inverse=True)
    _, group = np.unique(groups, return_inverse=True)
    joint = np.minimum.accumulate((group * len(distinct) + ranks)[::-1])[::-1]
    return np.asarray(distinct[joint % max(len(distinct), 1)]) if len(times) else times
