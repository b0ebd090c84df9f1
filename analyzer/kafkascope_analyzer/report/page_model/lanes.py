"""The timeline's lanes: client instances, and under each its connections with their roles, marks and ends.

A connection that belongs to no client instance (no stories, or too little traffic) is listed under its client's
address.
"""

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, TypeVar

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.row_types import Row
from kafkascope_analyzer.dataset.table_rows import one_of
from kafkascope_analyzer.dataset.tables import CONNECTIONS, ROLES, TCP_EVENTS
from kafkascope_analyzer.report.api_families import role_family_number
from kafkascope_analyzer.report.model.client_texts import job_text
from kafkascope_analyzer.report.model.clients import (
    ClientFacts,
    ConnectionRow,
    Job,
    connections_of_clients,
    jobs_of,
    roles_of_connections,
)
from kafkascope_analyzer.report.rows import grouped, read
from kafkascope_spark.stories.clients.table import CLIENT_KINDS

C = TypeVar("C", "LaneConnection", "LaneClient")
MOST_LANES = 10_000
"""Most connections with a lane; where there are more, those with most requests and errors."""
MOST_CLIENT_IDS = 3
MOST_EVENTS = 20_000
UNASSIGNED = "unassigned"
"""Kind of the entry for the connections of an address that belong to no client instance."""
EVENTS = {"refused": 0, "rst": 1, "gap": 2, "zero_window": 3, "fin": 4, "syn_retry": 5}
"""TCP events that are marked on lanes. Where there are too many, those with the lower number are kept."""


@dataclass(frozen=True, slots=True)
class LaneRole:
    """A role of a connection and the time from which on it has it. text: its purpose, and how certain it is; family:
    the family whose colour it has."""

    role: Annotated[str, "the role", ROLES]
    text: str
    first_ns: int | None
    family: int


@dataclass(frozen=True, slots=True)
class LaneConnection(ConnectionRow):
    """A connection. client: its index among the clients; family: the family whose colour it has, None where no role is
    known."""

    close_ns: int | None
    principal: str | None
    client_ids: tuple[str, ...]
    from_: str = ""
    to: str = ""
    client: int = 0
    roles: tuple[LaneRole, ...] = ()
    family: int | None = None

    @property
    def order(self) -> tuple[int, str]:
        """Sort key of the connections of a client."""
        return self.first_ns, self.conn_id


@dataclass(frozen=True, slots=True)
class LaneClient(ClientFacts):
    """A client instance, or an address whose connections belong to none. conns: indices into the connections."""

    kind: Annotated[str, "what it is", (*CLIENT_KINDS, UNASSIGNED)]
    n_connections: int = 0
    conns: tuple[int, ...] = ()
    name: str = ""
    what: str = ""
    software: str = ""
    facts: tuple[str, ...] = ()
    start: str | None = None
    start_outcome: str | None = None
    outcome: str = ""
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class TcpEvents:
    """TCP events on the lanes, as columns in the order of the lanes."""

    conn: tuple[int, ...]
    event: tuple[str, ...]
    packet_no: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Lanes:
    """Clients by the time they were first seen, brokers after all others; connections by their client and time."""

    clients: tuple[LaneClient, ...]
    connections: tuple[LaneConnection, ...]
    n_connections: int
    events: TcpEvents


@dataclass(frozen=True, slots=True)
class _Event(Row):
    TABLE: ClassVar[Table] = TCP_EVENTS
    conn_id: str
    ts_ns: int
    event: str
    packet_no: int | None


def load_lanes(dataset: Dataset) -> Lanes:
    """Loads the lanes. Raises UsageError where a table cannot be read."""
    n_all = dataset.rows(CONNECTIONS.name)
    chosen = heapq.nsmallest(MOST_LANES, read(dataset, LaneConnection), key=_weight)
    found = {
        row.conn_id: _ends_named(row)
        for row in sorted(_counted(chosen, is_whole=dataset.has_whole_connections), key=lambda row: row.conn_id)
    }
    clients: list[LaneClient] = []
    listed: list[LaneConnection] = []
    for client, mine in _with_connections(dataset, found):
        conns = tuple(range(len(listed), len(listed) + len(mine)))
        listed += [replace(connection, client=len(clients)) for connection in mine]
        clients.append(replace(client, conns=conns, n_connections=client.n_connections or len(mine)))
    connections = _with_roles(dataset, listed)
    return Lanes(tuple(clients), connections, n_all, _events(dataset, connections))


def _counted(rows: Iterable[C], *, is_whole: bool) -> Iterator[C]:
    """Yields the connections or clients. is_whole: whether all rows of each are read; else they have no totals."""
    return iter(rows) if is_whole else (replace(row, n_requests=None, n_errors=None) for row in rows)


def _weight(row: LaneConnection) -> tuple[int, int, str]:
    return -(row.n_errors or 0), -(row.n_requests or 0), row.conn_id


def _ends_named(row: LaneConnection) -> LaneConnection:
    client, server = row.ends
    return replace(row, from_=client or "", to=server or "")


def _with_connections(
    dataset: Dataset, found: Mapping[str, LaneConnection]
) -> Iterator[tuple[LaneClient, list[LaneConnection]]]:
    """Yields clients with those of their connections that have a lane. Clients without any are left out."""
    owners = connections_of_clients(dataset)
    clients = sorted(
        _counted(read(dataset, LaneClient), is_whole=dataset.has_whole_clients),
        key=lambda c: (c.kind == "broker", c.first_ns or 0, c.client_instance_id),
    )
    placed: set[str] = set()
    for client in clients:
        conn_ids = owners[client.client_instance_id]
        mine = sorted((found[c] for c in conn_ids if c in found), key=lambda row: row.order)
        placed.update(row.conn_id for row in mine)
        if mine:
            yield replace(client, n_connections=len(conn_ids)), mine
    strays = grouped((row for row in found.values() if row.conn_id not in placed), lambda row: row.client_ip or "?")
    for ip, of_address in sorted(strays.items()):
        yield _stray(ip, of_address), sorted(of_address, key=lambda row: row.order)


def _stray(ip: str, mine: list[LaneConnection]) -> LaneClient:
    """Returns a client that stands for an address with connections that belong to no client instance."""
    names = Counter(name for row in mine for name in row.client_ids)
    return LaneClient(
        client_instance_id=f"address {ip}",
        client_id=next(iter(names)) if len(names) == 1 else None,
        client_ip=ip,
        kind=UNASSIGNED,
        first_ns=min(row.first_ns for row in mine),
        last_ns=max(row.last_ns for row in mine),
        n_requests=_total(row.n_requests for row in mine),
        n_errors=_total(row.n_errors for row in mine),
        software_name=None,
        software_version=None,
        claimed_software=None,
        claimed_software_why=None,
        principal=None,
        group_protocol=None,
        group_id=None,
        group_instance_id=None,
        transactional_id=None,
        transactions=None,
        identity=None,
        identity_why=None,
        end_state=None,
    )


def _total(counts: Iterable[int | None]) -> int | None:
    known = [n for n in counts if n is not None]
    return sum(known) if known else None


def _with_roles(dataset: Dataset, listed: list[LaneConnection]) -> tuple[LaneConnection, ...]:
    roles = roles_of_connections(dataset, {row.conn_id for row in listed})
    return tuple(
        replace(
            row,
            client_ids=row.client_ids[:MOST_CLIENT_IDS],
            roles=tuple(map(_role, jobs_of(roles.get(row.conn_id, [])))),
            family=role_family_number(row.primary_role) if row.primary_role else None,
        )
        for row in listed
    )


def _role(job: Job) -> LaneRole:
    return LaneRole(job.role, job_text(job), job.first_ns, role_family_number(job.role))


def _events(dataset: Dataset, listed: tuple[LaneConnection, ...]) -> TcpEvents:
    place = {row.conn_id: number for number, row in enumerate(listed)}
    seen = (row for row in read(dataset, _Event, one_of("event", list(EVENTS))) if row.conn_id in place)
    kept = heapq.nsmallest(MOST_EVENTS, seen, key=lambda row: (EVENTS[row.event], row.ts_ns, place[row.conn_id]))
    kept.sort(key=lambda row: (place[row.conn_id], row.ts_ns, row.event, row.packet_no or 0))
    return TcpEvents(
        conn=tuple(place[row.conn_id] for row in kept),
        event=tuple(row.event for row in kept),
        packet_no=tuple(row.packet_no for row in kept),
    )
