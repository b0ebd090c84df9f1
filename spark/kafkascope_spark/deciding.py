"""Which single requests decide a story, beside the first of each kind (usage): every call of the control plane; of
the calls that a healthy client makes all the time (HOT_APIS) those that failed or were answered late, the first
success after a failure of the same call on the same group or transactional id, and of what a start makes several times
the early ones.
"""

from collections.abc import Collection

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as fn

from kafkascope_spark import wire
from kafkascope_spark.recoveries.failures import OVERDUE_NS, PROMPT
from kafkascope_spark.usage import BAD_STATUSES

EARLY = 32
"""Requests of a connection among which a start's beats and offset look-ups are all kept."""
EARLY_APIS = wire.GROUP_HEARTBEATS | {wire.LIST_OFFSETS, wire.OFFSET_FOR_LEADER_EPOCH, wire.ADD_PARTITIONS_TO_TXN}
SUBJECT = ["client_ip", "client_id", "api_key", "group_id", "transactional_id"]
SLOTS = 1 << 20
"""What failed and what follows is told to all workers as hashes of so many values, so that what is told is bounded
(some 50 MB); what shares a hash with it costs time, no more."""
LONG_THROTTLE_MS = 1_000
"""A quota that silences a client for so long is told as one (recoveries.watch)."""


def is_hot() -> Column:
    """Whether a healthy client makes the call all the time."""
    return fn.col("api_key").isin(*wire.HOT_APIS)


def deciding_requests(requests: DataFrame, calm: Column) -> DataFrame:
    """The requests that decide a story (requests: with_luck): by themselves where they are calm, as others are read
    apart (decides); and those after failures. The same request may come twice."""
    early = (fn.col("number") < EARLY) & fn.col("api_key").isin(*EARLY_APIS)
    by_themselves = requests.where(calm & (~is_hot() | _is_trouble() | _is_late() | early))
    return by_themselves.unionByName(after_failures(requests))


def decides(requests: pa.RecordBatch) -> pa.Array:
    """Whether each request decides by itself, as deciding_requests says, of rows of the table: what follows a failure
    is not looked for."""
    column = requests.column
    api_key = column("api_key")
    bad = pc.or_(
        pc.or_(_is_set(column("error_code")), _is_set(column("n_errors"))),
        pc.is_in(column("status"), pa.array(BAD_STATUSES)),
    )
    trouble = pc.or_(bad, pc.greater_equal(pc.fill_null(column("throttle_ms"), 0), LONG_THROTTLE_MS))
    allowed_us = pc.multiply(pc.fill_null(column("max_wait_ms"), 0).cast(pa.int64()), 1_000)
    late = pc.greater(column("latency_us"), pc.add(allowed_us, OVERDUE_NS // 1_000))
    is_alone = pc.and_(_is_one_of(api_key, PROMPT), pc.equal(column("in_flight"), 1))
    number = pc.replace_substring_regex(column("request_id"), r".*-", "").cast(pa.int64())
    early = pc.and_(_is_one_of(api_key, EARLY_APIS), pc.less(number, EARLY))
    told = pc.or_(pc.invert(_is_one_of(api_key, wire.HOT_APIS)), trouble)
    return pc.fill_null(pc.or_kleene(pc.or_kleene(told, pc.and_kleene(is_alone, late)), early), fill_value=False)


def _is_set(codes: pa.Array) -> pa.Array:
    return pc.not_equal(pc.fill_null(codes, 0), 0)


def _is_one_of(api_key: pa.Array, apis: Collection[int]) -> pa.Array:
    return pc.is_in(api_key, pa.array(sorted(apis), api_key.type))


def _is_trouble() -> Column:
    """A request that went badly, or whose answer silences the client."""
    return fn.col("bad") | (fn.coalesce("throttle_ms", fn.lit(0)) >= LONG_THROTTLE_MS)


def _is_late() -> Column:
    """Answered later than any broker takes that is there: recoveries.failures.late_since."""
    allowed_us = fn.coalesce(fn.col("max_wait_ms").cast("long"), fn.lit(0)) * 1_000 + OVERDUE_NS // 1_000
    is_alone = fn.col("api_key").isin(*PROMPT) & (fn.col("in_flight") == 1)
    return is_alone & fn.coalesce(fn.col("latency_us") > allowed_us, fn.lit(False))


def after_failures(requests: DataFrame) -> DataFrame:
    """Of the hot calls, the first success after each failure or long throttle of the same call on the same subject;
    where there are more than some SLOTS of them, others too.

    Only what the order needs is sorted: the requests themselves, which are wide, are looked up by a hash of their id.
    """
    hot = requests.where(is_hot()).withColumns({"subject": fn.xxhash64(*SUBJECT), "trouble": _is_trouble()})
    slot = fn.pmod("subject", fn.lit(SLOTS)).alias("slot")
    failing = hot.where("trouble").select(slot).distinct()
    order = Window.partitionBy("subject").orderBy("ts_ns", "request_packet_no", "id_hash")
    narrow = hot.select("subject", slot, "ts_ns", "request_packet_no", _id_hash().alias("id_hash"), "trouble")
    near = narrow.join(fn.broadcast(failing), on="slot", how="left_semi")
    follows = near.withColumn("follows", fn.lag("trouble").over(order))
    wanted = follows.where(fn.col("follows") & ~fn.col("trouble")).select("id_hash")
    return _of_hashes(hot.where(~fn.col("trouble")).drop("subject", "trouble"), wanted)


def _of_hashes(requests: DataFrame, hashes: DataFrame) -> DataFrame:
    """The requests whose ids have these hashes. Workers are told the least and the largest of each slot: all there
    are, unless a slot has three."""
    slot = fn.pmod("id_hash", fn.lit(SLOTS)).alias("slot")
    told = hashes.groupBy(slot).agg(
        fn.min("id_hash").alias("least"), fn.max("id_hash").alias("largest"), fn.count("*").alias("n")
    )
    mine = _id_hash()
    asked = requests.withColumn("slot", fn.pmod(mine, fn.lit(SLOTS)))
    is_told = (mine == told["least"]) | (mine == told["largest"]) | (told["n"] > 2)
    return asked.join(fn.broadcast(told), (asked["slot"] == told["slot"]) & is_told, "left_semi").drop("slot")


def _id_hash() -> Column:
    return fn.xxhash64("request_id")
