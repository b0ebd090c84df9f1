"""Record batches and records."""

import pyarrow as pa

from kafkascope_analyzer.dataset.contract import CLUSTER, Column, Table, flag, i16, i32, i64, text, texts, time
from kafkascope_analyzer.dataset.tables.columns import CODECS, CONN, REQUEST

CONTROLS = (
    "abort",
    "commit",
    "leader_change",
    "snapshot_header",
    "snapshot_footer",
    "kraft_version",
    "kraft_voters",
    "other",
)
_FRAME_AND_PARTITION = (
    REQUEST,
    CONN,
    CLUSTER,
    *time("", "first byte of the frame"),
    i16("api_key", "API key"),
    text("direction", "frame that contains it", "request", "response"),
    text("topic", "topic name, looked up by the topic id where the frame has only that"),
    text("topic_id", "topic id, 22 characters"),
    i32("partition", "partition"),
)

RECORD_BATCHES = Table(
    "record_batches",
    "record batch in Produce, Fetch or ShareFetch, from its header",
    (
        *_FRAME_AND_PARTITION,
        i64("base_offset", "offset of the first record (of the last one, in a compressed message of magic 0 or 1)"),
        i64(
            "n_records",
            "number of records; null for a compressed message of magic 0 or 1, which must be opened to count them",
        ),
        i16("magic", "format: 0, 1 or 2"),
        text("codec", "compression; null for a number that Kafka does not have", *CODECS),
        i64("bytes", "size with its header"),
        flag("crc_ok", "whether the checksum in the header matches the bytes (CRC-32C; CRC-32 below magic 2)"),
        text("timestamp_type", "who set the timestamps; null in magic 0, which has none", "create", "log_append"),
        i64("first_timestamp_ms", "timestamp of the first record, milliseconds since the epoch"),
        i64("max_timestamp_ms", "greatest timestamp, milliseconds since the epoch"),
        i64("producer_id", "producer id"),
        i16("producer_epoch", "producer epoch"),
        i32("base_sequence", "sequence of the first record"),
        i32("leader_epoch", "leader epoch that the broker wrote into it"),
        flag("transactional", "whether it is part of a transaction"),
        text("control", "type of a control batch; null for data", *CONTROLS),
    ),
)

RECORDS = Table(
    "records",
    "record in Produce, Fetch or ShareFetch; empty without --records",
    (
        *_FRAME_AND_PARTITION,
        i64("batch_offset", "base offset of its batch"),
        i64("record_offset", "its offset"),
        i64("timestamp_ms", "its timestamp, milliseconds since the epoch"),
        i32("key_length", "bytes of the key; null for a null key"),
        i32("value_length", "bytes of the value; null for a null value"),
        texts("header_names", "names of its headers, in order"),
        text("control", "type of a control record; null for data", *CONTROLS),
        text("problem", "why the batch could not be opened: then this row stands for its records"),
        Column("key", pa.binary(), "the key; null without --payloads"),
        Column("value", pa.binary(), "the value; null without --payloads"),
        Column("header_values", pa.list_(pa.binary()), "values of its headers; null without --payloads"),
    ),
)
