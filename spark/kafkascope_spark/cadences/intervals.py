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
STRETCH_BITS = 11
"""Gaps are taken within stretches of 2048 requests of a connection, and then between them: a connection that
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
        fn.shiftright(number, STRETCH_BITS).alias("stretch"),
    ).where(fn.col("loop").isNotNull() & fn.col("client_ip").isNotNull())
    return _gaps_of(_within(sent).unionByName(_between(sent)))


def _within(sent: DataFrame) -> DataFrame:
    """The requests that follow one of the same stretch, with before_ns and answered_before_ns. Told apart by one
    number, by which Spark sorts best."""
    order = Window.partitionBy("key").orderBy("number")
    before, answered = fn.lag("ts_ns").over(order), fn.lag("answered_ns").over(order)
    keyed = sent.withColumn("key", fn.xxhash64("conn_id", "loop", "stretch")).drop("stretch")
    return keyed.select(*LOOP, "ts_ns", before.alias("before_ns"), answered.alias("answered_before_ns"))


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
    """Counted by gap and pause together first: the rows are told apart only once there are few."""
    pause = _milliseconds(fn.col("ts_ns") - fn.col("answered_before_ns"))
    polls = fn.when(fn.col("loop") == "fetch", fn.greatest(pause, fn.lit(0).cast("long")))
    gap = _milliseconds(fn.col("ts_ns") - fn.col("before_ns")).alias("gap")
    known = follows.where(fn.col("before_ns").isNotNull())
    counted = known.groupBy(*LOOP, gap, fn.when(pause.isNotNull(), polls).alias("poll_gap")).count()
    both = fn.array(
        fn.struct(fn.col("loop").alias("cadence"), fn.col("gap").alias("value")),
        fn.struct(fn.lit("poll_gap").alias("cadence"), fn.col("poll_gap").alias("value")),
    )
    told = counted.select(*LOOP, "count", fn.inline(both)).where(fn.col("value").isNotNull())
    return told.groupBy(*LOOP, "cadence", "value").agg(fn.sum("count").alias("count"))


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
