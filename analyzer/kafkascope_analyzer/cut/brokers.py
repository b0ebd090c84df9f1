"""The brokers of a piece: their names, for Wireshark's name resolution, and their ports."""

import ipaddress
from collections import defaultdict

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.table_rows import scan
from kafkascope_analyzer.dataset.tables import CONNECTIONS
from kafkascope_analyzer.report.formatting import visible

LONGEST_NAME = 255
"""Longest name in characters, as in DNS."""


def broker_names(dataset: Dataset) -> dict[str, str]:
    """Returns address of a broker -> the host name that it advertises, else `broker-1`; `brokers-1-2` for several
    brokers at one address.
    """
    hosts: dict[str, set[str]] = defaultdict(set)
    nodes: dict[str, set[int]] = defaultdict(set)
    for batch in scan(dataset, CONNECTIONS, ["server_ip", "node_id", "advertised_host"]):
        for ip, node_id, host in {tuple(row.values()) for row in batch.to_pylist()}:
            if node_id is not None and ip is not None:
                nodes[ip].add(node_id)
                hosts[ip].update({host} if host is not None and not _is_address(host) else ())
    return {ip: _name(sorted(ids), hosts[ip]) for ip, ids in sorted(nodes.items())}


def kafka_ports(dataset: Dataset) -> frozenset[int]:
    """Returns the ports of servers with Kafka connections."""
    ports: set[int] = set()
    for batch in scan(dataset, CONNECTIONS, ["server_port", "protocol"]):
        ports.update(row["server_port"] for row in batch.to_pylist() if row["protocol"] == "kafka")
    return frozenset(ports)


def _name(node_ids: list[int], hosts: set[str]) -> str:
    if len(hosts) == 1:
        return visible(next(iter(hosts)))[:LONGEST_NAME]
    numbers = "-".join(map(str, node_ids))
    return f"broker{'' if len(node_ids) == 1 else 's'}-{numbers}"[:LONGEST_NAME]


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
