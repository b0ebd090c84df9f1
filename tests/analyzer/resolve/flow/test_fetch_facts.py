"""FetchRunEnds: since when the record after a run of Fetch requests was there."""

from pathlib import Path

import pyarrow as pa
import pytest

from kafkascope_analyzer.connections.topic_names import TopicNames
from kafkascope_analyzer.resolve.flow.blocks import NamedRows
from kafkascope_analyzer.resolve.flow.fetch_facts import RUNS, FetchRunEnds
from kafkascope_analyzer.scan.fetch_runs import FETCH_RUNS
from kafkascope_analyzer.scan.spill import Spill

NOW = 1_795_236_187_789_188_208
"""A time that a float cannot hold."""
ACCEPTED, REFUSED, UNANSWERED = (0, NOW), (6, NOW - 5), (None, None)


@pytest.fixture
def ends(tmp_path: Path) -> FetchRunEnds:
    """A run that ends before the record at offset 10 of orders-0."""
    run = {name: [0] for name in RUNS.names if name not in ("conn_id", "topic", "partition")}
    run |= {"next_offset": [10], "last_answer_offset": [9]}
    rows = pa.table({"conn": [0], "topic": ["orders"], "topic_id": pa.nulls(1, pa.string()), "partition": [0], **run})
    spill = Spill(tmp_path)
    spill.write(FETCH_RUNS, rows)
    spill.close()
    return FetchRunEnds({tmp_path: pa.table({"conn_id": ["c"]})}, TopicNames.of({}))


def responses(*outcomes: tuple[int | None, int | None]) -> NamedRows:
    """Batches that were sent to orders-0 at offset 10. outcomes: error code and time of each response."""
    codes, times = zip(*outcomes, strict=True)
    offsets = [None if code is None else 10 for code in codes]
    columns = {
        "partition": pa.array([0] * len(codes), pa.int32()),
        "partition_offset": pa.array(offsets, pa.int64()),
        "error_code": pa.array(codes, pa.int16()),
        "ts_ns": pa.array(times, pa.int64()),
    }
    return NamedRows(pa.array(["orders"] * len(codes)).dictionary_encode(), pa.table(columns))


@pytest.mark.parametrize(
    ("outcomes", "accepted_ns"),
    [
        ([ACCEPTED], NOW),
        ([REFUSED, ACCEPTED], NOW),
        ([UNANSWERED, ACCEPTED], NOW),
        ([REFUSED, UNANSWERED], None),
    ],
)
def test_only_accepted_batches_make_a_record_available(
    ends: FetchRunEnds, outcomes: list[tuple[int | None, int | None]], accepted_ns: int | None
) -> None:
    ends.take_accepted(responses(*outcomes))
    assert ends.runs()["next_accepted_ns"].to_pylist() == [accepted_ns]
