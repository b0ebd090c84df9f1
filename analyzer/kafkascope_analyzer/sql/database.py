"""A DuckDB connection with the tables of a dataset as views; it can open no file, network address or extension itself.

Tables keep their names, those of the stories too (`clients`, not `stories/clients`); a message is
`messages.Metadata_response`, names in any case. DuckDB gets Arrow datasets and may open no file itself, so that no
statement can read or write anywhere (a COPY may hide in a SELECT).
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.stories import STORY_TABLES
from kafkascope_analyzer.dataset.tables import INGEST_TABLES
from kafkascope_analyzer.report.scan import has_table, table_name
from kafkascope_parsers.errors import UsageError

ROWS_AT_A_TIME = 10_000
MOST_OPENED = 16
"""Tables that are opened at the same time."""
_CLOSED = {
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "python_enable_replacements": False,
}


class Database:
    """A dataset as a database. Raises UsageError where a table cannot be read.

    tables: those that are opened, of those that the dataset has; None: all, and its messages.
    scratch, memory_limit: a directory for what a sort does not hold in memory, and how much that is ('500MB'). Close
    it, or use it in a `with`.
    """

    def __init__(
        self,
        dataset: Dataset,
        *,
        tables: list[Table] | None = None,
        scratch: Path | None = None,
        memory_limit: str | None = None,
    ) -> None:
        self.dataset = dataset
        self._tables: set[str] = set()
        settings: dict[str, str | bool | int | float | list[str]] = {**_CLOSED}
        if scratch is not None and memory_limit is not None:
            settings |= {"temp_directory": str(scratch), "memory_limit": memory_limit, "threads": 1}
        self._connection = duckdb.connect(":memory:", config=settings)
        self._register((*INGEST_TABLES, *STORY_TABLES) if tables is None else tables, messages=tables is None)
        self._connection.execute("set TimeZone = 'UTC'")
        self._connection.execute("create schema messages")
        for name in dataset.messages if tables is None else ():
            self._connection.execute(f'create view messages."{_view_of(name)}" as select * from "{name}"')
        self._connection.execute("set lock_configuration=true")

    def __enter__(self) -> "Database":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection and frees its memory."""
        self._connection.close()

    def _register(self, tables: Iterable[Table], *, messages: bool) -> None:
        """Makes each table known to DuckDB. Several are opened at a time: a message's schema is in its first file, and
        an object store takes tens of milliseconds to answer.
        """
        views = {t.name: table_name(t) for t in tables if has_table(self.dataset, t)}
        views |= {name: name for name in self.dataset.messages} if messages else {}
        with ThreadPoolExecutor(MOST_OPENED) as pool:
            for view, table in zip(views, pool.map(self.dataset.arrow, views.values()), strict=True):
                self._connection.register(view, table)
        self._tables.update(views)

    def has(self, table: str) -> bool:
        """Whether the dataset has the table."""
        return table in self._tables

    def query(self, statement: str) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
        """The columns' names and the rows of one SELECT, which may also be written DESCRIBE, SUMMARIZE, SHOW or FROM.

        Raises UsageError in one sentence, also while the rows are read.
        """
        try:
            parsed = self._connection.extract_statements(statement)
            if len(parsed) != 1 or parsed[0].type != duckdb.StatementType.SELECT:
                what = "one statement" if len(parsed) != 1 else f"a SELECT, not {parsed[0].type.name}"
                raise UsageError(f"the query has to be {what}: a dataset is only read")
            self._connection.execute(parsed[0])
            names = [str(column[0]) for column in self._connection.description or []]
        except (duckdb.Error, pa.ArrowInvalid) as error:
            raise UsageError(self._sentence(error)) from error
        return names, self._rows()

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        while True:
            try:
                rows = self._connection.fetchmany(ROWS_AT_A_TIME)
            except (duckdb.Error, pa.ArrowInvalid) as error:
                raise UsageError(self._sentence(error)) from error
            if not rows:
                return
            yield from rows

    def _sentence(self, error: Exception) -> str:
        """DuckDB's first line, and where to look: a table that the dataset lacks, or the list of tables."""
        first, _, rest = str(error).partition("\n")
        story = next((t.name for t in STORY_TABLES if f"Table with name {t.name} does not exist" in first), None)
        if story:
            return f"{self.dataset} has no table stories/{story}: `kafkascope stories {self.dataset}` makes it"
        hint = " ".join(rest.partition("LINE 1:")[0].split())
        message = f"{first.rstrip('.!')}" + (f" ({hint})" if hint else "")
        return f"the query failed: {message}; `kafkascope tables` lists tables and columns"


def _view_of(name: str) -> str:
    """`Metadata_response` of `messages/Metadata/response`."""
    _, api, direction = name.split("/")
    return f"{api}_{direction}"
