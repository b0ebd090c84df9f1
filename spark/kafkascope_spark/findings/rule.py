"""What a rule is, and the words in which a rule's DataFrame is made."""

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from kafkascope_spark.findings.signs import Sign
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
_NUMBERS = frozenset({"n", "first_ns", "last_ns"})


Find = Callable[[Tables], DataFrame]


@dataclass(frozen=True, slots=True)
class Way:
    """One more way in which a rule finds what it looks for, with its own signs."""

    find: Find
    signs: tuple[Sign, ...]


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
    find: Find
    """The rows of FOUND, lazily; advice null: the rule's own."""
    signs: tuple[Sign, ...] = ()
    """Without one of these in the dataset it can find nothing, and is not asked; none: it is always asked."""
    also: tuple[Way, ...] = ()
    """Where there are several ways; one finding may come by one of them only."""
    unless: tuple[str, ...] = ()
    """Rules that explain what it sees: of a client of which one of them finds something, it says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The columns of FOUND, made from a DataFrame of which each row is one finding.

    Text is an expression of Spark SQL: one call to the JVM for each, where a Column costs one for each of its parts.
    """

    severity: str | Column
    """One of the severities; or a Column."""
    sentence: str | Column
    subject: str | Column
    n: str | Column
    first_ns: str | Column
    last_ns: str | Column
    evidence: str | Column
    """A list of request ids (else conn_ids); see `gathered`."""
    conn_ids: str | Column | None = None
    client: str | Column | None = None
    advice: str | Column | None = None


def found(rows: DataFrame, finding: Finding) -> DataFrame:
    """The rows of FOUND: one finding per row of rows. Lazy."""
    columns: dict[str, str | Column] = {
        "severity": f"'{finding.severity}'" if isinstance(finding.severity, str) else finding.severity,
        "sentence": finding.sentence,
        "advice": "cast(null as string)" if finding.advice is None else finding.advice,
        "client_instance_id": "cast(null as string)" if finding.client is None else finding.client,
        "conn_ids": "cast(null as array<string>)" if finding.conn_ids is None else finding.conn_ids,
        "subject": finding.subject,
        "n": finding.n,
        "first_ns": finding.first_ns,
        "last_ns": finding.last_ns,
        "evidence": finding.evidence,
    }
    return rows.select(*(_named(columns[name], name) for name in FOUND))


def _named(column: str | Column, name: str) -> Column:
    """The column under its name; counts and times as bigint."""
    if isinstance(column, str):
        return fn.expr(f"cast({column} as bigint) as {name}" if name in _NUMBERS else f"{column} as {name}")
    return (column.cast("bigint") if name in _NUMBERS else column).alias(name)


def gathered(request_id: Column | str, at_ns: Column | str) -> Column:
    """An aggregate: the first MOST_EVIDENCE request ids in order of time."""
    request_id = fn.col(request_id) if isinstance(request_id, str) else request_id
    at_ns = fn.col(at_ns) if isinstance(at_ns, str) else at_ns
    pairs = fn.array_sort(fn.collect_set(fn.struct(at_ns.alias("at"), request_id.alias("id"))))
    return fn.slice(pairs["id"], 1, MOST_EVIDENCE)
