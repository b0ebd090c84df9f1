"""Columns of transactions' events: their keys and order, and the struct of their kind."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.dataset.sorted_rows import rank_in_group
from kafkascope_analyzer.dataset.tables.event_kinds.event import Event
from kafkascope_analyzer.resolve.event_source import EventPlace, event_table

SLICE_ROWS = 1 << 15
"""Most events that are written at a time: each has the columns of all kinds, most of them null."""
_PLACE_BITS, _NUMBER_BITS = 16, 15
"""Bits of seq for the index in the message, and for the number of the request. seq only orders events of one connection
that have the same time."""


def with_seq(rows: pa.Table, order: list[str]) -> pa.Table:
    """Sorts rows by connection, time and order, and adds seq: the position of a row among those of its connection that
    have the same time."""
    ordered = rows.sort_by([(name, "ascending") for name in ("conn_id", "ts_ns", *order)])
    codes = flat(ordered["conn_id"]).dictionary_encode().indices.to_numpy()
    seq = rank_in_group(codes, ordered["ts_ns"].to_numpy())
    return ordered.append_column("seq", pa.array(seq.astype(np.int32)))


def seq_of(numbers: pa.Array, places: pa.Array | None = None) -> pa.Array:
    """Returns seq of events of requests: by the request's number on the connection, then by the index in
    its message."""
    number = numbers.to_numpy() & ((1 << _NUMBER_BITS) - 1)
    place = 0 if places is None else np.minimum(places.to_numpy(), (1 << _PLACE_BITS) - 1)
    return pa.array((number << _PLACE_BITS | place).astype(np.int32))


def events_of_kind(kind: type[Event], rows: pa.Table, connections: pa.Table | None) -> pa.Table:
    """Returns rows of `events`. rows: key, ts_ns, conn_id, seq, the columns of the kind's struct, possibly packet_no
    and client_ip. connections: conn_id and client_ip of the bucket's connections, for rows without client_ip."""
    body = {name: rows[name] for name in rows.column_names}
    if connections is None or "client_ip" in body:
        client_ip = body["client_ip"]
    else:
        which = pc.index_in(flat(rows["conn_id"]), flat(connections["conn_id"]))
        client_ip = flat(connections["client_ip"]).take(which)
    conn_id, packet_no = body["conn_id"], body.get("packet_no")
    place = EventPlace(body["key"], client_ip, conn_id, body["ts_ns"], packet_no, body["seq"])
    return event_table(kind, place, body)
