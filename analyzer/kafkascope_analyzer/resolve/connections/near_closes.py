"""Counts other closes and refusals at a server around the end of a connection. They distinguish a broker that stops
from one that closes an idle connection."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.tables.connections import CLOSED_BY_SERVER

QUARTER_NS = 250_000_000
"""Ends of connections are counted by quarters of a second, so that the cost does not grow with the number of
simultaneous ends."""
NEAR_QUARTERS = 2
SOON_QUARTERS = 20
CLOSE_COLUMNS = ["server_ip", "server_port", "close_kind", "close_ns", "idle_before_close_ms"]
"""The columns of spilled connections that are needed."""
_BY_SERVER = pa.array(CLOSED_BY_SERVER)
_KEY = ["server_ip", "server_port", "quarter"]
_NO_IDLE = np.iinfo(np.int64).max


def near_closes(connections: Iterable[pa.Table]) -> pa.Table:
    """Returns one row per server and quarter of a second in which a connection to it ended: server_ip, server_port,
    quarter, near_idle_ms (the shortest idle time among the connections that it closed within half a second),
    refused_after (connections that it refused in the following five seconds). connections: connections of all buckets
    (CLOSE_COLUMNS)."""
    rows = pa.concat_tables([*(rows.select(CLOSE_COLUMNS) for rows in connections), _nothing()])
    rows = rows.filter(pc.is_valid(rows["close_ns"]))
    by_server = pc.is_in(rows["close_kind"], _BY_SERVER)
    ends = pa.table(
        {
            **{name: rows[name] for name in ("server_ip", "server_port")},
            "quarter": _quarters(rows["close_ns"]),
            "idle": pc.if_else(by_server, rows["idle_before_close_ms"], pa.scalar(None, pa.int64())),
            "refused": pc.equal(rows["close_kind"], "refused").cast(pa.int64()),
        }
    )
    ends = ends.group_by(_KEY, use_threads=False).aggregate([("idle", "min"), ("refused", "sum")])
    ends = ends.sort_by([(name, "ascending") for name in _KEY])
    idle, refused = _around(ends)
    near = pa.array(idle, mask=idle == _NO_IDLE)
    return ends.select(_KEY).append_column("near_idle_ms", near).append_column("refused_after", pa.array(refused))


def with_near_closes(connections: pa.Table, closes: pa.Table) -> pa.Table:
    """Adds near_idle_ms and refused_after to connections, null for those without an end. closes: the result of
    near_closes."""
    place = pa.array(np.arange(connections.num_rows))
    keyed = connections.select(["server_ip", "server_port"]).append_column("place", place)
    keyed = keyed.append_column("quarter", _quarters(connections["close_ns"]))
    found = keyed.join(closes, _KEY, join_type="left outer", use_threads=False).sort_by("place")
    for name in ("near_idle_ms", "refused_after"):
        connections = connections.append_column(name, found[name])
    return connections


def _quarters(close_ns: pa.ChunkedArray) -> pa.Array:
    known = close_ns.fill_null(0).to_numpy()
    return pa.array(known // QUARTER_NS, mask=np.asarray(close_ns.is_null()))


def _around(ends: pa.Table) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns the shortest idle time near each row, and the number of connections refused soon after it. ends: sorted
    by server and quarter."""
    servers = pa.chunked_array(
        [pc.binary_join_element_wise(*(ends[name].cast(pa.string()) for name in _KEY[:2]), " ").combine_chunks()]
    )
    server = servers.combine_chunks().dictionary_encode().indices.to_numpy().astype(np.int64)
    quarter = ends["quarter"].to_numpy()
    base = int(quarter.min()) if len(quarter) else 0
    width = (int(quarter.max()) - base if len(quarter) else 0) + 2 * SOON_QUARTERS
    place = server * width + quarter - base  # increases with the rows, because they are sorted by server and quarter
    idle = ends["idle_min"].fill_null(_NO_IDLE).to_numpy()
    near = idle.copy()
    for step in range(-NEAR_QUARTERS, NEAR_QUARTERS + 1):
        at = np.searchsorted(place, place + step)
        hit = place[np.minimum(at, len(place) - 1)] == place + step if len(place) else np.zeros(0, np.bool_)
        near[hit] = np.minimum(near[hit], idle[at[hit]])
    total = np.concatenate([[0], np.cumsum(ends["refused_sum"].to_numpy())])
    until = np.searchsorted(place, place + SOON_QUARTERS, side="right")
    return near, total[until] - total[np.arange(len(place))]


def _nothing() -> pa.Table:
    texts, numbers = pa.array([], pa.string()), pa.array([], pa.int64())
    return pa.table([texts, numbers.cast(pa.int32()), texts, numbers, numbers], CLOSE_COLUMNS)
