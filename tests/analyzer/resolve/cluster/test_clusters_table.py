"""The table of clusters: by hand."""

from pathlib import Path

import numpy as np
from tests.analyzer.resolve.by_hand import SECOND, only, spilled, spilled_connections

from kafkascope_analyzer.resolve.cluster.clusters_table import clusters_table
from kafkascope_analyzer.resolve.cluster.membership import BY_ID, BY_MESSAGES, ClusterName, Membership
from kafkascope_parsers.framing.layout import HTTP, TLS

ONE = ClusterName("OneOneOneOneOneOneOneO", BY_ID)
OTHER = ClusterName("10.1.0.1:9092", BY_MESSAGES)


def membership(of_connection: dict[Path, list[int]], *clusters: ClusterName) -> Membership:
    numbers = {spill: np.array(each, np.int64) for spill, each in of_connection.items()}
    return Membership(clusters, numbers, {}, 0)


def test_each_cluster_has_the_connections_of_all_buckets(tmp_path: Path) -> None:
    first = spilled_connections({"server_ip": "10.0.0.10"}, {"server_ip": "10.1.0.1", "last_ns": 20 * SECOND})
    second = spilled_connections(
        {"server_ip": "10.0.0.9", "client_ip": "10.0.0.8", "first_ns": 0, "last_ns": 5 * SECOND, "protocol": TLS},
        {"server_ip": "10.0.0.9"},
        {"server_ip": "10.0.0.1", "protocol": HTTP},
    )
    spills = {
        spilled(tmp_path / "0", connections=first): [0, 1],
        spilled(tmp_path / "1", connections=second): [0, 0, 0],
    }
    rows = clusters_table(membership(spills, ONE, OTHER)).to_pylist()
    names = ("cluster", "cluster_id", "known_by", "servers", "n_clients", "n_connections", "first_ns", "last_ns")
    assert only(rows, *names) == [
        (ONE.name, ONE.name, BY_ID, ["10.0.0.9:9092", "10.0.0.10:9092"], 2, 4, 0, 9 * SECOND),
        (OTHER.name, None, BY_MESSAGES, ["10.1.0.1:9092"], 1, 1, SECOND, 20 * SECOND),
    ], "what speaks HTTP is no broker, but a connection"
    assert [round(row["last_ts"].timestamp()) for row in rows] == [9, 20]


def test_a_cluster_without_connections_has_a_row(tmp_path: Path) -> None:
    spills = {spilled(tmp_path / "0", connections=spilled_connections({})): [0]}
    rows = clusters_table(membership(spills, ONE, OTHER)).to_pylist()
    assert only(rows, "servers", "n_clients", "n_connections", "first_ns", "last_ts") == [
        (["10.0.0.1:9092"], 1, 1, SECOND, rows[0]["last_ts"]),
        ([], 0, 0, None, None),
    ]


def test_a_capture_without_connections_has_no_clusters(tmp_path: Path) -> None:
    assert clusters_table(membership({tmp_path: []})).num_rows == 0
    assert clusters_table(membership({})).num_rows == 0
