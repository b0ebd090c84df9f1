"""Rows of `events` of the kinds whose key is the client's address."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.dataset.tables.events import KINDS, MOMENT
from kafkascope_analyzer.resolve.event_source import event_table


@dataclass(frozen=True, slots=True)
class EventPlace:
    """Where events stand: columns of one length, as the contract describes them."""

    client_ip: pa.Array | pa.ChunkedArray
    conn_id: pa.Array | pa.ChunkedArray
    ts_ns: pa.Array | pa.ChunkedArray
    packet_no: pa.Array | pa.ChunkedArray | None = None
    seq: pa.Array | pa.ChunkedArray | None = None
    section: int = MOMENT


def client_events(kind: str, place: EventPlace, body: Mapping[str, pa.Array | pa.ChunkedArray]) -> pa.Table:
    """Rows of one kind. body: the columns of its struct; those that are missing are null."""
    client_ip = flat(place.client_ip).fill_null("")
    n = len(client_ip)
    zero = pa.array(np.zeros(n, np.int64))
    keys = {
        "key_kind": pa.repeat("client", n),
        "key": client_ip,
        "client_ip": client_ip,
        "section": pa.repeat(pa.scalar(place.section, pa.int8()), n),
        "ts_ns": flat(place.ts_ns),
        "packet_no": zero if place.packet_no is None else flat(place.packet_no).fill_null(0),
        "conn_id": flat(place.conn_id),
        "seq": (zero if place.seq is None else flat(place.seq)).cast(pa.int32()),
    }
    fields = list(KINDS[kind])
    columns = [flat(body[f.name]).cast(f.type) if f.name in body else pa.nulls(n, f.type) for f in fields]
    return event_table(kind, keys, pa.StructArray.from_arrays(columns, fields=fields))


def rank_in_group(*keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """For rows that stand group by group: the place of each in its group, from 0. A group has the same keys."""
    n = len(keys[0])
    starts = np.zeros(n, np.bool_)
    starts[:1] = True
    for key in keys:
        starts[1:] |= key[1:] != key[:-1]
    first = np.maximum.accumulate(np.where(starts, np.arange(n), 0))
    return np.asarray(np.arange(n) - first, np.int64)
