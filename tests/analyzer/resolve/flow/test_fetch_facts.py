"""FetchRunEnds: since when the record after a run of Fetch requests was there."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from kafkascope_analyzer.connections.topic_names import TopicNames
from kafkascope_analyzer.resolve.flow.blocks import NamedRows
from kafkascope_analyzer.resolve.flow.fetch_facts import RUNS, FetchRunEnds, fetch_runs
from kafkascope_analyzer.resolve.flow.rows import BucketFlow
from kafkascope_analyzer.resolve.flow.shares import ACCEPTED, SETTLED, share_table
from kafkascope_analyzer.scan.batches import BATCHES
from kafkascope_analyzer.scan.block_ends import FETCHED
from kafkascope_analyzer.scan.fetch_runs import FETCH_RUNS
from kafkascope_analyzer.scan.spill import Spill, read_spill

NOW = 1_795_236_187_789_188_208
"""A time that a float cannot hold."""
ACCEPTED_BATCH, REFUSED, UNANSWERED = (0, NOW), (6, NOW - 5), (None, None)
_NOT_KNOWN = ("sent_ns", "n_records", "record_bytes", "first_timestamp_ms", "max_timestamp_ms")


@pytest.fixture
def ends(tmp_path: Path) -> FetchRunEnds:
    """A run that ends before the record at offset 10 of orders-0."""
    run = {name: [0] for name in RUNS.names if name not in ("conn_id", "topic", "partition")}
    run |= {"next_offset": [10], "last_answer_offset": [9]}
    rows = pa.table({"conn": [0], "topic": ["orders"], "topic_id": pa.nulls(1, pa.string()), "partition": [0], **run})
    spill = Spill(tmp_path)
    spill.write(FETCH_RUNS, rows)
    spill.close()
    ends = FetchRunEnds(*fetch_runs({tmp_path: pa.table({"conn_id": ["c"]})}, TopicNames.of({})))
    ends.begin(pa.array(["orders"]).dictionary_encode(), pa.chunked_array([[0]], pa.int32()))
    return ends


def batches(*outcomes: tuple[int | None, int | None]) -> NamedRows:
    """Batches that were sent to orders-0 at offset 10, their requests not in the capture. outcomes: error code and time
    of each response."""
    codes, times = zip(*outcomes, strict=True)
    offsets = [None if code is None else 10 for code in codes]
    columns = {
        "partition": pa.array([0] * len(codes), pa.int32()),
        "partition_offset": pa.array(offsets, pa.int64()),
        "error_code": pa.array(codes, pa.int16()),
        "ts_ns": pa.array(times, pa.int64()),
        **{name: pa.array([0] * len(codes), pa.int64()) for name in ("conn", "number")},
        **{name: pa.nulls(len(codes), pa.int64()) for name in _NOT_KNOWN},
    }
    return NamedRows(pa.array(["orders"] * len(codes)).dictionary_encode(), pa.table(columns))


@pytest.mark.parametrize(
    ("outcomes", "accepted_ns"),
    [
        ([ACCEPTED_BATCH], NOW),
        ([REFUSED, ACCEPTED_BATCH], NOW),
        ([UNANSWERED, ACCEPTED_BATCH], NOW),
        ([REFUSED, UNANSWERED], None),
    ],
)
def test_only_accepted_batches_make_a_record_available(
    ends: FetchRunEnds, tmp_path: Path, outcomes: list[tuple[int | None, int | None]], accepted_ns: int | None
) -> None:
    flow = BucketFlow(np.zeros((1, 4), np.int64), 1_000_000_000, Spill(tmp_path), 1)
    flow.take({BATCHES: [batches(*outcomes)], FETCHED: []}, SETTLED)
    flow.finish()
    for rows in read_spill(tmp_path, share_table(SETTLED, ACCEPTED, 0)):
        ends.take_accepted({name: rows[name].to_numpy() for name in rows.column_names})
    assert ends.found()["next_accepted_ns"].to_pylist() == [accepted_ns]
