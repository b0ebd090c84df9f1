"""Record sets: the contents of the records fields of Produce and Fetch."""

from kafkascope_parsers.records.batches import read_batches
from kafkascope_parsers.records.codecs import INFLATE_LIMIT, RecordsError, Unreadable
from kafkascope_parsers.records.layout import BATCH, CODECS, CONTROL_TYPES, TIMESTAMP_TYPES
from kafkascope_parsers.records.open_batches import OpenLimits, Record, RecordBatch, open_batch, open_record_set
from kafkascope_parsers.records.summary import RECORD_SET, summarize_record_sets

__all__ = [
    "BATCH",
    "CODECS",
    "CONTROL_TYPES",
    "INFLATE_LIMIT",
    "RECORD_SET",
    "TIMESTAMP_TYPES",
    "OpenLimits",
    "Record",
    "RecordBatch",
    "RecordsError",
    "Unreadable",
    "open_batch",
    "open_record_set",
    "read_batches",
    "summarize_record_sets",
]
