"""Hosts with clients whose processes were slow for some time: their consumers took several times as long as usual from
a response to the next Fetch, while consumers on other hosts did not.

A single consumer that is slow may only have more to do with what it reads. A host is slow where several clients are, or
where all its clients paused together: then the longest time in which the host sent no request is several times as long
as usual, too. Clients that only produce send when they have something to send, so their own times show nothing.

Latencies are counted in classes, and requests in bits, so that memory does not grow with their number.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.tables.event_kinds.servers import MOST_DOUBLINGS, USUAL_DOUBLINGS
from kafkascope_analyzer.resolve.servers.cells import Cells, Slices
from kafkascope_analyzer.resolve.servers.hosts import NONE, ServerHosts
from kafkascope_analyzer.resolve.servers.kernels import slow_stretches
from kafkascope_analyzer.resolve.servers.run_union import Ints
from kafkascope_analyzer.resolve.servers.samples import Floats, Samples, fetch_reactions, spilled_requests, times_usual
from kafkascope_analyzer.resolve.servers.slowness import (
    LEAST_SCORE,
    SLOW_ROWS,
    UPPER_DOUBLINGS,
    beyond_others,
    doublings_of,
    usual_classes,
)

_SEVERAL = 2
_BITS = 64
"""Parts of a slice in which a host sent requests or not."""
_PAUSE_DOUBLINGS = 1.0
"""Doublings above the usual of the longest pause of a host, in most of the slices, from which on its clients paused
together."""
_Span = tuple[tuple[int, int], tuple[int, int]]
"""Time and packet of a begin and an end."""
SLOW_HOST_ROWS = pa.schema(
    [
        *(SLOW_ROWS.field(name) for name in ("key", "conn_id", "host")),
        *(SLOW_ROWS.field(name) for name in ("first_ns", "first_packet", "last_ns", "last_packet")),
        ("n_clients", pa.int64()),
        SLOW_ROWS.field("times_usual"),
        SLOW_ROWS.field("slice_ms"),
    ]
)


class Clients:
    """Clients, numbered by client_numbers. client: of each connection; host: of each client."""

    def __init__(self, hosts: ServerHosts, client: Ints) -> None:
        self.hosts = hosts
        self.client = client
        self.n = int(client.max(initial=NONE)) + 1
        self.host = np.full(self.n, NONE)
        known = np.flatnonzero(client >= 0)
        self.host[client[known]] = hosts.host[known]

    def samples(self) -> Iterator[Samples]:
        """Yields the times from responses to the next Fetch, batch by batch."""
        for rows, conn, last in spilled_requests(self.hosts):
            yield fetch_reactions(rows, conn, self.client[conn], last)


def slow_host_rows(clients: Clients, cells: Cells, held_up: NDArray[np.bool_], slices: Slices) -> pa.Table:
    """Returns one row per slow span of a host and server that it talked to: key and conn_id of the server; first and
    last packet of late samples; the number of slow clients, and how many times as long as usual they took. cells:
    samples of the clients, by slice and sample_code; held_up: whether each client waited long for another response than
    that to a Fetch, in each slice, as an application does that commits synchronously, or looks for its coordinator: it
    fetches nothing meanwhile."""
    if not clients.n:
        return SLOW_HOST_ROWS.empty_table()
    hosts, usual = clients.hosts, usual_classes(cells, (clients.n, 1))
    levels, _ = doublings_of(cells, usual, slices)
    upper = np.where(held_up, np.nan, levels[1])
    least, n_clients = _least_of_hosts(upper, clients.host, len(hosts.hosts))
    has_others = (~np.isnan(least)).sum(0) > 1
    own = np.where(has_others, beyond_others(least) - UPPER_DOUBLINGS, np.nan)
    found = np.zeros((own.size + 1, 3), np.int64)
    n = slow_stretches(own, (USUAL_DOUBLINGS, MOST_DOUBLINGS, LEAST_SCORE), found)
    rows: list[dict[str, object]] = []
    for host, first, last in found[:n].tolist():
        several = int(np.median(n_clients[host, first : last + 1]))
        is_shared = np.count_nonzero(clients.host == host) >= _SEVERAL
        if several >= _SEVERAL or (is_shared and _paused_together(hosts, host, slices, (first, last))):
            middle = float(np.nanmedian(least[host, first : last + 1]))
            span = _span(clients, usual, slices, (host, first, last), middle)
            times = max(round(2**middle), 2)
            shown = {"n_clients": max(several, 1), "times_usual": times, "slice_ms": slices.length_ms}
            rows += (row | shown for row in _rows(hosts, host, span))
    return pa.Table.from_pylist(rows, SLOW_HOST_ROWS)


def _least_of_hosts(doublings: Floats, host: Ints, n_hosts: int) -> tuple[Floats, Floats]:
    """Returns the doublings of the quickest client of each host in each slice, NaN where none is known; and the number
    of clients that are known."""
    shape = n_hosts, doublings.shape[1]
    least, n_known = np.full(shape, np.inf), np.zeros(shape)
    known = ~np.isnan(doublings) & (host >= 0)[:, None]
    np.minimum.at(least, host[host >= 0], np.where(known, doublings, np.inf)[host >= 0])
    np.add.at(n_known, host[host >= 0], known[host >= 0].astype(np.float64))
    return np.where(np.isfinite(least), least, np.nan), n_known


def _paused_together(hosts: ServerHosts, host: int, slices: Slices, stretch: tuple[int, int]) -> bool:
    """Returns whether the longest pauses between requests of a host, in the slices of a stretch, are longer than in
    others."""
    bits = np.zeros(slices.n * _BITS, np.bool_)
    for rows, conn, _ in spilled_requests(hosts):
        mine = np.flatnonzero(hosts.host[conn] == host)
        ts_ns = rows["ts_ns"].to_numpy()[mine]
        at = (ts_ns - slices.begin_ns) * _BITS // slices.length_ns
        bits[np.clip(at, 0, len(bits) - 1)] = True
    longest = _longest_pauses(bits, slices.n)
    first, last = stretch
    is_inside = np.zeros(slices.n, np.bool_)
    is_inside[first : last + 1] = True
    inside, outside = longest[is_inside], longest[~is_inside & (longest > 0) & (longest < _BITS)]
    if not len(outside):
        return False
    return bool(np.median(inside) >= 2**_PAUSE_DOUBLINGS * np.median(outside))


def _longest_pauses(bits: NDArray[np.bool_], n_slices: int) -> Ints:
    """Returns the longest run of parts without a request of each slice, as far as it lies in that slice."""
    grid = bits.reshape(n_slices, _BITS)
    longest, run = np.zeros(n_slices, np.int64), np.zeros(n_slices, np.int64)
    for part in range(_BITS):
        run = np.where(grid[:, part], 0, run + 1)
        longest = np.maximum(longest, run)
    return longest


def _span(clients: Clients, usual: Ints, slices: Slices, place: tuple[int, int, int], middle: float) -> _Span:
    """Returns time and packet at which the first late sample began and the last one ended. place: the host, its first
    and its last slice; middle: doublings above the usual of the stretch."""
    host, first, last = place
    begin, end = (0, 0), (0, 0)
    for samples in clients.samples():
        at = slices.of(samples.from_ns)
        chosen = (clients.host[samples.process] == host) & (at >= first) & (at <= last)
        late = samples.taken(np.flatnonzero(chosen & (times_usual(samples, usual) >= max(USUAL_DOUBLINGS, middle / 2))))
        if len(late.process):
            ends = late.from_ns + late.took_ns
            one, other = int(late.from_ns.argmin()), int(ends.argmax())
            mine = int(late.from_ns[one]), int(late.packet_no[one])
            begin = min(begin, mine) if begin[0] else mine
            end = max(end, (int(ends[other]), int(late.end_packet_no[other])))
    return begin, end


def _rows(hosts: ServerHosts, host: int, span: _Span) -> Iterator[dict[str, object]]:
    """Yields server, host and times for each server that the host talked to."""
    conn_ids = hosts.connections["conn_id"]
    for server in hosts.pair_server[hosts.pair_host == host].tolist():
        conn = int(np.flatnonzero((hosts.server == server) & (hosts.host == host))[0])
        yield {
            "key": hosts.keys[server].as_py(),
            "conn_id": conn_ids[conn].as_py(),
            "host": hosts.hosts[host],
            "first_ns": span[0][0],
            "first_packet": span[0][1],
            "last_ns": span[1][0],
            "last_packet": span[1][1],
        }
