"""Members that leave their group and come back: what clients do when nobody polls them for max.poll.interval.ms.

Java clients name the reason in LeaveGroup (KIP-800); others only leave, and join again at the next poll. A member that
leaves once without a reason may have changed its subscription, so that is not told.
"""

from functools import reduce

import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from kafkascope_analyzer.dataset.stories import CLIENTS
from kafkascope_spark.findings import thresholds as limit
from kafkascope_spark.findings import wording
from kafkascope_spark.findings.rule import Finding, found
from kafkascope_spark.findings.seen import NO_BROKER
from kafkascope_spark.findings.signs import Sign
from kafkascope_spark.tables import Tables

WHOSE = "conn_id string, request_id string, ts_ns bigint, group_id string"
EVENT = ("conn_id", "request_id", "ts_ns", "group_id")
KIP_800 = "poll timeout"
LEFT_AND_BACK = (
    Sign(CLIENTS, where=pc.list_value_length(pc.field("member_ids")) > 1),
    Sign(CLIENTS, "group_protocol", frozenset({"consumer"})),
)
"""Who joins a classic group again after it left gets another member id; with KIP-848 it keeps its own."""


def left_and_back(tables: Tables) -> DataFrame:
    """Findings: one per client and group."""
    # On one connection: who closes a consumer and opens the next one, with the same name, has another.
    client = ("client_instance_id", "client_id", "client_ip", "group_id")
    each = (
        _comings_and_goings(tables)
        .join(tables.clients_by_conn, on="conn_id", how="inner")
        .where(NO_BROKER)
        .groupBy(*client, "conn_id")
        .agg(
            fn.expr("collect_set(if(leaves, struct(ts_ns, request_id, reason), null)) as goings"),
            fn.expr("max(if(leaves, null, ts_ns)) as back_ns"),
            fn.expr("max(poll_ms) as poll_ms"),
        )
        .selectExpr("*", f"filter(goings, g -> {_IS_TIMEOUT}) as timeouts", f"filter(goings, g -> {_IS_BACK}) as backs")
        .groupBy(*client)
        .agg(
            fn.expr("array_sort(flatten(collect_list(timeouts))) as told"),
            fn.expr("array_sort(flatten(collect_list(backs))) as unsaid"),
            fn.expr("max(poll_ms) as poll_ms"),
            fn.expr("collect_set(conn_id) as conn_ids"),
        )
        .selectExpr("*", f"if(size(unsaid) >= {limit.LEAVES}, array_sort(concat(told, unsaid)), told) as left")
        .where("size(left) > 0")
    )
    poll = "coalesce(concat('max.poll.interval.ms (', poll_ms, ')'), 'max.poll.interval.ms')"
    how = (
        f"if(size(told) > 0, concat(' as nobody had polled it for ', {poll}), concat(' and joined it again each time, "
        f"as clients do that nobody polls for ', {poll}))"
    )
    sentence = (
        f"concat({wording.called()}, ' left group ', group_id, ' ', {wording.times('size(left)')}, {how}, "
        f"', first at ', {wording.clock('left[0].ts_ns')})"
    )
    return found(
        each,
        Finding(
            severity="warning",
            sentence=sentence,
            advice=f"concat('Let the application poll more often: a smaller max.poll.records, or a larger ', {poll}, "
            "'; move slow work out of the poll loop.')",
            subject="group_id",
            client="client_instance_id",
            conn_ids="conn_ids",
            n="size(left)",
            first_ns="left[0].ts_ns",
            last_ns="element_at(left, -1).ts_ns",
            evidence="left.request_id",
        ),
    )


_IS_TIMEOUT = f"g.reason like '%{KIP_800}%' and g.ts_ns < back_ns"
_IS_BACK = "coalesce(g.reason, '') = '' and g.ts_ns < back_ns"


def _comings_and_goings(tables: Tables) -> DataFrame:
    """Requests that leave or join a group, with reason and poll_ms (max.poll.interval.ms) where they tell."""
    leaves = tables.messages("LeaveGroup/request", f"{WHOSE}, members array<struct<reason: string>>").selectExpr(
        *EVENT, "true as leaves", "get(members, 0).reason as reason", "cast(null as bigint) as poll_ms"
    )
    joins = tables.messages("JoinGroup/request", f"{WHOSE}, rebalance_timeout_ms bigint").selectExpr(
        *EVENT, "false as leaves", "cast(null as string) as reason", "rebalance_timeout_ms as poll_ms"
    )
    beats = (
        tables.messages("ConsumerGroupHeartbeat/request", f"{WHOSE}, member_epoch bigint, rebalance_timeout_ms bigint")
        .where("member_epoch in (-1, 0)")
        .selectExpr(
            *EVENT,
            "member_epoch = -1 as leaves",
            "cast(null as string) as reason",
            "nullif(rebalance_timeout_ms, -1) as poll_ms",
        )
    )
    return reduce(DataFrame.unionByName, (leaves, joins, beats))
