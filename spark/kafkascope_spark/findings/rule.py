"""What a rule is, and the words in which a rule's DataFrame is made."""

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from kafkascope_spark.tables import Tables

MOST_EVIDENCE = 100
"""Evidence and connections that a finding names: enough to open it, whatever its size."""
FOUND = (
    "severity",
    "sentence",
    "advice",
    "client_instance_id",
    "conn_ids",
    "subject",
    "n",
    "first_ns",
    "last_ns",
    "evidence",
)


@dataclass(frozen=True, slots=True)
class Rule:
    """One diagnosis. Its texts are its page of the documentation."""

    name: str
    title: str
    """What is wrong, in one line."""
    severity: str
    """The strongest that it gives."""
    meaning: str
    """What it says about clients, brokers or network, and why it matters."""
    looks_at: str
    """What proves it on the wire, and when it says nothing."""
    advice: str
    """What to change: the settings by name."""
    sources: tuple[str, ...]
    """KIPs, RFCs, classes of Kafka."""
    find: Callable[[Tables], DataFrame]
    """The rows of FOUND, lazily; advice null: the rule's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The columns of FOUND, made from a DataFrame of which each row is one finding."""

    severity: str | Column
    sentence: Column
    subject: Column
    n: Column
    first_ns: Column
    last_ns: Column
    evidence: Column
    """A list of request ids (else conn_ids); see `evidence`."""
    conn_ids: Column | None = None
    client: Column | None = None
    advice: Column | None = None


def found(rows: DataFrame, finding: Finding) -> DataFrame:
    """The rows of FOUND: one finding per row of rows. Lazy."""
    none = fn.lit(None).cast("string")
    severity = finding.severity if isinstance(finding.severity, Column) else fn.lit(finding.severity)
    columns = {
        "severity": severity,
        "sentence": finding.sentence,
        "advice": none if finding.advice is None else finding.advice,
        "client_instance_id": none if finding.client is None else finding.client,
        "conn_ids": fn.lit(None).cast("array<string>") if finding.conn_ids is None else finding.conn_ids,
        "subject": finding.subject,
        "n": finding.n.cast("bigint"),
        "first_ns": finding.first_ns.cast("bigint"),
        "last_ns": finding.last_ns.cast("bigint"),
        "evidence": finding.evidence,
    }
    return rows.select(*(columns[name].alias(name) for name in FOUND))


def gathered(request_id: Column | str, at_ns: Column | str) -> Column:
    """An aggregate: the first MOST_EVIDENCE request ids in order of time."""
    request_id = fn.col(request_id) if isinstance(request_id, str) else request_id
    at_ns = fn.col(at_ns) if isinstance(at_ns, str) else at_ns
    pairs = fn.array_sort(fn.collect_set(fn.struct(at_ns.alias("at"), request_id.alias("id"))))
    return fn.slice(pairs["id"], 1, MOST_EVIDENCE)


def clock(ns: Column | str) -> Column:
    """A time of day for a sentence: `12:34:56.789 UTC`."""
    ns = fn.col(ns) if isinstance(ns, str) else ns
    return fn.concat(
        fn.date_format(fn.timestamp_millis((ns / 1_000_000).cast("bigint")), "HH:mm:ss.SSS"), fn.lit(" UTC")
    )


def times(n: Column | str) -> Column:
    """A count for a sentence: `once`, `3 times`."""
    n = fn.col(n) if isinstance(n, str) else n
    return fn.when(n == 1, fn.lit("once")).otherwise(fn.concat(n.cast("string"), fn.lit(" times")))


def called(client_id: Column | str, client_ip: Column | str) -> Column:
    """A client for a sentence: `orders-app (10.0.0.9)`; its address alone where it gives no id."""
    client_id = fn.col(client_id) if isinstance(client_id, str) else client_id
    client_ip = fn.col(client_ip) if isinstance(client_ip, str) else client_ip
    named = fn.concat(client_id, fn.lit(" ("), client_ip, fn.lit(")"))
    return fn.when(fn.coalesce(client_id, fn.lit("")) == "", client_ip).otherwise(named)
