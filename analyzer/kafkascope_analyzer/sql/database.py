"""A DuckDB connection with the tables of a dataset as views; it can open no file, network address or extension itself.

Tables keep their names, those of the stories too (`clients`, not `stories/clients`); a message is
`messages.Metadata_response`, names in any case. DuckDB gets Arrow datasets and may open no file itself, so that no
statement can read or write anywhere (a COPY may hide in a SELECT).
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.table_rows import has_table
from kafkascope_analyzer.dataset.tables import INGEST_TABLES
from kafkascope_analyzer.sql.interrupted_query import interruptible
from kafkascope_analyzer.sql.saved import views
from kafkascope_parsers.errors import DamagedDatasetError, UsageError
from kafkascope_spark.stories.tables import STORY_TABLES

ROWS_AT_A_TIME = 10_000
MOST_OPENED = 16
"""Tables that are opened at the same time."""
_WRONG_QUERY = (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException)
"""What DuckDB raises before it reads a table."""
_ROUNDED = ("TIMESTAMP_NS", "INTERVAL")
"""Types of DuckDB that hold more than Python's datetime and timedelta."""
_NOT_IN_PARQUET = ("INTERVAL",)
"""Types of DuckDB for which pyarrow's Parquet has none."""
_TABLES = tuple(table.name for table in (*INGEST_TABLES, *STORY_TABLES))
_CLOSED = {
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "python_enable_replacements": False,
}


class Database:
    """A dataset as a database. Raises UsageError where a table cannot be read.

    tables: those that are opened; one that the dataset lacks is empty. None: all that it has, and its messages.
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
        self._tables: dict[str, str] = {}
        settings: dict[str, str | bool | int | float | list[str]] = {**_CLOSED}
        if scratch is not None and memory_limit is not None:
            settings |= {"temp_directory": str(scratch), "memory_limit": memory_limit, "threads": 1}
        self._connection = duckdb.connect(":memory:", config=settings)
        with interruptible():
            self._make_views(tables)

    def _make_views(self, tables: list[Table] | None) -> None:
        """Makes the tables and the views over them known to DuckDB; tables: as of the class."""
        self._register((*INGEST_TABLES, *STORY_TABLES) if tables is None else tables, messages=tables is None)
        for table in tables or ():
            if not self.has(table.name):
                self._connection.register(table.name, table.schema.empty_table())
        self._connection.execute("set TimeZone = 'UTC'")
        self._connection.execute("create schema messages")
        for name in self.dataset.messages if tables is None else ():
            self._connection.execute(f'create view messages."{_view_of(name)}" as select * from "{name}"')
        there = set(self._tables)
        for view in views():
            if all(name in there for name in (*_TABLES, *(v.name for v in views())) if view.names(name)):
                self._connection.execute(f"create view {view.name} as {view.text}")
                there.add(view.name)
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
        there: dict[str, Table | str] = {t.name: t for t in tables if has_table(self.dataset, t)}
        there |= {name: name for name in self.dataset.messages} if messages else {}
        with ThreadPoolExecutor(MOST_OPENED) as pool:
            opened = pool.map(partial(self.dataset.arrow, checked=False), there.values())
            for name, table in zip(there, opened, strict=True):
                self._connection.register(name, table)
        self._tables.update({name: t if isinstance(t, str) else t.stored_as for name, t in there.items()})

    def has(self, table: str) -> bool:
        """Whether the dataset has the table."""
        return table in self._tables

    def query(self, statement: str) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
        """The columns' names and the rows of one SELECT, which may also be written DESCRIBE, SUMMARIZE, SHOW or FROM.

        Raises UsageError in one sentence, also while the rows are read.
        """
        names, types = self._execute(statement)
        exact = _exact(statement, names, types, _ROUNDED)
        if exact is not None:
            self._execute(exact)
        return names, self._rows(statement)

    def arrow(self, statement: str) -> Iterator[pa.RecordBatch | pa.Schema]:
        """The schema, then the batches of one SELECT in Arrow's types. Raises UsageError, also while they are read."""
        parsed = self._select(statement)
        try:
            relation = self._connection.sql(parsed)
            exact = _exact(statement, relation.columns, list(map(str, relation.types)), _NOT_IN_PARQUET)
            relation = relation if exact is None else self._connection.sql(exact)
            as_reader = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader  # before DuckDB 2
            with interruptible(), as_reader(ROWS_AT_A_TIME) as reader:
                yield reader.schema
                yield from reader
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            raise self._failure(error, statement) from error

    def _select(self, statement: str) -> Any:
        """The one statement that the text is, a SELECT. Raises UsageError."""
        try:
            parsed = self._connection.extract_statements(statement)
        except duckdb.Error as error:
            raise self._failure(error, statement) from error
        if len(parsed) != 1 or parsed[0].type != duckdb.StatementType.SELECT:
            what = "one statement" if len(parsed) != 1 else f"a SELECT, not {parsed[0].type.name}"
            raise UsageError(f"the query has to be {what}: a dataset is only read")
        for table in self._named_in(statement):
            self.dataset.check(table)
        return parsed[0]

    def _named_in(self, statement: str) -> list[str]:
        """The tables of the dataset that a statement may read: each whose name, or that of a view over it, is in it."""
        text = statement.lower()
        return [
            table
            for name, table in self._tables.items()
            if any(part.lower() in text for part in (name, *_views_over(name)))
        ]

    def _execute(self, statement: str) -> tuple[list[str], list[str]]:
        """Begins one SELECT; gives the names and the types of its columns. Raises UsageError."""
        parsed = self._select(statement)
        try:
            with interruptible():
                self._connection.execute(parsed)
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            raise self._failure(error, statement) from error
        columns = self._connection.description or []
        return [str(column[0]) for column in columns], [str(column[1]) for column in columns]

    def _rows(self, statement: str) -> Iterator[tuple[Any, ...]]:
        while True:
            try:
                with interruptible():
                    rows = self._connection.fetchmany(ROWS_AT_A_TIME)
            except (duckdb.Error, pa.ArrowException, OSError) as error:
                raise self._failure(error, statement) from error
            if not rows:
                return
            yield from rows

    def _failure(self, error: Exception, statement: str) -> UsageError:
        """The error to raise: one that names the damaged file where a table that the query names has one."""
        if isinstance(error, duckdb.OutOfMemoryException):
            return UsageError("the query needs more memory than there is: raise the limit (ulimit -v), or ask for less")
        if not isinstance(error, _WRONG_QUERY):
            try:
                for table in self._named_in(statement):
                    self.dataset.check_files(table)
            except DamagedDatasetError as damaged:
                return damaged
        return UsageError(self._sentence(error))

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


def _views_over(table: str) -> Iterator[str]:
    """The names by which a query may read the table besides its own."""
    if table.startswith("messages/"):
        yield _view_of(table)
    over = [view for view in views() if view.names(table)]
    yield from (view.name for view in views() if view in over or any(view.names(other.name) for other in over))


def _exact(statement: str, names: list[str], types: list[str], inexact: tuple[str, ...]) -> str | None:
    """The statement with columns of the types `inexact` as text; None where it has none, or its columns have no names
    of their own.
    """
    rounded = [name for name, kind in zip(names, types, strict=True) if kind in inexact]
    if not rounded or len(set(names)) < len(names):
        return None
    as_text = ", ".join(f"cast({_quoted(name)} as varchar) as {_quoted(name)}" for name in rounded)
    return f"select * replace ({as_text}) from ({statement.rstrip().rstrip(';')}\n)"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
