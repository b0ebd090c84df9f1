"""`cause_id`: episodes of all clients that one thing made.

What left a node or a server (leader moved, coordinator moved, connection lost) has one cause when it follows the
one before it at that node within GAP_NS; other errors have one cause per error and resource, with the same gap.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as fn

GAP_NS = 5_000_000_000
"""Longest pause between the starts of two episodes of one cause: clients notice a dead broker within a poll or a
back-off of some seconds."""
MOVED = (
    "NOT_LEADER_OR_FOLLOWER",
    "FENCED_LEADER_EPOCH",
    "UNKNOWN_LEADER_EPOCH",
    "NOT_COORDINATOR",
    "COORDINATOR_NOT_AVAILABLE",
    "CONNECTION_REFUSED",
    "CONNECTION_UNANSWERED",
    "CONNECTION_RESET",
    "CONNECTION_CLOSED",
    "REQUEST_UNANSWERED",
)


def with_causes(told: DataFrame) -> DataFrame:
    """Fill recoveries.cause_id in tagged story rows; other rows pass."""
    key = fn.coalesce(_key(), fn.concat("table", "startup_steps.startup_id"), fn.col("table"))
    start = fn.col("recoveries.start_ns")
    by_key = Window.partitionBy("cause_key").orderBy("recoveries.start_ns", "recoveries.recovery_id")
    first = fn.coalesce(start - fn.lag(start).over(by_key) > GAP_NS, fn.lit(True))
    began = fn.last(fn.when(fn.col("begins"), start), ignorenulls=True).over(
        by_key.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    cause = fn.concat(fn.lit("cause-"), fn.substring(fn.sha2(fn.concat_ws("|", "cause_key", began), 256), 1, 16))
    return (
        told.withColumn("cause_key", key)
        .withColumn("begins", first)
        .withColumn("recoveries", fn.when(_is_episode(), fn.col("recoveries").withField("cause_id", cause)))
        .drop("cause_key", "begins")
    )


def _is_episode() -> Column:
    return fn.col("table") == "recoveries"


def _key() -> Column:
    """What an episode has in common with others of its cause; null for other rows."""
    episode = fn.col("recoveries")
    node = fn.concat(fn.lit("node "), episode["old_node_id"].cast("string"))
    moved = episode["first_error_name"].isin(*MOVED)
    other = fn.concat_ws("|", episode["first_error_name"], episode["resource"])
    return fn.when(_is_episode(), fn.when(moved, fn.coalesce(node, episode["resource"])).otherwise(other))
