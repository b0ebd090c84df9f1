"""Rows about servers that buckets write: by hand."""

from pathlib import Path

import numpy as np
from tests.analyzer.resolve.by_hand import SECOND, hosts_of, only, spilled_connections

from kafkascope_analyzer.resolve.servers.hosts import NONE, ServerHosts
from kafkascope_analyzer.resolve.servers.rows import SCOPES, ServerRows, first_connections, host_rows, sign_rows
from kafkascope_analyzer.resolve.servers.run_union import NO_RUNS, Runs
from kafkascope_analyzer.resolve.servers.totals import Contacts
from kafkascope_parsers.framing.layout import HTTP
from kafkascope_parsers.tcp.spans import PACKETS, PAYLOAD

A, B, C = "10.0.0.1", "10.0.0.2", "10.0.0.9"
HOST, SERVER = SCOPES.index("host"), SCOPES.index("server")


def hosts(folder: Path) -> ServerHosts:
    """Connections 0 and 1 of C to A, 2 of B to A, 3 of C to B, and 4 of B to something that is no server."""
    rows = [{"first_ns": 5 * SECOND}, {"first_ns": 2 * SECOND}, {"client_ip": B}, {"server_ip": B}]
    rows += [{"client_ip": B, "protocol": HTTP, "server_port": 80, "first_ns": 0}]
    return hosts_of(folder, (spilled_connections(*rows), {}), nodes={(A, 9092): 1})


def runs(*rows: tuple[int, int, int]) -> Runs:
    subject, first, last = np.array(rows, np.int64).reshape(-1, 3).T
    return Runs(subject, first, first, last, last)


def ids(*numbers: int) -> list[str]:
    return [f"{number:016x}" for number in numbers]


def test_the_first_connection_of_each_subject(tmp_path: Path) -> None:
    known = hosts(tmp_path)
    times, conn_ids = first_connections(known, known.pair, len(known.pair_server))
    of_pair = {
        (known.keys[known.pair_server[k]].as_py(), known.hosts[known.pair_host[k]]): (times[k], conn_ids[k].as_py())
        for k in range(len(times))
    }
    assert of_pair == {
        (f"{A}:9092", C): (2 * SECOND, ids(1)[0]),
        (f"{A}:9092", B): (SECOND, ids(2)[0]),
        (f"{B}:9092", C): (SECOND, ids(3)[0]),
    }


def test_of_connections_of_one_time_the_first_is_by_its_id(tmp_path: Path) -> None:
    rows = spilled_connections({"conn_id": "f" * 16}, {"conn_id": "0" * 16}, {"conn_id": "a" * 16})
    known = hosts_of(tmp_path, (rows, {}))
    _, conn_ids = first_connections(known, np.array([0, 0, NONE]), 1)
    assert conn_ids.to_pylist() == ["0" * 16]


def test_without_connections_there_are_no_first_ones(tmp_path: Path) -> None:
    known = hosts_of(tmp_path, (spilled_connections(), {}))
    times, conn_ids = first_connections(known, known.pair, 0)
    assert (times.tolist(), len(conn_ids)) == ([], 0)


def test_hosts_that_talked_to_a_server(tmp_path: Path) -> None:
    known = hosts(tmp_path)
    of_pairs = first_connections(known, known.pair, len(known.pair_server))
    ca = int(known.pair[0])
    contacts = Contacts(len(known.pair_server), runs((ca, 3, 8)), runs((ca, 4, 5)))
    rows = host_rows(known, contacts, of_pairs).to_pylist()
    names = ("key", "conn_id", "host", "host_kind", "server_ip", "server_port", "node_id", "met_ns")
    assert sorted(only(rows, *names), key=str) == [
        (f"{A}:9092", ids(1)[0], C, "client", A, 9092, 1, 2 * SECOND),
        (f"{A}:9092", ids(2)[0], B, "broker", A, 9092, 1, SECOND),
        (f"{B}:9092", ids(3)[0], C, "client", B, 9092, None, SECOND),
    ]
    assert sorted(only(rows, "served", "first_ns", "first_packet", "last_ns"), key=str) == [
        (False, None, None, None),
        (False, None, None, None),
        (True, 3, 3, 8),
    ]
    assert not any(row["is_client"] for row in rows), "no request shows that a broker is a client"


def test_signs_of_life_name_the_host_only_where_they_are_about_one(tmp_path: Path) -> None:
    known = hosts(tmp_path)
    of_pairs = first_connections(known, known.pair, len(known.pair_server))
    pair, server = int(known.pair[2]), int(known.server[2])
    signs = [(HOST, PAYLOAD, runs((pair, 3, 4))), (SERVER, PACKETS, runs((server, 5, 6)))]
    rows = sign_rows(known, signs, of_pairs).to_pylist()
    names = ("key", "conn_id", "host", "scope", "layer", "order", "first_ns", "last_packet")
    assert only(rows, *names) == [
        (f"{A}:9092", ids(2)[0], B, "host", "payload", 1, 3, 4),
        (f"{A}:9092", ids(2)[0], None, "server", "packet", 2, 5, 6),
    ], "the first connection to the server is that of B"
    assert sign_rows(known, [(HOST, PACKETS, NO_RUNS)], of_pairs).num_rows == 0


def test_a_capture_without_servers_has_empty_tables() -> None:
    rows = ServerRows()
    assert [getattr(rows, name).num_rows for name in ("hosts", "waits", "silences", "closed")] == [0] * 4
    assert "first_ns" in rows.silences.column_names
