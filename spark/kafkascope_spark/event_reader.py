"""Reads the events of a dataset into rows of the story job: columns to sort by, and a body with the fields of the
event's struct.

The tasks read the Parquet files in Python, through the dataset's storage, like the files that they write. Spark's own
reader would make columns of all fields of about thirty structs, of which one is not null in each row. Planning,
reading, converting and sorting these took longer than the state machines.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.tables.events import EVENTS, KINDS
from kafkascope_spark.stories.stage_rows import BODY, packed

KEYS = ("cluster", "key_kind", "key", "client_ip", "section", "ts_ns", "rank", "packet_no", "conn_id", "seq", "kind")
EVENT_ROWS = pa.schema([*(pa.field(name, EVENTS.column(name).type) for name in KEYS), (BODY, pa.binary())])
"""Rows of event_reader. body: values of the fields of the event's struct, in their order; for an error run with its
first request, followed by the values of that request's struct."""
SPLIT_ROWS = 1 << 18
"""Number of events that a task reads, which takes some seconds."""
BATCH_ROWS = 8_192
"""Number of events whose values are Python objects at the same time."""
Batches = Iterable[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class Split:
    """A part of the events for one task: path of each file, and a range of rows. The part has the row groups whose
    first row is in the range."""

    pieces: tuple[tuple[str, range], ...]


def splits_of(dataset: Dataset) -> tuple[Split, ...]:
    """Returns the splits of all files of events, one per task. Small files are read together, because there is one per
    kind of event."""
    splits, n_rows = list[list[tuple[str, range]]](), SPLIT_ROWS
    for file in dataset.manifest.files.get(EVENTS.name, ()):
        for first in range(0, file.rows, SPLIT_ROWS):
            more = min(file.rows - first, SPLIT_ROWS)
            if n_rows + more > SPLIT_ROWS:
                splits.append([])
                n_rows = 0
            splits[-1].append((file.path, range(first, first + SPLIT_ROWS)))
            n_rows += more
    return tuple(Split(tuple(pieces)) for pieces in splits)


def event_reader(dataset: Dataset, splits: tuple[Split, ...]) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """Returns the function that Spark's workers run over the numbers of splits. It yields EVENT_ROWS."""

    def read(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for path, rows in splits[number].pieces:
                    for events in dataset.row_groups(EVENTS.name, path, rows):
                        for first in range(0, events.num_rows, BATCH_ROWS):
                            yield with_bodies(events.slice(first, BATCH_ROWS))

    return read


def with_bodies(events: pa.RecordBatch) -> pa.RecordBatch:
    """Returns rows of `events` as EVENT_ROWS."""
    columns = [events.column(name) for name in KEYS]
    return pa.RecordBatch.from_arrays(
        [*columns, pa.array(map(packed, _bodies(events)), pa.binary())], schema=EVENT_ROWS
    )


def _bodies(events: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
    structs = {name: _structs(events.column(name)) for name in events.schema.names if name in KINDS}
    for kind in values_of(events.column("kind")):
        body = next(structs[kind])
        if kind == "error_run" and body[_N_OF_RUN] > 1:
            body += (next(structs["request"]),)
        yield body


_N_OF_RUN = KINDS["error_run"].get_field_index("n")


def _structs(column: pa.Array) -> Iterator[tuple[Any, ...]]:
    """Yields the structs of a column that are not null, each as the values of its fields.

    Values are read field by field: to_pylist, which reads struct by struct, would cost more than all later steps.
    """
    if column.null_count == len(column):
        return iter(())
    structs = column.drop_null()
    return zip(*(values_of(structs.field(number)) for number in range(structs.type.num_fields)), strict=True)


def values_of(column: pa.Array) -> list[Any]:
    """Returns the values of a column of the events' schema like to_pylist(), but lists as tuples, and structs as tuples
    of the values of their fields."""
    if column.null_count == len(column):
        return [None] * len(column)
    if pa.types.is_list(column.type):
        return _lists(column)
    if pa.types.is_struct(column.type):
        return _struct_values(column)
    if not pa.types.is_integer(column.type) or not column.null_count:
        return list(column.to_numpy(zero_copy_only=False).tolist())
    numbers = column.fill_null(0).to_numpy(zero_copy_only=False).tolist()
    valid = column.is_valid().to_numpy(zero_copy_only=False).tolist()
    return [number if is_valid else None for number, is_valid in zip(numbers, valid, strict=True)]


def _struct_values(column: pa.Array) -> list[Any]:
    valid = _structs(column)
    return [next(valid) if is_valid else None for is_valid in values_of(column.is_valid())]


def _lists(column: pa.Array) -> list[Any]:
    values, at = tuple(values_of(column.flatten())), 0
    lists: list[tuple[Any, ...] | None] = []
    for length in values_of(column.value_lengths()):
        if length is None:
            lists.append(None)
        else:
            lists.append(values[at : at + length])
            at += length
    return lists
