"""How each connection was used, by native hash aggregates: one row per connection and kind of request (API, version,
group, member and the like), with how often, first and last; and samples of its correlation ids.

Only fixed-width values are aggregated and strings are keys, so that Spark keeps them in a hash table and sorts
nothing. The first request of a kind is whole in its row: that is all that a story needs of a healthy data plane.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from kafkascope_spark import wire

BAD_STATUSES = ("unanswered", "undecoded")
"""Requests that went badly, whatever their codes."""
SAMPLES = 64
"""Requests of a connection whose correlation ids are all looked at; after them one a second, and after FINE_NS one
a minute."""
SECOND = 1_000_000_000
FINE_NS = 600 * SECOND
CONNECTION = ["client_ip", "client_id", "conn_id"]
KEYS = [
    *CONNECTION,
    "api_key",
    "api_name",
    "api_version",
    "group_id",
    "member_id",
    "group_instance_id",
    "transactional_id",
    "coordinator_type",
    "coordinator_key",
    "software_name",
    "software_version",
    "status",
    "is_replica",
    "lucky",
    "bad",
]
FIRST = [
    "node_id",
    "correlation_id",
    "ts_ns",
    "request_last_ns",
    "response_ns",
    "response_last_ns",
    "latency_us",
    "generation_or_epoch",
    "n_records",
]
"""Values of the first request of the kind."""


def number_of() -> Column:
    """The number of a request on its connection, from 0: what follows the last dash of its id."""
    return fn.substring_index("request_id", "-", -1).cast("long")


def with_luck(requests: DataFrame) -> DataFrame:
    """Add number; bad: an error anywhere in the answer, no answer, not decoded; lucky: answered with records;
    is_replica."""
    error = (fn.coalesce("error_code", fn.lit(0)) != 0) | (fn.coalesce("n_errors", fn.lit(0)) != 0)
    bad = error | fn.col("status").isin(*BAD_STATUSES)
    return requests.withColumns(
        {
            "number": number_of(),
            "bad": bad,
            "lucky": fn.coalesce(fn.col("n_records") > 0, fn.lit(False)) & ~bad,
            "is_replica": fn.coalesce(fn.col("replica_id") >= 0, fn.lit(False)),
        }
    )


def usages(requests: DataFrame) -> DataFrame:
    """One row per connection and kind of request: KEYS, n, first_no (number of the first), FIRST, last_ns (when the
    last was sent), max_wait_ms (the longest), last_id (highest correlation id without SASL's reserved ones),
    producer_id (of the answers to InitProducerId)."""
    first = [fn.min_by(c, "number").alias(c) for c in FIRST]
    counted = fn.col("correlation_id") < wire.FIRST_RESERVED_CORRELATION_ID
    return requests.groupBy(*KEYS).agg(
        fn.count("*").alias("n"),
        fn.min("number").alias("first_no"),
        fn.max("ts_ns").alias("last_ns"),
        fn.max("max_wait_ms").alias("max_wait_ms"),
        fn.max(fn.when(counted, fn.col("correlation_id"))).alias("last_id"),
        fn.max(fn.when(fn.col("producer_id") >= 0, fn.col("producer_id"))).alias("producer_id"),
        *first,
    )


def id_samples(requests: DataFrame) -> DataFrame:
    """One row per connection and client id on it: times and correlation_ids, arrays side by side, in order of time;
    without SASL's reserved ids. The first SAMPLES go straight into the arrays: each is a sample of its own."""
    counted = requests.where(fn.col("correlation_id") < wire.FIRST_RESERVED_CORRELATION_ID)
    is_early = fn.coalesce(fn.col("number") < SAMPLES, fn.lit(False))
    early = counted.where(is_early).select(*CONNECTION, "ts_ns", "correlation_id")
    later = counted.where(~is_early).groupBy(*CONNECTION, fn.floor(fn.col("ts_ns") / SECOND).alias("slot"))
    first = fn.min("ts_ns").alias("ts_ns"), fn.min_by("correlation_id", "number").alias("correlation_id")
    sampled = early.unionByName(later.agg(*first).drop("slot"))
    samples = fn.sort_array(fn.collect_list(fn.struct("ts_ns", "correlation_id"))).alias("samples")
    thinned = fn.filter("samples", _is_worth).alias("samples")
    return (
        sampled.groupBy(*CONNECTION)
        .agg(samples)
        .select(*CONNECTION, thinned)
        .select(
            *CONNECTION,
            fn.col("samples.ts_ns").alias("times"),
            fn.col("samples.correlation_id").alias("correlation_ids"),
        )
    )


def answer_samples(requests: DataFrame) -> DataFrame:
    """As id_samples, of the answers whose requests the capture lacks (`r` and a number in their ids)."""
    orphans = requests.where(fn.col("status") == "orphan_response")
    number = fn.regexp_extract("request_id", r"-r(\d+)$", 1).cast("long")
    return id_samples(orphans.withColumn("number", number))


def _is_worth(sample: Column, index: Column) -> Column:
    """Whether the sample is one of the first, of the fine stretch, or the first of its minute."""
    age = sample["ts_ns"] - fn.get("samples", fn.lit(0))["ts_ns"]
    before = fn.get("samples", index - 1)["ts_ns"]
    minute = fn.floor(sample["ts_ns"] / (60 * SECOND)) != fn.floor(before / (60 * SECOND))
    return (index < SAMPLES) | (age < FINE_NS) | minute
