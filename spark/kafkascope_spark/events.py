"""From the dataset's tables to the few rows that decide the stories, one address of a client after the other.

What is kept: every connection; of each connection a summary of its requests; every call of the control plane; of the calls that a healthy client makes all
the time (HOT_APIS) those that failed, the first ones of a connection, the first with records, and the first after a failure of the same call on the same
group or transactional id; every error code; of the topic-partitions that had an error, the mentions that follow one.
All transforms are lazy; rows of one `client_ip` stay together, sorted by section (connections and summaries first), time, rank and packet.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from kafkascope_spark import wire

SAMPLES = 64
"""Requests of a connection whose correlation ids are all looked at; later one a second, from MINUTE_SAMPLES on one a minute."""
SECOND = 1_000_000_000
NEAR = SECOND // 2
AFTER_ERROR = 16
"""Mentions of a topic-partition kept after each error on it: those in flight, and the first success."""
MENTIONED_BY = (wire.PRODUCE, wire.FETCH, wire.LIST_OFFSETS, wire.METADATA, wire.OFFSET_FOR_LEADER_EPOCH)
MENTIONED_BY_SHARE = (wire.SHARE_FETCH, wire.SHARE_ACKNOWLEDGE)

CONNECTION = (
    "conn_id client_port server_ip server_port node_id protocol first_ns last_ns syn_ns synack_ns close_kind close_ns idle_before_close_ms "
    "tls_version principal software_name software_version n_requests n_errors"
).split()
REQUEST = (
    "request_id conn_id node_id api_key api_name api_version correlation_id ts_ns request_last_ns response_ns latency_us error_code error_name status "
    "group_id member_id group_instance_id generation_or_epoch transactional_id max_wait_ms coordinator_type coordinator_key sasl_mechanism n_records"
).split()
FAILURE = "request_id conn_id api_key error_name topic partition group_id transactional_id resource".split()
TOUCH = "request_id conn_id ts_ns api_key answered topic partition".split()
SORT = ["client_ip", "section", "ts_ns", "rank", "packet_no", "tie"]


def client_events(connections: DataFrame, requests: DataFrame, errors: DataFrame, partitions: DataFrame) -> DataFrame:
    """One row per event, partitioned by `client_ip` and sorted by SORT: a struct each of connection, summary, request, failure, touch, one of them set."""
    ranked = with_ranks(requests.where(F.col("api_key").isNotNull() & (F.col("status") != "orphan_response")))
    parts = [
        connection_events(with_near_closes(connections)),
        summary_events(per_connection(ranked)),
        request_events(only_deciding(ranked)),
        failure_events(errors),
        touch_events(only_after_errors(partitions, errors, connections)),
    ]
    events = parts[0]
    for part in parts[1:]:
        events = events.unionByName(part, allowMissingColumns=True)
    return events.repartition("client_ip").sortWithinPartitions(*SORT)


def with_near_closes(connections: DataFrame) -> DataFrame:
    """Add near_closes and near_idle_ms: what else the same server closed within half a second (a broker that dies closes all of them)."""
    near = Window.partitionBy("server_ip", "server_port").orderBy("close_ns").rangeBetween(-NEAR, NEAR)
    by_server = F.col("close_kind").isin("fin_server", "rst_server")
    return connections.withColumn("near_closes", F.count(F.when(by_server, 1)).over(near)).withColumn(
        "near_idle_ms", F.min(F.when(by_server, F.col("idle_before_close_ms"))).over(near)
    )


def with_ranks(requests: DataFrame) -> DataFrame:
    """Add, per connection: nth (from 1) and second (first request of a second); nth_alike (of the same API with as much luck); after_bad."""
    order = ["ts_ns", "request_packet_no", "request_id"]
    connection = Window.partitionBy("client_ip", "client_id", "conn_id").orderBy(*order)
    alike = Window.partitionBy("client_ip", "client_id", "conn_id", "api_key", "lucky").orderBy(*order)
    subject = Window.partitionBy("client_ip", "client_id", "api_key", "group_id", "transactional_id").orderBy(*order)
    second = F.floor(F.col("ts_ns") / F.lit(SECOND))
    return (
        requests.repartition("client_ip", "client_id")
        .withColumn("bad", (F.coalesce("error_code", F.lit(0)) != 0) | F.col("status").isin("unanswered", "undecoded"))
        .withColumn("lucky", F.coalesce(F.col("n_records") > 0, F.lit(False)) & ~F.col("bad"))
        .withColumn("nth", F.row_number().over(connection))
        .withColumn("new_second", F.coalesce(F.lag(second).over(connection) != second, F.lit(True)))
        .withColumn("nth_alike", F.row_number().over(alike))
        .withColumn("after_bad", F.coalesce(F.lag("bad").over(subject), F.lit(False)))
    )


def only_deciding(ranked: DataFrame) -> DataFrame:
    """The requests that decide a story: see the module."""
    hot = F.col("api_key").isin(*wire.HOT_APIS)
    return ranked.where(~hot | F.col("bad") | (F.col("nth_alike") <= 1) | F.col("after_bad"))


def per_connection(ranked: DataFrame) -> DataFrame:
    """One row per connection (and client id on it): its ids, groups, members, APIs, and samples of its correlation ids."""
    sampled = ((F.col("nth") <= SAMPLES) | F.col("new_second")) & (
        F.col("correlation_id") < wire.FIRST_RESERVED_CORRELATION_ID
    )
    member = F.col("api_key").isin(*wire.GROUP_APIS) & F.col("member_id").isNotNull() & (F.col("member_id") != "")
    return ranked.groupBy("client_ip", "client_id", "conn_id").agg(
        F.min("ts_ns").alias("first_request_ns"),
        F.max("ts_ns").alias("last_request_ns"),
        F.max("software_name").alias("software_name"),
        F.max("software_version").alias("software_version"),
        F.collect_list(F.when(sampled, F.struct("ts_ns", "correlation_id"))).alias("ids"),
        F.collect_set("api_key").alias("apis"),
        F.collect_set("group_id").alias("groups"),
        F.collect_set(F.when(member, F.col("member_id"))).alias("members"),
        F.min(F.when(member, F.col("ts_ns"))).alias("member_first_ns"),
        F.max(F.when(member, F.col("ts_ns"))).alias("member_last_ns"),
        F.collect_set("group_instance_id").alias("group_instances"),
        F.collect_set("transactional_id").alias("transactional_ids"),
        F.max(_second_transaction_protocol()).alias("txn_v2"),
        F.max(F.coalesce(F.col("replica_id") >= 0, F.lit(False))).alias("is_replica"),
    )


def _second_transaction_protocol() -> Column:
    """KIP-890: Produce 12, EndTxn 5 and TxnOffsetCommit 5 are sent only where transaction.version is 2."""
    key, version = F.col("api_key"), F.col("api_version")
    return ((key == wire.END_TXN) | (key == wire.TXN_OFFSET_COMMIT)) & (version >= 5)


def only_after_errors(partitions: DataFrame, errors: DataFrame, connections: DataFrame) -> DataFrame:
    """Mentions of topic-partitions that had an error, of the same client, that follow an error closely. Adds client_ip, client_id, answered."""
    broken = errors.where(F.col("topic").isNotNull()).select("topic", F.col("partition").alias("broken")).distinct()
    who = connections.select("conn_id", "client_ip", F.get("client_ids", F.lit(0)).alias("client_id"))
    mentions = partitions.where(F.col("api_key").isin(*MENTIONED_BY, *MENTIONED_BY_SHARE)).select(
        "request_id", "conn_id", "ts_ns", "api_key", "direction", "topic", "partition", "error_code"
    )
    same = (mentions["topic"] == broken["topic"]) & (
        broken["broken"].isNull() | (mentions["partition"] == broken["broken"])
    )
    hits = mentions.join(F.broadcast(broken), on=same, how="left_semi").join(who, on="conn_id", how="inner")
    before = (
        Window.partitionBy("client_ip", "client_id", "topic", "partition")
        .orderBy("ts_ns", "direction", "request_id")
        .rowsBetween(-AFTER_ERROR, -1)
    )
    failed = F.coalesce(F.col("error_code"), F.lit(0)) != 0
    answered = F.col("direction") == "response"
    return (
        hits.withColumn("follows", F.max(failed).over(before))
        .where(F.col("follows") & ~failed)
        .withColumn("answered", answered)
    )


def connection_events(connections: DataFrame) -> DataFrame:
    """Section 0, rank 0."""
    body = F.struct(*CONNECTION, "near_closes", "near_idle_ms").alias("connection")
    return connections.select(*_keys(0, "first_ns", 0, F.lit(0), "conn_id"), body)


def summary_events(summaries: DataFrame) -> DataFrame:
    """Section 0, rank 1: nothing depends on the order among them but the first client id of a connection."""
    body = F.struct(*(c for c in summaries.columns if c != "client_ip")).alias("summary")
    return summaries.select(*_keys(0, "first_request_ns", 1, F.lit(0), "conn_id"), body)


def request_events(requests: DataFrame) -> DataFrame:
    """Section 1, rank 0, at the request's first byte."""
    body = F.struct(*REQUEST).alias("request")
    return requests.select(*_keys(1, "ts_ns", 0, F.col("request_packet_no"), "request_id"), body)


def failure_events(errors: DataFrame) -> DataFrame:
    """Section 1, rank 1, at the answer's first byte."""
    known = errors.where(F.col("error_code") != 0)
    path = F.concat_ws("|", "request_id", "where", "resource")
    body = F.struct(*FAILURE).alias("failure")
    return known.withColumn("path", path).select(*_keys(1, "ts_ns", 1, F.col("packet_no"), "path"), body)


def touch_events(mentions: DataFrame) -> DataFrame:
    """Section 1, rank 2, at the frame's first byte."""
    body = F.struct(*TOUCH).alias("touch")
    named = mentions.withColumn("path", F.concat_ws("|", "request_id", "direction", "topic", "partition"))
    return named.select(*_keys(1, "ts_ns", 2, F.lit(0), "path"), body)


def _keys(section: int, time: str, rank: int, packet: Column, tie: str) -> list[Column]:
    return [
        F.coalesce("client_ip", F.lit("")).alias("client_ip"),
        F.lit(section).alias("section"),
        F.col(time).cast("long").alias("ts_ns"),
        F.lit(rank).alias("rank"),
        F.coalesce(packet.cast("long"), F.lit(0).cast("long")).alias("packet_no"),
        F.col(tie).alias("tie"),
    ]
