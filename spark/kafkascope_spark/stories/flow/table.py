"""The table `partition_flow`: records that were accepted and fetched at each topic-partition, and the lag of its
readers."""

from dataclasses import dataclass
from typing import Annotated

from kafkascope_analyzer.dataset.latency_histogram import LatencyClass
from kafkascope_analyzer.dataset.row_types import I32, TIME, StoryRow, declares


@declares(
    "partition_flow",
    "topic-partition, group that reads it, and slice of time in which records were written, fetched, committed or "
    "waited",
    sorted_by=("topic", "partition", "group_id", "client_instance_id", "ts_ns"),
)
@dataclass(slots=True)
class PartitionFlow(StoryRow):
    """A row of stories/partition_flow."""

    topic: Annotated[str, "topic"]
    partition: Annotated[int, I32, "partition"]
    group_id: Annotated[str | None, "group that reads the partition; null where no group is known to read it yet"]
    client_instance_id: Annotated[str | None, "consumer that reads the partition without a group; null for a group"]
    ts_ns: Annotated[int, TIME, "begin of the slice"]
    slice_ms: Annotated[int, "length of the slice, milliseconds; the same in all rows of a dataset"]
    leader_id: Annotated[
        int | None,
        I32,
        "broker that accepted records last, else the one that responded to the group's Fetch last; null where the "
        "capture does not show its node id",
    ]
    n_records: Annotated[int, "records that brokers accepted in the slice; the same in the rows of all groups"]
    record_bytes: Annotated[int, "bytes of their record batches"]
    created_to_acked_p50_us: Annotated[
        int | None,
        "from the creation of a record, on the capture's clock, to the response that accepted it: median, "
        "microseconds (error at most 6.25 %, as of all percentiles here); null where the create times are not known",
    ]
    created_to_acked_p99_us: Annotated[int | None, "99th percentile of the time from creation to acceptance"]
    created_to_acked: Annotated[
        tuple[LatencyClass, ...] | None, "the same, histogram: lowest latency of each class, and records in it"
    ]
    n_fetched: Annotated[
        int | None, "records that the group fetched for the first time in the slice; null without a reader"
    ]
    n_fetched_again: Annotated[
        int | None,
        "records that a member of the group had fetched before, so that they may be processed twice: after a rebalance "
        "or a restart behind the last commit, or where a response came too late; null without a reader",
    ]
    fetched_bytes: Annotated[int | None, "bytes of the record batches in the responses with these records"]
    acked_to_fetched_p50_us: Annotated[
        int | None,
        "from the response that accepted a record to the first response with the record to any member of the "
        "group: median, microseconds; null where the capture lacks either",
    ]
    acked_to_fetched_p99_us: Annotated[int | None, "99th percentile of the time from acceptance to the first response"]
    acked_to_fetched: Annotated[
        tuple[LatencyClass, ...] | None, "the same, histogram: lowest latency of each class, and records in it"
    ]
    lag_first: Annotated[
        int | None,
        "records by which the group was behind the end of the partition after its first response in the slice; "
        "without a response as at the end of the slice before",
    ]
    lag_last: Annotated[int | None, "lag after its last response in the slice; without one, at the end of the slice"]
    lag_max: Annotated[int | None, "highest lag in the slice"]
    committed_offset: Annotated[
        int | None,
        "offset that the group committed last in the slice: that of the next record to read; null where it "
        "committed none that the coordinator accepted",
    ]
    high_watermark: Annotated[
        int | None, "highest high watermark that a response to the group's Fetch reported in the slice"
    ]
    end_offset: Annotated[
        int | None,
        "end of the partition at the end of the slice, as far as the capture shows it: the highest high watermark, "
        "or the offset after the last record that was accepted, whichever is higher",
    ]


PARTITION_FLOW = PartitionFlow.TABLE
