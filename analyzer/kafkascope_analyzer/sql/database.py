"""A DuckDB connection with the tables of a dataset as views; it can open no file, network address or extension itself.

Tables keep their names, those of the stories too (`clients`, not `stories/clients`); a message is
`messages.Metadata_response`, names in any case. DuckDB gets Arrow datasets and may open no file itself, so that no
statement can read or write anywhere (a COPY may hide in a SELECT).
"""

import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Self

import duckdb
import pyarrow as pa

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.manifest import MESSAGES
from kafkascope_analyzer.dataset.near_names import did_you_mean
from kafkascope_analyzer.dataset.table_rows import has_table
from kafkascope_analyzer.sql.interruptible import InterruptibleCalls
from kafkascope_analyzer.sql.reference_tables import REFERENCE_TABLES, reference_tables
from kafkascope_analyzer.sql.saved import SavedSql, below, macros, reads_messages, saved_in, views
from kafkascope_analyzer.sql.tables import TABLES, available, message_view, table_and_view_names
from kafkascope_parsers.errors import DamagedDatasetError, UsageError
from kafkascope_spark.stories.tables import STORY_TABLES

ROWS_AT_A_TIME = 10_000
MOST_OPENED = 16
"""Most tables that are opened at the same time."""
_WRONG_QUERY = (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException)
"""Errors that DuckDB raises before it reads a table."""
_ROUNDED = ("TIMESTAMP_NS", "INTERVAL")
"""Types of DuckDB with a larger range or precision than Python's datetime and timedelta."""
_NOT_IN_PARQUET = ("INTERVAL",)
"""Types of DuckDB that pyarrow cannot write to Parquet."""
_CLOSED = {
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "python_enable_replacements": False,
}


@dataclass(frozen=True, slots=True)
class WorkMemory:
    """The memory that queries may take. What needs more, such as a sort of a large table, is put into files."""

    limit: str
    """As DuckDB reads it, such as '500MB'."""
    scratch: Path
    """The directory of the files. Whoever makes it removes it."""
    threads: int = 1
    """Threads of a query; each takes part of the memory."""

    @property
    def settings(self) -> dict[str, str | int]:
        """DuckDB's settings."""
        return {"temp_directory": str(self.scratch), "memory_limit": self.limit, "threads": self.threads}


class Database:
    """A dataset as a database. Raises UsageError where a table cannot be read.

    tables: the tables to open; one that the dataset lacks is empty. None: all tables of the dataset, and its messages.
    owners: owners of clients, groups and principals (`read_owners`).
    memory: None: DuckDB's default, up to four fifths of the machine's memory. Close the database, or use it in a
    `with`.
    """

    def __init__(
        self,
        dataset: Dataset,
        *,
        tables: list[Table] | None = None,
        owners: pa.Table | None = None,
        memory: WorkMemory | None = None,
    ) -> None:
        self.dataset = dataset
        self._tables: dict[str, str] = {}
        self._views: list[str] = []
        """The views and macros whose tables are there."""
        self._made: set[str] = set()
        """The views and macros that DuckDB knows. Those over messages are made when a query names them."""
        settings: dict[str, str | bool | int | float | list[str]] = {**_CLOSED}
        if memory is not None:
            settings |= memory.settings
        self._connection = duckdb.connect(":memory:", config=settings)
        self._calls = InterruptibleCalls(self._connection)
        try:
            self._calls.run(self._make_views, tables, owners)
        except BaseException:
            self.close()
            raise

    def _make_views(self, tables: list[Table] | None, owners: pa.Table | None) -> None:
        """Registers the tables and the views over them with DuckDB; tables, owners: as in the class."""
        for name, table in reference_tables(owners).items():
            self._connection.register(name, table)
        self._register(TABLES if tables is None else tables, self.dataset.messages if tables is None else ())
        for table in tables or ():
            if not self.has(table.name):
                self._connection.register(table.name, table.schema.empty_table())
        self._connection.execute("set TimeZone = 'UTC'")
        self._connection.execute("create schema messages")
        for name in self.dataset.messages if tables is None else ():
            self._connection.execute(f'create view messages."{message_view(name)}" as select * from "{name}"')
        self._views = [saved.name for saved in available({*self._tables, *(table.name for table in REFERENCE_TABLES)})]
        self._make_saved(saved for saved in (*views(), *macros()) if not reads_messages(saved))
        self._connection.execute("set lock_configuration=true")

    def _make_saved(self, wanted: Iterable[SavedSql]) -> None:
        """Makes the views and macros whose tables are there. Messages that the dataset lacks have no rows."""
        for saved in wanted:
            if saved.name in self._views and saved.name not in self._made:
                for message in saved.messages:
                    self._make_message(message)
                self._connection.execute(f"create {saved.definition}")
                self._made.add(saved.name)

    def _make_message(self, view: str) -> None:
        """Makes `messages.<view>`, where it was not made with the tables: a view may read a message that was not
        opened, or that the dataset lacks. Such a message has its columns, but no rows."""
        stored = next((name for name in self.dataset.messages if message_view(name) == view), None)
        if stored in self._tables:
            return
        if stored is not None:
            self._register((), (stored,))
            self._connection.execute(f'create view messages."{view}" as select * from "{stored}"')
            return
        from kafkascope_analyzer.sql.empty_messages import empty_message

        name = f"no {view}"
        self._connection.register(name, empty_message(view))
        self._connection.execute(f'create view if not exists messages."{view}" as select * from "{name}"')

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(self, name: str, rows: Any) -> None:
        """Makes an Arrow table or dataset known to queries by that name."""
        self._calls.run(self._connection.register, name, rows)

    def close(self) -> None:
        """Closes the connection and frees its memory."""
        self._calls.close()
        self._connection.close()

    def interrupt(self) -> None:
        """Stops the query that another thread is running: it raises UsageError there."""
        self._connection.interrupt()

    def _register(self, tables: Iterable[Table], messages: Iterable[str]) -> None:
        """Registers each table with DuckDB. Several are opened at a time: a message's schema is in its first file, and
        an object store takes tens of milliseconds to answer.
        """
        there: dict[str, Table | str] = {t.name: t for t in tables if has_table(self.dataset, t)}
        there |= {name: name for name in messages}
        with ThreadPoolExecutor(MOST_OPENED) as pool:
            opened = pool.map(partial(self.dataset.arrow, checked=False), there.values())
            for name, table in zip(there, opened, strict=True):
                self._connection.register(name, table)
        self._tables.update({name: t if isinstance(t, str) else t.stored_as for name, t in there.items()})

    def has(self, table: str) -> bool:
        """Whether the dataset has the table."""
        return table in self._tables

    def can_answer(self, question: SavedSql) -> bool:
        """Whether the dataset has all tables that a saved question reads, directly or through a view."""
        there = {*self._tables, *self._views, *(table.name for table in REFERENCE_TABLES)}
        return all(name in there for name in table_and_view_names() if question.names(name))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all tables, messages and views, as a query writes them."""
        return (*(_named(table) for table in self._tables), *(v.name for v in views() if v.name in self._views))

    def stored_as(self, name: str) -> str | None:
        """Returns the table of the dataset for a name in a query; None for a view."""
        return next((stored for table, stored in self._tables.items() if _named(table) == name), None)

    def check_name(self, name: str) -> None:
        """Raises UsageError where a query cannot use the name for a table, messages or view; the error names a similar
        one."""
        if name in self.names:
            return
        story = self._missing_story(name)
        if story:
            raise UsageError(self._lacks_story(story))
        near = did_you_mean(name, self.names)
        raise UsageError(f"{self.dataset} has no table {name}{near}; `kafkascope tables` lists tables and columns")

    def query(self, statement: str) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
        """Returns the columns' names and the rows of one SELECT, which may also be written DESCRIBE, SUMMARIZE, SHOW or
        FROM.

        Raises UsageError in one sentence, also while the rows are read.
        """
        names, types = self._execute(statement)
        exact = _exact(statement, names, types, _ROUNDED)
        if exact is not None:
            self._execute(exact)
        return names, self._rows(statement)

    def relation(self, statement: str) -> duckdb.DuckDBPyRelation:
        """Returns one SELECT as a relation of DuckDB, which reads the tables when its rows are read. Raises
        UsageError."""
        parsed = self._calls.run(self._select, statement)
        try:
            return self._calls.run(self._connection.sql, parsed)
        except duckdb.Error as error:
            raise self._failure(error, statement) from error

    def arrow(self, statement: str) -> Iterator[pa.RecordBatch | pa.Schema]:
        """Yields the schema, then the batches of one SELECT in Arrow's types. Raises UsageError, also while they are
        read."""
        relation = self.relation(statement)
        try:
            exact = _exact(statement, relation.columns, list(map(str, relation.types)), _NOT_IN_PARQUET)
            relation = relation if exact is None else self._calls.run(self._connection.sql, exact)
            as_reader = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader  # before DuckDB 2
            with self._calls.run(as_reader, ROWS_AT_A_TIME) as reader:
                yield reader.schema
                while (batch := self._calls.run(next, reader, None)) is not None:
                    yield batch
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            raise self._failure(error, statement) from error

    def _select(self, statement: str) -> Any:
        """Returns the single statement in the text, which must be a SELECT. Raises UsageError."""
        try:
            parsed = self._connection.extract_statements(statement)
        except duckdb.Error as error:
            raise self._failure(error, statement) from error
        if len(parsed) != 1 or parsed[0].type != duckdb.StatementType.SELECT:
            what = "one statement" if len(parsed) != 1 else f"a SELECT, not {parsed[0].type.name}"
            raise UsageError(f"the query has to be {what}: a dataset is only read")
        for table in self._named_in(statement):
            self.dataset.check(table)
        self._make_saved(saved for saved in saved_in(statement) if reads_messages(saved))
        return parsed[0]

    def _named_in(self, statement: str) -> list[str]:
        """Returns the tables of the dataset that a statement may read: each whose name, or that of a view over it, is
        in it."""
        text = statement.lower()
        return [
            table
            for name, table in self._tables.items()
            if any(part.lower() in text for part in (name, *_views_over(name)))
        ]

    def _execute(self, statement: str) -> tuple[list[str], list[str]]:
        """Begins one SELECT; returns the names and the types of its columns. Raises UsageError."""
        parsed = self._calls.run(self._select, statement)
        try:
            self._calls.run(self._connection.execute, parsed)
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            raise self._failure(error, statement) from error
        columns = self._connection.description or []
        return [str(column[0]) for column in columns], [str(column[1]) for column in columns]

    def _rows(self, statement: str) -> Iterator[tuple[Any, ...]]:
        while True:
            try:
                rows = self._calls.run(self._connection.fetchmany, ROWS_AT_A_TIME)
            except (duckdb.Error, pa.ArrowException, OSError) as error:
                raise self._failure(error, statement) from error
            if not rows:
                return
            yield from rows

    def _failure(self, error: Exception, statement: str) -> UsageError:
        """Returns the error to raise: one that names the damaged file where a table in the query has one."""
        if isinstance(error, duckdb.OutOfMemoryException):
            return UsageError("the query needs more memory than there is: raise the limit (ulimit -v), or ask for less")
        if isinstance(error, duckdb.InterruptException):
            return UsageError("the query took too long and was stopped: ask for less")
        if not isinstance(error, _WRONG_QUERY):
            try:
                for table in self._named_in(statement):
                    self.dataset.check_files(table)
            except DamagedDatasetError as damaged:
                return damaged
        return UsageError(self._sentence(error))

    def _sentence(self, error: Exception) -> str:
        """Returns the first line of DuckDB's error with a hint: the table that the dataset lacks, or the list of
        tables."""
        first, _, rest = str(error).partition("\n")
        missing = re.search(r"(?:Table|Table Function) with name (\w+) does not exist", first)
        story = missing and self._missing_story(missing[1])
        if story:
            return self._lacks_story(story)
        hint = " ".join(rest.partition("LINE 1:")[0].split())
        message = f"{first.rstrip('.!')}" + (f" ({hint})" if hint else "")
        return f"the query failed: {message}; `kafkascope tables` lists tables and columns"

    def _lacks_story(self, story: str) -> str:
        return f"{self.dataset} has no table stories/{story}: `kafkascope stories {self.dataset}` makes it"

    def _missing_story(self, name: str) -> str | None:
        """Returns the table of the stories that the dataset lacks: the table of the name, or one that the view of the
        name reads."""
        read = below(name)
        needed = (t.name for t in STORY_TABLES if t.name == name or any(saved.names(t.name) for saved in read))
        return next((table for table in needed if not self.has(table)), None)


def _named(table: str) -> str:
    """Returns the name of a table of the dataset in queries."""
    return f"{MESSAGES}.{message_view(table)}" if table.startswith(f"{MESSAGES}/") else table


@cache
def _views_over(table: str) -> tuple[str, ...]:
    """Returns the names by which a query may read the table besides its own."""
    own = message_view(table) if table.startswith(f"{MESSAGES}/") else table
    over = (saved.name for saved in (*views(), *macros()) if any(each.names(own) for each in below(saved.name)))
    return (*([own] if own != table else ()), *over)


def _exact(statement: str, names: list[str], types: list[str], inexact: tuple[str, ...]) -> str | None:
    """Returns the statement with columns of the types `inexact` as text; None where it has none, or its columns have no
    names of their own.
    """
    rounded = [name for name, kind in zip(names, types, strict=True) if kind in inexact]
    if not rounded or len(set(names)) < len(names):
        return None
    as_text = ", ".join(f"cast({_quoted(name)} as varchar) as {_quoted(name)}" for name in rounded)
    return f"select * replace ({as_text}) from ({statement.rstrip().rstrip(';')}\n)"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
