"""Finds times in which a host sent nothing to anybody, although servers repeatedly retransmitted segments that it had
not acknowledged.

A host whose process ended still acknowledges or resets: its kernel does. One that does neither is unreachable, or off.
If only packets to the host are lost, the host still sends something now and then, such as keep-alive probes, and yet
acknowledges nothing: such times are one silence.
"""

import numpy as np
import pyarrow as pa

from kafkascope_analyzer.resolve.servers.hosts import ServerHosts
from kafkascope_analyzer.resolve.servers.run_union import Ints, Runs, first_ending_after
from kafkascope_analyzer.resolve.servers.waits import DELIVERY, LEAST_DELIVERY_NS, Waits
from kafkascope_analyzer.scan.first_rows import first_rows
from kafkascope_parsers.tcp.spans import UNACKNOWLEDGED_NS

LEAST_NS = 3_000_000_000
"""Shortest silence that counts where only one server shows it: a server's second retransmission may end a
shorter one."""
LEAST_SERVERS, LEAST_OF_SEVERAL_NS = 2, LEAST_DELIVERY_NS
"""Fewest servers, and shortest silence, where several servers show it: it is then not a chance loss of packets."""
LONGEST_SIGN_NS = 1_000_000_000
"""Longest time in which a host that acknowledges nothing may send packets within a silence."""
FIRST_PAUSE_NS = 1_000_000_000
"""Longest pause before TCP's first retransmission, except where round trips take that long."""


def host_silence_rows(waits: Waits, gaps: Runs, hosts: ServerHosts) -> pa.Table:
    """Returns one row per server, host and silence.

    waits: those of servers for acknowledgments among others; gaps: in what the hosts sent to anybody.
    Columns: key, conn_id, host; before_ns, before_packet: the host's last packet before, or the first one that it did
    not acknowledge, if that was earlier; first_ns, first_packet, last_ns, last_packet: the first and the last packet
    that a server sent without an acknowledgment; until_ns, until_packet: the host's first packet afterwards, null where
    none came; n_connections.
    """
    waits = waits.taken(np.flatnonzero(waits.layer == DELIVERY))
    host = hosts.host[waits.conn]
    gap = first_ending_after(gaps, host, waits.asked_ns + UNACKNOWLEDGED_NS)
    known = np.flatnonzero(gap >= 0)
    waits, gap = waits.taken(known), gap[known]
    part_of = _parts(waits, gaps, gap)
    gaps, gap = _joined(gaps, part_of), part_of[gap]
    is_inside = (gaps.first_packet[gap] > 0) & (gaps.first_ns[gap] <= waits.asked_ns + UNACKNOWLEDGED_NS)
    lasted_ns = gaps.last_ns[gap] - gaps.first_ns[gap]
    is_of_several = _n_servers(gap[is_inside], waits.server[is_inside], len(gaps.subject))[gap] >= LEAST_SERVERS
    chosen = np.flatnonzero(is_inside & (lasted_ns >= np.where(is_of_several, LEAST_OF_SEVERAL_NS, LEAST_NS)))
    waits, gap = waits.taken(chosen), gap[chosen]
    order = np.lexsort((waits.asked_packet, waits.asked_ns, waits.pair, gap))
    waits, gap = waits.taken(order), gap[order]
    begins = np.append(True, (np.diff(gap) != 0) | (np.diff(waits.pair) != 0))[: len(gap)]
    return _table(waits, gaps.taken(gap), np.flatnonzero(begins), hosts)


def _parts(waits: Waits, gaps: Runs, gap: Ints) -> Ints:
    """Returns the number of the silence to which each gap belongs: to that of the gap before it, if the host sent only
    for a moment between the two, and went on acknowledging nothing to several servers. gap: the gap of each wait."""
    n = len(gaps.subject)
    until_ns = np.where(waits.until_ns > 0, waits.until_ns, np.iinfo(np.int64).max)
    keys, times = np.append(gaps.subject, gaps.subject[gap]), np.append(gaps.first_ns, until_ns)
    order = np.lexsort((np.arange(len(keys)), times, keys))
    n_begun = np.empty(len(keys), np.int64)
    n_begun[order] = np.cumsum(order < n)
    last_gap = np.maximum(n_begun[n:] - 1, gap)
    order = np.lexsort((gap, waits.server))
    server, first, last = waits.server[order], gap[order], last_gap[order]
    begins, ends = _united(server, first, last)
    n_servers = np.cumsum(np.bincount(begins, minlength=n + 1) - np.bincount(ends, minlength=n + 1))
    is_crossed = n_servers[: max(n - 1, 0)] >= LEAST_SERVERS
    is_short = gaps.first_ns[1:] - gaps.last_ns[:-1] <= LONGEST_SIGN_NS
    goes_on = is_crossed & is_short & (gaps.subject[1:] == gaps.subject[:-1])
    return np.cumsum(np.append(True, ~goes_on))[:n] - 1


def _united(server: Ints, first: Ints, last: Ints) -> tuple[Ints, Ints]:
    """Returns first and last gaps of the spans of each server, without overlaps. The spans are sorted by server and
    first gap."""
    if not len(server):
        return first, last
    base = server * (int(last.max()) + 1)
    reach = np.maximum.accumulate(base + last)
    begins = np.append(True, (base + first)[1:] > reach[:-1])
    at = np.flatnonzero(begins)
    ends = np.append(at[1:], len(server)) - 1
    return first[at], reach[ends] - base[ends]


def _joined(gaps: Runs, part_of: Ints) -> Runs:
    """Returns the silences. part_of: the silence of each gap."""
    first = np.flatnonzero(np.diff(part_of, prepend=-1))
    last = np.append(first[1:], len(part_of))[: len(first)] - 1
    begins, ends = gaps.taken(first), gaps.taken(last)
    return Runs(begins.subject, begins.first_ns, begins.first_packet, ends.last_ns, ends.last_packet)


def _table(waits: Waits, gaps: Runs, first: Ints, hosts: ServerHosts) -> pa.Table:
    """Returns the rows. waits, gaps: side by side; first: the rows with which groups begin."""
    shown_ns, shown_packet = _last_shown(waits, gaps)
    groups = np.split(np.arange(len(waits.conn)), first[1:]) if len(first) else []
    last = np.array([rows[np.argmax(shown_ns[rows])] for rows in groups], np.int64)
    is_open = gaps.last_packet[first] == 0
    is_earlier = waits.asked_ns[first] < gaps.first_ns[first]
    return pa.table(
        {
            "key": hosts.keys.take(pa.array(waits.server[first])),
            "conn_id": hosts.connections["conn_id"].combine_chunks().take(pa.array(waits.conn[first])),
            "host": pa.array(hosts.hosts, pa.string()).take(pa.array(hosts.host[waits.conn[first]])),
            "before_ns": pa.array(np.minimum(waits.asked_ns[first], gaps.first_ns[first])),
            "before_packet": pa.array(np.where(is_earlier, waits.asked_packet[first], gaps.first_packet[first])),
            "first_ns": pa.array(waits.asked_ns[first]),
            "first_packet": pa.array(waits.asked_packet[first]),
            "last_ns": pa.array(shown_ns[last]),
            "last_packet": pa.array(shown_packet[last]),
            "until_ns": pa.array(gaps.last_ns[first], mask=is_open),
            "until_packet": pa.array(gaps.last_packet[first], mask=is_open),
            "n_connections": pa.array([len(np.unique(waits.conn[rows])) for rows in groups], pa.int64()),
        }
    )


def _n_servers(gap: Ints, server: Ints, n_gaps: int) -> Ints:
    """Returns how many servers waited in each gap."""
    return np.bincount(gap[first_rows(gap, server)], minlength=n_gaps)


def _last_shown(waits: Waits, gaps: Runs) -> tuple[Ints, Ints]:
    """Returns when each wait last shows the silence, and the packet, where that is known. The last attempt does not
    show it if the acknowledgment came soon after it, or if it came after the silence. The one before it came at most
    half of the first pause before the middle of the time until then, because TCP doubles the time between its attempts,
    and the first takes a second at most (RFC 6298)."""
    lasted_ns = waits.last_ns - waits.asked_ns
    is_answered = (waits.until_ns > 0) & (2 * (waits.until_ns - waits.last_ns) < lasted_ns)
    is_inside = (waits.last_ns <= gaps.last_ns) & ~is_answered
    until_ns = np.minimum(waits.last_ns, gaps.last_ns)
    half = waits.asked_ns + np.maximum(until_ns - waits.asked_ns - FIRST_PAUSE_NS, 0) // 2
    return np.where(is_inside, waits.last_ns, half), np.where(is_inside, waits.last_packet, 0)
