"""Numbers the servers of the capture, the hosts that talked to each, and the process of each server.

A server is an address and port that speaks Kafka or TLS, or that the cluster advertises, or that nobody could reach on
a port of the cluster. A pair is a server and a host that talked to it. A process may serve several ports: where an
address belongs to one node of the cluster, all its servers are one process, which also sends what brokers send on
connections from this address.
"""

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.connections.cluster import Cluster
from kafkascope_analyzer.connections.dictionary import ServerEndpoints
from kafkascope_analyzer.connections.nodes import Endpoint
from kafkascope_analyzer.scan.broker_clients import BROKER_CLIENTS
from kafkascope_analyzer.scan.spill import read_spill
from kafkascope_parsers.framing.layout import KAFKA, TLS

Ints = NDArray[np.int64]
NONE = -1
"""Marks a missing number of a server, host, pair or process."""
CONTACT_COLUMNS = ["conn_id", "client_ip", "client_side", "server_ip", "server_port", "protocol", "first_ns", "last_ns"]
CONTACT_COLUMNS += ["syn_ns", "synack_ns", "close_kind", "close_ns", "idle_before_close_ms"]
"""The columns of spilled connections that are needed."""


class ServerHosts:
    """Numbers for servers, hosts, pairs and processes.

    connections: connections of all buckets, with CONTACT_COLUMNS; first_row: the first row of each spill in them.
    servers, keys, node_ids: by server, its endpoint, the endpoint as text, and its node. server, host, pair, process:
    by connection, NONE where its destination is not a server; server_host: the host that has the address of the server.
    client_process: the process that is the connection's client, or NONE.
    """

    def __init__(self, connections: Mapping[Path, pa.Table], cluster: Cluster) -> None:
        parts = [rows.select(CONTACT_COLUMNS) for rows in connections.values()]
        sizes = [len(part) for part in parts]
        self.first_row = dict(zip(connections, np.concatenate([[0], np.cumsum(sizes)[:-1]]).tolist(), strict=True))
        self.connections = pa.concat_tables(parts).combine_chunks()
        ends = ServerEndpoints(self.connections)
        self.servers = ends.distinct
        self.keys = pa.array([f"{address}:{port}" for address, port in self.servers], pa.string())
        is_server = self._is_server(ends, cluster)
        self.server = np.where(is_server[ends.which], ends.which, NONE)
        self.node_ids = [_node_id(cluster, end) for end in self.servers]
        addresses = self.connections["client_ip"].combine_chunks().dictionary_encode()
        self.hosts = [address or "" for address in addresses.dictionary.to_pylist()]
        self.host = addresses.indices.to_numpy().astype(np.int64)
        numbers = {host: number for number, host in enumerate(self.hosts)}
        of_server = np.array([numbers.get(end[0], NONE) for end in self.servers], np.int64)
        self.server_host = np.where(self.server >= 0, of_server[self.server], NONE)
        self.client_side = self.connections["client_side"].to_numpy().astype(np.int64)
        self._number_pairs()
        self._number_processes()
        served = set(np.unique(self.server).tolist())
        addresses_served = {end[0] for number, end in enumerate(self.servers) if number in served}
        self.host_kinds = _host_kinds(self.hosts, addresses_served, cluster)

    def _is_server(self, ends: ServerEndpoints, cluster: Cluster) -> NDArray[np.bool_]:
        """Whether each endpoint is a server."""
        protocol = self.connections["protocol"].to_numpy()
        speaks = np.zeros(len(ends.distinct), np.bool_)
        speaks[ends.which[(protocol == KAFKA) | (protocol == TLS)]] = True
        ports = {end[1] for end, one in zip(ends.distinct, speaks.tolist(), strict=True) if one}
        advertised = {end for known in cluster.advertised.values() for end in known}
        accepts = np.zeros(len(ends.distinct), np.bool_)
        accepts[ends.which[np.asarray(self.connections["synack_ns"].is_valid())]] = True
        expected = [end in advertised or end in cluster.nodes or end[1] in ports for end in ends.distinct]
        return np.asarray(speaks | (~accepts & np.array(expected, np.bool_)), np.bool_)

    def _number_pairs(self) -> None:
        joint = np.where(self.server >= 0, self.server * len(self.hosts) + self.host, NONE)
        distinct, which = np.unique(joint, return_inverse=True)
        none = int(len(distinct) > 0 and distinct[0] == NONE)
        self.pair = np.asarray(which - none, np.int64)
        self.pair_server = distinct[none:] // max(len(self.hosts), 1)
        self.pair_host = distinct[none:] % max(len(self.hosts), 1)

    def _number_processes(self) -> None:
        """Numbers the processes; a process is named by its first server."""
        nodes: dict[str, set[int]] = defaultdict(set)
        first: dict[str, int] = {}
        used = set(np.unique(self.server).tolist())
        for number, ((address, _), node_id) in enumerate(zip(self.servers, self.node_ids, strict=True)):
            if number in used:
                first.setdefault(address, number)
                if node_id is not None:
                    nodes[address].add(node_id)
        alone = {address: number for address, number in first.items() if len(nodes[address]) == 1}
        of_server = [alone.get(end[0], number) for number, end in enumerate(self.servers)]
        self.server_process = np.array(of_server, np.int64)
        self.process = np.where(self.server >= 0, self.server_process[self.server], NONE)
        of_host = np.array([alone.get(host, NONE) for host in self.hosts], np.int64)
        self.client_process = np.where(self._by_broker(), of_host[self.host], NONE)

    def _by_broker(self) -> NDArray[np.bool_]:
        """Whether each connection carried requests that only a broker sends."""
        found = np.zeros(len(self.server), np.bool_)
        for spill, first in self.first_row.items():
            for rows in read_spill(spill, BROKER_CLIENTS):
                found[rows["conn"].to_numpy() + first] = True
        return found


def _node_id(cluster: Cluster, end: Endpoint) -> int | None:
    """Returns the node of a server; where no message names it, the only node that is advertised there, or the only one
    at its address."""
    node = cluster.nodes.get(end)
    if node is not None and node.node_id is not None:
        return node.node_id
    advertised = {node_id for node_id, ends in cluster.advertised.items() if end in ends}
    at_address = {other.node_id for at, other in cluster.nodes.items() if at[0] == end[0]} - {None}
    found = advertised or at_address
    return next(iter(found)) if len(found) == 1 else None


def _host_kinds(hosts: list[str], addresses_served: set[str], cluster: Cluster) -> list[str]:
    """Returns the kind of each host. A host with the address of a server is a broker's; a controller's where its nodes
    are known and none of them is advertised to clients."""
    on_address: dict[str, set[int]] = defaultdict(set)
    for (address, _), node in cluster.nodes.items():
        if node.node_id is not None:
            on_address[address].add(node.node_id)
    kinds = []
    for host in hosts:
        nodes = on_address.get(host, set())
        is_controller = bool(nodes and cluster.advertised) and not nodes & set(cluster.advertised)
        kinds.append("client" if host not in addresses_served else "controller" if is_controller else "broker")
    return kinds
