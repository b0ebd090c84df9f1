"""Writes the tables of a dataset as Parquet, checked against the contract."""

import json
from collections.abc import Sequence
from inspect import signature
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kafkascope_analyzer.dataset.parquet_files import MADE_OF, WRITE_OPTIONS

ROW_GROUP_ROWS = 250_000
"""Most rows in a row group: what a reader has to hold at once."""
ROW_GROUP_BYTES = 32 << 20
"""Most bytes gathered for a row group: there is a writer per API and direction, and all of them are open at once."""
_STATISTICS = frozenset({"cluster", "client_ip", "conn_id", "ts", "ts_ns", "api_key", "error_code"})
"""Columns with the least and greatest value of each row group, to skip by; counting them for all costs an eighth."""
_FEW_VALUES = ("n_batches", "n_records")
_BATCH_ROWS = 16_384
"""Rows encoded at a time."""
_LONG_PAGES = (
    {"max_rows_per_page": ROW_GROUP_ROWS} if "max_rows_per_page" in signature(pq.ParquetWriter).parameters else {}
)
"""Pages as long as their bytes allow: a compressor is set up for each. Before they had this limit, Arrow's were so."""
_COMPRESSION_LEVEL = 1
"""zstd level: higher ones cost more time than ingest has and save little."""


class RowGroup(NamedTuple):
    """Most rows and bytes gathered for a row group."""

    rows: int = ROW_GROUP_ROWS
    bytes: int = ROW_GROUP_BYTES


_WHOLE_GROUPS = RowGroup()


class TableWriter:
    """One Parquet file of a table; rows are gathered into row groups. The file appears with the first row. made_of: as
    of DatasetFile.

    Raises ValueError when a batch does not have the schema (a defect of the caller, not of the input).
    """

    def __init__(
        self,
        path: Path,
        schema: pa.Schema,
        *,
        sort_by: tuple[str, ...] = (),
        group: RowGroup = _WHOLE_GROUPS,
        made_of: Sequence[str] = (),
    ) -> None:
        self._path, self._schema, self._sort_by, self._group = path, schema, sort_by, group
        self._made_of = list(made_of)
        self._pending: list[pa.Table] = []
        self._pending_rows = self.pending_bytes = 0
        self._writer: pq.ParquetWriter | None = None
        self.n_rows = 0

    @property
    def n_taken(self) -> int:
        """Rows that were given, whether they are in the file yet or not."""
        return self.n_rows + self._pending_rows

    def write(self, table: pa.Table) -> None:
        """Takes rows in the table's schema; texts may be coded by a dictionary, the same ones in all batches."""
        plain = _plain(table.schema)
        if not plain.equals(self._schema):
            wrong = _differences(plain, self._schema)
            raise ValueError(f"{self._path.parent.name}: rows do not have the contract's columns: {wrong}")
        for start in range(0, table.num_rows, self._group.rows):
            self._gather(table.slice(start, self._group.rows))

    def _gather(self, table: pa.Table) -> None:
        """Takes at most as many rows as a row group has."""
        self._pending.append(table)
        self._pending_rows += table.num_rows
        self.pending_bytes += table.get_total_buffer_size()
        if self._pending_rows >= self._group.rows or self.pending_bytes >= self._group.bytes:
            self.flush()

    def flush(self) -> None:
        """Writes what was gathered as a row group."""
        if not self._pending_rows:
            return
        table = pa.concat_tables(self._pending)
        self._pending, self._pending_rows, self.pending_bytes = [], 0, 0
        table = table.unify_dictionaries()
        if self._sort_by:
            table = _sorted(table, self._sort_by)
        if self._writer is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = pq.ParquetWriter(
                self._path,
                table.schema,
                compression_level=_COMPRESSION_LEVEL,
                use_dictionary=_repeating(table.schema),
                write_statistics=[name for name in self._schema.names if name in _STATISTICS],
                write_batch_size=_BATCH_ROWS,
                **WRITE_OPTIONS,
                **_LONG_PAGES,
            )
        self._writer.write_table(table, row_group_size=self._group.rows)
        self.n_rows += table.num_rows

    def close(self) -> None:
        """Writes what is pending and ends the file."""
        self.flush()
        if self._writer is not None:
            if self._made_of:
                self._writer.add_key_value_metadata({MADE_OF: json.dumps(self._made_of).encode()})
            self._writer.close()
            self._writer = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        elif self._writer is not None:
            self._writer.close()


def _sorted(table: pa.Table, by: tuple[str, ...]) -> pa.Table:
    """The rows sorted by these columns. A column of nulls stays as it is: its fields share one buffer, of which each
    would get a copy; rows of `events` have one struct, and two dozen columns of nulls."""
    order = pc.sort_indices(table, [(name, "ascending") for name in by])
    columns = [column if column.null_count == len(column) else column.take(order) for column in table.columns]
    return pa.table(columns, schema=table.schema)


def _plain(schema: pa.Schema) -> pa.Schema:
    """The schema with texts for dictionary-coded texts."""
    return pa.schema([f.with_type(f.type.value_type) if pa.types.is_dictionary(f.type) else f for f in schema])


def _repeating(schema: pa.Schema) -> list[str]:
    """Columns that a dictionary makes smaller: texts, but for ids that never repeat, and numbers that are nearly all
    the same few. On other numbers it costs more."""
    texts = [field.name for field in schema if pa.types.is_string(field.type) and field.name != "request_id"]
    texts += [name for name in _FEW_VALUES if name in schema.names]
    return texts + [field.name for field in schema if pa.types.is_dictionary(field.type)]


def write_empty(path: Path, schema: pa.Schema) -> None:
    """Writes a file without rows, so that a table that nothing fell into can still be read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(schema.empty_table(), path, **WRITE_OPTIONS)


def _differences(got: pa.Schema, want: pa.Schema) -> str:
    """Names of the columns that are missing, extra or of another type."""
    types = {f.name: f.type for f in got}
    wrong = [f"{f.name} is {types.get(f.name)}, not {f.type}" for f in want if types.get(f.name) != f.type]
    extra = [name for name in types if name not in want.names]
    return "; ".join(wrong + [f"{name} is extra" for name in extra]) or "another order"
