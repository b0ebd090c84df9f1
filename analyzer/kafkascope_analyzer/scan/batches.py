"""First pass: the batches that producers sent, each with its result in the response.

A batch is a topic-partition of a Produce request. Its request and its response are on one connection, so both are
joined here, once for each capture; the batch's times are compared with the clocks of all connections later.
"""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.scan.apis import int_column
from kafkascope_analyzer.scan.partitions import CODED_TEXT
from kafkascope_analyzer.scan.places import NO_PLACE, TopicPartitions
from kafkascope_analyzer.scan.service_kernels import NO_MATCH, match_requests
from kafkascope_analyzer.scan.unanswered import is_one_of, number_parts, pick_unanswered, request_numbers
from kafkascope_parsers.api_keys import PRODUCE
from kafkascope_parsers.machine.arrow import fixed
from kafkascope_parsers.row_copies import joined_rows

Longs = NDArray[np.int64]
BATCHES = "facts.batches"
"""Spilled table: one row for each topic-partition in a Produce response, and one for each in a request that was never
answered. conn, number, topic, topic_id, partition; ts_ns: time of the response, null without one; partition_offset,
error_code: from the response; sent_ns, n_records, record_bytes, first_timestamp_ms and max_timestamp_ms: from the
request, null where the capture does not have it, or where it has no records."""
_MOST_OPEN = 1 << 19
"""Most batches that wait for their response. The number of waiting requests is limited too, but each may have thousands
of batches."""
_OF_REQUEST = ("sent_ns", "n_records", "record_bytes", "first_timestamp_ms", "max_timestamp_ms")
_OPEN = np.dtype([(name, np.int64) for name in ("number", "place", *_OF_REQUEST)])
"""A batch that waits for its response: number of connection and request (unanswered.request_numbers), topic-partition,
and the columns of the request, _UNKNOWN where one is null."""
_OF_RESPONSE = ("conn", "number", "topic", "topic_id", "partition", "ts_ns", "partition_offset", "error_code")
_UNKNOWN = -1


class ProducedBatches:
    """Follows the batches of one bucket. Memory: seven numbers for each batch that waits for its response."""

    def __init__(self) -> None:
        self._partitions = TopicPartitions()
        self._open = np.empty(0, _OPEN)

    def take(self, rows: pa.Table, api_key: int, direction: str) -> pa.Table | None:
        """Takes the partitions in messages of one kind (message_rows.NamedPartitions); returns rows of BATCHES."""
        if api_key != PRODUCE or not rows.num_rows:
            return None
        numbers, places = request_numbers(rows), self._partitions.of(rows)
        if direction == "request":
            self._add(rows, numbers, places)
            return None
        return self._answered(rows, numbers, places)

    def settle(self, settled: pa.Table) -> pa.Table | None:
        """Takes completed requests (scan.exchanges.SETTLED_SCHEMA), after the responses to them, so that no further
        response will come. Returns the batches of those that were never answered."""
        is_produce = int_column(settled, "api_key", -1) == PRODUCE
        if not len(self._open) or not is_produce.any():
            return None
        is_settled = self._is_of(np.sort(request_numbers(settled)[is_produce]))
        waits = pick_unanswered(settled)
        lost = self._open[:0] if waits is None else self._open.compress(self._is_of(np.sort(request_numbers(waits))))
        self._open = self._open.compress(~is_settled)
        return self._lost(lost) if len(lost) else None

    def _is_of(self, numbers: Longs) -> NDArray[np.bool_]:
        """Whether each batch belongs to one of these requests, which are sorted."""
        return is_one_of(np.ascontiguousarray(self._open["number"]), numbers)

    def _add(self, rows: pa.Table, numbers: Longs, places: Longs) -> None:
        """Adds the batches of requests that have records."""
        sent = np.empty(rows.num_rows, _OPEN)
        sent["number"], sent["place"], sent["sent_ns"] = numbers, places, int_column(rows, "ts_ns", _UNKNOWN)
        for name in _OF_REQUEST[1:]:
            sent[name] = int_column(rows, name, _UNKNOWN)
        chosen = (sent["n_records"] > 0) & (places != NO_PLACE)
        sent = sent if chosen.all() else sent.compress(chosen)
        self._open = (joined_rows([self._open, sent]) if len(self._open) else sent)[-_MOST_OPEN:]

    def _answered(self, rows: pa.Table, numbers: Longs, places: Longs) -> pa.Table:
        """Returns the batches in responses, with the columns of the requests; these batches no longer wait."""
        matches = _matches(self._open, numbers, places)
        is_matched = matches != NO_MATCH
        found = self._open.take(matches) if is_matched.all() else self._or_unknown(matches)
        still_open = np.ones(len(self._open), np.bool_)
        still_open[matches[is_matched]] = False
        self._open = self._open.compress(still_open)
        return pa.table({name: rows[name] for name in _OF_RESPONSE} | _request_columns(found))

    def _or_unknown(self, matches: Longs) -> NDArray[np.void]:
        """Returns the batch of each response; one with unknown columns where matches has NO_MATCH."""
        known = joined_rows([self._open, np.full(1, _UNKNOWN, _OPEN)])
        return known.take(np.where(matches != NO_MATCH, matches, len(self._open)))

    def _lost(self, lost: NDArray[np.void]) -> pa.Table:
        """Returns rows of batches that were never answered."""
        conn, number = number_parts(np.ascontiguousarray(lost["number"]))
        columns = {"conn": pa.array(conn), "number": pa.array(number)}
        columns |= self._partitions.columns(np.ascontiguousarray(lost["place"]))
        for name in ("topic", "topic_id"):
            columns[name] = columns[name].dictionary_encode().cast(CODED_TEXT)
        nulls = {"ts_ns": pa.int64(), "partition_offset": pa.int64(), "error_code": pa.int16()}
        columns |= {name: pa.nulls(len(lost), kind) for name, kind in nulls.items()}
        return pa.table(columns | _request_columns(lost))


def _request_columns(batches: NDArray[np.void]) -> dict[str, pa.Array]:
    """Returns the columns of requests, null where a value is _UNKNOWN."""
    columns = {name: np.ascontiguousarray(batches[name]) for name in _OF_REQUEST}
    return {name: fixed(values, values == _UNKNOWN, pa.int64()) for name, values in columns.items()}


def _matches(sent: NDArray[np.void], numbers: Longs, places: Longs) -> Longs:
    """Returns the row of `sent` with the number and topic-partition of each response, or NO_MATCH."""
    pairs = np.stack([sent["number"], sent["place"]], 1)
    answered = np.stack([numbers, places], 1)
    table = np.full(1 << max(2 * len(sent), 16).bit_length(), NO_MATCH)
    matches = np.empty(len(numbers), np.int64)
    match_requests(pairs, answered, table, matches)
    return matches
