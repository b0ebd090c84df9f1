"""Finds the connections that bootstrapped a client: those that it opened, and on which it requested facts about the
cluster, before it knew the cluster.

The Java client numbers its requests over all connections from 0, so its bootstrap connection has the first of them
(NetworkClient.correlation; SASL requests have ids of their own). For other libraries a client is an address and a
client id, and counts as restarted when all of its connections had ended. Where several clients of one name run side by
side, a connection with only requests about the cluster is claimed to be a bootstrap, not proven.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.connections.bootstrapped import NEVER, NO, PROVEN, SASL_IDS_FROM, Asked, judge
from kafkascope_analyzer.connections.dictionary import DictionaryColumn, joined_columns, put_texts
from kafkascope_analyzer.connections.role_rules import BOOTSTRAP_APIS, HANDSHAKE_APIS
from kafkascope_parsers.broker_clients import is_broker
from kafkascope_parsers.schema import api_keys, api_name

JAVA = "apache-kafka-java"
REQUEST_COLUMNS = ["conn", "number", "ts_ns", "api_key", "correlation_id", "response_last_ns", "client_id"]
REQUEST_COLUMNS += ["software_name"]
_FIRST_REQUESTS = 16
"""Number of first requests of a connection from which its client is identified: the smallest correlation id is among
them."""
_ASKING = pa.array([key for key in api_keys() if api_name(key) in BOOTSTRAP_APIS], pa.int16())
_METADATA = next(key for key in api_keys() if api_name(key) == "Metadata")
_HARMLESS = pa.array([key for key in api_keys() if api_name(key) in BOOTSTRAP_APIS | HANDSHAKE_APIS], pa.int16())


_SPILLED = pa.schema(
    [
        ("conn_id", pa.string()),
        ("client_ip", pa.string()),
        ("first_ns", pa.int64()),
        ("last_ns", pa.int64()),
        ("seen_from_start", pa.bool_()),
    ]
)

BOOTSTRAP_SCHEMA = pa.schema(
    [
        ("conn", pa.int64()),
        ("is_proven", pa.bool_()),
        ("n_asked", pa.int64()),
        ("first_ns", pa.int64()),
        ("last_ns", pa.int64()),
        ("number", pa.int64()),
    ]
)
"""A connection that bootstrapped a client, and its requests about the cluster: their count, first and last time, and
the number of the first."""


class AskedRequests:
    """What the requests of each connection of a bucket show about its client.

    client_ids, software   what the earliest request with a client id, or with the name of the software, has
    asked_ns, last_asked_ns, number, n_asked   requests about the cluster: the first and the last, the number of the
                           first, and their count; asked_ns is NEVER where there are none
    metadata_ns, first_id, only_asked   as in bootstrapped.Asked
    """

    def __init__(self, n: int) -> None:
        self.client_ids, self.software = DictionaryColumn[str | None](n, None), DictionaryColumn[str | None](n, None)
        self.asked_ns, self.metadata_ns, self.number = (np.full(n, NEVER, np.int64) for _ in range(3))
        self.first_id = np.full(n, SASL_IDS_FROM, np.int64)
        self.last_asked_ns, self.n_asked = np.zeros(n, np.int64), np.zeros(n, np.int64)
        self.only_asked = np.ones(n, np.bool_)
        self._named, self._greeted = np.full(n, NEVER, np.int64), np.full(n, NEVER, np.int64)

    def note(self, rows: pa.Table) -> None:
        """Takes a batch of completed requests."""
        asked, harmless = pc.is_valid(rows["api_key"]), pc.is_in(rows["api_key"], _HARMLESS)
        self.only_asked[rows["conn"].filter(pc.and_not(asked, harmless)).to_numpy()] = False
        chosen = pc.and_(asked, pc.or_(harmless, pc.less(rows["number"], _FIRST_REQUESTS)))
        rows = rows.select(REQUEST_COLUMNS).filter(chosen)
        conn, number = rows["conn"].to_numpy(), rows["number"].to_numpy()
        self._note_times(rows, conn, number)
        software = pc.if_else(pc.equal(rows["software_name"], ""), None, rows["software_name"])
        _put_first(self.client_ids, self._named, (conn, number), rows["client_id"])
        _put_first(self.software, self._greeted, (conn, number), software)

    def _note_times(self, rows: pa.Table, conn: NDArray[np.int64], number: NDArray[np.int64]) -> None:
        """Takes the times and the correlation ids of requests."""
        ids, ts_ns = _numbers(rows["correlation_id"], -1), rows["ts_ns"].to_numpy()
        own = (ids >= 0) & (ids < SASL_IDS_FROM)
        np.minimum.at(self.first_id, conn[own], ids[own])
        asking = np.asarray(pc.is_in(rows["api_key"], _ASKING))
        np.minimum.at(self.asked_ns, conn[asking], ts_ns[asking])
        np.maximum.at(self.last_asked_ns, conn[asking], ts_ns[asking])
        np.minimum.at(self.number, conn[asking], number[asking])
        np.add.at(self.n_asked, conn[asking], 1)
        answered_ns = _numbers(rows["response_last_ns"], NEVER)
        answered = _numbers(rows["api_key"], -1) == _METADATA
        np.minimum.at(self.metadata_ns, conn[answered], answered_ns[answered])


def _joined(parts: Sequence[AskedRequests]) -> AskedRequests:
    """Returns the connections of several buckets, one bucket after the other."""
    found = AskedRequests(0)
    found.client_ids = joined_columns([each.client_ids for each in parts], None)
    found.software = joined_columns([each.software for each in parts], None)
    found.asked_ns = np.concatenate([found.asked_ns, *(each.asked_ns for each in parts)])
    found.last_asked_ns = np.concatenate([found.last_asked_ns, *(each.last_asked_ns for each in parts)])
    found.number = np.concatenate([found.number, *(each.number for each in parts)])
    found.n_asked = np.concatenate([found.n_asked, *(each.n_asked for each in parts)])
    found.metadata_ns = np.concatenate([found.metadata_ns, *(each.metadata_ns for each in parts)])
    found.first_id = np.concatenate([found.first_id, *(each.first_id for each in parts)])
    found.only_asked = np.concatenate([found.only_asked, *(each.only_asked for each in parts)])
    return found


class Askers:
    """The columns of the connections of all buckets that are needed to find bootstraps: some 200 bytes per connection.

    A connection's row is its number, counted consecutively over the buckets. buckets: spilled connections of each
    bucket; requests: what the requests of each bucket show.
    """

    def __init__(self, buckets: Sequence[pa.Table], requests: Sequence[AskedRequests]) -> None:
        selected = [bucket.select(_SPILLED.names) for bucket in buckets]
        self._rows = pa.concat_tables([_SPILLED.empty_table(), *selected]).combine_chunks()
        self._first_rows = np.concatenate([[0], np.cumsum([bucket.num_rows for bucket in buckets])]).astype(np.int64)
        self.client_ips = DictionaryColumn[str | None](self._rows.num_rows, None)
        put_texts(self.client_ips, np.arange(self._rows.num_rows), self._rows["client_ip"])
        self._asked = _joined(requests)

    @property
    def client_ids(self) -> DictionaryColumn[str | None]:
        """The client id of each connection."""
        return self._asked.client_ids

    def bootstraps(self) -> list[pa.Table]:
        """Returns the connections that bootstrapped a client, by bucket (BOOTSTRAP_SCHEMA)."""
        client = self._client()
        of_java = np.zeros(int(client.max(initial=-1)) + 1, np.bool_)
        of_java[client[self._asked.software.mapped(lambda name: name == JAVA, np.bool_).astype(np.bool_)]] = True
        verdicts = np.full(len(client), NO, np.uint8)
        first, last, from_start = (self._rows[name].to_numpy() for name in ("first_ns", "last_ns", "seen_from_start"))
        known = self._asked
        asked = Asked(first, last, from_start, known.asked_ns, known.metadata_ns, known.first_id, known.only_asked)
        judge(self._in_order(client), client, of_java, asked, verdicts)
        rows = np.flatnonzero(verdicts != NO)
        return [self._table(n, rows, verdicts[rows] == PROVEN) for n in range(len(self._first_rows) - 1)]

    def _client(self) -> NDArray[np.int64]:
        """Returns the number of the client of each row: an address and a client id."""
        pairs = self.client_ips.codes.astype(np.int64) * len(self.client_ids.values) + self.client_ids.codes
        return np.asarray(np.unique(pairs, return_inverse=True)[1], np.int64)

    def _in_order(self, client: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns the connections of clients, without brokers', client by client, in the order in which they were
        opened."""
        keys = [("first_ns", "ascending"), ("conn_id", "ascending")]
        order = pc.sort_indices(self._rows, sort_keys=keys).to_numpy().astype(np.int64)
        order = order[~self.client_ids.mapped(is_broker, np.bool_).astype(np.bool_)[order]]
        return np.asarray(order[np.argsort(client[order], kind="stable")])

    def _table(self, bucket: int, rows: NDArray[np.int64], is_proven: NDArray[np.bool_]) -> pa.Table:
        first, after = self._first_rows[bucket : bucket + 2]
        here = (rows >= first) & (rows < after) & (self._asked.asked_ns[rows] != NEVER)
        rows = rows[here]
        number = self._asked.number[rows]
        columns = (
            rows - first,
            is_proven[here],
            self._asked.n_asked[rows],
            self._asked.asked_ns[rows],
            self._asked.last_asked_ns[rows],
            np.where(number == NEVER, 0, number),
        )
        return pa.table([pa.array(values) for values in columns], BOOTSTRAP_SCHEMA)


def _put_first(
    texts: DictionaryColumn[str | None],
    numbers: NDArray[np.int64],
    requests: tuple[NDArray[np.int64], NDArray[np.int64]],
    values: pa.ChunkedArray,
) -> None:
    """Keeps the text of each connection's earliest request that has one. numbers: by connection, the number of the
    request whose text is kept; requests: connection and number of each request; values: its text, or null."""
    conn, number = requests
    has_text = np.asarray(values.is_valid())
    np.minimum.at(numbers, conn[has_text], number[has_text])
    first = np.flatnonzero(has_text & (numbers[conn] == number))
    texts.codes[conn[first]] = 0
    put_texts(texts, conn[first], values.take(pa.array(first)))


def _numbers(column: pa.ChunkedArray, none: int) -> NDArray[np.int64]:
    return np.asarray(column.cast(pa.int64()).fill_null(none).to_numpy(), np.int64)
