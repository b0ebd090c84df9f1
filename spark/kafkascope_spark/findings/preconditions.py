"""Preconditions: whether a dataset has the rows that a detector reads (`Detector.reads`).

They are evaluated in this process, without a Spark job, over the few columns that the reads' predicates name. They save
the planning of detectors that cannot find anything; without them the findings are the same.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

import duckdb
import pyarrow as pa

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_spark.findings.dataset_batches import table_batches
from kafkascope_spark.findings.read import Messages, Read, source_columns
from kafkascope_spark.findings.rule import Detector

MACROS = (
    "create macro size(list) as len(list)",
    "create macro regexp_like(text, pattern) as regexp_matches(text, pattern)",
)
"""Functions of Spark SQL under Spark's names: what a Read's predicates may call besides functions that both have."""
MOST_REQUESTS = 10_000_000
"""Requests whose short columns this process reads within seconds; of a dataset with more, all detectors run."""
_STRING = re.compile(r"'(?:[^']|'')*'")
_WORD = re.compile(r"[a-z_][a-z_0-9]*")


class Preconditions:
    """Evaluates the preconditions of detectors on one dataset."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._database = duckdb.connect(config={"threads": 1})
        for macro in MACROS:
            self._database.execute(macro)

    def satisfied(self, detectors: Sequence[Detector]) -> list[bool]:
        """Of each detector, whether all of its reads have rows."""
        reads = [read for detector in detectors for read in detector.reads.values()]
        present = self._without_groups(read for read in reads if not read.having)
        possible = [_all_of(detector, present, unknown=True) for detector in detectors]
        grouped = (d.reads.values() for d, it_can in zip(detectors, possible, strict=True) if it_can)
        present |= {read: self._with_groups(read) for reads in grouped for read in reads if read.having}
        return [_all_of(detector, present, unknown=False) for detector in detectors]

    def _without_groups(self, reads: Iterable[Read]) -> dict[Read, bool]:
        """Of each read, whether a row satisfies its predicate: one pass over each table."""
        by_source: dict[Table | Messages, list[Read]] = defaultdict(list)
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

    def _row(self, source: Table | Messages, reads: Sequence[Read], query: str) -> tuple[object, ...]:
        """The result of a query that gives one row. The query selects from `rows`."""
        columns = columns_of(source, reads)
        batches = table_batches(self._dataset, source, columns)
        first = next(batches, None)
        if first is None:
            return (False,) * len(reads)
        rows = pa.RecordBatchReader.from_batches(first.schema, _chain(first, batches))
        self._database.register("rows", rows)
        row: tuple[object, ...] = self._database.execute(query).fetchall()[0]
        self._database.unregister("rows")
        return row


def columns_of(source: Table | Messages, reads: Iterable[Read]) -> list[str]:
    """The columns of the source that the reads' predicates name; the first one of the source where they name none."""
    known = source_columns(source)
    named: set[str] = set()
    for read in reads:
        named.update(_WORD.findall(_STRING.sub("", f"{read.where} {read.per} {read.having}")))
    return [name for name in known if name in named] or known[:1]


def _all_of(detector: Detector, present: dict[Read, bool], *, unknown: bool) -> bool:
    return all(present.get(read, unknown) for read in detector.reads.values())


def _chain(first: pa.RecordBatch, others: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
    yield first
    yield from others
