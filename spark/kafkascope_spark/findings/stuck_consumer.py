"""`stuck_consumer`: a read_committed consumer waits behind a transaction that does not end."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from kafkascope_analyzer.dataset.stories import TRANSACTIONS
from kafkascope_spark.findings import wording
from kafkascope_spark.findings.client_names import with_name
from kafkascope_spark.findings.rule import Finding, Rule, found
from kafkascope_spark.findings.signs import Sign
from kafkascope_spark.findings.thresholds import LONG_TRANSACTION_MS
from kafkascope_spark.tables import Tables

LONG_NS = f"{LONG_TRANSACTION_MS}000000L"
HOLDER = ["transactional_id", "holder", "hangs", "transaction_timeout_ms"]
_SEVERITY = (
    f"case when hangs or (transactional_id is null and longest_ns >= {LONG_NS}) then 'warning' "
    f"when longest_ns >= {LONG_NS} or transactional_id is null then 'info' end as severity"
)
"""Null where it is none: transactions that end hold everybody back for as long as they take."""
_SENTENCE = (
    "concat(coalesce(name, 'A consumer'), ' reads committed data and got nothing of ', "
    f"{wording.listed('waiting')}, ' for ', {wording.lasting('longest_ns')}, ' from ', {wording.clock('first_ns')}, "
    "': it waited behind an open transaction of ', if(transactional_id is null, "
    "'a producer that the capture does not show', "
    "concat(coalesce(who, 'a producer'), ', transactional id ', transactional_id)))"
)
_ADVICE = (
    "concat('Let the producer end its transactions sooner, and lower its transaction.timeout.ms (now ', "
    "transaction_timeout_ms, ') so that the coordinator aborts what it leaves; kafka-transactions.sh find-hanging "
    "shows what stays open.')"
)


def find(tables: Tables) -> DataFrame:
    """One finding per consumer and client whose transaction held it back."""
    held = tables[TRANSACTIONS].selectExpr(
        "transactional_id",
        "client_instance_id as holder",
        "coalesce(outcome = 'hanging' or end_kind = 'coordinator', false) as hangs",
        "transaction_timeout_ms",
        "get(evidence, 0) as begun_by",
        "inline(held_back)",
    )
    each = held.groupBy("client_instance_id", *HOLDER).agg(
        fn.expr("min(from_ns) as first_ns"),
        fn.expr("max(until_ns) as last_ns"),
        fn.expr("max(until_ns - from_ns) as longest_ns"),
        fn.expr("array_sort(collect_set(partition)) as waiting"),
        fn.expr(
            "array_distinct(concat(array_sort(collect_set(begun_by)), array_sort(collect_set(request_id)))) as evidence"
        ),
    )
    told = each.selectExpr("*", _SEVERITY).where("severity is not null")
    named = with_name(with_name(told, tables, "client_instance_id", "name"), tables, "holder", "who")
    return found(
        named,
        Finding(
            severity=fn.col("severity"),
            sentence=_SENTENCE,
            advice=_ADVICE,
            subject="waiting[0]",
            client="client_instance_id",
            conn_ids=wording.connections_of("evidence"),
            n="size(waiting)",
            first_ns="first_ns",
            last_ns="last_ns",
            evidence="evidence",
        ),
    )


RULE = Rule(
    name="stuck_consumer",
    title="A read_committed consumer waits behind a transaction that does not end",
    severity="warning",
    meaning="With isolation.level=read_committed (librdkafka's default; Java's is read_uncommitted) a consumer reads "
    "up to the last stable offset: the first record of the oldest open transaction. While that does not end, records "
    "pile up behind it, of other producers too. Lag grows though the consumer is well.",
    looks_at="Fetch answers to consumers that ask for committed data, in which the last stable offset stays while the "
    "high watermark moves; the transaction whose first batch got that offset. Said of transactions that hang, and, as "
    "information, of those that hold a consumer back for a minute or more; of transactions that the capture does not "
    "show from 10 s on, and as a warning from a minute on.",
    advice="Find the producer whose transaction is open: kafka-transactions.sh find-hanging names its producer id; "
    "abort it there.",
    sources=("KIP-98", "KIP-664", "org.apache.kafka.storage.internals.log.UnifiedLog"),
    find=find,
    signs=(
        Sign(TRANSACTIONS, "outcome", frozenset({"hanging", "cut"})),
        Sign(TRANSACTIONS, "end_kind", frozenset({"coordinator"})),
        Sign(TRANSACTIONS, "duration_ms", above=LONG_TRANSACTION_MS - 1),
    ),
)
