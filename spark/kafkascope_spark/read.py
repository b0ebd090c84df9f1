"""The dataset's tables as DataFrames, with the contract's schema: no job is run to infer one."""

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t

from kafkascope_analyzer.dataset.contract import CLUSTER
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.selection import cluster_column
from kafkascope_analyzer.dataset.tables import CONNECTIONS

_ATOMS: dict[pa.DataType, t.DataType] = {
    pa.string(): t.StringType(),
    pa.binary(): t.BinaryType(),
    pa.int64(): t.LongType(),
    pa.int32(): t.IntegerType(),
    pa.int16(): t.ShortType(),
    pa.int8(): t.ByteType(),
    pa.bool_(): t.BooleanType(),
}


_VERIFIED = "parquet.page.verify-checksum.enabled"
"""Spark's reader compares the checksums of the pages that it reads."""


def spark_type(arrow: pa.DataType) -> t.DataType:
    """The Spark type of a contract's Arrow type. Raises TypeError for one that the contract does not use."""
    if arrow in _ATOMS:
        return _ATOMS[arrow]
    if pa.types.is_timestamp(arrow):
        return t.TimestampType()
    if pa.types.is_list(arrow):
        return t.ArrayType(spark_type(arrow.value_type))
    if pa.types.is_struct(arrow):
        return t.StructType([t.StructField(f.name, spark_type(f.type)) for f in arrow])
    raise TypeError(f"no Spark type for {arrow}")


def spark_schema(schema: pa.Schema) -> t.StructType:
    """The Spark schema of a contract's Arrow schema; every column may be null."""
    return t.StructType([t.StructField(f.name, spark_type(f.type)) for f in schema])


def empty(session: SparkSession, schema: t.StructType) -> DataFrame:
    """A DataFrame of the schema without rows. Spark sees so much while it plans, and drops what would be joined with
    it; one made of a list would have Python workers started for it."""
    columns = ", ".join(f"cast(null as {field.dataType.simpleString()}) as `{field.name}`" for field in schema)
    return session.sql(f"select {columns} where false")


def load_table(
    session: SparkSession, dataset: Dataset, name: str, schema: t.StructType, folder: str | None = None
) -> DataFrame:
    """A table by its name in the manifest, as `requests` or `stories/clients`, with the columns of the schema; without
    rows where the dataset lacks it. Of a dataset of one cluster (Dataset.of_cluster), its rows. folder: only rows of
    files in one of that name."""
    files = dataset.spark_uris(name, folder)
    if not files:
        return empty(session, schema)
    if dataset.cluster is None:
        return _parquet(session, files, schema)
    names, key = schema.names, cluster_column(name)
    if key is None:
        return _parquet(session, files, schema)
    wider = schema if key in names else t.StructType([*schema, t.StructField(key, t.StringType())])
    rows = _parquet(session, files, wider)
    if key == CLUSTER.name:
        return rows.where(rows[key] == dataset.cluster).select(*names)
    of_cluster = load_table(session, dataset, CONNECTIONS.name, t.StructType([t.StructField(key, t.StringType())]))
    return rows.join(of_cluster, on=key, how="left_semi").select(*names)


def _parquet(session: SparkSession, files: Sequence[str], schema: t.StructType) -> DataFrame:
    return session.read.schema(schema).option(_VERIFIED, "true").parquet(*files)
