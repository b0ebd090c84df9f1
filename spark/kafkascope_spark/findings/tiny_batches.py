"""`tiny_batches`: a producer sends many small requests where few large ones would do."""

import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from kafkascope_analyzer.dataset.tables import CONNECTIONS, REQUESTS
from kafkascope_spark import wire
from kafkascope_spark.findings import thresholds as limit
from kafkascope_spark.findings import wording
from kafkascope_spark.findings.rule import Rule
from kafkascope_spark.findings.seen import NO_BROKER, several, told
from kafkascope_spark.findings.signs import Sign
from kafkascope_spark.tables import Tables


def find(tables: Tables) -> DataFrame:
    """One finding per client id, as all its processes have the same settings."""
    to_leaders = (
        tables[REQUESTS]
        .where(f"api_key = {wire.PRODUCE} and n_records > 0")
        .groupBy("conn_id")
        .agg(
            fn.expr("count(*) as n_requests"),
            fn.expr("sum(n_partitions) as n_batches"),
            fn.expr("sum(n_records) as n_records"),
            fn.expr("sum(record_bytes) as sent_bytes"),
            fn.expr("min(ts_ns) as first_ns"),
            fn.expr("max(ts_ns) as last_ns"),
            fn.expr("min(struct(ts_ns, request_id)) as sample"),
        )
        .where(f"n_requests >= {limit.TINY_REQUESTS} and sent_bytes < n_batches * {limit.TINY_BYTES}")
        .join(tables[CONNECTIONS].selectExpr("conn_id", "last_ns - first_ns as life_ns"), on="conn_id", how="inner")
        .where(f"life_ns < n_requests * {limit.LINGER_MS} * 1000000L")
    )
    each = (
        to_leaders.join(tables.clients_by_conn, on="conn_id", how="left")
        .where(NO_BROKER)
        .groupBy("client_id")
        .agg(
            *several(),
            fn.expr("sum(n_requests) as n"),
            fn.expr("sum(n_batches) as n_batches"),
            fn.expr("sum(n_records) as n_records"),
            fn.expr("sum(sent_bytes) as sent_bytes"),
            fn.expr("min(life_ns div n_requests) as apart_ns"),
        )
    )
    sentence = (
        f"concat(who, ' sent ', n, ' Produce requests, one each ', round(apart_ns / 1000000, 1), ' ms to one broker, "
        "with batches of ', round(n_records / n_batches, 1), ' records and ', "
        f"{wording.size('(sent_bytes div n_batches)')}, ' on average, from ', {wording.clock('first_ns')})"
    )
    return told(each, "info", sentence, subject="client_id", client="client")


RULE = Rule(
    name="tiny_batches",
    title="A producer sends tiny batches",
    severity="info",
    meaning="Each request costs client, network and broker about the same whatever is in it, and small batches hardly "
    "compress. A producer that waits a little sends the same records in far fewer requests.",
    looks_at=f"At least {limit.TINY_REQUESTS} Produce requests on a connection, less than {limit.LINGER_MS} ms apart "
    f"over its whole life, with batches below {limit.TINY_BYTES} bytes on average. Slow producers are left out: they "
    "could not fill a batch.",
    advice=f"Set linger.ms of the producer to 5 to {limit.LINGER_MS} (0 by default before Kafka 4.0; queue.buffering."
    "max.ms of librdkafka), and do not call flush() or wait for the answer after each record; batch.size is 16384 "
    "bytes by default.",
    sources=("KIP-1030", "KIP-480", "linger.ms and batch.size of the producer settings"),
    find=find,
    signs=(
        Sign(
            CONNECTIONS,
            where=(pc.field("n_requests") >= limit.TINY_REQUESTS)
            & (pc.field("last_ns") - pc.field("first_ns") < pc.field("n_requests") * (limit.LINGER_MS * 1_000_000)),
        ),
    ),
)
