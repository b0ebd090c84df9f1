"""Whether a dataset can show anything about Kafka: its capture may contain no Kafka, or tables may be missing."""

from collections import Counter

import pyarrow.compute as pc

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.table_rows import has_table, scan
from kafkascope_analyzer.dataset.tables import (
    CAPTURES,
    CONNECTIONS,
    ERRORS,
    PARTITIONS,
    REQUESTS,
    ROLE_ROWS,
    TCP_EVENTS,
    TOPOLOGY,
    UNDECODED,
)
from kafkascope_analyzer.report.formatting import count
from kafkascope_spark.stories.tables import CLIENTS, INCIDENTS

KAFKA, TLS = "kafka", "tls"
_NEEDED = (CAPTURES, CONNECTIONS, ROLE_ROWS, REQUESTS, PARTITIONS, ERRORS, TOPOLOGY, TCP_EVENTS, UNDECODED)
"""Tables of ingest from which the report is made."""


def why_no_kafka(dataset: Dataset) -> str | None:
    """Returns why no Kafka was read: one sentence without a full stop. None where Kafka was read, where the lengths of
    TLS records show requests, or where that is not known."""
    if not has_table(dataset, CAPTURES) or not has_table(dataset, CONNECTIONS):
        return None
    n_packets = _sum(dataset, CAPTURES, "n_packets")
    protocols: Counter[str] = Counter()
    n_claimed = 0
    for batch in scan(dataset, CONNECTIONS, ["protocol", "claimed_requests"]):
        n_claimed += pc.sum(batch.column("claimed_requests")).as_py() or 0
        for counted in pc.value_counts(batch.column("protocol")).to_pylist():
            protocols[counted["values"] or "unknown"] += counted["counts"]
    if protocols[KAFKA] or n_claimed:
        return None
    if not n_packets:
        return "the capture has no packets"
    if not protocols:
        return f"none of the {count(n_packets, 'packet')} of the capture belongs to a TCP connection"
    connections = count(sum(protocols.values()), "TCP connection")
    if protocols[TLS]:
        return f"no Kafka could be read: {protocols[TLS]:,} of {connections} are encrypted with TLS, none shows Kafka"
    spoken = ", ".join(f"{n:,} {protocol}" for protocol, n in sorted(protocols.items()))
    return f"no Kafka was found in {connections} of the capture ({spoken})"


def missing_tables(dataset: Dataset) -> tuple[str, ...]:
    """Returns the tables that the report needs and that the dataset lacks. Stories that were not made yet
    do not count."""
    missing = [table for table in _NEEDED if not has_table(dataset, table)]
    if has_table(dataset, INCIDENTS) and not has_table(dataset, CLIENTS):
        missing.append(CLIENTS)
    return tuple(table.stored_as for table in missing)


def missing_sentence(tables: tuple[str, ...]) -> str:
    """Returns the report's sentence about missing tables."""
    which = f"{'table' if len(tables) == 1 else 'tables'} {', '.join(tables)}"
    return f"The dataset lacks the {which}: what they show is missing here. `kafkascope analyze` makes it again."


def _sum(dataset: Dataset, table: Table, column: str) -> int:
    return sum(pc.sum(batch.column(column)).as_py() or 0 for batch in scan(dataset, table, [column]))
