"""The stories of real captures against the truth about them, through ingest and Spark."""

import json
import pathlib
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafkascope_analyzer.dataset.stories import STORY_TABLES
from kafkascope_analyzer.dataset.tables import CONNECTIONS
from kafkascope_parsers.errors import UsageError
from kafkascope_spark import stories as module
from kafkascope_spark.stories import capture_span, tagged_stories, write_stories

pytestmark = pytest.mark.spark

CAPTURES = pathlib.Path(__file__).parents[2] / "fixtures" / "captures"
MS, SECOND = 1_000_000, 1_000_000_000
NAMES = ("healthy_basic", "leader_move", "txn")
KINDS = {"txn": "transactional_producer", "eos": "transactional_producer"}
Told = Callable[[str], pathlib.Path]


class Truth:
    """What the lab knows of a capture, and which client object each of its processes became."""

    def __init__(self, name: str, dataset: pathlib.Path) -> None:
        self.raw = json.loads((CAPTURES / f"{name}.truth.json").read_text())
        self.start = self.raw["lab"]["capture_start_ns"]
        self.clients = {c["name"]: c for c in self.raw["clients"]}
        owners = {
            (*split(s["local"]), *split(s["remote"])): c["name"] for c in self.raw["clients"] for s in c["sockets"]
        }
        ends = ("client_ip", "client_port", "server_ip", "server_port")
        connections = pq.read_table(dataset / CONNECTIONS.name).to_pylist()
        self.owner = {c["conn_id"]: owners.get(tuple(c[e] for e in ends)) for c in connections}
        self.instances: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for row in rows(dataset, "clients"):
            for name in {self.owner[c] for c in row["conn_ids"]} - {None}:
                self.instances[str(name)].append(row)

    def objects(self, name: str) -> int:
        """Client objects in a process: one that reads, processes and writes exactly once has a consumer and a
        producer."""
        return 2 if self.clients[name]["kind"] == "eos" else 1


def split(endpoint: str) -> tuple[str, int]:
    ip, _, port = endpoint.rpartition(":")
    return ip, int(port)


def rows(dataset: pathlib.Path, table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(dataset / "stories" / table).to_pylist()
    return found


@pytest.mark.parametrize("name", NAMES)
def test_tables_are_as_the_contract_says(told: Told, name: str) -> None:
    for table in STORY_TABLES:
        found = pq.read_table(told(name) / "stories" / table.name)
        assert found.schema.equals(table.schema), table.name
        assert found.num_rows, table.name
        for column in table.columns:
            if column.values:
                given = found[column.name]
                values = (
                    pa.chunked_array(c.flatten() for c in given.chunks)
                    if given.type == pa.list_(pa.string())
                    else given
                )
                assert set(values.to_pylist()) - {None} <= set(column.values), (table.name, column.name)


@pytest.mark.parametrize("name", NAMES)
def test_each_connection_has_one_client_and_each_process_its_objects(told: Told, name: str) -> None:
    truth = Truth(name, told(name))
    connections = pq.read_table(told(name) / CONNECTIONS.name, columns=["conn_id", "protocol"]).to_pylist()
    count = Counter(c for row in rows(told(name), "clients") for c in row["conn_ids"])
    assert all(count[c["conn_id"]] == 1 for c in connections if c["protocol"] == "kafka")
    assert max(count.values()) == 1
    for client, instances in truth.instances.items():
        assert len(instances) == truth.objects(client), client
        for row in instances:
            assert {truth.owner[c] for c in row["conn_ids"]} == {client}


@pytest.mark.parametrize("name", NAMES)
def test_clients_are_what_the_processes_were(told: Told, name: str) -> None:
    truth = Truth(name, told(name))
    for client, instances in truth.instances.items():
        want = truth.clients[client]
        if truth.objects(client) > 1 or not (want["first_record_ns"] or want["first_ack_ns"]):
            continue
        (row,) = instances
        assert row["client_id"] == want["client_id"]
        assert row["kind"] == KINDS.get(want["kind"], want["kind"])
        assert row["group_id"] == want["group"]
        assert row["transactional_id"] == want["transactional_id"]


@pytest.mark.parametrize("name", NAMES)
def test_starts_agree_with_the_kernel_and_the_clients_log(told: Told, name: str) -> None:
    truth = Truth(name, told(name))
    starts = defaultdict(list)
    for row in rows(told(name), "startups"):
        starts[row["client_instance_id"]].append(row)
    for client, instances in truth.instances.items():
        want = truth.clients[client]
        mine = [s for row in instances for s in starts[row["client_instance_id"]]]
        connected = min(s["first_seen_ns"] for s in want["sockets"])
        assert abs(min(s["start_ns"] for s in mine) - connected) < 50 * MS, client
        logged = [t for t in (want["first_record_ns"], want["first_ack_ns"]) if t]
        if logged:
            ready = [s["ready_ns"] for s in mine if s["outcome"] == "ready"]
            assert min(abs(r - t) for r in ready for t in logged) < 150 * MS, client


@pytest.mark.parametrize("name", NAMES)
def test_the_critical_path_is_the_total(told: Told, name: str) -> None:
    path: Counter[str] = Counter()
    for step in rows(told(name), "startup_steps"):
        if step["on_critical_path"]:
            path[step["startup_id"]] += step["duration_us"] + step["wait_us"]
    ready = [s for s in rows(told(name), "startups") if s["outcome"] == "ready"]
    assert ready
    for start in ready:
        assert abs(path[start["startup_id"]] - (start["ready_ns"] - start["start_ns"]) // 1000) <= 5


def test_a_healthy_cluster_has_only_what_passes_inside_a_start(told: Told) -> None:
    truth = Truth("healthy_basic", told("healthy_basic"))
    owner = {i["client_instance_id"]: name for name, found in truth.instances.items() for i in found}
    for row in rows(told("healthy_basic"), "recoveries"):
        client = truth.clients[owner[row["client_instance_id"]]]
        up = max(t for t in (client["first_record_ns"], client["first_ack_ns"]) if t)
        assert row["outcome"] == "recovered", row
        assert row["start_ns"] < up, row


def test_who_was_connected_to_the_killed_broker_has_an_episode_and_gets_over_it(told: Told) -> None:
    truth = Truth("leader_move", told("leader_move"))
    killed = next(e for e in truth.raw["events"] if e["kind"] == "broker_killed")
    node, at = killed["detail"]["node_id"], killed["ts_ns"]
    episodes = rows(told("leader_move"), "recoveries")
    hit = [
        n
        for n, c in truth.clients.items()
        if any(s["remote_node"] == node and s["first_seen_ns"] < at < s["last_seen_ns"] for s in c["sockets"])
    ]
    assert hit
    for client in hit:
        ids = {i["client_instance_id"] for i in truth.instances[client]}
        felt = [r for r in episodes if r["client_instance_id"] in ids and abs(r["start_ns"] - at) < SECOND]
        assert any(r["resource_kind"] == "connection" and r["old_node_id"] == node for r in felt), client


def test_moved_partitions_name_the_leader_before_and_after(told: Told) -> None:
    """Before and after the broker is killed, leadership moved by election: no node can be old and new at once."""
    episodes = [
        r
        for r in rows(told("leader_move"), "recoveries")
        if r["resource_kind"] == "partition"
        and r["first_error_name"] in ("NOT_LEADER_OR_FOLLOWER", "FENCED_LEADER_EPOCH")
    ]
    assert episodes
    for row in episodes:
        assert row["outcome"] == "recovered"
        assert row["old_node_id"] != row["new_node_id"]
        assert row["recovered_ns"] > row["start_ns"]


@pytest.mark.parametrize("n", [1, 2, 7])
def test_rows_do_not_depend_on_partitions(spark: Any, told: Told, n: int) -> None:
    dataset = told("leader_move")
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", n)
    try:
        found = tagged_stories(spark, dataset, capture_span(dataset)).toArrow()
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", before)
    for table in STORY_TABLES:
        mine = [r[table.name] for r in found.to_pylist() if r["table"] == table.name]
        assert sorted(map(repr, mine)) == sorted(map(repr, rows(dataset, table.name)))


def test_workers_write_what_this_process_writes(spark: Any, told: Told, tmp_path: pathlib.Path) -> None:
    dataset = told("healthy_basic")
    module._write_there(tagged_stories(spark, dataset, capture_span(dataset)), tmp_path)
    for table in STORY_TABLES:
        found = pq.read_table(tmp_path / table.name)
        assert found.cast(table.schema).to_pylist() == rows(dataset, table.name)


def test_what_is_no_dataset_is_said(tmp_path: pathlib.Path) -> None:
    with pytest.raises(UsageError, match="not a dataset"):
        write_stories(tmp_path)
