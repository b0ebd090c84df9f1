"""What flowed through a topic-partition on one connection in one slice of time (dataset.tables.flow_events)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(slots=True)
class ProduceSlice:
    """Record batches that brokers accepted. end_offset: after the last record."""

    topic: str
    partition: int
    node_id: int | None
    slice_ms: int
    last_ns: int
    n_records: int
    record_bytes: int
    latencies: Sequence[Mapping[str, int]] | None
    end_offset: int | None


@dataclass(slots=True)
class FetchSlice:
    """Responses to Fetch of a consumer. end_offset: the highest high watermark; next_offset: after the last record that
    the connection has."""

    topic: str
    partition: int
    node_id: int | None
    slice_ms: int
    last_ns: int
    n_records: int
    record_bytes: int
    latencies: Sequence[Mapping[str, int]] | None
    end_offset: int | None
    first_ns: int
    next_offset: int | None
    lag_first: int | None
    lag_last: int | None
    lag_max: int | None


@dataclass(slots=True)
class CommitSlice:
    """The offset that was committed last for a group."""

    topic: str
    partition: int
    slice_ms: int
    last_ns: int
    group_id: str
    committed_offset: int


FlowEvent = ProduceSlice | FetchSlice | CommitSlice
FLOW_EVENTS = {"produce_slice": ProduceSlice, "fetch_slice": FetchSlice, "commit_slice": CommitSlice}
"""What the events of each kind become."""
