"""`stuck_consumer`: a read_committed consumer waits behind a transaction that does not end."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from kafkascope_analyzer.dataset.stories import TRANSACTIONS
from kafkascope_spark.findings.client_names import with_name
from kafkascope_spark.findings.rule import Finding, Rule, clock, found
from kafkascope_spark.findings.thresholds import LONG_TRANSACTION_MS, UNSEEN_TRANSACTION_MS
from kafkascope_spark.tables import Tables

MS = 1_000_000
HOLDER = ["transactional_id", "holder", "hangs", "transaction_timeout_ms"]


def find(tables: Tables) -> DataFrame:
    """One finding per consumer and client whose transaction held it back."""
    hangs = (fn.col("outcome") == "hanging") | (fn.col("end_kind") == "coordinator")
    held = tables[TRANSACTIONS].select(
        "transactional_id",
        fn.col("client_instance_id").alias("holder"),
        fn.coalesce(hangs, fn.lit(False)).alias("hangs"),
        "transaction_timeout_ms",
        fn.get("evidence", fn.lit(0)).alias("begun_by"),
        fn.inline("held_back"),
    )
    each = held.groupBy("client_instance_id", *HOLDER).agg(
        fn.min("from_ns").alias("first_ns"),
        fn.max("until_ns").alias("last_ns"),
        fn.max(fn.col("until_ns") - fn.col("from_ns")).alias("longest_ns"),
        fn.count_distinct("partition").alias("n"),
        fn.min("partition").alias("one"),
        fn.array_distinct(
            fn.concat(fn.array_sort(fn.collect_set("begun_by")), fn.array_sort(fn.collect_set("request_id")))
        ).alias("evidence"),
    )
    severity = _severity()
    told = each.withColumn("severity", severity).where(fn.col("severity").isNotNull())
    named = with_name(with_name(told, tables, "client_instance_id", "name"), tables, "holder", "who")
    return found(
        named,
        Finding(
            severity=fn.col("severity"),
            sentence=_sentence(),
            advice=_advice(),
            subject=fn.col("one"),
            client=fn.col("client_instance_id"),
            conn_ids=fn.transform("evidence", lambda one: fn.substring_index(one, "-", 1)),
            n=fn.col("n"),
            first_ns=fn.col("first_ns"),
            last_ns=fn.col("last_ns"),
            evidence=fn.col("evidence"),
        ),
    )


def _severity() -> Column:
    """Null where it is none: transactions that end hold everybody back for as long as they take."""
    unseen = fn.col("transactional_id").isNull()
    long_ = fn.col("longest_ns") >= LONG_TRANSACTION_MS * MS
    return (
        fn.when(fn.col("hangs") | (unseen & long_), "warning")
        .when(long_, "info")
        .when(unseen & (fn.col("longest_ns") >= UNSEEN_TRANSACTION_MS * MS), "info")
    )


def _sentence() -> Column:
    behind = fn.when(
        fn.col("transactional_id").isNotNull(),
        fn.format_string(
            "an open transaction of %s (transactional id %s)",
            fn.coalesce("who", fn.lit("a producer")),
            "transactional_id",
        ),
    ).otherwise("an open transaction of a producer that the capture does not show")
    others = fn.when(fn.col("n") > 1, fn.format_string(" and %d more", fn.col("n") - 1)).otherwise("")
    return fn.format_string(
        "%s reads committed data and got nothing of %s%s for %.1f s from %s: it waited behind %s",
        fn.coalesce("name", fn.lit("A consumer")),
        "one",
        others,
        fn.col("longest_ns") / 1e9,
        clock("first_ns"),
        behind,
    )


def _advice() -> Column:
    known = fn.format_string(
        "Let the producer end its transactions sooner, and lower its transaction.timeout.ms (now %s) so that the "
        "coordinator aborts what it leaves; kafka-transactions.sh find-hanging shows what stays open.",
        fn.col("transaction_timeout_ms").cast("string"),
    )
    return fn.when(fn.col("transaction_timeout_ms").isNotNull(), known)


RULE = Rule(
    name="stuck_consumer",
    title="A read_committed consumer waits behind a transaction that does not end",
    severity="warning",
    meaning="With isolation.level=read_committed (librdkafka's default; Java's is read_uncommitted) a consumer reads up "
    "to the last stable offset: the first record of the oldest open transaction. While that does not end, records pile "
    "up behind it, of other producers too. Lag grows though the consumer is well.",
    looks_at="Fetch answers to consumers that ask for committed data, in which the last stable offset stays while the "
    "high watermark moves; the transaction whose first batch got that offset. Said of transactions that hang, and, as "
    "information, of those that hold a consumer back for a minute or more; of transactions that the capture does not "
    "show from 10 s on, and as a warning from a minute on.",
    advice="Find the producer whose transaction is open: kafka-transactions.sh find-hanging names its producer id; "
    "abort it there.",
    sources=("KIP-98", "KIP-664", "org.apache.kafka.storage.internals.log.UnifiedLog"),
    find=find,
)
