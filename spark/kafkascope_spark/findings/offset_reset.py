"""`offset_reset`: a consumer's position was outside the log, and it went on elsewhere."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from kafkascope_analyzer.dataset.stories import CLIENTS
from kafkascope_analyzer.dataset.tables import ERRORS, PARTITIONS
from kafkascope_spark import wire
from kafkascope_spark.findings import thresholds as limit
from kafkascope_spark.findings import wording
from kafkascope_spark.findings.rule import MOST_EVIDENCE, Rule
from kafkascope_spark.findings.seen import NO_BROKER, told
from kafkascope_spark.findings.signs import Sign
from kafkascope_spark.tables import Tables

OUTSIDE = "OFFSET_OUT_OF_RANGE"
WHO = ("client_instance_id", "client_id", "client_ip", "group_id", "topic")
LISTED = "request_id string, topics array<struct<partitions: array<struct<timestamp: bigint>>>>"


def find(tables: Tables) -> DataFrame:
    """One finding per client and topic."""
    each = (
        _resets(tables)
        .groupBy(*WHO)
        .agg(
            fn.expr("count(*) as n"),
            fn.expr("min(lost_ns) as first_ns"),
            fn.expr("max(new_ns) as last_ns"),
            fn.expr("min_by(struct(partition, old_offset, new_offset, policy), lost_ns) as move"),
            fn.expr("sum(greatest(new_offset - old_offset, 0)) as skipped"),
            fn.expr(f"slice(flatten(collect_list(array(lost_id, new_id))), 1, {MOST_EVIDENCE}) as evidence"),
            fn.expr("flatten(collect_list(array(lost_conn, new_conn))) as conn_ids"),
        )
    )
    moved = (
        "concat(topic, '-', move.partition, if(move.old_offset is null, ' went on at ', "
        "concat(' went from offset ', move.old_offset, ' to ')), move.new_offset, "
        "coalesce(concat(' (auto.offset.reset=', move.policy, ')'), ''))"
    )
    effect = (
        "case when skipped > 0 then concat('; it never reads ', skipped, if(skipped = 1, ' record', ' records')) "
        "when move.new_offset < move.old_offset then '; its old offset lay beyond the end of the log' else '' end"
    )
    sentence = (
        f"concat({wording.called()}, coalesce(concat(' of group ', group_id), ''), ' asked for an offset outside the "
        f"log in ', {wording.counted('n', 'partition')}, ' of ', topic, ', first at ', {wording.clock('first_ns')}, "
        f"': ', {moved}, {effect})"
    )
    advice = f"if(move.new_offset < move.old_offset, '{_BEYOND}', '{_DELETED}')"
    return told(each, "warning", sentence, subject="topic", client="client_instance_id", advice=advice)


def _resets(tables: Tables) -> DataFrame:
    """One row per client and topic-partition that was reset: lost_ns, lost_id (the Fetch), old_offset (null where an
    incremental Fetch did not repeat it), new_ns, new_id (the ListOffsets), new_offset, policy."""
    consumers = tables[CLIENTS].selectExpr("explode(conn_ids) as conn_id", "conn_ids", "kind", "group_id", WHO[0])
    lost = (
        tables[ERRORS]
        .where(f"error_name = '{OUTSIDE}' and api_key = {wire.FETCH}")
        .drop("group_id")
        .join(consumers, on="conn_id", how="inner")
        .where(NO_BROKER)
        .groupBy(*WHO, "partition", "conn_ids")
        .agg(
            fn.expr("min(ts_ns) as lost_ns"),
            fn.expr("min_by(request_id, ts_ns) as lost_id"),
            fn.expr("min_by(conn_id, ts_ns) as lost_conn"),
        )
    )
    is_asked, is_listed = f"api_key = {wire.FETCH} and request_id = lost_id", f"api_key = {wire.LIST_OFFSETS}"
    after = (
        f"ts_ns between lost_ns and lost_ns + {limit.RESET_AFTER_MS} * 1000000L and array_contains(conn_ids, conn_id)"
    )
    offsets = (
        tables[PARTITIONS]
        .where(
            f"(api_key = {wire.FETCH} and direction = 'request') or (api_key = {wire.LIST_OFFSETS} "
            "and direction = 'response' and coalesce(error_code, 0) = 0 and offset >= 0)"
        )
        .select("request_id", "conn_id", "ts_ns", "api_key", "topic", "partition", "offset")
        .join(fn.broadcast(lost), on=["topic", "partition"], how="inner")
        .where(f"({is_asked}) or ({is_listed} and {after})")
        .groupBy(*WHO, "partition", "lost_ns", "lost_id", "lost_conn")
        .agg(
            fn.expr(f"max(if({is_asked}, offset, null)) as old_offset"),
            fn.expr(f"min_by(struct(request_id, conn_id, ts_ns, offset), if({is_listed}, ts_ns, null)) as new"),
        )
        .where("new is not null")
        .selectExpr(
            "*",
            "new.request_id as new_id",
            "new.conn_id as new_conn",
            "new.ts_ns as new_ns",
            "new.offset as new_offset",
        )
    )
    policies = tables.messages("ListOffsets/request", LISTED).selectExpr(
        "request_id as new_id",
        "case get(get(topics, 0).partitions, 0).timestamp when -2 then 'earliest' when -1 then 'latest' "
        "else 'by_duration' end as policy",
    )
    return offsets.join(policies, on="new_id", how="left")


_DELETED = (
    "The records were deleted before they were read: make the consumer keep up (more partitions and members, a larger "
    "max.poll.records or fetch.max.bytes), or raise retention.ms and retention.bytes of the topic; see who calls "
    "DeleteRecords. auto.offset.reset decides where it goes on."
)
_BEYOND = (
    "The log ends before the offset that was committed: the topic was deleted and made again, its end was lost in an "
    "unclean election (unclean.leader.election.enable), or the offsets are of another cluster. Set the offsets of the "
    "group anew with kafka-consumer-groups.sh --reset-offsets; auto.offset.reset decides where it goes on without."
)
RULE = Rule(
    name="offset_reset",
    title="A consumer lost its place in the log",
    severity="warning",
    meaning="The offset that a consumer asked for is not in the log. By auto.offset.reset it goes on at the earliest "
    "or latest offset: records are skipped, or read twice.",
    looks_at=f"{OUTSIDE} in an answer to Fetch, followed by ListOffsets of the same client for the partition. Without "
    "that it says nothing: a follower that lags answers the same, and the consumer asks the leader.",
    advice=_DELETED,
    sources=(
        "KIP-392",
        "KIP-1106",
        "auto.offset.reset of the consumer settings",
        "org.apache.kafka.clients.consumer.internals.FetchCollector",
    ),
    find=find,
    signs=(Sign(ERRORS, "error_name", frozenset({OUTSIDE})),),
)
