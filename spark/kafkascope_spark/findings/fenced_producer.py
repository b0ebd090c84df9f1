"""`fenced_producer`: another instance took a living producer's transactional id over."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from kafkascope_analyzer.dataset.stories import TRANSACTIONS
from kafkascope_spark.findings import wording
from kafkascope_spark.findings.client_names import with_name
from kafkascope_spark.findings.rule import Finding, Rule, found
from kafkascope_spark.findings.signs import Sign
from kafkascope_spark.tables import Tables

_AT = "coalesce(fenced_ns, end_ns, begin_ns)"
_SENTENCE = (
    "concat(coalesce(loser, 'A producer'), ' was fenced: ', "
    "coalesce(taker, 'a producer that the capture does not show'), ' took its transactional id ', transactional_id, "
    f"' over at ', {wording.clock('first_ns')}, "
    f"if(n_records > 0, concat('; ', {wording.counted('n_records', 'record')}, ' of its open transaction lost'), ''), "
    "if(by_turns, '; both take it from each other by turns', ''))"
)
_ADVICE = (
    "concat('Give each running producer a transactional.id of its own (both use ', transactional_id, '), or end the "
    "old instance before the new one calls initTransactions. A fenced producer has to be closed: it cannot go on.')"
)


def find(tables: Tables) -> DataFrame:
    """One finding per transactional id, client that lost it, and client that took it."""
    fenced = tables[TRANSACTIONS].where("outcome = 'fenced'")
    each = fenced.groupBy("transactional_id", "client_instance_id", "fenced_by").agg(
        fn.expr("count(*) as n"),
        fn.expr(f"min({_AT}) as first_ns"),
        fn.expr(f"max(coalesce(end_ns, {_AT})) as last_ns"),
        fn.expr("sum(n_records) as n_records"),
        fn.expr("array_distinct(flatten(collect_list(evidence))) as evidence"),
    )
    turns = fenced.groupBy("transactional_id").agg(
        fn.expr("arrays_overlap(collect_set(client_instance_id), collect_set(fenced_by)) as by_turns")
    )
    told = each.join(fn.broadcast(turns), on="transactional_id", how="inner")
    named = with_name(with_name(told, tables, "client_instance_id", "loser"), tables, "fenced_by", "taker")
    return found(
        named,
        Finding(
            severity=fn.expr("if(by_turns, 'error', 'warning')"),
            sentence=_SENTENCE,
            advice=_ADVICE,
            subject="transactional_id",
            client="client_instance_id",
            conn_ids=wording.connections_of("evidence"),
            n="n",
            first_ns="first_ns",
            last_ns="last_ns",
            evidence="evidence",
        ),
    )


RULE = Rule(
    name="fenced_producer",
    title="Another instance took a living producer's transactional id over",
    severity="error",
    meaning="Two producers use one transactional.id at a time. InitProducerId of the second aborts the open "
    "transaction of the first and bumps the producer's epoch: whatever the first sends after that is refused, and it "
    "has to be closed. Once, that is an instance that was thought dead (a zombie) or a restart that overlaps; by "
    "turns, the two stop each other for good: then it is an error.",
    looks_at="InitProducerId of another client instance while a transaction is open whose client is still there; "
    "requests with the old epoch (INVALID_PRODUCER_EPOCH, PRODUCER_FENCED) after that. A successor of a client that "
    "went away is none.",
    advice="Give each running producer a transactional.id of its own, or end the old instance before the new one "
    "calls initTransactions.",
    sources=("KIP-98", "KIP-588", "org.apache.kafka.clients.producer.internals.TransactionManager"),
    find=find,
    signs=(Sign(TRANSACTIONS, "outcome", frozenset({"fenced"})),),
)
