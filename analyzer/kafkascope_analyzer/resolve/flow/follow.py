"""The task of a share (flow.shares): follows the records of its topic-partitions through the connections of all
buckets, in order of time.

Other readers want the same rows: they get them at the same time, so that rows are read only once.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.resolve.flow.clients import conn_keys
from kafkascope_analyzer.resolve.flow.counts import CONN_SHIFT, LATE_NS, MOST_CELLS, MOST_PLACES, FetchCounts, FlowRows
from kafkascope_analyzer.resolve.flow.kernels import ACCEPTED as ACCEPTED_ROW
from kafkascope_analyzer.resolve.flow.kernels import FETCHED as FETCHED_ROW
from kafkascope_analyzer.resolve.flow.kernels import NONE
from kafkascope_analyzer.resolve.flow.rows import by_time
from kafkascope_analyzer.resolve.flow.shares import (
    ACCEPTED,
    AGAIN,
    FETCHED,
    LAST,
    PLACES,
    SETTLED,
    Parts,
    share_table,
    shares_of,
)
from kafkascope_analyzer.scan.places import Slots, TopicPartitions
from kafkascope_analyzer.scan.spill import Spill, read_spill, remove_spilled

Longs = NDArray[np.int64]
KINDS = {ACCEPTED: ACCEPTED_ROW, FETCHED: FETCHED_ROW}
_STAGES = (AGAIN, SETTLED, LAST)
_END = np.iinfo(np.int64).max
_STRADDLING_NS = 1_000_000_000
"""A response that begins in one block and ends in the next is read at most this long after its own time, as a rule."""
_STATE = ("partitions", "places", "cells", "readers", "n_left_out")
"""The attributes of a _Share that make its state, besides the counts and the rows that wait."""


class Responses(Protocol):
    """Reader of the accepted batches and the responses to Fetch of a share, in any order; some may come twice. Columns:
    place, the number of the topic-partition; ts_ns; and, -1 where it is not known, first_offset of a batch, or
    high_watermark and last_stable_offset."""

    def begin(self, topics: pa.DictionaryArray, partitions: pa.ChunkedArray) -> None:
        """Takes the topic-partitions, by number, before the first rows."""

    def take_accepted(self, rows: Mapping[str, Longs]) -> None:
        """Takes batches that brokers accepted."""

    def take_fetched(self, rows: Mapping[str, Longs]) -> None:
        """Takes responses to Fetch."""

    def state(self) -> dict[str, Any]:
        """Returns the state to be saved."""

    def found(self) -> pa.Table:
        """Returns what was found, when all rows were taken."""


@dataclass(frozen=True, slots=True)
class Followed:
    """Results of the task of a share: the tables of the readers; the state after the settled rows, None where it is
    not saved; and the topic-partitions of responses that were not counted because of the limits."""

    tables: list[pa.Table]
    state: dict[str, Any] | None
    n_left_out: int


@dataclass(frozen=True, slots=True)
class FollowShare:
    """The task of a share (resolve.tasks.SpillTask). spills: names of the folders of all buckets' spills, by number;
    slice_ns: length of a slice; readers: further readers; saved: the state of an earlier run, None without one."""

    share: int
    spills: Sequence[str]
    slice_ns: int
    parts: Parts
    readers: Sequence[Responses]
    saved: Mapping[str, Any] | None

    def reads(self) -> list[tuple[str, str]]:
        """Returns the spilled tables that hold the rows of the share, of all buckets."""
        return [(spill, table) for spill in self.spills for table in (PLACES, *self._tables())]

    def _tables(self) -> list[str]:
        return [share_table(stage, kind, self.share) for stage in _STAGES for kind in KINDS]

    def __call__(self, folder: Path) -> Followed:
        """Follows the records of the share's topic-partitions, and removes the rows of the share."""
        share = _Share(self, [folder / spill for spill in self.spills])
        share.show()
        share.count(SETTLED)
        state = deepcopy(share.state()) if self.parts.is_saved else None
        share.begin_end()
        share.count(LAST)
        tables = share.finish()
        for spill in self.spills:
            remove_spilled(folder / spill, self._tables())
        return Followed(tables, state, share.n_left_out)


class _Share:
    """The topic-partitions of a share, and what is counted of them."""

    def __init__(self, job: FollowShare, directories: Sequence[Path]) -> None:
        self._job, self._directories = job, directories
        self._spills = [Spill(directory, job.parts.counted) for directory in directories]
        self.partitions, self.places = TopicPartitions(), Slots()
        self.cells, self.readers = Slots(), Slots()
        self.n_left_out = 0
        if job.saved is not None:
            for name in _STATE:
                setattr(self, name, job.saved[name])
        self._counts = FetchCounts(job.share, job.slice_ns, self.partitions, self._spills)
        self._sources = [
            _Source(number, kind, self._numbers(directory))
            for number, directory in enumerate(directories)
            for kind in KINDS
        ]
        if job.saved is not None:
            self._counts.resume(job.saved["counts"])
            for source, rows in zip(self._sources, job.saved["rows"], strict=True):
                source.rows = rows
        known = self.partitions.columns(self.places.keys)
        for reader in job.readers:
            reader.begin(known["topic"].dictionary_encode(), pa.chunked_array([known["partition"]]))

    def _numbers(self, directory: Path) -> Longs:
        """Returns the number of each topic-partition of a bucket, NONE for those of other shares."""
        found = [np.empty(0, np.int64)]
        for rows in read_spill(directory, PLACES):
            topics, partitions = flat(rows["topic"]).dictionary_encode(), rows["partition"]
            is_mine = shares_of(topics, partitions.to_numpy(), len(self._directories)) == self._job.share
            mine = pa.array(is_mine)
            numbers = np.full(rows.num_rows, NONE)
            numbers[is_mine] = self.places.of(self.partitions.of_names(topics.filter(mine), partitions.filter(mine)))
            found.append(numbers)
        return np.concatenate(found)

    def show(self) -> None:
        """Passes the rows that were counted in an earlier run to the readers."""
        for source in self._sources:
            for rows in source.tables(self._directories, AGAIN, self._job.share):
                self._show(source, rows)

    def _show(self, source: "_Source", rows: dict[str, Longs]) -> None:
        for reader in self._job.readers:
            if source.kind == ACCEPTED:
                reader.take_accepted(rows)
            else:
                reader.take_fetched(rows)

    def count(self, stage: str) -> None:
        """Counts the rows of a stage, and passes them to the readers. The last of the settled rows wait for those of
        the scan's end."""
        for source in self._sources:
            source.coming = source.tables(self._directories, stage, self._job.share)
            source.is_read = False
        while not all(source.is_read for source in self._sources):
            behind = min((each for each in self._sources if not each.is_read), key=lambda each: each.until_ns)
            rows = next(behind.coming, None)
            if rows is None:
                behind.is_read = True
            else:
                behind.add(self._kernel_rows(behind, rows))
                self._show(behind, rows)
            self._count_due(is_last=stage == LAST)

    def _count_due(self, *, is_last: bool) -> None:
        """Counts the rows of the span of time that is complete: it ends a little before the last row that was read of
        some table, or with the last row of all."""
        end_ns = _END if is_last else max(each.until_ns for each in self._sources)
        until_ns = min((each.until_ns for each in self._sources if not each.is_read), default=end_ns) - _STRADDLING_NS
        accepted = by_time([each.due(until_ns) for each in self._sources if each.kind == ACCEPTED])
        fetched = by_time([each.due(until_ns - LATE_NS) for each in self._sources if each.kind == FETCHED])
        if len(accepted) or len(fetched):
            self._counts.take(self._numbered(accepted, fetched))

    def _kernel_rows(self, source: "_Source", rows: Mapping[str, Longs]) -> NDArray[np.void]:
        """Returns the rows that are followed, for the kernels; cells and readers have keys for numbers."""
        name = "n_records" if source.kind == ACCEPTED else "reader"
        is_wanted, is_within = rows[name] != NONE, rows["place"] < MOST_PLACES
        is_kept = is_wanted & is_within
        self.n_left_out += int(np.count_nonzero(is_wanted & ~is_within))
        kept = slice(None) if is_kept.all() else np.flatnonzero(is_kept)
        found = np.zeros(int(np.count_nonzero(is_kept)), KINDS[source.kind])
        for name in rows.keys() & set(found.dtype.names or ()):
            found[name] = rows[name][kept]
        if source.kind == FETCHED:
            codes = self.places.keys[found["place"]]
            keys = conn_keys(rows["conn"][kept], source.bucket, len(self._directories))
            found["cell"], found["reader"] = keys << CONN_SHIFT | codes, found["reader"] << CONN_SHIFT | codes
        return found

    def _numbered(self, accepted: NDArray[np.void], fetched: NDArray[np.void]) -> FlowRows:
        """Returns rows by time with numbers in place of keys; those beyond the limit of cells are left out."""
        n = len(fetched)
        fetched["cell"] = self.cells.of(np.ascontiguousarray(fetched["cell"]))
        fetched["reader"] = self.readers.of(np.ascontiguousarray(fetched["reader"]))
        if len(self.cells) > MOST_CELLS:
            fetched = fetched[fetched["cell"] < MOST_CELLS]
            self.n_left_out += n - len(fetched)
        return FlowRows(
            accepted, fetched, self.cells.keys[:MOST_CELLS], min(len(self.places), MOST_PLACES), len(self.readers)
        )

    def state(self) -> dict[str, Any]:
        """Returns the state, which is valid until further rows are counted."""
        state = {name: getattr(self, name) for name in _STATE} | {"counts": self._counts.state()}
        state |= {"rows": [source.rows for source in self._sources]}
        state |= {"found": [reader.state() for reader in self._job.readers]}
        return state

    def begin_end(self) -> None:
        """Ends the files of the part."""
        for spill in self._spills:
            spill.begin_end()

    def finish(self) -> list[pa.Table]:
        """Spills the remaining counts, when all rows were counted. Returns what the readers found."""
        self._counts.finish()
        for spill in self._spills:
            spill.close()
        return [reader.found() for reader in self._job.readers]


@dataclass(slots=True)
class _Source:
    """A bucket's rows of one kind for the share. bucket: its number; numbers: the number of each of its
    topic-partitions; coming: tables that are not read yet; until_ns: the last row that was read; rows: rows that are
    not counted yet, by time."""

    bucket: int
    kind: str
    numbers: Longs
    coming: Iterator[dict[str, Longs]] = field(default_factory=lambda: iter(()))
    is_read: bool = False
    until_ns: int = NONE
    rows: NDArray[np.void] = field(init=False)

    def __post_init__(self) -> None:
        self.rows = np.empty(0, KINDS[self.kind])

    def tables(self, directories: Sequence[Path], stage: str, share: int) -> Iterator[dict[str, Longs]]:
        """Yields the columns of the rows of a stage, batch by batch, with the share's numbers of topic-partitions."""
        for rows in read_spill(directories[self.bucket], share_table(stage, self.kind, share)):
            columns = {name: flat(rows[name]).to_numpy() for name in rows.column_names}
            columns["place"] = self.numbers[columns["place"]]
            self.until_ns = max(self.until_ns, int(columns["ts_ns"].max(initial=NONE)))
            yield columns

    def add(self, rows: NDArray[np.void]) -> None:
        """Adds rows."""
        self.rows = by_time([self.rows, rows])

    def due(self, until_ns: int) -> NDArray[np.void]:
        """Removes and returns the rows up to a time."""
        n_due = int(np.searchsorted(np.ascontiguousarray(self.rows["ts_ns"]), until_ns, side="right"))
        due, self.rows = self.rows[:n_due], self.rows[n_due:]
        return due
