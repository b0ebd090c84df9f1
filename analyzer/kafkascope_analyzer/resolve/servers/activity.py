"""The activity of servers as seen by their hosts: what happened while a host waited for a server.

Each bucket spills when the sides of its connections sent packets (runs) and when they waited (waits); most of these
rows are irrelevant. Between the passes they are reduced to windows, times in which a host waited for a server or lost a
connection to it, and to the facts within them: the hosts that waited, the connections that ended, and when the server
sent packets to each of these hosts and to any host. So a healthy capture has one row per server and host.

Memory: runs of whole servers, and those of hosts that waited, joined over all connections.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.connections.cluster import Cluster
from kafkascope_analyzer.dataset.uncovered import Uncovered
from kafkascope_analyzer.resolve.cut_at_uncovered import cut_waits
from kafkascope_analyzer.resolve.servers.add_up import SumWork, add_up
from kafkascope_analyzer.resolve.servers.bucket_hosts import bucket_hosts
from kafkascope_analyzer.resolve.servers.cells import slices_of
from kafkascope_analyzer.resolve.servers.client_silences import gather_silences
from kafkascope_analyzer.resolve.servers.closed_windows import closed_windows
from kafkascope_analyzer.resolve.servers.delays import delay_rows
from kafkascope_analyzer.resolve.servers.given_up import with_given_up
from kafkascope_analyzer.resolve.servers.host_silences import host_silence_rows
from kafkascope_analyzer.resolve.servers.hosts import NONE, ServerHosts
from kafkascope_analyzer.resolve.servers.losses import loss_rows
from kafkascope_analyzer.resolve.servers.lost_flows import lost_flow_rows
from kafkascope_analyzer.resolve.servers.quiet_clients import client_numbers
from kafkascope_analyzer.resolve.servers.raised_ack_times import raised_rows
from kafkascope_analyzer.resolve.servers.rows import ServerRows, first_connections, host_rows, sign_rows
from kafkascope_analyzer.resolve.servers.run_union import Ints, Runs, RunUnion, first_ending_after, united
from kafkascope_analyzer.resolve.servers.slow_hosts import Clients, slow_host_rows
from kafkascope_analyzer.resolve.servers.slow_responses import with_slow_responses
from kafkascope_analyzer.resolve.servers.slowness import Processes, slow_rows
from kafkascope_analyzer.resolve.servers.spilled_runs import LAYERS, spilled_runs
from kafkascope_analyzer.resolve.servers.sums import SlicesOf
from kafkascope_analyzer.resolve.servers.totals import Activity, capture_of, cells_of, held_up
from kafkascope_analyzer.resolve.servers.waits import (
    DELIVERY,
    WINDOW,
    LostConnections,
    Waits,
    gather_waits,
    hosts_that_did_not_acknowledge,
    lost_connections,
)
from kafkascope_parsers.tcp.spans import PACKETS, PAYLOAD

MARGIN_NS = 1_000_000_000
"""A window begins this long before the waits and lost connections in it, and ends this long after them."""
LEAST_GAP_NS = 1_000_000_000
"""A wait for an application matters when the whole process sent nothing for this long of it."""
SOON_NS = (500_000_000, 3_000_000_000)
"""A host that does not acknowledge is reachable when other connections had packets from it within this time after the
acknowledgment was due."""
BY_HOST, BY_SERVER, BY_PROCESS, FROM_HOST, BY_LISTENERS, OWED = range(6)
"""Scopes of runs (SCOPES): packets of a server to one host; to all hosts; of its whole process; of one host to the
server; of all servers of the process; and, of a process with several servers, times in which it owed a response."""


def gather_server_rows(
    connections: Mapping[Path, pa.Table],
    cluster: Cluster,
    uncovered: Uncovered,
    clocks: pa.Array,
    claims: pa.Table,
    work: SumWork,
) -> ServerRows:
    """Returns the rows of all servers, from the spills of the buckets. connections: connections of each bucket
    (CONTACT_COLUMNS); uncovered: times that no file covers, for which no wait is assumed; clocks: for each connection
    of all buckets, the difference between the capture's clock and the times in its batches, null where these are not
    create times; claims: inferred jobs of encrypted connections (claims.CLAIMS)."""
    if not connections:
        return ServerRows()
    hosts = ServerHosts(connections, cluster)
    if not len(hosts.pair_server):
        return ServerRows()
    clients, processes = Clients(hosts, client_numbers(hosts, claims)), Processes(hosts)
    slices = SlicesOf(*(slices_of(capture_of(hosts), each.n) for each in (processes, clients)))
    buckets = bucket_hosts(hosts, clients.client, hosts_that_did_not_acknowledge(hosts))
    found = add_up(buckets, slices, work)
    activity = Activity(hosts, found)
    closed = closed_windows(hosts, uncovered)
    waits = cut_waits(gather_waits(hosts, activity.first_payload_ns, closed), uncovered)
    waits = with_slow_responses(waits, hosts, _last_packets(hosts, activity.contacts.last_ns))
    absent = host_silence_rows(waits, activity.gaps(activity.of_hosts), hosts)
    waits = _of_interest(with_given_up(waits, hosts, activity.capture_ns[1]), activity, hosts)
    lost = lost_connections(hosts, activity.first_payload_ns)
    signs = _signs(hosts, waits, lost, activity)
    of_pairs = first_connections(hosts, hosts.pair, len(hosts.pair_server))
    silences = gather_silences(hosts, activity.capture_ns[1], uncovered, clocks, claims, clients.client)
    return ServerRows(
        hosts=host_rows(hosts, activity.contacts, of_pairs),
        losses=loss_rows(hosts),
        delays=pa.concat_tables([delay_rows(hosts), raised_rows(hosts, activity.capture_ns)]),
        slow=slow_rows(processes, cells_of("processes", found, processes.number), slices.processes),
        slow_hosts=slow_host_rows(
            clients, cells_of("clients", found), held_up(found, (clients.n, slices.clients.n)), slices.clients
        ),
        lost_flows=lost_flow_rows(hosts, activity.first_payload_ns, activity.capture_ns, uncovered),
        absent=absent,
        waits=waits.table(hosts),
        lost=lost.table(hosts),
        signs=sign_rows(hosts, signs, of_pairs),
        silences=silences,
        closed=closed,
    )


def _signs(hosts: ServerHosts, waits: Waits, lost: LostConnections, activity: Activity) -> list[tuple[int, int, Runs]]:
    """Returns the runs of packets in the windows of each server, by scope and layer."""
    windows = _windows(waits, lost, activity)
    concerned = np.zeros(len(hosts.pair_server), np.bool_)
    concerned[waits.pair] = True
    concerned[lost.pair] = True
    unions = _pairs_concerned(hosts, concerned)
    return [
        *(
            (scope, layer, in_windows(union.runs(), hosts.pair_server, windows))
            for (scope, layer), union in unions.items()
        ),
        (BY_SERVER, PAYLOAD, in_windows(activity.served, np.arange(len(hosts.servers)), windows)),
        (BY_LISTENERS, PAYLOAD, _of_processes(activity.listeners, hosts, windows)),
        *((BY_PROCESS, layer, _of_processes(activity.sent[layer], hosts, windows)) for layer in LAYERS),
        (OWED, PAYLOAD, _of_processes(_owed(waits, hosts, activity.capture_ns[1]), hosts, windows)),
    ]


def _last_packets(hosts: ServerHosts, of_pairs: Ints) -> Ints:
    """Returns the last packet of each server, -1 where there is none. of_pairs: the same for each pair."""
    last_ns = np.full(len(hosts.servers), NONE)
    np.maximum.at(last_ns, hosts.pair_server, of_pairs)
    return last_ns


def _owed(waits: Waits, hosts: ServerHosts, end_ns: int) -> Runs:
    """Returns the times in which a response was due at any server of a process with several servers, which could have
    given it by itself."""
    several = np.bincount(hosts.server_process[np.unique(hosts.server[hosts.server >= 0])]) > 1
    is_owed = (waits.is_proof > 0) & (waits.layer != PACKETS) & (waits.layer != DELIVERY) & several[waits.process]
    mine = waits.taken(np.flatnonzero(is_owed))
    until_ns = np.where(mine.until_ns > 0, mine.until_ns, end_ns)
    return united(Runs(mine.process, mine.due_ns, mine.asked_packet, until_ns, mine.until_packet))


def _pairs_concerned(hosts: ServerHosts, concerned: NDArray[np.bool_]) -> dict[tuple[int, int], RunUnion]:
    """Returns the runs of the marked pairs, in both directions, by scope and layer."""
    unions = {(BY_HOST, PACKETS): RunUnion(), (BY_HOST, PAYLOAD): RunUnion(), (FROM_HOST, PACKETS): RunUnion()}
    for runs in spilled_runs(hosts) if concerned.any() else ():
        mine = (runs.pair >= 0) & concerned[runs.pair]
        for (scope, layer), union in unions.items():
            union.add(runs.of(runs.pair, mine & (runs.layer == layer) & (runs.by_server == (scope == BY_HOST))))
    return unions


def _of_interest(waits: Waits, activity: Activity, hosts: ServerHosts) -> Waits:
    """Returns the waits that matter: all waits for packets and for closed windows; waits for the application that are
    slow, or in which the process sent no payload for LEAST_GAP_NS, or that took LEAST_GAP_NS on a new connection; waits
    for acknowledgments in which the host sent packets."""
    gaps = activity.gaps(activity.sent[PAYLOAD])
    until = np.where(waits.until_ns > 0, waits.until_ns, activity.capture_ns[1])
    at = first_ending_after(gaps, waits.process, waits.due_ns + LEAST_GAP_NS)
    known = np.flatnonzero(at >= 0)
    inside = np.zeros(len(at), np.bool_)
    gap = at[known]
    begins = np.maximum(gaps.first_ns[gap], waits.due_ns[known])
    inside[known] = np.minimum(gaps.last_ns[gap], until[known]) - begins >= LEAST_GAP_NS
    is_long = until - waits.due_ns >= LEAST_GAP_NS
    never_sent = ~np.isin(waits.process, gaps.subject) & is_long
    on_new = (waits.is_new > 0) & is_long
    soon = (waits.asked_ns + SOON_NS[0], np.minimum(waits.asked_ns + SOON_NS[1], until))
    has_packets = _has_packets(activity.of_hosts, hosts.host[waits.conn], soon)
    application = (waits.layer != DELIVERY) & (inside | never_sent | on_new | (waits.is_slow > 0))
    always = (waits.layer == PACKETS) | (waits.layer == WINDOW)
    return waits.taken(np.flatnonzero(always | application | ((waits.layer == DELIVERY) & has_packets)))


def _has_packets(runs: Runs, subject: Ints, between: tuple[Ints, Ints]) -> NDArray[np.bool_]:
    """Whether each subject has a run in the time between."""
    at = first_ending_after(runs, subject, between[0])
    return np.asarray((at >= 0) & (runs.first_ns[at] <= between[1]) if len(runs.subject) else at >= 0)


def _windows(waits: Waits, lost: LostConnections, activity: Activity) -> Runs:
    """Returns the windows of each server, sorted; packets are 0. A window with a lost connection ends when the server
    serves again."""
    end = activity.capture_ns[1]
    until = np.where(waits.until_ns > 0, waits.until_ns, end)
    gaps = activity.gaps(activity.served)
    gap = first_ending_after(gaps, lost.server, lost.ended_ns + MARGIN_NS)
    soon = (gap >= 0) & (gaps.first_ns[gap] <= lost.ended_ns + 2 * MARGIN_NS) if len(gaps.subject) else gap >= 0
    over = lost.ended_ns.copy()
    over[soon] = np.maximum(over[soon], gaps.last_ns[gap[soon]])
    server = np.concatenate([waits.server, lost.server])
    zeros = np.zeros(len(server), np.int64)
    first = np.concatenate([waits.asked_ns, lost.began_ns]) - MARGIN_NS
    last = np.concatenate([until, over]) + MARGIN_NS
    return united(Runs(server, first, zeros, last, zeros))


def in_windows(runs: Runs, server_of_subject: Ints, windows: Runs) -> Runs:
    """Returns the runs of subjects that are in a window of their server, and the last run before and the first run
    after each window."""
    if not len(runs.subject) or not len(windows.subject):
        return runs.taken(np.empty(0, np.int64))
    server = server_of_subject[runs.subject]
    at = first_ending_after(windows, server, runs.first_ns)
    inside = at >= 0
    inside[inside] = runs.last_ns[inside] >= windows.first_ns[at[inside]]
    window = np.where(inside, 2 * at + 1, np.where(at >= 0, 2 * at, NONE))
    """2 * index + 1 inside a window, 2 * index before it; NONE after the last one."""
    same = runs.subject[1:] == runs.subject[:-1]
    moved = window[1:] != window[:-1]
    kept = inside.copy()
    kept[:-1] |= same & moved
    kept[1:] |= same & moved
    kept |= np.append(~same, True) & (window >= 0)
    kept |= np.append(True, ~same)
    return runs.taken(np.flatnonzero(kept))


def _of_processes(runs: Runs, hosts: ServerHosts, windows: Runs) -> Runs:
    """Returns the runs of processes for each of their servers, within its windows."""
    parts = []
    for server in np.unique(windows.subject).tolist():
        first, last = np.searchsorted(runs.subject, hosts.server_process[server] + np.arange(2))
        mine = runs.taken(np.arange(first, last))
        parts.append(mine._replace(subject=np.full(last - first, server)))
    whole = Runs(*(np.concatenate(columns) for columns in zip(*parts, strict=True))) if parts else runs
    return in_windows(whole, np.arange(len(hosts.servers)), windows)
