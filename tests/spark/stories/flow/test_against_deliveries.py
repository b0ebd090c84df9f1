"""partition_flow of a real capture against the lines that its clients wrote about each record: when it was handed over,
acknowledged and received. A broker's process stalled for 12 s."""

import gzip
import json
import math
import pathlib
from collections import defaultdict

import pyarrow.parquet as pq
import pytest

from kafkascope_analyzer.dataset.latency_histogram import LatencyClass, added_up, percentile_us

SERVICE = pathlib.Path(__file__).parents[4] / "fixtures" / "service"
MS = 1_000_000
CLIENT_US = 60_000
"""The machine was busy: so much later than a packet a client may have written its line."""

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def rows(dataset_of):
    return pq.read_table(dataset_of("frozen_broker") / "stories" / "partition_flow").to_pylist()


@pytest.fixture(scope="module")
def lines():
    with gzip.open(SERVICE / "frozen_broker.deliveries.jsonl.gz", "rt") as file:
        return [json.loads(line) for line in file]


@pytest.fixture(scope="module")
def groups():
    truth = json.loads((SERVICE / "frozen_broker.truth.json").read_text())
    return {client["name"]: client["group"] for client in truth["clients"]}


def percentile(values, share):
    return sorted(values)[math.ceil(share * len(values)) - 1]


def assert_alike(found, true):
    """Median and 99th percentile are the same but for the classes and what a client needs to write a line."""
    assert sum(found.values()) == len(true)
    for share in (0.5, 0.99):
        assert percentile_us(found, share) == pytest.approx(percentile(true, share), rel=0.07, abs=CLIENT_US)


def test_records_took_as_long_as_producers_say(rows, lines):
    true = defaultdict(list)
    for line in lines:
        if line["event"] == "acked":
            true[line["topic"], line["partition"]].append((line["ts_ns"] - line["sent_ns"]) // 1000)
    found = {place: {} for place in true}
    for row in rows:  # those of both groups say the same
        found[row["topic"], row["partition"]][row["ts_ns"]] = row["created_to_acked"]
    assert len(true) == 6
    for place, latencies in true.items():
        assert_alike(added_up(map(classes, found[place].values())), latencies)
    assert max(percentile(each, 0.99) for each in true.values()) > 10_000_000


def classes(histogram):
    return [LatencyClass(**each) for each in histogram or ()]


def test_records_waited_as_long_as_consumers_say(rows, lines, groups):
    acked = {(r["topic"], r["partition"], r["offset"]): r["ts_ns"] for r in lines if r["event"] == "acked"}
    first = {}
    for line in lines:
        if line["event"] == "received":
            key = groups[line["client"]], line["topic"], line["partition"], line["offset"]
            first[key] = min(first.get(key, line["ts_ns"]), line["ts_ns"])
    true = defaultdict(list)
    for (group, *record), ns in first.items():
        true[group, record[0], record[1]].append(max(ns - acked[tuple(record)], 0) // 1000)
    found = defaultdict(list)
    for row in rows:
        found[row["group_id"], row["topic"], row["partition"]].append(row["acked_to_fetched"])
    assert len(true) == 12
    for place, latencies in true.items():
        assert_alike(added_up(map(classes, found[place])), latencies)


def test_groups_caught_up(rows):
    last = {(row["group_id"], row["partition"]): row["lag_last"] for row in sorted(rows, key=lambda row: row["ts_ns"])}
    assert set(last.values()) == {0}
    assert max(row["lag_max"] for row in rows if row["lag_max"] is not None) > 20
