"""Each client instance: its kind, the jobs of its connections, how it started and how it recovered.

Reads the story tables for a bounded number of clients: where there are too many, those with problems come first.
Connections between brokers are summed up, not listed.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.row_types import Row
from kafkascope_analyzer.dataset.table_rows import one_of
from kafkascope_analyzer.dataset.tables import CONNECTIONS, ROLE_ROWS, ROLES
from kafkascope_analyzer.dataset.tables.connections import CLAIMED_JOBS, COORDINATOR_JOB
from kafkascope_analyzer.report.formatting import address
from kafkascope_analyzer.report.model.client_outcomes import CLIENT_OUTCOMES, UNKNOWN, client_outcomes, outcome_of
from kafkascope_analyzer.report.model.recoveries import (
    MOST_CAUSES,
    MOST_NAMES,
    RecoveredCause,
    causes_of,
    recoveries_text,
)
from kafkascope_analyzer.report.model.starts import Start, both_ends, loops_of, starts_in_order, with_steps
from kafkascope_analyzer.report.rows import grouped, read
from kafkascope_spark.stories.cadences.table import Cadence
from kafkascope_spark.stories.recoveries.table import NOT_RECOVERED, RECOVERIES, RecoveryOutcome
from kafkascope_spark.stories.startups.table import NOT_READY
from kafkascope_spark.stories.tables import CLIENTS, STARTUPS

MOST_CLIENTS = 200
MOST_CONNECTIONS = 100
MOST_STARTS = 10
MOST_LOOPS = 20
"""Limits of report.json, so that a capture of a whole day still makes a report that a person can open; the tables
have everything.
"""

_ROLE_OF_JOB = dict.fromkeys(CLAIMED_JOBS, "partition_leader") | {COORDINATOR_JOB: "group_coordinator"}
"""The role of the broker on an encrypted connection, by the job that the lengths of TLS records suggest."""


@dataclass(frozen=True, slots=True)
class Job:
    """A job of a connection: the purpose for which the client uses it."""

    role: Annotated[str, "the job", ROLES]
    n_subjects: Annotated[int, "topic-partitions, groups or transactional ids of the job"]
    subjects: Annotated[tuple[str, ...], "the first 5 of them"]
    verdicts: Annotated[dict[str, int], "rows of table roles by verdict: confirmed, claimed, refused"]
    n_requests: Annotated[int | None, "requests for the job; null as with the connection"]
    first_ns: Annotated[int | None, "first of them"]


@dataclass(frozen=True, slots=True)
class ClientConnection:
    """A connection of a client with its jobs."""

    conn_id: Annotated[str, "connection"]
    node_id: Annotated[int | None, "node id of the server"]
    protocol: Annotated[str | None, "its protocol"]
    first_ns: Annotated[int | None, "first segment"]
    last_ns: Annotated[int | None, "last segment"]
    close_kind: Annotated[str | None, "how it ended"]
    n_requests: Annotated[
        int | None, "requests; null where the report is restricted to parts of connections, as for n_errors"
    ]
    n_errors: Annotated[int | None, "errors"]
    primary_role: Annotated[str | None, "role with the most requests"]
    sasl_mechanism: Annotated[str | None, "SASL mechanism"]
    tls_version: Annotated[str | None, "TLS version"]
    client: Annotated[str | None, "address and port of the client"]
    server: Annotated[str | None, "address and port of the server"]
    roles: Annotated[tuple[Job, ...], "its jobs by the time they began"]


@dataclass(frozen=True, slots=True)
class ClientFacts(Row):
    """Columns of table stories/clients about a client instance itself."""

    TABLE: ClassVar[Table] = CLIENTS
    client_instance_id: str
    client_id: str | None
    client_ip: str | None
    kind: str
    software_name: str | None
    software_version: str | None
    claimed_software: str | None
    claimed_software_why: str | None
    principal: str | None
    group_protocol: str | None
    group_id: str | None
    group_instance_id: str | None
    transactional_id: str | None
    transactions: str | None
    identity: str | None
    identity_why: str | None
    end_state: str | None
    first_ns: int | None
    last_ns: int | None
    n_requests: int | None
    n_errors: int | None


@dataclass(frozen=True, slots=True)
class Client(ClientFacts):
    """A row of stories/clients."""

    software_from: str | None
    member_ids: tuple[str, ...] | None
    n_connections: Annotated[int, "its connections"] = 0
    connections: Annotated[tuple[ClientConnection, ...], "the first 100 of them"] = ()
    n_starts: Annotated[int, "its starts"] = 0
    starts: Annotated[tuple[Start, ...], "the first 10 of them"] = ()
    n_odd_loops: Annotated[int, "its loops that are too slow or too fast"] = 0
    odd_loops: Annotated[tuple[Cadence, ...], "20 of them, late ones first"] = ()
    n_recoveries: Annotated[int, "its recoveries"] = 0
    n_causes: Annotated[int, "causes of these"] = 0
    recoveries: Annotated[
        tuple[RecoveredCause, ...], "its recoveries, those of one cause together; the first 25 causes"
    ] = ()
    longest_stall: Annotated[str | None, "its longest stall in words; null without one"] = None
    outcome: Annotated[
        str, "its outcome: the worst of its starts, recoveries, stalls and incidents", CLIENT_OUTCOMES
    ] = UNKNOWN
    trouble: Annotated[str, "its problems in words; none where it was served without problems"] = ""


@dataclass(frozen=True, slots=True)
class BrokerClients:
    """Summary of the brokers' own clients."""

    n: Annotated[int, "clients inside brokers"]
    n_connections: Annotated[int, "their connections"]
    n_requests: Annotated[int | None, "their requests; null where the report is restricted to parts of connections"]
    n_errors: Annotated[int | None, "errors in the responses to them; null likewise"]
    addresses: Annotated[tuple[str, ...], "their addresses"]
    ends: Annotated[dict[str, int], "clients by how they ended"]


@dataclass(frozen=True, slots=True)
class Clients:
    """Client instances: their kinds, their connections, how they started and recovered."""

    n: Annotated[int, "client instances, without brokers"]
    listed: Annotated[
        tuple[Client, ...],
        "client instances by the time they were first seen, at most 200; if there are more, those with problems",
    ]
    brokers: Annotated[BrokerClients, "the brokers' own clients, summed up"]


@dataclass(frozen=True, slots=True)
class ConnectionsOfClient(Row):
    """The connections of a client instance."""

    TABLE: ClassVar[Table] = CLIENTS
    client_instance_id: str
    conn_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ConnectionRow(Row):
    """Columns of table connections about a connection."""

    TABLE: ClassVar[Table] = CONNECTIONS
    conn_id: str
    client_ip: str | None
    client_port: int | None
    server_ip: str | None
    server_port: int | None
    node_id: int | None
    protocol: str | None
    first_ns: int
    last_ns: int
    close_kind: str | None
    primary_role: str | None
    sasl_mechanism: str | None
    tls_version: str | None
    n_requests: int | None
    n_errors: int | None

    @property
    def ends(self) -> tuple[str | None, str | None]:
        """Address and port of the client and of the server."""
        return address(self.client_ip, self.client_port), address(self.server_ip, self.server_port)


@dataclass(frozen=True, slots=True)
class RoleRow(Row):
    """Columns of table roles about a role of a connection."""

    TABLE: ClassVar[Table] = ROLE_ROWS
    conn_id: str
    role: str
    subject: str | None
    n_requests: int
    verdict: str
    first_ns: int | None
    last_ns: int | None


@dataclass(frozen=True, slots=True)
class _ClaimedJob(Row):
    """The job that an encrypted connection seems to have."""

    TABLE: ClassVar[Table] = CONNECTIONS
    conn_id: str
    claimed_job: str | None
    claimed_requests: int | None
    first_ns: int | None
    last_ns: int | None


@dataclass(frozen=True, slots=True)
class _RecoveryOutcome(Row):
    TABLE: ClassVar[Table] = RECOVERIES
    client_instance_id: str
    outcome: RecoveryOutcome


@dataclass(frozen=True, slots=True)
class _StartOutcome(Row):
    TABLE: ClassVar[Table] = STARTUPS
    client_instance_id: str


def clients(dataset: Dataset) -> Clients:
    """Returns client instances by the time they were first seen, and one summary of the brokers among them."""
    everyone = list(_counted(dataset, read(dataset, Client)))
    conn_ids = connections_of_clients(dataset)
    troubled = _troubled(dataset)
    listed = sorted(
        (client for client in everyone if client.kind != "broker"),
        key=lambda c: (-troubled[c.client_instance_id], c.first_ns or 0, c.client_instance_id),
    )
    chosen = sorted(listed[:MOST_CLIENTS], key=lambda c: (c.first_ns or 0, c.client_instance_id))
    return Clients(
        n=len(listed),
        listed=tuple(_complete(dataset, chosen, conn_ids)),
        brokers=_brokers(dataset, [client for client in everyone if client.kind == "broker"], conn_ids),
    )


def connections_of_clients(dataset: Dataset, only: Any = None) -> dict[str, tuple[str, ...]]:
    """Returns client_instance_id -> its connections, of those that are read. only: the clients (a pyarrow
    expression)."""
    found = {row.client_instance_id: row.conn_ids for row in read(dataset, ConnectionsOfClient, only)}
    if dataset.restriction is None:
        return found
    there = {c for batch in dataset.batches(CONNECTIONS, ["conn_id"]) for c in batch.column(0).to_pylist()}
    return {name: tuple(c for c in conn_ids if c in there) for name, conn_ids in found.items()}


def one_client(dataset: Dataset, client_instance_id: str) -> Client:
    """Returns the client with everything that the report has about it. Raises StopIteration where no client has that
    id."""
    only = one_of("client_instance_id", [client_instance_id])
    conn_ids = connections_of_clients(dataset, only)
    return next(iter(_complete(dataset, list(_counted(dataset, read(dataset, Client, only))), conn_ids)))


def _counted(dataset: Dataset, found: Iterable[Client]) -> Iterator[Client]:
    """Yields the clients, without counts where only parts of clients are read."""
    for client in found:
        yield client if dataset.has_whole_clients else replace(client, n_requests=None, n_errors=None)


def _complete(dataset: Dataset, chosen: list[Client], conn_ids: Mapping[str, tuple[str, ...]]) -> Iterable[Client]:
    """Yields the clients with their connections, starts, loops and recoveries."""
    ids = [client.client_instance_id for client in chosen]
    connections = _connections(dataset, [c for name in ids for c in conn_ids[name][:MOST_CONNECTIONS]])
    starts = grouped(starts_in_order(dataset, ids), lambda start: start.client_instance_id)
    shown = with_steps(dataset, [start for of_client in starts.values() for start in of_client[:MOST_STARTS]])
    steps = grouped((replace(s, steps=both_ends(s.steps)) for s in shown), lambda start: start.client_instance_id)
    causes, loops, outcomes = causes_of(dataset, ids), loops_of(dataset, ids), client_outcomes(dataset)
    for client in chosen:
        identity = client.client_instance_id
        mine, recoveries = conn_ids[identity], causes.get(identity, [])
        odd = [loop for loop in loops.get(identity, []) if loop.is_odd]
        fared = outcome_of(outcomes, identity)
        n_recoveries = sum(cause.n_episodes for cause in recoveries)
        odd.sort(key=lambda loop: (loop.verdict != "late", loop.cadence, loop.conn_id or ""))
        yield replace(
            client,
            n_connections=len(mine),
            connections=tuple(connections[c] for c in mine[:MOST_CONNECTIONS] if c in connections),
            n_starts=len(starts.get(identity, [])),
            starts=tuple(steps.get(identity, [])),
            n_odd_loops=len(odd),
            odd_loops=tuple(odd[:MOST_LOOPS]),
            n_recoveries=n_recoveries,
            n_causes=len(recoveries),
            recoveries=tuple(recoveries[:MOST_CAUSES]),
            longest_stall=fared.longest_stall,
            outcome=fared.outcome,
            trouble=fared.trouble(recoveries_text(n_recoveries, recoveries)),
        )


def _troubled(dataset: Dataset) -> Counter[str]:
    """Counts problems by client instance: episodes that did not end well, failed starts, other episodes."""
    found: Counter[str] = Counter()
    for row in read(dataset, _RecoveryOutcome):
        found[row.client_instance_id] += 100 if row.outcome in NOT_RECOVERED else 1
    for start in read(dataset, _StartOutcome, one_of("outcome", sorted(NOT_READY))):
        found[start.client_instance_id] += 50
    return found


def _brokers(dataset: Dataset, instances: list[Client], conn_ids: Mapping[str, tuple[str, ...]]) -> BrokerClients:
    is_whole = dataset.has_whole_clients
    ends = Counter(client.end_state or "unknown" for client in instances)
    return BrokerClients(
        n=len(instances),
        n_connections=sum(len(conn_ids[client.client_instance_id]) for client in instances),
        n_requests=sum(client.n_requests or 0 for client in instances) if is_whole else None,
        n_errors=sum(client.n_errors or 0 for client in instances) if is_whole else None,
        addresses=tuple(sorted({client.client_ip for client in instances if client.client_ip})),
        ends=dict(sorted(ends.items())),
    )


def _connections(dataset: Dataset, wanted: list[str]) -> dict[str, ClientConnection]:
    """Returns the connections with their jobs, by conn_id."""
    roles = roles_of_connections(dataset, wanted)
    is_whole = dataset.has_whole_connections
    return {
        row.conn_id: ClientConnection(
            conn_id=row.conn_id,
            node_id=row.node_id,
            protocol=row.protocol,
            first_ns=row.first_ns,
            last_ns=row.last_ns,
            close_kind=row.close_kind,
            n_requests=row.n_requests if is_whole else None,
            n_errors=row.n_errors if is_whole else None,
            primary_role=row.primary_role,
            sasl_mechanism=row.sasl_mechanism,
            tls_version=row.tls_version,
            client=row.ends[0],
            server=row.ends[1],
            roles=jobs_of(roles.get(row.conn_id, []), is_whole=is_whole),
        )
        for row in read(dataset, ConnectionRow, one_of("conn_id", wanted))
    }


def roles_of_connections(dataset: Dataset, wanted: Collection[str]) -> dict[str, list[RoleRow]]:
    """Returns conn_id -> its roles. The role of an encrypted connection is the one suggested by the lengths of its TLS
    records."""
    of_these = one_of("conn_id", sorted(wanted))
    claimed = (
        RoleRow(
            row.conn_id,
            _ROLE_OF_JOB[row.claimed_job],
            None,
            row.claimed_requests or 0,
            "claimed",
            row.first_ns,
            row.last_ns,
        )
        for row in read(dataset, _ClaimedJob, of_these)
        if row.claimed_job is not None
    )
    return grouped([*read(dataset, RoleRow, of_these), *claimed], lambda row: row.conn_id)


def jobs_of(roles: list[RoleRow], *, is_whole: bool = True) -> tuple[Job, ...]:
    """Returns the jobs of one connection by the time they began. is_whole: whether all rows of the
    connection are read."""
    jobs = [_job(of_role, is_whole) for of_role in grouped(roles, lambda row: row.role).values()]
    return tuple(sorted(jobs, key=lambda job: (job.first_ns or 0, job.role)))


def _job(of_role: list[RoleRow], is_whole: bool) -> Job:
    subjects = sorted({row.subject for row in of_role if row.subject})
    verdicts = Counter(row.verdict or "claimed" for row in of_role)
    return Job(
        role=of_role[0].role,
        n_subjects=len(subjects),
        subjects=tuple(subjects[:MOST_NAMES]),
        verdicts=dict(sorted(verdicts.items())),
        n_requests=sum(row.n_requests for row in of_role) if is_whole else None,
        first_ns=min((row.first_ns for row in of_role if row.first_ns is not None), default=None),
    )
