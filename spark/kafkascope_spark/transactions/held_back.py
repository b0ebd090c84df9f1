"""Where read_committed consumers are held back: Fetch answers whose last stable offset does not move while the high
watermark does.

The last stable offset is the first offset of the oldest transaction that is open on the partition (KIP-98,
org.apache.kafka.storage.internals.log.UnifiedLog): the transaction whose first batch there has that offset holds
everybody who reads committed data.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from kafkascope_analyzer.dataset.tables import PARTITIONS
from kafkascope_spark import wire
from kafkascope_spark.tables import Tables

READ_COMMITTED = 1
MOST_CONSUMERS = 100
"""Stretches kept of one last stable offset: enough to see who waits, whatever the size of the group."""
SHORTEST_UNSEEN_NS = 10_000_000_000
"""A transaction of which the capture shows no request is told when it held somebody back for so long: brokers look
every 10 s for transactions whose timeout is over (transaction.abort.timed.out.transaction.cleanup.interval.ms)."""
WHERE = ("topic", "partition", "offset")


def held_back(tables: Tables) -> DataFrame:
    """topic, partition, offset (the last stable offset), held_back: list of its stretches, one per consumer, as the
    table transactions has them. Lazy."""
    fetches = tables.messages("Fetch/request", "conn_id string, isolation_level tinyint")
    committed = fetches.groupBy("conn_id").agg(fn.max("isolation_level").alias("isolation"))
    readers = committed.where(fn.col("isolation") == READ_COMMITTED).join(tables.owners(), on="conn_id", how="left")
    behind = fn.col("high_watermark") > fn.col("last_stable_offset")
    answers = with_topic(tables[PARTITIONS]).where(
        (fn.col("api_key") == wire.FETCH)
        & (fn.col("direction") == "response")
        & (fn.col("last_stable_offset") >= 0)
        & behind
    )
    stretches = (
        answers.join(fn.broadcast(readers) if tables.small else readers, on="conn_id", how="inner")
        .groupBy("client_instance_id", "topic", "partition", fn.col("last_stable_offset").alias("offset"))
        .agg(
            fn.min("ts_ns").alias("from_ns"),
            fn.max("ts_ns").alias("until_ns"),
            fn.min("high_watermark").alias("low"),
            fn.max("high_watermark").alias("high"),
            fn.max_by("request_id", fn.struct("ts_ns", "request_id")).alias("request_id"),
        )
        .where(fn.col("high") > fn.col("low"))
    )
    stretch = fn.struct(
        fn.col("from_ns"),
        "client_instance_id",
        fn.concat_ws("-", "topic", "partition").alias("partition"),
        fn.col("offset").alias("last_stable_offset"),
        "until_ns",
        (fn.col("high") - fn.col("offset")).alias("records"),
        "request_id",
    )
    together = fn.slice(fn.array_sort(fn.collect_list(stretch)), 1, MOST_CONSUMERS)
    return stretches.groupBy(*WHERE).agg(together.alias("held_back"))


def with_topic(partitions: DataFrame) -> DataFrame:
    """The topic's id stands for a name that the capture does not tell. Lazy."""
    return partitions.withColumn("topic", fn.coalesce("topic", "topic_id", fn.lit("?")))


def is_long() -> Column:
    """Whether one of the stretches in held_back is long enough to tell of an unseen transaction."""
    return fn.exists("held_back", lambda one: one["until_ns"] - one["from_ns"] >= SHORTEST_UNSEEN_NS)
