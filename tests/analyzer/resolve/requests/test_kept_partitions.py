"""With --append, sources of events get only the earlier rows of `partitions` that they keep, and make the same events
as from all rows."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkascope_analyzer.resolve.bucket_events import SOURCES
from kafkascope_analyzer.resolve.event_source import EventSource
from kafkascope_analyzer.resolve.flow.fetch_facts import RUNS
from kafkascope_analyzer.resolve.flow.produce_facts import WAITS
from kafkascope_analyzer.resolve.flow.service_events import ServiceEvents
from kafkascope_analyzer.resolve.requests import partition_events
from kafkascope_analyzer.resolve.requests.error_runs import ErrorRuns
from kafkascope_analyzer.resolve.requests.partition_events import PartitionEvents
from kafkascope_analyzer.resolve.requests.partition_failures import partition_failures
from kafkascope_parsers.api_keys import METADATA, PRODUCE

CLIENTS = ["10.0.0.1", "10.0.0.1", "10.0.0.2"]
"""The client of each connection."""
NO_TOPIC_IDS = cast("Any", SimpleNamespace(complete=lambda topic, _: topic))
ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from("ab"), st.integers(0, 1), st.sampled_from([0, 0, 0, 0, 6])),
    min_size=1,
    max_size=60,
)
"""Connection, topic, partition and error of each response; one a second."""


def table(rows: list[tuple[int, str, int, int]], api_key: int) -> pa.Table:
    conn, topic, partition, error = zip(*rows, strict=True)
    numbers = list(range(len(rows)))
    return pa.table(
        {
            "conn": pa.array(conn, pa.int64()),
            "number": pa.array(numbers, pa.int64()),
            "request_id": [f"r-{number}" for number in numbers],
            "ts_ns": pa.array([(number + 1) * 10**9 for number in numbers], pa.int64()),
            "api_key": pa.array([api_key] * len(rows), pa.int16()),
            "topic": pa.array(topic, pa.string()).dictionary_encode(),
            "partition": pa.array(partition, pa.int32()),
            "error_code": pa.array(error, pa.int16()),
            "leader_id": pa.nulls(len(rows), pa.int32()),
            "current_leader_id": pa.array([3 if code else None for code in error], pa.int32()),
        }
    )


def context(errors: pa.Table) -> Any:
    """What is known when these errors are."""
    failed = errors.append_column("topic_id", pa.nulls(errors.num_rows, pa.string()))
    client_ip = pa.array(CLIENTS).take(failed["conn"])
    failures = partition_failures([failed.append_column("client_ip", client_ip)], [], NO_TOPIC_IDS)
    nothing = np.empty(0, np.int64)
    return SimpleNamespace(
        connections=pa.table(
            {
                "conn_id": pa.chunked_array([["c-0", "c-1", "c-2"]]),
                "client_ip": pa.chunked_array([CLIENTS]),
                "node_id": pa.chunked_array([pa.array([0, 1, 0], pa.int32())]),
            }
        ),
        runs=ErrorRuns(*[nothing] * 5),
        shared=SimpleNamespace(
            partition_failures=failures, fetch_runs=RUNS.empty_table(), produce_waits=WAITS.empty_table()
        ),
    )


def events(source: EventSource, parts: list[pa.Table], api_key: int) -> tuple[list[str], list[pa.Table]]:
    """The events that a source makes of the parts, and the rows of each that it keeps."""
    made, kept = [], []
    for part in parts:
        made += [row for found in source.take_partitions(part, api_key, "response") for row in found.to_pylist()]
        mask = source.keeps_partitions(part)
        assert mask is not None
        kept.append(part.filter(pa.array(mask)))
    return sorted(repr({name: row[name] for name in row if row[name] is not None} | {"seq": 0}) for row in made), kept


def failed(rows: pa.Table) -> pa.Table:
    return rows.filter(pa.array(rows["error_code"].to_numpy() != 0))


@pytest.mark.parametrize(
    ("source", "api_key"), [(PartitionEvents, PRODUCE), (PartitionEvents, METADATA), (ServiceEvents, PRODUCE)]
)
@settings(max_examples=25, deadline=None)
@given(rows=ROWS, cut=st.integers(0, 60))
def test_kept_rows_give_the_events_of_all(source: Any, api_key: int, rows: Any, cut: int) -> None:
    every = table(rows, api_key)
    earlier, later = every.slice(0, cut), every.slice(cut)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(partition_events, "AFTER_ERROR", 2)
        _, kept = events(source(context(failed(earlier))), [earlier], api_key)
        found, _ = events(source(context(failed(every))), [*kept, later], api_key)
        expected, _ = events(source(context(failed(every))), [every], api_key)
    assert found == expected


EVERY = [source for source in SOURCES if isinstance(source, type) and issubclass(source, EventSource)]


@pytest.mark.parametrize("source", EVERY)
def test_who_keeps_rows_needs_no_others(source: type[EventSource]) -> None:
    keeps = source.keeps_partitions is not EventSource.keeps_partitions
    assert keeps == (source.wants_all_partitions is not EventSource.wants_all_partitions)
