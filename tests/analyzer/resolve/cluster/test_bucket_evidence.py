"""What the requests of a bucket show about its connections and servers, from hand-made rows."""

import pickle
from collections import Counter

import pyarrow as pa
import pytest

from kafkascope_analyzer.connections.leaders import Leaders
from kafkascope_analyzer.connections.nodes import Evidence
from kafkascope_analyzer.connections.topic_names import TopicNames
from kafkascope_analyzer.resolve.cluster.bucket_evidence import GatherEvidence
from kafkascope_analyzer.scan.spill import Spill
from kafkascope_parsers.api_keys import FETCH, HEARTBEAT, METADATA

ONE, OTHER = ("192.0.2.1", 9092), ("192.0.2.2", 9092)
HEARTBEATS = [
    # connection, API, group, error code
    (0, HEARTBEAT, "g", 0),
    (0, HEARTBEAT, "g", 0),
    (1, HEARTBEAT, "g", 0),
    (2, HEARTBEAT, "g", 16),
    (2, HEARTBEAT, "moved", 0),
    (2, METADATA, None, 0),
]
"""Connections 0 and 1 are to one server, 2 and 3 to the other. Group g is coordinated by node 1; for `moved` two nodes
were named."""
FETCHES = [(2, FETCH, 3), (3, FETCH, -1)]
"""Connection, API, replica id."""


def requests():
    rows = [*((*row, None) for row in HEARTBEATS), *((conn, api, None, 0, replica) for conn, api, replica in FETCHES)]
    n = len(rows)
    columns = {
        "conn": pa.array([row[0] for row in rows], pa.int64()),
        "number": pa.array(range(n), pa.int64()),
        "ts_ns": pa.array(range(n), pa.int64()),
        "api_key": pa.array([row[1] for row in rows], pa.int16()),
        "api_version": pa.array([0] * n, pa.int16()),
        "correlation_id": pa.array(range(n), pa.int32()),
        "response_last_ns": pa.array(range(n), pa.int64()),
        "client_id": pa.array(["app"] * n, pa.string()),
        "software_name": pa.nulls(n, pa.string()),
        "error_code": pa.array([row[3] for row in rows], pa.int16()),
        "group_id": pa.array([row[2] for row in rows], pa.string()),
        "replica_id": pa.array([row[4] for row in rows], pa.int32()),
    }
    return pa.table(columns)


@pytest.fixture
def found(tmp_path):
    spill = Spill(tmp_path / "0")
    columns = {
        "client_ip": ["192.0.2.9", "192.0.2.9", "192.0.2.3", None],
        "server_ip": [ONE[0], ONE[0], OTHER[0], OTHER[0]],
        "server_port": pa.array([9092] * 4, pa.int32()),
        "is_kafka": [True, True, True, False],
    }
    spill.write("connections", pa.table(columns))
    spill.write("requests", requests())
    spill.close()
    names = ("topic", "topic_id", "partition", "ts_ns", "node_id", "leader_epoch", "from_controller", "kind")
    types = (pa.string(), pa.string(), *[pa.int32()] * 4, pa.bool_(), pa.string())
    nothing = pa.schema(list(zip(names, types, strict=True))).empty_table()
    task = GatherEvidence("0", TopicNames.of({}), Leaders(nothing, {}), {"g": {1}, "moved": {1, 2}})
    return pickle.loads(pickle.dumps(task(tmp_path)))  # as it comes from another process


def test_a_group_counts_once_for_each_connection_to_its_coordinator(found):
    assert {end: answers.reported for end, answers in found.evidence.confirmed.items()} == {ONE: Counter({1: 2})}


def test_servers_are_those_that_speak_kafka_and_replicas_go_by_address(found):
    assert found.evidence.servers == {ONE, OTHER}
    assert found.evidence.replicas == {"192.0.2.3": {3}}


def test_requests_about_the_cluster_are_counted_by_connection(found):
    assert found.asked.n_asked.tolist() == [0, 0, 1, 0]
    assert [found.asked.client_ids[conn] for conn in range(4)] == ["app"] * 4


def test_the_evidence_of_buckets_adds_up(found):
    evidence = Evidence()
    evidence.add(found.evidence)
    evidence.add(found.evidence)
    assert evidence.confirmed[ONE].reported == {1: 4}
    assert evidence.replicas == {"192.0.2.3": {3}}
