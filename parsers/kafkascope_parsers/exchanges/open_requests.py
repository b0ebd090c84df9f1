"""Requests that wait for their responses, and settled exchanges, whose fate is known.

A request's columns are made when its block is read; its response may come blocks later. `OpenRequests` keeps the open
ones as one Arrow table, numbered by row, and returns exchanges when their fate is known.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_parsers.tcp.streams import Streams

STATUSES = ("ok", "no_response_expected", "unanswered", "orphan_response", "undecoded", "not_captured")
"""The fates of requests, by `status`. orphan_response: a response whose request is not in the capture; not_captured:
the broker has responded, and the capture lacks the response, or may lack it."""
OK, NO_RESPONSE_EXPECTED, UNANSWERED, ORPHAN_RESPONSE, UNDECODED, NOT_CAPTURED = range(len(STATUSES))

REQUEST_COLUMNS = pa.schema(
    [
        ("conn", pa.int64()),
        ("number", pa.int64()),
        ("ts_ns", pa.int64()),
        ("request_last_ns", pa.int64()),
        ("request_packet_no", pa.int64()),
        ("request_bytes", pa.int64()),
        ("in_flight", pa.int32()),
        ("api_key", pa.int16()),
        ("api_version", pa.int16()),
        ("correlation_id", pa.int32()),
        ("client_id", pa.string()),
        ("decoded", pa.bool_()),
        ("silent", pa.bool_()),
        ("response_lost", pa.bool_()),
    ]
)
"""Columns of every request. conn: number of the connection; number: of the request on it, from 0 (orphan responses from
-1 downwards); silent: no response is expected; response_lost: the broker has responded, and the capture lacks the
response, or may lack it."""
RESPONSE_COLUMNS = pa.schema(
    [
        ("response_ns", pa.int64()),
        ("response_last_ns", pa.int64()),
        ("response_packet_no", pa.int64()),
        ("response_bytes", pa.int64()),
        ("answer_decoded", pa.bool_()),
        ("queued_ns", pa.int64()),
        ("out_of_order", pa.bool_()),
    ]
)
"""Columns of every response. queued_ns: how long its request waited for the response to the one before it, as a broker
serves the requests of a connection one after the other; out_of_order: whether the response to a later request came
before it."""
STATUS_COLUMN = pa.field("status", pa.int8())


def settled_schema(of_requests: pa.Schema, of_responses: pa.Schema) -> pa.Schema:
    """The columns of settled exchanges, if a handler gives these columns for requests and responses."""
    return pa.schema([*REQUEST_COLUMNS, *of_requests, *RESPONSE_COLUMNS, *of_responses, STATUS_COLUMN])


class OpenRequests:
    """The open requests of all connections."""

    def __init__(self) -> None:
        self._rows = REQUEST_COLUMNS.empty_table()

    @property
    def rows(self) -> pa.Table:
        """REQUEST_COLUMNS, and the handler's columns of requests."""
        return self._rows

    def add(self, requests: pa.Table) -> None:
        """Takes a block's requests, in the order of their frames."""
        self._rows = pa.concat_tables([self._rows, requests]) if self._rows.num_rows else requests

    def settle(
        self, responses: pa.Table, answered: NDArray[np.int64], abandoned: NDArray[np.uint8], *, final: bool
    ) -> tuple[pa.Table, NDArray[np.int64]]:
        """Returns the exchanges whose fate is known.

        responses: RESPONSE_COLUMNS and the handler's; answered: open row of each, -1 for an orphan; abandoned: per open
        row, 1 when no response will come. Returns the settled exchanges and the new number of each open row, -1 for the
        settled ones.
        """
        n = self._rows.num_rows
        response_of = np.full(n, -1, np.int64)
        paired = np.flatnonzero(answered >= 0)
        response_of[answered[paired]] = paired
        self._note_lost_responses(response_of >= 0)
        silent = _bools(self._rows["silent"])
        known = (response_of >= 0) | (abandoned > 0) | silent | final
        rows = np.flatnonzero(known)
        settled = self._settled(rows, response_of[rows], responses)
        kept = np.flatnonzero(~known)
        new_row = np.full(n, -1, np.int64)
        new_row[kept] = np.arange(len(kept))
        self._rows = self._rows.take(pa.array(kept)).combine_chunks()
        return settled, new_row

    def note_gaps(self, conns: NDArray[np.int64], times_ns: NDArray[np.int64]) -> None:
        """Takes gaps in the responses of connections: a response to a request before a gap may have been in it.

        conns: number of the connection of each gap; times_ns: the first packet after it.
        """
        if not len(conns) or not self._rows.num_rows:
            return
        latest = np.zeros(max(int(conns.max()), int(self._conns().max())) + 1, np.int64)
        np.maximum.at(latest, conns, times_ns)
        self._mark_lost(self._rows["request_last_ns"].to_numpy() < latest[self._conns()])

    def _note_lost_responses(self, answered: NDArray[np.bool_]) -> None:
        """Marks the requests that precede an answered one of their connection: brokers respond in order."""
        if not answered.any() or answered.all():
            return
        conns, numbers = self._conns(), self._rows["number"].to_numpy()
        latest = np.full(int(conns.max()) + 1, -1, np.int64)
        np.maximum.at(latest, conns[answered], numbers[answered])
        self._mark_lost(numbers < latest[conns])

    def _mark_lost(self, lost: NDArray[np.bool_]) -> None:
        if lost.any():
            lost |= _bools(self._rows["response_lost"])
            at = REQUEST_COLUMNS.get_field_index("response_lost")
            self._rows = self._rows.set_column(at, REQUEST_COLUMNS.field(at), pa.array(lost))

    def _conns(self) -> NDArray[np.int64]:
        return np.asarray(self._rows["conn"].to_numpy(), np.int64)

    def _settled(self, rows: NDArray[np.int64], response_of: NDArray[np.int64], responses: pa.Table) -> pa.Table:
        requests = pc.take(self._rows, pa.array(rows), boundscheck=False)
        found = pc.take(responses, pa.array(response_of, mask=response_of < 0), boundscheck=False)
        decoded, both_decoded = _bools(requests["decoded"]), _bools(found["answer_decoded"])
        both_decoded &= decoded
        without = np.where(_bools(requests["response_lost"]), NOT_CAPTURED, UNANSWERED)
        status = np.where(
            response_of >= 0, np.where(both_decoded, OK, UNDECODED), np.where(decoded, without, UNDECODED)
        )
        status = np.where(_bools(requests["silent"]), NO_RESPONSE_EXPECTED, status).astype(np.int8)
        schema = pa.schema([*requests.schema, *found.schema, STATUS_COLUMN])
        return pa.table([*requests.columns, *found.columns, pa.array(status)], schema)


def response_gaps(streams: Streams, connections: NDArray[np.void]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The gaps in the responses of a block: number of the connection, time of the first packet after the gap.

    connections: CONNECTION rows of framing.
    """
    runs = np.flatnonzero((streams.gap_before > 0) & (streams.end > streams.start))
    directions = streams.direction[runs]
    client_sides = connections["client_side"][directions >> 1]
    runs = runs[(client_sides >= 0) & (client_sides != directions & 1)]
    pieces = np.searchsorted(streams.piece_start, streams.start[runs], side="right") - 1
    return streams.direction[runs] >> 1, streams.piece_ts_ns[pieces]


def orphan_rows(frames: NDArray[np.void], responses: pa.Table, schema: pa.Schema) -> pa.Table:
    """Rows for responses without a request, in the columns of settled exchanges. frames: FRAME of each."""
    n = len(frames)
    columns = {name: responses[name] for name in responses.column_names}
    columns |= {
        "conn": pa.array(frames["direction"] >> 1),
        "number": pa.array(-1 - frames["number"]),
        "correlation_id": pa.array(np.ascontiguousarray(frames["correlation_id"])),
        "ts_ns": responses["response_ns"],
        "status": pa.array(np.full(n, ORPHAN_RESPONSE, np.int8)),
    }
    return pa.table([columns[f.name] if f.name in columns else pa.nulls(n, f.type) for f in schema], schema)


def _bools(column: pa.ChunkedArray) -> NDArray[np.bool_]:
    """A boolean column as numpy; null is false."""
    return np.array(column.fill_null(False).combine_chunks().to_numpy(zero_copy_only=False), np.bool_)
