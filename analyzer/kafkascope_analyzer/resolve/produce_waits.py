"""First pass: batches of producers that may have waited, or that were not accepted, and the clocks of producers.

How long a batch waited is known when the clock of its producer is compared with the capture's, and for that all its
connections count; so more is spilled here than becomes events (produce_facts).
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.ingest.exchanges import UNANSWERED
from kafkascope_analyzer.resolve.apis import PRODUCE, int_column
from kafkascope_analyzer.resolve.places import NO_PLACE, TopicPartitions
from kafkascope_analyzer.resolve.service_kernels import LEAST_PAUSE_NS, MILLISECOND, UNKNOWN_DELAY, measure_clocks
from kafkascope_analyzer.resolve.unanswered import is_one_of, request_numbers

PRODUCE_WAITS = "facts.produce_waits"
"""Spilled table: batches with their outcome."""
CLOCKS = "facts.producer_clocks"
"""Spilled table: conn, client_id, and a clock: the shortest distance between creating and sending, and how many
distances were longer than that by no more than each of CLOCK_EDGES_NS."""
CLOCK_EDGES_NS = np.array([5, 10, 20, 50, 100, 200, 500], np.int64) * MILLISECOND
_FIRST_BATCHES = 16
"""Of each connection: those of a clock that is ahead of the capture's, which is not known yet. The connection may have
been opened because another failed."""
_ABSOLUTE_BATCHES = 256
"""So long the clocks of hosts are taken to be right: what was created long before it was sent waited."""
_MOST_OPEN = 1 << 20
"""Batches whose requests are not answered yet, in a bucket."""
_UNTIMED = -1
SENT = np.dtype(
    [
        ("number", np.int64),
        ("place", np.int64),
        ("sent_ns", np.int64),
        ("created_ms", np.int64),
        ("least_ns", np.int64),
        ("ordinal", np.int64),
    ]
)
"""A batch on its way. number: connection and request (unanswered.request_numbers); created_ms: -1 where not known;
least_ns: the shortest distance between creating and sending on its connection so far; ordinal: 1 for the first
batch of the connection."""
_NUMBER_BITS, _PLACE_BITS = 36, 40


class ProduceWaits:
    """Follows the producers of one bucket. Memory: SENT for each batch whose request is open, a clock for each
    connection."""

    def __init__(self) -> None:
        self._partitions = TopicPartitions()
        self._open = np.empty(0, SENT)
        self._clock = np.empty((0, len(CLOCK_EDGES_NS) + 3), np.int64)
        self._client_ids: dict[int, str | None] = {}

    def take(self, rows: pa.Table, api_key: int, direction: str) -> pa.Table | None:
        """Takes partitions that messages of one kind name (ingest.blocks.NamedPartitions); gives batches with their
        outcome."""
        if api_key != PRODUCE or not rows.num_rows:
            return None
        if direction == "request":
            self._send(rows)
            return None
        decides = self._decides(rows)
        return self._answer(rows.filter(pa.array(decides))) if decides.any() else None

    def settle(self, settled: pa.Table) -> pa.Table | None:
        """Takes settled requests (ingest.exchanges.SETTLED_SCHEMA); gives the batches that were not answered."""
        is_produce = pc.equal(settled["api_key"], PRODUCE).fill_null(False)
        rows = settled.select(["conn", "number", "status", "client_id"]).filter(is_produce)
        if not rows.num_rows:
            return None
        self._note_clients(rows)
        numbers = request_numbers(rows)
        lost = np.sort(numbers[int_column(rows, "status", 0) == UNANSWERED])
        unanswered = self._open[is_one_of(self._open["number"], lost)]
        self._open = self._open[~is_one_of(self._open["number"], np.sort(numbers))]
        return self._table(unanswered, np.full(len(unanswered), -1), np.zeros(len(unanswered), np.int64))

    def clocks(self) -> pa.Table:
        """The clocks of all connections (CLOCKS)."""
        conn = np.flatnonzero(self._clock[:, 0] != UNKNOWN_DELAY)
        counts = self._clock[conn, 2:]
        return pa.table(
            {
                "conn": pa.array(conn),
                "client_id": pa.array([self._client_ids.get(each) for each in conn.tolist()], pa.string()),
                "least_ns": pa.array(self._clock[conn, 0]),
                "counts": pa.FixedSizeListArray.from_arrays(pa.array(counts.ravel()), counts.shape[1]),
            }
        )

    def _note_clients(self, rows: pa.Table) -> None:
        conns, first = np.unique(rows["conn"].to_numpy(), return_index=True)
        pairs = zip(conns.tolist(), first.tolist(), strict=True)
        fresh = [(conn, at) for conn, at in pairs if conn not in self._client_ids]
        if fresh:
            client_ids = rows["client_id"].take(pa.array([at for _, at in fresh])).to_pylist()
            self._client_ids |= dict(zip((conn for conn, _ in fresh), client_ids, strict=True))

    def _send(self, rows: pa.Table) -> None:
        places = self._partitions.of(rows)
        rows, places = rows.filter(pa.array(places != NO_PLACE)), places[places != NO_PLACE]
        conn = int_column(rows, "conn", 0)
        sent = np.empty(len(places), SENT)
        sent["number"], sent["place"] = request_numbers(rows), places
        sent["sent_ns"] = int_column(rows, "ts_ns", 0)
        sent["created_ms"] = int_column(rows, "first_timestamp_ms", _UNTIMED)
        self._measure(conn, sent)
        has_records = int_column(rows, "n_batches", 0) > 0
        self._open = np.concatenate([self._open, sent[has_records]])[-_MOST_OPEN:]

    def _measure(self, conn: NDArray[np.int64], sent: NDArray[np.void]) -> None:
        """Adds batches to the clocks of their connections, and counts them."""
        n_new = int(conn.max(initial=-1)) + 1 - len(self._clock)
        if n_new > 0:
            fresh = np.zeros((n_new, self._clock.shape[1]), np.int64)
            fresh[:, 0] = UNKNOWN_DELAY
            self._clock = np.concatenate([self._clock, fresh])
        distance = np.where(sent["created_ms"] >= 0, sent["sent_ns"] - sent["created_ms"] * MILLISECOND, UNKNOWN_DELAY)
        measured = np.empty((len(conn), 2), np.int64)
        measure_clocks(conn, distance, CLOCK_EDGES_NS, self._clock, measured)
        sent["least_ns"], sent["ordinal"] = measured[:, 0], measured[:, 1]

    def _decides(self, rows: pa.Table) -> NDArray[np.bool_]:
        """Whether responses are about batches that were refused, or that may have waited: half of the time before they
        were sent, or half of it after."""
        decides = int_column(rows, "error_code", 0) != 0
        decides |= int_column(rows, "ts_ns", 0) - int_column(rows, "asked_ns", 0) >= LEAST_PAUSE_NS // 2
        is_old = self._may_have_waited(self._open, self._open["sent_ns"] + LEAST_PAUSE_NS // 2)
        if is_old.any():
            decides |= is_one_of(request_numbers(rows), np.sort(self._open["number"][is_old]))
        return np.asarray(decides, np.bool_)

    def _answer(self, rows: pa.Table) -> pa.Table | None:
        """Finds the batches that responses are about."""
        places, numbers = self._partitions.of(rows), request_numbers(rows)
        batch, answer = _pairs(self._open["number"], self._open["place"], numbers, places)
        sent = self._open[batch]
        answered_ns = int_column(rows, "ts_ns", 0)[answer]
        errors = int_column(rows, "error_code", 0)[answer]
        chosen = (errors != 0) | self._may_have_waited(sent, answered_ns)
        still_open = np.ones(len(self._open), np.bool_)
        still_open[batch] = False
        self._open = self._open[still_open]
        return self._table(sent[chosen], answered_ns[chosen], errors[chosen])

    def _may_have_waited(self, sent: NDArray[np.void], answered_ns: NDArray[np.int64]) -> NDArray[np.bool_]:
        is_timed = sent["created_ms"] >= 0
        age = answered_ns - sent["created_ms"] * MILLISECOND
        is_old = is_timed & (age - np.where(is_timed, sent["least_ns"], 0) >= LEAST_PAUSE_NS)
        is_old |= is_timed & (age >= LEAST_PAUSE_NS) & (sent["ordinal"] <= _ABSOLUTE_BATCHES)
        is_ahead = is_timed & (age < 0) & (sent["ordinal"] <= _FIRST_BATCHES)
        is_slow = answered_ns - sent["sent_ns"] >= LEAST_PAUSE_NS
        return np.asarray(is_slow | is_old | is_ahead, np.bool_)

    def _table(
        self, sent: NDArray[np.void], answered_ns: NDArray[np.int64], errors: NDArray[np.int64]
    ) -> pa.Table | None:
        """Batches with their outcome: answered_ns is null where there was no answer."""
        if not len(sent):
            return None
        columns = {
            "conn": pa.array(sent["number"] >> _NUMBER_BITS),
            "number": pa.array(sent["number"] & ((1 << _NUMBER_BITS) - 1)),
            **self._partitions.columns(np.ascontiguousarray(sent["place"])),
            **{name: pa.array(np.ascontiguousarray(sent[name])) for name in ("sent_ns", "created_ms")},
            "answered_ns": pa.array(answered_ns, mask=answered_ns < 0),
            "error_code": pa.array(errors.astype(np.int16)),
        }
        return pa.table(columns)


def _pairs(
    numbers: NDArray[np.int64], places: NDArray[np.int64], answered: NDArray[np.int64], named: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Which batches (request number and place) which answers (answered, named) are about: two indices. Requests come
    nearly in order, which makes sorting by them first fast."""
    by_number = np.concatenate([numbers, answered])
    order = np.argsort(by_number, kind="stable")
    request = np.cumsum(np.diff(by_number[order], prepend=by_number[order[:1]]) != 0)
    joint = request << _PLACE_BITS | np.concatenate([places, named])[order]
    again = np.argsort(joint, kind="stable")
    joint, at = joint[again], order[again]
    n = len(numbers)
    is_pair = (joint[1:] == joint[:-1]) & (at[:-1] < n) & (at[1:] >= n)
    return at[:-1][is_pair], at[1:][is_pair] - n
