"""The dataset's tables as DataFrames, with the contract's schema: no job is run to infer one."""

import pathlib

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_parsers.errors import UsageError

_ATOMS: dict[pa.DataType, t.DataType] = {
    pa.string(): t.StringType(),
    pa.int64(): t.LongType(),
    pa.int32(): t.IntegerType(),
    pa.int16(): t.ShortType(),
    pa.bool_(): t.BooleanType(),
}


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


def load_table(session: SparkSession, dataset: pathlib.Path, table: Table) -> DataFrame:
    """The table of the dataset, all buckets together. Raises UsageError when the dataset lacks it."""
    place = dataset / table.name
    if not place.is_dir():
        raise UsageError(f"{dataset} has no table {table.name}: make the dataset again with kafkascope ingest")
    schema = spark_schema(table.schema)
    if next(place.rglob("*.parquet"), None) is None:
        return session.createDataFrame([], schema)
    return session.read.schema(schema).parquet(str(place)).select(*schema.names)


def load_metadata(session: SparkSession, dataset: pathlib.Path) -> DataFrame:
    """Connection and brokers of each Metadata answer; none where the dataset has no messages."""
    broker = t.StructType([t.StructField("host", t.StringType()), t.StructField("port", t.IntegerType())])
    schema = t.StructType([t.StructField("conn_id", t.StringType()), t.StructField("brokers", t.ArrayType(broker))])
    place = dataset / "messages" / "Metadata" / "response"
    if not place.is_dir() or next(place.rglob("*.parquet"), None) is None:
        return session.createDataFrame([], schema)
    return session.read.schema(schema).parquet(str(place)).select("conn_id", "brokers")
