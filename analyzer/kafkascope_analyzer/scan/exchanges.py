"""The columns of an exchange that becomes a row of `requests`: those of parsers.exchanges, and those that are taken
from its messages (request_facts, errors, partitions).
"""

import pyarrow as pa

from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_analyzer.scan.request_facts import REQUEST_INTS, REQUEST_TEXTS
from kafkascope_parsers.exchanges import settled_schema

OF_REQUESTS = pa.schema(
    [
        ("capture_id", pa.int32()),
        *((fact.column, REQUESTS.column(fact.column).type) for fact in REQUEST_INTS + REQUEST_TEXTS),
        ("n_partitions", pa.int32()),
        ("n_records", pa.int64()),
        ("record_bytes", pa.int64()),
    ]
)
"""Columns that the tables take from a request's message."""
OF_RESPONSES = pa.schema(
    [
        ("error_code", pa.int16()),
        ("n_errors", pa.int32()),
        ("throttle_ms", pa.int32()),
        ("answer_member_id", pa.string()),
        ("answer_producer_id", pa.int64()),
        ("answer_producer_epoch", pa.int16()),
        ("answer_fetch_session_id", pa.int32()),
        ("answer_n_partitions", pa.int32()),
        ("answer_n_records", pa.int64()),
        ("answer_record_bytes", pa.int64()),
    ]
)
"""Columns that the tables take from a response's message."""
SETTLED_SCHEMA = settled_schema(OF_REQUESTS, OF_RESPONSES)
"""Columns of a completed exchange: `status` indexes REQUEST_STATUSES."""

BY_LENGTHS = "by_lengths"
"""Spilled table: exchanges of TLS connections that are not decrypted, in the same columns."""
