"""Finds times in which one side of a connection did not read: its receive window stayed closed, because its process
took no data from its kernel. The kernel still worked: it answers each attempt to send more with the closed window."""

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.uncovered import Uncovered
from kafkascope_analyzer.resolve.servers.run_union import Ints, Runs, joined, last_before
from kafkascope_analyzer.scan.liveness_spans import RUN_COLUMNS, RUNS
from kafkascope_analyzer.scan.spill import read_spill
from kafkascope_parsers.tcp.spans import PACKETS, PAYLOAD
from kafkascope_parsers.tcp.state import E_WINDOW_OPEN, E_ZERO_WINDOW

if TYPE_CHECKING:
    from kafkascope_analyzer.resolve.servers.hosts import ServerHosts

LEAST_NS = 1_000_000_000
"""A window that is closed for less means nothing: its process is busy with the data that it has read."""
SIDES = ("server", "client")
NO_CLOSED_WINDOWS = pa.schema(
    [
        ("conn_id", pa.string()),
        ("side", pa.string()),
        ("sent_ns", pa.int64()),
        ("first_ns", pa.int64()),
        ("first_packet", pa.int64()),
        ("shown_ns", pa.int64()),
        ("last_ns", pa.int64()),
        ("last_packet", pa.int64()),
    ]
).empty_table()
_COLUMNS = ["conn", "ts_ns", "packet_no", "side", "kind"]
_KINDS = pa.array([E_ZERO_WINDOW, E_WINDOW_OPEN], pa.uint8())


def closed_windows(hosts: "ServerHosts", uncovered: Uncovered) -> pa.Table:
    """Returns the times for which a window was closed for LEAST_NS or longer, on connections to servers. uncovered:
    times that no file covers, in which it may have been open.

    Columns: conn_id; side: whose window; sent_ns: the last payload of that side before, null where none is known;
    first_ns, first_packet: the segment that closed the window; shown_ns: the last one that shows it closed, at least;
    last_ns, last_packet: the one that opened it, null where the connection, or the capture, ended before.
    """
    closed = _closed(hosts)
    ended = hosts.connections["last_ns"].to_numpy()[closed.subject // len(SIDES)]
    until = np.where(closed.last_ns > 0, closed.last_ns, ended)
    chosen = (until - closed.first_ns >= LEAST_NS) & ~uncovered.lie_in(closed.first_ns, until)
    closed, until = closed.taken(np.flatnonzero(chosen)), until[chosen]
    sent = last_before(_runs(hosts, PAYLOAD, closed.subject), closed.subject, closed.first_ns)
    shown = last_before(_runs(hosts, PACKETS, closed.subject), closed.subject, until)
    is_open = closed.last_ns == 0
    return pa.table(
        {
            "conn_id": hosts.connections["conn_id"].combine_chunks().take(pa.array(closed.subject // len(SIDES))),
            "side": pa.array(SIDES).take(pa.array(closed.subject % len(SIDES))),
            "sent_ns": pa.array(sent.last_ns, mask=sent.last_packet == 0),
            "first_ns": closed.first_ns,
            "first_packet": closed.first_packet,
            "shown_ns": np.maximum(shown.last_ns, closed.first_ns),
            "last_ns": pa.array(closed.last_ns, mask=is_open),
            "last_packet": pa.array(closed.last_packet, mask=is_open),
        },
        NO_CLOSED_WINDOWS.schema,
    )


def _closed(hosts: "ServerHosts") -> Runs:
    """Returns the closed windows of all sides, by side (len(SIDES) * connection, plus 1 for the client) and time.
    first: the segment that closed it; last: the one that opened it, 0 where none did."""
    parts = [np.empty((4, 0), np.int64)]
    for spill, first in hosts.first_row.items():
        for rows in read_spill(spill, "tcp_events", _COLUMNS):
            rows = rows.filter(pc.is_in(rows["kind"], _KINDS))
            conn = rows["conn"].to_numpy() + first
            subject = _subject(hosts, conn, rows["side"].to_numpy())
            columns = (rows[name].to_numpy().astype(np.int64) for name in ("ts_ns", "packet_no", "kind"))
            parts.append(np.stack([subject, *columns])[:, hosts.pair[conn] >= 0])
    subject, ts_ns, packet_no, kind = np.concatenate(parts, axis=1)
    order = np.lexsort((packet_no, ts_ns, subject))
    subject, ts_ns, packet_no, kind = (column[order] for column in (subject, ts_ns, packet_no, kind))
    begins = np.flatnonzero(kind == E_ZERO_WINDOW)
    after = np.minimum(begins + 1, len(kind) - 1)
    opens = (after > begins) & (subject[after] == subject[begins]) & (kind[after] == E_WINDOW_OPEN)
    last_ns, last_packet = np.where(opens, ts_ns[after], 0), np.where(opens, packet_no[after], 0)
    return Runs(subject[begins], ts_ns[begins], packet_no[begins], last_ns, last_packet)


def _subject(hosts: "ServerHosts", conn: Ints, side: NDArray[np.generic]) -> Ints:
    return np.asarray(len(SIDES) * conn + (side == hosts.client_side[conn]), np.int64)


def _runs(hosts: "ServerHosts", layer: int, subject: Ints) -> Runs:
    """Returns the runs of some sides, by side and time."""
    wanted = np.zeros(len(SIDES) * hosts.connections.num_rows, np.bool_)
    wanted[subject] = True
    parts = []
    for spill, first in hosts.first_row.items():
        for rows in read_spill(spill, RUNS) if len(subject) else ():
            of_side = _subject(hosts, rows["conn"].to_numpy() + first, rows["side"].to_numpy())
            mine = np.flatnonzero(wanted[of_side] & (rows["layer"].to_numpy() == layer))
            parts.append(Runs(of_side, *(rows[name].to_numpy() for name in RUN_COLUMNS)).taken(mine))
    runs = joined(parts)
    return runs.taken(np.lexsort((runs.last_ns, runs.subject)))
