"""Finds times in which clients that are seldom quiet were quiet: they sent nothing on any of the connections on which
they produce, fetch or act as members of a group, although they had no outstanding request.

A client that polls seldom, or sends now and then, is quiet most of the time, which means nothing. One that is busy for
nearly all of its life and then quiet on all of its connections at once may have been stopped. This module finds such
times; what they mean is decided with all facts about the client (Spark).
"""

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from kafkascope_analyzer.dataset.flat import flat
from kafkascope_analyzer.dataset.sorted_rows import first_of_runs
from kafkascope_analyzer.resolve.cluster.claims import client_codes
from kafkascope_analyzer.resolve.servers.run_union import Ints, Runs, united
from kafkascope_analyzer.scan.clock_samples import CLOCKS
from kafkascope_analyzer.scan.group_clients import CONSUMERS, GROUP_CLIENTS
from kafkascope_analyzer.scan.spill import read_spill

if TYPE_CHECKING:
    from kafkascope_analyzer.resolve.servers.hosts import ServerHosts

SELDOM, SELDOM_AND_LONG = 0.25, 0.5
"""A client is seldom quiet when its quiet times, of a second or more each, take at most this share of its life; the
larger share holds where all of them are of LONG_NS or more. A client that is stopped again and again is quiet for a
large part of a short capture, and never for a short time."""
LONG_NS = 2_000_000_000
"""Quiet times of a stopped client are at least this long; a client that works in bursts is quiet for shorter times."""
MOST_QUIET = 32
"""Most quiet times that are kept of one client: the longest ones."""
NONE = -1


def client_numbers(hosts: "ServerHosts", claims: pa.Table) -> Ints:
    """Returns the number of the client of each connection: connections of one host with the same client id have the
    same one. NONE where nothing was produced or fetched on it, and it has no requests of a group member. claims:
    inferred jobs and clients of encrypted connections (claims.CLAIMS)."""
    conns, client_ids = [np.empty(0, np.int64)], [pa.array([], pa.string())]
    for spill, first in hosts.first_row.items():
        for name in (CLOCKS, CONSUMERS, GROUP_CLIENTS):
            for rows in read_spill(spill, name):
                conns.append(rows["conn"].to_numpy() + first)
                client_ids.append(flat(rows["client_id"]).cast(pa.string()))
    conn = np.concatenate(conns)
    codes = pa.concat_arrays(client_ids).fill_null("").dictionary_encode()
    clients = hosts.host[conn] * max(len(codes.dictionary), 1) + codes.indices.to_numpy()
    found = np.full(hosts.connections.num_rows, NONE)
    found[conn] = np.unique(clients, return_inverse=True)[1]
    encrypted = client_codes(claims, hosts.connections["conn_id"])
    mine = np.flatnonzero(encrypted >= 0)
    found[mine] = int(found.max(initial=NONE)) + 1 + encrypted[mine]
    return found


def quiet_times(waits: Runs, client: Ints, hosts: "ServerHosts", end_ns: int) -> Runs:
    """Returns the times in which clients that are seldom quiet were quiet, by client and time (subject: client_numbers;
    packets are 0). waits: waits of servers for payload, by connection, with last_ns 0 where they were open at end_ns,
    the end of the capture."""
    busy = united(_busy_times(waits, client, hosts, end_ns))
    same = np.flatnonzero(busy.subject[1:] == busy.subject[:-1])
    zeros = np.zeros(len(same), np.int64)
    quiet = Runs(busy.subject[same], busy.last_ns[same], zeros, busy.first_ns[same + 1], zeros)
    n = int(client.max(initial=NONE)) + 1
    length = quiet.last_ns - quiet.first_ns
    lasted = np.bincount(quiet.subject, length, minlength=n)
    begins = np.flatnonzero(first_of_runs(busy.subject))
    lived = np.zeros(n)
    if len(begins):
        ends = np.append(begins[1:], len(busy.subject)) - 1
        lived[busy.subject[begins]] = busy.last_ns[ends] - busy.first_ns[begins]
    shortest = np.full(n, np.iinfo(np.int64).max)
    np.minimum.at(shortest, quiet.subject, length)
    is_seldom = lasted <= np.where(shortest >= LONG_NS, SELDOM_AND_LONG, SELDOM) * lived
    order = np.lexsort((-length, quiet.subject))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order)) - np.searchsorted(quiet.subject, quiet.subject)
    return quiet.taken(np.flatnonzero(is_seldom[quiet.subject] & (place < MOST_QUIET)))


def _busy_times(waits: Runs, client: Ints, hosts: "ServerHosts", end_ns: int) -> Runs:
    """Returns the times in which no server waited for the client's next payload for a second or more, for each
    connection of a client; a connection's waits do not overlap."""
    conn = np.flatnonzero(client >= 0)
    first_ns, last_ns = (hosts.connections[name].to_numpy()[conn] for name in ("first_ns", "last_ns"))
    mine = waits.taken(np.flatnonzero(client[waits.subject] >= 0))
    until = np.where(mine.last_ns > 0, mine.last_ns, end_ns)
    begins = _in_order(np.concatenate([conn, mine.subject]), np.concatenate([first_ns, until]))
    ends = _in_order(np.concatenate([conn, mine.subject]), np.concatenate([last_ns, mine.first_ns]))
    zeros = np.zeros(len(begins[0]), np.int64)
    return Runs(client[begins[0]], begins[1], zeros, np.maximum(begins[1], ends[1]), zeros)


def _in_order(conn: Ints, at_ns: Ints) -> tuple[Ints, Ints]:
    order = np.lexsort((at_ns, conn))
    return conn[order], at_ns[order]
