"""How far a group's committed offsets were behind the partitions' ends, by generation.

An offset is compared with the high watermark that Fetch answers had told by then (to the second), whoever fetched. What
is counted is what the capture shows both of: a partition that nobody fetched from, or that nobody committed for in the
generation, is not in it.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from kafkascope_analyzer.dataset.tables import PARTITIONS, REQUESTS
from kafkascope_spark import wire
from kafkascope_spark.rebalances.wire import COMMITS
from kafkascope_spark.tables import Tables

SECOND_NS = 1_000_000_000


def with_lag(rows: DataFrame, tables: Tables) -> DataFrame:
    """The rows with lag_records and n_lag_partitions: records between the last offsets committed in the generation and
    the ends of their partitions then, and in how many partitions; null where the capture does not show it. Lazy."""
    return rows.join(lag_of_generations(tables), on=["group_id", "generation"], how="left")


def lag_of_generations(tables: Tables) -> DataFrame:
    """One row per group and generation that committed offsets: group_id, generation, lag_records, n_lag_partitions."""
    # Both come from one table: other names keep Spark from taking them for the same columns.
    ends = ends_by_second(tables).withColumnsRenamed({name: f"end_{name}" for name in ("topic", "partition", "second")})
    by_then = fn.expr("topic = end_topic and partition = end_partition and end_second <= second")
    both = last_commits(tables).join(ends, on=by_then, how="inner")
    each = both.groupBy("group_id", "generation", "topic", "partition", "committed").agg(
        fn.max("high_watermark").alias("high_watermark")
    )
    behind = fn.expr("sum(greatest(high_watermark - committed, 0L)) as lag_records")
    return each.groupBy("group_id", "generation").agg(behind, fn.expr("cast(count(*) as int) as n_lag_partitions"))


def last_commits(tables: Tables) -> DataFrame:
    """group_id, generation, topic, partition, committed, second: the last offset that a generation committed."""
    keys = ", ".join(map(str, COMMITS))
    accepted = tables[REQUESTS].where(
        f"api_key in ({keys}) and status = 'ok' and coalesce(n_errors, 0) = 0 and generation_or_epoch >= 0"
    )
    offsets = tables[PARTITIONS].where(
        f"api_key in ({keys}) and direction = 'request' and offset >= 0 and topic is not null"
    )
    by_group = offsets.selectExpr("request_id", "topic", "partition", "offset", "ts_ns").join(
        accepted.selectExpr("request_id", "group_id", "generation_or_epoch as generation"), on="request_id", how="inner"
    )
    last = by_group.groupBy("group_id", "generation", "topic", "partition").agg(
        fn.expr("max(struct(ts_ns, offset)) as last")
    )
    return last.selectExpr(
        "group_id",
        "generation",
        "topic",
        "partition",
        "last.offset as committed",
        f"last.ts_ns div {SECOND_NS} as second",
    )


def ends_by_second(tables: Tables) -> DataFrame:
    """topic, partition, second, high_watermark: the highest that a Fetch answer told in each second."""
    told = tables[PARTITIONS].where(
        f"api_key = {wire.FETCH} and direction = 'response' and high_watermark >= 0 and topic is not null"
    )
    seconds = told.selectExpr("topic", "partition", f"ts_ns div {SECOND_NS} as second", "high_watermark")
    return seconds.groupBy("topic", "partition", "second").agg(fn.max("high_watermark").alias("high_watermark"))
