"""Finds the segments that another capture point has captured too, and their connections.

The points of a connection have an order: its home (the first of all points that sees it when it begins) and then the
others by number. A segment is a copy of one that a point before it in order has seen when direction, sequence and
acknowledgment number, flags, window and length are the same and the times, on one clock, are at most WINDOW_NS apart.
Each segment has one copy at each point, and of several the nearest in time is taken: a retransmission is the copy of a
retransmission.

A segment whose payload the other point has seen in differently divided segments is covered: network cards split the
segments that a host sends and merge those that it receives, so the division differs where a capture is taken on a host.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kafkascope_analyzer.read.points.samples import hashed
from kafkascope_parsers.kernels import kernel
from kafkascope_parsers.tcp.state import ACK, SYN

WINDOW_NS = 500_000_000
"""Largest time between the views of a segment: longer than the delay over a satellite, plus the error of two estimated
clocks."""

_STEPS = 64
"""Most segments with the same key that are compared; there is rarely more than one."""

VIEWS = 4
"""Most points of one connection whose names are kept: a client, a broker and two mirror ports between them."""

_FIRST_ROOM = 1 << 12

FLOW_ROW = np.dtype(
    (
        np.record,
        np.dtype(
            [
                ("flow", np.uint64),
                ("first_ns", np.int64),
                ("isn", np.uint32),
                ("has_isn", np.uint8),
                ("n_views", np.uint8),
                ("home", np.int16),
                ("views", np.int16, (VIEWS,)),
            ],
            align=True,
        ),
    )
)
"""A connection: the hash of its endpoints, its first segment, the sequence number of its SYN, its home, and the points
that have seen it, in the order in which they did."""

Longs = NDArray[np.int64]


class Rows(NamedTuple):
    """Segments of several points, one after the other. key: hash of the fields that copies share; matched: the point
    that found a copy of it last, -1 for none; batch, at: place of the segment."""

    key: NDArray[np.uint64]
    flow: NDArray[np.uint64]
    direction: NDArray[np.uint8]
    point: NDArray[np.int16]
    ts_ns: Longs
    merge_ns: Longs
    seq: NDArray[np.uint32]
    flags: NDArray[np.uint16]
    length: NDArray[np.int32]
    matched: NDArray[np.int16]
    batch: NDArray[np.int32]
    at: NDArray[np.int64]

    def only(self, chosen: Any) -> "Rows":
        """Returns the chosen segments."""
        return Rows(*(column[chosen] for column in self))


class FlowTable:
    """The connections of all points. Memory: some 70 bytes for each connection."""

    def __init__(self) -> None:
        self.n = 0
        self._rows = np.zeros(_FIRST_ROOM, FLOW_ROW)
        self._slots = np.full(2 * _FIRST_ROOM, -1, np.int64)

    @property
    def rows(self) -> NDArray[np.void]:
        """FLOW_ROW as a view, valid until the next call of `find`."""
        return self._rows[: self.n]

    def settle_homes(self, first: int, rows: Rows) -> None:
        """Finds the homes of the connections from `first` on: the first point, by number, of those with a segment of
        the connection among the rows."""
        fresh = self.rows[first:]
        order = np.argsort(fresh["flow"], kind="stable")
        flow = fresh["flow"][order]
        at = np.minimum(np.searchsorted(flow, rows.flow), max(len(flow) - 1, 0))
        same = flow[at] == rows.flow if len(flow) else np.zeros(len(rows.flow), np.bool_)
        home = fresh["home"][order]
        np.minimum.at(home, at[same], rows.point[same])
        first_of_flow = np.searchsorted(flow, flow)  # with reused ports, one home for all of this time
        fresh["home"][order] = home[first_of_flow]

    def find(self, rows: Rows) -> Longs:
        """Returns the connection of each segment; the segments are in order of time. `settle_homes` must be called
        next."""
        found = np.empty(len(rows.key), np.int64)
        at = 0
        while True:
            at, self.n = find_flows(rows, at, self._slots, self._rows, (self.n, found))
            if at == len(found):
                return found
            more = np.zeros(2 * len(self._rows), FLOW_ROW)
            more[: self.n] = self._rows[: self.n]
            self._rows = more
            self._slots = np.full(2 * len(more), -1, np.int64)
            place_flows(self.rows, self._slots)


@kernel
def slot_of(flow: int, slots: NDArray[np.int64], flows: NDArray[np.void]) -> Any:
    """Returns the slot of a flow, or the empty one where it belongs. At most half of the slots are taken, so the search
    ends."""
    mask = np.uint64(len(slots) - 1)
    slot = np.uint64(flow) & mask
    while slots[np.int64(slot)] >= 0 and flows[slots[np.int64(slot)]].flow != flow:
        slot = (slot + np.uint64(1)) & mask
    return np.int64(slot)


@kernel
def place_flows(flows: NDArray[np.void], slots: NDArray[np.int64]) -> None:
    """Fills empty slots; of connections with the same endpoints the last counts."""
    for i in range(len(flows)):
        slots[slot_of(flows[i].flow, slots, flows)] = i


@kernel
def note_view(row: Any, point: int) -> None:
    """Notes that a point has seen the connection."""
    for i in range(row.n_views):
        if row.views[i] == point:
            return
    if row.n_views < VIEWS:
        row.views[row.n_views] = point
        row.n_views += 1


@kernel
def find_flows(
    rows: Rows, first: int, slots: NDArray[np.int64], flows: NDArray[np.void], found: tuple[int, NDArray[np.int64]]
) -> Any:
    """Writes the connection of each segment from `first` on; a SYN with another sequence number begins a new one. Stops
    where there is no room. Returns the index at which it stopped, and the number of connections."""
    n, out = found
    for i in range(first, len(rows.key)):
        flow = rows.flow[i]
        slot = slot_of(flow, slots, flows)
        c = slots[slot]
        opens = rows.flags[i] & (SYN | ACK) == SYN
        if c < 0 or (opens and flows[c].has_isn and flows[c].isn != rows.seq[i]):
            if n >= len(flows):
                return i, n
            c, slots[slot] = n, n
            flows[c].flow, flows[c].first_ns, flows[c].home = flow, rows.ts_ns[i], rows.point[i]
            flows[c].n_views = flows[c].has_isn = 0
            n += 1
        if opens:
            flows[c].isn, flows[c].has_isn = rows.seq[i], 1
        note_view(flows[c], rows.point[i])
        out[i] = c
    return len(rows.key), n


@kernel
def chain_keys(key: NDArray[np.uint64], heads: NDArray[np.int64], following: NDArray[np.int64]) -> None:
    """Chains segments by the lowest bits of their keys, in order. heads: filled with -1, its length a power of 2."""
    mask = np.uint64(len(heads) - 1)
    for k in range(len(key)):
        i = len(key) - 1 - k
        bucket = np.int64(key[i] & mask)
        following[i], heads[bucket] = heads[bucket], i


@kernel
def comes_before(point: int, other: int, home: int) -> Any:
    """Whether a point comes before another in the order of a connection with that home."""
    return point != other and other != home and (point == home or point < other)


@kernel
def nearest_copy(i: int, home: int, rows: Rows, heads: NDArray[np.int64], following: NDArray[np.int64]) -> Any:
    """Returns the segment of an earlier point in order of which segment i is a copy; -1 for none."""
    best, least = np.int64(-1), np.int64(WINDOW_NS + 1)
    k, steps = heads[np.int64(rows.key[i] & np.uint64(len(heads) - 1))], 0
    while k >= 0 and steps < _STEPS:
        if rows.key[k] == rows.key[i]:
            steps += 1
            apart = abs(rows.ts_ns[k] - rows.ts_ns[i])
            is_free = comes_before(rows.point[k], rows.point[i], home) and rows.matched[k] != rows.point[i]
            earlier = best < 0 or comes_before(rows.point[k], rows.point[best], home)
            if is_free and apart <= WINDOW_NS and (earlier or (rows.point[k] == rows.point[best] and apart < least)):
                best, least = k, apart
        k = following[k]
    return best


@kernel
def match_copies(
    rows: Rows, judged: tuple[Longs, NDArray[np.int16]], heads: Longs, following: Longs, found: Longs
) -> None:
    """Writes for each judged segment (rows, and the homes of their connections) the one of which it is a
    copy, or -1."""
    for j in range(len(found)):
        i = judged[0][j]
        found[j] = nearest_copy(i, judged[1][j], rows, heads, following)
        if found[j] >= 0:
            rows.matched[found[j]] = rows.point[i]


def find_copies(rows: Rows, judged: Longs, home: NDArray[np.int16]) -> Longs:
    """Returns for each of the judged segments, in order of point and time, the row of which it is a copy; -1 for none.
    Marks these rows in `matched`. home: home of the connection of each judged segment."""
    heads = np.full(1 << max(len(rows.key), 1).bit_length(), -1, np.int64)
    following, found = np.empty(len(rows.key), np.int64), np.empty(len(judged), np.int64)
    chain_keys(rows.key, heads, following)
    match_copies(rows, (judged, home), heads, following, found)
    return found


def find_covered(rows: Rows, judged: Longs, home: NDArray[np.int16]) -> NDArray[np.bool_]:
    """Returns a mask of the judged segments, none of which is a copy, whose payload earlier points in order have seen
    completely in differently divided segments within WINDOW_NS. A segment with exactly the bytes of one of theirs is a
    retransmission, and is not covered. home: home of the connection of each judged segment."""
    covered = np.zeros(len(judged), np.bool_)
    way = rows.flow ^ rows.direction.astype(np.uint64)
    point_of = rows.point[judged]
    for point, at_home in {*zip(point_of.tolist(), home.tolist(), strict=True)}:
        mine = np.flatnonzero((point_of == point) & (home == at_home) & (rows.length[judged] > 0))
        before = (rows.point == at_home) | (rows.point < point)
        others = np.flatnonzero(before & (rows.length > 0) & np.isin(way, way[judged[mine]]))
        if len(mine) and len(others):
            place = rows.seq.astype(np.uint64) << np.uint64(32)
            whole = hashed(way, rows.direction, place | rows.length.astype(np.uint64))
            again = np.isin(whole[judged[mine]], whole[others])
            covered[mine] = _inside(rows, way, others, judged[mine]) & ~again
    return covered


def _inside(rows: Rows, way: NDArray[np.uint64], others: Longs, asked: Longs) -> NDArray[np.bool_]:
    """Whether the payload of each asked segment is inside of the union of the payloads of others of its direction."""
    ways, first = np.unique(way[others], return_index=True)
    base = rows.seq[others[first]]
    which, of_asked = np.searchsorted(ways, way[others]), np.searchsorted(ways, way[asked])
    known = of_asked < len(ways)
    known[known] = ways[of_asked[known]] == way[asked[known]]
    of_asked = np.where(known, of_asked, 0)
    start = which * (1 << 34) + (rows.seq[others] - base[which]).astype(np.int32)
    order = np.argsort(start, kind="stable")
    start, end = start[order], np.maximum.accumulate((start + rows.length[others])[order])
    begins = np.concatenate([[True], start[1:] > end[:-1]])  # beginning of each span without a hole
    stretch_start = start[begins]
    stretch_end = end[np.concatenate([np.flatnonzero(begins)[1:] - 1, [len(end) - 1]])]
    wanted = of_asked * (1 << 34) + (rows.seq[asked] - base[of_asked]).astype(np.int32)
    at = np.searchsorted(stretch_start, wanted, side="right") - 1
    inside: NDArray[np.bool_] = known & (at >= 0) & (wanted + rows.length[asked] <= stretch_end[np.maximum(at, 0)])
    return inside
