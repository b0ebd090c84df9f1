"""`chatty_client`: a client asks more often than it gets or sends records."""

import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from kafkascope_analyzer.dataset.stories import CLIENTS
from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_spark import wire
from kafkascope_spark.findings import thresholds as limit
from kafkascope_spark.findings import wording
from kafkascope_spark.findings.rule import Rule
from kafkascope_spark.findings.seen import told
from kafkascope_spark.findings.signs import Sign
from kafkascope_spark.tables import Tables

GREETINGS = f"{wire.API_VERSIONS}, {wire.SASL_HANDSHAKE}, {wire.SASL_AUTHENTICATE}"


def find(tables: Tables) -> DataFrame:
    """One finding per client."""
    each = (
        _by_api(tables)
        .groupBy("client_instance_id", "client_id", "client_ip")
        .agg(
            fn.expr("sum(n) as n"),
            fn.expr("coalesce(sum(n_records), 0) as n_records"),
            fn.expr("min(first_ns) as first_ns"),
            fn.expr("max(last_ns) as last_ns"),
            fn.expr("max_by(struct(api_name, n, max_wait_ms, min_bytes), n) as most"),
            fn.expr("array(max_by(sample.request_id, n)) as evidence"),
            fn.expr("array_distinct(flatten(collect_list(conn_ids))) as conn_ids"),
        )
        .where(
            f"n >= {limit.CHATTY_REQUESTS} and n >= n_records * {limit.CHATTY_EACH} "
            f"and n * 1000000000L >= (last_ns - first_ns) * {limit.CHATTY_A_SECOND}"
        )
    )
    waits = (
        "coalesce(concat(' (fetch.max.wait.ms ', most.max_wait_ms, coalesce(concat(', fetch.min.bytes ', "
        "most.min_bytes), ''), ')'), '')"
    )
    sentence = (
        f"concat({wording.called()}, ' sent ', n, ' requests for ', {wording.counted('n_records', 'record')}, ' in ', "
        f"{wording.lasting('(last_ns - first_ns)')}, ' from ', {wording.clock('first_ns')}, ', most of them ', "
        f"most.api_name, {waits})"
    )
    advice = f"case most.api_name when 'Fetch' then '{_FETCH}' when 'OffsetCommit' then '{_COMMIT}' end"
    return told(each, "info", sentence, subject="most.api_name", client="client_instance_id", advice=advice)


def _by_api(tables: Tables) -> DataFrame:
    """What each client that asks often asked for, by API."""
    often = f"n_requests * 1000000000L >= (last_ns - first_ns) * {limit.CHATTY_A_SECOND}"
    owned = (
        tables[CLIENTS]
        .where(f"kind not in ('broker', 'admin') and n_requests >= {limit.CHATTY_REQUESTS} and {often}")
        .selectExpr("explode(conn_ids) as conn_id", "client_instance_id", "client_id", "client_ip")
    )
    return (
        _calls(tables)
        .join(owned, on="conn_id", how="inner")
        .groupBy("client_instance_id", "client_id", "client_ip", "api_name")
        .agg(
            fn.expr("sum(n) as n"),
            fn.expr("sum(n_records) as n_records"),
            fn.expr("min(max_wait_ms) as max_wait_ms"),
            fn.expr("min(min_bytes) as min_bytes"),
            fn.expr("min(first_ns) as first_ns"),
            fn.expr("max(last_ns) as last_ns"),
            fn.expr("min(sample) as sample"),
            fn.expr("collect_set(conn_id) as conn_ids"),
        )
    )


def _calls(tables: Tables) -> DataFrame:
    """Requests that went well, by connection and API."""
    return (
        tables[REQUESTS]
        # What failed and was tried again, and connections that never came to stay, are told by other rules.
        .where(
            f"api_key not in ({GREETINGS}) and status = 'ok' "
            "and coalesce(error_code, 0) = 0 and coalesce(n_errors, 0) = 0"
        )
        .groupBy("conn_id", "api_name")
        .agg(
            fn.expr("count(*) as n"),
            fn.expr("sum(n_records) as n_records"),
            fn.expr("min(max_wait_ms) as max_wait_ms"),
            fn.expr("min(min_bytes) as min_bytes"),
            fn.expr("min(ts_ns) as first_ns"),
            fn.expr("max(ts_ns) as last_ns"),
            fn.expr("min(struct(ts_ns, request_id)) as sample"),
        )
    )


_FETCH = (
    "Raise fetch.max.wait.ms (default 500) and fetch.min.bytes (default 1) of the consumer: the broker then answers "
    "less often, with more."
)
_COMMIT = "Commit once for many records: after each poll, or by enable.auto.commit and auto.commit.interval.ms."
RULE = Rule(
    name="chatty_client",
    title="A client sends more requests than records",
    severity="info",
    meaning="Each request costs the broker a slot of its request handlers. A client that asks for the same again and "
    "again, or once for each record, takes them from others.",
    looks_at=f"At least {limit.CHATTY_REQUESTS} requests that went well, {limit.CHATTY_A_SECOND} a second or more "
    f"over its whole life, and {limit.CHATTY_EACH} or more for each record that the client sent or got. Admin clients "
    "and brokers are left out.",
    advice=f"Look at what it asks for most. Fetch: {_FETCH[0].lower()}{_FETCH[1:]} OffsetCommit: {_COMMIT[0].lower()}"
    f"{_COMMIT[1:]} Metadata: keep one client open instead of many short ones.",
    sources=("fetch.max.wait.ms and fetch.min.bytes of the consumer settings", "KIP-74"),
    find=find,
    signs=(
        Sign(
            CLIENTS,
            where=~pc.field("kind").isin(["broker", "admin"])
            & (pc.field("n_requests") >= limit.CHATTY_REQUESTS)
            & (
                pc.field("n_requests") * 1_000_000_000
                >= (pc.field("last_ns") - pc.field("first_ns")) * limit.CHATTY_A_SECOND
            ),
        ),
    ),
)
