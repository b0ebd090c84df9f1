"""What happened at a server around the end of a connection, which tells a broker that dies from one that closes an
idle connection."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as fn

QUARTER = 250_000_000
"""Ends are counted by quarters of a second, so that the cost does not grow with how many there are at one time."""
NEAR_QUARTERS = 2
SOON_QUARTERS = 20


def with_near_closes(connections: DataFrame) -> DataFrame:
    """Add near_idle_ms and refused_after.

    near_idle_ms: shortest idle time among what the server closed within half a second (to a quarter); refused_after:
    connections that it refused in the five seconds from then on.
    """
    slotted = connections.withColumn("quarter", fn.floor(fn.col("close_ns") / QUARTER))
    by_server = fn.col("close_kind").isin("fin_server", "rst_server")
    idle = fn.min(fn.when(by_server, fn.col("idle_before_close_ms")))
    refused = fn.count(fn.when(fn.col("close_kind") == "refused", 1))
    ends = slotted.groupBy("server_ip", "server_port", "quarter").agg(idle.alias("idle"), refused.alias("refused"))
    order = Window.partitionBy("server_ip", "server_port").orderBy("quarter")
    near = fn.min("idle").over(order.rangeBetween(-NEAR_QUARTERS, NEAR_QUARTERS))
    soon = fn.sum("refused").over(order.rangeBetween(0, SOON_QUARTERS))
    told = ends.where(fn.col("quarter").isNotNull()).select(
        "server_ip", "server_port", "quarter", near.alias("near_idle_ms"), soon.alias("refused_after")
    )
    return slotted.join(told, on=["server_ip", "server_port", "quarter"], how="left").drop("quarter")
