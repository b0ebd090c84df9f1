"""Which job an encrypted connection seems to do, by the lengths and times of its exchanges: claimed, never confirmed.

A JVM broker writes a Fetch response as several TLS records, and holds an empty one, of some 21 bytes, back for a long
poll; a response to Heartbeat or LeaveGroup has at most 18 bytes, and no other does; Produce sends more than it gets
back, which names topics. The measure that decided is given with the job.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.tables.connections import CLAIMED_JOBS
from kafkascope_parsers.api_keys import API_VERSIONS, FETCH, HEARTBEAT, PRODUCE
from kafkascope_parsers.exchanges import RESPONSE_RECORDS

_FETCH, _PRODUCE, _COORDINATOR = CLAIMED_JOBS
_LEAST_EXCHANGES = 10
_HEARTBEAT_BYTES = 18
_LEAST_HEARTBEATS = 2
_EMPTY_BYTES = (20, 24)
"""Bytes of an empty response to Fetch in a fetch session."""
_PRODUCED_BYTES = 36
"""Bytes of the shortest response to Produce: it has a topic, a partition and an offset."""
_LONG_POLL_NS = 100_000_000
_FETCH_SHARE, _SPLIT_SHARE = 0.5, 0.2
"""Shares of responses that are of several records or long polls, and of those that are of several records or empty."""
_PRODUCE_SHARE, _MORE_BYTES, _MOST_SPLIT = 0.7, 1.5, 0.05
"""Share of requests that have so many times the bytes of their responses, and of responses of several records beside
them: a client that writes several requests into one record seems to get such."""

MEASURED_COLUMNS = ["conn", "number", "request_bytes", "response_bytes", "request_last_ns", "response_ns"]
MEASURED_COLUMNS += [RESPONSE_RECORDS]
"""The columns of BY_LENGTHS from which jobs follow."""
NO_API = -1
CLAIMED = pa.schema(
    [
        ("claimed_requests", pa.int64()),
        ("claimed_job", pa.string()),
        ("claimed_job_why", pa.string()),
        ("claimed_first_bytes", pa.int64()),
    ]
)
"""The columns of `connections` that say what an encrypted connection seems to do."""
Flags = NDArray[np.bool_]


class _Measures(NamedTuple):
    """Properties of each exchange that tell the job of its connection.

    is_answered: it has a response; is_split: a response of several TLS records; is_held: one that came as late as the
    end of a long poll; is_empty: one of the length of an empty response to Fetch; is_tiny: one as short as a response
    to Heartbeat; is_larger: the request is larger than the response.
    """

    is_answered: Flags
    is_split: Flags
    is_held: Flags
    is_empty: Flags
    is_tiny: Flags
    is_larger: Flags


def _measures(rows: pa.Table) -> _Measures:
    columns = ("request_bytes", "response_bytes", "request_last_ns", "response_ns")
    asked, response, sent_ns, response_ns = (rows[name].fill_null(0).to_numpy() for name in columns)
    records = rows[RESPONSE_RECORDS].to_numpy()
    is_single = records == 1
    return _Measures(
        records > 0,
        records > 1,
        is_single & (response_ns - sent_ns >= _LONG_POLL_NS),
        is_single & (response >= _EMPTY_BYTES[0]) & (response <= _EMPTY_BYTES[1]),
        is_single & (response <= _HEARTBEAT_BYTES),
        is_single & (response >= _PRODUCED_BYTES) & (asked >= _MORE_BYTES * response),
    )


def claimed_apis(rows: pa.Table, jobs: NDArray[np.int64]) -> NDArray[np.int16]:
    """The API key that each exchange seems to be of: that of the job of its connection, where its own lengths and times
    do not speak against it, or of the first one of a connection ApiVersions, with which clients begin; NO_API for
    others. rows: MEASURED_COLUMNS; jobs: place in CLAIMED_JOBS, -1 for none."""
    of = _measures(rows)
    found = np.full(rows.num_rows, NO_API, np.int16)
    found[rows["number"].to_numpy() == 0] = API_VERSIONS
    is_open = ~of.is_answered
    found[(jobs == CLAIMED_JOBS.index(_FETCH)) & (of.is_split | of.is_held | of.is_empty | is_open)] = FETCH
    found[(jobs == CLAIMED_JOBS.index(_PRODUCE)) & (of.is_larger | is_open)] = PRODUCE
    found[(jobs == CLAIMED_JOBS.index(_COORDINATOR)) & of.is_tiny] = HEARTBEAT
    return found


class ClaimedJobs:
    """Counts of the exchanges of some connections, taken batch by batch: 64 bytes for each of n connections."""

    def __init__(self, n: int) -> None:
        self.n_requests, self._n_answered, self._n_split, self._n_held, self._n_empty, self._n_tiny, self._n_larger = (
            np.zeros(n, np.int64) for _ in range(7)
        )
        self._first_bytes = np.zeros(n, np.int64)

    def note(self, rows: pa.Table) -> None:
        """Takes spilled rows of BY_LENGTHS (MEASURED_COLUMNS)."""
        conn, of = rows["conn"].to_numpy(), _measures(rows)
        np.add.at(self.n_requests, conn, 1)
        is_first = rows["number"].to_numpy() == 0
        self._first_bytes[conn[is_first]] = rows["request_bytes"].fill_null(0).to_numpy()[is_first]
        for counts, chosen in (
            (self._n_answered, of.is_answered),
            (self._n_split, of.is_split),
            (self._n_held, of.is_held),
            (self._n_empty, of.is_held & of.is_empty),
            (self._n_tiny, of.is_tiny),
            (self._n_larger, of.is_larger),
        ):
            np.add.at(counts, conn[chosen], 1)

    def columns(self, rows: slice, is_known: NDArray[np.bool_]) -> dict[str, pa.Array]:
        """The columns of CLAIMED of some connections; null where is_known is false."""
        found = [
            self._job(conn) if known else (None, None)
            for conn, known in zip(range(rows.start, rows.stop), is_known.tolist(), strict=True)
        ]
        jobs, reasons = (pa.array([each[at] for each in found], pa.string()) for at in (0, 1))
        n_requests = pa.array(self.n_requests[rows], mask=~is_known)
        first_bytes = pa.array(self._first_bytes[rows], mask=~is_known | (self._first_bytes[rows] == 0))
        return dict(zip(CLAIMED.names, (n_requests, jobs, reasons, first_bytes), strict=True))

    def _job(self, conn: int) -> tuple[str | None, str | None]:
        """The job of a connection, and why."""
        n, n_split, n_held = (int(counts[conn]) for counts in (self._n_answered, self._n_split, self._n_held))
        n_empty, n_tiny, n_larger = (int(counts[conn]) for counts in (self._n_empty, self._n_tiny, self._n_larger))
        if n < _LEAST_EXCHANGES:
            return None, None
        if n_split + n_held >= _FETCH_SHARE * n and n_split + n_empty >= _SPLIT_SHARE * n:
            held = f", {n_held} came after {_LONG_POLL_NS // 1_000_000} ms or more" if n_held else ""
            return _FETCH, f"of {n} responses {n_split} are of several TLS records{held}"
        if n_tiny >= _LEAST_HEARTBEATS:
            return _COORDINATOR, f"of {n} responses {n_tiny} have at most {_HEARTBEAT_BYTES} bytes, as to heartbeats"
        if n_larger >= _PRODUCE_SHARE * n and n_split <= _MOST_SPLIT * n:
            return _PRODUCE, f"of {n} requests {n_larger} are larger than their responses by half or more"
        return None, None
