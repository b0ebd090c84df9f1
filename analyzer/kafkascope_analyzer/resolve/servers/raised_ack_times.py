"""Finds times in which packets between a host and a server took up to 220 ms longer than usual: all acknowledgments of
one side's packets were later than they need to be.

A kernel acknowledges by itself, so that a busy process delays no acknowledgment beyond the time that its kernel waits
for something to send (40 ms on Linux, up to 200 ms elsewhere); where the way is longer, no acknowledgment is sooner
than that. So the shortest time of each slice is compared with what is usual between the two, and with how long the
kernel that acknowledges is known to wait. Beyond 220 ms single waits are known (delays.py).

Memory: MOST_CELLS counts; where host and server pairs and slices of time are more, slices are longer.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.resolve.servers.hosts import ServerHosts
from kafkascope_analyzer.resolve.servers.losses import SENDERS
from kafkascope_analyzer.resolve.servers.run_union import Ints
from kafkascope_analyzer.scan.first_rows import first_rows
from kafkascope_analyzer.scan.liveness_spans import ACK_TIME_COLUMNS, ACK_TIMES
from kafkascope_analyzer.scan.spill import read_spill
from kafkascope_parsers.tcp.spans import PACKETS, SLICE_NS, WAIT_NS

Bools = NDArray[np.bool_]

MOST_CELLS = 2 << 20
LEAST_RAISED_NS, LEAST_TIMES = 20_000_000, 3
"""A slice is late when its shortest time is at least this much above the usual, and at least this many times as long:
schedulers and queues of a busy host cost some milliseconds."""
LEAST_BEYOND_NS = 10_000_000
"""Excess of a late time over the time that the kernel may wait: its timers are late by a few milliseconds."""
MOSTLY = 0.7
"""Share of the rise by which delayed acknowledgments of the kernel must be later than they usually are."""
LEAST_SLICES, LEAST_ACKNOWLEDGED, MOST_APART = 3, 10, 5
"""Fewest late slices of a run, fewest acknowledgments in them, and most slices without any between two of them."""
LEAST_USUAL = 4
"""Fewest slices of one direction from which the usual time is computed."""
LEAST_DELAYED, LEAST_DELAY_NS, MOST_DELAY_NS = 5, 20_000_000, 200_000_000
"""A kernel's own delay is known from at least this many slices with acknowledgments that it delayed by at least this
long; otherwise the longest delay of any kernel is assumed (RFC 9293 allows 500 ms, Linux, Windows and BSD take 200 ms
at most)."""
DELAY_ROWS = pa.schema(
    [
        ("key", pa.string()),
        ("conn_id", pa.string()),
        ("host", pa.string()),
        ("sender", pa.string()),
        ("first_ns", pa.int64()),
        ("first_packet", pa.int64()),
        ("last_ns", pa.int64()),
        ("last_packet", pa.int64()),
        ("n_late", pa.int64()),
        ("middle_ms", pa.int64()),
        ("slice_ms", pa.int64()),
        ("n_connections", pa.int64()),
    ]
)


class _Rows(NamedTuple):
    """Spilled rows of ACK_TIMES: way (pair and sender), connection and slice of each, and their columns."""

    way: Ints
    conn: Ints
    slice: Ints
    first_ns: Ints
    first_packet: Ints
    last_ns: Ints
    last_packet: Ints
    n: Ints
    least_ns: Ints
    most_ns: Ints


class _Cells(NamedTuple):
    """Totals of each way and slice with acknowledgments, in this order: their number, the shortest time, and the
    longest time of an acknowledgment without payload (0: none)."""

    way: Ints
    slice: Ints
    n: Ints
    least_ns: Ints
    most_ns: Ints


def raised_rows(hosts: ServerHosts, capture_ns: tuple[int, int]) -> pa.Table:
    """Returns one row per span of time, host, server and direction (DELAY_ROWS): the first packet that was acknowledged
    late and the last acknowledgment, their number, the median of the shortest times of slices, and the number of
    connections."""
    slices = _Slices(hosts, capture_ns)
    cells = slices.cells()
    if not len(cells.way):
        return DELAY_ROWS.empty_table()
    is_late = _is_late(hosts, cells)
    run = _runs(cells, is_late)
    if not (run >= 0).any():
        return DELAY_ROWS.empty_table()
    of_cell = np.full(slices.n_ways * slices.n, -1)
    of_cell[cells.way * slices.n + cells.slice] = run
    ends = _Ends()
    for rows in slices.rows():
        ends.take(rows, of_cell[rows.way * slices.n + rows.slice])
    return _table(hosts, cells, run, ends, slices.length_ns)


class _Slices:
    """Time slices of a capture, and the acknowledgments in them."""

    def __init__(self, hosts: ServerHosts, capture_ns: tuple[int, int]) -> None:
        self._hosts = hosts
        self.n_ways = len(hosts.pair_server) * len(SENDERS)
        first, last = capture_ns[0] // SLICE_NS, capture_ns[1] // SLICE_NS
        most = max(MOST_CELLS // max(self.n_ways, 1), 1)
        self._first, self._size = first, -(-(last - first + 1) // most)
        self.n = (last - first) // self._size + 1
        self.length_ns = self._size * SLICE_NS

    def rows(self) -> Iterator[_Rows]:
        """Yields the spilled rows, batch by batch."""
        for spill, first in self._hosts.first_row.items():
            for rows in read_spill(spill, ACK_TIMES, ["conn", "side", *ACK_TIME_COLUMNS]):
                conn = rows["conn"].to_numpy() + first
                by_client = rows["side"].to_numpy() == self._hosts.client_side[conn]
                sender = np.where(by_client, SENDERS.index("host"), SENDERS.index("server"))
                pair = self._hosts.pair[conn]
                columns = [rows[name].to_numpy() for name in ACK_TIME_COLUMNS]
                at = np.clip((columns[0] // SLICE_NS - self._first) // self._size, 0, self.n - 1)
                way = pair * len(SENDERS) + sender
                yield _Rows(*(column[pair >= 0] for column in (way, conn, at, *columns)))

    def cells(self) -> _Cells:
        """Returns the totals of each way and slice."""
        shape = self.n_ways * self.n
        n, most = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        least = np.full(shape, np.iinfo(np.int64).max)
        for rows in self.rows():
            cell = rows.way * self.n + rows.slice
            np.add.at(n, cell, rows.n)
            np.minimum.at(least, cell, rows.least_ns)
            np.maximum.at(most, cell, rows.most_ns)
        known = np.flatnonzero(n)
        return _Cells(known // self.n, known % self.n, n[known], least[known], most[known])


def _is_late(hosts: ServerHosts, cells: _Cells) -> Bools:
    """Returns a mask of the slices in which all acknowledgments were late, later than the delay of the acknowledging
    kernel explains."""
    n_ways = len(hosts.pair_server) * len(SENDERS)
    size = np.bincount(cells.way, minlength=n_ways)
    usual = _quantile(cells.way, cells.least_ns, n_ways, 0.25)
    rise = cells.least_ns - usual[cells.way]
    raised = (rise >= LEAST_RAISED_NS) & (cells.least_ns >= LEAST_TIMES * usual[cells.way])
    raised &= size[cells.way] >= LEAST_USUAL
    delay = _delays(hosts, cells, ~raised)
    beyond = rise > delay + LEAST_BEYOND_NS
    beyond |= (cells.most_ns >= delay + MOSTLY * rise) & (delay < MOST_DELAY_NS)
    return np.asarray(raised & beyond & (cells.least_ns < WAIT_NS[PACKETS]), np.bool_)


def _delays(hosts: ServerHosts, cells: _Cells, is_usual: Bools) -> Ints:
    """Returns for each cell the usual delay of the acknowledging kernel."""
    addresses: dict[str, int] = {}
    of_host = np.array([addresses.setdefault(host, len(addresses)) for host in hosts.hosts], np.int64)
    of_server = np.array([addresses.setdefault(end[0], len(addresses)) for end in hosts.servers], np.int64)
    pair, sender = cells.way // len(SENDERS), cells.way % len(SENDERS)
    by_host = sender == SENDERS.index("server")
    kernel = np.where(by_host, of_host[hosts.pair_host[pair]], of_server[hosts.pair_server[pair]])
    shown = is_usual & (cells.most_ns >= LEAST_DELAY_NS)
    known = _quantile(kernel[shown], cells.most_ns[shown], len(addresses), 0.75)
    enough = np.bincount(kernel[shown], minlength=len(addresses)) >= LEAST_DELAYED
    return np.asarray(np.where(enough, np.minimum(known, MOST_DELAY_NS), MOST_DELAY_NS)[kernel], np.int64)


def _quantile(subject: Ints, values: Ints, n_subjects: int, share: float) -> Ints:
    """Returns a quantile of the values of each subject; 0 where it has none."""
    order = np.lexsort((values, subject))
    size = np.bincount(subject, minlength=n_subjects)
    starts = np.cumsum(size) - size
    at = np.minimum(starts + (share * size).astype(np.int64), max(len(values) - 1, 0))
    return np.where(size > 0, values[order][at] if len(values) else 0, 0)


def _runs(cells: _Cells, is_late: Bools) -> Ints:
    """Returns the run of late slices to which each cell belongs, or -1. Runs with too few slices or acknowledgments do
    not count."""
    follows = np.zeros(len(is_late), np.bool_)
    follows[1:] = is_late[:-1] & (np.diff(cells.way) == 0) & (np.diff(cells.slice) <= MOST_APART + 1)
    number = np.cumsum(is_late & ~follows) - 1
    n_runs = int(number[-1]) + 1
    late = np.flatnonzero(is_late)
    n_slices = np.bincount(number[late], minlength=n_runs)
    n_acknowledged = np.bincount(number[late], cells.n[late], minlength=n_runs)
    enough = (n_slices >= LEAST_SLICES) & (n_acknowledged >= LEAST_ACKNOWLEDGED)
    kept = np.where(enough, np.cumsum(enough) - 1, -1)
    return np.where(is_late, kept[number] if n_runs else -1, -1)


class _Ends:
    """The first row and the last row of each run, and its connections."""

    def __init__(self) -> None:
        self._rows: _Rows | None = None
        self._run: Ints = np.empty(0, np.int64)
        self._connections: Ints = np.empty((0, 2), np.int64)

    def take(self, rows: _Rows, run: Ints) -> None:
        """Takes rows. run: the run of each row, or -1."""
        at = np.flatnonzero(run >= 0)
        if not len(at):
            return
        pairs = np.concatenate([self._connections, np.stack([run[at], rows.conn[at]], 1)])
        self._connections = pairs[first_rows(*pairs.T)]
        before = () if self._rows is None else (self._rows,)
        joined = _Rows(*(np.concatenate(c) for c in zip(*before, (c[at] for c in rows), strict=True)))
        run = np.concatenate([self._run, run[at]])
        kept = np.unique(np.concatenate([_first_of_each(run, joined.first_ns), _first_of_each(run, -joined.last_ns)]))
        self._rows, self._run = _Rows(*(column[kept] for column in joined)), run[kept]

    def of_runs(self) -> tuple[_Rows, _Rows, Ints]:
        """Returns the first and the last row of each run, and its number of connections."""
        assert self._rows is not None
        first, last = _first_of_each(self._run, self._rows.first_ns), _first_of_each(self._run, -self._rows.last_ns)
        begins, ends = (_Rows(*(column[at] for column in self._rows)) for at in (first, last))
        return begins, ends, np.bincount(self._connections[:, 0])


def _first_of_each(subject: Ints, values: Ints) -> Ints:
    """Returns the row with the smallest value of each subject."""
    order = np.lexsort((values, subject))
    is_first = np.append(True, np.diff(subject[order]) != 0)
    return np.asarray(order[is_first], np.int64)


def _table(hosts: ServerHosts, cells: _Cells, run: Ints, ends: _Ends, slice_ns: int) -> pa.Table:
    """Returns the rows of the runs. run: the run of each cell; slice_ns: length of a slice."""
    chosen = np.flatnonzero(run >= 0)
    first, last, n_connections = ends.of_runs()
    pair, sender = first.way // len(SENDERS), first.way % len(SENDERS)
    middle_ns = _quantile(run[chosen], cells.least_ns[chosen], len(pair), 0.5)
    columns = {
        "key": hosts.keys.take(pa.array(hosts.pair_server[pair])),
        "conn_id": hosts.connections["conn_id"].combine_chunks().take(pa.array(first.conn)),
        "host": pa.array(hosts.hosts, pa.string()).take(pa.array(hosts.pair_host[pair])),
        "sender": pa.array(SENDERS).take(pa.array(sender)),
        "first_ns": pa.array(first.first_ns),
        "first_packet": pa.array(first.first_packet),
        "last_ns": pa.array(last.last_ns),
        "last_packet": pa.array(last.last_packet),
        "n_late": pa.array(np.bincount(run[chosen], cells.n[chosen]).astype(np.int64)),
        "middle_ms": pa.array(middle_ns // 1_000_000),
        "slice_ms": pa.array(np.full(len(pair), slice_ns // 1_000_000)),
        "n_connections": pa.array(n_connections),
    }
    return pa.table(columns, DELAY_ROWS)
