"""Finds columns, tables and views of a dataset by words in their names, descriptions or values."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kafkascope_analyzer.dataset.contract import Column
from kafkascope_analyzer.sql.saved import views
from kafkascope_analyzer.sql.tables import TABLES


@dataclass(frozen=True, slots=True)
class FoundColumn:
    """A match. column: its name in a query, after the name of its table: `requests.latency_us`; or a table alone."""

    column: str
    type: str
    what: str


def found_columns(words: str, table: str | None = None) -> Iterator[FoundColumn]:
    """Yields everything that has all of the words, in any case and as parts of longer words. table: search only this
    one."""
    wanted = words.casefold().split()
    for row in _everything():
        text = f"{row.column} {row.what}".casefold()
        if all(word in text for word in wanted) and table in (None, row.column.partition(".")[0]):
            yield row


def _everything() -> Iterator[FoundColumn]:
    for table in TABLES:
        yield FoundColumn(table.name, "table", f"one row per {table.row}")
        yield from _of_columns(table.name, table.columns)
    for view in views():
        yield FoundColumn(view.name, "view", view.description)


def _of_columns(path: str, columns: Sequence[Column]) -> Iterator[FoundColumn]:
    for column in columns:
        name = f"{path}.{column.name}"
        values = f": {', '.join(column.values)}" if column.values else ""
        yield FoundColumn(name, str(column.type), f"{column.doc}{values}")
        yield from _of_columns(name, column.fields)
