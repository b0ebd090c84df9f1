"""From the dataset's tables to what decides the transactions of a transactional id, in order.

Sources: InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn, TxnOffsetCommit, EndTxn of clients; what they wrote,
rolled up (written); between brokers, WriteTxnMarkers and AddPartitionsToTxn (v4 and later: KIP-890 has the leader ask
the coordinator). Markers name the producer id alone: the transactional id is that of others with the same producer id.
"""

from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as fn

from kafkascope_analyzer.dataset.stories import CLIENTS
from kafkascope_analyzer.dataset.tables import ERRORS, REQUESTS
from kafkascope_spark import wire
from kafkascope_spark.tables import Tables
from kafkascope_spark.transactions.held_back import WHERE, held_back, is_long
from kafkascope_spark.transactions.machine import (
    END,
    HELD_BACK,
    INIT,
    MARKERS,
    REQUEST,
    SEEN_BY_BROKER,
    V2_END,
    V2_OFFSET_COMMIT,
    WRITTEN,
)
from kafkascope_spark.transactions.written import written_and_held

TOPICS = "array<struct<name: string, partitions: array<int>>>"
OFFSETS_TOPIC = "__consumer_offsets"
"""Where TxnOffsetCommit of v2 puts its group: told as the group, not as a partition written."""
OF_BROKERS = 4
"""AddPartitionsToTxn from this version on comes from brokers only."""
ASKED = (
    wire.INIT_PRODUCER_ID,
    wire.ADD_PARTITIONS_TO_TXN,
    wire.ADD_OFFSETS_TO_TXN,
    wire.END_TXN,
    wire.TXN_OFFSET_COMMIT,
)
SORT = ["transactional_id", "ts_ns", "packet_no", "request_id"]
COLUMNS = [
    *SORT,
    "kind",
    "client_instance_id",
    "left_ns",
    "protocol",
    "answered_ns",
    "last_ns",
    "last_request_id",
    "producer_id",
    "producer_epoch",
    "asked_producer_id",
    "answer_producer_id",
    "answer_producer_epoch",
    "timeout_ms",
    "committed",
    "partitions",
    "group_id",
    "n_batches",
    "n_records",
    "errors",
    "held_back",
]


def transaction_events(tables: Tables) -> DataFrame:
    """COLUMNS, partitioned by transactional_id and sorted by SORT. Lazy."""
    owners = owners_and_when_they_left(tables)
    parts = [asked_events(tables, owners), seen_by_brokers(tables), marker_events(tables)]
    asked = with_transactional_id(reduce(_union, parts))
    bounds = asked.where(fn.col("kind").isin(INIT, END, MARKERS)).select("transactional_id", "ts_ns")
    written = written_and_held(tables, owners, bounds, held_back(tables))
    events = _union(asked, written_events(written)).select(*COLUMNS)
    apart = events.coalesce(1) if tables.small else events.repartition("transactional_id")
    return apart.sortWithinPartitions(*SORT)


def _union(one: DataFrame, other: DataFrame) -> DataFrame:
    return one.unionByName(other, allowMissingColumns=True)


def owners_and_when_they_left(tables: Tables) -> DataFrame:
    """conn_id, client_instance_id, left_ns: the last that was seen of a client whose connections all ended."""
    gone = fn.when(fn.col("end").isin("closed", "died", "evicted"), fn.col("last_ns"))
    owners = tables[CLIENTS].select(
        fn.explode("conn_ids").alias("conn_id"), "client_instance_id", gone.alias("left_ns")
    )
    return fn.broadcast(owners) if tables.small else owners


def asked_events(tables: Tables, owners: DataFrame) -> DataFrame:
    """What clients asked the coordinator for."""
    api = fn.col("api_key")
    mine = tables[REQUESTS].where(
        fn.col("transactional_id").isNotNull()
        & api.isin(*ASKED)
        & ((api != wire.ADD_PARTITIONS_TO_TXN) | (fn.col("api_version") < OF_BROKERS))
    )
    kind = fn.when(api == wire.INIT_PRODUCER_ID, INIT).when(api == wire.END_TXN, END).otherwise(REQUEST)
    told = mine.select(
        "transactional_id",
        "ts_ns",
        fn.col("request_packet_no").alias("packet_no"),
        "request_id",
        "conn_id",
        kind.alias("kind"),
        _protocol().alias("protocol"),
        fn.col("response_ns").alias("answered_ns"),
        "producer_id",
        "producer_epoch",
        "committed",
        "group_id",
    )
    return (
        told.join(owners, on="conn_id", how="left")
        .join(said(tables), on="request_id", how="left")
        .join(errors_of(tables), on="request_id", how="left")
        .withColumns(
            {
                "producer_id": fn.coalesce("producer_id", "said_producer_id"),
                "producer_epoch": fn.coalesce("producer_epoch", "said_producer_epoch"),
                "group_id": fn.coalesce("group_id", "said_group_id"),
            }
        )
        .drop("conn_id", "said_producer_id", "said_producer_epoch", "said_group_id")
    )


def _protocol() -> Column:
    api, version = fn.col("api_key"), fn.col("api_version")
    floor = fn.when(api == wire.END_TXN, V2_END).when(api == wire.TXN_OFFSET_COMMIT, V2_OFFSET_COMMIT)
    adds = api.isin(wire.ADD_PARTITIONS_TO_TXN, wire.ADD_OFFSETS_TO_TXN)
    return fn.when(adds | (version < floor), "v1").when(version >= floor, "v2")


def said(tables: Tables) -> DataFrame:
    """By request_id, what messages say beside what requests has."""
    parts = [
        tables.messages(
            "InitProducerId/request", "request_id string, transaction_timeout_ms int, producer_id bigint"
        ).select(
            "request_id",
            fn.col("transaction_timeout_ms").alias("timeout_ms"),
            fn.col("producer_id").alias("asked_producer_id"),
        ),
        tables.messages("EndTxn/response", "request_id string, producer_id bigint, producer_epoch smallint").select(
            "request_id",
            fn.col("producer_id").alias("answer_producer_id"),
            fn.col("producer_epoch").alias("answer_producer_epoch"),
        ),
        tables.messages(
            "AddPartitionsToTxn/request",
            "request_id string, api_version smallint, v3_and_below_producer_id bigint, "
            f"v3_and_below_producer_epoch smallint, v3_and_below_topics {TOPICS}",
        )
        .where(fn.col("api_version") < OF_BROKERS)
        .select(
            "request_id",
            fn.col("v3_and_below_producer_id").alias("said_producer_id"),
            fn.col("v3_and_below_producer_epoch").alias("said_producer_epoch"),
            named_partitions("v3_and_below_topics", "partitions").alias("partitions"),
        ),
        tables.messages(
            "AddOffsetsToTxn/request",
            "request_id string, producer_id bigint, producer_epoch smallint, group_id string",
        ).select(
            "request_id",
            fn.col("producer_id").alias("said_producer_id"),
            fn.col("producer_epoch").alias("said_producer_epoch"),
            fn.col("group_id").alias("said_group_id"),
        ),
    ]
    return reduce(_union, parts)


def errors_of(tables: Tables) -> DataFrame:
    """By request_id, the names of the errors in answers about transactions, sorted."""
    mine = tables[ERRORS].where(fn.col("api_key").isin(*ASKED) & (fn.col("error_code") != 0))
    return mine.groupBy("request_id").agg(fn.array_sort(fn.collect_set("error_name")).alias("errors"))


def written_events(written: DataFrame) -> DataFrame:
    """What was written; where nothing was, consumers that an unseen transaction held back."""
    unseen = fn.col("transactional_id").isNull()
    return (
        written.where(~unseen | is_long())
        .withColumns(
            {
                "kind": fn.when(unseen, HELD_BACK).otherwise(WRITTEN),
                "transactional_id": fn.coalesce("transactional_id", fn.lit("")),
                "packet_no": fn.lit(0).cast("bigint"),
                "request_id": fn.coalesce("request_id", "nobody"),
            }
        )
        .drop("gap", "nobody")
    )


def unseen_events(tables: Tables) -> DataFrame:
    """Of a dataset without transactional producers, consumers that unseen transactions held back: what the machine
    needs of COLUMNS, in its order. Lazy."""
    held = held_back(tables).where(is_long())
    events = held.select(
        fn.lit("").alias("transactional_id"),
        fn.get("held_back", fn.lit(0))["from_ns"].alias("ts_ns"),
        fn.lit(0).cast("bigint").alias("packet_no"),
        fn.concat_ws("-", *WHERE).alias("request_id"),
        fn.lit(HELD_BACK).alias("kind"),
        "held_back",
    )
    return events.sortWithinPartitions(*SORT)


def seen_by_brokers(tables: Tables) -> DataFrame:
    """AddPartitionsToTxn of leaders: whose batches they got."""
    asked = tables.messages(
        "AddPartitionsToTxn/request",
        "request_id string, ts_ns bigint, api_version smallint, transactions array<struct<transactional_id: string, "
        f"producer_id: bigint, producer_epoch: smallint, verify_only: boolean, topics: {TOPICS}>>",
    )
    return (
        asked.where(fn.col("api_version") >= OF_BROKERS)
        .select("request_id", "ts_ns", fn.inline("transactions"))
        .withColumn("written", fn.filter("topics", lambda topic: topic["name"] != OFFSETS_TOPIC))
        .select(
            "transactional_id",
            "ts_ns",
            "request_id",
            fn.lit(0).cast("bigint").alias("packet_no"),
            fn.lit(SEEN_BY_BROKER).alias("kind"),
            fn.when(fn.col("verify_only"), "v1").otherwise("v2").alias("protocol"),
            "producer_id",
            "producer_epoch",
            named_partitions("written", "partitions").alias("partitions"),
        )
    )


def marker_events(tables: Tables) -> DataFrame:
    """WriteTxnMarkers, by producer, with the partitions where the marker was written."""
    asked = tables.messages(
        "WriteTxnMarkers/request",
        "request_id string, ts_ns bigint, markers array<struct<producer_id: bigint, producer_epoch: smallint, "
        "transaction_result: boolean>>",
    ).select("request_id", "ts_ns", fn.inline("markers"))
    answers = tables.messages(
        "WriteTxnMarkers/response",
        "request_id string, ts_ns bigint, markers array<struct<producer_id: bigint, topics: array<struct<name: string, "
        "partitions: array<struct<partition_index: int, error_code: smallint>>>>>>",
    ).select("request_id", fn.col("ts_ns").alias("answered_ns"), fn.inline("markers"))
    done = fn.transform(
        "topics",
        lambda topic: fn.transform(
            fn.filter(topic["partitions"], lambda one: one["error_code"] == 0),
            lambda one: fn.concat_ws("-", topic["name"], one["partition_index"]),
        ),
    )
    written = answers.select("request_id", "producer_id", "answered_ns", fn.flatten(done).alias("partitions"))
    return asked.join(written, on=["request_id", "producer_id"], how="left").select(
        "ts_ns",
        "request_id",
        fn.lit(0).cast("bigint").alias("packet_no"),
        fn.lit(MARKERS).alias("kind"),
        "producer_id",
        "producer_epoch",
        fn.col("transaction_result").alias("committed"),
        "answered_ns",
        "partitions",
    )


def named_partitions(topics: str, partitions: str) -> Column:
    """`topic-partition` of each partition in a list of topics."""
    return fn.flatten(
        fn.transform(
            topics,
            lambda topic: fn.transform(topic[partitions], lambda one: fn.concat_ws("-", topic["name"], one)),
        )
    )


def with_transactional_id(events: DataFrame) -> DataFrame:
    """Fill it in where an event has a producer id alone; drop what stays without. Lazy."""
    same = Window.partitionBy("producer_id")
    known = fn.when(fn.col("producer_id").isNotNull(), fn.max("transactional_id").over(same))
    return events.withColumn("transactional_id", fn.coalesce("transactional_id", known)).where(
        fn.col("transactional_id").isNotNull()
    )
