"""Which node an answer speaks for, and which fetches followers answered: the same wherever blocks end."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from kafkascope_analyzer.connections.cluster import Cluster
from kafkascope_analyzer.connections.leaders import Leaders
from kafkascope_analyzer.connections.partition_counts import count_partitions
from kafkascope_analyzer.connections.topic_names import TopicNames
from kafkascope_analyzer.resolve.cluster import partition_answers as room
from kafkascope_analyzer.resolve.cluster.partition_answers import (
    FollowerFetches,
    count_answers,
    followers_of,
    partition_answers,
    with_topics,
)
from kafkascope_analyzer.scan.spill import Spill, read_spill
from kafkascope_parsers.schema import api_keys, api_name

KEYS = {api_name(key): key for key in api_keys()}
TOPICS = {"T": "t"}
REPORTS = [(10, 0, 1), (20, 0, 2), (10, 1, 1), (10, 2, 1)]
"""Time, partition of topic t, leader."""
ANSWERS = [
    # API, connection, partition, asked, answered, replica that the consumer is sent to
    ("Fetch", 0, 0, 11, 12, -1),
    ("Fetch", 0, 0, 13, 14, -1),
    ("Fetch", 0, 0, 22, 23, -1),
    ("Fetch", 1, 0, 15, 16, -1),
    ("Fetch", 1, 0, 24, 25, -1),
    ("Fetch", 1, 1, 5, 6, -1),
    ("Fetch", 1, 1, 15, 16, -1),
    ("Fetch", 1, 1, 17, 18, -1),
    ("Fetch", 0, 1, 15, 16, 2),
    ("Fetch", 0, 1, 17, 18, 3),
    ("ListOffsets", 1, 0, 13, 14, -1),
    ("ListOffsets", 1, 1, 15, 16, -1),
]
"""Connection 0 is to node 1, connection 1 to node 2, both of one client."""
CONNECTIONS = pa.table({"client_ip": ["192.0.2.9", "192.0.2.9"], "node_id": pa.array([1, 2], pa.int32())})
BLOCKS = [1, 2, 3, 5, len(ANSWERS)]


def message(rows, direction):
    is_answer = direction == "response"
    columns = {
        "conn": pa.array([row[1] for row in rows], pa.int64()),
        "ts_ns": pa.array([row[4 if is_answer else 3] for row in rows], pa.int64()),
        "asked_ns": pa.array([row[3] for row in rows], pa.int64()),
        "number": pa.array(range(len(rows)), pa.int64()),
        "partition": pa.array([row[2] for row in rows], pa.int32()),
        "topic": pa.nulls(len(rows), pa.string()).dictionary_encode(),
        "topic_id": pa.array(["T"] * len(rows), pa.string()).dictionary_encode(),
        "from_replica": pa.array([False] * len(rows)),
    }
    if is_answer:
        columns["error_code"] = pa.array([0] * len(rows), pa.int16())
        columns["preferred_read_replica"] = pa.array([row[5] for row in rows], pa.int32())
    return pa.table(columns)


@pytest.fixture
def spilled(tmp_path):
    """Writes the counts of the answers and their requests, a number of answers in each block."""

    def write(n_rows):
        spill = Spill(tmp_path / str(n_rows))
        for at in range(0, len(ANSWERS), n_rows):
            block = ANSWERS[at : at + n_rows]
            for api in dict.fromkeys(row[0] for row in block):
                rows = [row for row in block if row[0] == api]
                for direction in ("request", "response"):
                    spill.write(room.COUNTS, count_partitions(message(rows, direction), KEYS[api], direction))
        spill.close()
        return spill.directory

    return write


@pytest.fixture
def leaders():
    ts_ns, partitions, nodes = zip(*sorted(REPORTS), strict=True)
    columns = {
        "kind": pa.array(["leader"] * len(nodes)),
        "ts_ns": pa.array(ts_ns, pa.int64()),
        "topic": pa.array(["t"] * len(nodes), pa.string()),
        "topic_id": pa.array(["T"] * len(nodes), pa.string()),
        "partition": pa.array(partitions, pa.int32()),
        "node_id": pa.array(nodes, pa.int32()),
        "leader_epoch": pa.array([ts // 10 for ts in ts_ns], pa.int32()),
        "from_controller": pa.array([False] * len(nodes)),
    }
    return Leaders(pa.table(columns), TOPICS)


@pytest.mark.parametrize("n_rows", BLOCKS)
@pytest.mark.parametrize("compact_rows", [0, 10**6])
def test_answers_are_joined_over_blocks(spilled, n_rows, compact_rows, monkeypatch):
    monkeypatch.setattr(room, "COMPACT_ROWS", compact_rows)
    rows = partition_answers(spilled(n_rows), TopicNames.of(TOPICS)).to_pylist()
    fetch, offsets = KEYS["Fetch"], KEYS["ListOffsets"]
    assert sorted(tuple(row.values()) for row in rows) == [
        (fetch, 0, "t", 0, 12, 23),
        (fetch, 0, "t", 1, 16, 18),
        (fetch, 1, "t", 0, 16, 25),
        (fetch, 1, "t", 1, 6, 18),
        (offsets, 1, "t", 0, 14, 14),
        (offsets, 1, "t", 1, 16, 16),
    ]


@pytest.mark.parametrize("n_rows", BLOCKS)
def test_first_and_last_answers_speak_for_the_leader(spilled, leaders, n_rows):
    answers = partition_answers(spilled(n_rows), TopicNames.of(TOPICS))
    reported, moving = [Counter(), Counter()], [Counter(), Counter()]
    for server, found in count_answers(answers, np.array([0, 1]), leaders):
        reported[server][found.reported] += found.n
        if found.moving is not None:
            moving[server][found.moving] += found.n
    # Partition 0 moves to node 2 at 20: answers at 12, 14 and 16 may be either's.
    # The answer at 6 comes before any report; an only answer counts once.
    assert reported == [{1: 3, 2: 1}, {1: 4, 2: 1}]
    assert moving == [{2: 1}, {2: 2}]


def followed(spill, leaders, followers):
    """Connection and partition of the fetches that followers answered: their counts, and whether that is proven."""
    topics = TopicNames.of(TOPICS)
    fetches = FollowerFetches(spill, Cluster({}, {}, topics, {}, {}, leaders, frozenset(followers)), CONNECTIONS)
    found, proven = Counter(), set()
    for counts in read_spill(spill, room.COUNTS):
        counts = with_topics(counts, topics)
        follows, sent = fetches.of(counts)
        for row, is_followed, was_sent in zip(counts.to_pylist(), follows.to_pylist(), sent.to_pylist(), strict=True):
            assert is_followed or not was_sent
            if is_followed:
                assert row["api_key"] == KEYS["Fetch"]
                found[row["conn"], row["partition"]] += row["n_confirmed"] + row["n_requests"]
                proven |= {(row["conn"], row["partition"])} if was_sent else set()
    return found, proven


@pytest.mark.parametrize("n_rows", BLOCKS)
def test_a_follower_is_a_node_while_another_leads(spilled, leaders, n_rows):
    """Partition 1: node 1 leads, and node 2 answers. Partition 0: node 2 leads when it answers last, and the report may
    have come late; unless a broker sent the consumer to node 2, which then was a follower at first.
    """
    spill = spilled(n_rows)
    assert followed(spill, leaders, set()) == ({(1, 1): 6}, set())
    sent = {("192.0.2.9", "t", 1, 2), ("192.0.2.9", "t", 1, 3)}
    assert followed(spill, leaders, sent) == ({(1, 1): 6}, {(1, 1)})
    sent |= {("192.0.2.9", "t", 0, 2)}
    assert followed(spill, leaders, sent) == ({(1, 0): 4, (1, 1): 6}, {(1, 0), (1, 1)})


def test_consumers_are_sent_to_several_followers(spilled):
    for n_rows in BLOCKS:
        found = followers_of(spilled(n_rows), CONNECTIONS["client_ip"], TopicNames.of(TOPICS))
        assert found == {("192.0.2.9", "t", 1, 2), ("192.0.2.9", "t", 1, 3)}
