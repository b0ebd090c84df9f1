"""Finds times in which the connections of a host to a server were lost together: a device between the two forgot them.

A client or broker that ends a connection closes it (FIN), and the kernel of a process that was killed closes or resets
all its connections at the same moment. If a firewall, NAT or load balancer forgets connections, nobody closes them.
Their packets stop, or a RST without a FIN answers the next packet of either side, at whatever time that is sent; and
the host connects again soon. One such connection may be a spare one that is not needed any more, so all those that were
in use have to end.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.sorted_rows import first_of_runs
from kafkascope_analyzer.dataset.uncovered import Uncovered
from kafkascope_analyzer.resolve.servers.hosts import ServerHosts
from kafkascope_analyzer.resolve.servers.run_union import Ints, Runs, first_ending_after
from kafkascope_analyzer.resolve.servers.spilled_runs import NEVER_NS
from kafkascope_analyzer.scan.spill import read_spill
from kafkascope_parsers.tcp.state import EVENT_KINDS

LEAST_USE_NS = 1_000_000_000
"""A connection was in use if its payload lasted this long: clients use some only for their first requests."""
REST_NS = 5_000_000_000
"""A connection whose packets stopped is lost only if the capture goes on this long: heartbeats come every 3 seconds."""
SOON_NS = 10_000_000_000
"""Longest time from the last packet of a lost connection to the next connection attempt of the host."""
LATE_NS = 1_000_000_000
"""A connection is lost at most this long after the host connected again: a RST answers the next packet on it, and a
broker answers a Fetch within half a second by default."""
APART_NS = 2_000_000_000
"""Connection attempts that are further apart than this replace connections that were lost at different times."""
SPREAD_NS = 50_000_000
"""The kernel of a process that was killed resets all its connections within this time."""
_RST, _SYN = EVENT_KINDS.index("rst"), EVENT_KINDS.index("syn")
_MS = 1_000_000


class _Flows:
    """The connections between servers and hosts that were in use. pair, first_ns, end_ns: the pair, the first packet
    and the last payload; is_lost: whether it was reset without a FIN, or nobody closed it and its packets stopped
    (is_open); lost_ns: time of the RST, or of the last packet; fin_ns: time of the FIN, 0 where there is none."""

    def __init__(self, hosts: ServerHosts, first_payload_ns: Ints, end_ns: int) -> None:
        rows = hosts.connections
        closed, idle = (rows[name].fill_null(0).to_numpy() for name in ("close_ns", "idle_before_close_ms"))
        last = rows["last_ns"].to_numpy()
        ended = np.where(closed > 0, closed - idle * _MS, last)
        first = rows["first_ns"].to_numpy()
        in_use = (hosts.pair >= 0) & (first_payload_ns < NEVER_NS) & (ended - first >= LEAST_USE_NS)
        self.conn = np.flatnonzero(in_use)
        self.pair, self.first_ns, self.end_ns = hosts.pair[self.conn], first[self.conn], ended[self.conn]
        kind = rows["close_kind"].take(pa.array(self.conn))
        is_reset = _is_one(kind, "rst_client", "rst_server")
        self.is_open = _is_one(kind, "open") & (last[self.conn] + REST_NS <= end_ns)
        self.is_lost = is_reset | self.is_open
        self.lost_ns = np.where(is_reset, closed[self.conn], last[self.conn])
        self.fin_ns = np.where(_is_one(kind, "fin_client", "fin_server"), closed[self.conn], 0)


def lost_flow_rows(
    hosts: ServerHosts, first_payload_ns: Ints, capture_ns: tuple[int, int], uncovered: Uncovered
) -> pa.Table:
    """Returns one row per pair and time at which its connections were lost: key and conn_id of the first new
    connection, host; before_ns: the last packet on a lost connection before the first sign; first_ns, first_packet: the
    first sign, which is a RST or the first connection attempt; last_ns, last_packet: the last sign; n_connections:
    number of lost connections; n_reset: those that were reset. first_payload_ns: time of the server's first payload on
    each connection."""
    flows = _Flows(hosts, first_payload_ns, capture_ns[1])
    lost = np.flatnonzero(flows.is_lost)
    attempt = _next_attempt(hosts, flows, lost)
    lost, attempt = lost[attempt >= 0], attempt[attempt >= 0]
    syn = hosts.connections["syn_ns"].fill_null(0).to_numpy()[attempt]
    others = _n_begun(flows, lost, syn) - _n_ended(flows, lost, syn + LATE_NS)
    is_whole = (others == 0) & ~_is_closed_near(flows, lost, syn)
    is_whole &= ~uncovered.lie_in(flows.lost_ns[lost] - LATE_NS, syn + LATE_NS)
    lost, attempt, syn = lost[is_whole], attempt[is_whole], syn[is_whole]
    order = np.lexsort((lost, syn, flows.pair[lost]))
    return _table(hosts, flows, lost[order], attempt[order])


def _is_one(kind: pa.ChunkedArray, *names: str) -> NDArray[np.bool_]:
    return np.asarray(pc.fill_null(pc.is_in(kind, pa.array(names)), False))


def _next_attempt(hosts: ServerHosts, flows: _Flows, lost: Ints) -> Ints:
    """Returns, for each lost connection, the next connection of its pair, which began after it was lost or up to
    LATE_NS before; -1 if there is none within SOON_NS, or if the server did not accept it."""
    syn, synack = (hosts.connections[name].fill_null(0).to_numpy() for name in ("syn_ns", "synack_ns"))
    opened = np.flatnonzero((hosts.pair >= 0) & (syn > 0))
    opened = opened[np.lexsort((syn[opened], hosts.pair[opened]))]
    times = Runs(hosts.pair[opened], syn[opened], opened, syn[opened], opened)
    since = np.maximum(flows.lost_ns[lost] - LATE_NS, flows.first_ns[lost] + LEAST_USE_NS)
    at = first_ending_after(times, flows.pair[lost], since)
    found = opened[at] if len(opened) else at
    is_soon = (at >= 0) & (synack[found] > 0) & (syn[found] <= flows.lost_ns[lost] + SOON_NS)
    return np.where(is_soon, found, -1)


def _n_begun(flows: _Flows, lost: Ints, at_ns: Ints) -> Ints:
    """Returns how many connections of each pair had begun before a time."""
    return _n_before(flows.pair, flows.first_ns, flows.pair[lost], at_ns)


def _n_ended(flows: _Flows, lost: Ints, at_ns: Ints) -> Ints:
    """Returns how many connections of each pair had their last payload before a time."""
    return _n_before(flows.pair, flows.end_ns, flows.pair[lost], at_ns)


def _n_before(pair: Ints, times: Ints, asked: Ints, at_ns: Ints) -> Ints:
    """Returns how many rows of each asked pair have a time before at_ns."""
    order = np.lexsort((times, pair))
    spans = Runs(pair[order], times[order], order, times[order], order)
    first = np.searchsorted(spans.subject, asked)
    at = first_ending_after(spans, asked, at_ns)
    return np.where(at >= 0, at, np.searchsorted(spans.subject, asked, side="right")) - first


def _is_closed_near(flows: _Flows, lost: Ints, at_ns: Ints) -> NDArray[np.bool_]:
    """Whether a connection of the pair was closed in order near that time: a process that ends closes all of them."""
    closed = np.flatnonzero(flows.fin_ns)
    pair, times = flows.pair[closed], flows.fin_ns[closed]
    asked = flows.pair[lost]
    return _n_before(pair, times, asked, at_ns + LATE_NS) > _n_before(pair, times, asked, at_ns - LATE_NS)


def _table(hosts: ServerHosts, flows: _Flows, lost: Ints, attempt: Ints) -> pa.Table:
    """Returns the rows. lost, attempt: lost connections, sorted by pair and by the attempts that follow them."""
    syn = hosts.connections["syn_ns"].fill_null(0).to_numpy()[attempt]
    pair, lost_ns, is_open = flows.pair[lost], flows.lost_ns[lost], flows.is_open[lost]
    begins = first_of_runs(pair)
    begins[1:] |= np.diff(syn) > APART_NS
    signs = _packets_of(hosts, flows.conn[lost], np.where(is_open, 0, lost_ns), attempt)
    rows: list[dict[str, object]] = []
    for group in np.split(np.arange(len(lost)), np.flatnonzero(begins)[1:]) if len(lost) else []:
        resets = group[~is_open[group]]
        if len(resets) == len(group) and np.ptp(lost_ns[resets]) < SPREAD_NS:
            continue
        times = [(int(syn[row]), signs.get((int(attempt[row]), _SYN), 0)) for row in group]
        times += [(int(lost_ns[row]), signs.get((int(flows.conn[lost[row]]), _RST), 0)) for row in resets]
        (first_ns, first_packet), (last_ns, last_packet) = min(times), max(times)
        before = np.where(is_open[group], lost_ns[group], flows.end_ns[lost[group]])
        rows.append(
            {
                "conn": int(attempt[group[0]]),
                "before_ns": int(min(before.max(), first_ns)),
                "first_ns": first_ns,
                "first_packet": first_packet,
                "last_ns": last_ns,
                "last_packet": last_packet,
                "n_connections": len(group),
                "n_reset": len(resets),
            }
        )
    return _named(hosts, pa.Table.from_pylist(rows, _SCHEMA))


_SCHEMA = pa.schema(
    [
        ("conn", pa.int64()),
        ("before_ns", pa.int64()),
        ("first_ns", pa.int64()),
        ("first_packet", pa.int64()),
        ("last_ns", pa.int64()),
        ("last_packet", pa.int64()),
        ("n_connections", pa.int64()),
        ("n_reset", pa.int64()),
    ]
)


def _named(hosts: ServerHosts, rows: pa.Table) -> pa.Table:
    """Returns the rows with the server, the host and the id of a connection, in place of its number."""
    conn = rows["conn"].to_numpy()
    names = {
        "key": hosts.keys.take(pa.array(hosts.server[conn])),
        "conn_id": hosts.connections["conn_id"].combine_chunks().take(pa.array(conn)),
        "host": pa.array(hosts.hosts, pa.string()).take(pa.array(hosts.host[conn])),
    }
    return pa.table(names | {name: rows[name] for name in rows.column_names[1:]})


def _packets_of(hosts: ServerHosts, lost: Ints, reset_ns: Ints, attempt: Ints) -> dict[tuple[int, int], int]:
    """Returns the packet of the RST of each lost connection, and of the SYN of each attempt, by connection and kind of
    event. reset_ns: 0 where there is no RST."""
    found: dict[tuple[int, int], int] = {}
    if not len(lost):
        return found
    of_kinds = {_RST: lost[reset_ns > 0], _SYN: attempt}
    for spill, first in hosts.first_row.items():
        for rows in read_spill(spill, "tcp_events", ["conn", "packet_no", "kind"]):
            conn, what = rows["conn"].to_numpy() + first, rows["kind"].to_numpy()
            for kind, asked in of_kinds.items():
                for row in np.flatnonzero((what == kind) & np.isin(conn, asked)):
                    found.setdefault((int(conn[row]), kind), int(rows["packet_no"][row].as_py()))
    return found
