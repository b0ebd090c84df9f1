"""The cluster ids in messages of each connection: of Metadata, DescribeCluster, KRaft's APIs, ApiVersions, and all
others with a field `cluster_id`.

There is a row for the first occurrence of an id on a connection, and for each change to another id. The ids also
separate facts about different clusters: node 1 of one cluster is not node 1 of another.
"""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.scan.first_rows import first_rows
from kafkascope_analyzer.scan.request_facts import nodes_of
from kafkascope_parsers.exchanges import Messages
from kafkascope_parsers.growing import Growing
from kafkascope_parsers.machine.arrow import strings

CLUSTER_IDS = "facts.cluster_ids"
"""Spilled table: CLUSTER_IDS_SCHEMA."""
CLUSTER_IDS_SCHEMA = pa.schema(
    [("conn", pa.int64()), ("cluster_id", pa.string()), ("ts_ns", pa.int64()), ("in_response", pa.bool_())]
)
MOST_ID_BYTES = 256
"""Longest cluster id in bytes: Kafka's own have 22 characters, and each row of many tables repeats it."""
NO_ID = -1
_REQUEST, _RESPONSE = range(2)


class ClusterIds:
    """Notes cluster ids; `take` returns those since the last call. Memory: 16 bytes for each connection."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._last = tuple(Growing(np.int64) for _ in (_REQUEST, _RESPONSE))
        self._found = [CLUSTER_IDS_SCHEMA.empty_table()]

    def open_connections(self, n: int) -> None:
        """Adds n connections."""
        for last in self._last:
            last.add(np.full(n, NO_ID))

    def note(self, messages: Messages) -> None:
        """Takes decoded messages of an API and direction."""
        columns = messages.columns
        for node in nodes_of(columns.message, ("cluster_id",)):
            lengths = columns.lengths(node) if columns.has(node) else np.empty(0, np.int32)
            rows = np.flatnonzero((lengths > 0) & (lengths <= MOST_ID_BYTES))
            if len(rows):
                self._note(messages, rows, strings(columns, node).take(pa.array(rows)).dictionary_encode())

    def _note(self, messages: Messages, rows: NDArray[np.int64], ids: pa.DictionaryArray) -> None:
        """Notes the ids of some messages."""
        in_response = messages.message.direction == "response"
        last = self._last[_RESPONSE if in_response else _REQUEST].rows
        numbers = [self._numbers.setdefault(each, len(self._numbers)) for each in ids.dictionary.to_pylist()]
        conns, number = messages.connections[rows], np.array(numbers, np.int64)[ids.indices.to_numpy()]
        fresh = np.flatnonzero(last[conns] != number)
        if not len(fresh):
            return
        last[conns] = number
        chosen = fresh[np.sort(first_rows(conns[fresh], number[fresh]))]
        texts, ts_ns = ids.take(pa.array(chosen)).dictionary_decode(), messages.frames["ts_ns"][rows[chosen]]
        arrays = [pa.array(conns[chosen]), texts, pa.array(ts_ns), pa.repeat(in_response, len(chosen))]
        self._found.append(pa.table(arrays, CLUSTER_IDS_SCHEMA))

    def take(self) -> pa.Table:
        """Returns the rows since the last call (CLUSTER_IDS_SCHEMA)."""
        found, self._found = self._found, self._found[:1]
        return pa.concat_tables(found)

    def numbers_of(self, connections: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns a number for the id that was last in responses on each connection, or else in requests; NO_ID where
        there was none."""
        asked, answered = (last.rows[connections] for last in self._last)
        return np.where(answered != NO_ID, answered, asked)
