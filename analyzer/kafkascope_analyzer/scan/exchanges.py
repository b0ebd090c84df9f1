"""Requests on their way to becoming rows: decoded, waiting for their answers, settled.

A request's columns are made when its block is read; its answer may come blocks later. `Exchanges` keeps the open ones
as one Arrow table, numbered by row, and gives out rows in REQUEST_SCHEMA once their fate is known.
"""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.tables import REQUEST_STATUSES, REQUESTS
from kafkascope_analyzer.scan.request_facts import REQUEST_INTS, REQUEST_TEXTS
from kafkascope_parsers.tcp import Streams

_FACTS = tuple(fact.column for fact in REQUEST_INTS + REQUEST_TEXTS)

OPEN_SCHEMA = pa.schema(
    [
        ("conn", pa.int64()),
        ("number", pa.int64()),
        ("capture_id", pa.int32()),
        ("ts_ns", pa.int64()),
        ("request_last_ns", pa.int64()),
        ("request_packet_no", pa.int64()),
        ("request_bytes", pa.int64()),
        ("in_flight", pa.int32()),
        ("api_key", pa.int16()),
        ("api_version", pa.int16()),
        ("correlation_id", pa.int32()),
        ("client_id", pa.string()),
        *((name, REQUESTS.column(name).type) for name in _FACTS),
        ("n_partitions", pa.int32()),
        ("n_records", pa.int64()),
        ("record_bytes", pa.int64()),
        ("decoded", pa.bool_()),
        ("silent", pa.bool_()),
        ("response_lost", pa.bool_()),
    ]
)
"""Columns of a request whose answer is not known yet; `conn` is the connection's number in the bucket; `response_lost`:
the broker has responded, and the capture lacks the response, or may lack it."""

ANSWER_SCHEMA = pa.schema(
    [
        ("response_ns", pa.int64()),
        ("response_last_ns", pa.int64()),
        ("response_packet_no", pa.int64()),
        ("response_bytes", pa.int64()),
        ("error_code", pa.int16()),
        ("n_errors", pa.int32()),
        ("throttle_ms", pa.int32()),
        ("answer_member_id", pa.string()),
        ("answer_producer_id", pa.int64()),
        ("answer_producer_epoch", pa.int16()),
        ("answer_n_partitions", pa.int32()),
        ("answer_n_records", pa.int64()),
        ("answer_record_bytes", pa.int64()),
        ("answer_decoded", pa.bool_()),
    ]
)
"""Columns of a response."""

OK, SILENT, UNANSWERED, ORPHAN, UNDECODED, NOT_CAPTURED = range(len(REQUEST_STATUSES))
SETTLED_SCHEMA = pa.schema([*OPEN_SCHEMA, *ANSWER_SCHEMA, ("status", pa.int8())])
"""Columns of a settled request: `status` indexes REQUEST_STATUSES."""


class Exchanges:
    """The open requests of a bucket."""

    def __init__(self) -> None:
        self.open = OPEN_SCHEMA.empty_table()

    def add(self, requests: pa.Table) -> None:
        """Takes a block's requests (OPEN_SCHEMA), in the order of their frames."""
        self.open = pa.concat_tables([self.open, requests])

    def settle(
        self, answers: pa.Table, answered: NDArray[np.int64], abandoned: NDArray[np.uint8], *, final: bool
    ) -> tuple[pa.Table, NDArray[np.int64]]:
        """Gives out the requests whose fate is known.

        answers: ANSWER_SCHEMA, one row per response; answered: open row of each, -1 for an orphan; abandoned: per open
        row, 1 when no answer will come. Returns the settled rows (SETTLED_SCHEMA) and the new number of each open row,
        -1 for the settled ones.
        """
        n = self.open.num_rows
        answer_of = np.full(n, -1, np.int64)
        paired = np.flatnonzero(answered >= 0)
        answer_of[answered[paired]] = paired
        self._note_lost_responses(answer_of >= 0)
        silent = _bools(self.open["silent"])
        known = (answer_of >= 0) | (abandoned > 0) | silent | final
        rows = np.flatnonzero(known)
        settled = self._settled(rows, answer_of[rows], answers)
        kept = np.flatnonzero(~known)
        new_row = np.full(n, -1, np.int64)
        new_row[kept] = np.arange(len(kept))
        self.open = self.open.take(pa.array(kept)).combine_chunks()
        return settled, new_row

    def note_gaps(self, conns: NDArray[np.int64], times_ns: NDArray[np.int64]) -> None:
        """Takes gaps in the responses of connections: a response to what was sent before a gap may have been in it.

        conns: number of the connection of each gap; times_ns: the first packet after it.
        """
        if not len(conns) or not self.open.num_rows:
            return
        latest = np.zeros(max(int(conns.max()), int(self._conns().max())) + 1, np.int64)
        np.maximum.at(latest, conns, times_ns)
        self._mark_lost(self.open["request_last_ns"].to_numpy() < latest[self._conns()])

    def _note_lost_responses(self, answered: NDArray[np.bool_]) -> None:
        """Marks the requests that precede an answered one of their connection: brokers respond in order."""
        if not answered.any() or answered.all():
            return
        conns, numbers = self._conns(), self.open["number"].to_numpy()
        latest = np.full(int(conns.max()) + 1, -1, np.int64)
        np.maximum.at(latest, conns[answered], numbers[answered])
        self._mark_lost(numbers < latest[conns])

    def _mark_lost(self, lost: NDArray[np.bool_]) -> None:
        if lost.any():
            lost |= _bools(self.open["response_lost"])
            self.open = self.open.set_column(len(OPEN_SCHEMA) - 1, OPEN_SCHEMA.field("response_lost"), pa.array(lost))

    def _conns(self) -> NDArray[np.int64]:
        return np.asarray(self.open["conn"].to_numpy(), np.int64)

    def _settled(self, rows: NDArray[np.int64], answer_of: NDArray[np.int64], answers: pa.Table) -> pa.Table:
        requests = self.open.take(pa.array(rows))
        responses = answers.take(pa.array(answer_of, mask=answer_of < 0))
        silent, decoded = _bools(requests["silent"]), _bools(requests["decoded"])
        answer_decoded = _bools(responses["answer_decoded"])
        without = np.where(_bools(requests["response_lost"]), NOT_CAPTURED, UNANSWERED)
        status = np.where(
            answer_of >= 0, np.where(decoded & answer_decoded, OK, UNDECODED), np.where(decoded, without, UNDECODED)
        )
        status = np.where(silent, SILENT, status).astype(np.int8)
        return pa.table([*requests.columns, *responses.columns, pa.array(status)], SETTLED_SCHEMA)


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


def orphan_rows(answers: pa.Table, orphans: pa.Table) -> pa.Table:
    """Rows for responses without a request. orphans: conn, number, capture_id, correlation_id of each answer.
    Columns: SETTLED_SCHEMA.
    """
    n = answers.num_rows
    columns = {name: answers[name] for name in ANSWER_SCHEMA.names} | {
        name: orphans[name] for name in orphans.column_names
    }
    columns["ts_ns"] = answers["response_ns"]
    columns["status"] = pa.array(np.full(n, ORPHAN, np.int8))
    return pa.table(
        [columns[f.name] if f.name in columns else pa.nulls(n, f.type) for f in SETTLED_SCHEMA], SETTLED_SCHEMA
    )


def _bools(column: pa.ChunkedArray) -> NDArray[np.bool_]:
    """A boolean column as numpy; null is false."""
    return np.asarray(column.fill_null(False).combine_chunks().to_numpy(zero_copy_only=False), np.bool_)
