"""How producers and consumers were served, against the lines that the clients of a real capture wrote themselves."""

import gzip
import json
from collections import defaultdict
from pathlib import Path

import pyarrow.compute as pc
import pytest

from kafkascope_analyzer.dataset.dataset import Dataset

SERVICE = Path(__file__).parents[4] / "fixtures" / "service"
MS, SECOND = 1_000_000, 1_000_000_000
CLIENT_NS = 250 * MS
"""The machine was busy: so long after a packet a client may have written its line."""


@pytest.fixture(scope="module")
def dataset(ingested):
    return ingested(SERVICE / "frozen_broker.pcap.zst")


@pytest.fixture(scope="module")
def lines():
    with gzip.open(SERVICE / "frozen_broker.deliveries.jsonl.gz", "rt") as file:
        return [json.loads(line) for line in file]


def events(dataset, kind):
    table = Dataset.open(dataset).read("events", filter=pc.field("kind") == kind)
    return [row | row[kind] for row in table.select(["conn_id", "client_ip", "ts_ns", "key", kind]).to_pylist()]


def test_each_slow_acknowledgement_is_within_a_wait(dataset, lines):
    slow = [row for row in lines if row["event"] == "acked" and row["ts_ns"] - row["sent_ns"] > SECOND]
    waits = [row for row in events(dataset, "produce_wait") if row["created_ns"] and row["accepted_ns"]]
    assert len(slow) > 20
    for row in slow:
        place = f"{row['topic']}-{row['partition']}"
        assert any(
            (
                each["key"] == place
                and each["created_ns"] <= row["sent_ns"] + CLIENT_NS
                and row["ts_ns"] - CLIENT_NS <= each["accepted_ns"] <= row["ts_ns"] + CLIENT_NS
            )
            or (
                each["key"] == place
                and each["created_ns"] <= row["sent_ns"] + CLIENT_NS
                and each["accepted_ns"] >= row["ts_ns"] - CLIENT_NS
                and each["n"] > 1
            )
            for each in waits
        ), row


def test_no_wait_without_a_slow_acknowledgement(dataset, lines):
    slow = defaultdict(list)
    for row in lines:
        if row["event"] == "acked" and row["ts_ns"] - row["sent_ns"] > 300 * MS:
            slow[f"{row['topic']}-{row['partition']}"].append((row["sent_ns"], row["ts_ns"]))
    whole = [wait for wait in events(dataset, "produce_wait") if wait["created_ns"] and wait["accepted_ns"]]
    assert whole
    for wait in whole:
        overlaps = [a for a, b in slow[wait["key"]] if a < wait["accepted_ns"] and b > wait["created_ns"]]
        assert overlaps, wait


def test_the_longest_wait_of_several_batches_is_that_of_one_of_them(dataset, lines):
    acked = [row for row in lines if row["event"] == "acked"]
    several = [each for each in events(dataset, "produce_wait") if each["n"] > 1 and each["longest_ns"] is not None]
    assert several
    for each in several:
        since, until = each["created_ns"] - CLIENT_NS, each["accepted_ns"] + CLIENT_NS
        mine = [row for row in acked if f"{row['topic']}-{row['partition']}" == each["key"]]
        waited = [row["ts_ns"] - row["sent_ns"] for row in mine if since <= row["sent_ns"] and row["ts_ns"] <= until]
        assert abs(max(waited) - each["longest_ns"]) < CLIENT_NS
    assert all(each["longest_ns"] <= each["accepted_ns"] - each["created_ns"] for each in several)


def test_what_a_run_did_not_bring_was_accepted_when_its_producer_says(dataset, lines):
    acked = defaultdict(list)
    for row in lines:
        if row["event"] == "acked":
            acked[f"{row['topic']}-{row['partition']}"].append((row["offset"], row["ts_ns"]))
    runs = events(dataset, "fetch_run")
    ended = [run for run in runs if run["next_accepted_ns"] is not None]
    assert len(ended) >= 8
    for run in ended:
        later = [ts_ns for offset, ts_ns in acked[run["key"]] if offset >= run["next_offset"]]
        assert abs(min(later) - run["next_accepted_ns"]) < CLIENT_NS, run
    rest = [run for run in runs if run["next_accepted_ns"] is None]
    assert rest
    for run in rest:
        assert all(offset < run["next_offset"] for offset, _ in acked[run["key"]])


def test_a_consumer_that_is_served_is_one_row_a_partition(dataset, lines):
    """It fetched a hundred times; half of the partitions were led by brokers that went on."""
    runs = defaultdict(list)
    for run in events(dataset, "fetch_run"):
        runs[run["client_ip"], run["key"]].append(run)
    single = [found[0] for found in runs.values() if len(found) == 1]
    assert len(single) == 4
    for run in single:
        n_acked = sum(f"{r['topic']}-{r['partition']}" == run["key"] for r in lines if r["event"] == "acked")
        assert (run["n_records"], run["first_offset"]) == (n_acked, 0)


def test_a_batch_that_was_refused_ends_with_the_next_that_is_accepted(dataset):
    refused = [row for row in events(dataset, "produce_wait") if row["error_name"] == "NOT_LEADER_OR_FOLLOWER"]
    assert {row["key"] for row in refused} == {"emails-frozen30-1", "emails-frozen30-4"}
    accepted = [row for row in events(dataset, "produce_wait") if row["accepted_ns"]]
    for row in refused:
        assert any(
            each["client_ip"] == row["client_ip"]
            and each["key"] == row["key"]
            and 0 < each["accepted_ns"] - row["ended_ns"] < SECOND
            for each in accepted
        )
