"""`rows_within`: reads the rows of a table within several spans of time in one pass over the table."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_analyzer.dataset.table_rows import scan

Span = tuple[int, int]
"""Begin and end of a span of time, both included, in nanoseconds."""


def rows_within(
    dataset: Dataset | None, table: Table, columns: list[str], at: str, spans: Sequence[Span]
) -> Iterator[tuple[int, pa.Table]]:
    """Yields batches of rows, in order of time within a batch, each with the number of the span that contains them. at:
    the column with the time of a row; dataset: None gives no rows. Raises UsageError where the table cannot be read.
    Memory: one batch."""
    if dataset is None or not spans:
        return
    starts = np.array([start for start, _ in spans], np.int64)
    ends = np.array([min(end, FOREVER) for _, end in spans], np.int64)
    meanwhile = (ds.field(at) >= int(starts.min())) & (ds.field(at) <= int(ends.max()))
    for batch in scan(dataset, table, columns, meanwhile):
        rows = pa.Table.from_batches([batch]).sort_by(at)
        times = rows[at].to_numpy()
        first, last = np.searchsorted(times, starts), np.searchsorted(times, ends, "right")
        for number in np.flatnonzero(first < last).tolist():
            yield number, rows.slice(int(first[number]), int(last[number] - first[number]))
