"""Which single requests decide a story, beside the first of each kind (usage): every call of the control plane; of
the calls that a healthy client makes all the time (HOT_APIS) those that failed, the first success after a failure
of the same call on the same group or transactional id, and of what a start makes several times the early ones.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as fn

from kafkascope_spark import wire

EARLY = 32
"""Requests of a connection among which a start's beats and offset look-ups are all kept."""
EARLY_APIS = wire.GROUP_HEARTBEATS | {wire.LIST_OFFSETS, wire.OFFSET_FOR_LEADER_EPOCH, wire.ADD_PARTITIONS_TO_TXN}
SUBJECT = ["client_ip", "client_id", "api_key", "group_id", "transactional_id"]
SLOTS = 1 << 20
"""Subjects with a failure are told to all workers as hashes of so many values, so that what is told is bounded
(some 20 MB); two subjects of one hash cost a sort, no more."""
LONG_THROTTLE_MS = 1_000
"""A quota that silences a client for so long is told as one (recoveries.watch)."""


def is_hot() -> Column:
    """Whether a healthy client makes the call all the time."""
    return fn.col("api_key").isin(*wire.HOT_APIS)


def deciding_requests(requests: DataFrame) -> DataFrame:
    """The requests that decide a story by themselves (requests: with_luck). The same request may come twice."""
    early = (fn.col("number") < EARLY) & fn.col("api_key").isin(*EARLY_APIS)
    return requests.where(~is_hot() | _is_trouble() | early).unionByName(after_failures(requests))


def _is_trouble() -> Column:
    """A request that went badly, or whose answer silences the client."""
    return fn.col("bad") | (fn.coalesce("throttle_ms", fn.lit(0)) >= LONG_THROTTLE_MS)


def after_failures(requests: DataFrame) -> DataFrame:
    """Of the hot calls, the first success after each failure or long throttle of the same call on the same subject."""
    slot = fn.pmod(fn.xxhash64(*SUBJECT), fn.lit(SLOTS))
    hot = requests.where(is_hot()).withColumns({"slot": slot, "trouble": _is_trouble()})
    failing = hot.where("trouble").select("slot").distinct()
    order = Window.partitionBy(*SUBJECT).orderBy("ts_ns", "request_packet_no", "request_id")
    near = hot.join(fn.broadcast(failing), on="slot", how="left_semi").drop("slot")
    follows = near.withColumn("follows", fn.lag("trouble").over(order))
    return follows.where(fn.col("follows") & ~fn.col("trouble")).drop("follows", "trouble")
