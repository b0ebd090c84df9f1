"""Loads the tables of a dataset as DataFrames with their declared schemas, so that no job has to infer one."""

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
"""Setting with which Spark's reader verifies the checksums of pages."""


def spark_type(arrow: pa.DataType) -> t.DataType:
    """Returns the Spark type of an Arrow type. Raises TypeError for types that no table uses."""
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
    """Returns the Spark schema of an Arrow schema; every column may be null."""
    return t.StructType([t.StructField(f.name, spark_type(f.type)) for f in schema])


def empty(session: SparkSession, schema: t.StructType) -> DataFrame:
    """Returns a DataFrame of the schema without rows. It is made by SQL, so that Spark knows at planning that it is
    empty and drops joins with it; one made from a list would start Python workers."""
    columns = ", ".join(f"cast(null as {field.dataType.simpleString()}) as `{field.name}`" for field in schema)
    return session.sql(f"select {columns} where false")


def load_table(
    session: SparkSession, dataset: Dataset, name: str, schema: t.StructType, folder: str | None = None
) -> DataFrame:
    """Loads a table by its name in the manifest, such as `requests` or `stories/clients`, with the columns of the
    schema; without rows if the dataset lacks it. If the dataset is limited to one cluster (Dataset.of_cluster), only
    rows of that cluster. folder: if given, only rows of files in folders of that name."""
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
