"""Tables of a dataset in the form of a lakehouse: together with those of other captures, partitioned by day and bucket.

Each row has three further columns. `source` identifies its dataset by the contents of its captures; `date` is the day
(UTC) of the row's own time; `bucket` is a hash of its cluster and client. A capture's rows are in the lake only once: a
dataset replaces the lake's rows of the same captures, so that an export may be repeated, and a dataset that has grown
(`--append`) brings the whole story of an incident that was open before. Messages and `events` stay in the dataset.

A Lake writes the tables, `sources` last, so that the next run repairs an interrupted one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Protocol
from zlib import crc32

import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.dataset.contract import Column, Table, i64, text
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.tables import EVENTS, INGEST_TABLES
from kafkascope_analyzer.report.formatting import safe
from kafkascope_parsers.errors import UsageError
from kafkascope_spark.stories.tables import STORY_TABLES

N_BUCKETS = 16
ROWS_AT_A_TIME = 500_000
SOURCE, DATE, BUCKET = "source", "date", "bucket"
PARTITIONS = (DATE, BUCKET)
SOURCES = "sources"
_LAKE_COLUMNS = (
    text(SOURCE, "dataset that it is from: the same for the same captures"),
    Column(DATE, pa.date32(), "day of its time (UTC); that of the capture's begin where it has none"),
    Column(BUCKET, pa.int32(), f"hash of its cluster and client, 0 to {N_BUCKETS - 1}"),
)
_SOURCES = Table(
    SOURCES,
    "capture of a dataset that is in the lake",
    (
        text("capture", "the capture, by its contents"),
        text("path", "file name as given"),
        i64("size_bytes", "its size"),
    ),
)
_TIMES = ("ts", "first_ts", "start_ts", "from_ts", "begin_ts", "down_ts")
_CLIENTS = ("client_ip", "client_instance_id", "conn_id")
"""Candidates for the column of a row's time, and for that of its client: the first that a table has."""


@dataclass(frozen=True, slots=True)
class LakeTable:
    """A table for a lake. schema: with a description (`comment`, `doc`) in each field's metadata."""

    name: str
    comment: str
    schema: pa.Schema
    dataset: Dataset
    table: Table
    source: str

    def chunks(self) -> Iterator[pa.Table]:
        """Yields the rows, at most about ROWS_AT_A_TIME at once. Raises UsageError where a file cannot be read."""
        gathered: list[pa.Table] = []
        for batch in self._batches():
            gathered.append(self._with_lake_columns(pa.Table.from_batches([batch])))
            if sum(map(len, gathered)) >= ROWS_AT_A_TIME:
                yield pa.concat_tables(gathered)
                gathered = []
        if gathered:
            yield pa.concat_tables(gathered)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        if self.table is not _SOURCES:
            yield from self.dataset.batches(self.table)
            return
        inputs = self.dataset.manifest.inputs
        columns = [
            _captures(self.dataset),
            [entry["path"] for entry in inputs],
            [entry["size_bytes"] for entry in inputs],
        ]
        yield pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=_SOURCES.schema)

    def _with_lake_columns(self, rows: pa.Table) -> pa.Table:
        added = [pa.array([self.source] * len(rows)), _days(rows, self.dataset), _buckets(rows)]
        arrays = [*added, *(rows[name] for name in rows.column_names)]
        names = [SOURCE, DATE, BUCKET, *rows.column_names]
        return pa.Table.from_arrays(arrays, names=names).select(self.schema.names).cast(self.schema)


class Lake(Protocol):
    """Tables of a lakehouse."""

    def captures(self) -> list[tuple[str, str]]:
        """Returns (source, capture) of all datasets in the lake."""
        ...

    def write(self, table: LakeTable, replaced: Sequence[str]) -> None:
        """Replaces the rows of the replaced sources by new ones, in one commit; creates the table if it
        does not exist."""
        ...


def export_to(lake: Lake, dataset: Dataset) -> list[str]:
    """Writes all tables; returns their names. Raises UsageError, also where a source in the lake has a capture of the
    dataset together with others that the dataset lacks: their rows would be lost."""
    captures = set(_captures(dataset))
    if not captures:
        raise UsageError(f"{dataset}: it does not say of which captures it was made: analyze them again")
    source = sha256("\n".join(sorted(captures)).encode()).hexdigest()[:16]
    of_source: dict[str, set[str]] = {}
    for known, capture in lake.captures():
        of_source.setdefault(known, set()).add(capture)
    replaced = sorted(known for known, found in of_source.items() if found & captures)
    if any(of_source[known] - captures for known in replaced):
        raise UsageError(
            f"{dataset}: the lake has one of its captures in a dataset of more captures; export a dataset of them all"
        )
    tables = [*INGEST_TABLES, *STORY_TABLES]
    written = [table for table in tables if dataset.has(table.stored_as) and table is not EVENTS]
    for table in (*written, _SOURCES):
        lake.write(_lake_table(table, dataset, source), [*replaced, source])
    return [table.name for table in written]


def _lake_table(table: Table, dataset: Dataset, source: str) -> LakeTable:
    columns = [*_LAKE_COLUMNS, *table.columns]
    schema = pa.schema([_field(column) for column in columns])
    return LakeTable(table.name, f"One row per {table.row}.", schema, dataset, table, source)


def _field(column: Column) -> pa.Field:
    """Returns a nullable field, in a type that lakehouses have, with the column's description where Delta and Iceberg
    look for it."""
    return pa.field(column.name, _type(column.type), metadata={"comment": column.doc, "doc": column.doc})


def _type(kind: pa.DataType) -> pa.DataType:
    """Returns the type without 8 and 16 bit integers, and without dictionaries."""
    if pa.types.is_dictionary(kind):
        return _type(kind.value_type)
    if pa.types.is_list(kind):
        return pa.list_(_type(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, _type(field.type)) for field in kind])
    return pa.int32() if kind in (pa.int8(), pa.int16()) else kind


def _captures(dataset: Dataset) -> list[str]:
    """Returns the captures, identified by their contents."""
    return [f"{entry['sha256_first_and_last_mib']}-{entry['size_bytes']}" for entry in dataset.manifest.inputs]


def _days(rows: pa.Table, dataset: Dataset) -> pa.Array:
    begin_ns, _ = dataset.capture_span or (0, 0)
    first = pa.scalar(datetime.fromtimestamp(begin_ns // 10**9, UTC).date(), pa.date32())
    column = next((name for name in _TIMES if name in rows.column_names), None)
    if column is None:
        return pa.array([first.as_py()] * len(rows), pa.date32())
    return pc.fill_null(pc.cast(rows[column].combine_chunks(), pa.date32()), first)


def _buckets(rows: pa.Table) -> pa.Array:
    column = next((name for name in _CLIENTS if name in rows.column_names), None)
    if column is None:
        return pa.array([0] * len(rows), pa.int32())
    clusters = rows["cluster"].to_pylist() if "cluster" in rows.column_names else [""] * len(rows)
    keys = zip(clusters, rows[column].to_pylist(), strict=True)
    return pa.array([crc32(f"{cluster}|{client}".encode()) % N_BUCKETS for cluster, client in keys], pa.int32())


def quoted_list(sources: Sequence[str]) -> str:
    """Returns sources as an SQL list: they are hexadecimal digits."""
    return ", ".join(f"'{safe(source)}'" for source in sources if source.isalnum())
