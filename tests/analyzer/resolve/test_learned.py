"""What is learned between the passes: by hand, of spilled connections of one cluster and of two."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.analyzer.resolve.by_hand import SECOND, Row, rows_of, run_here, spilled, spilled_connections

from kafkascope_analyzer.connections.hosts import HostNames
from kafkascope_analyzer.dataset.limits_hit import CLUSTERS, PARTITION_FLOW
from kafkascope_analyzer.dataset.uncovered import NOTHING_UNCOVERED
from kafkascope_analyzer.resolve.cluster.membership import BY_ID, ClusterName, Membership
from kafkascope_analyzer.resolve.flow.checkpoint import SAVED_FLOW
from kafkascope_analyzer.resolve.learned import ClusterFacts, Learned, learn
from kafkascope_analyzer.resolve.servers.add_up import SAVED_SERVERS
from kafkascope_analyzer.scan.cluster_ids import CLUSTER_IDS, CLUSTER_IDS_SCHEMA
from kafkascope_analyzer.scan.spill import read_spill
from kafkascope_parsers.errors import UsageError

ONE, OTHER = "OneOneOneOneOneOneOneO", "OtherOtherOtherOtherOt"
FILES = [(SECOND, 9 * SECOND)]


def bucket(folder: Path, *rows: Row, ids: tuple[tuple[int, str], ...] = ()) -> Path:
    """A spill of some connections. ids: connections, and the cluster id that their responses carry."""
    named = [{"conn": conn, "cluster_id": text, "ts_ns": SECOND, "in_response": True} for conn, text in ids]
    tables = {CLUSTER_IDS.replace(".", "__"): rows_of(CLUSTER_IDS_SCHEMA, named)}
    tables["connections"] = spilled_connections(*rows)
    return spilled(folder, **tables)


def conn_ids(spill: Path) -> list[str]:
    tables = read_spill(spill, "connections", ["conn_id"])
    return [conn_id for rows in tables for conn_id in rows["conn_id"].to_pylist()]


def test_one_cluster_keeps_the_spills_as_they_are(tmp_path: Path) -> None:
    spills = [bucket(tmp_path / str(n), {"conn_id": str(n) * 16}, ids=((0, ONE),)) for n in range(2)]
    found = learn(spills, HostNames(), run_here(tmp_path), FILES)
    assert [each.named for each in found.clusters] == [ClusterName(ONE, BY_ID)]
    assert found.clusters[0].spills == {spill: spill for spill in spills}
    assert found.parts_of(spills[1]) == [spills[1]]
    assert found.uncovered == NOTHING_UNCOVERED
    hosts = found.clusters[0].shared.servers.hosts.to_pylist()
    assert [(row["key"], row["host"]) for row in hosts] == [("10.0.0.1:9092", "10.0.0.9")]


def test_each_cluster_gets_its_part_of_each_spill_and_facts_of_its_own(tmp_path: Path) -> None:
    far = {"server_ip": "10.1.0.1", "client_ip": "10.1.0.9"}
    mixed = bucket(tmp_path / "0", {"conn_id": "a" * 16}, far | {"conn_id": "b" * 16}, ids=((0, ONE), (1, OTHER)))
    pure = bucket(tmp_path / "1", far | {"conn_id": "c" * 16}, ids=((0, OTHER),))
    times = pa.table({"conn_id": ["a" * 16]})
    found = learn([mixed, pure], HostNames(), run_here(tmp_path), FILES, times)
    assert [each.named.name for each in found.clusters] == [ONE, OTHER]
    first, second = found.clusters
    assert (set(first.spills), set(second.spills)) == ({mixed}, {mixed, pure})
    assert conn_ids(first.spills[mixed]) == ["a" * 16]
    assert [conn_ids(second.spills[spill]) for spill in (mixed, pure)] == [["b" * 16], ["c" * 16]]
    assert (len(found.parts_of(mixed)), len(found.parts_of(pure))) == (2, 1)
    keys = [each.shared.servers.hosts["key"].to_pylist() for each in found.clusters]
    assert keys == [["10.0.0.1:9092"], ["10.1.0.1:9092"]]
    assert all(each.shared.network_times is times for each in found.clusters)


def of_an_earlier_run(folder: Path) -> list[Path]:
    """Saved sums, which are damaged."""
    folder.mkdir()
    files = [folder / name for name in (SAVED_SERVERS, SAVED_FLOW)]
    for file in files:
        file.write_bytes(b"damaged")
    return files


def test_sums_of_a_capture_of_one_cluster_go_on(tmp_path: Path) -> None:
    files = of_an_earlier_run(tmp_path / "saved")
    spill = bucket(tmp_path / "0", {}, ids=((0, ONE),))
    with pytest.raises(UsageError, match="damaged"):
        learn([spill], HostNames(), run_here(tmp_path), FILES, saved=tmp_path / "saved")
    assert all(file.exists() for file in files)


def test_sums_are_forgotten_where_there_are_two_clusters(tmp_path: Path) -> None:
    files = of_an_earlier_run(tmp_path / "saved")
    spill = bucket(tmp_path / "0", {}, {"server_ip": "10.1.0.1"}, ids=((0, ONE), (1, OTHER)))
    assert len(learn([spill], HostNames(), run_here(tmp_path), FILES, saved=tmp_path / "saved").clusters) == 2
    assert not any(file.exists() for file in files)


def test_a_capture_without_connections_has_nothing_to_learn(tmp_path: Path) -> None:
    found = learn([tmp_path / "0"], HostNames(), run_here(tmp_path))
    assert (found.clusters, found.limits_hit()[PARTITION_FLOW]) == ([], 0)
    assert found.parts_of(tmp_path / "0") == []


def facts(name: str, spills: dict[Path, Path], n_left_out: int = 0) -> ClusterFacts:
    cluster: Any = SimpleNamespace(with_spill_at=lambda spill, place: (spill, place))
    shared: Any = SimpleNamespace(n_flow_left_out=n_left_out)
    return ClusterFacts(ClusterName(name, BY_ID), spills, cluster, shared)


def test_a_bucket_that_was_moved_has_the_facts_of_its_parts() -> None:
    old, new, other = Path("a/3"), Path("b/7"), Path("a/4")
    membership = Membership([], {old: np.zeros(1, np.int64)}, {}, 0, n_left_out=5)
    whole = facts(ONE, {old: Path("a/3-c0"), other: Path("a/4-c0")}, 2)
    elsewhere = facts(OTHER, {other: Path("a/4-c1")}, 3)
    moved = Learned(membership, [whole, elsewhere], NOTHING_UNCOVERED).with_spill_at(old, new)
    assert [dict(each.spills) for each in moved.clusters] == [{new: Path("b/7-c0")}, {other: Path("a/4-c1")}]
    assert moved.clusters[0].cluster == (Path("a/3-c0"), Path("b/7-c0"))
    assert moved.parts_of(new) == [Path("b/7-c0")]
    assert moved.limits_hit() == {PARTITION_FLOW: 5, CLUSTERS: 5}
