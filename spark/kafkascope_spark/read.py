"""The dataset's tables as DataFrames, with the contract's schema: no job is run to infer one."""

import pathlib

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn
from pyspark.sql import types as t

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.tables import RECORD_BATCHES
from kafkascope_parsers.errors import UsageError
from kafkascope_spark import wire

MOST_LOOKED_THROUGH = 10_000_000
"""Requests whose short columns this process reads in seconds, to spare a job over all of them."""
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


def empty(session: SparkSession, schema: t.StructType) -> DataFrame:
    """A DataFrame of the schema without rows. Spark sees so much while it plans, and drops what would be joined with
    it; one made of a list would have Python workers started for it."""
    columns = ", ".join(f"cast(null as {field.dataType.simpleString()}) as `{field.name}`" for field in schema)
    return session.sql(f"select {columns} where false")


def load_table(session: SparkSession, dataset: pathlib.Path, table: Table) -> DataFrame:
    """The table of the dataset, all buckets together. Raises UsageError when the dataset lacks it."""
    place = dataset / table.name
    if not place.is_dir():
        raise UsageError(f"{dataset} has no table {table.name}: make the dataset again with kafkascope ingest")
    schema = spark_schema(table.schema)
    if next(place.rglob("*.parquet"), None) is None:
        return empty(session, schema)
    return session.read.schema(schema).parquet(str(place)).select(*schema.names)


def load_optional(session: SparkSession, dataset: pathlib.Path, table: Table) -> DataFrame:
    """The same, without rows where the dataset lacks the table."""
    if not (dataset / table.name).is_dir():
        return empty(session, spark_schema(table.schema))
    return load_table(session, dataset, table)


_TERMS = {
    "JoinGroup/request": ("session_timeout_ms", "rebalance_timeout_ms"),
    "ConsumerGroupHeartbeat/response": ("heartbeat_interval_ms",),
    "ShareGroupHeartbeat/response": ("heartbeat_interval_ms",),
    "StreamsGroupHeartbeat/response": ("heartbeat_interval_ms",),
}
"""Messages that tell a group's terms, and by which fields."""


def load_learned(session: SparkSession, dataset: pathlib.Path) -> DataFrame:
    """One row per connection on which something was learned: conn_id; servers, the `host:port` of the brokers that
    Metadata named; producer_ids, of the records written on it; the longest of each of wire.TERMS. Of what the dataset
    has no messages or batches, nothing."""
    told = [_servers_named(session, dataset), _producers(session, dataset)]
    told += [_terms(session, dataset, name, fields) for name, fields in _TERMS.items() if _has(dataset, name)]
    every = told[0]
    for part in told[1:]:
        every = every.unionByName(part, allowMissingColumns=True)
    for name in wire.TERMS:
        if name not in every.columns:
            every = every.withColumn(name, fn.lit(None).cast("int"))
    servers = fn.array_distinct(fn.flatten(fn.collect_list("servers"))).alias("servers")
    producers = fn.array_distinct(fn.flatten(fn.collect_list("producer_ids"))).alias("producer_ids")
    return every.groupBy("conn_id").agg(servers, producers, *(fn.max(name).alias(name) for name in wire.TERMS))


def _has(dataset: pathlib.Path, message: str) -> bool:
    place = dataset / "messages" / message
    return place.is_dir() and next(place.rglob("*.parquet"), None) is not None


def _servers_named(session: SparkSession, dataset: pathlib.Path) -> DataFrame:
    broker = t.StructType([t.StructField("host", t.StringType()), t.StructField("port", t.IntegerType())])
    schema = t.StructType([t.StructField("conn_id", t.StringType()), t.StructField("brokers", t.ArrayType(broker))])
    if not _has(dataset, "Metadata/response"):
        return empty(session, t.StructType([schema["conn_id"], t.StructField("servers", t.ArrayType(t.StringType()))]))
    place = dataset / "messages" / "Metadata" / "response"
    named = session.read.schema(schema).parquet(str(place)).select("conn_id", fn.inline("brokers"))
    server = fn.concat("host", fn.lit(":"), "port")
    return named.groupBy("conn_id").agg(fn.collect_set(server).alias("servers"))


def _producers(session: SparkSession, dataset: pathlib.Path) -> DataFrame:
    """Producer ids in the records that a connection wrote: no client but the one that was given the id has it."""
    columns = ("conn_id", t.StringType()), ("direction", t.StringType()), ("producer_id", t.LongType())
    schema = t.StructType([t.StructField(name, kind) for name, kind in columns])
    place = dataset / RECORD_BATCHES.name
    if not place.is_dir() or next(place.rglob("*.parquet"), None) is None:
        batches = empty(session, schema)
    else:
        batches = session.read.schema(schema).parquet(str(place))
    written = batches.where((fn.col("direction") == "request") & (fn.col("producer_id") >= 0))
    return written.groupBy("conn_id").agg(fn.collect_set("producer_id").alias("producer_ids"))


def _terms(session: SparkSession, dataset: pathlib.Path, message: str, fields: tuple[str, ...]) -> DataFrame:
    columns = [t.StructField("conn_id", t.StringType()), *(t.StructField(f, t.IntegerType()) for f in fields)]
    found = session.read.schema(t.StructType(columns)).parquet(str(dataset / "messages" / message))
    return found.groupBy("conn_id").agg(*(fn.max(f).alias(f) for f in fields))
