"""How story tables get onto disk: by this process where they are small, else by Spark's workers.

Several tables come in one DataFrame, a struct per table, of which the column `table` names the one that is set: so one
job makes them all.
"""

import pathlib
import shutil
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kafkascope_analyzer.dataset.contract import TIMESTAMP, Table
from kafkascope_analyzer.dataset.stories import RECOVERIES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SORTED_BY = {
    "clients": ["client_ip", "client_id", "first_ns", "client_instance_id"],
    "startups": ["start_ns", "startup_id"],
    "startup_steps": ["startup_id", "seq"],
    "cadences": ["client_instance_id", "conn_id", "cadence"],
    "recoveries": ["start_ns", "recovery_id"],
    "recovery_steps": ["recovery_id", "seq"],
    "rebalances": ["start_ns", "group_id", "rebalance_id"],
    "transactions": ["begin_ns", "transactional_id", "transaction_no"],
    "findings": ["first_ns", "rule", "finding_id"],
}


def tag_schema(tables: Sequence[Table]) -> pa.Schema:
    """The schema of tables in one DataFrame."""
    return pa.schema([("table", pa.string()), *((t.name, pa.struct(list(t.schema))) for t in tables)])


def times_of(table: Table) -> list[tuple[str, str]]:
    """The table's `*_ts` columns, each with the `*_ns` column that it is made from."""
    stamps = [c.name for c in table.columns if c.type.equals(TIMESTAMP)]
    return [(name, "ts_ns" if name == "ts" else f"{name[:-3]}_ns") for name in stamps]


def tagged(frames: "Mapping[Table, DataFrame]") -> "DataFrame":
    """The tables in one DataFrame. A frame may lack `*_ts` columns (made from `*_ns`), no others. Lazy."""
    return reduce(
        lambda one, other: one.unionByName(other, allowMissingColumns=True),
        (_tagged(table, frame) for table, frame in frames.items()),
    )


def _tagged(table: Table, frame: "DataFrame") -> "DataFrame":
    from pyspark.sql import functions as fn

    from kafkascope_spark.read import spark_type

    stamps = {ts: fn.timestamp_micros(fn.expr(f"{ns} div 1000")) for ts, ns in times_of(table)}
    columns = [stamps.get(c.name, fn.col(c.name)).cast(spark_type(c.type)).alias(c.name) for c in table.columns]
    return frame.select(fn.lit(table.name).alias("table"), fn.struct(*columns).alias(table.name))


def write_here(told: "DataFrame", tables: Sequence[Table], place: pathlib.Path) -> None:
    """One file a table, written by this process: few enough for its memory, and quicker than a job a table."""
    from kafkascope_spark.recoveries.causes import filled

    rows = told.toArrow()
    for table in tables:
        mine = _flattened(rows.filter(pc.field("table") == table.name)[table.name], table.schema)
        _write_table(table, filled(mine) if table is RECOVERIES else mine, place / table.name)


def _flattened(structs: "pa.ChunkedArray[pa.StructScalar]", schema: pa.Schema) -> pa.Table:
    """A table of the structs' fields, in the contract's types."""
    wide = pa.Table.from_arrays([structs], names=["row"]).flatten()
    return wide.rename_columns([name.removeprefix("row.") for name in wide.column_names]).cast(schema)


def _write_table(table: Table, rows: pa.Table, folder: pathlib.Path) -> None:
    """Replace the folder by one Parquet file of the rows, sorted."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    ordered = rows.sort_by([(c, "ascending") for c in SORTED_BY[table.name]])
    pq.write_table(ordered, folder / "part-0.parquet", compression="zstd")


def write_there(told: "DataFrame", tables: Sequence[Table], place: pathlib.Path) -> None:
    """A file a table and partition, sorted, written by the workers: the dataset has to be where all of them see it.

    The rows wait on the workers' disks meanwhile; this process sees none of them. The tables of clients have a way of
    their own (client_files).
    """
    from pyspark import StorageLevel
    from pyspark.sql import functions as fn

    told = told.persist(StorageLevel.DISK_ONLY)
    try:
        for table in tables:
            mine = told.where(told["table"] == table.name).select(f"{table.name}.*")
            order = [fn.col(c).asc_nulls_last() for c in SORTED_BY[table.name]]
            ordered = mine.sortWithinPartitions(*order)
            ordered.write.mode("overwrite").parquet(str((place / table.name).absolute()))
    finally:
        told.unpersist()
