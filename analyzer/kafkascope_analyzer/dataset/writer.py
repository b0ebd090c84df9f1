"""Writes the tables of a dataset as Parquet, checked against the contract."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kafkascope_analyzer.dataset.parquet_files import MADE_OF, TIMES, WRITE_OPTIONS, write_parquet
from kafkascope_analyzer.dataset.table_place import UNDATED, TablePlace, rows_by_day

ROW_GROUP_ROWS = 250_000
"""Most rows in a row group, which a reader has to hold at once."""
ROW_GROUP_BYTES = 32 << 20
"""Most bytes collected for a row group: there is a writer per API and direction, and all of them are open at once."""
MOST_OPEN = 16
"""Most files of a table that are open at a time, each for a day: rows come in the order of time, with few
exceptions."""
MOST_DAYS = 4096
"""Most days that have a folder: captures are no longer than ten years, but packets may have any recorded time."""
_STATISTICS = frozenset({"cluster", "client_ip", "conn_id", "ts", "ts_ns", "api_key", "error_code", "status"})
"""Columns with the smallest and greatest value of each row group, for skipping; for all columns that would take an
eighth more time."""
_FEW_VALUES = ("n_batches", "n_records")
_RISING = re.compile(r"(?:^|_)packet_no$|_timestamp_ms$|^record_bytes$")
"""Columns that are stored as the differences between consecutive rows: that takes less space than zstd-compressed
values (a half for packet numbers, two thirds for times of records), and half the time. For times of packets it takes
more space in some captures, and more time."""
_BATCH_ROWS = 65_536
"""Rows encoded at a time: pyarrow's overhead per batch and column exceeds a twentieth with a quarter of them."""
_LONG_PAGES = (
    {"max_rows_per_page": ROW_GROUP_ROWS} if "max_rows_per_page" in signature(pq.ParquetWriter).parameters else {}
)
"""Options for pages as long as their bytes allow, because a compressor is set up for each page. Before pages had a
limit of rows, Arrow's were that long."""
_BUFFER_BYTES = 1 << 16
"""Bytes of a file that are written at a time. Arrow writes the pages of each column and the fields of the footer one by
one, some hundred times for a file of a few rows."""
_COMPRESSION_LEVEL = 1
"""zstd level: higher ones take much more time and save little."""


class RowGroup(NamedTuple):
    """Most rows and bytes that are collected for a row group."""

    rows: int = ROW_GROUP_ROWS
    bytes: int = ROW_GROUP_BYTES


_WHOLE_GROUPS = RowGroup()


class TableWriter:
    """The files of a table that one bucket has: one for each day of the rows' own times (ts_ns), or one where the table
    has none. Rows are collected into row groups. A file is created with its first row. Each has the metadata of the
    schema. made_of: as in DatasetFile.

    Raises ValueError when a batch does not have the schema (a defect of the caller, not of the input).
    """

    def __init__(
        self,
        place: TablePlace,
        schema: pa.Schema,
        *,
        sort_by: tuple[str, ...] = (),
        group: RowGroup = _WHOLE_GROUPS,
        made_of: Sequence[str] = (),
    ) -> None:
        self._place, self._schema, self._group = place, schema, group
        self._options = _FileOptions(sort_by, group, list(made_of), schema.metadata or {})
        self._is_by_day = place.by_day and "ts_ns" in schema.names
        self._files: dict[str, _DayFile] = {}
        self._n_begun = Counter[str]()
        self.pending_bytes = 0
        self.n_rows = 0
        """Number of rows that were given, whether they are in a file yet or not."""

    def write(self, table: pa.Table) -> None:
        """Takes rows in the table's schema; texts may be dictionary-encoded, the same ones in all batches."""
        plain = _plain(table.schema)
        if not plain.equals(self._schema):
            wrong = _differences(plain, self._schema)
            raise ValueError(f"{self._place.folder.name}: rows do not have the contract's columns: {wrong}")
        for start in range(0, table.num_rows, self._group.rows):
            self._gather(table.slice(start, self._group.rows))

    def _gather(self, table: pa.Table) -> None:
        """Takes at most as many rows as a row group has."""
        for day, rows in rows_by_day(table) if self._is_by_day else [("", table)]:
            self._file_of(day).gather(rows)
        self.n_rows += table.num_rows
        self.pending_bytes += table.get_total_buffer_size()
        n_pending = sum(file.n_pending for file in self._files.values())
        if n_pending >= self._group.rows or self.pending_bytes >= self._group.bytes:
            self.flush()

    def _file_of(self, day: str) -> "_DayFile":
        """Returns the open file of a day; where there are MOST_OPEN, the least recently used one is closed."""
        if len(self._n_begun) >= MOST_DAYS and day not in self._n_begun:
            day = UNDATED
        if day not in self._files:
            if len(self._files) == MOST_OPEN:
                self._files.pop(next(iter(self._files))).close()
            self._files[day] = _DayFile(self._place.file(day, self._n_begun[day]), self._options)
            self._n_begun[day] += 1
        self._files[day] = self._files.pop(day)  # the last one
        return self._files[day]

    def flush(self) -> None:
        """Writes the collected rows, as a row group of each file."""
        for file in self._files.values():
            file.flush()
        self.pending_bytes = 0

    def close(self) -> None:
        """Writes what is pending and ends the files."""
        for file in self._files.values():
            file.close()
        self._files = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        for file in self._files.values():
            file.abort()


@dataclass(frozen=True, slots=True)
class _FileOptions:
    """The common options of all files of a table."""

    sort_by: tuple[str, ...]
    group: RowGroup
    made_of: list[str]
    about: Mapping[bytes, bytes]
    """The metadata of the schema. Where files are joined, the schema also has metadata about one of them (MADE_OF,
    TIMES), which the new file does not take over."""


class _DayFile:
    """One file."""

    def __init__(self, path: Path, options: _FileOptions) -> None:
        self._path, self._options = path, options
        self._pending: list[pa.Table] = []
        self._times: tuple[int, int] | None = None
        self._writer: pq.ParquetWriter | None = None
        self._open = ExitStack()
        self.n_pending = 0

    def gather(self, rows: pa.Table) -> None:
        """Takes rows."""
        self._pending.append(rows)
        self.n_pending += rows.num_rows

    def flush(self) -> None:
        """Writes the collected rows as a row group."""
        if not self.n_pending:
            return
        table = pa.concat_tables(self._pending).unify_dictionaries()
        self._pending, self.n_pending = [], 0
        if self._options.sort_by:
            table = _sorted(table, self._options.sort_by)
        if self._writer is None:
            self._writer = self._begun(table.schema)
        self._writer.write_table(table, row_group_size=self._options.group.rows)
        self._note_times(table)

    def _begun(self, schema: pa.Schema) -> pq.ParquetWriter:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        file = self._open.enter_context(pa.BufferedOutputStream(pa.OSFile(str(self._path), "wb"), _BUFFER_BYTES))
        writer = pq.ParquetWriter(
            file,
            schema.remove_metadata(),  # rows of a joined file carry its metadata
            compression_level=_COMPRESSION_LEVEL,
            use_dictionary=_repeating(schema),
            write_statistics=[name for name in schema.names if name in _STATISTICS],
            column_encoding={name: "DELTA_BINARY_PACKED" for name in schema.names if _RISING.search(name)},
            write_batch_size=_BATCH_ROWS,
            **WRITE_OPTIONS,
            **_LONG_PAGES,
        )
        return self._open.enter_context(writer)

    def _note_times(self, table: pa.Table) -> None:
        if "ts_ns" in table.schema.names and not table["ts_ns"].null_count:
            ends = pc.min_max(table["ts_ns"])
            known = self._times or (ends["min"].as_py(), ends["max"].as_py())
            self._times = min(known[0], ends["min"].as_py()), max(known[1], ends["max"].as_py())

    def close(self) -> None:
        """Writes what is pending and ends the file."""
        self.flush()
        if self._writer is not None:
            own = {MADE_OF: self._options.made_of, TIMES: self._times}
            notes = {key: note for key, note in self._options.about.items() if key not in own}
            notes |= {key: json.dumps(note).encode() for key, note in own.items() if note}
            self._writer.add_key_value_metadata(notes)
        self.abort()

    def abort(self) -> None:
        """Closes the file in its current state."""
        self._open.close()
        self._writer = None


def _sorted(table: pa.Table, by: tuple[str, ...]) -> pa.Table:
    """Returns the rows sorted by these columns. A column of nulls is left unsorted: its fields share one buffer, of
    which each would get a copy; rows of `events` have one struct, and two dozen columns of nulls. That the order is
    within the table need not be checked, which takes a fifth of the time."""
    order = pc.sort_indices(table, [(name, "ascending") for name in by])
    columns = [
        column if column.null_count == len(column) else pc.take(column, order, boundscheck=False)
        for column in table.columns
    ]
    return pa.table(columns, schema=table.schema)


def _plain(schema: pa.Schema) -> pa.Schema:
    """Returns the schema with plain texts in place of dictionary-encoded ones."""
    return pa.schema([f.with_type(f.type.value_type) if pa.types.is_dictionary(f.type) else f for f in schema])


def _repeating(schema: pa.Schema) -> list[str]:
    """Returns the columns that a dictionary makes smaller: texts, except ids that never repeat, and numbers with few
    distinct values. For other numbers it costs more."""
    texts = [field.name for field in schema if pa.types.is_string(field.type) and field.name != "request_id"]
    texts += [name for name in _FEW_VALUES if name in schema.names]
    return texts + [field.name for field in schema if pa.types.is_dictionary(field.type)]


def write_empty(place: TablePlace, schema: pa.Schema) -> None:
    """Writes a file without rows, so that an empty table can still be read."""
    path = place.file("")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_parquet(schema.empty_table(), path)


def _differences(got: pa.Schema, want: pa.Schema) -> str:
    """Returns the names of the columns that are missing, extra or of another type."""
    types = {f.name: f.type for f in got}
    wrong = [f"{f.name} is {types.get(f.name)}, not {f.type}" for f in want if types.get(f.name) != f.type]
    extra = [name for name in types if name not in want.names]
    return "; ".join(wrong + [f"{name} is extra" for name in extra]) or "another order"
