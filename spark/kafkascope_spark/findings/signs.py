"""What a dataset has to show before a rule is asked at all: read from Parquet's statistics and short columns,
without a job. It saves the plans of rules that can find nothing; a rule gives the same without it."""

import pathlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.stories import STORY_TABLES

_STORIES = frozenset(table.name for table in STORY_TABLES)


@dataclass(frozen=True, slots=True)
class Sign:
    """A table with a row whose column has one of the values, or a value in which the pattern is found, or is above a
    number; or whose column sums up to more than total; or with so many rows of one connection for which where holds;
    with nothing of these: with any row at all."""

    table: Table
    column: str | None = None
    values: frozenset[str] = frozenset()
    pattern: str | None = None
    above: int | None = None
    total: int | None = None
    where: pc.Expression | None = field(default=None, compare=False)
    times: int = 1
    shows: Callable[[ds.Dataset], bool] | None = field(default=None, compare=False)
    """A function of the table's rows, where nothing else says it; two columns of ten million rows fit into memory."""


class Signs:
    """Which signs a dataset shows. Each column is read once."""

    def __init__(self, dataset: pathlib.Path) -> None:
        self._dataset = dataset
        self._values: dict[tuple[str, str], frozenset[str]] = {}
        self._greatest: dict[tuple[str, str], int | None] = {}

    def shows_any(self, signs: Sequence[Sign]) -> bool:
        """Whether the dataset shows one of them; True for none."""
        return not signs or any(self._shows(sign) for sign in signs)

    def _shows(self, sign: Sign) -> bool:
        rows = self._rows(sign.table)
        if rows is None:
            return False
        if sign.shows is not None:
            return sign.shows(rows)
        if sign.where is not None:
            return _holds(rows, sign.where, sign.times)
        if sign.column is None:
            return int(rows.count_rows()) > 0
        if sign.column not in rows.schema.names:
            return False
        if sign.total is not None:
            return _total(rows, sign.column) > sign.total
        key = (sign.table.name, sign.column)
        if sign.above is not None:
            if key not in self._greatest:
                self._greatest[key] = _greatest(rows, sign.column)
            greatest = self._greatest[key]
            return greatest is not None and greatest > sign.above
        if key not in self._values:
            self._values[key] = _distinct(rows, sign.column)
        if sign.pattern is not None:
            return any(re.search(sign.pattern, value) for value in self._values[key])
        return not self._values[key].isdisjoint(sign.values)

    def _rows(self, table: Table) -> ds.Dataset | None:
        place = self._dataset / ("stories" if table.name in _STORIES else "") / table.name
        if not place.is_dir() or next(place.rglob("*.parquet"), None) is None:
            return None
        return ds.dataset(place, format="parquet")


def _distinct(rows: ds.Dataset, column: str) -> frozenset[str]:
    """The values of a column of strings, or of lists of strings."""
    found: set[str] = set()
    for batch in rows.to_batches(columns=[column]):
        values = batch.column(0)
        if pa.types.is_list(values.type):
            values = pc.list_flatten(values)
        found.update(value for value in pc.unique(values).to_pylist() if value is not None)
    return frozenset(found)


def _greatest(rows: ds.Dataset, column: str) -> int | None:
    greatest: int | None = None
    for batch in rows.to_batches(columns=[column]):
        value = pc.max(batch.column(0)).as_py()
        if value is not None and (greatest is None or value > greatest):
            greatest = value
    return greatest


def _total(rows: ds.Dataset, column: str) -> int:
    return sum(pc.sum(batch.column(0)).as_py() or 0 for batch in rows.to_batches(columns=[column]))


def _holds(rows: ds.Dataset, where: pc.Expression, times: int) -> bool:
    """Whether it holds for so many rows of one connection; once: for any row."""
    if times == 1:
        return int(rows.head(1, filter=where, columns=[]).num_rows) > 0
    counted = pc.value_counts(rows.to_table(columns=["conn_id"], filter=where)["conn_id"])
    return any(each["counts"] >= times for each in counted.to_pylist())
