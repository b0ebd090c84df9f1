"""Finds times in which packets between a host and a server were delayed: the packets of one side were acknowledged
late, again and again, and hardly any sooner.

Kernels delay an acknowledgment for up to 200 ms, which tcp.spans.WAIT_NS leaves out: a path that adds less than that
looks like such a kernel here (raised_ack_times.py tells it apart). Where packets are lost, the others are acknowledged
at once in between; where the path or the receiver's kernel is slow, none is, and all are about equally late.

Where the path is always that long, as over a satellite, all packets wait. So of waits in quick succession only some are
kept, each with the number of waits that it stands for. Memory: some hundred waits per connection and hour.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.resolve.servers.hosts import ServerHosts
from kafkascope_analyzer.resolve.servers.kernels import mark_times
from kafkascope_analyzer.resolve.servers.losses import APART_NS, SENDERS
from kafkascope_analyzer.resolve.servers.run_union import Ints
from kafkascope_analyzer.scan.liveness_spans import WAITS
from kafkascope_analyzer.scan.spill import read_spill
from kafkascope_parsers.tcp.spans import BY_ACK, BY_DATA, BY_SYN_ACK, PACKETS

LEAST_WAITS, LEAST_IN_TURN = 5, 4
"""Fewest waits of a delay, and fewest of them one after the other: several at one moment may have a single passing
cause."""
MOST_QUICK = 1
"""Most quick acknowledgments for each late one. One of an earlier segment may come soon after the next was sent."""
MOSTLY_ALIKE = 0.9
"""Among the waits of a delay that take at least half the median, the smallest share that takes at most twice the
median: TCP doubles the pause between its attempts where packets are lost (RFC 6298, 5.5). Shorter waits count as quick.
"""
FIRST_WAITS, SLICE_NS = 50, 300_000_000_000
"""Number of first waits of a connection in one direction that are kept in each time slice, besides the last one."""
_ARRIVED = (BY_ACK, BY_DATA, BY_SYN_ACK)
_SPILLED = ("first_ns", "first_packet", "until_ns", "until_packet", "n_quick")
_NAMES = ("conn", "sender", *_SPILLED, "covered_ns", "n_waits", "n_quick_after")
"""covered_ns: the latest end of the wait and of those that it stands for; n_waits: their number; n_quick_after: n_quick
of the others."""
_MOST_ADDED = 100_000
"""Waits that are collected before the list is thinned."""


_Waits = dict[str, Ints]
"""The columns _NAMES of waits."""


def delay_rows(hosts: ServerHosts) -> pa.Table:
    """Returns one row per span of time, host, server and direction in which packets were acknowledged late: key,
    conn_id, host, sender (of the packets that were acknowledged late), the first such packet and the last
    acknowledgment, the number of waits, their median, and on how many connections."""
    waits = _gathered(hosts)
    subject = hosts.pair[waits["conn"]] * len(SENDERS) + waits["sender"]
    order = np.lexsort((waits["first_packet"], waits["first_ns"], subject))
    waits, subject = _taken(waits, order), subject[order]
    n = len(order)
    begins, in_turn = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    mark_times(subject, waits["first_ns"], waits["covered_ns"], APART_NS, begins, in_turn)
    first = np.flatnonzero(begins)
    size = np.diff(np.append(first, n))
    stretches = [
        (at, at + n_kept)
        for at, n_kept in zip(first.tolist(), size.tolist(), strict=True)
        if waits["n_waits"][at : at + n_kept].sum() >= LEAST_WAITS
        and int(in_turn[at : at + n_kept].sum()) >= LEAST_IN_TURN
    ]
    slow = [(begin, end) for begin, end in stretches if _is_slow(_taken(waits, slice(begin, end)))]
    return _table(hosts, waits, slow)


def _is_slow(waits: _Waits) -> bool:
    """Whether consecutive waits of one span show that everything took long. Activity before the first wait of a
    connection belongs to another span, and so do its quick acknowledgments."""
    _, firsts = np.unique(waits["conn"], return_index=True)
    later = np.ones(len(waits["conn"]), np.bool_)
    later[firsts] = False
    took_ns = waits["until_ns"] - waits["first_ns"]
    middle_ns = np.median(took_ns)
    late = 2 * took_ns >= middle_ns
    n_late = int(waits["n_waits"][late].sum()) - np.count_nonzero(late & ~later)
    n_sooner = int(waits["n_quick"][later].sum() + waits["n_quick_after"].sum() + waits["n_waits"][~late].sum())
    is_alike = np.count_nonzero(took_ns[late] <= 2 * middle_ns) >= MOSTLY_ALIKE * np.count_nonzero(late)
    n_all = int(waits["n_waits"].sum())
    return bool(is_alike and n_all > len(firsts) and n_sooner <= MOST_QUICK * n_late)


def _table(hosts: ServerHosts, waits: _Waits, stretches: list[tuple[int, int]]) -> pa.Table:
    """Returns the rows. stretches: first and last index of each span among the waits."""
    conn, sender = waits["conn"], waits["sender"]
    at = np.array([begin for begin, _ in stretches], np.int64)
    last = np.array([begin + int(waits["until_ns"][begin:end].argmax()) for begin, end in stretches], np.int64)
    pair = hosts.pair[conn[at]]
    took_ns = waits["until_ns"] - waits["first_ns"]
    middle_ms = [int(np.median(took_ns[begin:end])) // 1_000_000 for begin, end in stretches]
    return pa.table(
        {
            "key": hosts.keys.take(pa.array(hosts.pair_server[pair])),
            "conn_id": hosts.connections["conn_id"].combine_chunks().take(pa.array(conn[at])),
            "host": pa.array(hosts.hosts, pa.string()).take(pa.array(hosts.pair_host[pair])),
            "sender": pa.array(SENDERS).take(pa.array(sender[at])),
            "first_ns": pa.array(waits["first_ns"][at]),
            "first_packet": pa.array(waits["first_packet"][at]),
            "last_ns": pa.array(waits["until_ns"][last]),
            "last_packet": pa.array(waits["until_packet"][last]),
            "n_late": pa.array([int(waits["n_waits"][begin:end].sum()) for begin, end in stretches], pa.int64()),
            "middle_ms": pa.array(middle_ms, pa.int64()),
            "slice_ms": pa.array(np.zeros(len(at), np.int64)),
            "n_connections": pa.array([len(np.unique(conn[begin:end])) for begin, end in stretches], pa.int64()),
        }
    )


def _gathered(hosts: ServerHosts) -> _Waits:
    """Returns the waits for packets that were acknowledged in the end, thinned."""
    found = {name: np.empty(0, np.int64) for name in _NAMES}
    added: list[_Waits] = []
    n_added = 0
    for part in _parts(hosts):
        added.append(part)
        n_added += len(part["conn"])
        if n_added > len(found["conn"]) + _MOST_ADDED:
            found, added, n_added = _thinned(_joined([found, *added])), [], 0
    return _thinned(_joined([found, *added]))


def _parts(hosts: ServerHosts) -> Iterator[_Waits]:
    for spill, first in hosts.first_row.items():
        for rows in read_spill(spill, WAITS, ["conn", "side", "layer", "ended_by", *_SPILLED]):
            conn = rows["conn"].to_numpy() + first
            kept: NDArray[np.bool_] = (rows["layer"].to_numpy() == PACKETS) & (hosts.pair[conn] >= 0)
            kept &= np.isin(rows["ended_by"].to_numpy(), _ARRIVED)
            by_client = rows["side"].to_numpy() == hosts.client_side[conn]
            sender = np.where(by_client, SENDERS.index("host"), SENDERS.index("server"))
            spilled = {name: rows[name].to_numpy() for name in _SPILLED}
            alone = {"covered_ns": spilled["until_ns"], "n_waits": np.ones_like(conn), "n_quick_after": 0 * conn}
            waits = {"conn": conn, "sender": sender, **spilled, **alone}
            yield {name: waits[name][kept].astype(np.int64) for name in _NAMES}


def _thinned(waits: _Waits) -> _Waits:
    """Returns the waits that are kept, each with the waits that it stands for: those after it on its connection and in
    its direction, up to the next that is kept."""
    way = waits["conn"] * len(SENDERS) + waits["sender"]
    order = np.lexsort((waits["first_packet"], waits["first_ns"], way))
    waits, way = _taken(waits, order), way[order]
    n, asked = len(way), waits["first_ns"]
    is_first = np.append(True, np.diff(way) != 0)[:n] | np.append(True, np.diff(asked // SLICE_NS) != 0)[:n]
    is_first |= np.append(True, asked[1:] - waits["covered_ns"][:-1] > APART_NS)[:n]
    starts = np.flatnonzero(is_first)
    rank = np.arange(n) - np.repeat(starts, np.diff(np.append(starts, n)))
    is_last = np.append(is_first, True)[1:][:n]
    kept = np.flatnonzero((rank < FIRST_WAITS) | is_last)
    if len(kept) == n:
        return waits
    found = _taken(waits, kept)
    found["covered_ns"] = np.maximum.reduceat(waits["covered_ns"], kept)
    found["n_waits"] = np.add.reduceat(waits["n_waits"], kept)
    found["n_quick_after"] = np.add.reduceat(waits["n_quick"] + waits["n_quick_after"], kept) - found["n_quick"]
    return found


def _joined(parts: list[_Waits]) -> _Waits:
    return {name: np.concatenate([part[name] for part in parts]) for name in _NAMES}


def _taken(waits: _Waits, which: Ints | slice) -> _Waits:
    return {name: values[which] for name, values in waits.items()}
