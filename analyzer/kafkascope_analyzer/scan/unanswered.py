"""Picks requests for records that were never answered because their connection failed: they show the failure of a
broker on the partitions that it led.

Whether the end of a connection is a failure is decided by the state machines, with all facts about it. This module
picks possible failures: the server ended the connection, or the client did long after the response was due, or while it
waited for Produce.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.tables import REQUEST_STATUSES
from kafkascope_analyzer.dataset.tables.connections import CLOSED_BY_SERVER
from kafkascope_analyzer.dataset.tables.event_kinds.requests import OVERDUE_NS
from kafkascope_analyzer.scan.apis import RECORD_APIS, ApiSet, int_column
from kafkascope_analyzer.scan.spill import read_spill
from kafkascope_parsers.api_keys import PRODUCE

UNANSWERED = "facts.unanswered"
UNANSWERED_PARTITIONS = "facts.unanswered_partitions"
UNANSWERED_COLUMNS = ["conn", "number", "api_key", "request_last_ns"]
_STATUS = REQUEST_STATUSES.index("unanswered")
_BY_SERVER = pa.array(CLOSED_BY_SERVER)
_RECORDS = ApiSet(RECORD_APIS)
_NUMBER_BITS = 36
MOST_NUMBER = (1 << _NUMBER_BITS) - 1
"""Mask of the bits of request_numbers for the number on the connection."""
_PARTITION_COLUMNS = ["conn", "number", "ts_ns", "topic", "topic_id", "partition"]


def pick_unanswered(settled: pa.Table) -> pa.Table | None:
    """Returns the completed requests for records that got no response (UNANSWERED_COLUMNS)."""
    waits = int_column(settled, "status", 0) == _STATUS
    return only_for_records(settled, waits) if waits.any() else None


def only_for_records(requests: pa.Table, waits: NDArray[np.bool_]) -> pa.Table | None:
    """Returns the waiting requests for records (UNANSWERED_COLUMNS); None where there are none."""
    waits = waits & _RECORDS.has(int_column(requests, "api_key", -1))
    return requests.select(UNANSWERED_COLUMNS).filter(pa.array(waits)) if waits.any() else None


def of_failed_connections(unanswered: pa.Table, connections: pa.Table) -> NDArray[np.int64]:
    """Returns the sorted numbers (request_numbers) of the requests whose connection may have failed. connections:
    close_kind and close_ns by number of the connection."""
    conn = int_column(unanswered, "conn", 0)
    ends = connections.select(["close_kind", "close_ns"]).take(pa.array(conn))
    close_ns = int_column(ends, "close_ns", 0)
    by_server = np.asarray(pc.is_in(ends["close_kind"], _BY_SERVER))
    is_late = close_ns - int_column(unanswered, "request_last_ns", 0) > OVERDUE_NS
    failed = (close_ns > 0) & (by_server | is_late | (int_column(unanswered, "api_key", -1) == PRODUCE))
    return np.sort(request_numbers(unanswered)[failed])


def request_numbers(rows: pa.Table) -> NDArray[np.int64]:
    """Returns one number for connection and request of each row."""
    return np.asarray((int_column(rows, "conn", 0) << _NUMBER_BITS) | int_column(rows, "number", 0))


def number_parts(numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns the connections and the requests of request_numbers."""
    return numbers >> _NUMBER_BITS, numbers & MOST_NUMBER


def is_one_of(numbers: NDArray[np.int64], known: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each number is among the known ones, which are sorted."""
    if not len(known):
        return np.zeros(len(numbers), np.bool_)
    at = np.minimum(np.searchsorted(known, numbers), len(known) - 1)
    return np.asarray(known[at] == numbers, np.bool_)


def unanswered_partitions(spill: Path) -> pa.Table | None:
    """Returns the topic-partitions in such requests of a scanned bucket: conn, number, ts_ns, topic, topic_id,
    partition; None where there are none."""
    waiting = list(read_spill(spill, UNANSWERED))
    if not waiting:
        return None
    connections = pa.concat_tables(read_spill(spill, "connections", ["close_kind", "close_ns"]))
    numbers = of_failed_connections(pa.concat_tables(waiting), connections)
    if not len(numbers):
        return None
    found = []
    for api_key in sorted(RECORD_APIS):
        for rows in read_spill(spill, f"partitions.{api_key}.request", _PARTITION_COLUMNS):
            named = rows.select(_PARTITION_COLUMNS).filter(pa.array(is_one_of(request_numbers(rows), numbers)))
            columns = [column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column for column in named]
            found.append(pa.table(columns, _PARTITION_COLUMNS))
    return pa.concat_tables(found) if found else None
