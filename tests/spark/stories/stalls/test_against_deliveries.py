"""Stalls of a real capture against the lines that its clients wrote about each record. A broker's process stalled
for 12 s: its own partitions, and the coordinator of both groups, were at it."""

import gzip
import json
import pathlib
from collections import defaultdict

import pyarrow.parquet as pq
import pytest

SERVICE = pathlib.Path(__file__).parents[4] / "fixtures" / "service"
MS, S = 1_000_000, 1_000_000_000
SLACK_NS = 400 * MS

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def truth():
    return json.loads((SERVICE / "frozen_broker.truth.json").read_text())


@pytest.fixture(scope="module")
def lines():
    with gzip.open(SERVICE / "frozen_broker.deliveries.jsonl.gz", "rt") as file:
        return [json.loads(line) for line in file]


@pytest.fixture(scope="module")
def stalls(dataset_of):
    return pq.read_table(dataset_of("frozen_broker") / "stories" / "stalls").to_pylist()


def joined(waits):
    """Waits of at least 1.25 s in all, where those less than half a second apart are one."""
    out = []
    for a, b in sorted(waits):
        if out and a <= out[-1][1] + S // 2:
            out[-1][1] = max(out[-1][1], b)
        else:
            out.append([a, b])
    return [(a, b) for a, b in out if b - a >= 1250 * MS]


def is_covered(wait, rows):
    a, b = wait
    near = sorted(
        (max(row["from_ns"], a), min(row["to_ns"], b)) for row in rows if row["from_ns"] < b and row["to_ns"] > a
    )
    covered, until = 0, a
    for lo, hi in near:
        covered, until = covered + max(0, hi - max(lo, until)), max(until, hi)
    return covered >= 0.85 * (b - a)


def test_each_producer_that_waited_has_its_stalls(truth, lines, stalls):
    client_ids = {c["name"]: c["client_id"] for c in truth["clients"]}
    slow = defaultdict(list)
    for row in lines:
        if row["event"] == "acked" and row["ts_ns"] - row["sent_ns"] > S:
            slow[client_ids[row["client"]], row["topic"], row["partition"]].append((row["sent_ns"], row["ts_ns"]))
    assert {client for client, _, _ in slow} == {"order-api-1", "worker-2"}
    for (client_id, topic, partition), waits in slow.items():
        own = (client_id, topic, partition)
        mine = [r for r in stalls if (r["client_id"], r["topic"], r["partition"]) == own and r["kind"] == "produce"]
        for wait in joined(waits):
            assert is_covered(wait, mine), (own, wait)


def test_each_partition_that_waited_for_its_group_has_its_stalls(truth, lines, stalls):
    groups = {c["name"]: c["group"] for c in truth["clients"] if c["group"]}
    acked = {(r["topic"], r["partition"], r["offset"]): r["ts_ns"] for r in lines if r["event"] == "acked"}
    slow = defaultdict(list)
    for row in lines:
        accepted_ns = acked.get((row["topic"], row["partition"], row["offset"])) if row["event"] == "received" else None
        if accepted_ns is not None and row["ts_ns"] - accepted_ns > S:
            slow[groups[row["client"]], row["topic"], row["partition"]].append((accepted_ns, row["ts_ns"]))
    found = 0
    for (group, topic, partition), waits in slow.items():
        own = (group, topic, partition)
        mine = [r for r in stalls if (r["group_id"], r["topic"], r["partition"]) == own and r["kind"] == "consume"]
        for wait in joined(waits):
            found += 1
            assert is_covered(wait, mine), (own, wait)
    assert found >= 4


def test_no_stall_is_long_before_or_after_the_fault(truth, stalls):
    frozen, resumed = (event["ts_ns"] for event in truth["events"])
    assert stalls
    for row in stalls:
        assert frozen - SLACK_NS < row["from_ns"] < resumed + SLACK_NS
        assert row["to_ns"] < resumed + 3 * S
        assert 1 <= len(row["evidence"]) <= 32


def test_what_waited_for_the_frozen_broker_names_it(stalls):
    """Its partitions were 1 and 4."""
    at_it = [row for row in stalls if row["kind"] == "produce" and row["waited_ms"] > 10_000]
    assert {(row["partition"], row["node_id"]) for row in at_it} == {(1, 3), (4, 3)}
