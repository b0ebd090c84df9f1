"""Finds unusually long silences of clients, from the spilled waits of servers for their clients.

A server that sent payload waits for the client's next payload, and most such waits mean nothing: a client is idle, or
its next heartbeat is not due yet. This module chooses waits that are unusually long for a connection on which a member
talks to its group, together with the waits on other connections from the same address while the next payload was
overdue; and the waits of clients that are seldom quiet (quiet_clients). Whether a client was silent on all of its
connections is decided where it is known which connections belong to it (Spark).
"""

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.tables.connections import CLAIMED_JOBS, COORDINATOR_JOB
from kafkascope_analyzer.dataset.uncovered import Uncovered
from kafkascope_analyzer.resolve.cluster.claims import job_codes
from kafkascope_analyzer.resolve.servers.quiet_clients import quiet_times
from kafkascope_analyzer.resolve.servers.run_union import NO_RUNS, Ints, Runs, first_ending_after, joined, last_before
from kafkascope_analyzer.scan.group_clients import GROUP_CLIENTS
from kafkascope_analyzer.scan.liveness_spans import RUN_COLUMNS, RUNS, WAITS, is_unacknowledged
from kafkascope_analyzer.scan.spill import read_spill
from kafkascope_parsers.tcp.spans import ENDED_BY, PACKETS, PAYLOAD

if TYPE_CHECKING:
    from kafkascope_analyzer.resolve.servers.hosts import ServerHosts

LATE_FACTOR, SLACK_NS = 1.5, 1_000_000_000
"""A member's next payload is overdue when it takes this many times as long as usual, and this much longer."""
MOST_OVERDUE = 32
"""Most silences that are chosen of one connection: the longest ones."""
_LAYERS = (PACKETS, PAYLOAD)
NO_SILENCES = pa.schema(
    [
        ("conn_id", pa.string()),
        ("first_ns", pa.int64()),
        ("first_packet", pa.int64()),
        ("answered_ns", pa.int64()),
        ("last_ns", pa.int64()),
        ("last_packet", pa.int64()),
        ("ended_by", pa.string()),
        ("last_sent_ns", pa.int64()),
        ("acknowledged", pa.bool_()),
        ("clock_ns", pa.int64()),
    ]
).empty_table()


def gather_silences(
    hosts: "ServerHosts", end_ns: int, uncovered: Uncovered, clocks: pa.Array, claims: pa.Table, client: Ints
) -> pa.Table:
    """Returns the chosen silences. end_ns: end of the capture; uncovered: times that no file covers, in which clients
    may have sent something; clocks: clock_ns of each connection; claims: inferred jobs of encrypted connections
    (claims.CLAIMS); client: the client of each connection (quiet_clients.client_numbers).

    Columns: conn_id; first_ns, first_packet: the client's last payload before; answered_ns: the server's first payload
    that the client had to respond to next; last_ns, last_packet, ended_by: the end of the silence (null and `open`
    where it had not ended by the end of the capture); last_sent_ns: the client's last packet of any kind before that;
    acknowledged: whether the client's kernel acknowledged the server's packets meanwhile; clock_ns: the difference
    between the capture's clock and the times in the client's batches, null where these are not create times.
    """
    found = _server_waits(hosts)
    waits, ended_by = found[PAYLOAD]
    known = np.flatnonzero(~uncovered.lie_in(waits.first_ns, _until(waits, end_ns)))
    waits, ended_by = waits.taken(known), ended_by[known]
    chosen = np.flatnonzero(_is_chosen(waits, hosts, end_ns, _of_members(hosts, claims), client))
    waits, ended_by = waits.taken(chosen), ended_by[chosen]
    runs = _client_runs(hosts, waits.subject)
    before = last_before(runs[PAYLOAD], waits.subject, waits.first_ns)
    known = np.flatnonzero(before.last_packet > 0)
    waits, ended_by, before = waits.taken(known), ended_by[known], before.taken(known)
    until = _until(waits, end_ns)
    sent = last_before(runs[PACKETS], waits.subject, until)
    is_open = waits.last_ns == 0
    return pa.table(
        {
            "conn_id": hosts.connections["conn_id"].combine_chunks().take(pa.array(waits.subject)),
            "first_ns": before.last_ns,
            "first_packet": before.last_packet,
            "answered_ns": waits.first_ns,
            "last_ns": pa.array(waits.last_ns, mask=is_open),
            "last_packet": pa.array(waits.last_packet, mask=is_open),
            "ended_by": pa.array(ENDED_BY).take(pa.array(ended_by)),
            "last_sent_ns": np.maximum(sent.last_ns, before.last_ns),
            "acknowledged": ~_is_unacknowledged(waits, found[PACKETS][0], end_ns),
            "clock_ns": clocks.take(pa.array(waits.subject)),
        },
        NO_SILENCES.schema,
    )


def _server_waits(hosts: "ServerHosts") -> dict[int, tuple[Runs, Ints]]:
    """Returns, by layer, the waits of servers for clients, by connection, with the cause of their end. first: the
    server's first packet that required a response, last: the packet that ended the wait, 0 where none did."""
    found: dict[int, list[tuple[Runs, Ints]]] = {layer: [(NO_RUNS, np.empty(0, np.int64))] for layer in _LAYERS}
    for spill, first in hosts.first_row.items():
        for rows in read_spill(spill, WAITS):
            conn, of_layer = rows["conn"].to_numpy() + first, rows["layer"].to_numpy()
            by_server = (rows["side"].to_numpy() != hosts.client_side[conn]) & (hosts.pair[conn] >= 0)
            by_server &= is_unacknowledged(rows)
            columns = (rows[name].to_numpy() for name in ("first_ns", "first_packet", "until_ns", "until_packet"))
            waits, ended_by = Runs(conn, *columns), rows["ended_by"].to_numpy().astype(np.int64)
            for layer, parts in found.items():
                mine = np.flatnonzero(by_server & (of_layer == layer))
                parts.append((waits.taken(mine), ended_by[mine]))
    return {
        layer: (joined([waits for waits, _ in parts]), np.concatenate([ended_by for _, ended_by in parts]))
        for layer, parts in found.items()
    }


def _is_chosen(
    waits: Runs, hosts: "ServerHosts", end_ns: int, is_member: NDArray[np.bool_], client: Ints
) -> NDArray[np.bool_]:
    """Whether each wait is an overdue one of a group's member, or contains the middle of the time for which another
    connection of the same address was overdue: a broker may respond to a Fetch long after the client fell silent.
    Likewise for quiet times of clients that are seldom quiet, with connections that may belong to them. is_member:
    whether each connection has requests of a group member; client: of each connection."""
    until = _until(waits, end_ns)
    host = hosts.host[waits.subject]
    overdue, due = _overdue(waits.subject, waits.first_ns, until, is_member[waits.subject])
    chosen = _hold_moments(waits, until, host, _moments(host[overdue], due, until[overdue]))
    quiet = quiet_times(waits, client, hosts, end_ns)
    chosen |= _hold_moments(waits, until, client[waits.subject], _moments(quiet.subject, quiet.first_ns, quiet.last_ns))
    known = np.flatnonzero(client >= 0)
    host_of = np.zeros(int(client.max(initial=0)) + 1, np.int64)
    host_of[client[known]] = hosts.host[known]
    at_host = _hold_moments(waits, until, host, _moments(host_of[quiet.subject], quiet.first_ns, quiet.last_ns))
    return np.asarray(chosen | (at_host & (client[waits.subject] < 0)))


def _moments(subject: Ints, first_ns: Ints, last_ns: Ints) -> Runs:
    """Returns the middle of each time, by subject and time."""
    middle = first_ns + (last_ns - first_ns) // 2
    moments = Runs(subject, middle, middle, middle, middle)
    return moments.taken(np.lexsort((moments.last_ns, moments.subject)))


def _hold_moments(waits: Runs, until: Ints, subject: Ints, moments: Runs) -> NDArray[np.bool_]:
    """Whether each wait contains a moment of its subject."""
    at = first_ending_after(moments, subject, waits.first_ns)
    found = at >= 0
    found[found] = moments.first_ns[at[found]] <= until[found]
    return found


def _overdue(conn: Ints, first_ns: Ints, until_ns: Ints, is_member: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Returns the waits of members that took much longer than is usual on their connection, and when each became
    overdue; for each connection at most MOST_OVERDUE, the longest ones."""
    mine = np.flatnonzero(is_member)
    length = (until_ns - first_ns)[mine]
    order = np.lexsort((length, conn[mine]))
    mine, length = mine[order], length[order]
    _, start, n = np.unique(conn[mine], return_index=True, return_counts=True)
    usual = np.where(n > 1, length[start + (n - 1) // 2] if len(n) else 0, 0)
    allowed = np.repeat((usual * LATE_FACTOR).astype(np.int64) + SLACK_NS, n)
    from_end = np.repeat(start + n, n) - np.arange(len(mine))
    rows = np.flatnonzero((length > allowed) & (from_end <= MOST_OVERDUE))
    return mine[rows], first_ns[mine[rows]] + allowed[rows]


def _of_members(hosts: "ServerHosts", claims: pa.Table) -> NDArray[np.bool_]:
    """Whether each connection has requests of a group member, or seems to have."""
    jobs = job_codes(claims, hosts.connections["conn_id"])
    found = np.asarray(jobs == CLAIMED_JOBS.index(COORDINATOR_JOB), np.bool_)
    for spill, first in hosts.first_row.items():
        for rows in read_spill(spill, GROUP_CLIENTS):
            found[rows["conn"].to_numpy() + first] = True
    return found


def _client_runs(hosts: "ServerHosts", conn: Ints) -> dict[int, Runs]:
    """Returns, by layer, the runs of the clients of some connections, by connection and time."""
    wanted = np.zeros(hosts.connections.num_rows, np.bool_)
    wanted[conn] = True
    found: dict[int, list[Runs]] = {layer: [] for layer in _LAYERS}
    for spill, first in hosts.first_row.items() if len(conn) else ():
        for rows in read_spill(spill, RUNS):
            of_conn, of_layer = rows["conn"].to_numpy() + first, rows["layer"].to_numpy()
            by_client = wanted[of_conn] & (rows["side"].to_numpy() == hosts.client_side[of_conn])
            runs = Runs(of_conn, *(rows[name].to_numpy() for name in RUN_COLUMNS))
            for layer, parts in found.items():
                parts.append(runs.taken(np.flatnonzero(by_client & (of_layer == layer))))
    return {layer: _in_order(joined(parts)) for layer, parts in found.items()}


def _in_order(runs: Runs) -> Runs:
    """Returns the runs by subject and the time at which they end."""
    return runs.taken(np.lexsort((runs.last_ns, runs.subject)))


def _is_unacknowledged(waits: Runs, unacknowledged: Runs, end_ns: int) -> NDArray[np.bool_]:
    """Whether the server waited long for an acknowledgment during each wait. unacknowledged: its waits for packets."""
    unacknowledged = _in_order(unacknowledged._replace(last_ns=_until(unacknowledged, end_ns)))
    at = first_ending_after(unacknowledged, waits.subject, waits.first_ns)
    found = at >= 0
    found[found] = unacknowledged.first_ns[at[found]] < _until(waits, end_ns)[found]
    return found


def _until(waits: Runs, end_ns: int) -> Ints:
    """Returns the end of each wait; the end of the capture for waits that had not ended."""
    return np.where(waits.last_ns > 0, waits.last_ns, end_ns)
