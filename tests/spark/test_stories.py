"""The stories of real captures against the truth about them, through ingest and Spark."""

import json
import pathlib
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafkascope_analyzer.dataset.stories import CLIENT_TABLES, STARTUPS, STORY_TABLES
from kafkascope_analyzer.dataset.tables import CONNECTIONS
from kafkascope_parsers.errors import UsageError
from kafkascope_spark.client_files import HELD_BYTES, write_client_tables
from kafkascope_spark.stories import capture_span, events_of, packing, tagged_stories, write_stories
from kafkascope_spark.storms import packs
from kafkascope_spark.storms.storm import Storm, broken_by, packs_of
from kafkascope_spark.story_files import SORTED_BY, write_here

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
        assert found.num_rows or table not in CLIENT_TABLES, table.name
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
        assert path[start["startup_id"]] == start["total_us"] == (start["ready_ns"] - start["start_ns"]) // 1000


@pytest.mark.parametrize("name", NAMES)
def test_starts_of_real_clients_are_as_expected(told: Told, name: str) -> None:
    """What each library does is in its sequence: nothing is missing, extra or out of order in a start that went
    well."""
    kinds = {c["client_instance_id"]: c["kind"] for c in rows(told(name), "clients")}
    for start in rows(told(name), "startups"):
        if start["outcome"] == "ready" and kinds[start["client_instance_id"]] != "broker":
            odd = (start["missing_steps"], start["extra_steps"], start["out_of_order_steps"])
            assert odd == ([], [], []), start


def test_loops_of_healthy_clients_are_as_expected(told: Told) -> None:
    found = rows(told("healthy_basic"), "cadences")
    assert {"heartbeat", "fetch", "poll_gap", "metadata_refresh", "in_flight"} <= {r["cadence"] for r in found}
    assert {r["verdict"] for r in found if r["cadence"] in ("heartbeat", "fetch", "poll_gap")} <= {
        "as_expected",
        "unknown",
    }
    beats = [r for r in found if r["cadence"] == "heartbeat"]
    assert {(r["expected_ms"], r["expected_from"]) for r in beats} == {(15_000, "join_group")}
    assert all(2_500 < r["p50_ms"] < 3_500 for r in beats if r["n"] > 2)


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


def test_a_brokers_death_is_one_cause_for_all_who_felt_it(told: Told) -> None:
    truth = Truth("leader_move", told("leader_move"))
    killed = next(e for e in truth.raw["events"] if e["kind"] == "broker_killed")
    node, at = killed["detail"]["node_id"], killed["ts_ns"]
    lost = [
        r
        for r in rows(told("leader_move"), "recoveries")
        if r["resource_kind"] == "connection" and r["old_node_id"] == node and abs(r["start_ns"] - at) < SECOND
    ]
    assert len({r["client_instance_id"] for r in lost}) > 3
    assert len({r["cause_id"] for r in lost}) == 1


def test_hints_and_times_of_real_clients(told: Told) -> None:
    """KIP-951: brokers of 4.x name the leader beside the error; what was lost adds up to the time to recover."""
    found = rows(told("leader_move"), "recoveries")
    assert "hint" in {r["refresh_trigger"] for r in found}
    assert "hint" in {s["step"] for s in rows(told("leader_move"), "recovery_steps")}
    assert {r["outcome"] for r in found} & {"wrong_reaction"} == set()
    for row in found:
        if row["recovered_ns"] is not None:
            lost = sum(row[f"lost_{who}_us"] for who in ("broker", "backoff", "stale", "connecting"))
            assert abs(lost - (row["recovered_ns"] - row["start_ns"]) // 1000) <= 4, row


def same_rows(found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> bool:
    return sorted(map(repr, found)) == sorted(map(repr, expected))


@pytest.mark.parametrize("n", [1, 7])
def test_rows_do_not_depend_on_partitions(spark: Any, told: Told, n: int, tmp_path: pathlib.Path) -> None:
    """The embedded session has two."""
    dataset = told("leader_move")
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", n)
    try:
        write_here(tagged_stories(spark, dataset, capture_span(dataset)), CLIENT_TABLES, tmp_path)
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", before)
    for table in CLIENT_TABLES:
        mine = pq.read_table(tmp_path / table.name).to_pylist()
        assert same_rows(mine, rows(dataset, table.name)), table.name


@pytest.mark.parametrize(("name", "n"), [("leader_move", 1), ("leader_move", 7), ("txn", 2)])
def test_rows_do_not_depend_on_packs(
    spark: Any, told: Told, name: str, n: int, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every address as if it had a storm."""
    monkeypatch.setattr(packs, "PACK_ROWS", 50)
    dataset = tmp_path / "packed.kscope"
    shutil.copytree(told(name), dataset)
    addresses = tuple(sorted({str(row["client_ip"]) for row in rows(dataset, "clients")}))
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", n)
    try:
        storm = Storm(dataset, addresses, broken_by(dataset, addresses), packs_of(dataset))
        with packing(dataset, storm):
            made = tagged_stories(spark, dataset, capture_span(dataset), storm)
            write_here(made, CLIENT_TABLES, tmp_path / "made")
            assert len(list(packs_of(dataset).iterdir())) > len(addresses), "some were packed"
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", before)
    assert not packs_of(dataset).exists()
    for table in CLIENT_TABLES:
        mine = pq.read_table(tmp_path / "made" / table.name).to_pylist()
        assert same_rows(mine, rows(dataset, table.name)), table.name


def test_rows_do_not_depend_on_buckets(told: Told, tmp_path: pathlib.Path) -> None:
    """Four buckets: each connection's rows lie in the file of its bucket."""
    one, four = told("healthy_basic"), tmp_path / "four.kscope"
    shutil.copytree(one, four, ignore=shutil.ignore_patterns("stories"))
    for place in {path.parent for path in four.rglob("*.parquet")}:
        table = pq.read_table(place)
        if "conn_id" not in table.schema.names:
            continue
        shutil.rmtree(place)
        bucket = [int(c, 16) % 4 for c in table["conn_id"].to_pylist()]
        for b in range(4):
            (place / f"bucket={b}").mkdir(parents=True)
            mine = table.filter(pa.array([x == b for x in bucket], pa.bool_()))
            pq.write_table(mine, place / f"bucket={b}" / "part-0.parquet")
    write_stories(four)
    for table in STORY_TABLES:
        assert rows(four, table.name) == rows(one, table.name), table.name


@pytest.mark.parametrize("held_bytes", [HELD_BYTES, 1])
def test_workers_write_what_this_process_writes(
    spark: Any, told: Told, held_bytes: int, tmp_path: pathlib.Path
) -> None:
    """Whether all of a partition is sorted at once or goes into several files; what was there before is gone."""
    dataset = told("healthy_basic")
    (tmp_path / "startups").mkdir()
    pq.write_table(STARTUPS.schema.empty_table(), tmp_path / "startups" / "older.parquet")
    write_client_tables(events_of(spark, dataset), capture_span(dataset), tmp_path, held_bytes)
    assert not (tmp_path / "startups" / "older.parquet").exists()
    for table in CLIENT_TABLES:
        found = pq.read_table(tmp_path / table.name).cast(table.schema)
        assert same_rows(found.to_pylist(), rows(dataset, table.name)), table.name
        for path in (tmp_path / table.name).glob("*.parquet"):
            mine = pq.read_table(path).select(SORTED_BY[table.name])
            assert mine.equals(mine.sort_by([(name, "ascending") for name in mine.column_names])), path


def test_what_is_no_dataset_is_said(tmp_path: pathlib.Path) -> None:
    with pytest.raises(UsageError, match="not a kafkascope dataset"):
        write_stories(tmp_path)
