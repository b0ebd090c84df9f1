"""The finding slow_handling, and the offsets that it rests on, against what an application wrote down about each record
(fixtures/findings/README.md)."""

import gzip
import json
import pathlib
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.spark

FINDINGS = pathlib.Path(__file__).parents[4] / "fixtures" / "findings"
S = 1_000_000_000
Place = tuple[str, int]


def rows(dataset: pathlib.Path, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(dataset / name, partitioning=None).to_pylist()
    return found


@pytest.fixture(scope="module")
def dataset(dataset_of: Callable[..., pathlib.Path]) -> pathlib.Path:
    return dataset_of("slow_handling", rules=["slow_handling"])


@pytest.fixture(scope="module")
def received() -> dict[Place, list[tuple[int, int]]]:
    """When the application got each record: (time, offset) of each topic-partition, by time."""
    got = defaultdict(list)
    with gzip.open(FINDINGS / "slow_handling.received.jsonl.gz", "rt") as lines:
        for line in lines:
            row = json.loads(line)
            got[row["topic"], row["partition"]].append((row["ts_ns"], row["offset"]))
    return got


def test_what_a_group_committed_is_what_its_application_had_got(
    dataset: pathlib.Path, received: dict[Place, list[tuple[int, int]]]
) -> None:
    """The application commits the record that it got last, in the same moment."""
    slices = [row for row in rows(dataset, "stories/partition_flow") if row["committed_offset"] is not None]
    assert len(slices) > 60
    for row in slices:
        end_ns = row["ts_ns"] + row["slice_ms"] * 1_000_000
        got = received[row["topic"], row["partition"]]
        before = max((offset + 1 for ts_ns, offset in got if ts_ns < row["ts_ns"]), default=0)
        by_then = max(offset + 1 for ts_ns, offset in got if ts_ns < end_ns)
        assert before <= row["committed_offset"] <= by_then
        assert row["group_id"] == "mailer-replic71"


def test_the_time_that_records_waited_in_the_client(
    dataset: pathlib.Path, received: dict[Place, list[tuple[int, int]]]
) -> None:
    """Of the longest wait, a slice of a second at each end is not known."""
    requests = {row["request_id"]: row["response_ns"] for row in rows(dataset, "requests")}
    longest_ns = 0
    for row in rows(dataset, "partitions"):
        if row["direction"] == "response" and row["api_key"] == 1 and row["last_offset"] is not None:
            fetched_ns = requests[row["request_id"]]
            got = {offset: ts_ns for ts_ns, offset in received[row["topic"], row["partition"]]}
            waits = [got[o] - fetched_ns for o in range(row["first_offset"], row["last_offset"] + 1) if o in got]
            longest_ns = max(longest_ns, *waits, 0)
    (found,) = [row for row in rows(dataset, "stories/findings") if row["rule"] == "slow_handling"]
    assert found["severity"] == "warning"
    said_s = float(found["sentence"].partition(" up to ")[2].partition(" s ")[0])
    assert longest_ns / S - 2 <= said_s <= longest_ns / S + 1
    assert "mailer-replic71 (svc-b-6 (" in found["sentence"]


@pytest.mark.parametrize("name", ["healthy_basic", "leader_move", "member_evicted", "frozen_broker"])
def test_groups_that_keep_up_have_none(dataset_of: Callable[..., pathlib.Path], name: str) -> None:
    """They auto-commit, or commit at once; broker and members fail meanwhile."""
    dataset = dataset_of(name, rules=["slow_handling"])
    assert any(row["committed_offset"] is not None for row in rows(dataset, "stories/partition_flow"))
    assert not [row for row in rows(dataset, "stories/findings") if row["rule"] == "slow_handling"]


def flow(at_s: int, position: int, committed: int | None) -> dict[str, Any]:
    """A slice of a second in which a group fetched up to a position, of a partition with 1,000 records."""
    lag = {"high_watermark": 1_000, "end_offset": 1_000, "lag_last": 1_000 - position, "n_fetched": 1}
    place = {"topic": "t", "partition": 0, "group_id": "g", "slice_ms": 1_000, "ts_ns": at_s * S}
    return {**place, **lag, "committed_offset": committed}


@pytest.mark.parametrize(("position_later", "found"), [(None, True), (0, False)])
def test_what_is_fetched_again_counts_from_then(
    found_in: Callable[..., list[dict[str, Any]]], position_later: int | None, found: bool
) -> None:
    """A group that fetched 500 records commits the first of them seconds later: slowly, or because it went back to the
    first and fetches them again, each shortly before its commit."""
    later = [flow(12 + n, 500 if position_later is None else position_later + 10 * n + 10, 10 * n) for n in range(9)]
    client = {"client_instance_id": "ci-1", "client_id": "app", "group_id": "g", "conn_ids": ["c1"]}
    client |= {"first_ns": 2 * S, "last_ns": 90 * S}
    rows = {"clients": [client], "connections": [{"conn_id": "c1"}]}
    made = found_in(rows | {"partition_flow": [flow(2, 500, None), *later]}, ["slow_handling"])
    assert bool(made) == found
