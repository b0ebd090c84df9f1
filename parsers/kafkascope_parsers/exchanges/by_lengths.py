"""Rows of the exchanges that are inferred from the lengths of TLS records (kafkascope_parsers.tls.lengths), with the
columns of settled exchanges."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_parsers.exchanges.open_requests import NO_RESPONSE_EXPECTED, NOT_CAPTURED, OK, UNANSWERED
from kafkascope_parsers.tls.lengths import GIVEN_UP, MISSED, OPEN, LengthExchanges

EVIDENCE_SCHEMA = pa.schema(
    [
        ("n_by_lengths", pa.int64()),
        ("first_request_bytes", pa.int64()),
        ("first_response_bytes", pa.int64()),
        ("n_record_ends", pa.int64()),
        ("offers_alpn", pa.bool_()),
    ]
)
"""By connection: requests that began; bytes of its first exchange, -1 for a response of several records; messages that
ended as those of Produce and Fetch do that have records; whether the client said which protocols it speaks. All of it
is 0 or false if the connection is not TLS."""
RESPONSE_RECORDS = "response_records"
"""Column: TLS records of the response, 0 without one."""
_STATUS = np.array([OK, NO_RESPONSE_EXPECTED, NOT_CAPTURED, UNANSWERED], np.int8)
"""By fate (tls.lengths.exchanges)."""
assert (GIVEN_UP, MISSED, OPEN) == (1, 2, 3)
_REQUEST = ("conn", "number", "ts_ns", "request_last_ns", "request_packet_no", "request_bytes", "in_flight")
_RESPONSE = ("response_ns", "response_last_ns", "response_packet_no", "response_bytes")


def length_evidence(lengths: LengthExchanges, n: int) -> pa.Table:
    """EVIDENCE_SCHEMA of n connections."""
    conns, turns, n_ends = lengths.evidence()
    columns = []
    for values in (turns["n_sent"], turns["first_request"], turns["first_response"], n_ends, turns["offers_alpn"] != 0):
        column = np.zeros(n, values.dtype)
        column[conns] = values
        columns.append(pa.array(column))
    return pa.table(columns, EVIDENCE_SCHEMA)


def length_rows(exchanges: NDArray[np.void], schema: pa.Schema) -> pa.Table:
    """EXCHANGE rows in the columns of settled exchanges and RESPONSE_RECORDS. Columns from the contents of messages are
    null."""
    n = len(exchanges)
    is_open = exchanges["fate"] > 0
    columns = {name: pa.array(np.ascontiguousarray(exchanges[name])) for name in _REQUEST}
    columns |= {name: pa.array(np.ascontiguousarray(exchanges[name]), mask=is_open) for name in _RESPONSE}
    free_ns = np.minimum(exchanges["before_ns"], exchanges["response_ns"])
    queued_ns = np.maximum(free_ns - exchanges["request_last_ns"], 0)
    columns["queued_ns"] = pa.array(queued_ns, mask=is_open)
    columns["out_of_order"] = pa.array(np.zeros(n, np.bool_), mask=is_open)
    columns["status"] = pa.array(_STATUS[exchanges["fate"]])
    arrays = [columns[f.name].cast(f.type) if f.name in columns else pa.nulls(n, f.type) for f in schema]
    records = pa.array(np.ascontiguousarray(exchanges["response_records"]))
    return pa.table([*arrays, records], pa.schema([*schema, (RESPONSE_RECORDS, pa.int64())]))
