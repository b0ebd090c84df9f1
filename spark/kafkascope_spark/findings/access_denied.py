"""`access_denied`: an ACL refused what a client asked for."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from kafkascope_analyzer.dataset.tables import ERRORS
from kafkascope_spark.findings import wording
from kafkascope_spark.findings.rule import Finding, Rule, found
from kafkascope_spark.findings.signs import Sign
from kafkascope_spark.tables import Tables

DENIED = (
    "TOPIC_AUTHORIZATION_FAILED",
    "GROUP_AUTHORIZATION_FAILED",
    "CLUSTER_AUTHORIZATION_FAILED",
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
    "DELEGATION_TOKEN_AUTHORIZATION_FAILED",
)


def find(tables: Tables) -> DataFrame:
    """One finding per client, error and resource: an ACL is of a topic, whatever partition it was met on."""
    of_topic = fn.col("error_name") == "TOPIC_AUTHORIZATION_FAILED"
    each = (
        tables[ERRORS]
        .where(fn.col("error_name").isin(*DENIED))
        .withColumn("resource", fn.coalesce(fn.when(of_topic, fn.col("topic")), "resource"))
        .join(tables.clients_by_conn.drop("client_id", "client_ip"), on="conn_id", how="left")
        .groupBy("client_instance_id", "client_id", "client_ip", "principal", "error_name", "resource")
        .agg(
            fn.expr("count(*) as n"),
            fn.expr("min(ts_ns) as first_ns"),
            fn.expr("max(ts_ns) as last_ns"),
            fn.expr(f"{wording.evidence()} as evidence"),
            fn.expr("collect_set(conn_id) as conn_ids"),
            fn.expr("array_join(array_sort(collect_set(api_name)), ', ') as apis"),
        )
    )
    who = f"concat({wording.called()}, if(principal is null, '', concat(', principal ', principal, ',')))"
    return found(
        each,
        Finding(
            severity="warning",
            sentence=f"concat({who}, ' was refused ', coalesce(resource, 'the cluster'), ' ', {wording.times('n')}, "
            f"' (', error_name, ', by ', apis, '), first at ', {wording.clock('first_ns')})",
            subject="resource",
            client="client_instance_id",
            conn_ids="conn_ids",
            n="n",
            first_ns="first_ns",
            last_ns="last_ns",
            evidence="evidence",
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
    signs=(Sign(ERRORS, "error_name", frozenset(DENIED)),),
)
