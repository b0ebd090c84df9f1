"""Events as rows of the story job. Oracle: pyarrow's own conversion of the Parquet file to Python objects."""

import pathlib
import shutil
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.manifest import MANIFEST, written_files
from kafkascope_analyzer.dataset.tables.events import EVENTS
from kafkascope_spark import event_reader as reader
from kafkascope_spark.event_reader import EVENT_ROWS, KEYS, event_reader, splits_of
from kafkascope_spark.stories.stage_rows import BODY, unpacked

CAPTURES = pathlib.Path(__file__).parents[2] / "fixtures" / "captures"
GROUP_ROWS, SPLIT_ROWS = 100, 250
"""Splits end in the middle of row groups."""


@pytest.fixture
def dataset(ingested: Callable[..., pathlib.Path], tmp_path: pathlib.Path) -> Dataset:
    """Its events are in many small row groups."""
    place = tmp_path / "small_groups.kscope"
    shutil.copytree(ingested(CAPTURES / "leader_move.pcap.zst"), place)
    opened = Dataset.open(place)
    for file in opened.files(EVENTS.name):
        rows = pq.read_table(place / file, partitioning=None)
        pq.write_table(rows, place / file, row_group_size=GROUP_ROWS, store_schema=False)
    (place / MANIFEST).write_text(opened.manifest.with_files(written_files(place)).to_json())
    return Dataset.open(place)


def body_of(event: dict[str, Any]) -> tuple[Any, ...]:
    """The values of the event's struct; of an error run of several requests the first of these too."""
    values: tuple[Any, ...] = as_tuples(event[event["kind"]])
    if event["kind"] == "error_run" and event["error_run"]["n"] > 1:
        return *values, as_tuples(event["request"])
    return values


def as_tuples(value: Any) -> Any:
    """Lists as tuples, and structs as those of their values."""
    if isinstance(value, dict):
        return tuple(map(as_tuples, value.values()))
    return tuple(map(as_tuples, value)) if isinstance(value, list) else value


def test_each_event_is_read_once_with_the_fields_of_its_kind(dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "SPLIT_ROWS", SPLIT_ROWS)
    monkeypatch.setattr(reader, "BATCH_ROWS", 64)
    splits = splits_of(dataset)
    read = event_reader(dataset, splits)
    numbers = [pa.RecordBatch.from_pydict({"id": [number]}) for number in range(len(splits))]
    per_split = [pa.Table.from_batches(read([number]), EVENT_ROWS).to_pylist() for number in numbers]
    assert sum(map(bool, per_split)) > 2, "several splits have rows"
    assert any(len(rows) % SPLIT_ROWS for rows in per_split), "no split ends where a row group does"
    expected = dataset.read(EVENTS.name).to_pylist()
    assert {event["kind"] for event in expected} >= {"usage", "request", "error_run", "fetch_run", "group_request"}
    found = [row for rows in per_split for row in rows]
    assert [(*(row[name] for name in KEYS), unpacked(row[BODY])) for row in found] == [
        (*(event[name] for name in KEYS), body_of(event)) for event in expected
    ]
