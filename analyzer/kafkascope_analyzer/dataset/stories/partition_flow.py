"""`partition_flow`: how records passed through each topic-partition: written, accepted, fetched, and how far behind."""

from kafkascope_analyzer.dataset.contract import Column, Table, i32, i64, text, time
from kafkascope_analyzer.dataset.latency_histogram import HISTOGRAM

PARTITION_FLOW = Table(
    "partition_flow",
    "topic-partition, group that reads it, and slice of time in which records were written, fetched, committed or "
    "waited",
    (
        text("topic", "topic"),
        i32("partition", "partition"),
        text("group_id", "group that reads the partition; null where no group is known to read it yet"),
        text("client_instance_id", "consumer that reads the partition without a group; null for a group"),
        *time("", "begin of the slice"),
        i64("slice_ms", "length of the slice, milliseconds; the same in all rows of a dataset"),
        i32(
            "leader_id",
            "broker that accepted records last, else the one that responded to the group's Fetch last; null where the "
            "capture does not show its node id",
        ),
        i64("n_records", "records that brokers accepted in the slice; the same in the rows of all groups"),
        i64("record_bytes", "bytes of their record batches"),
        i64(
            "created_to_acked_p50_us",
            "from the creation of a record, on the capture's clock, to the response that accepted it: median, "
            "microseconds (at most 6.25 % off, as all percentiles here); null where the create times are not known",
        ),
        i64("created_to_acked_p99_us", "the same, 99th percentile"),
        Column("created_to_acked", HISTOGRAM, "the same, histogram: lowest latency of each class, and records in it"),
        i64("n_fetched", "records that the group fetched for the first time in the slice; null without a reader"),
        i64("fetched_bytes", "bytes of the record batches of the responses that brought them"),
        i64(
            "acked_to_fetched_p50_us",
            "from the response that accepted a record to the first response to any member of the group that brought "
            "it: median, microseconds; null where the capture lacks either",
        ),
        i64("acked_to_fetched_p99_us", "the same, 99th percentile"),
        Column("acked_to_fetched", HISTOGRAM, "the same, histogram: lowest latency of each class, and records in it"),
        i64(
            "lag_first",
            "records by which the group was behind the end of the partition after its first response in the slice; "
            "without a response as at the end of the slice before",
        ),
        i64("lag_last", "the same after its last response; without a response at the end of the slice"),
        i64("lag_max", "the highest in the slice"),
        i64(
            "committed_offset",
            "offset that the group committed last in the slice: of the record that it is to read next; null where it "
            "committed none that the coordinator accepted",
        ),
        i64("high_watermark", "highest high watermark that a response to the group's Fetch reported in the slice"),
        i64(
            "end_offset",
            "end of the partition at the end of the slice, as far as the capture shows it: the highest high watermark, "
            "or the offset after the last record that was accepted, whichever is higher",
        ),
    ),
)
