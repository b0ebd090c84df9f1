"""Whose runs of packets are whose: by hand."""

from pathlib import Path

import numpy as np
import pyarrow as pa
from tests.analyzer.resolve.by_hand import hosts_of, runs_of, spilled_connections

from kafkascope_analyzer.resolve.servers.hosts import NONE
from kafkascope_analyzer.resolve.servers.spilled_runs import SpilledRuns, spilled_runs
from kafkascope_analyzer.scan.broker_clients import BROKER_CLIENTS
from kafkascope_analyzer.scan.liveness_spans import RUNS
from kafkascope_parsers.framing.layout import HTTP
from kafkascope_parsers.tcp.spans import PACKETS, PAYLOAD

A, B = "10.0.0.1", "10.0.0.2"
RUN_TABLE = RUNS.replace(".", "__")


def test_a_run_belongs_to_the_server_or_to_the_host_on_the_other_side(tmp_path: Path) -> None:
    """Broker B fetches from A on connection 1, whose client is side 1; connection 2 is to B."""
    rows = spilled_connections({"client_ip": B}, {"client_ip": B, "client_side": 1}, {"client_ip": A, "server_ip": B})
    runs = runs_of((0, 0, PACKETS, 1, 2), (0, 1, PAYLOAD, 3, 4), (1, 0, PAYLOAD, 5, 6), (1, 1, PACKETS, 7, 8))
    tables = {RUN_TABLE: runs, BROKER_CLIENTS.replace(".", "__"): pa.table({"conn": [1]})}
    hosts = hosts_of(tmp_path, (rows, tables), nodes={(A, 9092): 1, (B, 9092): 2})
    (found,) = spilled_runs(hosts)
    a, b = hosts.process[0], hosts.process[2]
    assert found.by_server.tolist() == [False, True, True, False]
    assert found.answers.tolist() == [False, True, True, False]
    assert found.process.tolist() == [NONE, a, a, b]
    assert [hosts.hosts[host] for host in found.sender.tolist()] == [B, A, A, B]
    assert (found.server == hosts.server[0]).all()


def test_only_payload_of_the_server_answers() -> None:
    n = np.zeros(4, np.int64)
    by_server, layer = np.array([True, True, False, False]), np.array([PACKETS, PAYLOAD, PACKETS, PAYLOAD])
    found = SpilledRuns(n, n, n, n, n, by_server, layer, (n, n, n, n))
    assert found.answers.tolist() == [False, True, False, False]


def test_connections_of_all_buckets_have_numbers_of_their_own(tmp_path: Path) -> None:
    first, second = spilled_connections({}, {}), spilled_connections({}, {"protocol": HTTP, "server_port": 80})
    buckets = [(first, {RUN_TABLE: runs_of((1, 0, PACKETS, 1, 2))})]
    buckets += [(second, {RUN_TABLE: runs_of((0, 1, PACKETS, 3, 4), (1, 1, PACKETS, 5, 6))})]
    found = list(spilled_runs(hosts_of(tmp_path, *buckets)))
    assert [each.conn.tolist() for each in found] == [[1], [2, 3]]
    assert [each.pair.tolist() for each in found] == [[0], [0, NONE]], "the last connection is to no server"


def test_runs_of_a_subject_are_those_that_have_one() -> None:
    n = np.zeros(3, np.int64)
    columns = tuple(np.array([10 * k, 10 * k + 1, 10 * k + 2]) for k in range(4))
    found = SpilledRuns(n, n, n, n, n, n > 0, n, columns)
    runs = found.of(np.array([0, NONE, 9]), np.array([True, True, False]))
    assert [column.tolist() for column in runs] == [[0], [0], [10], [20], [30]]


def test_a_capture_without_runs_has_none(tmp_path: Path) -> None:
    assert list(spilled_runs(hosts_of(tmp_path, (spilled_connections({}), {})))) == []
