"""`rows_within`: reads the rows of a table within several spans of time in one pass over the table."""

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from operator import or_

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_analyzer.dataset.table_rows import scan

Span = tuple[int, int]
"""Begin and end of a span of time, both included, in nanoseconds."""
MOST_SPANS = 32
"""Most spans of a filter, which looks at each of them for each row that is read."""


def within(at: str, spans: Iterable[Span]) -> ds.Expression:
    """Returns a filter for the rows in some spans of time, of which there is at least one; row groups in none of them
    are not read. at: the column with the time of a row. Where the spans are too many, it has the rows between the
    nearest ones too."""
    joined: list[Span] = []
    for start, end in sorted((start, min(end, FOREVER)) for start, end in spans):
        if joined and start <= joined[-1][1]:
            start, former = joined.pop()
            end = max(end, former)
        joined.append((start, end))
    gaps = sorted(range(1, len(joined)), key=lambda place: joined[place][0] - joined[place - 1][1], reverse=True)
    begins = sorted([0, *gaps[: MOST_SPANS - 1]])
    ends = [*(place - 1 for place in begins[1:]), len(joined) - 1]
    time = ds.field(at)
    return reduce(or_, [(time >= joined[i][0]) & (time <= joined[k][1]) for i, k in zip(begins, ends, strict=True)])


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
    for batch in scan(dataset, table, columns, within(at, spans)):
        rows = pa.Table.from_batches([batch]).sort_by(at)
        times = rows[at].to_numpy()
        first, last = np.searchsorted(times, starts), np.searchsorted(times, ends, "right")
        for number in np.flatnonzero(first < last).tolist():
            yield number, rows.slice(int(first[number]), int(last[number] - first[number]))
