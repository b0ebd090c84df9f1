"""Who led when: older epochs are passed over, and topics made anew begin again."""

import numpy as np
import pyarrow as pa

from kafkascope_analyzer.connections.leaders import Leaders


def leaders(*rows):
    names = ("ts_ns", "topic", "topic_id", "partition", "node_id", "leader_epoch")
    types = (pa.int64(), pa.string(), pa.string(), pa.int32(), pa.int32(), pa.int32())
    columns = {n: pa.array([r[i] for r in rows], t) for i, (n, t) in enumerate(zip(names, types, strict=True))}
    columns["from_controller"] = pa.array([len(r) > len(names) for r in rows])
    return Leaders(pa.table({"kind": pa.array(["leader"] * len(rows), pa.string()), **columns}), {"T": "t"})


def around(result, *asked):
    """The nodes before and after each (topic, partition, time), None for none."""
    names, partitions, ts_ns = zip(*asked, strict=True)
    topics = pa.chunked_array([pa.array(names, pa.string())])
    reported = result.reported(topics, pa.chunked_array([pa.array(partitions, pa.int32())]), np.array(ts_ns))
    pairs = zip(reported.before.tolist(), reported.after.tolist(), strict=True)
    return [tuple(None if node < 0 else node for node in pair) for pair in pairs]


def before(result, *asked):
    return [node for node, _ in around(result, *asked)]


def test_the_reports_around_a_time():
    result = leaders((10, "t", None, 0, 1, 0), (20, "t", None, 0, 2, 1), (30, None, "T", 0, 3, 2))
    nodes = around(result, *(("t", 0, ts_ns) for ts_ns in (9, 10, 19, 20, 29, 30, 99)))
    assert nodes == [(None, 1), (1, 2), (1, 2), (2, 3), (2, 3), (3, None), (3, None)]


def test_each_partition_has_reports_of_its_own():
    result = leaders(
        (10, "t", None, 0, 1, 0), (10, None, "T", 1, 5, 0), (15, "u", None, 0, 3, 0), (20, "t", None, 1, 6, 1)
    )
    asked = [
        ("u", 0, 14),
        ("t", 1, 12),
        ("t", 0, 99),
        ("t", 1, 99),
        ("u", 0, 15),
        ("t", 2, 50),
        ("v", 0, 50),
        (None, 0, 50),
    ]
    none = (None, None)
    assert around(result, *asked) == [(None, 3), (5, 6), (1, None), (6, None), (3, None), none, none, none]


def test_without_reports_no_node_is_known():
    assert around(leaders(), ("t", 0, 5)) == [(None, None)]


def test_a_broker_with_old_metadata_changes_nothing():
    result = leaders((10, "t", "T", 0, 1, 4), (20, "t", "T", 0, 2, 3), (30, "t", "T", 0, 1, -1))
    assert before(result, ("t", 0, 25)) == [1]


def test_what_the_controller_says_is_never_old():
    """A topic without an id that is made anew: its epochs begin again, and only LeaderAndIsr shows it."""
    result = leaders((10, "t", None, 0, 1, 4), (20, "t", None, 0, 2, 0, "controller"), (30, "t", None, 0, 2, 0))
    assert before(result, ("t", 0, 25), ("t", 0, 35)) == [2, 2]


def test_a_topic_made_anew_begins_again():
    result = leaders((10, "t", "T", 0, 1, 4), (20, "t", "U", 0, 2, 0))
    assert before(result, ("t", 0, 25)) == [2]
