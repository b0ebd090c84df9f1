"""The stories of real captures against the truth about them, through ingest and Spark."""

import json
import pathlib
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scripts.stories_in_process import write_stories_in_process
from typer.testing import CliRunner

from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.manifest import STORIES
from kafkascope_analyzer.dataset.tables import CONNECTIONS
from kafkascope_analyzer.ingest.options import IngestOptions
from kafkascope_analyzer.ingest.run import ingest
from kafkascope_parsers.errors import UsageError
from kafkascope_spark.stories.tables import CLIENT_TABLES, STARTUPS, STORY_TABLES
from kafkascope_spark.story_job import TABLES
from kafkascope_spark.story_writer import StoryRun, StoryWriter
from kafkascope_spark.write_stories import write_stories

pytestmark = pytest.mark.spark

CAPTURES = pathlib.Path(__file__).parents[2] / "fixtures" / "captures"
MS, SECOND = 1_000_000, 1_000_000_000
NAMES = ("healthy_basic", "leader_move", "txn")
KINDS = {"txn": "transactional_producer", "eos": "transactional_producer"}
DatasetOf = Callable[..., pathlib.Path]


@pytest.fixture(scope="module")
def dataset_of(dataset_of: DatasetOf) -> DatasetOf:
    """With findings."""
    return partial(dataset_of, rules=None)


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
            for owner in {self.owner[c] for c in row["conn_ids"]} - {None}:
                self.instances[str(owner)].append(row)

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
def test_tables_are_as_the_contract_says(dataset_of: DatasetOf, name: str) -> None:
    for table in STORY_TABLES:
        found = pq.read_table(dataset_of(name) / "stories" / table.name)
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
def test_each_connection_has_one_client_and_each_process_its_objects(dataset_of: DatasetOf, name: str) -> None:
    truth = Truth(name, dataset_of(name))
    connections = pq.read_table(dataset_of(name) / CONNECTIONS.name, columns=["conn_id", "protocol"]).to_pylist()
    count = Counter(c for row in rows(dataset_of(name), "clients") for c in row["conn_ids"])
    assert all(count[c["conn_id"]] == 1 for c in connections if c["protocol"] == "kafka")
    assert max(count.values()) == 1
    for client, instances in truth.instances.items():
        assert len(instances) == truth.objects(client), client
        for row in instances:
            assert {truth.owner[c] for c in row["conn_ids"]} == {client}


@pytest.mark.parametrize("name", NAMES)
def test_clients_are_what_the_processes_were(dataset_of: DatasetOf, name: str) -> None:
    truth = Truth(name, dataset_of(name))
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
def test_starts_agree_with_the_kernel_and_the_clients_log(dataset_of: DatasetOf, name: str) -> None:
    truth = Truth(name, dataset_of(name))
    starts = defaultdict(list)
    for row in rows(dataset_of(name), "startups"):
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
def test_the_critical_path_is_the_total(dataset_of: DatasetOf, name: str) -> None:
    path: Counter[str] = Counter()
    for step in rows(dataset_of(name), "startup_steps"):
        if step["on_critical_path"]:
            path[step["startup_id"]] += step["duration_us"] + step["wait_us"]
    ready = [s for s in rows(dataset_of(name), "startups") if s["outcome"] == "ready"]
    assert ready
    for start in ready:
        assert path[start["startup_id"]] == start["total_us"] == (start["ready_ns"] - start["start_ns"]) // 1000


@pytest.mark.parametrize("name", NAMES)
def test_starts_of_real_clients_are_as_expected(dataset_of: DatasetOf, name: str) -> None:
    """What each library does is in its sequence: nothing is missing, extra or out of order in a start that went
    well."""
    kinds = {c["client_instance_id"]: c["kind"] for c in rows(dataset_of(name), "clients")}
    starts = rows(dataset_of(name), "startups")
    ready = [s for s in starts if s["outcome"] == "ready" and kinds[s["client_instance_id"]] != "broker"]
    assert ready
    for start in ready:
        odd = (start["missing_steps"], start["extra_steps"], start["out_of_order_steps"])
        assert odd == ([], [], []), start


def test_loops_of_healthy_clients_are_as_expected(dataset_of: DatasetOf) -> None:
    found = rows(dataset_of("healthy_basic"), "cadences")
    assert {"heartbeat", "fetch", "poll_gap", "metadata_refresh", "in_flight"} <= {r["cadence"] for r in found}
    assert {r["verdict"] for r in found if r["cadence"] in ("heartbeat", "fetch", "poll_gap")} <= {
        "as_expected",
        "unknown",
    }
    beats = [r for r in found if r["cadence"] == "heartbeat"]
    assert {(r["expected_ms"], r["expected_from"]) for r in beats} == {(15_000, "join_group")}
    assert all(2_500 < r["p50_ms"] < 3_500 for r in beats if r["n"] > 2)


def test_a_healthy_cluster_has_only_what_passes_inside_a_start(dataset_of: DatasetOf) -> None:
    truth = Truth("healthy_basic", dataset_of("healthy_basic"))
    owner = {i["client_instance_id"]: name for name, found in truth.instances.items() for i in found}
    for row in rows(dataset_of("healthy_basic"), "recoveries"):
        client = truth.clients[owner[row["client_instance_id"]]]
        up = max(t for t in (client["first_record_ns"], client["first_ack_ns"]) if t)
        assert row["outcome"] == "recovered", row
        assert row["start_ns"] < up, row


def test_who_was_connected_to_the_killed_broker_has_an_episode_and_gets_over_it(dataset_of: DatasetOf) -> None:
    truth = Truth("leader_move", dataset_of("leader_move"))
    killed = next(e for e in truth.raw["events"] if e["kind"] == "broker_killed")
    node, at = killed["detail"]["node_id"], killed["ts_ns"]
    episodes = rows(dataset_of("leader_move"), "recoveries")
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


def test_moved_partitions_name_the_leader_before_and_after(dataset_of: DatasetOf) -> None:
    """Before and after the broker is killed, leadership moved by election: no node can be old and new at once."""
    episodes = [
        r
        for r in rows(dataset_of("leader_move"), "recoveries")
        if r["resource_kind"] == "partition"
        and r["first_error_name"] in ("NOT_LEADER_OR_FOLLOWER", "FENCED_LEADER_EPOCH")
    ]
    assert episodes
    for row in episodes:
        assert row["outcome"] == "recovered"
        assert row["old_node_id"] != row["new_node_id"]
        assert row["recovered_ns"] > row["start_ns"]


def test_a_brokers_death_is_one_cause_for_all_who_felt_it(dataset_of: DatasetOf) -> None:
    truth = Truth("leader_move", dataset_of("leader_move"))
    killed = next(e for e in truth.raw["events"] if e["kind"] == "broker_killed")
    node, at = killed["detail"]["node_id"], killed["ts_ns"]
    lost = [
        r
        for r in rows(dataset_of("leader_move"), "recoveries")
        if r["resource_kind"] == "connection" and r["old_node_id"] == node and abs(r["start_ns"] - at) < SECOND
    ]
    assert len({r["client_instance_id"] for r in lost}) > 3
    assert len({r["cause_id"] for r in lost}) == 1


def test_hints_and_times_of_real_clients(dataset_of: DatasetOf) -> None:
    """KIP-951: brokers of 4.x name the leader beside the error; what was lost adds up to the time to recover."""
    found = rows(dataset_of("leader_move"), "recoveries")
    assert "hint" in {r["refresh_trigger"] for r in found}
    assert "hint" in {s["step"] for s in rows(dataset_of("leader_move"), "recovery_steps")}
    assert {r["outcome"] for r in found} & {"wrong_reaction"} == set()
    for row in found:
        if row["recovered_ns"] is not None:
            lost = sum(row[f"lost_{who}_us"] for who in ("broker", "backoff", "stale", "connecting"))
            assert abs(lost - (row["recovered_ns"] - row["start_ns"]) // 1000) <= 4, row


def same_rows(found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> bool:
    return sorted(map(repr, found)) == sorted(map(repr, expected))


@pytest.mark.parametrize("n", [pytest.param(1, marks=pytest.mark.lab), 7])
def test_rows_do_not_depend_on_partitions(spark: Any, dataset_of: DatasetOf, n: int, tmp_path: pathlib.Path) -> None:
    """The embedded session has two."""
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", n)
    try:
        again = tmp_path / "again.kscope"
        shutil.copytree(dataset_of("leader_move"), again)
        write_stories(again)
        for table in STORY_TABLES:
            assert same_rows(rows(again, table.name), rows(dataset_of("leader_move"), table.name)), table.name
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", before)


def test_rows_do_not_depend_on_buckets(
    dataset_of: DatasetOf, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four buckets: each connection's rows lie in the file of its bucket."""
    monkeypatch.setattr("kafkascope_analyzer.ingest.run.BYTES_PER_WORKER", 1)
    four = tmp_path / "four.kscope"
    ingest([CAPTURES / "txn.pcap.zst"], four, IngestOptions(jobs=4))
    write_stories(four)
    for table in STORY_TABLES:
        assert same_rows(rows(four, table.name), rows(dataset_of("txn"), table.name)), table.name


def test_each_file_is_sorted_and_listed_and_the_former_stories_are_gone(
    dataset_of: DatasetOf, tmp_path: pathlib.Path
) -> None:
    again = tmp_path / "again.kscope"
    shutil.copytree(dataset_of("healthy_basic"), again)
    former = {path.name for path in (again / "stories").rglob("*.parquet")}
    write_stories(again)
    dataset = Dataset.open(again)
    for table in STORY_TABLES:
        files = dataset.files(f"{STORIES}/{table.name}")
        there = {str(path.relative_to(again)) for path in (again / STORIES / table.name).glob("*.parquet")}
        assert there == set(files), table.name
        assert former.isdisjoint(pathlib.Path(file).name for file in files)
        assert rows(again, table.name) == rows(dataset_of("healthy_basic"), table.name) or not files
        for file in files:
            mine = pq.read_table(again / file).select([*table.sorted_by])
            assert mine.equals(mine.sort_by([(name, "ascending") for name in mine.column_names])), file


def test_the_limit_decides_which_waits_are_stalls(
    dataset_of: DatasetOf, every_rule: tuple[str, ...], tmp_path: pathlib.Path
) -> None:
    again = tmp_path / "again.kscope"
    shutil.copytree(dataset_of("frozen_broker", rules=()), again)
    usual = {row["stall_id"]: row["waited_ms"] for row in rows(again, "stalls")}
    write_stories(again, stall_ms=3_000, ignored=every_rule)
    assert {row["stall_id"] for row in rows(again, "stalls")} == {s for s, ms in usual.items() if ms >= 3_000}
    assert Dataset.open(again).stall_ms == 3_000
    write_stories(again, stall_ms=500, ignored=every_rule)
    short = {row["stall_id"]: row["waited_ms"] for row in rows(again, "stalls")}
    assert short.items() >= usual.items()
    assert all(500 <= ms < 1_000 for stall, ms in short.items() if stall not in usual)


def test_interrupted_stories_leave_the_dataset_as_it_was(
    spark: Any, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C once Spark has written the stories of clients."""
    place = tmp_path / "a.kscope"
    ingest([CAPTURES / "pieces" / "frozen_broker.pcap.zst"], place, IngestOptions(jobs=1))

    def interrupt(*_: object, **__: object) -> None:
        assert list((place / "stories" / "clients").iterdir())
        raise KeyboardInterrupt

    monkeypatch.setattr("kafkascope_spark.write_stories.write_findings", interrupt)
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    done = CliRunner().invoke(app, ["stories", str(place), "-q"])
    assert (done.exit_code, done.stderr) == (130, "kafkascope: interrupted: nothing was written\n")
    assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == before


def test_a_task_that_holds_little_writes_several_files(dataset_of: DatasetOf, tmp_path: pathlib.Path) -> None:
    dataset = tmp_path / "written.kscope"
    shutil.copytree(dataset_of("healthy_basic"), dataset)
    expected = pq.read_table(dataset / STORIES / "startups")
    run = StoryRun(Dataset.open(dataset), (0, 1), "few")
    writer = StoryWriter(run, held_bytes=1)
    (cluster,) = set(expected["cluster"].to_pylist())
    writer.begin_cluster(cluster)
    for batch in expected.to_batches(max_chunksize=2):
        writer.take_batch(STARTUPS, batch)
    reports = writer.close()
    assert len(reports) == -(-expected.num_rows // 2)
    assert sum(report.rows or 0 for report in reports) == expected.num_rows
    found = pa.concat_tables(pq.read_table(dataset / str(report.path)) for report in reports)
    assert same_rows(found.to_pylist(), expected.to_pylist())


def test_what_is_no_dataset_is_said(tmp_path: pathlib.Path) -> None:
    with pytest.raises(UsageError, match="not a kafkascope dataset"):
        write_stories(tmp_path)


@pytest.mark.parametrize("name", NAMES)
def test_the_stages_give_the_same_rows_without_spark(dataset_of: DatasetOf, tmp_path: pathlib.Path, name: str) -> None:
    """Other tests, first screens and scores take the rows of the stages."""
    again = tmp_path / "again.kscope"
    shutil.copytree(dataset_of(name), again)
    write_stories_in_process(again)
    for table in TABLES:
        of_spark, here = (pq.read_table(place / STORIES / table.name) for place in (dataset_of(name), again))
        assert of_spark.num_rows == here.num_rows
        order = [(name, "ascending") for name in table.sorted_by]
        assert of_spark.sort_by(order).equals(here.sort_by(order)), table.name
