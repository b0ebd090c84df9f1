"""The valid range of each number, in one place, for the fields of Kafka's messages and for the columns of all tables.

A number has a range by its kind (an offset, a time, a number of bytes), which follows from its name. Ingest reads a
value outside of the range of its field as null, and counts it (table `out_of_range`). So all computations may rely on
the limits, which are chosen such that in 64 bits two times, durations or offsets can be added or subtracted and
milliseconds converted to nanoseconds, and that two epochs can be subtracted in 32 bits. Products, and sums over any
number of rows, need a wider type nevertheless.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

_INT32 = 2**31 - 1
_EXACT = 2**53
"""Largest value up to which whole numbers are exact in a double and in JSON. A partition with a million records per
second reaches it after 285 years."""
_YEAR_S = 31_557_600
_2100_S = 4_102_444_800
"""2100-01-01, in seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class Range:
    """The smallest and the greatest value of a kind of number. what: the kind, as users read it."""

    what: str
    least: int
    greatest: int

    @property
    def text(self) -> str:
        """Both limits, as users read them."""
        return f"{self.least}..{self.greatest}"

    def outside(self, values: NDArray[np.generic]) -> NDArray[np.bool_] | None:
        """Returns a mask of the integers out of range; None where all are in range."""
        if not len(values) or (values.min() >= self.least and values.max() <= self.greatest):
            return None
        return np.asarray(np.less(values, self.least) | np.greater(values, self.greatest))

    def within(self, kind: "pa.DataType") -> "Range":
        """Returns the part of the range that an integer type can hold."""
        limit = 2 ** (kind.bit_width - 1)
        return Range(self.what, max(self.least, -limit), min(self.greatest, limit - 1))


OFFSET = Range("offset", -2, _EXACT)
"""-1 and -2 stand for none, and for the end and the beginning."""
OFFSETS_APART = Range("difference of offsets", -(_EXACT + 2), _EXACT + 2)
TIME_NS = Range("time in nanoseconds since the epoch", 0, _2100_S * 10**9)
TIME_MS = Range("time in milliseconds since the epoch", -1, _2100_S * 10**3)
"""Kafka writes -1 for a record without a time."""
APART_NS = Range("nanoseconds between two times", -_2100_S * 10**9, _2100_S * 10**9)
APART_US = Range("microseconds between two times", -_2100_S * 10**6, _2100_S * 10**6)
APART_MS = Range("milliseconds between two times", -_2100_S * 10**3, _2100_S * 10**3)
WAIT_MS = Range("duration in milliseconds", 0, _INT32)
TIMEOUT_MS = Range("timeout in milliseconds", -1, _INT32)
"""-1 stands for none, or for an unchanged timeout."""
LIFETIME_MS = Range("lifetime in milliseconds", 0, 10 * _YEAR_S * 1000)
"""Ten years: a token that is valid for longer does not expire in any capture."""
PARTITION = Range("partition", 0, _INT32)
NODE_ID = Range("node id", -3, _INT32)
"""Negative ids stand for clients, debugging consumers, and no node."""
EPOCH = Range("epoch", -2, _INT32 - 2)
PRODUCER_ID = Range("producer id", -1, 2**63 - 1)
"""Any: no computation uses it."""
PRODUCER_EPOCH = Range("producer epoch", -1, 2**15 - 1)
API_VERSION = Range("version of an API", 0, 2**15 - 1)
PORT = Range("port", -1, 2**16 - 1)
LEAST_BYTES = Range("least bytes", 0, _INT32)
COUNT = Range("count", 0, _EXACT)
CODE = Range("code or id, with which nothing is computed", -(2**63), 2**63 - 1)

_FIELDS: Mapping[Range, tuple[str, ...]] = {
    OFFSET: (
        "offset",
        "fetch_offset",
        "base_offset",
        "committed_offset",
        "end_offset",
        "high_watermark",
        "last_stable_offset",
        "log_start_offset",
        "first_offset",
        "last_offset",
    ),
    TIME_MS: ("base_timestamp", "max_timestamp", "first_timestamp_ms", "max_timestamp_ms", "timestamp_ms"),
    WAIT_MS: ("throttle_time_ms", "max_wait_ms", "heartbeat_interval_ms"),
    TIMEOUT_MS: ("session_timeout_ms", "rebalance_timeout_ms", "transaction_timeout_ms", "timeout_ms"),
    LIFETIME_MS: ("session_lifetime_ms",),
    PARTITION: ("partition_index", "partition", "partition_id", "partitions", "partition_indexes", "index"),
    NODE_ID: (
        "node_id",
        "broker_id",
        "controller_id",
        "leader",
        "leader_id",
        "current_leader_id",
        "preferred_read_replica",
        "replica_id",
    ),
    EPOCH: (
        "generation_id",
        "generation_id_or_member_epoch",
        "member_epoch",
        "leader_epoch",
        "current_leader_epoch",
        "committed_leader_epoch",
        "controller_epoch",
        "session_epoch",
        "share_session_epoch",
        "base_sequence",
    ),
    PRODUCER_ID: ("producer_id", "v3_and_below_producer_id"),
    PRODUCER_EPOCH: ("producer_epoch", "v3_and_below_producer_epoch"),
    API_VERSION: ("min_version", "max_version"),
    PORT: ("port", "v0_port"),
    LEAST_BYTES: ("min_bytes",),
}
"""Fields of Kafka's messages and of headers of record batches, and columns of the same name."""
_COLUMNS: Mapping[Range, tuple[str, ...]] = {
    OFFSET: (
        "batch_offset",
        "partition_offset",
        "record_offset",
        "first_offsets",
        "next_offset",
        "last_answer_offset",
        "lowest_high_watermark",
        "highest_high_watermark",
    ),
    OFFSETS_APART: ("lag_first", "lag_last", "lag_max", "lag_records"),
    TIME_NS: ("times",),
    APART_NS: (
        "clock_ahead_ns",
        "clock_uncertainty_ns",
        "longest_ns",
        "to_server_p50_ns",
        "to_server_p99_ns",
        "to_client_p50_ns",
        "to_client_p99_ns",
    ),
    WAIT_MS: ("throttle_ms", "least_wait_ms", "slice_ms"),
    LIFETIME_MS: ("zookeeper_timeout_ms",),
    NODE_ID: ("old_node_id", "new_node_id"),
    EPOCH: (
        "generation_or_epoch",
        "lowest_generation",
        "highest_generation",
        "fetch_session_epoch",
        "generation",
    ),
    PRODUCER_ID: ("producer_ids", "asked_producer_id", "answer_producer_id"),
    PRODUCER_EPOCH: ("answer_producer_epoch",),
    PORT: ("client_port", "server_port", "advertised_port"),
    LEAST_BYTES: ("least_min_bytes",),
    APART_MS: ("p50", "p99", "max"),
    COUNT: (
        "arrived_bytes",
        "attempt",
        "bytes",
        "capture_id",
        "claimed_first_bytes",
        "claimed_requests",
        "client_bytes",
        "client_segments",
        "cut_at_byte",
        "fetched_bytes",
        "first_number",
        "in_flight",
        "kept_batches",
        "kept_records",
        "key_length",
        "late_ms",
        "least_bytes",
        "max_in_flight",
        "missing_bytes",
        "most_bytes",
        "n",
        "out_of_order",
        "packets",
        "rank",
        "record_bytes",
        "records",
        "refused_after",
        "request_bytes",
        "response_bytes",
        "retransmitted",
        "section",
        "sent_batches",
        "sent_records",
        "seq",
        "server_bytes",
        "server_segments",
        "size_bytes",
        "snaplen",
        "start_no",
        "stream_offset",
        "times_usual",
        "tls_bytes",
        "tls_client_key_bits",
        "tls_server_key_bits",
        "total_partitions",
        "total_record_bytes",
        "total_records",
        "transaction_no",
        "undecoded_bytes",
        "unread_bytes",
        "value_length",
    ),
    CODE: (
        "acks",
        "api_key",
        "api_version",
        "claimed_api_key",
        "correlation_id",
        "correlation_ids",
        "error_code",
        "fetch_session_id",
        "first_api_key",
        "isolation_level",
        "last_correlation_id",
        "magic",
    ),
}
"""Columns of tables, and fields of their structs, whose names differ from those of fields of messages."""
_ENDINGS: Mapping[str, Range] = {
    "_ns": TIME_NS,
    "_us": APART_US,
    "_ms": APART_MS,
    "_packet_no": COUNT,
    "packet_no": COUNT,
}
_OF_FIELD = {name: kind for kind, names in _FIELDS.items() for name in names}
_OF_COLUMN = {name: kind for kind, names in _COLUMNS.items() for name in names}
_PAGES = frozenset({"cursor", "next_cursor"})
"""Structs of messages with the position at which a paged response continues."""


def field_range(name: str, path: str = "") -> Range | None:
    """Returns the range of a field of Kafka's messages, or of a header of a record batch; None where it has none. name:
    in snake_case; for an element of an array the name of the array. path: of the field in its message.
    """
    return None if _PAGES & set(path.replace("[]", "").split(".")) else _OF_FIELD.get(name)


def column_range(name: str, kind: "pa.DataType") -> Range:
    """Returns the range of an integer column of a table, or of a field of its structs. Raises KeyError for a column
    without a range."""
    found = _OF_COLUMN.get(name) or _OF_FIELD.get(name)
    if found is None and name.startswith("n_"):
        found = COUNT
    if found is None:
        found = next((found for ending, found in _ENDINGS.items() if name.endswith(ending)), None)
    if found is None:
        raise KeyError(name)
    return found.within(kind)
