"""`no_compression`: a producer sends its records as they are."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from kafkascope_analyzer.dataset.tables import RECORD_BATCHES
from kafkascope_spark import wire
from kafkascope_spark.findings import thresholds as limit
from kafkascope_spark.findings import wording
from kafkascope_spark.findings.rule import Rule
from kafkascope_spark.findings.seen import NO_BROKER, several, told
from kafkascope_spark.findings.signs import Sign
from kafkascope_spark.tables import Tables


def find(tables: Tables) -> DataFrame:
    """One finding per client id, as all its processes have the same settings."""
    batches = (
        tables[RECORD_BATCHES]
        .where(f"api_key = {wire.PRODUCE} and direction = 'request' and codec = 'none'")
        .groupBy("conn_id")
        .agg(
            fn.expr("count(*) as n_batches"),
            fn.expr("sum(bytes) as sent_bytes"),
            fn.expr("min(ts_ns) as first_ns"),
            fn.expr("max(ts_ns) as last_ns"),
            fn.expr("min(struct(ts_ns, request_id)) as sample"),
            fn.expr("min_by(topic, ts_ns) as topic"),
        )
    )
    each = (
        batches.join(tables.clients_by_conn, on="conn_id", how="left")
        .where(NO_BROKER)
        .groupBy("client_id")
        .agg(
            *several(),
            fn.expr("sum(n_batches) as n"),
            fn.expr("sum(sent_bytes) as sent_bytes"),
            fn.expr("min_by(topic, first_ns) as topic"),
        )
        .where(f"sent_bytes >= {limit.UNCOMPRESSED_BYTES} and sent_bytes >= n * {limit.COMPRESSIBLE_BYTES}")
    )
    sentence = (
        f"concat(who, ' sent ', {wording.counted('n', 'batch', 'batches')}, ' without compression, ', "
        f"{wording.size('sent_bytes')}, ' in all and ', {wording.size('(sent_bytes div n)')}, ' each, to ', "
        f"coalesce(topic, '?'), ' and others from ', {wording.clock('first_ns')})"
    )
    return told(each, "info", sentence, subject="client_id", client="client")


RULE = Rule(
    name="no_compression",
    title="A producer does not compress",
    severity="info",
    meaning="Compressed batches take less network, less disk on every replica and less of each consumer's fetch; the "
    "broker stores them as they come.",
    looks_at="Batches of Produce without a codec, of one client id: at least "
    f"{limit.UNCOMPRESSED_BYTES // 1024} KiB of them, {limit.COMPRESSIBLE_BYTES} bytes or more each on average. What "
    "is in the records is not looked at: encrypted or compressed content gains nothing. It needs the table "
    "record_batches (--record-batches), and says nothing without.",
    advice="Set compression.type=zstd or lz4 of the producer (it is none).",
    sources=("KIP-110", "KIP-390", "compression.type of the producer settings"),
    find=find,
    signs=(Sign(RECORD_BATCHES, "codec", frozenset({"none"})),),
)
