"""Who led when: older epochs are passed over, topics made anew begin again, fetches of followers are told apart."""

import numpy as np
import pyarrow as pa

from kafkascope_analyzer.connections.leaders import Leaders
from kafkascope_parsers.schema import api_keys, api_name

FETCH = next(key for key in api_keys() if api_name(key) == "Fetch")
PRODUCE = next(key for key in api_keys() if api_name(key) == "Produce")


def leaders(*rows):
    names = ("ts_ns", "topic", "topic_id", "partition", "node_id", "leader_epoch")
    types = (pa.int64(), pa.string(), pa.string(), pa.int32(), pa.int32(), pa.int32())
    columns = {n: pa.array([r[i] for r in rows], t) for i, (n, t) in enumerate(zip(names, types, strict=True))}
    columns["from_controller"] = pa.array([len(r) > len(names) for r in rows])
    return Leaders(pa.table({"kind": pa.array(["leader"] * len(rows), pa.string()), **columns}), {"T": "t"})


def test_the_last_told_before_a_time_leads():
    result = leaders((10, "t", None, 0, 1, 0), (20, "t", None, 0, 2, 1), (30, None, "T", 0, 3, 2))
    assert [result.at("t", None, 0, ts) for ts in (9, 10, 19, 20, 29)] == [None, 1, 1, 2, 2]
    assert result.at(None, "T", 0, 31) == 3
    assert result.at("t", None, 1, 31) is None


def test_a_broker_with_old_metadata_changes_nothing():
    result = leaders((10, "t", "T", 0, 1, 4), (20, "t", "T", 0, 2, 3), (30, "t", "T", 0, 1, -1))
    assert result.at("t", None, 0, 25) == 1


def test_what_the_controller_says_is_never_old():
    """A topic without an id that is made anew: its epochs begin again, and only LeaderAndIsr shows it."""
    result = leaders((10, "t", None, 0, 1, 4), (20, "t", None, 0, 2, 0, "controller"), (30, "t", None, 0, 2, 0))
    assert result.at("t", None, 0, 25) == 2
    assert result.at("t", None, 0, 35) == 2


def test_a_topic_made_anew_begins_again():
    result = leaders((10, "t", "T", 0, 1, 4), (20, "t", "U", 0, 2, 0))
    assert result.at("t", None, 0, 25) == 2


def test_fetches_that_another_node_answered():
    result = leaders((10, "t", None, 0, 1, 0), (10, "t", None, 1, 1, 0), (20, "t", None, 1, 2, 1))
    rows = [
        # api, topic, partition, first confirmed, node of the connection, whether a follower answered
        (FETCH, "t", 0, 15, 2, True),
        (FETCH, "t", 0, 15, 1, False),
        (FETCH, "t", 0, 5, 2, False),  # the leader was not known yet
        (FETCH, "t", 0, None, 2, False),  # no answer
        (FETCH, "t", 0, 15, -1, False),  # which node it is is not known
        (PRODUCE, "t", 0, 15, 2, False),  # followers take no records
        (FETCH, "t", 1, 15, 1, False),
        (FETCH, "t", 1, 25, 1, True),
        (FETCH, "u", 0, 25, 1, False),
    ]
    names = ("api_key", "topic", "partition", "confirmed_ns")
    types = (pa.int16(), pa.string(), pa.int32(), pa.int64())
    counts = {n: pa.array([r[i] for r in rows], t) for i, (n, t) in enumerate(zip(names, types, strict=True))}
    table = pa.table({**counts, "topic_id": pa.nulls(len(rows), pa.string())})
    found = result.followed(table, np.array([r[4] for r in rows]))
    assert found.tolist() == [i for i, row in enumerate(rows) if row[5]]


def test_who_led_what_was_answered_is_who_led_at_the_time():
    result = leaders((10, "t", None, 0, 1, 0), (10, None, "T", 1, 1, 0), (20, "t", None, 1, 2, 1))
    asked = [("t", None, 0, 9), ("t", None, 0, 10), (None, "T", 0, 99), ("", "T", 1, 10), ("t", None, 1, 25)]
    asked += [(None, "T", 1, 5), ("u", None, 0, 50), (None, None, 0, 50), (None, "U", 1, 50)]
    names, types = (
        ("topic", "topic_id", "partition", "confirmed_ns"),
        (pa.string(), pa.string(), pa.int32(), pa.int64()),
    )
    counts = pa.table(
        {n: pa.array([r[i] for r in asked], t) for i, (n, t) in enumerate(zip(names, types, strict=True))}
    )
    assert result.leading(counts).tolist() == [-1, 1, 1, 1, 2, -1, -1, -1, -1]
    at = [result.at(*row) for row in asked]
    assert result.leading(counts).tolist() == [-1 if node is None else node for node in at]
