"""Requests that wait: what becomes of those that nothing answers."""

import numpy as np
import pyarrow as pa
import pytest

from kafkascope_parsers.exchanges import REQUEST_COLUMNS, RESPONSE_COLUMNS, STATUSES, settled_schema
from kafkascope_parsers.exchanges.open_requests import OpenRequests


@pytest.mark.parametrize(("gap_ns", "status"), [(25, "not_captured"), (15, "unanswered")])
def test_a_response_may_have_been_in_a_gap_that_follows_its_request(gap_ns, status):
    """Nothing is answered after the gap; another connection has one too."""
    requests = OpenRequests()
    row = {"conn": 7, "number": 3, "request_last_ns": 20, "decoded": True, "silent": False, "response_lost": False}
    requests.add(pa.Table.from_pylist([row], REQUEST_COLUMNS))
    requests.note_gaps(np.array([7, 9]), np.array([gap_ns, 99]))
    none = np.empty(0, np.int64)
    settled, _ = requests.settle(RESPONSE_COLUMNS.empty_table(), none, np.zeros(1, np.uint8), final=True)
    assert settled.schema == settled_schema(pa.schema([]), pa.schema([]))
    assert [STATUSES[code] for code in settled["status"].to_pylist()] == [status]
