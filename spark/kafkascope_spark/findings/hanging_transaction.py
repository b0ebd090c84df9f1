"""`hanging_transaction`: a transaction stays open after its client went away, or for longer than its timeout."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from kafkascope_analyzer.dataset.stories import TRANSACTIONS
from kafkascope_spark.findings import wording
from kafkascope_spark.findings.client_names import with_name
from kafkascope_spark.findings.rule import Finding, Rule, found
from kafkascope_spark.findings.signs import Sign
from kafkascope_spark.tables import Tables

_READERS = "size(array_distinct(transform(coalesce(held_back, array()), one -> one.client_instance_id)))"
_SENTENCE = (
    "concat(coalesce(name, 'A producer'), "
    f"if(left_ns is null, ' kept a transaction open for longer than its timeout, that of ', "
    f"concat(' went away at ', {wording.clock('left_ns')}, ' and left a transaction open, that of ')), "
    f"transactional_id, if(begin_ns is null, '', concat(', begun at ', {wording.clock('begin_ns')})), ': ', "
    f"if(was_aborted, concat('the coordinator aborted it at ', {wording.clock('end_ns')}), "
    "'the capture shows no end of it'), "
    f"if(readers = 0, '', concat('; ', {wording.counted('readers', 'read_committed consumer')}, ' waited behind it')))"
)
_ADVICE = (
    "concat('Lower transaction.timeout.ms of the producer', if(transaction_timeout_ms is null, '', "
    "concat(' (now ', transaction_timeout_ms, ')')), ' so that the coordinator aborts sooner what a dead producer "
    "leaves, or commit more often; start the producer again with the same transactional.id, which aborts it at once. "
    "What stays open after its timeout: kafka-transactions.sh find-hanging, then abort.')"
)


def find(tables: Tables) -> DataFrame:
    """One finding per transaction that hung, or that the coordinator had to abort."""
    hung = tables[TRANSACTIONS].where("outcome = 'hanging' or end_kind = 'coordinator'")
    told = hung.selectExpr(
        "*",
        f"{_READERS} as readers",
        "end_kind <=> 'coordinator' as was_aborted",
        f"coalesce(left_ns, begin_ns, {tables.capture_ns[0]}) as since_ns",
        f"coalesce(end_ns, {tables.capture_ns[1]}) as until_ns",
    )
    return found(
        with_name(told, tables, "client_instance_id", "name"),
        Finding(
            severity=fn.expr("if(was_aborted, 'warning', 'error')"),
            sentence=_SENTENCE,
            advice=_ADVICE,
            subject="transactional_id",
            client="client_instance_id",
            conn_ids=wording.connections_of("evidence"),
            n="1",
            first_ns="since_ns",
            last_ns="until_ns",
            evidence="evidence",
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
    "transaction_timeout_ms of its InitProducerId (15 min, the most that brokers allow by default, where that is not "
    "in the capture); or the coordinator wrote abort markers that no EndTxn asked for. Markers that it writes to "
    "partitions which it leads itself go over its loopback: no capture of the network has them.",
    advice="Lower transaction.timeout.ms of the producer so that the coordinator aborts sooner what a dead producer "
    "leaves; start the producer again with the same transactional.id; kafka-transactions.sh find-hanging, then abort.",
    sources=("KIP-98", "KIP-664", "KIP-890", "org.apache.kafka.coordinator.transaction.TransactionStateManager"),
    find=find,
    signs=(
        Sign(TRANSACTIONS, "outcome", frozenset({"hanging"})),
        Sign(TRANSACTIONS, "end_kind", frozenset({"coordinator"})),
    ),
)
