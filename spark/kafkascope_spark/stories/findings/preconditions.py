"""Preconditions: whether a dataset has the rows that a detector reads (`Detector.reads`), and whether these have in
common what a finding needs (`Detector.candidates`).

They are evaluated in this process, without a Spark job, over the few columns that they name, batch by batch; of large
tables such as requests these are short columns. Of events only the rows stay in memory whose groups a read asks about.
They save the planning and running of detectors that cannot find anything; without them the findings are the same.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

import duckdb
import pyarrow as pa

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.interrupted_query import interruptible
from kafkascope_spark.stories.findings.dataset_batches import table_batches
from kafkascope_spark.stories.findings.read import Events, Read, Source, source_columns
from kafkascope_spark.stories.findings.rule import Detector

MACROS = (
    "create macro size(list) as len(list)",
    "create macro regexp_like(text, pattern) as regexp_matches(text, pattern)",
)
"""Functions of Spark SQL under Spark's names: what a Read's predicates may call besides functions that both have."""
_STRING = re.compile(r"'(?:[^']|'')*'")
_WORD = re.compile(r"[a-z_][a-z_0-9]*")


class Preconditions:
    """Evaluates the preconditions of detectors on one dataset."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._kept: dict[Read, str] = {}
        """The table of the database that holds the rows of a read."""
        self._database = duckdb.connect(config={"threads": 1})
        for macro in MACROS:
            self._database.execute(macro)

    def satisfied(self, detectors: Sequence[Detector]) -> list[bool]:
        """Of each detector, whether all of its reads have rows, and its candidates too."""
        with interruptible():
            return self._satisfied(detectors)

    def _satisfied(self, detectors: Sequence[Detector]) -> list[bool]:
        present = self._without_groups(detectors)
        possible = [_all_of(detector, present, unknown=True) for detector in detectors]
        grouped = (d.reads.values() for d, it_can in zip(detectors, possible, strict=True) if it_can)
        present |= {read: self._with_groups(read) for reads in grouped for read in reads if read.having}
        return [
            _all_of(detector, present, unknown=False) and (not detector.candidates or self._has_candidates(detector))
            for detector in detectors
        ]

    def _without_groups(self, detectors: Sequence[Detector]) -> dict[Read, bool]:
        """Of each read of rows, whether a row satisfies its predicate: one pass over each table. That over events also
        keeps the rows of each read of groups, as most rows of that table are of other kinds."""
        by_source: dict[Source, list[Read]] = defaultdict(list)
        for read in dict.fromkeys(read for detector in detectors for read in detector.reads.values()):
            if not read.having or isinstance(read.source, Events):
                by_source[read.source].append(read)
        present: dict[Read, bool] = {}
        for source, of_source in by_source.items():
            if isinstance(source, Events):
                present |= self._pass_over_events(source, of_source, detectors)
            else:
                present |= _results(of_source, self._row(source, of_source, _row_tests(of_source)))
        return present

    def _pass_over_events(
        self, source: Events, reads: Sequence[Read], detectors: Sequence[Detector]
    ) -> dict[Read, bool]:
        """Of each read of rows, whether there is one. The rows of reads of groups are kept, with the columns that their
        groups and the detectors' candidates need."""
        of_rows = [read for read in reads if not read.having]
        columns = {read: columns_of(source, [read], _candidates(read, detectors)) for read in reads if read.having}
        present = dict.fromkeys(of_rows, False)
        for batch in table_batches(self._dataset, source, _united([columns_of(source, of_rows), *columns.values()])):
            self._database.register("rows", pa.Table.from_batches([batch]))
            found = self._database.execute(_row_tests(of_rows)).fetchall()[0]
            present = {read: present[read] or value for read, value in _results(of_rows, found).items()}
            for read, names in columns.items():
                self._keep(read, names)
            self._database.unregister("rows")
        return present

    def _keep(self, read: Read, columns: Sequence[str]) -> None:
        """Keeps these columns of the `rows` that the read selects."""
        is_new = read not in self._kept
        name = self._kept.setdefault(read, f"kept_{len(self._kept)}")
        target = f"create temp table {name} as" if is_new else f"insert into {name}"
        self._database.execute(f"{target} select {', '.join(columns)} from rows where {read.where}")

    def _with_groups(self, read: Read) -> bool:
        """Whether a group of the rows that the read selects satisfies its second predicate."""
        per = f"group by {read.per}" if read.per else ""
        groups = f"select 1 from rows where {read.where} {per} having {read.having}"
        return bool(self._row(read.source, [read], f"select count(*) > 0 from ({groups})")[0])

    def _has_candidates(self, detector: Detector) -> bool:
        """Whether the detector's query of candidates has rows. Each of its reads has rows."""
        for name, read in detector.reads.items():
            columns = read.per or ", ".join(_named(source_columns(read.source), detector.candidates)) or "1"
            per = f"group by {read.per} having {read.having or 'true'}" if read.per else ""
            query = f"create or replace temp table {name} as select {columns} from rows where {read.where} {per}"
            self._execute(read, columns_of(read.source, [read], detector.candidates), query)
        row = self._database.execute(f"select count(*) > 0 from ({detector.candidates})").fetchall()[0]
        return bool(row[0])

    def _row(self, source: Source, reads: Sequence[Read], query: str) -> tuple[object, ...]:
        """The result of a query that gives one row. The query selects from `rows`."""
        rows = self._execute(reads[0], columns_of(source, reads), query)
        return rows[0] if rows else (False,) * len(reads)

    def _execute(self, read: Read, columns: Sequence[str], query: str) -> list[tuple[object, ...]]:
        """The result of a query that selects from `rows`: what was kept of the read, else these columns of its source.
        Where the dataset lacks the source, the query is not executed, and the result is empty."""
        if read in self._kept:
            self._database.execute(f"create or replace temp view rows as from {self._kept[read]}")
            rows: list[tuple[object, ...]] = self._database.execute(query).fetchall()
            self._database.execute("drop view rows")
            return rows
        found = self._batches(read.source, columns)
        if found is None:
            return []
        self._database.register("rows", found)
        rows = self._database.execute(query).fetchall()
        self._database.unregister("rows")
        return rows

    def _batches(self, source: Source, columns: Sequence[str]) -> pa.RecordBatchReader | None:
        """These columns of a source, batch by batch; None where the dataset lacks it."""
        batches = table_batches(self._dataset, source, columns)
        first = next(batches, None)
        return None if first is None else pa.RecordBatchReader.from_batches(first.schema, _chain(first, batches))


def _row_tests(reads: Iterable[Read]) -> str:
    """The query that says of each read whether one of `rows` satisfies its predicate."""
    tests = [f"coalesce(bool_or({read.where}), false)" for read in reads]
    return f"select {', '.join(tests or ['count(*)'])} from rows"


def _results(reads: Sequence[Read], row: Sequence[object]) -> dict[Read, bool]:
    """The result of `_row_tests`, by the read."""
    return {read: bool(value) for read, value in zip(reads, row, strict=False)}


def _candidates(read: Read, detectors: Iterable[Detector]) -> str:
    """The queries of candidates that may select from the read."""
    return " ".join(detector.candidates for detector in detectors if read in detector.reads.values())


def _united(lists: Iterable[Iterable[str]]) -> list[str]:
    """The names in these lists, each once."""
    return list(dict.fromkeys(name for names in lists for name in names))


def columns_of(source: Source, reads: Iterable[Read], candidates: str = "") -> list[str]:
    """The columns of the source that the reads' predicates and the query of candidates name; where they name none, its
    first column."""
    known = source_columns(source)
    texts = [f"{read.where} {read.per} {read.having}" for read in reads]
    return _named(known, " ".join([*texts, candidates])) or known[:1]


def _named(columns: Iterable[str], text: str) -> list[str]:
    """The columns that an SQL text names."""
    named = set(_WORD.findall(_STRING.sub("", text)))
    return [name for name in columns if name in named]


def _all_of(detector: Detector, present: dict[Read, bool], *, unknown: bool) -> bool:
    return all(present.get(read, unknown) for read in detector.reads.values())


def _chain(first: pa.RecordBatch, others: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
    yield first
    yield from others
