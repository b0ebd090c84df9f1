"""`rebalance_storm`: a group rebalances again and again."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from kafkascope_analyzer.dataset.stories import CLIENTS
from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_spark import wire
from kafkascope_spark.findings import thresholds as limit
from kafkascope_spark.findings import wording
from kafkascope_spark.findings.rule import MOST_EVIDENCE, Rule
from kafkascope_spark.findings.seen import told
from kafkascope_spark.findings.signs import Sign
from kafkascope_spark.tables import Tables

TELLS_GENERATION = ", ".join(str(key) for key in sorted({wire.SYNC_GROUP, wire.HEARTBEAT} | wire.GROUP_HEARTBEATS))


def find(tables: Tables) -> DataFrame:
    """One finding per group and stretch of rebalances."""
    generations = (
        tables[REQUESTS]
        .where(f"api_key in ({TELLS_GENERATION}) and generation_or_epoch > 0 and group_id is not null")
        .groupBy("group_id", "generation_or_epoch")
        .agg(
            fn.expr("min(struct(ts_ns, request_id)) as seen"),
            fn.expr("timestamp_micros(min(ts_ns) div 1000) as seen_at"),
            fn.expr("collect_set(conn_id) as conn_ids"),
        )
    )
    stretches = (
        generations.groupBy("group_id", fn.session_window("seen_at", f"{limit.STORM_APART_S} seconds"))
        .agg(
            fn.expr("count(*) as n"),
            fn.expr("min(seen.ts_ns) as first_ns"),
            fn.expr("max(seen.ts_ns) as last_ns"),
            fn.expr(
                f"slice(transform(array_sort(collect_list(seen)), s -> s.request_id), 1, {MOST_EVIDENCE}) as evidence"
            ),
            fn.expr("array_distinct(flatten(collect_list(conn_ids))) as conn_ids"),
        )
        .where(f"n >= {limit.STORM_REBALANCES}")
    )
    members = tables[CLIENTS].selectExpr("group_id", "end", "first_ns as started_ns", "last_ns as ended_ns")
    near = f"{limit.STORM_APART_S} * 1000000000L"
    each = (
        stretches.join(members, on="group_id", how="left")
        .groupBy("group_id", "n", "first_ns", "last_ns", "evidence", "conn_ids")
        .agg(
            fn.expr(f"count_if(started_ns between first_ns - {near} and last_ns) as n_started"),
            fn.expr(f"count_if(end != 'open' and ended_ns between first_ns - {near} and last_ns) as n_ended"),
            fn.expr("count_if(started_ns <= last_ns and ended_ns >= first_ns) as n_members"),
        )
        .where(
            f"n - {limit.REBALANCES_EACH} * (n_started + n_ended) >= {limit.STORM_REBALANCES} "
            f"or (n >= {limit.STORM_MANY} and last_ns - first_ns >= {near})"
        )
    )
    sentence = (
        f"concat('Group ', group_id, ' rebalanced ', {wording.times('n')}, ' in ', "
        f"{wording.lasting('(last_ns - first_ns)')} , ' from ', {wording.clock('first_ns')}, ', while ', "
        f"{wording.counted('n_started', 'member')}, ' started and ', n_ended, ' ended, of ', n_members, ' in all')"
    )
    return told(each, "warning", sentence, subject="group_id", client=None)


RULE = Rule(
    name="rebalance_storm",
    title="A group rebalances again and again",
    severity="warning",
    meaning="With each rebalance of an eager group all members stop; in other groups those whose partitions move. A "
    "group that never comes to rest reads little, and reads much of it twice.",
    looks_at="Generations (member epochs with KIP-848) in heartbeats and SyncGroup, less than "
    f"{limit.STORM_APART_S // 60} minutes from one to the next: at least {limit.STORM_REBALANCES} more than members "
    f"that start and end explain ({limit.REBALANCES_EACH} each), or {limit.STORM_MANY} within some minutes, whatever "
    "made them.",
    advice="See evicted_member first: raise session.timeout.ms or max.poll.interval.ms where members are thrown out, "
    "lower max.poll.records where polls take long. For restarts give each member a group.instance.id; use "
    "partition.assignment.strategy=CooperativeStickyAssignor or group.protocol=consumer, so that members do not all "
    "stop; keep members from restarting in a loop.",
    sources=("KIP-345", "KIP-429", "KIP-848", "KIP-62"),
    find=find,
    signs=(Sign(REQUESTS, "generation_or_epoch", above=limit.STORM_REBALANCES - 1),),
)
