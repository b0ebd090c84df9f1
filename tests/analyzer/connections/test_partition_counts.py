"""Counts of partition rows against Arrow's own grouping, and keys that collide on purpose."""

import numpy as np
import pyarrow as pa
import pytest

from kafkascope_analyzer.connections.partition_counts import COUNTS_SCHEMA, RAFT_TOPIC, RAFT_TOPIC_ID, count_partitions
from kafkascope_parsers.schema import api_keys, api_name

KEYS = {api_name(key): key for key in api_keys()}
TYPES = {
    "conn": pa.int64(),
    "api_key": pa.int16(),
    "topic": pa.string(),
    "topic_id": pa.string(),
    "partition": pa.int32(),
    "number": pa.int64(),
    "ts_ns": pa.int64(),
    "asked_ns": pa.int64(),
    "direction": pa.string(),
    "error_code": pa.int16(),
    "from_replica": pa.bool_(),
    "preferred_read_replica": pa.int32(),
}
ROW = {"conn": 0, "api_key": KEYS["Fetch"], "topic": "t", "partition": 0, "number": 0, "ts_ns": 20, "asked_ns": 10}
ROW |= {"direction": "response", "error_code": 0, "from_replica": False}


def counted(*rows):
    whole = [{**ROW, **row} for row in rows]
    found = []
    for api_key, direction in dict.fromkeys((row["api_key"], row["direction"]) for row in whole):
        same = [row for row in whole if (row["api_key"], row["direction"]) == (api_key, direction)]
        columns = {name: pa.array([row.get(name) for row in same], kind) for name, kind in TYPES.items()}
        columns |= {name: columns[name].dictionary_encode() for name in ("topic", "topic_id")}
        table = count_partitions(pa.table(columns), api_key, direction)
        assert table.schema == COUNTS_SCHEMA
        found += table.to_pylist()
    return found


def test_answers_of_one_partition_are_added_up():
    row, redirected = counted(
        {"number": 4, "asked_ns": 30, "ts_ns": 40, "error_code": 6},
        {"number": 5, "asked_ns": 50, "ts_ns": 90},
        {"number": 6, "asked_ns": 60, "ts_ns": 80, "preferred_read_replica": 3},
        {"number": 6, "asked_ns": 55, "ts_ns": 70, "preferred_read_replica": -1},
        {"number": 7, "asked_ns": 99, "ts_ns": 99, "error_code": 29},
    )
    assert (row["n_requests"], row["n_confirmed"], row["n_refused"]) == (0, 2, 1)
    assert (row["first_ns"], row["last_ns"], row["proof"], row["preferred"]) == (30, 99, 4, None)
    assert (row["confirmed_first_ns"], row["confirmed_last_ns"]) == (50, 55)
    assert (row["answered_first_ns"], row["answered_last_ns"]) == (70, 90)
    assert (redirected["n_confirmed"], redirected["first_ns"], redirected["answered_last_ns"]) == (1, 60, 80)
    assert (redirected["preferred"], redirected["partition"], redirected["conn"]) == (3, 0, 0)
    assert (row["topic"], row["topic_id"], row["partition"], row["conn"]) == ("t", None, 0, 0)


def test_every_replica_that_consumers_were_sent_to_is_kept():
    rows = counted(*({"preferred_read_replica": replica} for replica in (2, 3, 2, -1)))
    assert sorted((row["preferred"] or 0, row["n_confirmed"]) for row in rows) == [(0, 1), (2, 2), (3, 1)]


def test_requests_are_counted_apart():
    (row,) = counted(*({"direction": "request", "error_code": None, "ts_ns": n, "asked_ns": n} for n in (5, 7)))
    assert (row["n_requests"], row["n_confirmed"], row["proof"], row["confirmed_first_ns"]) == (2, 0, None, None)
    assert (row["first_ns"], row["last_ns"], row["preferred"]) == (5, 7, None)


@pytest.mark.parametrize(
    ("row", "n"),
    [
        ({"api_key": KEYS["Metadata"]}, 0),
        ({"api_key": -1}, 0),
        ({"api_key": 32767}, 0),
        ({"from_replica": True}, 0),
        ({"from_replica": True, "topic": RAFT_TOPIC}, 1),
        ({"from_replica": True, "topic": None, "topic_id": RAFT_TOPIC_ID}, 1),
        ({"error_code": None}, 1),
        ({"error_code": -32768}, 1),
        ({"error_code": 32767}, 1),
    ],
)
def test_which_rows_count(row, n):
    assert len(counted(row)) == n


def test_nothing_is_nothing():
    assert counted() == []


def test_as_arrow_groups_them():
    random = np.random.default_rng(7)
    rows = [
        {"conn": int(c), "topic": f"t{t}" if t else None, "topic_id": f"i{t}", "partition": int(p), "asked_ns": int(a)}
        for c, t, p, a in random.integers(0, [40, 5, 30, 1000], (5000, 4))
    ]
    found = {(r["conn"], r["topic_id"], r["partition"]): r for r in counted(*rows)}
    table = pa.Table.from_pylist(rows).group_by(["conn", "topic_id", "partition"])
    wanted = table.aggregate([("asked_ns", "min"), ("asked_ns", "max"), ("asked_ns", "count")]).to_pylist()
    assert len(found) == len(wanted)
    for row in wanted:
        mine = found[row["conn"], row["topic_id"], row["partition"]]
        assert (mine["first_ns"], mine["last_ns"]) == (row["asked_ns_min"], row["asked_ns_max"])
        assert mine["n_confirmed"] == row["asked_ns_count"]


def test_keys_that_collide_are_still_counted_right():
    """Partitions a hash table's size apart share a slot: what finds no slot is counted in rows of its own."""
    rows = [{"partition": n << 16, "asked_ns": n} for n in range(3000)] * 2
    sums = {}
    for row in counted(*rows):
        sums[row["partition"]] = sums.get(row["partition"], 0) + row["n_confirmed"]
    assert sums == {n << 16: 2 for n in range(3000)}
