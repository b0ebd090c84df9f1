"""How often, when and where: the columns that most findings share, and the errors that clients got."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from kafkascope_analyzer.dataset.tables import ERRORS
from kafkascope_spark.findings import wording
from kafkascope_spark.findings.rule import Finding, found
from kafkascope_spark.tables import Tables

NO_BROKER = "coalesce(kind, '') != 'broker'"
"""Rows whose client is not one of the brokers."""


def seen() -> tuple[Column, ...]:
    """Aggregates over rows with request_id, conn_id and ts_ns: n (requests), first_ns, last_ns, evidence, conn_ids."""
    return tuple(
        fn.expr(text)
        for text in (
            "size(collect_set(request_id)) as n",
            "min(ts_ns) as first_ns",
            "max(ts_ns) as last_ns",
            f"{wording.evidence()} as evidence",
            "collect_set(conn_id) as conn_ids",
        )
    )


def client_errors(tables: Tables, *names: str) -> DataFrame:
    """Rows of errors with one of the names that clients got, brokers' own left out, with client_instance_id and
    kind."""
    owned = tables.clients_by_conn.select("conn_id", "client_instance_id", "kind")
    return (
        tables[ERRORS].where(fn.col("error_name").isin(*names)).join(owned, on="conn_id", how="left").where(NO_BROKER)
    )


def told(
    rows: DataFrame,
    severity: str | Column,
    sentence: str,
    *,
    subject: str,
    client: str | None,
    advice: str | None = None,
) -> DataFrame:
    """The rows of FOUND, of rows that have the columns of `seen`."""
    return found(
        rows,
        Finding(
            severity=severity,
            sentence=sentence,
            subject=subject,
            client=client,
            advice=advice,
            n="n",
            first_ns="first_ns",
            last_ns="last_ns",
            evidence="evidence",
            conn_ids="conn_ids",
        ),
    )


def several() -> tuple[Column, ...]:
    """Aggregates over connections, with sample (first ts_ns and request_id of interest) and clients_by_conn's columns,
    grouped by client_id: who (for a sentence), client (null when they are several), first_ns, last_ns, evidence,
    conn_ids."""
    n = "size(collect_set(client_instance_id))"
    many = f"concat(coalesce(first(client_id), '?'), ' (', {n}, ' clients)')"
    one = wording.called("first(client_id)", "first(client_ip)")
    return tuple(
        fn.expr(text)
        for text in (
            f"coalesce(if({n} > 1, {many}, {one}), 'A client') as who",
            f"if({n} > 1, null, first(client_instance_id)) as client",
            "min(first_ns) as first_ns",
            "max(last_ns) as last_ns",
            f"{wording.evidence('sample.request_id', 'sample.ts_ns')} as evidence",
            "collect_set(conn_id) as conn_ids",
        )
    )
