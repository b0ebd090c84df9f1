"""The rows of a trace, made from the dataset's tables. report.trace draws them and reads no table.

Rows come one after the other in the order of the trace. Requests are sorted one span of time after the other, so that
memory does not grow with their number.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.tables import CAPTURES, CONNECTIONS, REQUESTS
from kafkascope_analyzer.dataset.temporary_folders import temporary_folder
from kafkascope_analyzer.report.cluster_trace_model import ClusterTraceModel
from kafkascope_analyzer.report.model.capture import of_cluster
from kafkascope_analyzer.report.rows import column_names, select_each
from kafkascope_analyzer.sql.database import Database, WorkMemory
from kafkascope_spark.stories.tables import (
    BROKER_STATES,
    CLIENTS,
    INCIDENTS,
    PARTITION_FLOW,
    REBALANCES,
    RECOVERIES,
    RECOVERY_STEP_ROWS,
    STALLS,
    STARTUP_STEP_ROWS,
    STARTUPS,
    TRANSACTIONS,
)

T = TypeVar("T")
MEMORY = "256MB"
REQUESTS_AT_A_TIME = 100_000
"""Approximate number of requests in a span of time that is sorted at once."""
_TABLES = [
    *(CAPTURES, CLIENTS, CONNECTIONS, RECOVERIES, RECOVERY_STEP_ROWS, REQUESTS, STARTUPS, STARTUP_STEP_ROWS),
    *(BROKER_STATES, INCIDENTS, PARTITION_FLOW, REBALANCES, STALLS, TRANSACTIONS),
]


@dataclass(frozen=True, slots=True)
class TraceClient:
    """A client instance; those in brokers come last."""

    client_instance_id: str
    client_id: str | None
    client_ip: str | None
    kind: str | None
    software_name: str | None
    software_version: str | None
    conn_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TraceConnection:
    """A connection. client_id: the first that it used; close_ns: its last packet where it was not closed."""

    conn_id: str
    client_ip: str | None
    client_id: str | None
    client_port: int | None
    server_ip: str | None
    server_port: int | None
    node_id: int | None
    primary_role: str | None
    close_kind: str | None
    close_ns: int | None


@dataclass(frozen=True, slots=True)
class TraceRequest:
    """A request. recovery_ids: the recoveries for which it returned an error, or that it ended."""

    request_id: str
    conn_id: str
    ts_ns: int
    request_last_ns: int | None
    response_last_ns: int | None
    status: str | None
    api_name: str | None
    error_name: str | None
    n_errors: int
    recovery_ids: tuple[str, ...]
    api_version: int | None
    correlation_id: int | None
    request_packet_no: int | None
    response_packet_no: int | None
    capture_id: int | None
    latency_us: int | None
    queued_us: int | None
    broker_us: int | None
    group_id: str | None
    transactional_id: str | None
    n_records: int | None
    record_bytes: int | None
    throttle_ms: int | None


@dataclass(frozen=True, slots=True)
class TraceStart:
    """A start of a client. last_ns: the end of its last step."""

    client_instance_id: str
    startup_id: str
    start_no: int | None
    start_ns: int
    ready_ns: int | None
    outcome: str | None
    failed_step: str | None
    error_name: str | None
    last_ns: int | None


@dataclass(frozen=True, slots=True)
class TraceStep:
    """A step of a start."""

    client_instance_id: str
    step: str | None
    subject: str | None
    start_ns: int
    end_ns: int | None
    outcome: str | None
    error_name: str | None
    attempt: int | None
    on_critical_path: bool | None
    broker_us: int | None
    wait_us: int | None
    node_id: int | None


@dataclass(frozen=True, slots=True)
class TraceRecovery:
    """A recovery of a client. last_ns: its last step."""

    client_instance_id: str
    recovery_id: str
    start_ns: int
    recovered_ns: int | None
    first_error_name: str | None
    resource: str | None
    outcome: str | None
    reaction: str | None
    n_errors: int | None
    n_wasted_requests: int | None
    old_node_id: int | None
    new_node_id: int | None
    last_ns: int | None


@dataclass(frozen=True, slots=True)
class ConnectionStep:
    """An error or a success of a recovery that only the connection shows, not a request."""

    conn_id: str
    ts_ns: int
    step: str
    error_name: str | None
    recovery_id: str


_CLIENTS = """
select client_instance_id, client_id, client_ip, kind, software_name, software_version, conn_ids
from clients order by (kind = 'broker') is true, first_ns, client_instance_id
"""
_CONNECTIONS = """
select conn_id, client_ip, client_ids[1] as client_id, client_port, server_ip, server_port, node_id, primary_role,
       close_kind, coalesce(close_ns, last_ns) as close_ns
from connections order by first_ns, conn_id
"""
_REQUESTS = """
select {columns} from (select *, {recoveries} as recovery_ids from requests {join})
where ts_ns >= {first} and ts_ns < {end} order by ts_ns, request_id
"""
_RECOVERIES_OF_REQUESTS = """
left join (select request_id, list_sort(list(distinct recovery_id)) as found from recovery_steps
where step in ('error', 'success') and request_id is not null group by request_id) using (request_id)
"""
_STARTS = """
select {columns} from (select *, (select max(end_ns) from startup_steps p where p.startup_id = s.startup_id) as last_ns
from startups s) where start_ns is not null order by start_ns, startup_id
"""
_STEPS = """
select client_instance_id, step, subject, p.start_ns, end_ns, p.outcome, p.error_name, attempt, on_critical_path,
       broker_us, wait_us, node_id
from startup_steps p join startups s using (startup_id) where p.start_ns is not null
order by p.start_ns, startup_id, seq
"""
_RECOVERIES = """
select {columns} from (select *, (select max(ts_ns) from recovery_steps p where p.recovery_id = r.recovery_id)
as last_ns from recoveries r) where start_ns is not null order by start_ns, recovery_id
"""
_CONNECTION_STEPS = """
select {columns} from recovery_steps
where step in ('error', 'success') and request_id is null and conn_id is not null and ts_ns is not null
order by ts_ns, recovery_id, seq
"""


class TraceModel:
    """The rows of a trace. There are none of a table that the dataset lacks. Each method raises UsageError where a
    table cannot be read, also while its rows are read.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.of_cluster = of_cluster(database.dataset)
        """the one cluster that the trace is of; None where it is of all that was captured"""
        self.begin_ns: int = next(database.query("select min(first_ns) from captures")[1])[0] or 0
        self.cluster = ClusterTraceModel(database, self.begin_ns)
        """rows about the cluster, not about one client"""

    def clients(self) -> Iterator[TraceClient]:
        """Yields the clients, by the time they were first seen."""
        return select_each(self._database, _CLIENTS, TraceClient) if self._database.has("clients") else iter(())

    def connections(self) -> Iterator[TraceConnection]:
        """Yields all connections by time."""
        return select_each(self._database, _CONNECTIONS, TraceConnection)

    def requests(self) -> Iterator[TraceRequest]:
        """Yields all requests by time."""
        joined = self._database.has("recovery_steps")
        words = {"recoveries": "found", "join": _RECOVERIES_OF_REQUESTS} if joined else {"recoveries": "[]", "join": ""}
        words["columns"] = column_names(TraceRequest)
        for first, end in pairwise(self._stretches()):
            yield from select_each(self._database, _REQUESTS.format(**words, first=first, end=end), TraceRequest)

    def _stretches(self) -> list[int]:
        """Returns ascending times that divide the requests into spans with at most about REQUESTS_AT_A_TIME each, from
        the first request to after the last. Their exact positions do not change the trace.
        """
        counts = "select count(*), min(ts_ns), max(ts_ns) from requests"
        n, first_ns, last_ns = next(self._database.query(counts)[1])
        if not n:
            return []
        n_stretches = n // REQUESTS_AT_A_TIME + 1
        shares = [part / n_stretches for part in range(1, n_stretches)]
        if not shares:
            return [first_ns, last_ns + 1]
        (inner,) = next(self._database.query(f"select approx_quantile(ts_ns, {shares}) from requests")[1])
        return [first_ns, *sorted({int(ns) for ns in inner if first_ns < ns <= last_ns}), last_ns + 1]

    def starts(self) -> Iterator[TraceStart]:
        """Yields the starts by time."""
        return self._story("startups", _STARTS, TraceStart)

    def start_steps(self) -> Iterator[TraceStep]:
        """Yields the steps of all starts by time."""
        return self._story("startups", _STEPS, TraceStep)

    def recoveries(self) -> Iterator[TraceRecovery]:
        """Yields the recoveries by time."""
        return self._story("recoveries", _RECOVERIES, TraceRecovery)

    def connection_steps(self) -> Iterator[ConnectionStep]:
        """Yields the steps of recoveries that only connections show, by time."""
        return self._story("recovery_steps", _CONNECTION_STEPS, ConnectionStep)

    def _story(self, table: str, query: str, kind: type[T]) -> Iterator[T]:
        if not self._database.has(table):
            return iter(())
        return select_each(self._database, query.format(columns=column_names(kind)), kind)


@contextmanager
def trace_model(dataset: Dataset) -> Iterator[TraceModel]:
    """Yields the model while its database is open. Raises UsageError where a table cannot be read."""
    with (
        temporary_folder("trace") as scratch,
        Database(dataset, tables=_TABLES, memory=WorkMemory(MEMORY, scratch)) as database,
    ):
        yield TraceModel(database)
