"""Unread partitions of a real capture against the lines that the clients wrote about each record. One of three members
of a group was stopped for 10 s, longer than its session: the coordinator gave its partitions to the others."""

import gzip
import json
import pathlib
from collections import Counter, defaultdict
from typing import Any

import pyarrow.parquet as pq
import pytest

SERVICE = pathlib.Path(__file__).parents[4] / "fixtures" / "service"
MS = 1_000_000
SLACK_NS = 150 * MS
"""The lines are written after the packets: 0.2 to 100 ms."""
Row = dict[str, Any]
Place = tuple[str, int]

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def rebalances(dataset_of: Any) -> list[Row]:
    rows: list[Row] = pq.read_table(dataset_of("member_evicted") / "stories" / "rebalances").to_pylist()
    return sorted(rows, key=lambda row: row["start_ns"])


@pytest.fixture(scope="module")
def truth() -> Row:
    found: Row = json.loads((SERVICE / "member_evicted.truth.json").read_text())
    return found


@pytest.fixture(scope="module")
def waited(truth: Row) -> dict[Place, list[tuple[int, int, str]]]:
    """Topic-partition -> of each record that the group waited for at least 1 s, the first before the others: when it
    was acknowledged, when a member first had it, and the client id of that member."""
    names = {client["name"]: client["client_id"] for client in truth["clients"]}
    acked: dict[tuple[str, int, int], int] = {}
    received: dict[tuple[str, int, int], tuple[int, str]] = {}
    with gzip.open(SERVICE / "member_evicted.deliveries.jsonl.gz", "rt") as file:
        for row in map(json.loads, file):
            record = (row.get("topic"), row.get("partition"), row.get("offset"))
            if row["event"] == "acked":
                acked[record] = row["ts_ns"]
            elif row["event"] == "received":
                received.setdefault(record, (row["ts_ns"], names[row["client"]]))
    waits: dict[Place, list[tuple[int, int, str]]] = defaultdict(list)
    for (topic, partition, offset), (at, who) in received.items():
        sent = acked.get((topic, partition, offset))
        if sent is not None and at - sent >= 1_000 * MS:
            waits[topic, partition].append((sent, at, who))
    return {place: sorted(found) for place, found in waits.items()}


def test_the_partitions_of_the_stopped_member_were_unread(
    rebalances: list[Row], truth: Row, waited: dict[Place, list[tuple[int, int, str]]]
) -> None:
    """The first record may be in an answer that was on its way when the process was stopped: its kernel has it."""
    (evicting,) = [row for row in rebalances if row["trigger"] == "member_evicted"]
    names = {m["member_id"]: m["client_id"] for m in (*evicting["members"], *evicting["departed"])}
    found = {(p["topic"], p["partition"]): p for p in evicting["partitions"] if (p["unread_ms"] or 0) >= 1_000}
    assert found.keys() == waited.keys()
    assert len(found) == 3
    stopped = next(c["client_id"] for c in truth["clients"] if c["name"] == truth["events"][0]["client"])
    for place, entry in found.items():
        (sent, at, who), (next_sent, _, _) = waited[place][:2]
        assert (names[entry["owner_before"]], names[entry["owner_after"]]) == (stopped, who)
        assert min(abs(entry["unread_from_ns"] - each) for each in (sent, next_sent)) < SLACK_NS
        assert abs(entry["unread_to_ns"] - at) < SLACK_NS
    assert evicting["unread_ms"] == max(entry["unread_ms"] for entry in found.values())


def test_no_other_rebalance_left_a_partition_unread_for_long(rebalances: list[Row]) -> None:
    """While members came and left by themselves, the longest wait of any record was below 500 ms."""
    others = [row for row in rebalances if row["trigger"] != "member_evicted"]
    assert len(others) == 5
    assert all((row["unread_ms"] or 0) < 500 for row in others)


def test_stalls_and_unread_partitions_have_the_same_times(dataset_of: Any, rebalances: list[Row]) -> None:
    stalls = pq.read_table(dataset_of("member_evicted") / "stories" / "stalls").to_pylist()
    consumed = {(s["topic"], s["partition"], s["from_ns"], s["to_ns"]) for s in stalls if s["kind"] == "consume"}
    entries = [p for row in rebalances for p in row["partitions"] if (p["unread_ms"] or 0) >= 1_000]
    assert {(p["topic"], p["partition"], p["unread_from_ns"], p["unread_to_ns"]) for p in entries} == consumed


def test_what_members_received_twice_was_fetched_again(dataset_of: Any) -> None:
    """A member that is thrown out had committed less than it processed. What it fetched ahead was fetched again, too;
    some of it after a rebalance that was no incident."""
    received: Counter[tuple[str, int, int]] = Counter()
    with gzip.open(SERVICE / "member_evicted.deliveries.jsonl.gz", "rt") as file:
        for row in map(json.loads, file):
            if row["event"] == "received":
                received[row["topic"], row["partition"], row["offset"]] += 1
    twice: Counter[Place] = Counter()
    for (topic, partition, _), n in received.items():
        twice[topic, partition] += n - 1
    told: Counter[Place] = Counter()
    for row in pq.read_table(dataset_of("member_evicted") / "stories" / "partition_flow").to_pylist():
        told[row["topic"], row["partition"]] += row["n_fetched_again"] or 0
    assert twice.total() > 100
    assert all(twice[place] <= told[place] for place in twice)
    assert told.total() < 2 * twice.total()
    incidents = pq.read_table(dataset_of("member_evicted") / "stories" / "incidents").to_pylist()
    assert twice.total() <= sum(row["n_records_again"] for row in incidents) <= told.total()
