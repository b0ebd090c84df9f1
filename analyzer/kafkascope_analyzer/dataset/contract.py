"""The declaration of a dataset: the classes with which its tables are declared, and all tables together.

The writer checks against these declarations, Spark reads with them, the reference page is made from them. Conventions:
`ts` is timestamp[us, UTC] with `ts_ns` int64 beside it (Spark cannot read Parquet nanoseconds); durations carry their
unit in the name; no uint64, no timestamp[ns], no Arrow uuid.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa

SCHEMA_VERSION = 17
TIMESTAMP = pa.timestamp("us", tz="UTC")
STRINGS = pa.list_(pa.string())
ROW, COLUMNS = b"kafkascope.row", b"kafkascope.columns"
"""Keys in a file's footer: the description of a row of the table, and the description of each column (JSON)."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, Arrow type, and description in one sentence (with the unit where there is one)."""

    name: str
    type: pa.DataType
    doc: str
    values: tuple[str, ...] = ()
    """The closed list of an enumeration; empty where any value may occur."""
    required: bool = False
    """Whether every row has a value: then Parquet stores no nulls for it."""
    fields: tuple["Column", ...] = ()
    """The fields of a struct, or of the structs of a list, where a class declares them; their descriptions may be
    empty."""

    @property
    def field(self) -> pa.Field:
        """The Arrow field."""
        return pa.field(self.name, self.type, nullable=not self.required)


@dataclass(frozen=True)
class Table:
    """A table: its name, a description of one row, and its columns in order."""

    name: str
    row: str
    columns: tuple[Column, ...]
    folder: str = ""
    """The folder of the dataset that contains the table's folder; empty for none."""
    sorted_by: tuple[str, ...] = ()
    """The columns by which the files of a story table are sorted, after the cluster."""
    salted: tuple[str, ...] = ()
    """The id columns of a story table whose ids are made of names and times, which two clusters may have in common:
    these ids hash the cluster too where a dataset has several. All other ids hash the id of a connection."""

    @cached_property
    def schema(self) -> pa.Schema:
        """The Arrow schema, without metadata."""
        return pa.schema([c.field for c in self.columns])

    @property
    def described_schema(self) -> pa.Schema:
        """The Arrow schema of its files: the schema, with descriptions of rows and columns as metadata."""
        return self.schema.with_metadata(sentences(self.row, self.columns))

    @property
    def stored_as(self) -> str:
        """The name of the table in the manifest, and its directory: `requests`, `stories/clients`."""
        return f"{self.folder}/{self.name}" if self.folder else self.name

    def column(self, name: str) -> Column:
        """Returns the column of that name. Raises KeyError."""
        return next_or_key_error(self.columns, name)


def sentences(row: str, columns: Sequence[Column]) -> dict[bytes, bytes]:
    """Returns the descriptions of rows and columns of a table, as the metadata of its files."""
    return {ROW: row.encode(), COLUMNS: json.dumps({column.name: column.doc for column in columns}).encode()}


def next_or_key_error(columns: tuple[Column, ...], name: str) -> Column:
    """Returns the column of that name among columns. Raises KeyError."""
    for column in columns:
        if column.name == name:
            return column
    raise KeyError(name)


def text(name: str, doc: str, *values: str) -> Column:
    """Declares a string column; values, if given, is the closed list of an enumeration."""
    return Column(name, pa.string(), doc, values)


def texts(name: str, doc: str, *values: str) -> Column:
    """Declares a column of lists of strings."""
    return Column(name, STRINGS, doc, values)


def i64(name: str, doc: str) -> Column:
    """Declares a column of 64-bit integers."""
    return Column(name, pa.int64(), doc)


def i32(name: str, doc: str) -> Column:
    """Declares a column of 32-bit integers."""
    return Column(name, pa.int32(), doc)


def i16(name: str, doc: str) -> Column:
    """Declares a column of 16-bit integers."""
    return Column(name, pa.int16(), doc)


def flag(name: str, doc: str) -> Column:
    """Declares a boolean column."""
    return Column(name, pa.bool_(), doc)


def time(prefix: str, doc: str) -> tuple[Column, Column]:
    """Declares the two columns of a time: `prefix_ts` (or `ts`) in microseconds and `prefix_ns` (or `ts_ns`) in
    nanoseconds since the epoch.
    """
    stem, ns = (f"{prefix}_ts", f"{prefix}_ns") if prefix else ("ts", "ts_ns")
    return Column(stem, TIMESTAMP, doc), Column(ns, pa.int64(), f"{doc} (nanoseconds since the epoch)")


def required(*columns: Column) -> tuple[Column, ...]:
    """Returns the columns, declared to have a value in every row."""
    return tuple(replace(column, required=True) for column in columns)


(CLUSTER,) = required(
    text("cluster", "cluster it belongs to: the cluster id, or an address that stands for it (see `clusters`)")
)
"""The cluster column, which most tables have."""
