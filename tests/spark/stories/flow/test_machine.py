"""Rows of partition_flow from hand-made slices of connections."""

from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from kafkascope_analyzer.dataset.failed_parts import FailedParts
from kafkascope_analyzer.dataset.latency_histogram import LatencyClass
from kafkascope_analyzer.dataset.row_types import batch_of_rows
from kafkascope_analyzer.dataset.tables.events import EVENT_CLASSES
from kafkascope_spark.stories.flow.machine import Partition
from kafkascope_spark.stories.flow.table import PARTITION_FLOW, PartitionFlow
from kafkascope_spark.stories.keyed import Keyed, Origin

S = 1_000_000_000


def place(second, node, n, latencies, end):
    histogram = [{"from_us": us, "n": k} for us, k in sorted(latencies.items())] or None
    return {
        "topic": "t",
        "partition": 3,
        "node_id": node,
        "slice_ms": 1000,
        "last_ns": second * S + S // 2,
        "n_records": n,
        "record_bytes": 10 * n,
        "latencies": histogram,
        "end_offset": end,
    }


def row(kind, second, body, key="t-3", group=None, client=None):
    origin = Origin(1, second * S, 0, 0, "", 0, client, group)
    return key, (origin, EVENT_CLASSES[kind].of(body))


def produced(second, n, end, latencies=None, node=1, key="t-3"):
    return row("produce_slice", second, place(second, node, n, latencies or {}, end), key, client="p")


@dataclass(frozen=True)
class Consumer:
    """A client that fetches on a connection to the node, as a member of the group if it is in one."""

    client: str = "c"
    group: str | None = "g"
    node: int = 1

    def fetched(self, second, n, end, lag, latencies=None):
        """Responses in the slice of that second, all at that very time. lag: after them; or after the first, after the
        last, and at most.
        """
        first, last, most = lag if isinstance(lag, tuple) else (lag, lag, lag)
        at_ns = round(second * S)
        body = place(int(second), self.node, n, latencies or {}, end) | {"first_ns": at_ns, "last_ns": at_ns}
        body["next_offset"] = None if last is None else end - last
        body |= {"lag_first": first, "lag_last": last, "lag_max": most}
        return row("fetch_slice", int(second), body, group=self.group, client=self.client)


MEMBER = Consumer()


def flow(*rows):
    partitions = Keyed("topic-partition", lambda _: Partition(), FailedParts())
    of_keys = groupby(rows, key=itemgetter(0))
    made = [row for key, of_key in of_keys for row in partitions.feed(key, map(itemgetter(1), of_key))]
    return [*made, *partitions.finish()]


def shown(rows, *names):
    return [tuple(getattr(row, name) for name in names) for row in rows]


def test_a_partition_that_nobody_reads_has_rows_without_a_group():
    rows = flow(produced(0, 5, 5, {1024: 4, 2048: 1}), produced(2, 1, 6))
    assert shown(rows, "ts_ns", "group_id", "n_records", "n_fetched", "end_offset") == [
        (0, None, 5, None, 5),
        (2 * S, None, 1, None, 6),
    ]
    assert shown(rows, "created_to_acked_p50_us", "created_to_acked_p99_us", "leader_id") == [
        (1024 + 64, 2048 + 128, 1),
        (None, None, 1),
    ]


def test_there_is_one_row_of_each_slice_and_reader():
    """The columns by which the table is sorted say which row it is; a slice without anything has none."""
    other = Consumer("c3", "h")
    rows = flow(produced(0, 5, 5), MEMBER.fetched(0, 5, 5, 0), other.fetched(0, 2, 5, 3), other.fetched(2, 3, 5, 0))
    batch_of_rows(PartitionFlow, rows).validate(full=True)
    assert sorted(shown(rows, *PARTITION_FLOW.sorted_by)) == [
        ("t", 3, group, None, ts_ns) for group, ts_ns in (("g", 0), ("h", 0), ("h", 2 * S))
    ]


def test_connections_of_a_group_are_added_up():
    """A member hands over to another within a second; the later response says how far the group is."""
    one = Consumer("c1").fetched(0.2, 6, 10, 4, {1024: 6})
    other = Consumer("c2").fetched(0.8, 4, 12, (5, 2, 7), {1024: 1, 65536: 3})
    (found,) = flow(produced(0, 12, 12), one, other)
    assert shown([found], "group_id", "n_fetched", "lag_first", "lag_last", "lag_max") == [("g", 10, 4, 2, 7)]
    assert found.acked_to_fetched == (LatencyClass(1024, 7), LatencyClass(65536, 3))
    assert found.acked_to_fetched_p99_us == 65536 + 4096
    assert found.high_watermark == 12


def test_a_group_without_responses_falls_behind():
    """It has 10 of 10, then nothing but the producer is heard of; then it comes back."""
    rows = flow(
        produced(0, 10, 10),
        MEMBER.fetched(0, 10, 10, 0),
        produced(1, 7, 17),
        produced(2, 3, 20),
        MEMBER.fetched(5, 10, 20, (4, 0, 4)),
    )
    assert shown(rows, "ts_ns", "n_fetched", "lag_first", "lag_last", "lag_max") == [
        (0, 10, 0, 0, 0),
        (1 * S, 0, 0, 7, 7),
        (2 * S, 0, 7, 10, 10),
        (5 * S, 10, 4, 0, 4),
    ]


def test_each_group_has_a_row_and_a_consumer_without_one_too():
    rows = flow(produced(0, 2, 2), MEMBER.fetched(0, 2, 2, 0), Consumer("solo", group=None).fetched(0, 2, 2, 0))
    assert shown(rows, "group_id", "client_instance_id", "n_records", "n_fetched") == [
        (None, "solo", 2, 2),
        ("g", None, 2, 2),
    ]


def test_where_nothing_happens_there_is_no_row():
    """Responses that bring nothing to a group that is not behind."""
    assert flow(MEMBER.fetched(0, 0, 9, None), MEMBER.fetched(1, 0, 9, 0)) == []


def test_the_leader_is_who_accepted_last():
    first = produced(0, 1, 1, node=1)
    first[1][1].last_ns = S // 4
    (found,) = flow(first, produced(0, 1, 2, node=2), Consumer(node=3).fetched(0, 2, 2, 0))
    assert found.leader_id == 2
    (found,) = flow(Consumer(node=3).fetched(0, 2, 2, 0))
    assert found.leader_id == 3


def test_partitions_are_kept_apart():
    rows = flow(MEMBER.fetched(0, 2, 2, 0), produced(0, 1, 1, key="t-4"))
    assert shown(rows, "group_id", "n_records") == [("g", 0), (None, 1)]
