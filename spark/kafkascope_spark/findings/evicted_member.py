"""`evicted_member`: a coordinator threw a member out of its group."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from kafkascope_analyzer.dataset.stories import CLIENTS, REBALANCES
from kafkascope_analyzer.dataset.tables import ERRORS, REQUESTS
from kafkascope_spark import wire
from kafkascope_spark.findings import wording
from kafkascope_spark.findings.poll_timeouts import LEFT_AND_BACK, left_and_back
from kafkascope_spark.findings.rule import MOST_EVIDENCE, Rule, Way
from kafkascope_spark.findings.seen import seen, told
from kafkascope_spark.findings.signs import Sign
from kafkascope_spark.findings.silent_members import gone_without
from kafkascope_spark.tables import Tables

THROWN_OUT = ("UNKNOWN_MEMBER_ID", "FENCED_MEMBER_EPOCH")
MOVED = "('NOT_COORDINATOR', 'COORDINATOR_NOT_AVAILABLE', 'COORDINATOR_LOAD_IN_PROGRESS')"
WHO = ("client_instance_id", "client_id", "client_ip", "group_id")
HEARTBEATS = ", ".join(str(key) for key in sorted(wire.GROUP_HEARTBEATS))
MEMBERS = (
    f"{wire.OFFSET_COMMIT}, {wire.JOIN_GROUP}, {wire.SYNC_GROUP}, {wire.HEARTBEAT}, {wire.LEAVE_GROUP}, {HEARTBEATS}"
)
JOINED = "conn_id string, group_id string, session_timeout_ms bigint, rebalance_timeout_ms bigint"


def find(tables: Tables) -> DataFrame:
    """One finding per client and group."""
    terms = tables.messages("JoinGroup/request", JOINED)
    each = (
        _heard(tables, _refused(tables))
        .join(terms, on="group_id", how="left")
        .groupBy(*WHO, "n", "first_ns", "last_ns", "evidence", "conn_ids", "names", "only_joins", "refused_ns", "heard")
        .agg(
            fn.expr("max(if(array_contains(own_conns, conn_id), session_timeout_ms, null)) as session_ms"),
            fn.expr("max(if(array_contains(own_conns, conn_id), nullif(rebalance_timeout_ms, -1), null)) as poll_ms"),
        )
        .selectExpr("*", "refused_ns - heard.ts_ns as silent_ns")
        .where("not only_joins or silent_ns >= session_ms * 1000000L")
    )
    silence = f"concat('nothing was heard of it for ', {wording.lasting('silent_ns')})"
    cause = (
        "case when silent_ns is null then 'the capture begins after that' "
        f"when session_ms is null then {silence} "
        f"when silent_ns >= session_ms * 1000000L then concat({silence}, ', its session.timeout.ms is ', session_ms) "
        f"else concat('it was heard ', {wording.lasting('silent_ns')}, ' before, so it was its rebalance that took "
        "longer than max.poll.interval.ms', coalesce(concat(' (', poll_ms, ')'), '')) end"
    )
    sentence = (
        f"concat({wording.called()}, ' was no longer a member of group ', group_id, ' at ', "
        f"{wording.clock('first_ns')}, ': ', {cause}, ' (', names, ', ', {wording.times('n')}, ')')"
    )
    advice = (
        f"if(session_ms is null or silent_ns >= session_ms * 1000000L, concat('{_SILENT}', "
        f"coalesce(concat(' (now ', session_ms, ')'), ''), '{_SILENT_TOO}'), concat('{_SLOW}', "
        f"coalesce(concat(' (now ', poll_ms, ')'), ''), '{_SLOW_TOO}'))"
    )
    return told(
        each.withColumn(
            "evidence", fn.expr(f"slice(concat(array_compact(array(heard.request_id)), evidence), 1, {MOST_EVIDENCE})")
        ),
        "warning",
        sentence,
        subject="group_id",
        client="client_instance_id",
        advice=advice,
    )


def _refused(tables: Tables) -> DataFrame:
    """One row per member that was told that it is none; own_conns: the client's connections."""
    consumers = (
        tables[CLIENTS]
        .where("size(member_ids) > 0 and kind != 'broker'")
        .selectExpr("explode(conn_ids) as conn_id", "conn_ids as own_conns", "client_instance_id")
    )
    return (
        tables[ERRORS]
        .where(fn.col("error_name").isin(*THROWN_OUT) & (fn.col("api_key") != wire.LEAVE_GROUP))
        .join(consumers, on="conn_id", how="inner")
        .groupBy(*WHO, "own_conns")
        .agg(
            *seen(),
            fn.expr("array_join(array_sort(collect_set(error_name)), ', ') as names"),
            fn.expr(f"every(api_key = {wire.JOIN_GROUP}) as only_joins"),
            fn.expr("min_by(node_id, ts_ns) as node_id"),
        )
    )


def _heard(tables: Tables, refused: DataFrame) -> DataFrame:
    """The same rows with refused_ns (the first request that was refused) and heard (the last one before it that went
    well), without members that had left or whose coordinator moved in between."""
    calls = (
        tables[REQUESTS]
        .where(f"api_key in ({MEMBERS})")
        .select(
            "request_id",
            "conn_id",
            "group_id",
            fn.col("ts_ns").alias("sent_ns"),
            "api_key",
            "error_name",
            "generation_or_epoch",
            fn.col("node_id").alias("asked_node_id"),
        )
    )
    leaves = f"(api_key = {wire.LEAVE_GROUP} or (api_key in ({HEARTBEATS}) and generation_or_epoch < 0))"
    well = f"coalesce(error_name, 'NONE') = 'NONE' and not {leaves}"
    thrown_out = ", ".join(f"'{name}'" for name in THROWN_OUT)
    return (
        calls.join(fn.broadcast(refused.withColumnRenamed("conn_ids", "refused_conns")), on="group_id", how="inner")
        .where("array_contains(own_conns, conn_id) and sent_ns < first_ns")
        .groupBy(
            *WHO,
            "own_conns",
            "n",
            "first_ns",
            "last_ns",
            "evidence",
            fn.col("refused_conns").alias("conn_ids"),
            "names",
            "only_joins",
            "node_id",
        )
        .agg(
            fn.expr(
                f"max_by(struct(request_id, sent_ns as ts_ns, asked_node_id as node_id), if({well}, sent_ns, null))"
                " as heard"
            ),
            fn.expr(f"min(if(error_name in ({thrown_out}), sent_ns, null)) as refused_ns"),
            fn.expr(f"max(if({leaves}, sent_ns, null)) as left_ns"),
            fn.expr(f"max(if(error_name in {MOVED}, sent_ns, null)) as moved_ns"),
        )
        .where(
            "coalesce(left_ns < heard.ts_ns, left_ns is null) and coalesce(moved_ns < heard.ts_ns, moved_ns is null) "
            "and coalesce(heard.node_id = node_id, true)"
        )
    )


def _gone(tables: Tables) -> DataFrame:
    return gone_without(tables, THROWN_OUT)


_SILENT = (
    "Find out why the member was silent (a pause of its process, its host or its network); raise session.timeout.ms"
)
_SILENT_TOO = (
    " if such pauses are expected, with heartbeat.interval.ms at a third of it; with the consumer protocol it is "
    "group.consumer.session.timeout.ms of the brokers."
)
_SLOW = "Let the application poll more often: a smaller max.poll.records, or a larger max.poll.interval.ms"
_SLOW_TOO = "; move slow work out of the poll loop."
RULE = Rule(
    name="evicted_member",
    title="A member was thrown out of its group",
    severity="warning",
    meaning="The coordinator had not heard of a member for its session timeout, or the member did not rejoin in time; "
    "it gave the member's partitions to others. What the member does meanwhile is done twice, and its commits are "
    "refused.",
    looks_at=f"{' or '.join(THROWN_OUT)} to a client that was a member, with the time since its last request that went "
    "well; session.timeout.ms and max.poll.interval.ms are those of its JoinGroup. Members that said that they leave, "
    "and groups whose coordinator moved meanwhile, are left out. Also members that leave because nobody polled them: "
    "Java clients say so in LeaveGroup, others leave and join again, twice or more. And members that are "
    "missing in the next generation and were silent for their session timeout (table rebalances).",
    advice=f"{_SILENT}{_SILENT_TOO} {_SLOW}{_SLOW_TOO}",
    sources=(
        "KIP-62",
        "KIP-800",
        "KIP-848",
        "org.apache.kafka.coordinator.group.GroupMetadataManager",
        "session.timeout.ms and max.poll.interval.ms of the consumer settings",
    ),
    find=find,
    signs=(Sign(ERRORS, "error_name", frozenset(THROWN_OUT)),),
    also=(
        Way(left_and_back, LEFT_AND_BACK),
        Way(_gone, (Sign(REBALANCES, "trigger", frozenset({"member_evicted"})),)),
    ),
)
