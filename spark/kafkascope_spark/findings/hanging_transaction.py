"""`hanging_transaction`: a transaction stays open after its client went away, or for longer than its timeout."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from kafkascope_analyzer.dataset.stories import TRANSACTIONS
from kafkascope_spark.findings.client_names import with_name
from kafkascope_spark.findings.rule import Finding, Rule, clock, found
from kafkascope_spark.tables import Tables


def find(tables: Tables) -> DataFrame:
    """One finding per transaction that hung, or that the coordinator had to abort."""
    ended_it = fn.col("end_kind") == "coordinator"
    hung = tables[TRANSACTIONS].where((fn.col("outcome") == "hanging") | ended_it)
    readers = fn.size(fn.array_distinct(fn.transform("held_back", lambda one: one["client_instance_id"])))
    told = hung.withColumns(
        {
            "readers": fn.coalesce(readers, fn.lit(0)),
            "was_aborted": fn.coalesce(ended_it, fn.lit(False)),
            "since_ns": fn.coalesce("left_ns", "begin_ns", fn.lit(tables.capture_ns[0])),
            "until_ns": fn.coalesce("end_ns", fn.lit(tables.capture_ns[1])),
        }
    )
    return found(
        with_name(told, tables, "client_instance_id", "name"),
        Finding(
            severity=fn.when(fn.col("was_aborted"), "warning").otherwise("error"),
            sentence=_sentence(),
            advice=_advice(),
            subject=fn.col("transactional_id"),
            client=fn.col("client_instance_id"),
            conn_ids=fn.transform("evidence", lambda one: fn.substring_index(one, "-", 1)),
            n=fn.lit(1),
            first_ns=fn.col("since_ns"),
            last_ns=fn.col("until_ns"),
            evidence=fn.col("evidence"),
        ),
    )


def _sentence() -> Column:
    went = fn.concat(fn.lit("went away at "), clock("left_ns"), fn.lit(" and left a transaction of "))
    kept = fn.lit("kept a transaction open for longer than its timeout, that of ")
    since = fn.concat(fn.lit(", begun at "), clock("begin_ns"))
    end = fn.when(fn.col("was_aborted"), fn.concat(fn.lit("the coordinator aborted it at "), clock("end_ns"))).otherwise(
        "it was still open at the end of the capture"
    )
    waited = fn.when(
        fn.col("readers") > 0,
        fn.concat(
            fn.lit("; "),
            fn.when(fn.col("readers") == 1, "one read_committed consumer").otherwise(
                fn.concat(fn.col("readers").cast("string"), fn.lit(" read_committed consumers"))
            ),
            fn.lit(" waited behind it"),
        ),
    )
    return fn.concat(
        fn.coalesce("name", fn.lit("A producer")),
        fn.lit(" "),
        fn.when(fn.col("left_ns").isNotNull(), went).otherwise(kept),
        fn.coalesce("transactional_id", fn.lit("an unknown transactional id")),
        fn.when(fn.col("left_ns").isNotNull(), " open").otherwise(""),
        fn.coalesce(since, fn.lit("")),
        fn.lit(": "),
        end,
        fn.coalesce(waited, fn.lit("")),
    )


def _advice() -> Column:
    now = fn.when(
        fn.col("transaction_timeout_ms").isNotNull(), fn.format_string(" (now %d)", "transaction_timeout_ms")
    ).otherwise("")
    return fn.concat(
        fn.lit("Lower transaction.timeout.ms of the producer"),
        now,
        fn.lit(
            " so that the coordinator aborts sooner what a dead producer leaves, or commit more often; restart the "
            "producer with the same transactional.id, which aborts it at once. What stays open after its timeout: "
            "kafka-transactions.sh find-hanging, then abort."
        ),
    )


RULE = Rule(
    name="hanging_transaction",
    title="A transaction stays open after its client went away, or for longer than its timeout",
    severity="error",
    meaning="Nobody who reads committed data gets past the first record of an open transaction. The coordinator "
    "aborts it when transaction.timeout.ms is over (it looks every "
    "transaction.abort.timed.out.transaction.cleanup.interval.ms, 10 s); until then the partitions' last stable offset "
    "does not move. A warning where the coordinator did so in the capture, else an error.",
    looks_at="A transaction that was begun and not ended: all connections of its client ended; or it is older than the "
    "transaction_timeout_ms of its InitProducerId (15 min, the most that brokers allow by default, where that is not in "
    "the capture); or the coordinator wrote abort markers that no EndTxn asked for.",
    advice="Lower transaction.timeout.ms of the producer so that the coordinator aborts sooner what a dead producer "
    "leaves; restart the producer with the same transactional.id; kafka-transactions.sh find-hanging, then abort.",
    sources=("KIP-98", "KIP-664", "KIP-890", "org.apache.kafka.coordinator.transaction.TransactionStateManager"),
    find=find,
)
