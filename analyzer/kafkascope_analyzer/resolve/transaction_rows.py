"""Columns of transactions' events: their keys and order, and the struct of their kind."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.tables.events import KINDS, MOMENT
from kafkascope_analyzer.resolve.event_source import event_table

SLICE_ROWS = 1 << 15
"""Events that are written at a time: each has the columns of all kinds, most of them null."""
_KEYS = ("key", "ts_ns", "conn_id", "seq")
"""Columns of `events` that makers of a kind return beside the columns of its struct; packet_no too, where events have
a packet of their own."""
_PLACE_BITS, _NUMBER_BITS = 16, 15
"""Bits of seq for the place in the message, and for the number of the request. seq only orders events of one connection
that have the same time."""


def with_seq(rows: pa.Table, order: list[str]) -> pa.Table:
    """Sorts rows by connection, time and order, and adds seq: the place of a row among those of its connection that
    have the same time."""
    ordered = rows.sort_by([(name, "ascending") for name in ("conn_id", "ts_ns", *order)])
    codes = flat(ordered, "conn_id").dictionary_encode().indices.to_numpy()
    is_first = first_of_runs(codes, ordered["ts_ns"].to_numpy())
    index = np.arange(len(codes))
    seq = index - np.maximum.accumulate(np.where(is_first, index, 0))
    return ordered.append_column("seq", pa.array(seq.astype(np.int32)))


def seq_of(numbers: pa.Array, places: pa.Array | None = None) -> pa.Array:
    """seq of events of requests: by the request's number on the connection, then by place in its message."""
    number = numbers.to_numpy() & ((1 << _NUMBER_BITS) - 1)
    place = 0 if places is None else np.minimum(places.to_numpy(), (1 << _PLACE_BITS) - 1)
    return pa.array((number << _PLACE_BITS | place).astype(np.int32))


def first_of_runs(*columns: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Whether each row differs from the one before it in any of the columns, of one length."""
    out = np.zeros(len(columns[0]), np.bool_)
    out[:1] = True
    for column in columns:
        out[1:] |= column[1:] != column[:-1]
    return out


def events_of_kind(kind: str, rows: pa.Table, connections: pa.Table | None) -> pa.Table:
    """Rows of `events`. rows: key, ts_ns, conn_id, seq, the columns of the kind's struct, perhaps packet_no and
    client_ip. connections: conn_id and client_ip of the bucket's connections, for rows without client_ip."""
    n = rows.num_rows
    keys = {name: flat(rows, name) for name in _KEYS}
    keys["packet_no"] = flat(rows, "packet_no") if "packet_no" in rows.column_names else pa.array(np.zeros(n, np.int64))
    if connections is None or "client_ip" in rows.column_names:
        keys["client_ip"] = flat(rows, "client_ip")
    else:
        which = pc.index_in(keys["conn_id"], flat(connections, "conn_id"))
        keys["client_ip"] = flat(connections, "client_ip").take(which)
    keys["key_kind"] = pa.repeat("transaction", n)
    keys["section"] = pa.array(np.full(n, MOMENT, np.int8))
    fields = list(KINDS[kind])
    body = pa.StructArray.from_arrays([flat(rows, field.name).cast(field.type) for field in fields], fields=fields)
    return event_table(kind, keys, body)


def flat(rows: pa.Table, name: str) -> pa.Array:
    """A column in one piece."""
    column = rows[name]
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [pa.array([], column.type)])
