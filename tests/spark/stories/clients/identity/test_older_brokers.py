"""Pieces of clusters of Kafka 3.5.2 with ZooKeeper and of 3.7.2 with KRaft, and old clients. The oracle is the truth
beside each piece: the brokers' configuration, and which process opened which socket, by the kernel."""

import json
import pathlib

import pyarrow.dataset as ds
import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.model.topology import topology_model

pytestmark = pytest.mark.spark

PIECES = pathlib.Path(__file__).parents[5] / "fixtures" / "captures" / "pieces"
SOFTWARE = {"kafka-clients": "apache-kafka-java"}


class Piece:
    """A piece as kafkascope reads it, and its truth."""

    def __init__(self, name, dataset_of):
        self.place = dataset_of(name, rules=None if name == "kraft37_start" else ())
        self.truth = json.loads((PIECES / f"{name}.truth.json").read_text())

    def rows(self, table):
        return ds.dataset(self.place / table, format="parquet", partitioning=None).to_table().to_pylist()

    @property
    def connections(self):
        return self.rows("connections")

    @property
    def nodes(self):
        cluster = self.truth["cluster"]
        return {row["ip"]: row["node_id"] for row in (*cluster["brokers"], *cluster.get("controllers", ()))}


@pytest.fixture(scope="module", params=["zk35_silent", "kraft37_start"])
def piece(request, dataset_of):
    return Piece(request.param, dataset_of)


@pytest.fixture(scope="module")
def zk(dataset_of):
    return Piece("zk35_silent", dataset_of)


@pytest.fixture(scope="module")
def kraft(dataset_of):
    return Piece("kraft37_start", dataset_of)


def test_each_connection_leads_to_the_node_that_is_configured_there(piece):
    known = [row for row in piece.connections if row["protocol"] == "kafka" and row["n_responses"]]
    assert len(known) > 12
    assert {row["client_port"]: row["node_id"] for row in known} == {
        row["client_port"]: piece.nodes[row["server_ip"]] for row in known
    }


def test_each_process_is_one_client_with_all_its_connections(piece):
    """Java 0.10.2's Heartbeats waited 27 s in its socket, and left it with ids that later ones had long passed."""
    ends = {row["conn_id"]: f"{row['client_ip']}:{row['client_port']}" for row in piece.connections}
    found = [row for row in piece.rows("stories/clients") if row["kind"] != "broker"]
    ours = sorted((row["client_id"], sorted(ends[conn] for conn in row["conn_ids"])) for row in found)
    assert ours == sorted((row["client_id"], row["sockets"]) for row in piece.truth["clients"])


def test_libraries_are_recognised_that_do_not_say_their_name(piece):
    found = {row["client_id"]: row["software_name"] for row in piece.rows("stories/clients")}
    for client in piece.truth["clients"]:
        assert found[client["client_id"]] == SOFTWARE.get(client["library"], client["library"])


def test_version_0_of_find_coordinator_is_for_a_group(piece):
    """It has no key type: coordinators of transactions came with version 1 (KIP-98)."""
    asked = [row for row in piece.rows("requests") if row["api_name"] == "FindCoordinator" and row["api_version"] == 0]
    assert asked
    groups = {row["group_id"] for row in piece.rows("requests") if row["api_name"] in ("JoinGroup", "OffsetFetch")}
    assert {row["coordinator_type"] for row in asked} == {"group"}
    assert {row["coordinator_key"] for row in asked} <= groups


def test_nothing_but_old_clients_is_found_where_nothing_is_wrong(kraft):
    assert {row["rule"] for row in kraft.rows("stories/findings") if row["severity"] != "info"} <= {"old_versions"}


def test_mode_release_and_controller_of_a_cluster_with_zookeeper(zk):
    model = topology_model(Dataset.open(zk.place))
    assert (model.mode, model.controller.node_id) == ("ZooKeeper", zk.truth["cluster"]["controller"])
    assert {row["protocol"] for row in zk.connections if row["server_port"] == 12181} == {"zookeeper"}
    assert model.sentence == "ZooKeeper mode, Kafka 3.5 by what the brokers offer (ApiVersions)"


def test_mode_and_controller_of_a_cluster_with_kraft(kraft):
    model = topology_model(Dataset.open(kraft.place))
    quorum = kraft.truth["cluster"]["quorum"]
    assert model.mode == "KRaft"
    assert model.sentence == "KRaft mode, Kafka 3.7 by what the brokers offer (ApiVersions)"
    assert (model.controller.node_id, model.controller.epoch) == (quorum["leader"], quorum["epoch"])


def test_brokers_that_talk_to_brokers_and_controllers_are_told_from_clients(kraft):
    roles = {f"{row['client_ip']}:{row['client_port']}": set(row["roles"]) for row in kraft.connections}
    listeners = {"REPL": {"inter_broker"}, "CONTROLLER": {"inter_broker", "controller"}}
    between = {row["local"]: listeners[row["remote_listener"]] for row in kraft.truth["broker_connections"]}
    seen = {end: allowed for end, allowed in between.items() if end in roles}
    assert len(seen) > 12
    assert {end: roles[end] for end, allowed in seen.items() if not roles[end] & allowed} == {}
    clients = {end for row in kraft.truth["clients"] for end in row["sockets"]}
    assert {end: roles[end] for end in clients if roles[end] & listeners["CONTROLLER"]} == {}
