"""Which addresses have a storm of errors, and which topic-partitions theirs are about."""

import pathlib
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.tables import ERRORS

STORM_ERRORS = 50_000
"""From so many errors of one address on its events are read apart."""
READ_ROWS = 8_192
"""Rows that are read at a time."""
BUFFER_BYTES = 1 << 16
"""What is read of a column at a time."""
NAMED = ["topic", "partition"]


@dataclass(frozen=True, slots=True)
class Storm:
    """The addresses of clients with so many errors. broken: topic and partition (null: the whole topic) that their
    errors name, each once; packs: the folder where packs are meanwhile, which all workers see."""

    dataset: pathlib.Path
    addresses: tuple[str, ...]
    broken: pa.Table
    packs: pathlib.Path

    @property
    def is_mine(self) -> pc.Expression:
        """Whether a row, by its column client_ip, is one of theirs."""
        return pc.field("client_ip").isin(list(self.addresses))


def storm_of(dataset: pathlib.Path, least: int = STORM_ERRORS) -> Storm | None:
    """The storm in the dataset, by its tables; None where no address has so many errors."""
    addresses = storming(dataset, least)
    if not addresses:
        return None
    found = Storm(dataset.absolute(), addresses, broken_by(dataset, addresses), packs_of(dataset).absolute())
    pa.default_memory_pool().release_unused()
    return found


def packs_of(dataset: pathlib.Path) -> pathlib.Path:
    """Where packs are while the stories are made."""
    return dataset / "stories" / "_packs"


def storming(dataset: pathlib.Path, least: int) -> tuple[str, ...]:
    """Addresses of clients with so many errors."""
    files = files_of(dataset, ERRORS)
    if sum(pq.read_metadata(path).num_rows for path in files) < least:
        return ()
    found: dict[str, int] = {}
    for path in files:
        for batch in scanned(path, ERRORS, ["client_ip"], None):
            for one in pc.value_counts(batch.column(0)).to_pylist():
                if one["values"] is not None:
                    found[one["values"]] = found.get(one["values"], 0) + one["counts"]
    return tuple(sorted(address for address, n in found.items() if n >= least))


def broken_by(dataset: pathlib.Path, addresses: tuple[str, ...]) -> pa.Table:
    """Topic and partition that errors of these addresses name, each once."""
    which = pc.field("client_ip").isin(list(addresses)) & pc.is_valid(pc.field("topic"))
    found = pa.schema([ERRORS.schema.field(name) for name in NAMED]).empty_table()
    for path in files_of(dataset, ERRORS):
        for batch in scanned(path, ERRORS, ["client_ip", *NAMED], which):
            more = pa.concat_tables([found, pa.Table.from_batches([batch.select(NAMED)])])
            found = more.group_by(NAMED).aggregate([]).select(NAMED)
    return found


def files_of(dataset: pathlib.Path, table: Table) -> list[pathlib.Path]:
    """The table's files, all buckets together; none where the dataset lacks it."""
    return sorted((dataset / table.name).rglob("*.parquet"))


def scanned(
    path: pathlib.Path, table: Table, columns: list[str], which: pc.Expression | None
) -> Iterator[pa.RecordBatch]:
    """Rows of a table's file, some at a time, with these columns of the contract, `which` is about some of them: null
    where the file lacks one. A pyarrow dataset would hold five times as much."""
    schema = pa.schema([table.schema.field(name).with_nullable(True) for name in dict.fromkeys(columns)])
    with pq.ParquetFile(path, pre_buffer=False, buffer_size=BUFFER_BYTES) as file:
        there = [name for name in schema.names if name in file.schema_arrow.names]
        for batch in file.iter_batches(READ_ROWS, columns=there, use_threads=False):
            rows = pa.RecordBatch.from_arrays([_column(batch, field) for field in schema], schema=schema)
            yield rows if which is None else rows.filter(which)


def _column(batch: pa.RecordBatch, field: pa.Field) -> pa.Array:
    if field.name not in batch.schema.names:
        return pa.nulls(batch.num_rows, field.type)
    return batch.column(field.name).cast(field.type)
