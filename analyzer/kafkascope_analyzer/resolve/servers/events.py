"""Events of the kinds whose key is a server: the hosts that talked to it, the hosts that waited for it, and when it
sent packets."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.connections.identity import request_ids
from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.dataset.tables.event_kinds.event import Event
from kafkascope_analyzer.dataset.tables.event_kinds.servers import (
    HostSilence,
    LifeSign,
    LostFlows,
    PacketDelay,
    PacketLoss,
    ServerConnection,
    ServerHost,
    ServerWait,
    SlowHost,
    SlowProcess,
)
from kafkascope_analyzer.resolve.bucket_context import BucketContext
from kafkascope_analyzer.resolve.event_source import EventPlace, EventSource, MessageReader, event_table
from kafkascope_analyzer.resolve.servers.losses import SENDERS
from kafkascope_analyzer.resolve.servers.waits import LAYERS


class ServerEvents(EventSource):
    """Makes events of servers from the rows that are gathered between the passes (ServerRows)."""

    KINDS = (
        ServerHost,
        PacketLoss,
        PacketDelay,
        SlowProcess,
        SlowHost,
        LostFlows,
        HostSilence,
        ServerConnection,
        ServerWait,
        LifeSign,
    )

    def __init__(self, context: BucketContext) -> None:
        self._servers = context.shared.servers
        self._conn_ids = flat(context.connections["conn_id"])

    def finish(self, connections: pa.Table, read_messages: MessageReader) -> Iterator[pa.Table]:
        """Yields the rows of the bucket's connections."""
        for make, rows in (
            (_host_events, self._servers.hosts),
            (_loss_events, self._servers.losses),
            (_delay_events, self._servers.delays),
            (_slow_events, self._servers.slow),
            (_slow_host_events, self._servers.slow_hosts),
            (_lost_flow_events, self._servers.lost_flows),
            (_silence_events, self._servers.absent),
            (_connection_events, self._servers.lost),
            (_wait_events, self._servers.waits),
            (_sign_events, self._servers.signs),
        ):
            mine = rows.filter(pc.is_in(rows["conn_id"], self._conn_ids))
            if mine.num_rows:
                yield make(mine)


def _host_events(rows: pa.Table) -> pa.Table:
    return _events(ServerHost, rows, "met_ns", "first_packet")


def _loss_events(rows: pa.Table) -> pa.Table:
    return _events(PacketLoss, rows, "first_ns", "first_packet", pc.index_in(rows["sender"], pa.array(SENDERS)))


def _delay_events(rows: pa.Table) -> pa.Table:
    return _events(PacketDelay, rows, "first_ns", "first_packet", pc.index_in(rows["sender"], pa.array(SENDERS)))


def _slow_events(rows: pa.Table) -> pa.Table:
    return _events(SlowProcess, rows, "first_ns", "first_packet")


def _slow_host_events(rows: pa.Table) -> pa.Table:
    return _events(SlowHost, rows, "first_ns", "first_packet")


def _lost_flow_events(rows: pa.Table) -> pa.Table:
    return _events(LostFlows, rows, "first_ns", "first_packet")


def _silence_events(rows: pa.Table) -> pa.Table:
    return _events(HostSilence, rows, "first_ns", "first_packet")


def _connection_events(rows: pa.Table) -> pa.Table:
    names = {
        "began_ns": "first_ns",
        "began_packet": "first_packet",
        "ended_ns": "last_ns",
        "ended_packet": "last_packet",
    }
    rows = rows.rename_columns([names.get(name, name) for name in rows.column_names])
    return _events(ServerConnection, rows, "last_ns", "last_packet")


def _wait_events(rows: pa.Table) -> pa.Table:
    conn_ids, number = flat(rows["conn_id"]), rows["number"].to_numpy()
    ids = request_ids(conn_ids, np.arange(len(conn_ids)), number)
    names = {"asked_ns": "first_ns", "asked_packet": "first_packet", "until_packet": "until_packet_no"}
    rows = rows.rename_columns([names.get(name, name) for name in rows.column_names])
    rows = rows.append_column("request_id", pc.if_else(pc.greater_equal(rows["number"], 0), ids, None))
    order = np.where(number >= 0, number + len(LAYERS), pc.index_in(rows["layer"], pa.array(LAYERS)).to_numpy())
    return _events(ServerWait, rows, "first_ns", "first_packet", pa.array(order))


def _sign_events(rows: pa.Table) -> pa.Table:
    return _events(LifeSign, rows, "first_ns", "first_packet", rows["order"])


def _events(kind: type[Event], rows: pa.Table, ts_ns: str, packet_no: str, seq: pa.Array | None = None) -> pa.Table:
    """Returns rows of one kind. ts_ns, packet_no: the columns with their time and the packet that shows them."""
    host, at_ns = flat(rows["host"]).fill_null(""), flat(rows[ts_ns]).fill_null(0)
    place = EventPlace(rows["key"], host, rows["conn_id"], at_ns, rows[packet_no], seq)
    body = {f"{name}_no" if name.endswith("_packet") else name: rows[name] for name in rows.column_names}
    return event_table(kind, place, body)
