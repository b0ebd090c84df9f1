"""From the dataset's tables to the few rows that decide the stories, one address of a client after the other.

What is kept: every connection; of each connection a summary of its requests; every call of the control plane; of
the calls that a healthy client makes all the time (HOT_APIS) those that failed, the first ones of a connection,
the first with records, and the first after a failure of the same call on the same group or transactional id;
every error code; of the topic-partitions that had an error, the mentions that follow one. All transforms are
lazy; rows of one `client_ip` stay together, sorted by section (connections and summaries first), time, rank and
packet.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as fn

from kafkascope_spark import wire

SAMPLES = 64
"""Requests of a connection whose correlation ids are all looked at; after them one a second, and after FINE one a
minute."""
SECOND = 1_000_000_000
FINE = 600 * SECOND
NEAR = SECOND // 2
SOON = 5 * SECOND
AFTER_ERROR = 16
"""Mentions of a topic-partition kept after each error on it: those in flight, and the first success."""
MENTIONED_BY = (wire.PRODUCE, wire.FETCH, wire.LIST_OFFSETS, wire.METADATA, wire.OFFSET_FOR_LEADER_EPOCH)
MENTIONED_BY_SHARE = (wire.SHARE_FETCH, wire.SHARE_ACKNOWLEDGE)

CONNECTION = [
    "conn_id",
    "client_port",
    "server_ip",
    "server_port",
    "node_id",
    "protocol",
    "first_ns",
    "last_ns",
    "syn_ns",
    "synack_ns",
    "close_kind",
    "close_ns",
    "idle_before_close_ms",
    "tls_version",
    "sasl_mechanism",
    "principal",
    "software_name",
    "software_version",
    "n_requests",
    "n_errors",
]
REQUEST = [
    "request_id",
    "conn_id",
    "node_id",
    "api_key",
    "api_name",
    "api_version",
    "correlation_id",
    "ts_ns",
    "request_last_ns",
    "response_ns",
    "latency_us",
    "error_code",
    "error_name",
    "status",
    "group_id",
    "member_id",
    "group_instance_id",
    "generation_or_epoch",
    "transactional_id",
    "max_wait_ms",
    "coordinator_type",
    "coordinator_key",
    "sasl_mechanism",
    "n_records",
]
FAILURE = [
    "request_id",
    "conn_id",
    "api_key",
    "error_name",
    "topic",
    "partition",
    "group_id",
    "transactional_id",
    "resource",
]
TOUCH = ["request_id", "conn_id", "ts_ns", "api_key", "answered", "topic", "partition"]
SORT = ["client_ip", "section", "ts_ns", "rank", "packet_no", "tie"]


def client_events(
    connections: DataFrame, requests: DataFrame, errors: DataFrame, partitions: DataFrame, metadata: DataFrame
) -> DataFrame:
    """One row per event, partitioned by `client_ip` and sorted by SORT: a struct each of connection, summary, told,
    request, failure, touch, one of them set."""
    ranked = with_ranks(requests.where(fn.col("api_key").isNotNull() & (fn.col("status") != "orphan_response")))
    parts = [
        connection_events(with_near_closes(connections)),
        summary_events(per_connection(ranked)),
        told_events(servers_told(metadata, connections)),
        request_events(only_deciding(ranked)),
        failure_events(errors),
        touch_events(only_after_errors(partitions, errors, connections)),
    ]
    events = parts[0]
    for part in parts[1:]:
        events = events.unionByName(part, allowMissingColumns=True)
    return events.repartition("client_ip").sortWithinPartitions(*SORT)


def with_near_closes(connections: DataFrame) -> DataFrame:
    """Add near_idle_ms and refused_after, which tell a broker that dies from one that closes an idle connection.

    near_idle_ms: shortest idle time among what the server closed within half a second; refused_after: connections
    that it refused soon after.
    """
    ends = Window.partitionBy("server_ip", "server_port").orderBy("close_ns")
    by_server = fn.col("close_kind").isin("fin_server", "rst_server")
    idle = fn.min(fn.when(by_server, fn.col("idle_before_close_ms"))).over(ends.rangeBetween(-NEAR, NEAR))
    refused = fn.count(fn.when(fn.col("close_kind") == "refused", 1)).over(ends.rangeBetween(0, SOON))
    return connections.withColumns({"near_idle_ms": idle, "refused_after": refused})


def with_ranks(requests: DataFrame) -> DataFrame:
    """Add, per connection: nth (from 1) and new_slot (first of a second, later of a minute); nth_alike (of the same
    API with as much luck); after_bad."""
    order = ["ts_ns", "request_packet_no", "request_id"]
    connection = Window.partitionBy("client_ip", "client_id", "conn_id").orderBy(*order)
    alike = Window.partitionBy("client_ip", "client_id", "conn_id", "api_key", "lucky").orderBy(*order)
    subject = Window.partitionBy("client_ip", "client_id", "api_key", "group_id", "transactional_id").orderBy(*order)
    bad = (fn.coalesce("error_code", fn.lit(0)) != 0) | fn.col("status").isin("unanswered", "undecoded")
    age = fn.col("ts_ns") - fn.first("ts_ns").over(connection)
    slot = fn.floor(fn.col("ts_ns") / fn.when(age < FINE, SECOND).otherwise(60 * SECOND))
    marked = requests.repartition("client_ip", "client_id").withColumns(
        {"bad": bad, "lucky": fn.coalesce(fn.col("n_records") > 0, fn.lit(False)) & ~bad, "slot": slot}
    )
    return marked.withColumns(
        {
            "nth": fn.row_number().over(connection),
            "new_slot": fn.coalesce(fn.lag("slot").over(connection) != fn.col("slot"), fn.lit(True)),
            "nth_alike": fn.row_number().over(alike),
            "after_bad": fn.coalesce(fn.lag("bad").over(subject), fn.lit(False)),
        }
    )


def only_deciding(ranked: DataFrame) -> DataFrame:
    """The requests that decide a story: see the module."""
    hot = fn.col("api_key").isin(*wire.HOT_APIS)
    return ranked.where(~hot | fn.col("bad") | (fn.col("nth_alike") <= 1) | fn.col("after_bad"))


def per_connection(ranked: DataFrame) -> DataFrame:
    """One row per connection (and client id on it): its ids, groups, members, APIs, and samples of its correlation
    ids."""
    sampled = ((fn.col("nth") <= SAMPLES) | fn.col("new_slot")) & (
        fn.col("correlation_id") < wire.FIRST_RESERVED_CORRELATION_ID
    )
    member = fn.col("api_key").isin(*wire.GROUP_APIS) & fn.col("member_id").isNotNull() & (fn.col("member_id") != "")
    return ranked.groupBy("client_ip", "client_id", "conn_id").agg(
        fn.min("ts_ns").alias("first_request_ns"),
        fn.max("ts_ns").alias("last_request_ns"),
        fn.max("software_name").alias("software_name"),
        fn.max("software_version").alias("software_version"),
        fn.collect_list(fn.when(sampled, fn.struct("ts_ns", "correlation_id"))).alias("ids"),
        fn.collect_set("api_key").alias("apis"),
        fn.collect_set("group_id").alias("groups"),
        fn.collect_set(fn.struct("coordinator_type", "coordinator_key")).alias("sought"),
        fn.collect_set(fn.when(member, fn.col("member_id"))).alias("members"),
        fn.min(fn.when(member, fn.col("ts_ns"))).alias("member_first_ns"),
        fn.max(fn.when(member, fn.col("ts_ns"))).alias("member_last_ns"),
        fn.collect_set("group_instance_id").alias("group_instances"),
        fn.collect_set("transactional_id").alias("transactional_ids"),
        fn.max(_second_transaction_protocol()).alias("txn_v2"),
        fn.max(fn.coalesce(fn.col("replica_id") >= 0, fn.lit(False))).alias("is_replica"),
    )


def _second_transaction_protocol() -> Column:
    """KIP-890: Produce 12, EndTxn 5 and TxnOffsetCommit 5 are sent only where transaction.version is 2."""
    key, version = fn.col("api_key"), fn.col("api_version")
    return ((key == wire.END_TXN) | (key == wire.TXN_OFFSET_COMMIT)) & (version >= 5)


def only_after_errors(partitions: DataFrame, errors: DataFrame, connections: DataFrame) -> DataFrame:
    """Mentions of topic-partitions that had an error, of the same client, that follow an error closely. Adds
    client_ip, client_id, answered."""
    broken = errors.where(fn.col("topic").isNotNull()).select("topic", fn.col("partition").alias("broken")).distinct()
    who = connections.select("conn_id", "client_ip", fn.get("client_ids", fn.lit(0)).alias("client_id"))
    mentions = partitions.where(fn.col("api_key").isin(*MENTIONED_BY, *MENTIONED_BY_SHARE)).select(
        "request_id", "conn_id", "ts_ns", "api_key", "direction", "topic", "partition", "error_code"
    )
    same = (mentions["topic"] == broken["topic"]) & (
        broken["broken"].isNull() | (mentions["partition"] == broken["broken"])
    )
    hits = mentions.join(fn.broadcast(broken), on=same, how="left_semi").join(who, on="conn_id", how="inner")
    before = (
        Window.partitionBy("client_ip", "client_id", "topic", "partition")
        .orderBy("ts_ns", "direction", "request_id")
        .rowsBetween(-AFTER_ERROR, -1)
    )
    failed = fn.coalesce(fn.col("error_code"), fn.lit(0)) != 0
    answered = fn.col("direction") == "response"
    return (
        hits.withColumn("follows", fn.max(failed).over(before))
        .where(fn.col("follows") & ~failed)
        .withColumn("answered", answered)
    )


def connection_events(connections: DataFrame) -> DataFrame:
    """Section 0, rank 0."""
    body = fn.struct(*CONNECTION, "near_idle_ms", "refused_after").alias("connection")
    return connections.select(*_keys(0, "first_ns", 0, fn.lit(0), "conn_id"), body)


def summary_events(summaries: DataFrame) -> DataFrame:
    """Section 0, rank 1: nothing depends on the order among them but the first client id of a connection."""
    body = fn.struct(*(c for c in summaries.columns if c != "client_ip")).alias("summary")
    return summaries.select(*_keys(0, "first_request_ns", 1, fn.lit(0), "conn_id"), body)


def servers_told(metadata: DataFrame, connections: DataFrame) -> DataFrame:
    """One row per connection on which Metadata was answered: the `host:port` of the brokers it was told of."""
    broker = fn.explode("brokers").alias("broker")
    server = fn.concat("broker.host", fn.lit(":"), "broker.port")
    named = metadata.select("conn_id", broker).groupBy("conn_id").agg(fn.collect_set(server).alias("servers"))
    return named.join(connections.select("conn_id", "client_ip", "first_ns"), on="conn_id", how="inner")


def told_events(told: DataFrame) -> DataFrame:
    """Section 0, rank 2."""
    body = fn.struct("conn_id", "servers").alias("told")
    return told.select(*_keys(0, "first_ns", 2, fn.lit(0), "conn_id"), body)


def request_events(requests: DataFrame) -> DataFrame:
    """Section 1, rank 0, at the request's first byte."""
    body = fn.struct(*REQUEST).alias("request")
    return requests.select(*_keys(1, "ts_ns", 0, fn.col("request_packet_no"), "request_id"), body)


def failure_events(errors: DataFrame) -> DataFrame:
    """Section 1, rank 1, at the answer's first byte."""
    known = errors.where(fn.col("error_code") != 0)
    path = fn.concat_ws("|", "request_id", "where", "resource")
    body = fn.struct(*FAILURE).alias("failure")
    return known.withColumn("path", path).select(*_keys(1, "ts_ns", 1, fn.col("packet_no"), "path"), body)


def touch_events(mentions: DataFrame) -> DataFrame:
    """Section 1, rank 2, at the frame's first byte."""
    body = fn.struct(*TOUCH).alias("touch")
    named = mentions.withColumn("path", fn.concat_ws("|", "request_id", "direction", "topic", "partition"))
    return named.select(*_keys(1, "ts_ns", 2, fn.lit(0), "path"), body)


def _keys(section: int, time: str, rank: int, packet: Column, tie: str) -> list[Column]:
    return [
        fn.coalesce("client_ip", fn.lit("")).alias("client_ip"),
        fn.lit(section).alias("section"),
        fn.col(time).cast("long").alias("ts_ns"),
        fn.lit(rank).alias("rank"),
        fn.coalesce(packet.cast("long"), fn.lit(0).cast("long")).alias("packet_no"),
        fn.col(tie).alias("tie"),
    ]
