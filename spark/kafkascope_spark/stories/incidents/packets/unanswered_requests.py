"""`UnansweredRequest`: a request to which a broker never sent a whole response, nor to any later request on its
connection."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import ClassVar

import pyarrow.dataset as ds

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.row_types import Row
from kafkascope_analyzer.dataset.stretches import FOREVER
from kafkascope_analyzer.dataset.table_rows import one_of, read
from kafkascope_analyzer.dataset.tables import CONNECTIONS, REQUESTS, UNDECODED
from kafkascope_analyzer.dataset.tables.connections import CLOSED_BY_CLIENT

_CUT_OFF = ["capture_end", "connection_end"]
"""Reasons of undecoded bytes at the end of a stream whose last frame was cut off."""


@dataclass(frozen=True, slots=True)
class _Connection(Row):
    TABLE: ClassVar[Table] = CONNECTIONS
    conn_id: str
    close_ns: int | None
    close_kind: str | None


@dataclass(frozen=True, slots=True)
class _Begun(Row):
    """A response that was cut off by the end of its connection or of the capture."""

    TABLE: ClassVar[Table] = UNDECODED
    conn_id: str
    ts_ns: int


@dataclass(frozen=True, slots=True)
class UnansweredRequest(Row):
    """A row of `requests` with the end of its connection. until_ns: when the connection ended, FOREVER if it did not;
    given_up: whether the client ended it."""

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
    group_id: str | None
    until_ns: int = FOREVER
    given_up: bool = False

    @property
    def server(self) -> str:
        """Address and port of the broker."""
        return f"{self.server_ip}:{self.server_port}"

    @property
    def has_begun(self) -> bool:
        """Whether the first bytes of its response came."""
        return self.response_ns is not None


def unanswered_requests(dataset: Dataset | None, until_ns: int, keys: Collection[int]) -> list[UnansweredRequest]:
    """Returns the unanswered requests of some APIs that clients sent by a time, in order of time; none without a
    dataset. Raises UsageError where a table cannot be read. Memory: these requests."""
    if dataset is None:
        return []
    sent = (ds.field("ts_ns") <= until_ns) & ds.field("api_key").isin(sorted(keys))
    cut_off = ds.field("reason").isin(_CUT_OFF) & (ds.field("direction") == "response")
    begun = {(row.conn_id, row.ts_ns) for row in read(dataset, _Begun, cut_off)}
    status = ds.field("status")
    failed = (status == "unanswered") | (status == "undecoded") if begun else status == "unanswered"
    rows = [
        row
        for row in read(dataset, UnansweredRequest, sent & failed)
        if row.status == "unanswered" or (row.conn_id, row.response_ns) in begun
        if row.replica_id is None or row.replica_id < 0
    ]
    conn_ids = sorted({row.conn_id for row in rows})
    ended = read(dataset, _Connection, one_of("conn_id", conn_ids)) if rows else ()
    until = {row.conn_id: row for row in ended if row.close_ns is not None}
    found = (row if (end := until.get(row.conn_id)) is None else _ended(row, end) for row in rows)
    return sorted(found, key=lambda row: (row.ts_ns, row.request_id))


def _ended(request: UnansweredRequest, end: _Connection) -> UnansweredRequest:
    given_up = end.close_kind in CLOSED_BY_CLIENT
    return replace(request, until_ns=end.close_ns or FOREVER, given_up=given_up)
