"""`Preconditions`: whether a dataset has the rows that a detector reads (`Detector.reads`), and whether these rows can
lead to a finding (`Detector.candidates`).

They are evaluated in this process, without a Spark job, batch by batch over the few columns that they use; in large
tables such as requests these are small columns. Files that ingest has kept from earlier runs are not read again
(file_reads). Rows are kept in memory only for reads with candidates, and only if all reads of their detector have rows;
for groups only their aggregates are kept. If there are more than MOST_GROUPS groups, the detector runs. Preconditions
save the planning and running of detectors that cannot find anything; they do not change the findings.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.parquet_files import DatasetFile
from kafkascope_analyzer.dataset.tables.events import EVENTS
from kafkascope_spark.stories.findings.candidates import Candidates
from kafkascope_spark.stories.findings.file_reads import FileReads, Place, Result
from kafkascope_spark.stories.findings.read import (
    MOST_GROUPS,
    Columns,
    Events,
    GroupedRows,
    Groups,
    Read,
    Source,
    Where,
    name_of,
    source_columns,
)
from kafkascope_spark.stories.findings.rule import Detector


class Collector(Protocol):
    """Takes the rows that a read selects, batch by batch, and keeps a part of them."""

    @property
    def columns(self) -> Collection[str]:
        """Columns of the rows that it needs."""

    def take(self, rows: pa.RecordBatch) -> None:
        """Takes rows that the read selects."""

    @property
    def read(self) -> Result:
        """The groups or columns of the selected rows that it collects."""

    def anew(self) -> "Collector":
        """Returns the same without rows."""

    def add(self, found: pa.Table | None) -> None:
        """Adds what was found of other rows; None if that was too much."""

    def found(self) -> pa.Table | None:
        """Returns the kept part of the rows so far as another one adds it; None if it would be too much."""

    def table(self) -> pa.Table:
        """Returns the kept part of all rows."""

    @property
    def is_complete(self) -> bool:
        """Whether further rows would change nothing."""

    @property
    def are_too_many(self) -> bool:
        """Whether nothing is kept because it would be too much."""


Collectors = Mapping[Read, Collector]


MOST_KEPT_BYTES = 64 << 20
"""Bytes of the rows of a read that are kept. If there are more, the detector runs."""


class KeptRows:
    """Keeps some columns of the rows that a read selects, up to most_bytes of them; if there are more, `are_too_many`
    is set and no row is kept."""

    def __init__(self, rows: Where, columns: Sequence[str], most_bytes: int = MOST_KEPT_BYTES) -> None:
        self.read = Columns(rows, tuple(columns))
        self._parts = [self.read.schema.empty_table()]
        self._most_bytes = self._bytes_left = most_bytes
        self.columns = columns

    @property
    def are_too_many(self) -> bool:
        """Whether no row is kept because there are too many."""
        return self._bytes_left < 0

    @property
    def is_complete(self) -> bool:
        """Whether further rows would change nothing."""
        return self.are_too_many

    def take(self, rows: pa.RecordBatch) -> None:
        """Takes rows that the read selects."""
        self.add(pa.Table.from_batches([rows.select(self.columns)]))

    def anew(self) -> "KeptRows":
        """Returns the same without rows."""
        return KeptRows(self.read.rows, self.columns, self._most_bytes)

    def add(self, found: pa.Table | None) -> None:
        """Adds the columns of other rows, as `found` returns them."""
        self._bytes_left = -1 if found is None else self._bytes_left - found.nbytes
        self._parts = self._parts[:1] if self.are_too_many or found is None else [*self._parts, found]

    def found(self) -> pa.Table | None:
        """Returns the columns of all rows so far; None if they are too many."""
        return None if self.are_too_many else self.table()

    def table(self) -> pa.Table:
        """Returns the columns of all rows."""
        return pa.concat_tables(self._parts, promote_options="permissive")


class Preconditions:
    """Evaluates the preconditions of detectors on one dataset. most_groups: largest number of groups of a read that are
    kept; file_reads: results of earlier runs, to which new ones are added."""

    def __init__(self, dataset: Dataset, most_groups: int = MOST_GROUPS, file_reads: FileReads | None = None) -> None:
        self._dataset, self._most_groups = dataset, most_groups
        self._file_reads = FileReads() if file_reads is None else file_reads
        self._present: dict[Read, bool] = {}
        """Whether a read has rows, for the reads evaluated so far."""
        self._tables: dict[Read, pa.Table] = {}
        """Kept rows of a read, for the reads evaluated so far."""
        self._unknown = set[Read]()
        """Reads with too many groups to keep, which may satisfy a detector."""

    def satisfied(self, detectors: Sequence[Detector]) -> list[bool]:
        """Returns, for each detector, whether all its reads have rows and its candidates hold."""
        reads = list(dict.fromkeys(read for detector in detectors for read in detector.reads.values()))
        # Most events are of other kinds than the one that is read, so its groups are made in the first pass.
        first = [read for read in reads if isinstance(read, Groups) and isinstance(read.source, Events)]
        any_row: dict[Read, Collector] = {read: GroupedRows(Groups(read)) for read in reads if isinstance(read, Where)}
        self._ask(any_row | self._grouped(first))
        later = [read for read in self._of_possible(detectors) if read not in self._present]
        self._ask(self._grouped(read for read in later if isinstance(read, Groups)))
        possible = {number for number, detector in enumerate(detectors) if self._is_possible(detector)}
        tests = {number: detectors[number].candidates for number in possible}
        while open_tests := {number: test for number, test in tests.items() if test is not None}:
            self._keep_rows((test, detectors[number]) for number, test in open_tests.items())
            tests = {n: test.then for n, test in open_tests.items() if self._exist(test, detectors[n])}
            possible -= open_tests.keys() - tests.keys()
        return [number in possible for number in range(len(detectors))]

    def _is_possible(self, detector: Detector) -> bool:
        """Whether none of the detector's reads is known to have no rows."""
        return all(self._present.get(read, True) for read in detector.reads.values())

    def _of_possible(self, detectors: Iterable[Detector]) -> list[Read]:
        """Returns the reads of detectors that are still possible."""
        return list(dict.fromkeys(read for d in detectors if self._is_possible(d) for read in d.reads.values()))

    def _keep_rows(self, tests: Iterable[tuple[Candidates, Detector]]) -> None:
        """Reads the rows that these tests of detectors need, unless they are kept already."""
        columns: dict[Where, list[str]] = {}
        for test, detector in tests:
            for name, wanted in test.columns.items():
                read = detector.reads[name]
                if isinstance(read, Where):
                    columns[read] = list(dict.fromkeys([*columns.get(read, ()), *wanted]))
        self._ask(
            {
                read: KeptRows(read, wanted)
                for read, wanted in columns.items()
                if not set(wanted).issubset(self._tables[read].column_names)
            }
        )

    def _exist(self, test: Candidates, detector: Detector) -> bool:
        """Whether a test of a detector, whose reads all have rows, holds, or cannot be made for too many rows."""
        reads = {name: detector.reads[name] for name in test.columns}
        if not self._unknown.isdisjoint(reads.values()):
            return True
        return test.exist({name: self._tables[read] for name, read in reads.items()})

    def _grouped(self, reads: Iterable[Read]) -> dict[Read, Collector]:
        """Returns the collectors that make the groups of reads."""
        return {read: GroupedRows(read, self._most_groups) for read in reads if isinstance(read, Groups)}

    def _ask(self, collectors: Collectors) -> None:
        """Fills the collectors of these reads, with one pass over each table."""
        for _, reads in groupby(sorted(collectors, key=_place), _place):
            self._pass({read: collectors[read] for read in reads})
        for read, collector in collectors.items():
            self._tables[read] = collector.table()
            self._present[read] = collector.are_too_many or self._tables[read].num_rows > 0
            if collector.are_too_many:
                self._unknown.add(read)

    def _pass(self, collectors: Collectors) -> None:
        """Makes one pass over the table of these reads, until all collectors are complete."""
        for part in _parts(self._dataset, next(iter(collectors)).source):
            self._read(part, {read: each for read, each in collectors.items() if not each.is_complete})

    def _read(self, part: "_Part", collectors: Collectors) -> None:
        """Reads the rows of a part of a table, or takes saved results for it."""
        if part.file is None:
            _take_rows(part.dataset, collectors)
            return
        place, new = Place(part.file.path, self._dataset.cluster or ""), dict[Read, Collector]()
        for read, collector in collectors.items():
            if (found := self._file_reads.found(place, collector.read)) is not None:
                collector.add(found)
            else:
                new[read] = collector.anew()
        _take_rows(part.dataset, new)
        for read, in_file in new.items():
            found = in_file.found()
            collectors[read].add(found)
            if found is not None:
                self._file_reads.note(place, in_file.read, found, part.file.rows)


class _Part(NamedTuple):
    """A part of a table. dataset: the dataset with only the rows of the part; file: the file of the part, if a later
    run may keep it."""

    dataset: Dataset
    file: DatasetFile | None


def _parts(dataset: Dataset, source: Source) -> Iterator[_Part]:
    """Yields the parts of a table: each file that a later run may keep, and the rest."""
    if isinstance(source, Events):
        yield _Part(dataset, None)
        return
    manifest, name = dataset.manifest, source.stored_as
    files = manifest.files.get(name, ())
    kept = [file for file in files if file.made_of]
    rest = tuple(file for file in files if not file.made_of)
    for file, part in (*((file, (file,)) for file in kept), (None, rest)):
        yield _Part(replace(dataset, manifest=manifest.with_files({**manifest.files, name: part})), file)


def _take_rows(dataset: Dataset, collectors: Collectors) -> None:
    """Passes the rows of the table to the collectors of these reads, until all are complete."""
    open_reads = dict(collectors)
    if not open_reads:
        return
    reads = list(collectors)
    columns = columns_of(reads, collectors)
    for batch in table_batches(dataset, reads[0].source, columns):
        for read, collector in list(open_reads.items()):
            rows = _selected(read, batch, [name for name in columns if name in collector.columns] or columns[:1])
            if rows.num_rows:
                collector.take(rows)
            if collector.is_complete:
                del open_reads[read]
        if not open_reads:
            return


def table_batches(dataset: Dataset, source: Source, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yields these columns of the table or events, batch by batch; nothing if the dataset lacks the table. A declared
    column that the dataset lacks is null."""
    if not isinstance(source, Events):
        return dataset.batches(source, columns)
    fields = {name: pc.field(name) if name == "conn_id" else pc.field(source.kind, name) for name in columns}
    return dataset.batches(EVENTS.name, fields, pc.field("kind") == source.kind)


def columns_of(reads: Sequence[Read], collected: Collectors) -> list[str]:
    """Returns the columns that these reads of one source and their collectors need; at least one."""
    wanted = set().union(*(read.columns() for read in reads), *(collected[read].columns for read in reads))
    known = source_columns(reads[0].source)
    return [name for name in known if name in wanted] or known[:1]


def _place(read: Read) -> tuple[bool, str]:
    """Returns the key by which reads are grouped by source."""
    return isinstance(read.source, Events), name_of(read.source)


def _selected(read: Read, batch: pa.RecordBatch, columns: Sequence[str]) -> pa.RecordBatch:
    """Returns these columns of the rows of the batch that the read selects."""
    condition = (read if isinstance(read, Where) else read.rows).condition
    rows = batch.select(columns)
    return rows if condition is None else rows.filter(condition.value(batch))
