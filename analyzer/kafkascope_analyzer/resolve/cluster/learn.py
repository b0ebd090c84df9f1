"""Learns facts about a cluster from the whole capture, between the two passes: nodes behind addresses, topic names,
bootstrap servers of clients.

The topology that messages name is read here. With it, tasks reduce the requests and the partition answers of each
bucket to facts about connections and servers (bucket_evidence).
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.connections.bootstrap import Askers
from kafkascope_analyzer.connections.cluster import Cluster
from kafkascope_analyzer.connections.encrypted_kafka import EVIDENCE_COLUMNS, kafka_servers
from kafkascope_analyzer.connections.hosts import HostNames
from kafkascope_analyzer.connections.leaders import Leaders
from kafkascope_analyzer.connections.nodes import Endpoint, Evidence, resolve_nodes
from kafkascope_analyzer.connections.partition_counts import RAFT_TOPIC, RAFT_TOPIC_ID
from kafkascope_analyzer.connections.topic_names import TopicNames
from kafkascope_analyzer.resolve.cluster.bucket_evidence import BucketEvidence, GatherEvidence
from kafkascope_analyzer.resolve.tasks import RunTasks
from kafkascope_analyzer.scan.spill import read_spill
from kafkascope_analyzer.scan.topology import SPILL_SCHEMA as TOPOLOGY_SCHEMA
from kafkascope_analyzer.scan.topology_dedup import only_changes
from kafkascope_parsers.broker_clients import broker_of

_NO_TOPOLOGY = pa.schema(
    [
        *(field for field in TOPOLOGY_SCHEMA if field.name != "row"),
        ("ts_ns", pa.int64()),
        ("number", pa.int64()),
        ("conn", pa.int64()),
        ("api_key", pa.int16()),
        ("spill", pa.int64()),
        ("conn_id", pa.string()),
        ("place", pa.int64()),
    ]
).empty_table()


_CONNECTION_COLUMNS = ["conn_id", "client_ip", "server_ip", "server_port"]
_CONNECTION_COLUMNS += ["first_ns", "last_ns", "seen_from_start"]
_CONNECTION_COLUMNS = sorted({*_CONNECTION_COLUMNS, *EVIDENCE_COLUMNS})


def learn_cluster(spills: Sequence[Path], names: HostNames, run: RunTasks) -> Cluster:
    """Learns from the spilled connections, requests, partitions and topology of all buckets, which belong to one
    cluster.

    names: names of hosts from the user, the files and DNS answers; run: runs tasks over the spills.
    """
    evidence = Evidence(names=names)
    tables = {spill: list(read_spill(spill, "connections", _CONNECTION_COLUMNS)) for spill in spills}
    connections = {spill: pa.concat_tables(rows) for spill, rows in tables.items() if rows}
    topology = _topology(connections)
    advertised = _note_advertised(topology, evidence)
    named = _topics(topology)
    topics, leaders, coordinators = TopicNames.of(named), Leaders(topology, named), _coordinators(topology)
    tasks = [GatherEvidence(spill.name, topics, leaders, coordinators) for spill in connections]
    found: list[BucketEvidence] = run(tasks) if tasks else []
    for each in found:
        evidence.add(each.evidence)
    followers = {follower for each in found for follower in each.followers}
    askers = Askers(list(connections.values()), [each.asked for each in found])
    _note_brokers(askers, evidence)
    encrypted = _encrypted(connections, evidence)
    evidence.servers |= encrypted
    bootstrap = dict(zip(connections, askers.bootstraps(), strict=True))
    by_spill = {spill: topology.filter(pc.equal(topology["spill"], n)) for n, spill in enumerate(connections)}
    changes = {spill: rows.drop_columns(["spill", "conn_id", "place"]) for spill, rows in by_spill.items()}
    nodes = resolve_nodes(evidence)
    return Cluster(nodes, advertised, topics, bootstrap, changes, leaders, frozenset(followers), encrypted)


def note_answers(spills: Iterable[Path], names: HostNames) -> None:
    """Adds the DNS answers that have addresses, including those of an alias."""
    for spill in spills:
        for table in read_spill(spill, "dns"):
            columns = (table[name].to_pylist() for name in ("name", "addresses", "aliases", "answer_ns"))
            for name, addresses, aliases, answer_ns in zip(*columns, strict=True):
                if addresses:
                    for each in (name, *aliases):
                        names.note_answer(each, addresses, answer_ns)


def _topology(connections: dict[Path, pa.Table]) -> pa.Table:
    """Returns the topology facts of all buckets, without repeated ones, in an order that does not depend on the
    buckets."""
    tables = []
    for n, (spill, rows) in enumerate(connections.items()):
        for table in read_spill(spill, "topology"):
            table = table.append_column("spill", pa.array([n] * table.num_rows, pa.int64()))
            table = table.append_column("conn_id", rows["conn_id"].take(table["conn"]))
            tables.append(table.append_column("place", pa.array(range(table.num_rows), pa.int64())))
    if not tables:
        return _NO_TOPOLOGY
    order = [(name, "ascending") for name in ("ts_ns", "conn_id", "number", "place")]
    return only_changes(pa.concat_tables(tables).sort_by(order))


def _note_advertised(topology: pa.Table, evidence: Evidence) -> dict[int, list[Endpoint]]:
    advertised: dict[int, list[Endpoint]] = {}
    brokers = topology.filter(
        pc.fill_null(
            pc.and_(pc.is_in(topology["kind"], pa.array(["broker", "coordinator"])), pc.is_valid(topology["host"])),
            False,
        )
    )
    for host, port, node_id in zip(
        brokers["host"].to_pylist(), brokers["port"].to_pylist(), brokers["node_id"].to_pylist(), strict=True
    ):
        if host and node_id is not None and node_id >= 0:
            evidence.advertised[(host, port)].add(node_id)
            if (host, port) not in advertised.setdefault(node_id, []):
                advertised[node_id].append((host, port))
    return advertised


def _topics(topology: pa.Table) -> dict[str, str]:
    named = topology.filter(
        pc.fill_null(
            pc.and_(pc.equal(topology["kind"], "topic"), pc.greater(pc.utf8_length(topology["topic"]), 0)),
            False,
        )
    )
    return {RAFT_TOPIC_ID: RAFT_TOPIC} | dict(
        zip(named["topic_id"].to_pylist(), named["topic"].to_pylist(), strict=True)
    )


def _coordinators(topology: pa.Table) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    rows = topology.filter(
        pc.fill_null(
            pc.and_(
                pc.equal(topology["kind"], "coordinator"),
                pc.equal(topology["coordinator_type"], "group"),
            ),
            False,
        )
    )
    for key, node_id in zip(rows["coordinator_key"].to_pylist(), rows["node_id"].to_pylist(), strict=True):
        found.setdefault(key, set()).add(node_id)
    return found


def _encrypted(connections: dict[Path, pa.Table], evidence: Evidence) -> frozenset[Endpoint]:
    """Returns the servers that speak Kafka over TLS that is not decrypted. Notes the addresses to which clients
    connect under advertised names (TLS server name)."""
    for spill, rows in connections.items():
        for asked in read_spill(spill, "connection_notes"):
            asked = asked.filter(pc.equal(asked["what"], "tls_sni"))
            servers = rows.select(["server_ip", "server_port"]).take(asked["conn"])
            columns = (asked["text"].to_pylist(), servers["server_ip"].to_pylist(), servers["server_port"].to_pylist())
            for name, address, port in zip(*columns, strict=True):
                if (name, port) in evidence.advertised:
                    evidence.names.note_server_name(name, address)
    named = {(address, port) for host, port in evidence.advertised for address in evidence.names.addresses(host)[0]}
    return kafka_servers(connections.values(), evidence.servers | named)


def _note_brokers(askers: Askers, evidence: Evidence) -> None:
    """Notes the addresses whose clients have client ids of brokers."""
    for code, client_id in enumerate(askers.client_ids.values):
        node_id = broker_of(client_id)
        if node_id is not None:
            for client in np.unique(askers.client_ips.codes[askers.client_ids.codes == code]).tolist():
                evidence.replicas[askers.client_ips.values[client] or ""].add(node_id)
