"""What sources of events get, made by hand: rows of tables with few of their columns, and the facts about a bucket."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa

from kafkascope_analyzer.connections.nodes import Node
from kafkascope_analyzer.connections.topic_names import TopicNames
from kafkascope_analyzer.dataset.tables import CONNECTIONS, ERRORS, PARTITIONS, REQUEST_STATUSES, REQUESTS
from kafkascope_analyzer.dataset.uncovered import NOTHING_UNCOVERED
from kafkascope_analyzer.resolve.bucket_context import BucketContext
from kafkascope_analyzer.resolve.requests.error_runs import ErrorRuns
from kafkascope_analyzer.resolve.requests.failure_times import FailureTimes, failure_times, with_codes
from kafkascope_analyzer.resolve.servers.hosts import ServerHosts
from kafkascope_analyzer.resolve.tasks import RunTasks
from kafkascope_analyzer.scan.exchanges import SETTLED_SCHEMA
from kafkascope_analyzer.scan.spill import Spill
from kafkascope_parsers.framing.layout import BY_SYN, KAFKA

Row = dict[str, Any]
MS, SECOND = 1_000_000, 1_000_000_000
NO_RUNS = ErrorRuns(*(np.empty(0, np.int64) for _ in range(5)))
_NUMBERS = [pa.field("conn", pa.int64()), pa.field("number", pa.int64())]


def rows_of(schema: pa.Schema, rows: Iterable[Row]) -> pa.Table:
    """Rows of a schema; columns that a row does not have are null."""
    return pa.Table.from_pylist([dict.fromkeys(schema.names) | row for row in rows], schema)


def _numbered(schema: pa.Schema, rows: Iterable[Row], *more: pa.Field) -> pa.Table:
    """Rows of a table, with the id of their connection and of their request by its number and theirs."""
    ids = ({"conn": 0, "number": n} | row for n, row in enumerate(rows))
    named = ({"conn_id": f"c{row['conn']}", "request_id": f"c{row['conn']}-{row['number']}"} | row for row in ids)
    return rows_of(pa.schema([*schema, *more, *_NUMBERS]), ({"client_ip": "10.0.0.9"} | row for row in named))


def requests(*rows: Row) -> pa.Table:
    """Rows of `requests`, of connection 0 and numbered unless they say otherwise; answered unless they have a status.
    Where only ts_ns is given the request is of one packet."""
    filled = []
    for row in rows:
        status = row.get("status", "ok")
        code = REQUEST_STATUSES.index(status)
        filled.append({"status": status, "status_code": code, "request_last_ns": row.get("ts_ns")} | row)
    return _numbered(REQUESTS.schema, filled, pa.field("status_code", pa.int8()))


def errors(*rows: Row) -> pa.Table:
    """Rows of `errors`; their request was sent at the same time unless they have sent_ns."""
    filled = ({"sent_ns": row.get("ts_ns")} | row for row in rows)
    return _numbered(ERRORS.schema, filled, pa.field("sent_ns", pa.int64()))


def partitions(*rows: Row) -> pa.Table:
    """Rows of `partitions`."""
    return _numbered(PARTITIONS.schema, rows)


def connections(*rows: Row) -> pa.Table:
    """Finished rows of `connections`, c0, c1, ... unless they have an id."""
    return rows_of(
        CONNECTIONS.schema, ({"conn_id": f"c{n}", "client_ip": "10.0.0.9"} | row for n, row in enumerate(rows))
    )


def failures(names: dict[str, pa.DataType], *rows: tuple[Any, ...]) -> FailureTimes:
    """Times of failures: of each the client's address, the values of the columns, and ts_ns."""
    schema = pa.schema([("client_ip", pa.string()), *names.items(), ("ts_ns", pa.int64())])
    table = rows_of(schema, (dict(zip(schema.names, row, strict=True)) for row in rows))
    return failure_times([with_codes(schema.empty_table()), with_codes(table)])


def no_messages(name: str, columns: list[str]) -> Iterator[pa.RecordBatch]:
    """Reads the messages of a bucket that has none."""
    return iter(())


def context(rows: pa.Table, spill: Path = Path("none"), runs: ErrorRuns = NO_RUNS, **shared: Any) -> BucketContext:
    """The facts about a bucket with these connections. shared: the facts of SharedFacts that matter."""
    facts: Any = SimpleNamespace(**{"uncovered": NOTHING_UNCOVERED} | shared)
    return BucketContext(rows, TopicNames.of({}), facts, spill, runs, no_messages)


def spilled(directory: Path, **tables: pa.Table) -> Path:
    """Spills tables; two underscores in a name stand for a dot."""
    spill = Spill(directory)
    for name, table in tables.items():
        spill.write(name.replace("__", "."), table)
    spill.close()
    return directory


def events(tables: Iterable[pa.Table]) -> list[Row]:
    """The events in some tables: the columns of their place, and above those the fields of their kind."""
    rows = [(table.column_names[-1], row) for table in tables for row in table.to_pylist()]
    return [row | row[kind] | {"at_ns": row["ts_ns"]} for kind, row in rows]


def only(rows: Iterable[Row], *names: str) -> list[tuple[Any, ...]]:
    """The values of some columns of each row."""
    return [tuple(row[name] for name in names) for row in rows]


SPILLED_CONNECTIONS = pa.schema(
    [
        ("conn_id", pa.string()),
        *((name, pa.int8()) for name in ("client_side", "client_side_by", "protocol")),
        *((name, pa.bool_()) for name in ("is_kafka", "seen_from_start")),
        ("client_ip", pa.string()),
        ("client_port", pa.int32()),
        ("server_ip", pa.string()),
        ("server_port", pa.int32()),
        ("close_kind", pa.string()),
        ("idle_before_close_ms", pa.int64()),
        ("undecoded_bytes", pa.int64()),
        *((name, pa.int32()) for name in ("max_in_flight", "capture_id")),
        *((name, pa.int64()) for name in ("client_bytes", "server_bytes", "tls_bytes")),
        *((name, pa.int64()) for name in ("syn_ns", "synack_ns", "first_ns", "last_ns", "close_ns")),
        ("is_decrypted", pa.bool_()),
        *((name, pa.int64()) for name in ("n_by_lengths", "first_request_bytes", "first_response_bytes")),
        ("n_record_ends", pa.int64()),
        ("offers_alpn", pa.bool_()),
    ]
)
"""Columns of spilled connections that the second pass and what comes before it need, in their order."""


def spilled_connections(*rows: Row) -> pa.Table:
    """Spilled connections of Kafka, from second 1 to 9, unless they say otherwise."""
    usual: Row = {"client_ip": "10.0.0.9", "server_ip": "10.0.0.1", "server_port": 9092, "client_side": 0}
    usual |= {"protocol": KAFKA, "seen_from_start": True, "close_kind": "open"}
    usual |= {"first_ns": SECOND, "last_ns": 9 * SECOND, "syn_ns": SECOND, "synack_ns": SECOND}
    usual |= {"n_by_lengths": 0, "n_record_ends": 0, "offers_alpn": False, "client_side_by": BY_SYN}
    usual |= {"capture_id": 0, "client_port": 40_000, "is_decrypted": False, "client_bytes": 500, "server_bytes": 800}
    named = ({"conn_id": f"{n:016x}"} | usual | row for n, row in enumerate(rows))
    return rows_of(SPILLED_CONNECTIONS, (row | {"is_kafka": row["protocol"] == KAFKA} for row in named))


def spilled_requests(*rows: Row) -> pa.Table:
    """Spilled requests, of connection 0, numbered and answered unless they say otherwise."""
    usual = {"conn": 0, "status": REQUEST_STATUSES.index("ok"), "capture_id": 0, "out_of_order": False}
    usual |= {"request_bytes": 100, "in_flight": 1}
    return rows_of(SETTLED_SCHEMA, (usual | {"number": n} | row for n, row in enumerate(rows)))


def run_here(folder: Path) -> RunTasks:
    """Runs tasks over the spills in a folder in this process."""
    return lambda tasks: [task(folder) for task in tasks]


def hosts_of(
    folder: Path,
    *buckets: tuple[pa.Table, dict[str, pa.Table]],
    nodes: dict[tuple[str, int], int] | None = None,
    advertised: dict[int, list[tuple[str, int]]] | None = None,
) -> ServerHosts:
    """Servers and hosts of some buckets, of each its spilled connections and its other tables. nodes: the nodes behind
    addresses; advertised: where nodes are advertised."""
    known = {end: Node(node_id, "") for end, node_id in (nodes or {}).items()}
    cluster: Any = SimpleNamespace(nodes=known, advertised=advertised or {})
    rows = {spilled(folder / str(n), **tables): rows for n, (rows, tables) in enumerate(buckets)}
    return ServerHosts(rows, cluster)


def runs_of(*rows: tuple[int, int, int, int, int]) -> pa.Table:
    """Spilled runs of packets: connection, side, layer, and the times of the first and the last packet, whose numbers
    are those times."""
    columns = zip(*rows, strict=True) if rows else [()] * 5
    conn, side, layer, first, last = (np.array(each, np.int64) for each in columns)
    numbers = {"side": side.astype(np.int8), "layer": layer.astype(np.int8)}
    times = {"first_ns": first, "first_packet": first, "last_ns": last, "last_packet": last}
    return pa.table({"conn": conn} | numbers | times)
