"""Requests and their topic-partitions as the page's columns, read back the way the page does, against the tables."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.dataset as ds
import pytest
from tests.page_islands import islands

KINDS = {"u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "i32": np.int32, "f64": np.float64}


def unpacked(page: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The story and the columns of a page."""
    story, raw = islands(page)
    size = int.from_bytes(raw[:4], "little")
    columns = {}
    for name, kind, length, at in json.loads(raw[4 : 4 + size]):
        columns[name] = np.frombuffer(raw, KINDS[kind], length, 4 + size + at)
    return json.loads(story), columns


@pytest.fixture(scope="module")
def result(real_page):
    return unpacked(real_page)


@pytest.fixture(scope="module")
def table(leader_move):
    return {row["request_id"]: row for row in ds.dataset(leader_move / "requests").to_table().to_pylist()}


def summed(column):
    return np.cumsum(column.astype(np.uint64)) & 0xFFFF_FFFF


def request_ids(story, columns):
    conns = [conn["conn_id"] for conn in story["lanes"]["connections"]]
    numbers = [f"r{n - 2**31}" if n >= 2**31 else str(n) for n in summed(columns["d_number"]).tolist()]
    return [f"{conns[conn]}-{number}" for conn, number in zip(summed(columns["d_conn"]), numbers, strict=True)]


def test_every_request_is_there_once(result, table):
    ids = request_ids(*result)
    assert len(ids) == len(set(ids)) == result[0]["requests"]["n"]
    assert set(ids) == set(table)


def test_figures_are_those_of_the_table(result, table):
    story, columns = result
    packets = summed(columns["d_packet"])
    answers = (packets + columns["d_response"]) & 0xFFFF_FFFF
    times = summed(columns["d_ts"]) * story["requests"]["unit"]
    names = story["requests"]
    origin = int(story["capture"]["origin"])
    for n, request_id in enumerate(request_ids(story, columns)):
        row = table[request_id]
        assert names["apis"][columns["api"][n]] == (row["api_name"] or "")
        assert (packets[n], answers[n]) == (row["request_packet_no"] or 0, row["response_packet_no"] or 0)
        assert 0 <= row["ts_ns"] - origin - int(times[n]) < names["unit"]
        assert columns["latency"][n] == (0xFFFF_FFFF if row["latency_us"] is None else row["latency_us"])
        assert names["errors"][columns["error"][n]] == (row["error_name"] if row["error_code"] else "")
        assert columns["weight"][n] == 1


def test_topic_partitions_are_those_of_the_table(result, leader_move):
    story, columns = result
    named: dict[str, set[tuple[str, int]]] = {}
    for row in ds.dataset(leader_move / "partitions").to_table().to_pylist():
        named.setdefault(row["request_id"], set()).add((row["topic"] or "", row["partition"]))
    ends = np.cumsum(columns["n_named"])
    topics = story["requests"]["topics"]
    for n, request_id in enumerate(request_ids(story, columns)):
        places = range(ends[n] - columns["n_named"][n], ends[n])
        mine = {(topics[columns["topic"][k]], int(columns["partition"][k])) for k in places}
        assert mine <= named.get(request_id, set())
        assert len(mine) == min(12, len(named.get(request_id, ())))


def test_lanes_have_every_connection_once(result, leader_move):
    lanes = result[0]["lanes"]
    conns = [conn["conn_id"] for conn in lanes["connections"]]
    all_of_them = ds.dataset(leader_move / "connections").to_table(columns=["conn_id"])["conn_id"].to_pylist()
    assert sorted(conns) == sorted(all_of_them)
    assert [n for client in lanes["clients"] for n in client["conns"]] == list(range(len(conns)))


def test_evidence_is_in_the_page_with_its_packets(result, table):
    story, _ = result
    wanted = {step["request_id"] for one in story["episodes"]["listed"] for step in one["steps"] if step["request_id"]}
    assert wanted <= set(story["evidence"])
    for request_id, row in story["evidence"].items():
        assert row["request_packet_no"] == table[request_id]["request_packet_no"]


@pytest.mark.slow
def test_a_page_with_a_small_budget_says_what_it_left_out(leader_move, tmp_path, write_page):
    story, columns = unpacked(write_page(leader_move, tmp_path / "thin.html", budget=2500))
    assert story["requests"]["n_kept"] == len(columns["weight"]) <= 2500
    assert columns["weight"].sum() == story["requests"]["n"] == 5708
