"""Between the passes: times in which encrypted producers seem to have waited, as rows of produce_facts.WAITS without
topic-partitions.

The wait of a probable Produce request ends with its response, if that was late. Without a response it ends when the
client's next request of that kind, sent on any connection after this one had ended, was answered in time. A late
response that is longer than every timely one of its client contains an error message: it does not end the wait.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.connections.claimed_jobs import MEASURED_COLUMNS, NO_API
from kafkascope_analyzer.dataset.tables import REQUEST_STATUSES
from kafkascope_analyzer.resolve.cluster.claims import client_codes, job_codes, with_claimed_apis
from kafkascope_analyzer.resolve.flow.produce_facts import WAITS
from kafkascope_analyzer.scan.exchanges import BY_LENGTHS
from kafkascope_analyzer.scan.service_kernels import LEAST_PAUSE_NS
from kafkascope_analyzer.scan.spill import read_spill
from kafkascope_parsers.api_keys import PRODUCE

Longs = NDArray[np.int64]
_COLUMNS = [*MEASURED_COLUMNS, "ts_ns", "status"]
_UNANSWERED = REQUEST_STATUSES.index("unanswered")
_NEVER = np.iinfo(np.int64).max


class _Produced(NamedTuple):
    """Probable Produce requests of encrypted connections: conn, the number of the connection over all buckets; client,
    the number of its client; number, the number of the request on the connection; answered_ns: 0 without a response."""

    conn: Longs
    client: Longs
    number: Longs
    sent_ns: Longs
    answered_ns: Longs
    response_bytes: Longs

    def taken(self, rows: NDArray[np.bool_] | Longs) -> "_Produced":
        """Returns the chosen rows."""
        return _Produced(*(column[rows] for column in self))

    @property
    def is_timely(self) -> NDArray[np.bool_]:
        """Whether each request was answered in time."""
        return (self.answered_ns > 0) & (self.answered_ns - self.sent_ns < LEAST_PAUSE_NS)


def claimed_waits(connections: Mapping[Path, pa.Table], claims: pa.Table) -> pa.Table:
    """Returns the waits. connections: with conn_id, close_ns and last_ns, by the directory of a bucket's spill; claims:
    claims.CLAIMS."""
    late, longest = _late(connections, claims)
    if not len(late.conn):
        return WAITS.empty_table()
    known = pa.concat_tables([rows.select(["conn_id", "close_ns", "last_ns"]) for rows in connections.values()])
    ended_ns = known["close_ns"].fill_null(0).to_numpy()
    ended_ns = np.where(ended_ns > 0, ended_ns, known["last_ns"].to_numpy())
    is_error = (late.answered_ns > 0) & (late.response_bytes > longest[late.client])
    is_served = (late.answered_ns > 0) & ~is_error
    since_ns = np.where(is_error, late.answered_ns, ended_ns[late.conn])
    accepted_ns = late.answered_ns.copy()
    accepted_ns[~is_served] = _next_served(connections, claims, late.client[~is_served], since_ns[~is_served])
    return _rows(late, accepted_ns, known["conn_id"])


def _late(connections: Mapping[Path, pa.Table], claims: pa.Table) -> tuple[_Produced, Longs]:
    """Returns the requests that were answered late or not at all, and the longest timely response of each client."""
    longest = np.zeros(_n_clients(claims), np.int64)
    parts = [_Produced(*(np.empty(0, np.int64) for _ in _Produced._fields))]
    for produced in _produced(connections, claims):
        timely = produced.taken(produced.is_timely)
        np.maximum.at(longest, timely.client, timely.response_bytes)
        parts.append(produced.taken(~produced.is_timely))
    return _Produced(*(np.concatenate(columns) for columns in zip(*parts, strict=True))), longest


def _n_clients(claims: pa.Table) -> int:
    return int(claims["client"].fill_null(-1).to_numpy().max(initial=-1)) + 1


def _produced(connections: Mapping[Path, pa.Table], claims: pa.Table) -> Iterator[_Produced]:
    """Yields the requests, batch by batch, without those whose response the capture missed."""
    n_before = 0
    for spill, known in connections.items():
        jobs, clients = job_codes(claims, known["conn_id"]), client_codes(claims, known["conn_id"])
        for rows in read_spill(spill, BY_LENGTHS, _COLUMNS) if (jobs >= 0).any() else ():
            rows = with_claimed_apis(rows, jobs)
            columns = [
                rows[name].fill_null(0).to_numpy() for name in ("number", "ts_ns", "response_ns", "response_bytes")
            ]
            conn = rows["conn"].to_numpy()
            found = _Produced(conn + n_before, clients[conn], *columns)
            is_settled = (found.answered_ns > 0) | (rows["status"].to_numpy() == _UNANSWERED)
            yield found.taken((rows["claimed_api_key"].fill_null(NO_API).to_numpy() == PRODUCE) & is_settled)
        n_before += known.num_rows


def _next_served(connections: Mapping[Path, pa.Table], claims: pa.Table, client: Longs, since_ns: Longs) -> Longs:
    """Returns the earliest timely response to a request that each client sent after a time; 0 where there is none."""
    found = np.full(len(client), _NEVER)
    rows_of = dict(_rows_by_client(client))
    wanted = np.array(sorted(rows_of), np.int64)
    for produced in _produced(connections, claims) if rows_of else ():
        timely = produced.taken(produced.is_timely & np.isin(produced.client, wanted))
        timely = timely.taken(np.argsort(timely.sent_ns, kind="stable"))
        for number, mine in _rows_by_client(timely.client):
            rows, earliest = rows_of[number], np.minimum.accumulate(timely.answered_ns[mine][::-1])[::-1]
            at = np.searchsorted(timely.sent_ns[mine], since_ns[rows], side="right")
            found[rows] = np.minimum(found[rows], np.append(earliest, _NEVER)[at])
    return np.where(found == _NEVER, 0, found)


def _rows_by_client(client: Longs) -> Iterator[tuple[int, Longs]]:
    """Yields each client with its rows, in their order."""
    order = np.argsort(client, kind="stable")
    numbers, starts = np.unique(client[order], return_index=True)
    return zip(numbers.tolist(), np.split(order, starts[1:]), strict=True) if len(client) else iter(())


def _rows(late: _Produced, accepted_ns: Longs, conn_ids: pa.ChunkedArray) -> pa.Table:
    """Returns WAITS, in which overlapping waits of a connection with the same outcome are one row."""
    order = np.lexsort((late.sent_ns, late.conn))
    late, accepted_ns = late.taken(order), accepted_ns[order]
    is_served = accepted_ns > 0
    same = np.zeros(len(order), np.bool_)
    same[1:] = (late.conn[1:] == late.conn[:-1]) & (is_served[1:] == is_served[:-1])
    same[1:] &= ~is_served[1:] | (late.sent_ns[1:] <= accepted_ns[:-1] + LEAST_PAUSE_NS)
    starts = np.flatnonzero(~same)
    ends = np.append(starts[1:], len(order)) - 1
    accepted, ended = (np.maximum.reduceat(times, starts) for times in (accepted_ns, late.answered_ns))
    columns = {
        "conn_id": conn_ids.take(pa.array(late.conn[starts])),
        "sent_ns": late.sent_ns[starts],
        "created_ns": late.sent_ns[starts],
        "last_sent_ns": late.sent_ns[ends],
        "accepted_ns": pa.array(accepted, mask=accepted == 0),
        "longest_ns": pa.array(np.maximum.reduceat(accepted_ns - late.sent_ns, starts), mask=accepted == 0),
        "ended_ns": pa.array(ended, mask=ended == 0),
        "error_code": np.zeros(len(starts), np.int16),
        "number": late.number[starts],
        "last_number": late.number[ends],
        "n": ends - starts + 1,
    }
    return pa.table(
        [columns[field.name] if field.name in columns else pa.nulls(len(starts), field.type) for field in WAITS], WAITS
    )
