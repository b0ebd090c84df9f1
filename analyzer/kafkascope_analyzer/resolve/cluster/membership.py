"""Assigns each connection to a cluster: nodes, topics, groups and transactional ids of two clusters may have the same
names.

A cluster id names the cluster of the connection on which messages carry it. Where a connection carries none, its
server's address decides:

1. An address on whose connections messages carry ids belongs to the id that most of these connections carry (of as
   many, to the one that was named last). So a proxy or a rebuilt lab may serve several clusters at one address.
2. Else to the id whose responses advertise it, where only one does.
3. Else addresses that one response names together, and the address that answered, are one cluster. It has the id that
   one of them has; two ids are never joined. A cluster without any id is called by its smallest address.
4. An address that no message names belongs to the cluster to which the other servers on its host belong, or else the
   clients of its connections, where that is one.
5. All other addresses form one cluster of their own, called by the smallest of them.

Where that results in one cluster or none, everything belongs to one cluster.
"""

import ipaddress
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.connections.dictionary import ServerEndpoints
from kafkascope_analyzer.connections.hosts import HostNames
from kafkascope_analyzer.connections.nodes import Endpoint
from kafkascope_analyzer.resolve.cluster.joined_addresses import Advertised, JoinedAddresses
from kafkascope_analyzer.scan.cluster_ids import CLUSTER_IDS, CLUSTER_IDS_SCHEMA
from kafkascope_analyzer.scan.spill import read_spill
from kafkascope_parsers.framing.layout import KAFKA, TLS

Ints = NDArray[np.int64]
NONE = -1
MOST_CLUSTERS = 256
"""Most clusters that are distinguished: each is a pass over the scan's results. The addresses of further ones, those
with the fewest connections, count as addresses that no message names."""
BY_ID, BY_MESSAGES, BY_NOTHING = "cluster_id", "addresses", "nothing"
_NO_CONNECTIONS = pa.schema(
    [("protocol", pa.int8()), ("client_ip", pa.string()), ("server_ip", pa.string()), ("server_port", pa.int32())]
).empty_table()
_MOST_ROUNDS = 16
_COLUMNS = _NO_CONNECTIONS.column_names


@dataclass(frozen=True, slots=True)
class ClusterName:
    """name: the cluster id, or the address that represents the cluster. known_by: BY_ID; BY_MESSAGES, where messages
    name its addresses without an id; or BY_NOTHING, where no message names them."""

    name: str
    known_by: str


_UNNAMED = ClusterName("", BY_NOTHING)


@dataclass(frozen=True, slots=True)
class Membership:
    """clusters: all of them. of_connection: the number of the cluster of each connection, by the directory of a
    bucket's spill. of_client: the numbers of the clusters that each client address talks to, where there are several
    clusters; of_others: the number of the cluster that gets the look-ups of all other clients. n_left_out: clusters
    beyond MOST_CLUSTERS."""

    clusters: Sequence[ClusterName]
    of_connection: Mapping[Path, Ints]
    of_client: Mapping[str, frozenset[int]]
    of_others: int
    n_left_out: int = 0

    def of_lookups(self, client: str) -> frozenset[int]:
        """Returns the numbers of the clusters that get the look-ups of a client address."""
        return self.of_client.get(client, frozenset([self.of_others]))


def find_clusters(spills: Sequence[Path], names: HostNames) -> Membership:
    """Returns the clusters of all connections. names: addresses of hosts, with the DNS answers."""
    parts = [pa.concat_tables([_NO_CONNECTIONS, *read_spill(spill, "connections", _COLUMNS)]) for spill in spills]
    starts = np.cumsum([0, *(part.num_rows for part in parts)]).tolist()
    seen = _Seen(pa.concat_tables([_NO_CONNECTIONS, *parts]).combine_chunks())
    first_rows = dict(zip(spills, starts[:-1], strict=True))
    seen.note_ids(first_rows)
    sets = JoinedAddresses(seen.carried(), _advertised(first_rows, seen, names))
    named = _Named(seen, sets)
    numbers = named.of_connections()
    clusters, others = named.clusters, max(named.of_unnamed, 0)
    of_client = seen.clusters_of_clients(numbers) if len(clusters) > 1 else {}
    if not clusters or (of_client and named.of_unnamed == NONE):
        name = _name_server(spills, set(of_client))
        if name is not None:
            others, clusters = len(clusters), [*clusters, ClusterName(name, BY_NOTHING)]
    clusters = seen.called_by_address(clusters, numbers)
    of_connection = {spill: numbers[slice(*rows)] for spill, rows in zip(spills, pairwise(starts), strict=True)}
    return Membership(clusters, of_connection, of_client, others, named.n_left_out)


class _Seen:
    """The connections of all buckets: their clients, their servers, and the cluster ids that their messages carry.

    client: int64[n], index into `clients`; end: int64[n], index into `ends`, the endpoints of servers; cluster_id:
    int64[n], index into `ids`, NONE where no message carries one; id_ns: time of the message that carries it.
    """

    def __init__(self, connections: pa.Table) -> None:
        clients = connections["client_ip"].combine_chunks().dictionary_encode()
        self.clients = [client or "" for client in clients.dictionary.to_pylist()]
        self.client = clients.indices.fill_null(0).to_numpy().astype(np.int64)
        servers = ServerEndpoints(connections)
        self.ends, self.end = servers.distinct, servers.which
        speaks = np.isin(connections["protocol"].to_numpy(), (KAFKA, TLS))
        self.brokers = {self.ends[end] for end in np.unique(self.end[speaks]).tolist()}
        n = connections.num_rows
        self.ids: list[str] = []
        self.cluster_id, self.id_ns = np.full(n, NONE), np.zeros(n, np.int64)

    def note_ids(self, first_rows: Mapping[Path, int]) -> None:
        """Reads the cluster ids in messages. An id in responses takes precedence over one in requests; of several the
        last one counts."""
        tables = [CLUSTER_IDS_SCHEMA.empty_table()]
        for spill, first in first_rows.items():
            found = read_spill(spill, CLUSTER_IDS)
            tables += [rows.set_column(0, "conn", pc.add(rows["conn"], first)) for rows in found]
        order = [(name, "ascending") for name in ("in_response", "ts_ns", "cluster_id")]
        rows = pa.concat_tables(tables).sort_by(order)
        coded = rows["cluster_id"].combine_chunks().dictionary_encode()
        self.ids = coded.dictionary.to_pylist()
        conn = rows["conn"].to_numpy()
        self.cluster_id[conn] = coded.indices.to_numpy()  # of several rows of a connection, the last one counts
        self.id_ns[conn] = rows["ts_ns"].to_numpy()

    def carried(self) -> dict[Endpoint, dict[str, tuple[int, int]]]:
        """For each address the cluster ids in messages of its connections, each with the number of connections that
        carry it and the time of the last message that does."""
        conns = np.flatnonzero(self.cluster_id != NONE)
        pairs, which = _distinct_pairs(self.end[conns], self.cluster_id[conns])
        counts, last = np.bincount(which, minlength=len(pairs)), np.zeros(len(pairs), np.int64)
        np.maximum.at(last, which, self.id_ns[conns])
        found: dict[Endpoint, dict[str, tuple[int, int]]] = defaultdict(dict)
        for (end, cluster_id), n, ts_ns in zip(pairs.tolist(), counts.tolist(), last.tolist(), strict=True):
            found[self.ends[end]][self.ids[cluster_id]] = (n, ts_ns)
        return found

    @cached_property
    def ends_of_client(self) -> dict[int, set[Endpoint]]:
        """The addresses that each client talks to."""
        found: dict[int, set[Endpoint]] = defaultdict(set)
        for client, end in _distinct_pairs(self.client, self.end)[0].tolist():
            found[client].add(self.ends[end])
        return found

    def called_by_address(self, clusters: Sequence[ClusterName], numbers: Ints) -> list[ClusterName]:
        """Returns the clusters; those without an id are named by the smallest address of their brokers, or else of any
        of their servers. numbers: the cluster of each connection."""
        of_cluster: dict[int, list[Endpoint]] = defaultdict(list)
        for end, number in _distinct_pairs(self.end, numbers)[0].tolist():
            of_cluster[number].append(self.ends[end])
        found = []
        for number, named in enumerate(clusters):
            ends = of_cluster.get(number, [])
            smallest = min([end for end in ends if end in self.brokers] or ends, key=address_order, default=None)
            if named.known_by != BY_ID and smallest is not None:
                named = replace(named, name=address_text(smallest))
            found.append(named)
        return found

    def clusters_of_clients(self, numbers: Ints) -> dict[str, frozenset[int]]:
        """Returns the clusters that each client address talks to. numbers: the cluster of each connection."""
        found: dict[str, set[int]] = defaultdict(set)
        for client, number in _distinct_pairs(self.client, numbers)[0].tolist():
            found[self.clients[client]].add(number)
        return {client: frozenset(clusters) for client, clusters in found.items()}


def _distinct_pairs(one: Ints, other: Ints) -> tuple[Ints, Ints]:
    """Returns the distinct pairs of two columns (int64[m, 2]), and the index of each row's pair. other:
    NONE or more."""
    width = int(other.max(initial=0)) + 2
    keys, which = np.unique(one * width + (other - NONE), return_inverse=True)
    return np.stack([keys // width, keys % width + NONE], 1), which


def _advertised(first_rows: Mapping[Path, int], seen: _Seen, names: HostNames) -> Iterator[Advertised]:
    """Yields the addresses in responses. For a name with several addresses: those to which the client that got the
    response talks."""
    addresses = cache(lambda host: sorted(names.addresses(host)[0]))
    for spill, first in first_rows.items():
        for rows in read_spill(spill, "topology", ["conn", "host", "port"]):
            rows = rows.filter(pc.and_(pc.is_valid(rows["host"]), pc.is_valid(rows["port"])))
            rows = rows.group_by(["conn", "host", "port"], use_threads=False).aggregate([])
            for conn, host, port in zip(*(rows[name].to_pylist() for name in ("conn", "host", "port")), strict=True):
                at, cluster_id = first + conn, int(seen.cluster_id[first + conn])
                found = [(address, port) for address in addresses(host)]
                if len(found) > 1:
                    found = [end for end in found if end in seen.ends_of_client[int(seen.client[at])]]
                for end in found:
                    yield Advertised(end, seen.ends[seen.end[at]], None if cluster_id == NONE else seen.ids[cluster_id])


class _Named:
    """Numbers of clusters. clusters: clusters without an id do not have their final name yet. of_unnamed: the number of
    the cluster of addresses that no message names, NONE where there are no such addresses; n_left_out: clusters beyond
    MOST_CLUSTERS."""

    def __init__(self, seen: _Seen, sets: JoinedAddresses) -> None:
        self._seen = seen
        of_end = [sets.set_of(end) for end in seen.ends]
        of_id = [sets.set_of(cluster_id) for cluster_id in seen.ids]
        n_connections: Counter[Endpoint | str] = Counter()
        pairs, which = _distinct_pairs(seen.end, seen.cluster_id)
        for (end, cluster_id), n in zip(pairs.tolist(), np.bincount(which).tolist(), strict=True):
            top = of_end[end] if cluster_id == NONE else of_id[cluster_id]
            if top is not None:
                n_connections[top] += n
        kept = sorted(n_connections, key=lambda each: (-n_connections[each], str(each)))[: MOST_CLUSTERS - 1]
        self.n_left_out = len(n_connections) - len(kept)
        names = {top: _name_of(top) for top in kept}
        self.clusters = sorted(names.values(), key=lambda each: each.name)
        numbers = {top: self.clusters.index(named) for top, named in names.items()}
        self._of_end = np.array([NONE if top is None else numbers.get(top, NONE) for top in of_end], np.int64)
        self._of_id = np.array([*(NONE if top is None else numbers.get(top, NONE) for top in of_id), NONE], np.int64)
        self.of_unnamed = NONE

    def of_connections(self) -> Ints:
        """Returns the number of the cluster of each connection."""
        seen = self._seen
        if len(self.clusters) <= 1:
            if not self.clusters and seen.ends:
                self.clusters = [_UNNAMED]
            return np.zeros(len(seen.end), np.int64)
        by_id = self._of_id[seen.cluster_id]
        of_end, found = self._of_end, np.where(by_id != NONE, by_id, self._of_end[seen.end])
        for _ in range(_MOST_ROUNDS):  # assigning one address may make further ones assignable
            n_unnamed = int((of_end == NONE).sum())
            of_end = self._of_end_by_others(of_end, found)
            found = np.where(found != NONE, found, of_end[seen.end])
            if (of_end == NONE).sum() in (0, n_unnamed):
                break
        if (of_end == NONE).any():
            self.of_unnamed = len(self.clusters)
            self.clusters = [*self.clusters, _UNNAMED]
        of_end = np.where(of_end == NONE, self.of_unnamed, of_end)
        return np.where(found != NONE, found, of_end[seen.end])

    def _of_end_by_others(self, of_end: Ints, of_connection: Ints) -> Ints:
        """Returns the cluster of each address. An address that no message names gets the cluster of the other servers
        on its host, or else of its clients, where that is a single one. A client on a host with servers belongs to
        their clusters."""
        seen = self._seen
        on_host: dict[str, set[int]] = defaultdict(set)
        for (address, _), number in zip(seen.ends, of_end.tolist(), strict=True):
            if number != NONE:
                on_host[address].add(number)
        talks_to = seen.clusters_of_clients(of_connection)
        of_clients: dict[int, set[int]] = defaultdict(set)
        for end, client in _distinct_pairs(seen.end, seen.client)[0].tolist():
            address = seen.clients[client]
            of_clients[end] |= talks_to[address] | on_host.get(address, set())
        found = of_end.copy()
        for end in np.flatnonzero(found == NONE).tolist():
            for candidates in (on_host.get(seen.ends[end][0], set()), of_clients[end] - {NONE}):
                if len(candidates) == 1 and found[end] == NONE:
                    (found[end],) = candidates
        return found


def _name_of(top: Endpoint | str) -> ClusterName:
    """Returns the name of a set of addresses from its representative."""
    return ClusterName(top, BY_ID) if isinstance(top, str) else ClusterName(address_text(top), BY_MESSAGES)


def address_text(end: Endpoint) -> str:
    """Returns an address and port as one text."""
    address, port = end
    return f"{address}:{port}"


def address_order(end: Endpoint) -> tuple[int, bytes, int]:
    """Returns the sort key that orders addresses numerically."""
    address = ipaddress.ip_address(end[0])
    return address.version, address.packed, end[1]


def _name_server(spills: Iterable[Path], clients: set[str]) -> str | None:
    """Returns the smallest address of a name server that was asked by others than these clients. It represents the
    cluster of clients that talk to no server. None where there are no such look-ups."""
    ends = {
        (address, port)
        for spill in spills
        for rows in read_spill(spill, "dns", ["client_ip", "server_ip", "server_port"])
        for client, address, port in zip(*(column.to_pylist() for column in rows.columns), strict=True)
        if client not in clients
    }
    return address_text(min(ends, key=address_order)) if ends else None
