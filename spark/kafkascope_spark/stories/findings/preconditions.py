"""Preconditions: whether a dataset has the rows that a detector reads (`Detector.reads`), and whether these have in
common what a finding needs (`Detector.candidates`).

They are evaluated in this process, without a Spark job, over the few columns that they name, batch by batch; of large
tables such as requests these are short columns. Rows stay in memory only of reads that candidates ask about, and only
where all of their detector's reads have rows; of groups stay their aggregates, unless there are more than
MOST_GROUPS: then the detector runs. Preconditions save the planning and running of detectors that cannot find anything;
without them the findings are the same.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.tables.events import EVENTS
from kafkascope_spark.stories.findings.read import (
    MOST_GROUPS,
    Events,
    GroupedRows,
    Groups,
    Read,
    Source,
    Where,
    name_of,
    rows_of_none,
    source_columns,
)
from kafkascope_spark.stories.findings.rule import Detector


class Collector(Protocol):
    """Takes the rows that a read selects, batch by batch, and gives what stays of them."""

    def take(self, rows: pa.RecordBatch) -> None:
        """Take rows that the read selects."""

    def table(self) -> pa.Table:
        """What stays of all rows."""

    @property
    def are_too_many(self) -> bool:
        """Whether nothing stays because it would be too much."""


class KeptRows:
    """Some columns of the rows that a read selects."""

    are_too_many = False

    def __init__(self, source: Source, columns: Sequence[str]) -> None:
        self._parts = [pa.Table.from_batches([rows_of_none(source).select(columns)])]
        self.columns = columns

    def take(self, rows: pa.RecordBatch) -> None:
        """Take rows that the read selects."""
        self._parts.append(pa.Table.from_batches([rows.select(self.columns)]))

    def table(self) -> pa.Table:
        """The columns of all rows."""
        return pa.concat_tables(self._parts, promote_options="permissive")


class Preconditions:
    """Evaluates the preconditions of detectors on one dataset. most_groups: groups of a read that are kept."""

    def __init__(self, dataset: Dataset, most_groups: int = MOST_GROUPS) -> None:
        self._dataset, self._most_groups = dataset, most_groups
        self._present: dict[Read, bool] = {}
        """Whether a read has rows, as far as that was asked."""
        self._tables: dict[Read, pa.Table] = {}
        """What stays of the rows of a read, as far as that was asked."""
        self._unknown = set[Read]()
        """Reads with too many groups to keep: they may have what a detector needs."""

    def satisfied(self, detectors: Sequence[Detector]) -> list[bool]:
        """Of each detector, whether all of its reads have rows, and its candidates too."""
        reads = list(dict.fromkeys(read for detector in detectors for read in detector.reads.values()))
        # Most events are of other kinds than the one that is read: its groups are made in the first pass over them.
        first = [read for read in reads if isinstance(read, Groups) and isinstance(read.source, Events)]
        self._ask([read for read in reads if isinstance(read, Where)], self._grouped(first))
        later = [read for read in self._of_possible(detectors) if read not in self._present]
        self._ask([], self._grouped(read for read in later if isinstance(read, Groups)))
        self._ask([], self._kept(detectors))
        return [self._is_possible(detector) and self._has_candidates(detector) for detector in detectors]

    def _is_possible(self, detector: Detector) -> bool:
        """Whether none of the detector's reads is known to have no rows."""
        return all(self._present.get(read, True) for read in detector.reads.values())

    def _of_possible(self, detectors: Iterable[Detector]) -> list[Read]:
        """The reads of detectors that are still possible."""
        return list(dict.fromkeys(read for d in detectors if self._is_possible(d) for read in d.reads.values()))

    def _kept(self, detectors: Iterable[Detector]) -> dict[Read, Collector]:
        """What keeps the rows that candidates of possible detectors ask about."""
        columns: dict[Where, list[str]] = {}
        for detector in detectors:
            if detector.candidates and self._is_possible(detector):
                for name, wanted in detector.candidates.columns.items():
                    read = detector.reads[name]
                    if isinstance(read, Where):
                        columns[read] = list(dict.fromkeys([*columns.get(read, ()), *wanted]))
        return {read: KeptRows(read.source, wanted) for read, wanted in columns.items()}

    def _has_candidates(self, detector: Detector) -> bool:
        """Whether the reads of a detector, which all have rows, have in common what it needs."""
        if detector.candidates is None or any(
            detector.reads[each] in self._unknown for each in detector.candidates.columns
        ):
            return True
        tables = {name: self._tables[detector.reads[name]] for name in detector.candidates.columns}
        return detector.candidates.exist(tables)

    def _grouped(self, reads: Iterable[Read]) -> dict[Read, Collector]:
        """What makes the groups of reads."""
        return {read: GroupedRows(read, self._most_groups) for read in reads if isinstance(read, Groups)}

    def _ask(self, tested: Iterable[Read], collected: Mapping[Read, Collector]) -> None:
        """Finds whether the tested reads have rows, and what stays of those of the collected ones: one pass over each
        table."""
        for _, of_source in groupby(sorted({*tested, *collected}, key=_place), _place):
            self._pass(list(of_source), collected)
        for read, collector in collected.items():
            self._tables[read] = collector.table()
            self._present[read] = collector.are_too_many or self._tables[read].num_rows > 0
            if collector.are_too_many:
                self._unknown.add(read)

    def _pass(self, reads: Sequence[Read], collected: Mapping[Read, Collector]) -> None:
        """One pass over the table of these reads, which ends where nothing is left to find."""
        open_reads = dict.fromkeys(reads)
        self._present |= dict.fromkeys(reads, False)
        for batch in table_batches(self._dataset, reads[0].source, columns_of(reads, collected)):
            for read in list(open_reads):
                rows = _selected(read, batch)
                if rows.num_rows == 0:
                    continue
                if read in collected:
                    collected[read].take(rows)
                else:
                    self._present[read] = True
                    del open_reads[read]
            if not open_reads:
                return


def table_batches(dataset: Dataset, source: Source, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """These columns of the table or events, batch by batch; nothing where the dataset lacks the table. A column of the
    contract that the dataset lacks is null."""
    if not isinstance(source, Events):
        return dataset.batches(source, columns)
    fields = {name: pc.field(name) if name == "conn_id" else pc.field(source.kind, name) for name in columns}
    return dataset.batches(EVENTS.name, fields, pc.field("kind") == source.kind)


def columns_of(reads: Sequence[Read], collected: Mapping[Read, Collector]) -> list[str]:
    """The columns that these reads of one source, and what is collected of them, need; at least one."""
    wanted = set().union(*(read.columns() for read in reads))
    kept = (collected[read] for read in reads if read in collected)
    wanted = wanted.union(*(each.columns for each in kept if isinstance(each, KeptRows)))
    known = source_columns(reads[0].source)
    return [name for name in known if name in wanted] or known[:1]


def _place(read: Read) -> tuple[bool, str]:
    """By which reads of one source are together."""
    return isinstance(read.source, Events), name_of(read.source)


def _selected(read: Read, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows of the batch that the read selects."""
    condition = (read if isinstance(read, Where) else read.rows).condition
    return batch if condition is None else batch.filter(condition.value(batch))
