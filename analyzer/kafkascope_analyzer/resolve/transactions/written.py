"""`transaction_written`: the Produce requests of transactional producers, aggregated between the bounds of their
transactional id (InitProducerId, EndTxn, markers): one row for each connection and span, never one for each request.

A batch whose response was lost is sent again, and counts where its response is. Only the state machine, which has all
connections of a client, can decide that; so two sums are kept: of batches that responses accepted, and of batches that
they did not refuse.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.connections.identity import request_ids
from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.dataset.sorted_rows import first_of_runs
from kafkascope_analyzer.resolve.transactions.facts import TransactionFacts
from kafkascope_analyzer.scan.apis import int_column
from kafkascope_analyzer.scan.first_rows import first_rows
from kafkascope_analyzer.scan.transaction_apis import V2_PRODUCE, grouped, partition_texts
from kafkascope_parsers.api_keys import PRODUCE
from kafkascope_parsers.row_copies import joined_rows

DUPLICATE = 46
"""DUPLICATE_SEQUENCE_NUMBER: the broker has the batch already."""
_NONE = -1
_NO_ANSWER = -(1 << 15)
"""Stands for the error code where there is no response; -1 is one of Kafka's codes."""
_MOST = np.iinfo(np.int64).max
_PARTITION_BITS = 32
_NUMBER_BITS = 40
"""Requests of a connection are numbered below 2**40."""
_REQUESTS = np.dtype(
    [("key", "i8"), ("ts_ns", "i8"), ("answered_ns", "i8"), ("stretch", "i8"), ("id", "i4"), ("version", "i2")]
)
"""A Produce request: connection and number, the bounds before it, the code of its transactional id."""
_SENT = np.dtype([("request", "i4"), ("place", "i8"), ("batches", "i4"), ("records", "i8")])
_ANSWERED = np.dtype([("request", "i4"), ("place", "i8"), ("error", "i2"), ("offset", "i8")])
"""A topic-partition of a request and of its response. request: row of the requests; place: codes of topic and
partition."""


class _Entries(NamedTuple):
    """Topic-partitions of Produce requests, each once. group: number of the output row; request: row of the requests;
    error: _NO_ANSWER without a response; offset: _MOST where no response without error has one."""

    group: NDArray[np.int64]
    request: NDArray[np.int64]
    place: NDArray[np.int64]
    batches: NDArray[np.int64]
    records: NDArray[np.int64]
    error: NDArray[np.int64]
    offset: NDArray[np.int64]


class _Codes:
    """Numbers for texts, in the order of their first occurrence."""

    def __init__(self) -> None:
        self._code_of: dict[str, int] = {}

    def of(self, texts: pa.Array) -> NDArray[np.int64]:
        """Returns the number of each text."""
        coded = texts if pa.types.is_dictionary(texts.type) else texts.dictionary_encode()
        own = [self._code_of.setdefault(text, len(self._code_of)) for text in coded.dictionary.to_pylist()]
        return np.asarray(np.array([*own, 0], np.int64)[coded.indices.to_numpy()])

    def texts(self) -> pa.Array:
        """Returns the texts by number."""
        return pa.array(list(self._code_of), pa.string())


class WrittenStretches:
    """Aggregates the batches that transactional producers of one bucket write. conn_ids: connection ids by number."""

    def __init__(self, facts: TransactionFacts, conn_ids: pa.Array) -> None:
        self._facts, self._conn_ids = facts, conn_ids
        self._is_producer = np.zeros(len(conn_ids), np.bool_)
        self._ids, self._topics = _Codes(), _Codes()
        self._parts: list[NDArray[np.void]] = []
        self._requests = np.empty(0, _REQUESTS)
        self._sent: list[NDArray[np.void]] = []
        self._answered: list[NDArray[np.void]] = []
        self._error_names: dict[int, str] = {}

    def take_requests(self, rows: pa.Table) -> None:
        """Takes a batch of `requests`."""
        writes = pc.and_(pc.equal(rows["api_key"], PRODUCE), pc.is_valid(rows["transactional_id"]))
        some = rows.filter(pc.fill_null(writes, False))
        if not some.num_rows:
            return
        conn, times = some["conn"].to_numpy(), some["ts_ns"].to_numpy()
        part = np.empty(some.num_rows, _REQUESTS)
        part["key"] = conn << _NUMBER_BITS | some["number"].to_numpy()
        part["ts_ns"], part["answered_ns"] = times, int_column(some, "response_ns", _NONE)
        part["stretch"] = self._facts.stretches(flat(some["transactional_id"]), times)
        part["id"] = self._ids.of(flat(some["transactional_id"]))
        part["version"] = int_column(some, "api_version", _NONE)
        self._is_producer[conn] = True
        self._parts.append(part)

    def wants_partitions(self, api_key: int) -> NDArray[np.bool_] | None:
        """Returns whether each connection has transactional producers; None for messages without batches."""
        return self._is_producer if api_key == PRODUCE else None

    def take_partitions(self, rows: pa.Table, api_key: int, direction: str) -> None:
        """Takes a batch of `partitions`."""
        if self._parts:
            requests = joined_rows([self._requests, *self._parts])
            self._requests = requests.take(np.argsort(requests["key"], kind="stable"))
            self._parts = []
        conn, number = rows["conn"].to_numpy(), rows["number"].to_numpy()
        keys = conn << _NUMBER_BITS | number
        request = np.minimum(np.searchsorted(self._requests["key"], keys), len(self._requests) - 1)
        chosen = np.flatnonzero(self._is_producer[conn] & (self._requests["key"][request] == keys))
        if len(chosen):
            some = rows.take(pa.array(chosen))
            if direction == "request":
                self._take_sent(some, request[chosen])
            else:
                self._take_answers(some, request[chosen])

    def _take_sent(self, rows: pa.Table, request: NDArray[np.int64]) -> None:
        part = np.empty(rows.num_rows, _SENT)
        part["request"], part["place"] = request, self._places(rows)
        part["batches"], part["records"] = int_column(rows, "n_batches", 0), int_column(rows, "n_records", 0)
        self._sent.append(part)

    def _take_answers(self, rows: pa.Table, request: NDArray[np.int64]) -> None:
        part = np.empty(rows.num_rows, _ANSWERED)
        part["request"], part["place"] = request, self._places(rows)
        part["error"] = int_column(rows, "error_code", _NO_ANSWER)
        offsets = int_column(rows, "partition_offset", _MOST)
        part["offset"] = np.where(part["error"] == 0, offsets, _MOST)
        failed = rows.filter(pc.not_equal(rows["error_code"], 0)).select(["error_code", "error_name"])
        names = zip(*(failed[name].to_pylist() for name in failed.column_names), strict=True)
        self._error_names |= {code: name for code, name in set(names) if name is not None}
        self._answered.append(part)

    def _places(self, rows: pa.Table) -> NDArray[np.int64]:
        """Returns a number for each topic-partition; a topic without a name is identified by its id."""
        names, ids = (rows[name].cast(pa.string()).combine_chunks() for name in ("topic", "topic_id"))
        topics = pc.coalesce(names, ids, pa.scalar("?"))
        return self._topics.of(flat(topics)) << _PARTITION_BITS | int_column(rows, "partition", 0)

    def rows(self) -> pa.Table:
        """Returns all events: their keys and the columns of the struct."""
        if not self._sent and not self._answered:
            return pa.table({})
        entries = self._entries()
        first = np.flatnonzero(first_of_runs(entries.group))
        columns = self._sums(entries, first) | self._times(entries, first)
        columns |= self._partition_lists(entries)
        columns["errors"] = self._error_lists(entries, len(first))
        columns["seq"] = pa.array(np.zeros(len(first), np.int32))  # spans do not begin at the same time
        return pa.table(columns)

    def _entries(self) -> _Entries:
        """Returns requests and responses joined by request and topic-partition, sorted by group, topic-partition and
        time."""
        sent = joined_rows([np.empty(0, _SENT), *self._sent])
        answered = joined_rows([np.empty(0, _ANSWERED), *self._answered])
        self._sent, self._answered = [], []
        n = len(sent)
        request = np.concatenate([sent["request"], answered["request"]]).astype(np.int64)
        place = np.concatenate([sent["place"], answered["place"]])
        order = np.lexsort((place, request))
        begins = np.flatnonzero(first_of_runs(request[order], place[order]))

        def greatest(of_sent: str | None, of_answers: str | None, none: int) -> NDArray[np.int64]:
            """Returns the greatest value of each pair; none where there is no such row."""
            values = np.full(len(order), none, np.int64)
            if of_sent is not None:
                values[:n] = sent[of_sent]
            if of_answers is not None:
                values[n:] = answered[of_answers]
            return np.asarray(np.maximum.reduceat(values[order], begins)) if len(begins) else values

        offset = np.full(len(order), _MOST, np.int64)
        offset[n:] = answered["offset"]
        request, place = request[order][begins], place[order][begins]
        group = self._groups()[request]
        by_group = np.lexsort((self._requests["ts_ns"][request], place, group))
        columns = (
            group,
            request,
            place,
            greatest("batches", None, 0),
            greatest("records", None, 0),
            greatest(None, "error", _NO_ANSWER),
            np.minimum.reduceat(offset[order], begins),
        )
        return _Entries(*(column[by_group] for column in columns))

    def _groups(self) -> NDArray[np.int64]:
        """Returns the number of the connection, transactional id and span of each request."""
        requests = self._requests
        conn = requests["key"] >> _NUMBER_BITS
        order = np.lexsort((requests["stretch"], requests["id"], conn))
        begins = first_of_runs(conn[order], requests["id"][order], requests["stretch"][order])
        out = np.empty(len(requests), np.int64)
        out[order] = np.cumsum(begins) - 1
        return out

    def _sums(self, entries: _Entries, first: NDArray[np.int64]) -> dict[str, pa.Array]:
        answered = entries.error != _NO_ANSWER
        kept = answered & np.isin(entries.error, (0, DUPLICATE))
        sent = ~answered | kept
        counted = {
            "n_answered": answered.astype(np.int64),
            "kept_batches": np.where(kept, entries.batches, 0),
            "kept_records": np.where(kept, entries.records, 0),
            "sent_batches": np.where(sent, entries.batches, 0),
            "sent_records": np.where(sent, entries.records, 0),
        }
        out = {name: pa.array(np.add.reduceat(values, first)) for name, values in counted.items()}
        times = self._requests["answered_ns"][entries.request]
        earliest = np.minimum.reduceat(np.where(kept & (times != _NONE), times, _MOST), first)
        out["answered_ns"] = pa.array(earliest, mask=earliest == _MOST)
        return out

    def _times(self, entries: _Entries, first: NDArray[np.int64]) -> dict[str, pa.Array]:
        """Returns the keys of the events, their first and last requests, and the columns that depend on the version of
        Produce."""
        ends = np.append(first[1:], len(entries.group)) - 1
        order = np.lexsort((entries.request, self._requests["ts_ns"][entries.request], entries.group))
        begin, end = (self._requests[entries.request[order][at]] for at in (first, ends))
        conn = begin["key"] >> _NUMBER_BITS
        numbers = ((1 << _NUMBER_BITS) - 1) & np.stack([begin["key"], end["key"]])
        versions = np.maximum.reduceat(self._requests["version"][entries.request], first)
        return {
            "key": self._ids.texts().take(pa.array(begin["id"])),
            "conn_id": self._conn_ids.take(pa.array(conn)),
            "ts_ns": pa.array(np.ascontiguousarray(begin["ts_ns"])),
            "last_ns": pa.array(np.ascontiguousarray(end["ts_ns"])),
            "request_id": request_ids(self._conn_ids, conn, numbers[0]),
            "last_request_id": request_ids(self._conn_ids, conn, numbers[1]),
            "protocol": pa.array(["v1", "v2"]).take(pa.array((versions >= V2_PRODUCE).astype(np.int8))),
        }

    def _partition_lists(self, entries: _Entries) -> dict[str, pa.Array]:
        """Returns for each group its topic-partitions, sorted by name, and the first offset of each."""
        begins = np.flatnonzero(first_of_runs(entries.group, entries.place))
        group, place = entries.group[begins], entries.place[begins]
        topics = self._topics.texts().take(pa.array(place >> _PARTITION_BITS))
        texts = partition_texts(topics, pa.array((place & ((1 << _PARTITION_BITS) - 1)).astype(np.int32)))
        offsets = np.minimum.reduceat(entries.offset, begins)
        table = pa.table({"group": group, "text": texts, "offset": pa.array(offsets, mask=offsets == _MOST)})
        table = table.sort_by([("group", "ascending"), ("text", "ascending")])
        has_list = pa.array(np.ones(len(np.unique(group)), np.bool_))
        rank = pa.array(np.cumsum(first_of_runs(table["group"].to_numpy())) - 1)
        return {
            "partitions": grouped(flat(table["text"]), rank, has_list),
            "first_offsets": grouped(flat(table["offset"]), rank, has_list),
        }

    def _error_lists(self, entries: _Entries, n: int) -> pa.ListArray:
        """Returns for each group the distinct names of its errors, sorted."""
        rank = np.cumsum(first_of_runs(entries.group)) - 1
        refused = (entries.error != 0) & (entries.error != _NO_ANSWER)
        rows, codes = rank[refused], entries.error[refused]
        chosen = first_rows(rows, codes)
        names = pa.array([self._error_names.get(code) for code in codes[chosen].tolist()], pa.string())
        table = pa.table({"row": rows[chosen], "name": names}).drop_null()
        table = table.sort_by([("row", "ascending"), ("name", "ascending")])
        return grouped(flat(table["name"]), flat(table["row"]), pa.array(np.ones(n, np.bool_)))
