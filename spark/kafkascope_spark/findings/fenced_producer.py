"""`fenced_producer`: another instance took a living producer's transactional id over."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from kafkascope_analyzer.dataset.stories import TRANSACTIONS
from kafkascope_spark.findings.client_names import with_name
from kafkascope_spark.findings.rule import Finding, Rule, clock, found
from kafkascope_spark.tables import Tables


def find(tables: Tables) -> DataFrame:
    """One finding per transactional id, client that lost it, and client that took it."""
    fenced = tables[TRANSACTIONS].where(fn.col("outcome") == "fenced")
    at = fn.coalesce("fenced_ns", "end_ns", "begin_ns")
    each = fenced.groupBy("transactional_id", "client_instance_id", "fenced_by").agg(
        fn.count("*").alias("n"),
        fn.min(at).alias("first_ns"),
        fn.max(fn.coalesce("end_ns", at)).alias("last_ns"),
        fn.sum("n_records").alias("n_records"),
        fn.array_distinct(fn.flatten(fn.collect_list("evidence"))).alias("evidence"),
    )
    by_turns = fenced.groupBy("transactional_id").agg(
        fn.arrays_overlap(fn.collect_set("client_instance_id"), fn.collect_set("fenced_by")).alias("by_turns")
    )
    told = each.join(fn.broadcast(by_turns), on="transactional_id", how="inner")
    named = with_name(with_name(told, tables, "client_instance_id", "loser"), tables, "fenced_by", "taker")
    return found(
        named,
        Finding(
            severity=fn.when(fn.col("by_turns"), "error").otherwise("warning"),
            sentence=_sentence(),
            advice=_advice(),
            subject=fn.col("transactional_id"),
            client=fn.col("client_instance_id"),
            conn_ids=fn.transform("evidence", lambda one: fn.substring_index(one, "-", 1)),
            n=fn.col("n"),
            first_ns=fn.col("first_ns"),
            last_ns=fn.col("last_ns"),
            evidence=fn.col("evidence"),
        ),
    )


def _sentence() -> Column:
    lost = fn.when(fn.col("n_records") > 0, fn.format_string("; %d records that it wrote were aborted", "n_records"))
    return fn.format_string(
        "%s was fenced: %s took its transactional id %s over at %s%s%s",
        fn.coalesce("loser", fn.lit("a producer")),
        fn.coalesce("taker", fn.lit("a producer that the capture does not show")),
        fn.col("transactional_id"),
        clock("first_ns"),
        fn.coalesce(lost, fn.lit("")),
        fn.when(fn.col("by_turns"), "; both take it from each other by turns").otherwise(""),
    )


def _advice() -> Column:
    return fn.format_string(
        "Give each running producer a transactional.id of its own (both use %s), or end the old instance before the "
        "new one calls initTransactions. A fenced producer must be closed: it cannot go on.",
        "transactional_id",
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
)
