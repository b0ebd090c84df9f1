"""Percentiles of the time between requests of one loop on one connection, by native Spark aggregates.

The gaps are counted by whole milliseconds first, so that what is kept of a connection is bounded by how different
its gaps are, and the percentiles are exact whatever the partitions.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as fn

from kafkascope_spark import wire

LOOPS = {
    "heartbeat": (wire.HEARTBEAT, *sorted(wire.GROUP_HEARTBEATS)),
    "fetch": (wire.FETCH, wire.SHARE_FETCH),
    "commit": (wire.OFFSET_COMMIT, wire.TXN_OFFSET_COMMIT),
}
"""Cadence -> the APIs of its loop."""
MILLISECOND = 1_000_000


def cadence_rows(requests: DataFrame) -> DataFrame:
    """One row per connection and cadence: client_ip, conn_id, cadence, n, p50, p99, max (ms; for in_flight,
    requests)."""
    return _percentiles(gaps(requests)).unionByName(_percentiles(depths(requests)))


def gaps(requests: DataFrame) -> DataFrame:
    """client_ip, conn_id, loop, cadence, value, count: how often the next request of the loop came `value` ms after
    the one before it; for poll_gap, after the answer to it."""
    loop = fn.lit(None).cast("string")
    for name, apis in LOOPS.items():
        loop = fn.when(fn.col("api_key").isin(*apis), name).otherwise(loop)
    every = Window.partitionBy("conn_id", "loop").orderBy("ts_ns", "request_id")
    sent = requests.select(
        "client_ip", "conn_id", "request_id", "ts_ns", _answered().alias("answered_ns"), loop.alias("loop")
    ).where(fn.col("loop").isNotNull() & fn.col("client_ip").isNotNull())
    since_sent = _milliseconds(fn.col("ts_ns") - fn.lag("ts_ns").over(every))
    since_answer = _milliseconds(fn.col("ts_ns") - fn.lag("answered_ns").over(every))
    timed = sent.select("client_ip", "conn_id", "loop", since_sent.alias("gap"), since_answer.alias("pause"))
    polled = (fn.col("loop") == "fetch") & fn.col("pause").isNotNull()
    polls = fn.when(polled, fn.greatest("pause", fn.lit(0).cast("long")))
    both = fn.array(
        fn.struct(fn.col("loop").alias("cadence"), fn.col("gap").alias("value")),
        fn.struct(fn.lit("poll_gap").alias("cadence"), polls.alias("value")),
    )
    told = timed.select("client_ip", "conn_id", "loop", fn.inline(both)).where(fn.col("value").isNotNull())
    return told.groupBy("client_ip", "conn_id", "loop", "cadence", "value").count()


def depths(requests: DataFrame) -> DataFrame:
    """The same shape for in_flight: how often a Produce request made `value` requests wait on its connection."""
    produced = requests.where((fn.col("api_key") == wire.PRODUCE) & fn.col("in_flight").isNotNull())
    return produced.groupBy(
        "client_ip",
        "conn_id",
        fn.lit("in_flight").alias("loop"),
        fn.lit("in_flight").alias("cadence"),
        fn.col("in_flight").cast("long").alias("value"),
    ).count()


def _percentiles(counted: DataFrame) -> DataFrame:
    parts = fn.percentile("value", fn.array(fn.lit(0.5), fn.lit(0.99)), fn.col("count")).alias("parts")
    total, longest = fn.sum("count").alias("n"), fn.max("value").alias("max")
    summed = counted.groupBy("client_ip", "conn_id", "loop", "cadence").agg(total, parts, longest)
    p50, p99 = (fn.floor(fn.get("parts", fn.lit(i))).cast("long") for i in (0, 1))
    return summed.select("client_ip", "conn_id", "cadence", "n", p50.alias("p50"), p99.alias("p99"), "max")


def _answered() -> Column:
    return fn.coalesce("response_last_ns", "response_ns")


def _milliseconds(nanoseconds: Column) -> Column:
    return fn.floor(nanoseconds / MILLISECOND).cast("long")
