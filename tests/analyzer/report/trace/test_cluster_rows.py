"""What a trace shows of the cluster: as many slices as the story tables have rows, and all requests in its counters."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.report.cluster_trace_model import ClusterTraceModel
from kafkascope_analyzer.report.trace.flows import flow_of
from kafkascope_analyzer.sql.database import Database


@pytest.fixture(scope="session")
def place(told_leader_move: Path) -> Path:
    return told_leader_move


@pytest.fixture(scope="module")
def model(place: Path) -> Iterator[ClusterTraceModel]:
    dataset = Dataset.open(place)
    assert dataset.capture_span is not None
    with Database(dataset) as database:
        yield ClusterTraceModel(database, dataset.capture_span[0])


def rows(place: Path, table: str) -> list[dict[str, object]]:
    """The rows of a table's files, as pyarrow alone reads them."""
    return [row for file in (place / table).rglob("*.parquet") for row in pq.ParquetFile(file).read().to_pylist()]


def test_every_incident_and_stall_is_a_slice(model: ClusterTraceModel, place: Path) -> None:
    slices = list(model.slices())
    incidents = [row["incident_id"] for row in rows(place, "stories/incidents") if row["severity"] != "info"]
    stalls = [row["stall_id"] for row in rows(place, "stories/stalls")]
    assert sorted(each.id or "" for each in slices if each.track == "incidents") == sorted(map(str, incidents))
    assert sorted(each.id or "" for each in slices if each.track == "stalls") == sorted(map(str, stalls))
    assert all(each.from_ns <= each.to_ns for each in slices)


def test_the_counters_have_every_request_of_a_broker(model: ClusterTraceModel, place: Path) -> None:
    sent = Counter(row["node_id"] for row in rows(place, "requests"))
    counted = Counter[str]()
    for point in model.points():
        counter, _, what = point.counter.rpartition(": ")
        if what == "requests a second":
            counted[counter] += point.count
    for node in (1, 2, 3):
        assert counted[f"node {node}"] == sent[node] * 10, "a point is of 100 ms"


def test_a_flow_is_the_same_each_time_and_fits_64_bits() -> None:
    assert flow_of("incident-d008367eb99e0cfc") == flow_of("incident-d008367eb99e0cfc") != flow_of("incident-0")
    assert 0 <= flow_of("") < 1 << 64
