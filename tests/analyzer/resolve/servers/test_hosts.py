"""Numbers for servers, hosts, pairs and processes: connections made by hand."""

from pathlib import Path

import pyarrow as pa
import pytest
from tests.analyzer.resolve.by_hand import Row, hosts_of, spilled_connections

from kafkascope_analyzer.resolve.servers.hosts import NONE, ServerHosts
from kafkascope_analyzer.scan.broker_clients import BROKER_CLIENTS
from kafkascope_parsers.framing.layout import HTTP, TLS, UNKNOWN

A, B, C = "10.0.0.1", "10.0.0.2", "10.0.0.9"
REFUSED: Row = {"protocol": UNKNOWN, "synack_ns": None}


def servers(hosts: ServerHosts) -> list[str | None]:
    """The server of each connection."""
    return [None if number == NONE else hosts.keys[number].as_py() for number in hosts.server.tolist()]


@pytest.mark.parametrize(
    ("row", "advertised", "is_server"),
    [
        ({}, {}, True),
        ({"protocol": TLS}, {}, True),
        ({"protocol": HTTP}, {}, False),
        (REFUSED | {"server_ip": B}, {}, True),
        (REFUSED | {"server_ip": B, "server_port": 80}, {}, False),
        (REFUSED | {"server_ip": B, "server_port": 80}, {3: [(B, 80)]}, True),
        ({"protocol": UNKNOWN, "server_ip": B}, {3: [(B, 9092)]}, False),
    ],
    ids=[
        "speaks Kafka",
        "speaks TLS",
        "speaks HTTP",
        "nobody reached it on a port of the cluster",
        "nobody reached it on another port",
        "nobody reached it where a node is advertised",
        "accepts connections and speaks nothing",
    ],
)
def test_what_a_server_is(
    tmp_path: Path, row: Row, advertised: dict[int, list[tuple[str, int]]], is_server: bool
) -> None:
    rows = spilled_connections({"server_ip": C}, row)
    found = hosts_of(tmp_path, (rows, {}), advertised=advertised)
    end = f"{row.get('server_ip', A)}:{row.get('server_port', 9092)}"
    assert servers(found)[1] == (end if is_server else None)
    assert bool(found.pair[1] >= 0) is is_server
    assert found.pair[0] >= 0, "its server is the first one"


def test_pairs_are_numbered_over_all_buckets(tmp_path: Path) -> None:
    first = spilled_connections({"client_ip": C}, {"client_ip": B, "protocol": HTTP, "server_port": 80})
    second = spilled_connections({"client_ip": B}, {"client_ip": C}, {"client_ip": C, "server_ip": B})
    hosts = hosts_of(tmp_path, (first, {}), (second, {}))
    assert list(hosts.first_row.values()) == [0, 2]
    named = [
        None if pair == NONE else (hosts.keys[hosts.pair_server[pair]].as_py(), hosts.hosts[hosts.pair_host[pair]])
        for pair in hosts.pair.tolist()
    ]
    assert named == [(f"{A}:9092", C), None, (f"{A}:9092", B), (f"{A}:9092", C), (f"{B}:9092", C)]
    assert len(hosts.pair_server) == 3
    assert [hosts.hosts[host] if host >= 0 else None for host in hosts.server_host.tolist()] == [None] * 4 + [B]


def test_the_servers_of_an_address_with_one_node_are_one_process(tmp_path: Path) -> None:
    rows = spilled_connections({}, {"server_port": 9093}, {"server_ip": B}, {"server_ip": B, "server_port": 9093})
    nodes = {(A, 9092): 1, (B, 9092): 2, (B, 9093): 3}
    hosts = hosts_of(tmp_path, (rows, {}), nodes=nodes)
    assert hosts.process[0] == hosts.process[1] != NONE
    assert len(set(hosts.process[1:].tolist())) == 3, "of two nodes on an address nobody knows which process is which"
    assert hosts.node_ids == [1, 1, 2, 3]


def test_a_node_that_is_only_advertised_counts_where_it_is_the_only_one(tmp_path: Path) -> None:
    rows = spilled_connections({}, {"server_ip": B})
    hosts = hosts_of(tmp_path, (rows, {}), advertised={4: [(A, 9092)], 5: [(B, 9092)], 6: [(B, 9092)]})
    assert hosts.node_ids == [4, None]


def test_a_broker_is_the_client_of_connections_with_requests_that_only_brokers_send(tmp_path: Path) -> None:
    first = spilled_connections({"server_ip": B, "client_ip": B})
    rows = spilled_connections({"client_ip": B}, {"client_ip": B}, {"server_ip": B}, {"client_ip": C})
    by_broker = {BROKER_CLIENTS.replace(".", "__"): pa.table({"conn": [1, 3, 1]})}
    hosts = hosts_of(tmp_path, (first, {}), (rows, by_broker), nodes={(A, 9092): 1, (B, 9092): 2})
    process = hosts.process[3]
    of_rows = hosts.client_process.tolist()[1:]
    assert of_rows == [NONE, process, NONE, NONE], "the host of the last connection has no server"
    assert hosts.client_process[0] == NONE
    assert hosts.hosts[hosts.server_host[0]] == B, "the first server of all, on whose host is a client"
    assert dict(zip(hosts.hosts, hosts.host_kinds, strict=True)) == {B: "broker", C: "client"}


@pytest.mark.parametrize(
    ("nodes", "advertised", "kind"),
    [
        ({(B, 9092): 2}, {2: [(B, 9092)]}, "broker"),
        ({(B, 9092): 2}, {1: [(A, 9092)]}, "controller"),
        ({(B, 9092): 2}, {}, "broker"),
        ({}, {1: [(A, 9092)]}, "broker"),
    ],
    ids=["advertised", "others are advertised", "none is advertised", "its node is not known"],
)
def test_the_kind_of_a_host_with_a_server(
    tmp_path: Path, nodes: dict[tuple[str, int], int], advertised: dict[int, list[tuple[str, int]]], kind: str
) -> None:
    rows = spilled_connections({"client_ip": B}, {"server_ip": B})
    hosts = hosts_of(tmp_path, (rows, {}), nodes=nodes, advertised=advertised)
    assert dict(zip(hosts.hosts, hosts.host_kinds, strict=True)) == {B: kind, C: "client"}


def test_a_capture_without_connections_has_no_servers(tmp_path: Path) -> None:
    hosts = hosts_of(tmp_path, (spilled_connections(), {}))
    assert (hosts.servers, hosts.hosts, hosts.pair.tolist(), hosts.pair_server.tolist()) == ([], [], [], [])
