"""Finds packet losses between a host and a server: retransmitted segments that had not arrived before.

Most retransmissions mean nothing: a receiver that delays its acknowledgment makes the sender repeat what has long
arrived. Such a receiver reports it (D-SACK, RFC 2883). What was sent again without a report was lost, or its
acknowledgment was. A host that never reports anything may not be able to, or nothing came to it twice. Then what is
sent again a second time shows a loss: a receiver acknowledges at once what it has already (RFC 9293, 3.10.7.4). Where
that happens several times, whatever else is sent to it again counts, too.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.resolve.distinct_rows import group_codes
from kafkascope_analyzer.resolve.servers.arrived_bytes import most_arrived
from kafkascope_analyzer.resolve.servers.hosts import NONE, ServerHosts
from kafkascope_analyzer.resolve.servers.kernels import mark_unreported
from kafkascope_analyzer.resolve.servers.run_union import Ints
from kafkascope_analyzer.scan.spill import read_spill
from kafkascope_parsers.tcp.state import E_DSACK, E_RETRANSMIT

APART_NS = 5_000_000_000
"""Losses with a longer pause between them belong to different spans."""
LEAST_LOSSES = 5
"""Fewest losses of a span: fewer are chance, or belong to the end of a connection."""
BURST_GAP_NS = 200_000_000
"""Retransmissions with a shorter pause between them are one burst: a sender that waited for its retransmission timeout
(Linux's minimum) retransmits everything that was lost with the first segment."""
LEAST_TRIES = 2
"""A segment that was retransmitted this often counts as lost, whether its receiver reports or not: had the first
attempt arrived, the second would have been acknowledged at once."""
SENDERS = ("host", "server")
_COLUMNS = ["conn", "ts_ns", "packet_no", "side", "kind", "seq", "bytes"]
_KINDS = pa.array([E_RETRANSMIT, E_DSACK], pa.uint8())


@dataclass(frozen=True, slots=True)
class Retransmissions:
    """Retransmissions, and reports of duplicates (D-SACK), in order of time within each direction of a connection.

    conn: connection number of ServerHosts; sender: sender of the retransmitted or reported segment, index in SENDERS;
    is_report: whether the row is a report.
    """

    conn: Ints
    sender: Ints
    ts_ns: Ints
    packet_no: Ints
    seq: Ints
    n_bytes: Ints
    is_report: NDArray[np.bool_]


def loss_rows(hosts: ServerHosts) -> pa.Table:
    """Returns one row per span of time, host, server and direction in which packets were lost LEAST_LOSSES times or
    more: key, conn_id, host, sender, the first and the last retransmission, their number, the number of different
    segments, of bursts, and of connections, the lengths of the shortest and the longest segment, and the length of the
    longest frame that arrived at once meanwhile (arrived_bytes). For the latter only the first half of the span counts,
    because the last attempt may come as long after the losses are over as they lasted (RFC 6298, 5.5). lost_ns: the
    time until which packets were lost, at least."""
    again = _gathered(hosts)
    n = len(again.conn)
    is_lost = np.zeros(n, np.bool_)
    mark_unreported(again.conn * 2 + again.sender, again.is_report, np.empty(n, np.int64), is_lost)
    lost = np.flatnonzero(is_lost)
    lost = lost[_counts(hosts, again, lost)]
    subject = _subject(hosts, again, lost)
    order = np.lexsort((again.packet_no[lost], again.ts_ns[lost], subject))
    lost, subject = lost[order], subject[order]
    begins = np.append(True, (np.diff(subject) != 0) | (np.diff(again.ts_ns[lost]) > APART_NS))[: len(lost)]
    begins &= ~_goes_on(again, lost)
    first = np.flatnonzero(begins)
    size = np.diff(np.append(first, len(lost)))
    chosen = size >= LEAST_LOSSES
    return _table(hosts, again, lost, (first[chosen], size[chosen]))


def _subject(hosts: ServerHosts, again: Retransmissions, rows: Ints) -> Ints:
    """Returns a number for the host, the server and the direction of each row."""
    subject: Ints = hosts.pair[again.conn[rows]] * len(SENDERS) + again.sender[rows]
    return subject


def _counts(hosts: ServerHosts, again: Retransmissions, lost: Ints) -> NDArray[np.bool_]:
    """Whether each of these unreported retransmissions counts as a loss."""
    receiver = _receiver(hosts, again)
    counts = np.isin(receiver[lost], receiver[again.is_report])
    is_again_and_again = _tries(again, lost) >= LEAST_TRIES
    subjects, code = np.unique(_subject(hosts, again, lost), return_inverse=True)
    n_lost = np.bincount(code[is_again_and_again], minlength=len(subjects))
    return counts | is_again_and_again | (n_lost[code] >= LEAST_LOSSES)


def _tries(again: Retransmissions, lost: Ints) -> Ints:
    """Returns how often the segment of each row was retransmitted."""
    segment, n = group_codes([again.conn[lost], again.sender[lost], again.seq[lost]])
    return np.bincount(segment, minlength=n)[segment]


def _goes_on(again: Retransmissions, lost: Ints) -> NDArray[np.bool_]:
    """Whether a segment that was retransmitted before each row was retransmitted again at that time or later, so that
    it had not arrived, however long TCP waits between two attempts. Rows are sorted by subject and time."""
    order = np.lexsort((np.arange(len(lost)), again.seq[lost], again.conn[lost], again.sender[lost]))
    rows = lost[order]
    same = np.flatnonzero(
        np.all([np.diff(column[rows]) == 0 for column in (again.conn, again.sender, again.seq)], axis=0)
    )
    steps = np.zeros(len(lost) + 1, np.int64)
    np.add.at(steps, order[same] + 1, 1)
    np.add.at(steps, order[same + 1] + 1, -1)
    return np.cumsum(steps[:-1]) > 0


def _table(hosts: ServerHosts, again: Retransmissions, lost: Ints, stretches: tuple[Ints, Ints]) -> pa.Table:
    first, size = stretches
    at, until = lost[first], lost[first + size - 1]
    pair = hosts.pair[again.conn[at]]
    half_ns = again.ts_ns[at] + (again.ts_ns[until] - again.ts_ns[at]) // 2
    arrived = most_arrived(hosts, 2 * pair + again.sender[at], again.ts_ns[at], half_ns)
    inside = [lost[begin : begin + n] for begin, n in zip(first.tolist(), size.tolist(), strict=True)]
    return pa.table(
        {
            "key": hosts.keys.take(pa.array(hosts.pair_server[pair])),
            "conn_id": hosts.connections["conn_id"].combine_chunks().take(pa.array(again.conn[at])),
            "host": pa.array(hosts.hosts, pa.string()).take(pa.array(hosts.pair_host[pair])),
            "sender": pa.array(SENDERS).take(pa.array(again.sender[at])),
            "first_ns": pa.array(again.ts_ns[at]),
            "first_packet": pa.array(again.packet_no[at]),
            "last_ns": pa.array(again.ts_ns[until]),
            "last_packet": pa.array(again.packet_no[until]),
            "n_lost": pa.array(size),
            "n_segments": pa.array([_n_segments(again, rows) for rows in inside], pa.int64()),
            "n_bursts": pa.array([_n_bursts(again.ts_ns[rows]) for rows in inside], pa.int64()),
            "n_connections": pa.array([len(np.unique(again.conn[rows])) for rows in inside], pa.int64()),
            "least_bytes": pa.array([again.n_bytes[rows].min() for rows in inside], pa.int64()),
            "most_bytes": pa.array([again.n_bytes[rows].max() for rows in inside], pa.int64()),
            "arrived_bytes": pa.array(arrived),
            "lost_ns": pa.array([_lost_ns(again, rows) for rows in inside], pa.int64()),
        }
    )


def _n_segments(again: Retransmissions, rows: Ints) -> int:
    return group_codes([again.conn[rows], again.seq[rows]])[1]


def _lost_ns(again: Retransmissions, rows: Ints) -> int:
    """Returns the time until which packets were lost, at least. Segments that a connection retransmits in its last
    burst were lost before: in the burst before that, where there is one, as TCP doubles the pause between its attempts
    (RFC 6298, 5.5)."""
    conn, ts_ns = again.conn[rows], again.ts_ns[rows]
    order = np.lexsort((ts_ns, conn))
    conn, ts_ns = conn[order], ts_ns[order]
    begins = np.flatnonzero(np.append(True, (np.diff(conn) != 0) | (np.diff(ts_ns) >= BURST_GAP_NS)))
    _, first, n = np.unique(conn[begins], return_index=True, return_counts=True)
    several = n > 1
    return int(ts_ns[begins[(first + n - 2)[several]]].max(initial=ts_ns.min()))


def _n_bursts(ts_ns: Ints) -> int:
    """Returns the number of bursts of retransmissions at these sorted times."""
    return 1 + int(np.count_nonzero(np.diff(ts_ns) >= BURST_GAP_NS))


def _gathered(hosts: ServerHosts) -> Retransmissions:
    parts = list(_parts(hosts))
    columns = [np.concatenate([np.empty(0, np.int64), *column]) for column in zip(*parts, strict=True)]
    conn, sender, ts_ns, packet_no, seq, n_bytes, is_report = columns or [np.empty(0, np.int64)] * 7
    order = np.lexsort((is_report, packet_no, ts_ns, conn * 2 + sender))
    conn, sender, ts_ns, packet_no = (column[order] for column in (conn, sender, ts_ns, packet_no))
    return Retransmissions(
        conn, sender, ts_ns, packet_no, seq[order], n_bytes[order], is_report[order].astype(np.bool_)
    )


def _parts(hosts: ServerHosts) -> Iterator[tuple[Ints, ...]]:
    """Yields the columns of Retransmissions, bucket by bucket."""
    for spill, first in hosts.first_row.items():
        for rows in read_spill(spill, "tcp_events", _COLUMNS):
            rows = rows.filter(pc.is_in(rows["kind"], _KINDS))
            conn = rows["conn"].to_numpy() + first
            is_report = rows["kind"].to_numpy() == E_DSACK
            by_client = (rows["side"].to_numpy() == hosts.client_side[conn]) != is_report
            kept = hosts.pair[conn] != NONE
            sender = np.where(by_client, SENDERS.index("host"), SENDERS.index("server"))
            columns = (
                conn,
                sender,
                *(rows[name].to_numpy() for name in ("ts_ns", "packet_no", "seq", "bytes")),
                is_report,
            )
            yield tuple(column[kept].astype(np.int64) for column in columns)


def _receiver(hosts: ServerHosts, again: Retransmissions) -> Ints:
    """Returns a number for the address of the receiver of each row."""
    of_host = {host: number for number, host in enumerate(hosts.hosts)}
    of_server = np.array([of_host.setdefault(end[0], len(of_host)) for end in hosts.servers], np.int64)
    to_server = again.sender == SENDERS.index("host")
    return np.where(to_server, of_server[hosts.server[again.conn]], hosts.host[again.conn])
