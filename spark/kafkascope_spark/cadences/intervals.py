"""Percentiles of the time between requests of one loop on one connection, by native Spark aggregates.

The gaps are counted by whole milliseconds first, so that what is kept of a connection is bounded by how different
its gaps are, and the percentiles are exact whatever the partitions.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as fn

from kafkascope_spark import wire
from kafkascope_spark.usage import number_of

LOOPS = {
    "heartbeat": (wire.HEARTBEAT, *sorted(wire.GROUP_HEARTBEATS)),
    "fetch": (wire.FETCH, wire.SHARE_FETCH),
    "commit": (wire.OFFSET_COMMIT, wire.TXN_OFFSET_COMMIT),
}
"""Cadence -> the APIs of its loop."""
LOOP = ["client_ip", "conn_id", "loop"]
STRETCH = 2_048
"""Gaps are taken within stretches of so many requests of a connection, and then between them: a connection that
never rests is no group that has to be held or spilled, and all cores share it."""
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
    number = number_of()
    sent = requests.select(
        *("client_ip", "conn_id", "ts_ns"),
        fn.coalesce("response_last_ns", "response_ns").alias("answered_ns"),
        loop.alias("loop"),
        number.alias("number"),
        fn.floor(number / STRETCH).alias("stretch"),
    ).where(fn.col("loop").isNotNull() & fn.col("client_ip").isNotNull())
    return _gaps_of(_within(sent).unionByName(_between(sent)))


def _within(sent: DataFrame) -> DataFrame:
    """The requests that follow one of the same stretch, with before_ns and answered_before_ns."""
    order = Window.partitionBy("conn_id", "loop", "stretch").orderBy("number")
    before, answered = fn.lag("ts_ns").over(order), fn.lag("answered_ns").over(order)
    return sent.select(*LOOP, "ts_ns", before.alias("before_ns"), answered.alias("answered_before_ns"))


def _between(sent: DataFrame) -> DataFrame:
    """The same, of each stretch's first request."""
    ends = sent.groupBy(*LOOP, "stretch").agg(
        fn.min_by("ts_ns", "number").alias("ts_ns"),
        fn.max_by("ts_ns", "number").alias("last_ns"),
        fn.max_by("answered_ns", "number").alias("answered_ns"),
    )
    order = Window.partitionBy("conn_id", "loop").orderBy("stretch")
    before, answered = fn.lag("last_ns").over(order), fn.lag("answered_ns").over(order)
    return ends.select(*LOOP, "ts_ns", before.alias("before_ns"), answered.alias("answered_before_ns"))


def _gaps_of(follows: DataFrame) -> DataFrame:
    pause = _milliseconds(fn.col("ts_ns") - fn.col("answered_before_ns"))
    polled = (fn.col("loop") == "fetch") & pause.isNotNull()
    polls = fn.when(polled, fn.greatest(pause, fn.lit(0).cast("long")))
    both = fn.array(
        fn.struct(fn.col("loop").alias("cadence"), _milliseconds(fn.col("ts_ns") - fn.col("before_ns")).alias("value")),
        fn.struct(fn.lit("poll_gap").alias("cadence"), polls.alias("value")),
    )
    told = follows.where(fn.col("before_ns").isNotNull()).select(*LOOP, fn.inline(both))
    return told.where(fn.col("value").isNotNull()).groupBy(*LOOP, "cadence", "value").count()


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


def _milliseconds(nanoseconds: Column) -> Column:
    return fn.floor(nanoseconds / MILLISECOND).cast("long")
