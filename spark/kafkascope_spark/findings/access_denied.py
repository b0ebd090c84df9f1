"""`access_denied`: an ACL refused what a client asked for."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from kafkascope_analyzer.dataset.tables import ERRORS
from kafkascope_spark.findings.rule import Finding, Rule, called, clock, found, gathered, times
from kafkascope_spark.tables import Tables

DENIED = (
    "TOPIC_AUTHORIZATION_FAILED",
    "GROUP_AUTHORIZATION_FAILED",
    "CLUSTER_AUTHORIZATION_FAILED",
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
    "DELEGATION_TOKEN_AUTHORIZATION_FAILED",
)


def find(tables: Tables) -> DataFrame:
    """One finding per client, error and resource."""
    each = (
        tables[ERRORS]
        .where(fn.col("error_name").isin(*DENIED))
        .join(tables.owners(), on="conn_id", how="left")
        .groupBy("client_instance_id", "client_id", "client_ip", "error_name", "resource")
        .agg(
            fn.count("*").alias("n"),
            fn.min("ts_ns").alias("first_ns"),
            fn.max("ts_ns").alias("last_ns"),
            gathered("request_id", "ts_ns").alias("evidence"),
            fn.collect_set("conn_id").alias("conn_ids"),
            fn.array_join(fn.sort_array(fn.collect_set("api_name")), ", ").alias("apis"),
        )
    )
    sentence = fn.format_string(
        "%s was refused %s %s (%s, by %s), first at %s",
        called("client_id", "client_ip"),
        fn.coalesce("resource", fn.lit("the cluster")),
        times("n"),
        fn.col("error_name"),
        fn.col("apis"),
        clock("first_ns"),
    )
    return found(
        each,
        Finding(
            severity="warning",
            sentence=sentence,
            subject=fn.col("resource"),
            client=fn.col("client_instance_id"),
            conn_ids=fn.col("conn_ids"),
            n=fn.col("n"),
            first_ns=fn.col("first_ns"),
            last_ns=fn.col("last_ns"),
            evidence=fn.col("evidence"),
        ),
    )


RULE = Rule(
    name="access_denied",
    title="An ACL refused what a client asked for",
    severity="warning",
    meaning="A broker answered an authorization error. The client cannot mend that by itself: it gives up or asks "
    "again.",
    looks_at="Responses with one of the *_AUTHORIZATION_FAILED errors. What the principal was shows only where its "
    "mechanism names it.",
    advice="Grant the principal the operation on the resource (kafka-acls.sh --add), or correct the name that the "
    "client is configured with.",
    sources=("KIP-11", "org.apache.kafka.common.protocol.Errors"),
    find=find,
)
