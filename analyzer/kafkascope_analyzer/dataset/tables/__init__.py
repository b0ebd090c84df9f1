"""The tables that ingest writes. Messages (`messages/<Api>/request|response`) take their types from Kafka's own
schemas and are not listed here.
"""

import pyarrow as pa

from kafkascope_analyzer.dataset.contract import Column, Table, required, time
from kafkascope_analyzer.dataset.tables.captures import CAPTURES
from kafkascope_analyzer.dataset.tables.cluster import CLUSTERS, DNS, TOPOLOGY
from kafkascope_analyzer.dataset.tables.columns import CODECS, CONN, COORDINATOR_TYPES, REQUEST, SIDES
from kafkascope_analyzer.dataset.tables.connections import (
    CONNECTIONS,
    ROLE_ROWS,
    ROLES,
    TCP_EVENT_KINDS,
    TCP_EVENTS,
    UNDECODED,
    UNDECODED_REASONS,
)
from kafkascope_analyzer.dataset.tables.events import EVENTS
from kafkascope_analyzer.dataset.tables.out_of_range import OUT_OF_RANGE
from kafkascope_analyzer.dataset.tables.records import CONTROLS, RECORD_BATCHES, RECORDS
from kafkascope_analyzer.dataset.tables.requests import ERRORS, PARTITIONS, REQUEST_STATUSES, REQUESTS

__all__ = [
    "CAPTURES",
    "CLUSTERS",
    "CODECS",
    "CONNECTIONS",
    "CONTROLS",
    "COORDINATOR_TYPES",
    "DNS",
    "ERRORS",
    "EVENTS",
    "INGEST_TABLES",
    "MESSAGE_KEYS",
    "OUT_OF_RANGE",
    "PARTITIONS",
    "RECORDS",
    "RECORD_BATCHES",
    "REQUESTS",
    "REQUEST_STATUSES",
    "ROLES",
    "ROLE_ROWS",
    "SIDES",
    "TCP_EVENTS",
    "TCP_EVENT_KINDS",
    "TOPOLOGY",
    "UNDECODED",
    "UNDECODED_REASONS",
]

INGEST_TABLES: tuple[Table, ...] = (
    CAPTURES,
    CLUSTERS,
    CONNECTIONS,
    ROLE_ROWS,
    REQUESTS,
    PARTITIONS,
    RECORD_BATCHES,
    RECORDS,
    ERRORS,
    TOPOLOGY,
    TCP_EVENTS,
    DNS,
    UNDECODED,
    OUT_OF_RANGE,
    EVENTS,
)

MESSAGE_KEYS: tuple[Column, ...] = required(
    REQUEST,
    CONN,
    *time("", "first byte of the frame"),
    Column("api_version", pa.int16(), "version of the message"),
)
"""The columns before Kafka's own fields in `messages/<Api>/request|response`."""
