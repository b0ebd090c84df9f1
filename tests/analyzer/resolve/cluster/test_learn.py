"""What is learned of a cluster from spilled rows made by hand."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.analyzer.resolve.by_hand import (
    MS,
    SECOND,
    Row,
    rows_of,
    run_here,
    spilled,
    spilled_connections,
    spilled_requests,
)

from kafkascope_analyzer.connections.cluster import Cluster
from kafkascope_analyzer.connections.hosts import HostNames
from kafkascope_analyzer.connections.partition_counts import RAFT_TOPIC, RAFT_TOPIC_ID
from kafkascope_analyzer.dataset.tables import DNS
from kafkascope_analyzer.resolve.cluster.learn import learn_cluster, note_answers
from kafkascope_analyzer.scan.topology import SPILL_SCHEMA
from kafkascope_parsers.api_keys import FETCH, HEARTBEAT, METADATA

ONE, TWO = ("10.0.0.1", 9092), ("10.0.0.2", 9092)
PLACE = [("ts_ns", pa.int64()), ("number", pa.int64()), ("conn", pa.int64()), ("api_key", pa.int16())]
TOPOLOGY = pa.schema([*(field for field in SPILL_SCHEMA if field.name != "row"), *PLACE])


def topology(*rows: Row) -> pa.Table:
    usual: Row = {"ts_ns": 2 * SECOND, "number": 0, "conn": 0, "api_key": METADATA, "from_controller": False}
    return rows_of(TOPOLOGY, (usual | row for row in rows))


def broker(node_id: int | None, host: str | None, port: int = 9092, kind: str = "broker", **more: Any) -> Row:
    return {"kind": kind, "node_id": node_id, "host": host, "port": port} | more


def learned(folder: Path, *facts: Row, asked: tuple[Row, ...] = (), names: HostNames | None = None) -> Cluster:
    """Two connections, to the addresses ONE and TWO, in a bucket each; all facts and requests are in the first."""
    first = {"topology": topology(*facts), "requests": spilled_requests(*asked)}
    spills = [
        spilled(folder / "0", connections=spilled_connections({}), **first),
        spilled(folder / "1", connections=spilled_connections({"server_ip": TWO[0], "conn_id": "f" * 16})),
    ]
    return learn_cluster(spills, names or HostNames(), run_here(folder))


def nodes(cluster: Cluster) -> dict[tuple[str, int], int | None]:
    return {end: node.node_id for end, node in cluster.nodes.items() if node.node_id is not None}


def test_an_address_has_the_node_that_is_advertised_there(tmp_path: Path) -> None:
    cluster = learned(tmp_path, broker(0, ONE[0]), broker(2**31 - 1, "b"), broker(0, ONE[0]))
    assert nodes(cluster) == {ONE: 0}
    assert cluster.advertised == {0: [ONE], 2**31 - 1: [("b", 9092)]}


def test_a_name_stands_for_the_addresses_that_dns_answers(tmp_path: Path) -> None:
    looked_up = {"name": "x", "addresses": [TWO[0]], "aliases": ["b"], "answer_ns": SECOND}
    refused = {"name": "b", "addresses": [], "aliases": [], "answer_ns": SECOND}
    spill = spilled(tmp_path / "dns", dns=rows_of(DNS.schema, [refused, looked_up]))
    names = HostNames()
    note_answers([spill, tmp_path / "none"], names)
    assert nodes(learned(tmp_path, broker(5, "b"), names=names)) == {TWO: 5}


@pytest.mark.parametrize("row", [broker(-1, ONE[0]), broker(None, ONE[0]), broker(1, None), broker(1, "")], ids=str)
def test_a_broker_without_node_or_host_is_not_advertised(tmp_path: Path, row: Row) -> None:
    cluster = learned(tmp_path, row)
    assert (nodes(cluster), cluster.advertised) == ({}, {})


def test_a_coordinator_is_advertised_too_and_other_facts_are_not(tmp_path: Path) -> None:
    others = [broker(4, TWO[0], kind=kind) for kind in ("leader", "controller")]
    cluster = learned(tmp_path, broker(3, ONE[0], kind="coordinator"), *others)
    assert nodes(cluster) == {ONE: 3}


def test_topics_have_the_names_that_go_with_their_ids(tmp_path: Path) -> None:
    ids = (("t", "aa"), ("", "bb"), (None, "cc"))
    named = [{"kind": "topic", "topic": name, "topic_id": topic_id} for name, topic_id in ids]
    topics = learned(tmp_path, *named, {"kind": "leader", "topic": "u", "topic_id": "dd"}).topics
    wanted = pa.array(["aa", "bb", "cc", "dd", RAFT_TOPIC_ID])
    assert topics.by_id(wanted).to_pylist() == ["t", None, None, None, RAFT_TOPIC]


COORDINATOR = {"kind": "coordinator", "coordinator_type": "group", "coordinator_key": "g", "node_id": 7}
BEAT = {"api_key": HEARTBEAT, "api_version": 4, "group_id": "g", "error_code": 0, "ts_ns": 3 * SECOND}


@pytest.mark.parametrize(
    ("facts", "request_", "expected"),
    [
        ([COORDINATOR], BEAT, {ONE: 7}),
        ([COORDINATOR], BEAT | {"error_code": 16}, {}),
        ([COORDINATOR], BEAT | {"error_code": None}, {}),
        ([COORDINATOR], BEAT | {"group_id": "h"}, {}),
        ([COORDINATOR], BEAT | {"api_key": FETCH}, {}),
        ([COORDINATOR | {"coordinator_type": "transaction"}], BEAT, {}),
        ([COORDINATOR, COORDINATOR | {"node_id": 8, "ts_ns": 4 * SECOND}], BEAT, {}),
    ],
    ids=["confirmed", "refused", "unanswered", "another group", "another API", "of transactions", "it moved"],
)
def test_who_answers_members_is_the_coordinator_of_their_group(
    tmp_path: Path, facts: list[Row], request_: Row, expected: dict[Any, int]
) -> None:
    assert nodes(learned(tmp_path, *facts, asked=(request_,))) == expected


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ({"api_key": FETCH, "replica_id": 3}, {TWO: 3}),
        ({"api_key": FETCH, "replica_id": 0}, {TWO: 0}),
        ({"api_key": FETCH, "replica_id": -1}, {}),
        ({"api_key": FETCH, "replica_id": -(2**31)}, {}),
        ({"api_key": METADATA, "client_id": "broker-4-fetcher-0"}, {TWO: 4}),
        ({"api_key": METADATA, "client_id": "app"}, {}),
    ],
    ids=str,
)
def test_a_broker_that_is_a_client_has_the_node_of_its_requests(
    tmp_path: Path, request_: Row, expected: dict[Any, int]
) -> None:
    """The client of the first connection has the address of the server of the second."""
    spills = [
        spilled(
            tmp_path / "0",
            connections=spilled_connections({"client_ip": TWO[0]}),
            requests=spilled_requests(request_ | {"ts_ns": 3 * SECOND}),
        ),
        spilled(tmp_path / "1", connections=spilled_connections({"server_ip": TWO[0]})),
    ]
    assert nodes(learn_cluster(spills, HostNames(), run_here(tmp_path))) == expected


def test_facts_that_repeat_are_no_changes_whichever_bucket_they_are_in(tmp_path: Path) -> None:
    """Node 1 is reported at both connections; a fact stays in its bucket, in the order of time."""
    row = broker(1, ONE[0])
    spills = [
        spilled(tmp_path / "0", connections=spilled_connections({}), topology=topology(row | {"ts_ns": 5 * MS})),
        spilled(tmp_path / "1", connections=spilled_connections({}), topology=topology(row | {"ts_ns": 2 * MS})),
        tmp_path / "without connections",
    ]
    cluster = learn_cluster(spills, HostNames(), run_here(tmp_path))
    assert {spill: rows["ts_ns"].to_pylist() for spill, rows in cluster.topology.items()} == {
        spills[0]: [],
        spills[1]: [2 * MS],
    }


def test_a_capture_without_connections_teaches_nothing(tmp_path: Path) -> None:
    cluster = learn_cluster([tmp_path], HostNames(), run_here(tmp_path))
    assert (cluster.nodes, cluster.advertised, cluster.bootstrap, cluster.topology) == ({}, {}, {}, {})
    assert (cluster.followers, cluster.encrypted) == (frozenset(), frozenset())
