"""`acks_zero`: a producer does not want to know whether its records arrived."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_spark import wire
from kafkascope_spark.findings import wording
from kafkascope_spark.findings.rule import Rule
from kafkascope_spark.findings.seen import several, told
from kafkascope_spark.findings.signs import Sign
from kafkascope_spark.tables import Tables


def find(tables: Tables) -> DataFrame:
    """One finding per client id, as all its processes have the same settings."""
    sent = (
        tables[REQUESTS]
        .where(f"api_key = {wire.PRODUCE} and acks = 0")
        .groupBy("conn_id")
        .agg(
            fn.expr("count(*) as n_requests"),
            fn.expr("sum(n_records) as n_records"),
            fn.expr("min(ts_ns) as first_ns"),
            fn.expr("max(ts_ns) as last_ns"),
            fn.expr("min(struct(ts_ns, request_id)) as sample"),
        )
    )
    each = (
        sent.join(tables.clients_by_conn, on="conn_id", how="left")
        .groupBy("client_id")
        .agg(*several(), fn.expr("sum(n_requests) as n"), fn.expr("coalesce(sum(n_records), 0) as n_records"))
    )
    sentence = (
        f"concat(who, ' sent ', {wording.counted('n_records', 'record')}, ' with acks=0 from ', "
        f"{wording.clock('first_ns')}, ': no broker says whether they were written')"
    )
    return told(each, "info", sentence, subject="client_id", client="client")


RULE = Rule(
    name="acks_zero",
    title="A producer asks for no answers",
    severity="info",
    meaning="With acks=0 the broker answers nothing. Records are lost without a word when a leader moves, a broker "
    "dies or a batch is refused.",
    looks_at="Produce requests with acks 0.",
    advice="Set acks=all (the default since Kafka 3.0; it is 0), unless the records may be lost.",
    sources=("KIP-679", "acks of the producer settings"),
    find=find,
    signs=(Sign(REQUESTS, "status", frozenset({"no_response_expected"})),),
)
