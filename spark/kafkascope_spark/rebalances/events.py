"""From the dataset's tables to the few rows that decide what happened in groups: requests that form a group, each with
what it asked and was told, and who was heard of meanwhile.

Heartbeats and commits that went well are rolled up to one row per member and generation; of the heartbeats that carry
the whole protocol (KIP-848 and its like) those stay that say something: an assignment, a new epoch, a join, a leave,
another subscription, what the member owns now, an error. All transforms are lazy. Rows of one group stay together,
sorted by time; bytes of JoinGroup and SyncGroup go along as they are, for the state machine to read.
"""

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn
from pyspark.sql import types as t

from kafkascope_analyzer.dataset.tables import CONNECTIONS, REQUESTS, TOPOLOGY
from kafkascope_spark import wire
from kafkascope_spark.rebalances.wire import BEATS, COMMITS, REFUSALS
from kafkascope_spark.tables import Tables

SORT = ["group_id", "ts_ns", "packet_no", "tie"]
FORMING = (wire.JOIN_GROUP, wire.SYNC_GROUP, wire.LEAVE_GROUP, *BEATS)
KEEPING = (wire.HEARTBEAT, wire.OFFSET_COMMIT, *BEATS)
"""APIs by which a member is heard of."""

ASKED = """
    member_id string, session_timeout_ms int, rebalance_timeout_ms int, protocol_type string, protocol_name string,
    reason string,
    protocols array<struct<name: string, metadata: binary>>,
    assignments array<struct<member_id: string, assignment: binary>>,
    leavers array<struct<member_id: string, group_instance_id: string, reason: string>>,
    member_epoch int, topics array<string>, regex string, owns boolean
"""
"""What a request asks, of whichever API."""
TOLD = """
    member_id string, generation_id int, protocol_type string, protocol_name string, leader string,
    members array<struct<member_id: string, group_instance_id: string>>, assignment binary,
    member_epoch int, heartbeat_interval_ms int, assigns boolean,
    active array<struct<id: string, partitions: array<int>>>, standby array<struct<id: string, partitions: array<int>>>
"""
"""What an answer tells, of whichever API. assigns: whether it carries an assignment, be it an empty one."""
GIVEN = "struct<topic: string, partitions: array<int>>"

_TOPICS = "struct<topic_partitions: array<struct<topic_id: string, partitions: array<int>>>>"
_TASKS = "array<struct<subtopology_id: string, partitions: array<int>>>"
_EPOCH = "member_id string, member_epoch int"
_BEAT_TOLD = f"request_id string, {_EPOCH}, heartbeat_interval_ms int"
_RENAMED = {
    "members": "leavers",
    "subscribed_topic_names": "topics",
    "subscribed_topic_regex": "regex",
    "server_assignor": "protocol_name",
}

_ASKING = {
    "JoinGroup": "member_id string, session_timeout_ms int, rebalance_timeout_ms int, protocol_type string, "
    "protocols array<struct<name: string, metadata: binary>>, reason string",
    "SyncGroup": "member_id string, protocol_type string, protocol_name string, "
    "assignments array<struct<member_id: string, assignment: binary>>",
    "LeaveGroup": "member_id string, "
    "members array<struct<member_id: string, group_instance_id: string, reason: string>>",
    "ConsumerGroupHeartbeat": f"{_EPOCH}, rebalance_timeout_ms int, subscribed_topic_names array<string>, "
    "subscribed_topic_regex string, server_assignor string, topic_partitions array<struct<topic_id: string>>",
    "ShareGroupHeartbeat": f"{_EPOCH}, subscribed_topic_names array<string>",
    "StreamsGroupHeartbeat": f"{_EPOCH}, rebalance_timeout_ms int, active_tasks {_TASKS}",
}
_TELLING = {
    "JoinGroup": "generation_id int, protocol_type string, protocol_name string, leader string, member_id string, "
    "members array<struct<member_id: string, group_instance_id: string>>",
    "SyncGroup": "protocol_type string, protocol_name string, assignment binary",
    "ConsumerGroupHeartbeat": f"{_EPOCH}, heartbeat_interval_ms int, assignment {_TOPICS}",
    "ShareGroupHeartbeat": f"{_EPOCH}, heartbeat_interval_ms int, assignment {_TOPICS}",
    "StreamsGroupHeartbeat": f"{_EPOCH}, heartbeat_interval_ms int, active_tasks {_TASKS}, standby_tasks {_TASKS}, "
    f"warmup_tasks {_TASKS}",
}
"""API -> the fields that are read of its requests, and of its answers."""


def group_events(tables: Tables) -> DataFrame:
    """One row per event: group_id, ts_ns, packet_no, tie, conn_id, client_id, client_instance_id, close_ns, close_kind,
    node_id and either request with asked, told and given, or heard. Partitioned by group_id and sorted by SORT."""
    told = exchanges(tables).unionByName(heard(tables[REQUESTS]), allowMissingColumns=True)
    told = told.coalesce(1) if tables.small else told
    ends = tables[CONNECTIONS].select("conn_id", "close_ns", "close_kind")
    owned = told.join(tables.owners(), on="conn_id", how="left").join(ends, on="conn_id", how="left")
    placed = owned.coalesce(1) if tables.small else owned.repartition("group_id")
    return placed.sortWithinPartitions(*SORT)


def exchanges(tables: Tables) -> DataFrame:
    """Requests that form a group or were refused by it, each with its messages."""
    parts = [_requests(tables[REQUESTS])]
    for api, fields in _ASKING.items():
        if _has(tables, f"{api}/request"):
            parts.append(_asking(tables.messages(f"{api}/request", f"request_id string, {fields}")))
    for api, fields in _TELLING.items():
        if _has(tables, f"{api}/response"):
            answers = tables.messages(f"{api}/response", f"request_id string, {fields}")
            parts.append(_telling(answers))
            if "assignment" in answers.columns and api in ("ConsumerGroupHeartbeat", "ShareGroupHeartbeat"):
                parts.append(_given(answers, tables[TOPOLOGY]))
    every = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)
    for name, kind in (("asked", f"struct<{_flat(ASKED)}>"), ("told", f"struct<{_flat(TOLD)}>"), ("given", GIVEN)):
        if name not in every.columns:
            every = every.withColumn(name, fn.lit(None).cast(kind))
    every = every.coalesce(1) if tables.small else every
    kept = [*SORT, "conn_id", "client_id", "node_id", "request"]
    whole = every.groupBy("request_id").agg(
        *(fn.first(name, ignorenulls=True).alias(name) for name in (*kept, "asked", "told")),
        fn.collect_list("given").alias("given"),
    )
    return whole.where(fn.col("request").isNotNull() & _says_something()).drop("request_id")


def _has(tables: Tables, message: str) -> bool:
    """Whether the dataset has such messages: a branch of the query less where not."""
    return next((tables.dataset / "messages" / message).glob("**/*.parquet"), None) is not None


def _flat(ddl: str) -> str:
    """The DDL of columns as that of a struct's fields."""
    fields = t.DataType.fromDDL(ddl)
    assert isinstance(fields, t.StructType)
    return ", ".join(f"{f.name}: {f.dataType.simpleString()}" for f in fields)


def _shaped(columns: dict[str, Column], ddl: str) -> Column:
    """A struct with the fields of the DDL; those not among columns are null."""
    fields = t.DataType.fromDDL(ddl)
    assert isinstance(fields, t.StructType)
    given = [columns.get(f.name, fn.lit(None)).cast(f.dataType).alias(f.name) for f in fields]
    return fn.struct(*given)


def _requests(requests: DataFrame) -> DataFrame:
    """The requests that matter, without their messages."""
    api, error = fn.col("api_key"), fn.coalesce("error_name", fn.lit("NONE"))
    refused = error.isin(*REFUSALS)
    failed = error != "NONE"
    sought = (api == wire.FIND_COORDINATOR) & (fn.col("coordinator_type") == "group") & (fn.col("status") == "ok")
    matters = api.isin(*FORMING) | ((api == wire.HEARTBEAT) & failed) | (api.isin(*COMMITS) & refused) | sought
    group = fn.coalesce("group_id", fn.when(sought, fn.col("coordinator_key")))
    body = fn.struct(
        "request_id",
        "api_key",
        fn.greatest("response_ns", "response_last_ns").alias("response_ns"),
        "status",
        "error_name",
        "member_id",
        "group_instance_id",
        fn.col("generation_or_epoch").alias("generation"),
    )
    known = requests.where(matters & group.isNotNull() & (fn.col("status") != "orphan_response"))
    return known.select("request_id", *_keys(group, "request_packet_no", "request_id"), *_WHO, body.alias("request"))


_WHO = ["conn_id", "client_id", "node_id"]


def _keys(group: Column, packet: str, tie: str) -> list[Column]:
    return [
        group.alias("group_id"),
        fn.col("ts_ns"),
        fn.coalesce(packet, fn.lit(0)).cast("bigint").alias("packet_no"),
        fn.col(tie).alias("tie"),
    ]


def _asking(messages: DataFrame) -> DataFrame:
    columns = {_RENAMED.get(name, name): fn.col(name) for name in messages.columns}
    owns = columns.get("topic_partitions", columns.get("active_tasks"))
    if owns is not None:
        columns["owns"] = owns.isNotNull()
    return messages.select("request_id", _shaped(columns, ASKED).alias("asked"))


def _telling(messages: DataFrame) -> DataFrame:
    columns = {name: fn.col(name) for name in messages.columns}
    if "active_tasks" in columns:
        columns["assigns"] = columns["active_tasks"].isNotNull()
        columns["active"] = columns["active_tasks"]
        copies = [fn.coalesce(columns[name], fn.array().cast(_TASKS)) for name in ("standby_tasks", "warmup_tasks")]
        columns["standby"] = fn.concat(*copies)
    elif "heartbeat_interval_ms" in columns:
        columns["assigns"] = columns.pop("assignment").isNotNull()
    return messages.select("request_id", _shaped(columns, TOLD).alias("told"))


def _given(messages: DataFrame, topology: DataFrame) -> DataFrame:
    """One row per topic that an answer assigns partitions of, by its name where the capture tells it."""
    each = messages.select("request_id", fn.inline("assignment.topic_partitions"))
    named = topology.where(fn.col("topic_id").isNotNull() & fn.col("topic").isNotNull())
    names = named.groupBy("topic_id").agg(fn.max("topic").alias("topic"))
    given = each.join(names, on="topic_id", how="left")
    body = fn.struct(fn.coalesce("topic", "topic_id").alias("topic"), "partitions")
    return given.select("request_id", body.cast(GIVEN).alias("given"))


def _says_something() -> Column:
    """Whether an exchange is more than a heartbeat of a member of which nothing changes."""
    asked, told = fn.col("asked"), fn.col("told")
    request = fn.col("request")
    says = (
        ~request["api_key"].isin(*BEATS)
        | (fn.coalesce(request["error_name"], fn.lit("NONE")) != "NONE")
        | (asked["member_epoch"] <= 0)
        | asked["topics"].isNotNull()
        | asked["regex"].isNotNull()
        | asked["owns"]
        | told["assigns"]
        | (told["member_epoch"] != asked["member_epoch"])
    )
    return fn.coalesce(says, fn.lit(False))


def heard(requests: DataFrame) -> DataFrame:
    """One row per member, generation, API and connection on which it was heard of without an error."""
    fine = fn.coalesce("error_name", fn.lit("NONE")) == "NONE"
    member = (fn.coalesce("member_id", fn.lit("")) != "") & (fn.col("generation_or_epoch") >= 0)
    keeping = fn.col("api_key").isin(*KEEPING) & fn.col("group_id").isNotNull()
    mine = requests.where(keeping & fine & member & (fn.col("status") != "orphan_response"))
    keys = ["group_id", "api_key", "member_id", "generation_or_epoch", "conn_id"]
    first = fn.min_by(
        fn.struct("request_id", "client_id", "node_id", "group_instance_id", fn.col("request_packet_no").alias("no")),
        fn.struct("ts_ns", "request_packet_no", "request_id"),
    )
    spans = mine.groupBy(*keys).agg(
        fn.min("ts_ns").alias("ts_ns"), fn.max("ts_ns").alias("last_ns"), fn.count("*").alias("n"), first.alias("first")
    )
    body = fn.struct(
        "api_key",
        "member_id",
        fn.col("first.group_instance_id").alias("group_instance_id"),
        fn.col("generation_or_epoch").alias("generation"),
        "last_ns",
        "n",
        fn.col("first.request_id").alias("request_id"),
    )
    tied = spans.withColumns({"no": fn.col("first.no"), "tie": fn.concat_ws("|", "member_id", "api_key", "conn_id")})
    return tied.select(
        *_keys(fn.col("group_id"), "no", "tie"), "conn_id", "first.client_id", "first.node_id", body.alias("heard")
    )
