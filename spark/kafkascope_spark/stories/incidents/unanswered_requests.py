"""`UnansweredRequest`: a request to which a broker never sent a whole response, nor to any later one of its
connection."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow.compute as pc
import pyarrow.dataset as ds

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.row_types import Row
from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_analyzer.dataset.table_rows import one_of, read, scan
from kafkascope_analyzer.dataset.tables import CONNECTIONS, REQUESTS, UNDECODED

_CUT_OFF = ["capture_end", "connection_end"]
"""Reasons why the last bytes of a stream are no frame: it has not ended."""


@dataclass(frozen=True, slots=True)
class _Request(Row):
    TABLE: ClassVar[Table] = REQUESTS
    request_id: str
    conn_id: str
    api_key: int
    api_name: str
    ts_ns: int
    client_ip: str
    client_id: str | None
    node_id: int | None
    server_ip: str
    server_port: int
    replica_id: int | None
    request_packet_no: int | None
    status: str
    response_ns: int | None


@dataclass(frozen=True, slots=True)
class _Connection(Row):
    TABLE: ClassVar[Table] = CONNECTIONS
    conn_id: str
    close_ns: int | None


@dataclass(frozen=True, slots=True)
class _Begun(Row):
    """A response that the end of its connection, or of the capture, cut off."""

    TABLE: ClassVar[Table] = UNDECODED
    conn_id: str
    ts_ns: int


@dataclass(frozen=True, slots=True)
class UnansweredRequest:
    """request_id, api_key, api_name, client_ip, client_id, node_id, server, packet_no: as in `requests`; since_ns:
    when it was sent; until_ns: when its connection ended, FOREVER where it did not; has_begun: whether the first bytes
    of its response came."""

    request_id: str
    api_key: int
    api_name: str
    client_ip: str
    client_id: str | None
    node_id: int
    server: str
    packet_no: int | None
    since_ns: int
    until_ns: int
    has_begun: bool = False


def unanswered_requests(dataset: Dataset | None, until_ns: int, keys: Collection[int]) -> list[UnansweredRequest]:
    """The requests of some APIs that clients sent to known nodes by a time, in order of time. dataset: None where there
    is none. Raises UsageError where a table cannot be read. Memory: these requests."""
    if dataset is None:
        return []
    sent = (ds.field("ts_ns") <= until_ns) & ds.field("api_key").isin(sorted(keys))
    cut_off = ds.field("reason").isin(_CUT_OFF) & (ds.field("direction") == "response")
    begun = {(row.conn_id, row.ts_ns) for row in read(dataset, _Begun, cut_off)}
    statuses = ["unanswered", *(["undecoded"] if begun else [])]
    rows = [
        row
        for row in read(dataset, _Request, sent & ds.field("status").isin(statuses))
        if row.status == "unanswered" or (row.conn_id, row.response_ns) in begun
        if row.node_id is not None and (row.replica_id is None or row.replica_id < 0)
    ]
    if not rows:
        return []
    ended = read(dataset, _Connection, one_of("conn_id", sorted({row.conn_id for row in rows})))
    until = {row.conn_id: row.close_ns for row in ended}
    found = [
        UnansweredRequest(
            row.request_id,
            row.api_key,
            row.api_name,
            row.client_ip,
            row.client_id,
            row.node_id,
            f"{row.server_ip}:{row.server_port}",
            row.request_packet_no,
            row.ts_ns,
            until.get(row.conn_id) or FOREVER,
            row.status != "unanswered",
        )
        for row in rows
        if row.node_id is not None
    ]
    return sorted(found, key=lambda row: (row.since_ns, row.request_id))


def answered(dataset: Dataset | None, spans: Sequence[tuple[int, int, int]]) -> list[int]:
    """How many requests of clients each node answered meanwhile. spans: node id, from when, to when. Raises UsageError
    where a table cannot be read."""
    found = [0] * len(spans)
    if dataset is None or not spans:
        return found
    starts = np.array([span[1] for span in spans])
    ends = np.array([min(span[2], FOREVER) for span in spans])
    meanwhile = (ds.field("response_ns") >= int(starts.min())) & (ds.field("response_ns") <= int(ends.max()))
    for batch in scan(dataset, REQUESTS, ["node_id", "replica_id", "response_ns"], meanwhile):
        of_clients = batch.filter(pc.less(pc.fill_null(batch["replica_id"], -1), 0)).sort_by("response_ns")
        times, nodes = of_clients["response_ns"].to_numpy(), of_clients["node_id"].fill_null(-1).to_numpy()
        first, last = np.searchsorted(times, starts), np.searchsorted(times, ends, "right")
        for at in np.flatnonzero(first < last).tolist():
            found[at] += int(np.count_nonzero(nodes[first[at] : last[at]] == spans[at][0]))
    return found
