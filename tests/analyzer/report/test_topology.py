"""`kafkascope topology`: replay of what was reported, times, what moved, and how it is shown."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.cells import cell_len
from typer.testing import CliRunner

from kafkascope_analyzer.cli.app import app
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.manifest import MANIFEST, Manifest, written_files
from kafkascope_analyzer.dataset.tables import CAPTURES, CONNECTIONS, REQUESTS, ROLE_ROWS, TOPOLOGY
from kafkascope_analyzer.report.formatting import ranges
from kafkascope_analyzer.report.model.topology import time_of, topology_model
from kafkascope_analyzer.report.plain import plain
from kafkascope_analyzer.report.terminal.page import page_of
from kafkascope_analyzer.report.terminal.topology import render_topology
from kafkascope_parsers.errors import UsageError

T0 = 1_795_235_288_000_000_000
MS, S = 1_000_000, 1_000_000_000
HOSTILE = "\x1b[2J\u202e[red]\r\n" + "x" * 300


def plain_topology(dataset: Dataset, at: str | None = None) -> Any:
    return plain(topology_model(dataset, at))


def leader(ms, topic, partition, node, epoch, **more):
    row = {"kind": "leader", "topic": topic, "partition": partition, "node_id": node, "leader_epoch": epoch}
    return {"ts_ns": T0 + ms * MS, "request_id": f"c:{ms}", **row, **more}


def coordinator(ms, key, node):
    row = {"kind": "coordinator", "coordinator_type": "group", "coordinator_key": key, "node_id": node}
    return {"ts_ns": T0 + ms * MS, "request_id": f"c:{ms}", **row}


def broker(ms, node, host):
    return {
        "ts_ns": T0 + ms * MS,
        "request_id": f"c:{ms}",
        "kind": "broker",
        "node_id": node,
        "host": host,
        "port": 9092,
    }


def write(place, table, rows):
    (place / table.name).mkdir(parents=True, exist_ok=True)
    schema = pa.schema([field.with_nullable(True) for field in table.schema])  # rows here have what a test needs
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), place / table.name / "part-0.parquet")


@pytest.fixture
def made(tmp_path):
    def make(topology, *, roles=(), connections=(), lists=()):
        place = tmp_path / "made.kscope"
        first = {"path": "x.pcap", "n_packets": 9, "first_ns": T0, "last_ns": T0 + 60 * S}
        write(place, CAPTURES, [first])
        spoken = [{"protocol": "kafka", **row} for row in connections or [{"conn_id": "c"}]]
        for table, rows in ((TOPOLOGY, topology), (ROLE_ROWS, roles), (CONNECTIONS, spoken)):
            write(place, table, list(rows))
        numbers = {row["request_id"] for row in topology}
        write(
            place,
            REQUESTS,
            [
                {"request_id": one, "api_name": "Metadata", "response_packet_no": int(one[2:]) + 1, "ts_ns": T0}
                for one in numbers
            ],
        )
        if lists:
            kind = pa.list_(pa.struct([("node_id", pa.int32())]))
            columns = {
                "ts_ns": pa.array([T0 + ms * MS for ms, _ in lists]),
                "request_id": pa.array([f"c:{ms}" for ms, _ in lists]),
                "brokers": pa.array([[{"node_id": n} for n in nodes] for _, nodes in lists], kind),
            }
            (place / "messages" / "Metadata" / "response").mkdir(parents=True)
            pq.write_table(pa.table(columns), place / "messages" / "Metadata" / "response" / "part-0.parquet")
        (place / MANIFEST).write_text(Manifest(written_files(place), {"stream_bytes": 1}).to_json())
        return place

    return make


def led(model):
    return {(row["topic"], row["partition"]): (row["node_id"], row["leader_epoch"]) for row in model["leaders"]}


MOVES = [
    leader(0, "t", 0, 1, 0),
    leader(0, "t", 1, 1, 0),
    leader(5000, "t", 0, 2, 1),
    leader(5100, "t", 1, 2, 1),
    leader(5200, "t", 0, 1, 0),  # a broker with old metadata
    leader(9000, "t", 1, 3, 2),
]


def test_the_leaders_of_a_time(made):
    place = made(MOVES)
    assert led(plain_topology(Dataset.open(place), "+1s")) == {("t", 0): (1, 0), ("t", 1): (1, 0)}
    assert led(plain_topology(Dataset.open(place), "+5.15s")) == {("t", 0): (2, 1), ("t", 1): (2, 1)}
    model = plain_topology(Dataset.open(place))
    assert led(model) == {("t", 0): (2, 1), ("t", 1): (3, 2)}
    row = model["leaders"][0]
    assert (row["since_ns"], row["api_name"], row["packet_no"]) == (T0 + 5 * S, "Metadata", 5001)


def test_partitions_that_move_together_are_one_change(made):
    changes = plain_topology(Dataset.open(made(MOVES)))["changes"]
    shown = [(c["ts_ns"] - T0, c["subject"], c["partitions"], c["from"], c["to"], c["epochs"]) for c in changes]
    assert shown == [(5 * S, "t", [0, 1], 1, 2, [1]), (9 * S, "t", [1], 2, 3, [2])]


def test_a_topic_made_anew_begins_with_epoch_0_again(made):
    rows = [leader(0, "t", 0, 1, 7, topic_id="A"), leader(900, "t", 0, 2, 0, topic_id="B")]
    assert led(plain_topology(Dataset.open(made(rows)))) == {("t", 0): (2, 0)}


def test_answers_without_an_epoch_change_nothing_but_the_node(made):
    rows = [leader(0, "t", 0, 1, 4), leader(10, "t", 0, 1, None), leader(20, "t", 0, 2, None)]
    model = plain_topology(Dataset.open(made(rows)))
    assert [(c["from"], c["to"]) for c in model["changes"]] == [(1, 2)]


def test_coordinators_move(made):
    model = plain_topology(
        Dataset.open(made([coordinator(0, "g", 1), coordinator(10, "g", 1), coordinator(7000, "g", 3)]))
    )
    assert [(c["kind"], c["subject"], c["from"], c["to"]) for c in model["changes"]] == [
        ("group coordinator", "g", 1, 3)
    ]
    (row,) = model["coordinators"]
    assert (row["node_id"], row["since_ns"]) == (3, T0 + 7 * S)


def test_what_a_broker_confirmed_counts_where_nobody_told_it(made):
    conns = [
        {"conn_id": "k", "node_id": 5, "protocol": "kafka", "first_ns": T0, "last_ns": T0 + S, "server_ip": "10.0.0.5"}
    ]
    proof = {"conn_id": "k", "verdict": "confirmed", "first_ns": T0 + MS, "evidence": ["c:1"]}
    roles = [
        {**proof, "role": "partition_leader", "subject": "my-topic-3"},
        {**proof, "role": "group_coordinator", "subject": "g"},
        {**proof, "role": "group_coordinator", "subject": "reported"},
        {**proof, "role": "partition_leader", "subject": "other-0", "verdict": "claimed"},
    ]
    model = plain_topology(Dataset.open(made([coordinator(0, "reported", 1)], roles=roles, connections=conns)))
    assert led(model) == {("my-topic", 3): (5, None)}
    assert {row["key"]: (row["node_id"], row["source"]) for row in model["coordinators"]} == {
        "g": (5, "confirmed"),
        "reported": (1, "reported"),
    }


def test_brokers_come_and_go_but_not_for_a_moment(made):
    lists = [(0, [1, 2, 3]), (1000, [1, 2]), (1300, [1, 2, 3]), (9000, [1, 3]), (20_000, [1, 2, 3]), (30_000, [])]
    place = made([broker(0, n, f"10.0.0.{n}") for n in (1, 2, 3)], lists=lists)
    model = plain_topology(Dataset.open(place))
    assert [(c["ts_ns"] - T0, c["node_id"], c["what"]) for c in model["changes"]] == [
        (9 * S, 2, "gone"),
        (20 * S, 2, "back"),
    ]
    assert [b["listed"] for b in plain_topology(Dataset.open(place), "+10s")["brokers"]] == [True, False, True]
    assert [b["listed"] for b in model["brokers"]] == [True, True, True]


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("+12.5s", T0 + 12_500 * MS),
        ("+250ms", T0 + 250 * MS),
        ("+1m", T0 + 60 * S),
        ("+3", T0 + 3 * S),
        ("2026-11-21T04:28:09.5Z", T0 + 1500 * MS),
        ("2026-11-21 04:28:09.000001", T0 + S + 1000),
        ("2026-11-21T05:28:09+01:00", T0 + S),
    ],
)
def test_times(text, ns):
    assert time_of(text, T0, T0 + 60 * S) == ns


@pytest.mark.parametrize("text", ["", "soon", "+", "-5s", "+5x", "+2h", "2026-11-21", "9999"])
def test_what_is_no_time_of_the_capture_is_refused(text):
    with pytest.raises(UsageError, match="--at"):
        time_of(text, T0, T0 + 60 * S)


def test_ranges():
    assert ranges([3, 1, 2, 7]) == "1-3, 7"
    assert ranges([]) == ""
    assert ranges(range(0, 40, 2)) == "0, 2, 4, 6, 8, 10 … and 14 more"


@pytest.mark.parametrize("at", [None, "+6s"])
def test_no_line_is_wider_than_80_columns_and_hostile_text_is_harmless(made, at):
    rows = [*MOVES, leader(0, HOSTILE, 0, 1, 0), leader(100, HOSTILE, 0, 2, 1), coordinator(0, HOSTILE, 1)]
    rows += [coordinator(400, HOSTILE, 2), broker(0, 1, HOSTILE)]
    rows += [leader(0, "many", n, n % 3, 0) for n in range(5000)]
    page = page_of(render_topology(topology_model(Dataset.open(made(rows)), at)), 80, ascii_only=False)
    assert [text for text in page.splitlines() if cell_len(text) > 80] == []
    assert not {"\x1b", "\u202e", "\r"} & set(page)
    assert page.count("\n") < 120


@pytest.mark.parametrize("options", [[], ["--at", "+6s"], ["--format", "plain"]])
def test_the_command(made, options):
    place = made(MOVES)
    result = CliRunner().invoke(app, ["topology", str(place), *options])
    assert result.exit_code == 0
    assert "Brokers" in result.output


def test_the_command_as_json_and_its_errors(made, tmp_path):
    place = made(MOVES)
    result = CliRunner().invoke(app, ["topology", str(place), "--format", "json"])
    assert len(json.loads(result.output)["leaders"]) == 2
    assert CliRunner().invoke(app, ["topology", str(place), "--at", "soon"]).exit_code == 2
    assert CliRunner().invoke(app, ["topology", str(tmp_path)]).exit_code == 2


def test_an_empty_dataset(made):
    model = plain_topology(Dataset.open(made([])))
    assert (model["leaders"], model["brokers"], model["changes"], model["controller"]) == ([], [], [], None)


def test_paths_are_not_in_it(made):
    place = made(MOVES)
    assert str(Path(place).parent) not in json.dumps(plain_topology(Dataset.open(place)))
