"""`TablePlace`: the names of the files of a table that a writer of one bucket writes: one or more per day.

`requests/date=2026-11-21/bucket=3/part-0-RUN.parquet`: the day (UTC) of the rows' own times, then the bucket. Spark and
DuckDB know such folders, and read only those of a day where a query selects one `date`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_DAY_NS = 86_400_000_000_000
_DATE = "date="
UNDATED = f"{_DATE}__HIVE_DEFAULT_PARTITION__"
"""The folder of rows without a time, named as by Spark."""


@dataclass(frozen=True, slots=True)
class TablePlace:
    """folder: folder of the table; part: the path of a file in the folder of a day, which ends with `-RUN.parquet`;
    by_day: whether there are folders of days."""

    folder: Path
    part: str
    by_day: bool = True

    def file(self, day: str, number: int = 0) -> Path:
        """Returns the file of a day's folder (empty: without one); number: number of the file."""
        head, _, run = self.part.rpartition("-")
        return self.folder / day / (f"{head}-{number}-{run}" if number else self.part)

    def files(self) -> list[Path]:
        """Returns the existing files, by day."""
        head, _, run = self.part.rpartition("-")
        found = [path for name in (self.part, f"{head}-*-{run}") for path in self.folder.glob(f"{_DATE}*/{name}")]
        return [path for path in [self.file(""), *sorted(found)] if path.exists()]


def without_day(path: str) -> str:
    """Returns the path of a file without the folder of a day."""
    return "/".join(name for name in path.split("/") if not name.startswith(_DATE))


def rows_by_day(rows: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """Yields the rows (with ts_ns) of each day, with the name of its folder."""
    times = rows["ts_ns"]
    ends = pc.min_max(times)
    first, last = ends["min"].as_py(), ends["max"].as_py()
    if not times.null_count and first is not None and first // _DAY_NS == last // _DAY_NS:
        yield _folder_of(first // _DAY_NS), rows
        return
    days: NDArray[np.int64] = times.fill_null(0).to_numpy() // _DAY_NS
    known = np.asarray(times.is_valid())
    for day in np.unique(days[known]).tolist():
        yield _folder_of(day), rows.filter(pa.array(known & (days == day)))
    if times.null_count:
        yield UNDATED, rows.filter(pa.array(~known))


def _folder_of(day: int) -> str:
    return f"{_DATE}{np.datetime64(day, 'D')}"
