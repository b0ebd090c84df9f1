"""Infers the job of an encrypted connection from the lengths and times of its exchanges. The result is claimed, never
confirmed.

A JVM broker writes a Fetch response as several TLS records, and delays an empty one, of some 21 bytes, until the end of
the long poll. Only responses to Heartbeat or LeaveGroup have at most 18 bytes. A Produce request is larger than its
response, which names topics. The measure that decided is given with the job.
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
"""Range of the size of an empty response to Fetch in a fetch session, bytes."""
_PRODUCED_BYTES = 36
"""Size of the shortest response to Produce, bytes: it has a topic, a partition and an offset."""
_LONG_POLL_NS = 100_000_000
_FETCH_SHARE, _SPLIT_SHARE = 0.5, 0.2
"""Share of responses that have several records or end a long poll, and share of those that have several records or are
empty, from which on a connection is taken to fetch."""
_PRODUCE_SHARE, _MORE_BYTES, _MOST_SPLIT = 0.7, 1.5, 0.05
"""Share of requests that are larger than their responses by a factor, the factor, and the largest share of responses of
several records besides: a client that writes several requests into one record seems to get such responses."""

MEASURED_COLUMNS = ["conn", "number", "request_bytes", "response_bytes", "request_last_ns", "response_ns"]
MEASURED_COLUMNS += [RESPONSE_RECORDS]
"""The columns of BY_LENGTHS from which jobs are inferred."""
NO_API = -1
CLAIMED = pa.schema(
    [
        ("claimed_requests", pa.int64()),
        ("claimed_job", pa.string()),
        ("claimed_job_why", pa.string()),
        ("claimed_first_bytes", pa.int64()),
    ]
)
"""The columns of `connections` with the inferred job of an encrypted connection."""
Flags = NDArray[np.bool_]


class _Measures(NamedTuple):
    """Properties of each exchange that indicate the job of its connection.

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
    """Returns the API key that each exchange seems to belong to: that of the job of its connection, unless its own
    lengths and times contradict it; ApiVersions for the first exchange of a connection, with which clients begin;
    NO_API for others. rows: MEASURED_COLUMNS; jobs: index in CLAIMED_JOBS, -1 for none."""
    of = _measures(rows)
    found = np.full(rows.num_rows, NO_API, np.int16)
    found[rows["number"].to_numpy() == 0] = API_VERSIONS
    is_open = ~of.is_answered
    found[(jobs == CLAIMED_JOBS.index(_FETCH)) & (of.is_split | of.is_held | of.is_empty | is_open)] = FETCH
    found[(jobs == CLAIMED_JOBS.index(_PRODUCE)) & (of.is_larger | is_open)] = PRODUCE
    found[(jobs == CLAIMED_JOBS.index(_COORDINATOR)) & of.is_tiny] = HEARTBEAT
    return found


class ClaimedJobs:
    """Counts of the exchanges of some connections, added batch by batch: 64 bytes for each of n connections."""

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
        """Returns the columns of CLAIMED of some connections; null where is_known is false."""
        found = [
            self._job(conn) if known else (None, None)
            for conn, known in zip(range(rows.start, rows.stop), is_known.tolist(), strict=True)
        ]
        jobs, reasons = (pa.array([each[at] for each in found], pa.string()) for at in (0, 1))
        n_requests = pa.array(self.n_requests[rows], mask=~is_known)
        first_bytes = pa.array(self._first_bytes[rows], mask=~is_known | (self._first_bytes[rows] == 0))
        return dict(zip(CLAIMED.names, (n_requests, jobs, reasons, first_bytes), strict=True))

    def _job(self, conn: int) -> tuple[str | None, str | None]:
        """Returns the job of a connection, and the reason for it."""
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
