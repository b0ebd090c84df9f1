"""Which cluster each connection belongs to, by what the scan has spilled."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from kafkascope_analyzer.connections.hosts import HostNames
from kafkascope_analyzer.resolve.cluster import membership as tested
from kafkascope_analyzer.resolve.cluster.membership import BY_ID, BY_MESSAGES, BY_NOTHING, ClusterName, find_clusters
from kafkascope_analyzer.scan.cluster_ids import CLUSTER_IDS, CLUSTER_IDS_SCHEMA
from kafkascope_analyzer.scan.spill import Spill
from kafkascope_parsers.framing.layout import HTTP, KAFKA

ONE, OTHER = "OneOneOneOneOneOneOneO", "OtherOtherOtherOtherOt"
TOPOLOGY = pa.schema([("conn", pa.int64()), ("host", pa.string()), ("port", pa.int32())])
DNS = pa.schema([("client_ip", pa.string()), ("server_ip", pa.string()), ("server_port", pa.int32())])


def found(folder: Path, connections, ids=(), named=(), asked=(), names=None):
    """connections: client, server, port, protocol of each; ids: connection, id, time, whether in a response; named:
    connection, host, port."""
    spill = Spill(folder / "spill")
    columns = zip(*((each[3] if len(each) > 3 else KAFKA, *each[:3]) for each in connections), strict=True)
    protocol, client, server, port = columns
    table = {
        "protocol": pa.array(protocol, pa.int8()),
        "client_ip": pa.array(client),
        "server_ip": pa.array(server),
        "server_port": pa.array(port, pa.int32()),
    }
    spill.write("connections", pa.table(table))
    for name, schema, rows in (
        (CLUSTER_IDS, CLUSTER_IDS_SCHEMA, ids),
        ("topology", TOPOLOGY, named),
        ("dns", DNS, asked),
    ):
        values = [dict(zip(schema.names, row, strict=True)) for row in rows]
        spill.write(name, pa.Table.from_pylist(values, schema))
    spill.close()
    return find_clusters([spill.directory], names or HostNames())


def of_connections(membership) -> list[str]:
    (numbers,) = membership.of_connection.values()
    return [membership.clusters[number].name for number in numbers.tolist()]


def test_everything_is_of_the_only_cluster(tmp_path: Path) -> None:
    seen = [("c", "10.0.0.1", 9092), ("c", "10.0.0.2", 9092), ("d", "10.0.0.9", 80, HTTP)]
    membership = found(tmp_path, seen, [(0, ONE, 1, True)])
    assert membership.clusters == [ClusterName(ONE, BY_ID)]
    assert of_connections(membership) == [ONE] * 3


def test_without_an_id_the_smallest_address_of_a_broker_stands_for_it(tmp_path: Path) -> None:
    seen = [("c", "10.0.0.10", 9092), ("c", "10.0.0.9", 9092), ("d", "10.0.0.1", 80, HTTP)]
    assert found(tmp_path, seen).clusters == [ClusterName("10.0.0.9:9092", BY_NOTHING)]
    named = found(tmp_path / "named", seen, named=[(0, "10.0.0.9", 9092)])
    assert named.clusters == [ClusterName("10.0.0.9:9092", BY_MESSAGES)]


def test_a_connection_belongs_to_the_id_that_its_responses_name_last(tmp_path: Path) -> None:
    seen = [("c", "10.0.0.1", 9092)] * 3
    ids = [(0, ONE, 1, True), (1, ONE, 2, True), (1, OTHER, 3, True), (2, ONE, 4, True), (2, OTHER, 9, False)]
    assert of_connections(found(tmp_path, seen, ids)) == [ONE, OTHER, ONE]


def test_an_address_that_two_clusters_serve_has_the_id_of_most_of_its_connections(tmp_path: Path) -> None:
    seen = [("c", "10.0.0.1", 9092)] * 4
    ids = [(0, ONE, 9, True), (1, OTHER, 2, True), (2, OTHER, 3, True)]
    assert of_connections(found(tmp_path, seen, ids)) == [ONE, OTHER, OTHER, OTHER]


@pytest.fixture
def two(tmp_path: Path):
    """Two clusters with a broker each, whose clients are a and b; further connections, ids and names."""

    def make(*further, names=None, named=(), asked=()):
        seen = [("a", "10.0.0.1", 9092), ("b", "10.1.0.1", 9092), *further]
        ids = [(0, ONE, 1, True), (1, OTHER, 1, True)]
        return found(tmp_path, seen, ids, named, asked, names)

    return make


def test_what_an_id_advertises_belongs_to_it(two) -> None:
    assert of_connections(two(("x", "10.0.0.2", 9092), named=[(0, "10.0.0.2", 9092)]))[2] == ONE


def test_of_a_name_with_several_addresses_those_count_to_which_the_client_talks(two) -> None:
    names = HostNames(recorded=[("kafka", "10.0.0.2"), ("kafka", "10.1.0.2")])
    further = (("a", "10.0.0.2", 9092), ("b", "10.1.0.2", 9092), ("x", "10.0.0.2", 9092), ("x", "10.1.0.2", 9092))
    named = [(0, "kafka", 9092), (1, "kafka", 9092)]
    assert of_connections(two(*further, names=names, named=named))[2:] == [ONE, OTHER, ONE, OTHER]


def test_an_address_that_nothing_names_belongs_to_the_cluster_of_its_host_or_its_clients(two) -> None:
    further = (("x", "10.0.0.1", 9093), ("b", "10.2.0.1", 9092), ("10.0.0.1", "10.3.0.1", 2181))
    assert of_connections(two(*further))[2:] == [ONE, OTHER, ONE]


def test_what_joins_one_address_joins_further_ones(two) -> None:
    further = (("a", "10.2.0.1", 9092), ("10.2.0.1", "10.3.0.1", 2181))
    assert of_connections(two(*further))[2:] == [ONE, ONE]


def test_other_addresses_form_one_cluster(two) -> None:
    further = (("a", "10.2.0.9", 443), ("b", "10.2.0.9", 443), ("x", "10.2.0.8", 9092))
    membership = two(*further)
    assert membership.clusters[-1] == ClusterName("10.2.0.8:9092", BY_NOTHING)
    assert of_connections(membership)[2:] == ["10.2.0.8:9092"] * 3


def test_look_ups_are_of_the_clusters_that_the_client_talks_to(two) -> None:
    asked = [("a", "10.9.0.53", 53), ("nobody", "10.9.0.54", 53), ("nobody", "10.9.0.9", 53)]
    membership = two(("a", "10.1.0.1", 9092), asked=asked)
    names = [each.name for each in membership.clusters]
    assert names == [ONE, OTHER, "10.9.0.9:53"]
    assert [membership.of_lookups(client) for client in ("a", "b", "nobody")] == [{0, 1}, {1}, {2}]


def test_a_capture_of_look_ups_alone_has_a_cluster(tmp_path: Path) -> None:
    spill = Spill(tmp_path / "spill")
    spill.write("dns", pa.table({name: [value] for name, value in zip(DNS.names, ("a", "10.0.0.53", 53), strict=True)}))
    spill.close()
    assert find_clusters([spill.directory], HostNames()).clusters == [ClusterName("10.0.0.53:53", BY_NOTHING)]


def test_more_clusters_than_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those with the fewest connections are together with the addresses that nothing names."""
    monkeypatch.setattr(tested, "MOST_CLUSTERS", 3)
    seen = [(f"c{n}", f"10.0.{n}.1", 9092) for n in (0, 1, 2, 3, 0, 1)]
    ids = [(row, f"cluster-{seen[row][1]}", 1, True) for row in range(len(seen))]
    membership = found(tmp_path, seen, ids)
    assert membership.n_left_out == 2
    one, other, rest = ("cluster-10.0.0.1", "cluster-10.0.1.1", "10.0.2.1:9092")
    assert of_connections(membership) == [one, other, rest, rest, one, other]


def test_buckets_change_nothing(tmp_path: Path) -> None:
    rows = [(f"c{n % 3}", f"10.0.0.{n % 5}", 9092) for n in range(40)]
    ids = [(n, ONE if n % 5 < 2 else OTHER, n, True) for n in range(40) if n % 4 == 0]
    whole = of_connections(found(tmp_path, rows, ids))
    assert {ONE, OTHER} == set(whole)
    numbers = np.arange(40)
    spills = []
    for bucket in range(3):
        mine = numbers[numbers % 3 == bucket].tolist()
        own = {conn: number for number, conn in enumerate(mine)}
        of_ids = [(own[conn], *rest) for conn, *rest in ids if conn in own]
        found(tmp_path / str(bucket), [rows[conn] for conn in mine], of_ids)
        spills.append(tmp_path / str(bucket) / "spill")
    membership = find_clusters(spills, HostNames())
    again = {}
    for bucket, spill in enumerate(spills):
        mine = numbers[numbers % 3 == bucket].tolist()
        again |= dict(zip(mine, membership.of_connection[spill].tolist(), strict=True))
    assert [membership.clusters[again[n]].name for n in range(40)] == whole
