"""What transactional producers wrote, rolled up: one row per client and stretch between two bounds (InitProducerId,
EndTxn, WriteTxnMarkers) of its transactional id, never one per Produce."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as fn

from kafkascope_analyzer.dataset.tables import PARTITIONS, REQUESTS
from kafkascope_spark import wire
from kafkascope_spark.tables import Tables
from kafkascope_spark.transactions.held_back import WHERE, with_topic
from kafkascope_spark.transactions.machine import V2_PRODUCE

DUPLICATE = 46
"""DUPLICATE_SEQUENCE_NUMBER: the broker has the batch already."""
MOST_STRETCHES = 1_000
"""Stretches of held-back consumers kept of one transaction."""
STRETCH = ["transactional_id", "client_instance_id", "left_ns", "gap"]


def written_and_held(tables: Tables, owners: DataFrame, bounds: DataFrame, held: DataFrame) -> DataFrame:
    """Per stretch: STRETCH, times, request ids, partitions, n_batches, n_records, errors, protocol, held_back.
    Stretches of held-back consumers whose transaction is not among what was written come as rows without
    transactional_id.

    owners: conn_id, client_instance_id, left_ns; bounds: transactional_id, ts_ns; held: held_back.held_back. Lazy.
    """
    here = per_partition(tables, owners, bounds).join(held, on=list(WHERE), how="full_outer")
    nobody = fn.when(fn.col("transactional_id").isNull(), fn.concat_ws("-", *WHERE)).alias("nobody")
    answered = fn.sum("n_answered") > 0
    flat = fn.flatten(fn.collect_list("held_back"))
    first = fn.coalesce("first_ns", fn.get("held_back", fn.lit(0))["from_ns"])
    return here.groupBy(*STRETCH, nobody).agg(
        fn.min(first).alias("ts_ns"),
        fn.max("last_ns").alias("last_ns"),
        fn.min("answered_ns").alias("answered_ns"),
        fn.min_by("first_id", fn.struct("first_ns", "first_id")).alias("request_id"),
        fn.max_by("last_id", fn.struct("last_ns", "last_id")).alias("last_request_id"),
        fn.array_sort(
            fn.collect_set(fn.when(fn.col("transactional_id").isNotNull(), fn.concat_ws("-", "topic", "partition")))
        ).alias("partitions"),
        fn.when(answered, fn.sum("kept_batches")).otherwise(fn.sum("sent_batches")).alias("n_batches"),
        fn.when(answered, fn.sum("kept_records")).otherwise(fn.sum("sent_records")).alias("n_records"),
        fn.array_sort(fn.array_distinct(fn.flatten(fn.collect_list("errors")))).alias("errors"),
        _protocol(fn.max("api_version")).alias("protocol"),
        fn.slice(fn.array_sort(flat), 1, MOST_STRETCHES).alias("held_back"),
    )


def per_partition(tables: Tables, owners: DataFrame, bounds: DataFrame) -> DataFrame:
    """Per stretch, topic and partition: what was sent, what was kept, and offset, that of the first batch."""
    requests = written_requests(tables[REQUESTS], bounds).join(owners, on="conn_id", how="left")
    named = with_topic(tables[PARTITIONS]).where(fn.col("api_key") == wire.PRODUCE)
    sent, refused = fn.col("direction") == "request", fn.col("error_code")
    each = (
        named.select("request_id", "direction", "topic", "partition", "offset", "error_code", "error_name", *_COUNTS)
        .join(requests, on="request_id", how="inner")
        .groupBy(*STRETCH, "request_id", "topic", "partition", "first_ns", "answered_ns", "status", "api_version")
        .agg(
            fn.max(fn.when(sent, fn.col("n_batches"))).alias("n_batches"),
            fn.max(fn.when(sent, fn.col("n_records"))).alias("n_records"),
            fn.max(fn.when(~sent, refused)).alias("error_code"),
            fn.max(fn.when(~sent & (refused != 0), fn.col("error_name"))).alias("error_name"),
            fn.max(fn.when(~sent & (refused == 0), fn.col("offset"))).alias("offset"),
        )
    )
    return _counted(each)


_COUNTS = ("n_batches", "n_records")


def _counted(each: DataFrame) -> DataFrame:
    """Sums over the requests: a batch whose answer was lost is sent again, and counts where its answer is."""
    answered = fn.col("error_code").isNotNull()
    kept = answered & fn.col("error_code").isin(0, DUPLICATE)
    sent = ~answered | kept
    return each.groupBy(*STRETCH, "topic", "partition").agg(
        fn.count(fn.when(answered, 1)).alias("n_answered"),
        fn.sum(fn.when(kept, fn.col("n_batches")).otherwise(0)).alias("kept_batches"),
        fn.sum(fn.when(kept, fn.col("n_records")).otherwise(0)).alias("kept_records"),
        fn.sum(fn.when(sent, fn.col("n_batches")).otherwise(0)).alias("sent_batches"),
        fn.sum(fn.when(sent, fn.col("n_records")).otherwise(0)).alias("sent_records"),
        fn.min("offset").alias("offset"),
        fn.min("first_ns").alias("first_ns"),
        fn.max("first_ns").alias("last_ns"),
        fn.min(fn.when(kept, fn.col("answered_ns"))).alias("answered_ns"),
        fn.min_by("request_id", fn.struct("first_ns", "request_id")).alias("first_id"),
        fn.max_by("request_id", fn.struct("first_ns", "request_id")).alias("last_id"),
        fn.collect_set("error_name").alias("errors"),
        fn.max("api_version").alias("api_version"),
    )


def written_requests(requests: DataFrame, bounds: DataFrame) -> DataFrame:
    """Produce requests of transactional producers, each with the number of bounds before it."""
    mine = requests.where(fn.col("transactional_id").isNotNull() & (fn.col("api_key") == wire.PRODUCE)).select(
        "transactional_id",
        fn.col("ts_ns").alias("first_ns"),
        "request_id",
        "conn_id",
        "api_version",
        "status",
        fn.col("response_ns").alias("answered_ns"),
    )
    both = mine.unionByName(
        bounds.withColumnRenamed("ts_ns", "first_ns"),
        allowMissingColumns=True,
    )
    order = Window.partitionBy("transactional_id").orderBy("first_ns", "request_id")
    before = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    is_bound = fn.when(fn.col("request_id").isNull(), 1).otherwise(0)
    return both.withColumn("gap", fn.sum(is_bound).over(before)).where(fn.col("request_id").isNotNull())


def _protocol(version: Column) -> Column:
    return fn.when(version.isNotNull(), fn.when(version >= V2_PRODUCE, "v2").otherwise("v1"))
