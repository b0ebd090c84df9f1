"""The brokers: cluster id, controller, node ids, the addresses of their servers, and their entries in Metadata."""

from dataclasses import dataclass, replace
from typing import Annotated

from kafkascope_analyzer.dataset.broker_releases import MIGRATION, ClusterReleases, cluster_releases
from kafkascope_analyzer.report.formatting import ADDRESS_SQL
from kafkascope_analyzer.report.rows import grouped, select
from kafkascope_analyzer.sql.database import Database
from kafkascope_parsers.broker_release import KRAFT_MODE, ZOOKEEPER_MODE

MOST_BROKERS = 200
"""Most brokers in report.json. Clusters have a few dozen; behind a gateway with a port for each broker there may be
more."""


@dataclass(frozen=True, slots=True)
class ReleaseTime:
    """A release of Kafka that a broker ran."""

    release: Annotated[str, "the releases that offer such versions of APIs, or `unknown`"]
    first_ns: Annotated[int, "first connection on which it offered them"]
    last_ns: Annotated[int, "last one"]


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker."""

    node_id: Annotated[int, "node id"]
    addresses: Annotated[tuple[str, ...], "addresses at which it answered, the most common first"]
    advertised: Annotated[tuple[str, ...], "addresses that it advertises"]
    rack: Annotated[str | None, "rack"]
    releases: Annotated[tuple[ReleaseTime, ...], "releases of Kafka that it ran, by time"]
    n_connections: Annotated[int, "connections to it"]
    n_requests: Annotated[
        int | None,
        "requests on them, of encrypted ones by the lengths of TLS records; null where the report is restricted to "
        "parts of connections, as for n_errors",
    ]
    n_errors: Annotated[int | None, "non-zero error codes in its responses"]

    @property
    def address(self) -> str | None:
        """The address at which the broker is reached: the most common one, else the one that it advertises."""
        return next(iter((*self.addresses, *self.advertised)), None)


@dataclass(frozen=True, slots=True)
class UnknownServer:
    """A Kafka server whose node id is not known."""

    address: Annotated[str, "address"]
    n_connections: Annotated[int, "connections to it"]


@dataclass(frozen=True, slots=True)
class Cluster:
    """The brokers."""

    cluster_ids: Annotated[tuple[str, ...], "cluster ids"]
    controllers: Annotated[tuple[int, ...], "node ids that messages name as controller"]
    mode: Annotated[str | None, "how the cluster keeps its metadata", (ZOOKEEPER_MODE, KRAFT_MODE, MIGRATION)]
    sentence: Annotated[str | None, "mode and releases in a sentence"]
    n_brokers: Annotated[int, "brokers"]
    brokers: Annotated[tuple[Broker, ...], "brokers by node id, at most 200"]
    servers_without_node_id: Annotated[tuple[UnknownServer, ...], "Kafka servers whose node id is not known"]

    def address_of(self, node_id: int | None) -> str | None:
        """Returns the address at which the broker is reached; None where it is not known."""
        return next((broker.address for broker in self.brokers if broker.node_id == node_id), None)


@dataclass(frozen=True, slots=True)
class _Server:
    """Connections to an address of a node."""

    node_id: int | None
    address: str
    n_connections: int
    n_requests: int
    n_errors: int


@dataclass(frozen=True, slots=True)
class _Listed:
    """A node as Metadata lists it, or a controller, or a cluster id."""

    kind: str
    node_id: int | None
    address: str | None
    rack: str | None
    cluster_id: str | None


_SERVERS = f"""
select node_id, coalesce({ADDRESS_SQL.format(ip="server_ip", port="server_port")}, '') as address,
    count(*) as n_connections,
    coalesce(sum(n_requests), 0)::bigint + coalesce(sum(claimed_requests), 0)::bigint as n_requests,
    coalesce(sum(n_errors), 0)::bigint as n_errors
from connections where protocol = 'kafka' or claimed_requests is not null
group by all order by n_connections desc, address
"""
_LISTED = f"""
select kind, node_id, cluster_id, {ADDRESS_SQL.format(ip="host", port="port")} as address,
    min_by(rack, ts_ns) filter (rack is not null and rack <> '') as rack
from topology where kind in ('broker', 'controller', 'cluster') group by all order by address
"""


def cluster(database: Database) -> Cluster:
    """Returns the brokers by node id. Raises UsageError where a table cannot be read."""
    servers, listed = select(database, _SERVERS, _Server), select(database, _LISTED, _Listed)
    releases = cluster_releases(database.dataset)
    seen = grouped((row for row in servers if row.node_id is not None), lambda row: row.node_id)
    known = [row for row in listed if row.kind == "broker" and (row.node_id or 0) >= 0 and row.address]
    advertised = grouped((row for row in known if row.node_id is not None), lambda row: row.node_id)
    shown = seen if database.dataset.restriction else {**seen, **advertised}
    node_ids = sorted(node_id for node_id in shown if node_id is not None)
    brokers = [_broker(node_id, seen.get(node_id, []), advertised.get(node_id, []), releases) for node_id in node_ids]
    if not database.dataset.has_whole_connections:
        brokers = [replace(broker, n_requests=None, n_errors=None) for broker in brokers]
    controllers = {row.node_id for row in listed if row.kind == "controller" and row.node_id is not None}
    loose = [UnknownServer(row.address, row.n_connections) for row in servers if row.node_id is None]
    return Cluster(
        cluster_ids=tuple(sorted({row.cluster_id for row in listed if row.cluster_id})),
        controllers=tuple(sorted(node_id for node_id in controllers if node_id >= 0)),
        mode=releases.mode,
        sentence=releases.sentence,
        n_brokers=len(brokers),
        brokers=tuple(brokers[:MOST_BROKERS]),
        servers_without_node_id=tuple(loose[:MOST_BROKERS]),
    )


def _broker(node_id: int, seen: list[_Server], listed: list[_Listed], releases: ClusterReleases) -> Broker:
    spans = releases.of_node(node_id)
    return Broker(
        node_id=node_id,
        addresses=tuple(row.address for row in seen),
        advertised=tuple(sorted({row.address for row in listed if row.address})),
        rack=next((row.rack for row in listed if row.rack), None),
        releases=tuple(ReleaseTime(span.release.text, span.first_ns, span.last_ns) for span in spans),
        n_connections=sum(row.n_connections for row in seen),
        n_requests=sum(row.n_requests for row in seen),
        n_errors=sum(row.n_errors for row in seen),
    )
