"""Latency of each broker over time, against percentiles that Python takes of the same requests."""

from collections import defaultdict
from pathlib import Path

import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.model.latency_over_time import MOST_LINES, LatencyOverTime, latency_over_time
from kafkascope_analyzer.report.model.traffic import report_tables

WAITING = {"Fetch", "ShareFetch", "JoinGroup", "SyncGroup"}
STEP = 0.008
"""By how much a percentile may be low."""


def over_time(place: Path) -> LatencyOverTime:
    with report_tables(Dataset.open(place)) as database:
        return latency_over_time(database)


@pytest.fixture(scope="module")
def found(told_leader_move: Path) -> LatencyOverTime:
    return over_time(told_leader_move)


def least_of(values: list[int], percent: int) -> int:
    """The least value that so many of a hundred do not exceed."""
    return sorted(values)[-(-percent * len(values) // 100) - 1]


def test_percentiles_are_those_of_the_requests(found: LatencyOverTime, told_leader_move: Path) -> None:
    dataset = Dataset.open(told_leader_move)
    connections = dataset.read("connections", ["conn_id", "roles"]).to_pylist()
    own = {row["conn_id"] for row in connections if {"inter_broker", "controller"} & set(row["roles"] or ())}
    sent: dict[tuple[int, int], list[int]] = defaultdict(list)
    starts = {slot.from_ns: slot for broker in found.listed for slot in broker.slots}
    ends = sorted(starts)
    for row in dataset.read("requests", ["conn_id", "node_id", "api_name", "ts_ns", "broker_us"]).to_pylist():
        if row["broker_us"] is not None and row["conn_id"] not in own and row["api_name"] not in WAITING:
            begin = max(start for start in ends if start <= row["ts_ns"])
            sent[row["node_id"], begin].append(row["broker_us"])
    slots = {(broker.node_id, slot.from_ns): slot for broker in found.listed for slot in broker.slots}
    assert slots.keys() == sent.keys()
    for key, slot in slots.items():
        assert slot.n == len(sent[key])
        for got, percent in ((slot.p50_us, 50), (slot.p99_us, 99)):
            exact = least_of(sent[key], percent)
            assert exact * (1 - STEP) - 1 <= got <= exact


def test_a_broker_that_was_down_has_a_gap(found: LatencyOverTime) -> None:
    """Node 3 was killed 12.7 s after the capture's start, and its port refused everybody until 21.3 s."""
    (down,) = [broker for broker in found.listed if broker.node_id == 3]
    start_ns = down.slots[0].from_ns
    served = [(slot.from_ns - start_ns) // 1_000_000_000 for slot in down.slots]
    assert not [second for second in served if 13 <= second < 21]
    assert [broker.node_id for broker in found.listed] == [1, 2, 3]
    assert found.n == 3 <= MOST_LINES


def test_a_dataset_without_requests_has_none(small: object, tmp_path: Path) -> None:
    place = small.write_dataset(tmp_path / "none.kscope")  # type: ignore[attr-defined]
    small.write_table(place, small.TABLES["requests"], [])  # type: ignore[attr-defined]
    assert over_time(place).listed == ()
