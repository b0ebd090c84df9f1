"""From the dataset's tables to the few rows that decide what happened in groups: requests that form a group, each with
what it asked and was told, and who was heard of meanwhile.

Heartbeats and commits that went well are rolled up to one row per member and generation; of the heartbeats that carry
the whole protocol (KIP-848 and its like) those stay that say something: an assignment, a new epoch, a join, a leave,
another subscription, what the member owns now, an error. All transforms are lazy. Rows of one group stay together,
sorted by time; bytes of JoinGroup and SyncGroup go along as they are, for the state machine to read.
"""

from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from kafkascope_analyzer.dataset.tables import CONNECTIONS, REQUESTS, TOPOLOGY
from kafkascope_spark import wire
from kafkascope_spark.rebalances.wire import BEATS, COMMITS, REFUSALS
from kafkascope_spark.tables import Tables

SORT = ["group_id", "ts_ns", "packet_no", "tie"]
FORMING = (wire.JOIN_GROUP, wire.SYNC_GROUP, wire.LEAVE_GROUP, *BEATS)
KEEPING = (wire.HEARTBEAT, wire.OFFSET_COMMIT, *BEATS)
"""APIs by which a member is heard of."""
NAMED_BY_ID = ("ConsumerGroupHeartbeat", "ShareGroupHeartbeat")
"""APIs whose answers assign topics by id."""

Fields = dict[str, str]
"""Name of a field -> its Spark type."""
_TASKS = "array<struct<id: string, partitions: array<int>>>"
ASKED: Fields = {
    "member_id": "string",
    "session_timeout_ms": "int",
    "rebalance_timeout_ms": "int",
    "protocol_type": "string",
    "protocol_name": "string",
    "reason": "string",
    "protocols": "array<struct<name: string, metadata: binary>>",
    "assignments": "array<struct<member_id: string, assignment: binary>>",
    "leavers": "array<struct<member_id: string, group_instance_id: string, reason: string>>",
    "member_epoch": "int",
    "topics": "array<string>",
    "regex": "string",
    "owns": "boolean",
}
"""What a request asks, of whichever API."""
TOLD: Fields = {
    "member_id": "string",
    "generation_id": "int",
    "protocol_type": "string",
    "protocol_name": "string",
    "leader": "string",
    "members": "array<struct<member_id: string, group_instance_id: string>>",
    "assignment": "binary",
    "member_epoch": "int",
    "heartbeat_interval_ms": "int",
    "assigns": "boolean",
    "active": _TASKS,
    "standby": _TASKS,
}
"""What an answer tells, of whichever API. assigns: whether it carries an assignment, be it an empty one."""
GIVEN: Fields = {"topic": "string", "partitions": "array<int>"}
REQUEST: Fields = {
    "request_id": "string",
    "api_key": "smallint",
    "response_ns": "bigint",
    "status": "string",
    "error_name": "string",
    "member_id": "string",
    "group_instance_id": "string",
    "generation": "int",
}

_JOIN = ("member_id", "session_timeout_ms", "rebalance_timeout_ms", "protocol_type", "protocols", "reason")
_JOINED = ("member_id", "generation_id", "protocol_type", "protocol_name", "leader", "members")
_EPOCH = {"member_id": "member_id", "member_epoch": "member_epoch"}
_BEAT = _EPOCH | {"topics": "subscribed_topic_names"}
_ASKING: dict[str, Fields] = {
    "JoinGroup": {name: name for name in _JOIN},
    "SyncGroup": {name: name for name in ("member_id", "protocol_type", "protocol_name", "assignments")},
    "LeaveGroup": {"member_id": "member_id", "leavers": "members"},
    "ConsumerGroupHeartbeat": _BEAT
    | {
        "rebalance_timeout_ms": "rebalance_timeout_ms",
        "regex": "subscribed_topic_regex",
        "protocol_name": "server_assignor",
        "owns": "topic_partitions is not null",
    },
    "ShareGroupHeartbeat": _BEAT,
    "StreamsGroupHeartbeat": _EPOCH
    | {"rebalance_timeout_ms": "rebalance_timeout_ms", "owns": "active_tasks is not null"},
}
_BEAT_TOLD = _EPOCH | {"heartbeat_interval_ms": "heartbeat_interval_ms", "assigns": "assignment is not null"}
_TELLING: dict[str, Fields] = {
    "JoinGroup": {name: name for name in _JOINED},
    "SyncGroup": {name: name for name in ("protocol_type", "protocol_name", "assignment")},
    "ConsumerGroupHeartbeat": _BEAT_TOLD,
    "ShareGroupHeartbeat": _BEAT_TOLD,
    "StreamsGroupHeartbeat": _BEAT_TOLD
    | {
        "assigns": "active_tasks is not null",
        "active": "active_tasks",
        "standby": "concat(coalesce(standby_tasks, array()), coalesce(warmup_tasks, array()))",
    },
}
"""API -> field of ASKED, or of TOLD -> what of the message it is."""

_TOPICS = "struct<topic_partitions: array<struct<topic_id: string, partitions: array<int>>>>"
_SUBTASKS = "array<struct<subtopology_id: string, partitions: array<int>>>"
_MESSAGES: dict[str, Fields] = {
    "JoinGroup/request": {name: ASKED[name] for name in _JOIN},
    "JoinGroup/response": {name: TOLD[name] for name in _JOINED},
    "SyncGroup/request": {n: ASKED[n] for n in ("member_id", "protocol_type", "protocol_name", "assignments")},
    "SyncGroup/response": {n: TOLD[n] for n in ("protocol_type", "protocol_name", "assignment")},
    "LeaveGroup/request": {"member_id": "string", "members": ASKED["leavers"]},
}
_MESSAGES |= {
    f"{api}/request": {
        "member_id": "string",
        "member_epoch": "int",
        "rebalance_timeout_ms": "int",
        "subscribed_topic_names": "array<string>",
        "subscribed_topic_regex": "string",
        "server_assignor": "string",
        "topic_partitions": "array<struct<topic_id: string>>",
        "active_tasks": _SUBTASKS,
    }
    for api in ("ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "StreamsGroupHeartbeat")
}
_MESSAGES |= {
    f"{api}/response": {"member_id": "string", "member_epoch": "int", "heartbeat_interval_ms": "int"}
    | (
        {"assignment": _TOPICS}
        if api in NAMED_BY_ID
        else {"active_tasks": _SUBTASKS, "standby_tasks": _SUBTASKS, "warmup_tasks": _SUBTASKS}
    )
    for api in (*NAMED_BY_ID, "StreamsGroupHeartbeat")
}
"""Messages -> the fields that are read of them."""

_WHO = ("conn_id", "client_id", "node_id")
_COLUMNS: Fields = {
    "request_id": "string",
    "group_id": "string",
    "ts_ns": "bigint",
    "packet_no": "bigint",
    "tie": "string",
    "conn_id": "string",
    "client_id": "string",
    "node_id": "int",
}


def _struct_type(fields: Fields) -> str:
    return f"struct<{', '.join(f'{name}: {kind}' for name, kind in fields.items())}>"


_COLUMNS |= {"request": _struct_type(REQUEST), "asked": _struct_type(ASKED), "told": _struct_type(TOLD)}
_COLUMNS |= {"given": _struct_type(GIVEN)}
"""Columns of the parts that an exchange is put together from: each part has some of them, the others are null."""


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
            parts.append(_part(_messages(tables, f"{api}/request"), {"asked": _shaped(fields, ASKED)}))
    for api, fields in _TELLING.items():
        if _has(tables, f"{api}/response"):
            answers = _messages(tables, f"{api}/response")
            parts.append(_part(answers, {"told": _shaped(fields, TOLD)}))
            if api in NAMED_BY_ID:
                parts.append(_given(answers, tables[TOPOLOGY]))
    every = reduce(DataFrame.union, parts)
    every = every.coalesce(1) if tables.small else every
    firsts = [name for name in _COLUMNS if name not in ("request_id", "given")]
    # first, and not max: bytes and structs of them have no order to speak of, and there is one of each.
    whole = every.groupBy("request_id").agg(
        *(fn.expr(f"first({name}, true) as {name}") for name in firsts), fn.expr("collect_list(given) as given")
    )
    return whole.where(f"request is not null and {_says_something()}").drop("request_id")


def _has(tables: Tables, message: str) -> bool:
    """Whether the dataset has such messages: a branch of the query less where not."""
    return next((tables.dataset / "messages" / message).glob("**/*.parquet"), None) is not None


def _messages(tables: Tables, message: str) -> DataFrame:
    fields = _MESSAGES[message]
    return tables.messages(message, ", ".join(["request_id string", *(f"{n} {kind}" for n, kind in fields.items())]))


def _shaped(values: Fields, fields: Fields) -> str:
    """SQL of a struct of all fields; values: which of them are not null, and what they are."""
    given = (f"'{name}', cast({values.get(name, 'null')} as {kind})" for name, kind in fields.items())
    return f"named_struct({', '.join(given)})"


def _part(rows: DataFrame, columns: Fields) -> DataFrame:
    """The rows with all of _COLUMNS; columns: SQL of those that are not null, beside request_id."""
    columns = {"request_id": "request_id"} | columns
    return rows.selectExpr(*(f"cast({columns.get(n, 'null')} as {kind}) as {n}" for n, kind in _COLUMNS.items()))


def _requests(requests: DataFrame) -> DataFrame:
    """The requests that matter, without their messages."""
    sought = f"(api_key = {wire.FIND_COORDINATOR} and coordinator_type = 'group' and status = 'ok')"
    error = "coalesce(error_name, 'NONE')"
    matters = (
        f"(api_key in ({_listed(FORMING)}) or (api_key = {wire.HEARTBEAT} and {error} != 'NONE') "
        f"or (api_key in ({_listed(COMMITS)}) and {error} in ({_quoted(REFUSALS)})) or {sought})"
    )
    group = f"coalesce(group_id, if({sought}, coordinator_key, null))"
    body = {name: name for name in REQUEST}
    body |= {"response_ns": "greatest(response_ns, response_last_ns)", "generation": "generation_or_epoch"}
    columns = {name: name for name in (*_WHO, "ts_ns")}
    columns |= {"group_id": group, "packet_no": "coalesce(request_packet_no, 0)", "tie": "request_id"}
    known = requests.where(f"{matters} and {group} is not null and status != 'orphan_response'")
    return _part(known, columns | {"request": _shaped(body, REQUEST)})


def _listed(keys: tuple[int, ...]) -> str:
    return ", ".join(map(str, keys))


def _quoted(names: tuple[str, ...]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _given(messages: DataFrame, topology: DataFrame) -> DataFrame:
    """One row per topic that an answer assigns partitions of, by its name where the capture tells it."""
    each = messages.selectExpr("request_id", "inline(assignment.topic_partitions)")
    named = topology.where("topic_id is not null and topic is not null")
    names = named.groupBy("topic_id").agg(fn.max("topic").alias("topic"))
    given = each.join(names, on="topic_id", how="left")
    return _part(given, {"given": _shaped({"topic": "coalesce(topic, topic_id)", "partitions": "partitions"}, GIVEN)})


def _says_something() -> str:
    """Whether an exchange is more than a heartbeat of a member of which nothing changes."""
    says = (
        f"request.api_key not in ({_listed(tuple(BEATS))}) or coalesce(request.error_name, 'NONE') != 'NONE' "
        "or asked.member_epoch <= 0 or asked.topics is not null or asked.regex is not null or asked.owns "
        "or told.assigns or told.member_epoch != asked.member_epoch"
    )
    return f"coalesce({says}, false)"


def heard(requests: DataFrame) -> DataFrame:
    """One row per member, generation, API and connection on which it was heard of without an error."""
    mine = requests.where(
        f"api_key in ({_listed(KEEPING)}) and group_id is not null and coalesce(error_name, 'NONE') = 'NONE' "
        "and coalesce(member_id, '') != '' and generation_or_epoch >= 0 and status != 'orphan_response'"
    )
    first = "struct(ts_ns, request_packet_no as no, request_id, client_id, node_id, group_instance_id)"
    spans = mine.groupBy("group_id", "api_key", "member_id", "generation_or_epoch", "conn_id").agg(
        fn.expr(f"min({first}) as first"), fn.expr("max(ts_ns) as last_ns"), fn.expr("count(*) as n")
    )
    return spans.selectExpr(
        "group_id",
        "first.ts_ns as ts_ns",
        "coalesce(first.no, 0) as packet_no",
        "concat_ws('|', member_id, cast(api_key as string), conn_id) as tie",
        "conn_id",
        "first.client_id as client_id",
        "first.node_id as node_id",
        "named_struct('api_key', api_key, 'member_id', member_id, 'group_instance_id', first.group_instance_id, "
        "'generation', generation_or_epoch, 'last_ns', last_ns, 'n', n, 'request_id', first.request_id) as heard",
    )
