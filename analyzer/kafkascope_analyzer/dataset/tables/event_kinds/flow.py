"""Events about records passing through a topic-partition on one connection in one time slice. Their key is the
topic-partition, their time the beginning of the slice."""

from dataclasses import dataclass
from typing import Annotated

from kafkascope_analyzer.dataset.latency_histogram import LatencyClass
from kafkascope_analyzer.dataset.row_types import I32
from kafkascope_analyzer.dataset.tables.event_kinds.event import Event, event_kind

Topic = Annotated[str, "topic"]
Partition = Annotated[int, I32, "partition"]
NodeId = Annotated[int | None, I32, "node id of the server"]
SliceLength = Annotated[int, "length of the time slice, milliseconds"]
LastResponse = Annotated[int, "last response in the slice"]
RecordBytes = Annotated[int, "bytes of the record batches"]


@event_kind(
    "produce_slice",
    "records of one topic-partition that brokers accepted on the connection in one time slice",
    key_kind="flow",
)
@dataclass(slots=True)
class ProduceSlice(Event):
    """Record batches that brokers accepted."""

    topic: Topic
    partition: Partition
    node_id: NodeId
    slice_ms: SliceLength
    last_ns: LastResponse
    n_records: Annotated[int, "records that were accepted"]
    record_bytes: RecordBytes
    latencies: Annotated[
        tuple[LatencyClass, ...] | None,
        "histogram: from the creation of the records, on the capture's clock, to the first byte of the response that "
        "accepted them",
    ]
    end_offset: Annotated[int | None, "offset after the last record that was accepted"]


@event_kind(
    "fetch_slice",
    "records of one topic-partition that a consumer fetched on the connection in one time slice",
    key_kind="flow",
)
@dataclass(slots=True)
class FetchSlice(Event):
    """Responses to Fetch of a consumer."""

    topic: Topic
    partition: Partition
    node_id: NodeId
    slice_ms: SliceLength
    last_ns: LastResponse
    n_records: Annotated[
        int,
        "records that were in no earlier response to the same group (to the same connection, where its "
        "group is not clear)",
    ]
    record_bytes: RecordBytes
    latencies: Annotated[
        tuple[LatencyClass, ...] | None,
        "histogram: from the response that accepted the records to the one that contained them",
    ]
    end_offset: Annotated[int | None, "highest high watermark"]
    first_ns: Annotated[int, "first response in the slice"]
    next_offset: Annotated[int | None, "offset after the last record that the connection got"]
    lag_first: Annotated[int | None, "high watermark minus next_offset after the first response"]
    lag_last: Annotated[int | None, "high watermark minus next_offset after the last response"]
    lag_max: Annotated[int | None, "greatest of these differences"]
    n_again: Annotated[int, "records that were in an earlier response to the same group already"]


@event_kind(
    "commit_slice",
    "the last offset of one topic-partition that was committed for a group on the connection in one "
    "time slice, of the commits that the coordinator accepted",
    key_kind="flow",
)
@dataclass(slots=True)
class CommitSlice(Event):
    """The last committed offset of a group."""

    topic: Topic
    partition: Partition
    node_id: NodeId
    slice_ms: SliceLength
    last_ns: Annotated[int, "last request in the slice"]
    group_id: Annotated[str, "the group"]
    committed_offset: Annotated[int, "the offset"]


FlowEvent = ProduceSlice | FetchSlice | CommitSlice
