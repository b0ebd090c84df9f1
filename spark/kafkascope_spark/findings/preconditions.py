"""Preconditions: whether a dataset has the rows that a detector reads (`Detector.reads`), and whether these have in
common what a finding needs (`Detector.candidates`).

They are evaluated in this process, without a Spark job, over the few columns that they name, batch by batch; of large
tables such as requests these are short columns. They save the planning and running of detectors that cannot find
anything; without them the findings are the same.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

import duckdb
import pyarrow as pa

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_spark.findings.dataset_batches import table_batches
from kafkascope_spark.findings.read import Events, Read, Source, source_columns
from kafkascope_spark.findings.rule import Detector

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
        self._events: dict[Events, pa.Table | None] = {}
        self._event_columns: dict[Events, list[str]] = {}
        self._database = duckdb.connect(config={"threads": 1})
        for macro in MACROS:
            self._database.execute(macro)

    def satisfied(self, detectors: Sequence[Detector]) -> list[bool]:
        """Of each detector, whether all of its reads have rows, and its candidates too."""
        reads = [read for detector in detectors for read in detector.reads.values()]
        self._event_columns = _columns_of_events(detectors)
        present = self._without_groups(read for read in reads if not read.having)
        possible = [_all_of(detector, present, unknown=True) for detector in detectors]
        grouped = (d.reads.values() for d, it_can in zip(detectors, possible, strict=True) if it_can)
        present |= {read: self._with_groups(read) for reads in grouped for read in reads if read.having}
        return [
            _all_of(detector, present, unknown=False) and (not detector.candidates or self._has_candidates(detector))
            for detector in detectors
        ]

    def _without_groups(self, reads: Iterable[Read]) -> dict[Read, bool]:
        """Of each read, whether a row satisfies its predicate: one pass over each table."""
        by_source: dict[Source, list[Read]] = defaultdict(list)
        for read in dict.fromkeys(reads):
            by_source[read.source].append(read)
        present: dict[Read, bool] = {}
        for source, of_source in by_source.items():
            tests = ", ".join(f"coalesce(bool_or({read.where}), false)" for read in of_source)
            row = self._row(source, of_source, f"select {tests} from rows")
            present |= {read: bool(value) for read, value in zip(of_source, row, strict=True)}
        return present

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
            self._execute(read.source, columns_of(read.source, [read], detector.candidates), query)
        row = self._database.execute(f"select count(*) > 0 from ({detector.candidates})").fetchall()[0]
        return bool(row[0])

    def _row(self, source: Source, reads: Sequence[Read], query: str) -> tuple[object, ...]:
        """The result of a query that gives one row. The query selects from `rows`."""
        rows = self._execute(source, columns_of(source, reads), query)
        return rows[0] if rows else (False,) * len(reads)

    def _execute(self, source: Source, columns: Sequence[str], query: str) -> list[tuple[object, ...]]:
        """The result of a query that selects from `rows`: these columns of the source. Where the dataset lacks the
        source, the query is not executed, and the result is empty."""
        found = self._event_rows(source) if isinstance(source, Events) else self._batches(source, columns)
        if found is None:
            return []
        self._database.register("rows", found)
        rows: list[tuple[object, ...]] = self._database.execute(query).fetchall()
        self._database.unregister("rows")
        return rows

    def _event_rows(self, source: Events) -> pa.Table | None:
        """The events of a kind with all columns that reads need, read once: several reads select from them, and most
        rows of the table events are of other kinds. None where the dataset has no events."""
        if source not in self._events:
            batches = self._batches(source, self._event_columns[source])
            self._events[source] = None if batches is None else batches.read_all()
        return self._events[source]

    def _batches(self, source: Source, columns: Sequence[str]) -> pa.RecordBatchReader | None:
        """These columns of a source, batch by batch; None where the dataset lacks it."""
        batches = table_batches(self._dataset, source, columns)
        first = next(batches, None)
        return None if first is None else pa.RecordBatchReader.from_batches(first.schema, _chain(first, batches))


def _columns_of_events(detectors: Iterable[Detector]) -> dict[Events, list[str]]:
    """The columns of events that the detectors' reads and candidates name, by the kind of events."""
    columns: dict[Events, list[str]] = {}
    for detector in detectors:
        for read in detector.reads.values():
            if isinstance(read.source, Events):
                known = columns.setdefault(read.source, [])
                known += [name for name in columns_of(read.source, [read], detector.candidates) if name not in known]
    return columns


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
