"""Events of the kinds whose key is a server: who talked to it, who waited for it, and when it sent packets."""

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.connections.identity import request_ids
from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.dataset.tables.events import KINDS, MOMENT, WHOLE
from kafkascope_analyzer.resolve.bucket_context import BucketContext
from kafkascope_analyzer.resolve.event_source import EventSource, MessageReader, event_table
from kafkascope_analyzer.resolve.server_waits import LAYERS

SERVER = "server"
"""A key kind."""


class ServerEvents(EventSource):
    """Makes events of servers, of the rows that are gathered between the passes (ServerRows)."""

    def __init__(self, context: BucketContext) -> None:
        self._servers = context.shared.servers
        self._conn_ids = flat(context.connections["conn_id"])

    def finish(self, connections: pa.Table, read_messages: MessageReader) -> Iterator[pa.Table]:
        """The rows of the bucket's connections."""
        for make, rows in (
            (_host_events, self._servers.hosts),
            (_connection_events, self._servers.lost),
            (_wait_events, self._servers.waits),
            (_sign_events, self._servers.signs),
        ):
            mine = rows.filter(pc.is_in(rows["conn_id"], self._conn_ids))
            if mine.num_rows:
                yield make(mine)


def _host_events(rows: pa.Table) -> pa.Table:
    return _events("server_host", rows, {"ts_ns": rows["met_ns"], "packet_no": rows["first_packet"]})


def _connection_events(rows: pa.Table) -> pa.Table:
    names = {
        "began_ns": "first_ns",
        "began_packet": "first_packet",
        "ended_ns": "last_ns",
        "ended_packet": "last_packet",
    }
    rows = rows.rename_columns([names.get(name, name) for name in rows.column_names])
    return _events("server_connection", rows, {"ts_ns": rows["last_ns"], "packet_no": rows["last_packet"]})


def _wait_events(rows: pa.Table) -> pa.Table:
    conn_ids, number = flat(rows["conn_id"]), rows["number"].to_numpy()
    ids = request_ids(conn_ids, np.arange(len(conn_ids)), number)
    names = {"asked_ns": "first_ns", "asked_packet": "first_packet", "until_packet": "until_packet_no"}
    rows = rows.rename_columns([names.get(name, name) for name in rows.column_names])
    rows = rows.append_column("request_id", pc.if_else(pc.greater_equal(rows["number"], 0), ids, None))
    order = np.where(number >= 0, number + len(LAYERS), pc.index_in(rows["layer"], pa.array(LAYERS)).to_numpy())
    keys = {"ts_ns": rows["first_ns"], "packet_no": rows["first_packet"], "seq": pa.array(order)}
    return _events("server_wait", rows, keys)


def _sign_events(rows: pa.Table) -> pa.Table:
    keys = {"ts_ns": rows["first_ns"], "packet_no": rows["first_packet"], "seq": rows["order"]}
    return _events("life_sign", rows, keys)


def _events(kind: str, rows: pa.Table, keys: Mapping[str, pa.ChunkedArray | pa.Array]) -> pa.Table:
    """Rows of one kind. keys: ts_ns, and packet_no and seq where they are not 0."""
    n = rows.num_rows
    zero = pa.array(np.zeros(n, np.int64))
    section = WHOLE if kind == "server_host" else MOMENT
    columns = {
        "key_kind": pa.repeat(SERVER, n),
        "key": flat(rows["key"]),
        "client_ip": flat(rows["host"]).fill_null(""),
        "section": pa.repeat(pa.scalar(section, pa.int8()), n),
        "conn_id": flat(rows["conn_id"]),
        **{name: flat(keys[name]).fill_null(0) if name in keys else zero for name in ("ts_ns", "packet_no", "seq")},
    }
    columns["seq"] = columns["seq"].cast(pa.int32())
    body = {
        name.replace("_packet", "_packet_no") if name.endswith("_packet") else name: rows[name]
        for name in rows.column_names
    }
    fields = list(KINDS[kind])
    arrays = [flat(body[field.name]).cast(field.type) for field in fields]
    return event_table(kind, columns, pa.StructArray.from_arrays(arrays, fields=fields))
