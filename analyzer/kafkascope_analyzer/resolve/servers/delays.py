"""When packets between a host and a server took long: whatever one side sent was acknowledged late, again and again,
and hardly anything sooner.

Kernels delay an acknowledgment for up to 200 ms, which tcp.spans.WAIT_NS leaves out: a way that takes less than that
looks like such a kernel, and shows in late responses only. Where packets are lost, those that are not are acknowledged
at once in between; where the way or the receiver's kernel is slow, none is, and all of them come about as late.
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
"""So many waits, so many of them one after the other: several at one moment may have one reason that passes."""
MOST_QUICK = 1
"""Quick acknowledgments for each late one. One of an earlier segment may come soon after the next was sent."""
MOSTLY_ALIKE = 0.9
"""Share of the waits that take half as long as the middle one of their time, or longer, which take at most twice as
long: TCP doubles the pause between its attempts where packets are lost (RFC 6298, 5.5). Shorter ones are quick."""
_ARRIVED = (BY_ACK, BY_DATA, BY_SYN_ACK)
_NAMES = ("first_ns", "first_packet", "until_ns", "until_packet", "n_quick")


def delay_rows(hosts: ServerHosts) -> pa.Table:
    """One row per stretch of time, host, server and direction in which packets were acknowledged late: key, conn_id,
    host, sender (of what was acknowledged late), the first packet that was and the last acknowledgment, how many waits
    that were, how long the middle one took, and on how many connections."""
    conn, sender, columns = _gathered(hosts)
    asked, until = columns["first_ns"], columns["until_ns"]
    subject = hosts.pair[conn] * len(SENDERS) + sender
    order = np.lexsort((columns["first_packet"], asked, subject))
    conn, sender, subject, asked, until = (each[order] for each in (conn, sender, subject, asked, until))
    columns = {name: values[order] for name, values in columns.items()}
    n = len(order)
    begins, in_turn = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    mark_times(subject, asked, until, APART_NS, begins, in_turn)
    first = np.flatnonzero(begins)
    size = np.diff(np.append(first, n))
    stretches = [
        (at, at + n_waits)
        for at, n_waits in zip(first.tolist(), size.tolist(), strict=True)
        if n_waits >= LEAST_WAITS and int(in_turn[at : at + n_waits].sum()) >= LEAST_IN_TURN
    ]
    slow = [
        (begin, end)
        for begin, end in stretches
        if _is_slow(conn[begin:end], until[begin:end] - asked[begin:end], columns["n_quick"][begin:end])
    ]
    return _table(hosts, (conn, sender), columns, slow)


def _is_slow(conn: Ints, took_ns: Ints, n_quick: Ints) -> bool:
    """Whether waits of one time, in order, show that everything took long. n_quick: of each, how many before it on its
    connection did not; what was before the first of a connection is of another time."""
    _, firsts = np.unique(conn, return_index=True)
    later = np.ones(len(conn), np.bool_)
    later[firsts] = False
    middle_ns = np.median(took_ns)
    late = 2 * took_ns >= middle_ns
    n_late, n_sooner = np.count_nonzero(late & later), int(n_quick[later].sum()) + np.count_nonzero(~late)
    is_alike = np.count_nonzero(took_ns[late] <= 2 * middle_ns) >= MOSTLY_ALIKE * np.count_nonzero(late)
    return bool(is_alike and later.any() and n_sooner <= MOST_QUICK * n_late)


def _table(
    hosts: ServerHosts, of: tuple[Ints, Ints], columns: dict[str, Ints], stretches: list[tuple[int, int]]
) -> pa.Table:
    """The rows. of: connection and sender of each wait; stretches: begin and end among the waits."""
    conn, sender = of
    at = np.array([begin for begin, _ in stretches], np.int64)
    last = np.array([begin + int(columns["until_ns"][begin:end].argmax()) for begin, end in stretches], np.int64)
    pair = hosts.pair[conn[at]]
    took_ns = columns["until_ns"] - columns["first_ns"]
    middle_ms = [int(np.median(took_ns[begin:end])) // 1_000_000 for begin, end in stretches]
    return pa.table(
        {
            "key": hosts.keys.take(pa.array(hosts.pair_server[pair])),
            "conn_id": hosts.connections["conn_id"].combine_chunks().take(pa.array(conn[at])),
            "host": pa.array(hosts.hosts, pa.string()).take(pa.array(hosts.pair_host[pair])),
            "sender": pa.array(SENDERS).take(pa.array(sender[at])),
            "first_ns": pa.array(columns["first_ns"][at]),
            "first_packet": pa.array(columns["first_packet"][at]),
            "last_ns": pa.array(columns["until_ns"][last]),
            "last_packet": pa.array(columns["until_packet"][last]),
            "n_late": pa.array([end - begin for begin, end in stretches], pa.int64()),
            "middle_ms": pa.array(middle_ms, pa.int64()),
            "n_connections": pa.array([len(np.unique(conn[begin:end])) for begin, end in stretches], pa.int64()),
        }
    )


def _gathered(hosts: ServerHosts) -> tuple[Ints, Ints, dict[str, Ints]]:
    """Connection, sender and columns of the waits for packets that came in the end."""
    parts = list(_parts(hosts))
    joined = [np.concatenate([np.empty(0, np.int64), *column]) for column in zip(*parts, strict=True)]
    conn, sender, *rest = joined or [np.empty(0, np.int64)] * (2 + len(_NAMES))
    return conn, sender, dict(zip(_NAMES, rest, strict=True))


def _parts(hosts: ServerHosts) -> Iterator[tuple[Ints, ...]]:
    for spill, first in hosts.first_row.items():
        for rows in read_spill(spill, WAITS, ["conn", "side", "layer", "ended_by", *_NAMES]):
            conn = rows["conn"].to_numpy() + first
            kept: NDArray[np.bool_] = (rows["layer"].to_numpy() == PACKETS) & (hosts.pair[conn] >= 0)
            kept &= np.isin(rows["ended_by"].to_numpy(), _ARRIVED)
            by_client = rows["side"].to_numpy() == hosts.client_side[conn]
            sender = np.where(by_client, SENDERS.index("host"), SENDERS.index("server"))
            columns = (conn, sender, *(rows[name].to_numpy() for name in _NAMES))
            yield tuple(column[kept].astype(np.int64) for column in columns)
