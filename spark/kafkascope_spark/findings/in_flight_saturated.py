"""`in_flight_saturated`: a producer waits for answers before it may send on."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from kafkascope_analyzer.dataset.stories import CADENCES
from kafkascope_analyzer.dataset.tables import CONNECTIONS
from kafkascope_spark.findings import thresholds as limit
from kafkascope_spark.findings import wording
from kafkascope_spark.findings.rule import Rule
from kafkascope_spark.findings.seen import several, told
from kafkascope_spark.findings.signs import Sign
from kafkascope_spark.tables import Tables


def find(tables: Tables) -> DataFrame:
    """One finding per client id, as all its processes have the same settings."""
    full = (
        tables[CADENCES]
        .where(f"cadence = 'in_flight' and n >= {limit.TINY_REQUESTS} and p50_ms >= {limit.IN_FLIGHT}")
        .selectExpr("conn_id", "n as n_requests", "p50_ms as depth", "max_ms as deepest")
    )
    times = tables[CONNECTIONS].selectExpr(
        "conn_id", "first_ns", "last_ns", "cast(null as struct<ts_ns: bigint, request_id: string>) as sample", "node_id"
    )
    each = (
        full.join(times, on="conn_id", how="inner")
        .join(tables.clients_by_conn, on="conn_id", how="left")
        .groupBy("client_id")
        .agg(
            *several(),
            fn.expr("sum(n_requests) as n"),
            fn.expr("max(depth) as depth"),
            fn.expr("max(deepest) as deepest"),
            fn.expr("array_sort(collect_set(cast(node_id as string))) as nodes"),
        )
        .withColumn("evidence", fn.col("conn_ids"))
    )
    sentence = (
        "concat(who, ' had ', depth, ' Produce requests in flight half of the time, and up to ', deepest, "
        f"if(size(nodes) = 0, '', concat(', at broker ', {wording.listed('nodes')})), ', from ', "
        f"{wording.clock('first_ns')})"
    )
    return told(each, "info", sentence, subject="client_id", client="client")


RULE = Rule(
    name="in_flight_saturated",
    title="A producer has as many requests in flight as it may",
    severity="info",
    meaning="A producer that always waits for answers is as fast as the broker answers, not as fast as it could send; "
    "further records wait in its memory (buffer.memory) until delivery.timeout.ms is over.",
    looks_at=f"Produce requests of a connection: at least {limit.TINY_REQUESTS}, half of them sent while "
    f"{limit.IN_FLIGHT} or more waited for an answer, themselves included.",
    advice="Send fewer and larger requests (batch.size, linger.ms, compression.type); look at the brokers' time for "
    f"Produce: with acks=all it waits for the followers. max.in.flight.requests.per.connection is {limit.IN_FLIGHT} by "
    "default, and at most that with enable.idempotence.",
    sources=("max.in.flight.requests.per.connection of the producer settings", "KIP-98"),
    find=find,
    signs=(Sign(CONNECTIONS, "max_in_flight", above=limit.IN_FLIGHT - 1),),
)
