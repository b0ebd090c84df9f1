"""The rows about servers that the second pass writes as events: each bucket writes those of its own connections."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.dataset.sorted_rows import first_of_runs
from kafkascope_analyzer.resolve.servers.client_silences import NO_SILENCES
from kafkascope_analyzer.resolve.servers.closed_windows import NO_CLOSED_WINDOWS
from kafkascope_analyzer.resolve.servers.run_union import Ints, Runs

if TYPE_CHECKING:
    from kafkascope_analyzer.resolve.servers.hosts import ServerHosts
    from kafkascope_analyzer.resolve.servers.totals import Contacts

SCOPES = ("host", "server", "process", "from_host", "listeners", "owed")
_OF_PAIRS = ("host", "from_host")
_LAYERS = ("packet", "payload")


def _nothing() -> pa.Table:
    return pa.table({"conn_id": pa.array([], pa.string())})


def _no_silences() -> pa.Table:
    return NO_SILENCES


def _no_closed_windows() -> pa.Table:
    return NO_CLOSED_WINDOWS


@dataclass(frozen=True, slots=True)
class ServerRows:
    """Tables with conn_id, the connection whose bucket writes the row; key, the server's address and port; and host.

    hosts: hosts that talked to a server. losses: times in which packets between the two were lost. delays: times in
    which they were delayed. slow: times in which the server's process was slow. slow_hosts: times in which a host was.
    lost_flows: times in which connections between the two were lost together, without being closed.
    absent: times in which a host sent nothing to anybody, although the server retransmitted (host_silences). waits:
    waits of hosts for the server. lost: connections that it ended or did not accept. signs: times in which it sent
    packets. silences and closed, which have only conn_id: silences of clients (client_silences), and times in which
    either side did not read (closed_windows).
    """

    hosts: pa.Table = field(default_factory=_nothing)
    losses: pa.Table = field(default_factory=_nothing)
    delays: pa.Table = field(default_factory=_nothing)
    slow: pa.Table = field(default_factory=_nothing)
    slow_hosts: pa.Table = field(default_factory=_nothing)
    lost_flows: pa.Table = field(default_factory=_nothing)
    absent: pa.Table = field(default_factory=_nothing)
    waits: pa.Table = field(default_factory=_nothing)
    lost: pa.Table = field(default_factory=_nothing)
    signs: pa.Table = field(default_factory=_nothing)
    silences: pa.Table = field(default_factory=_no_silences)
    closed: pa.Table = field(default_factory=_no_closed_windows)


FirstConnections = tuple[Ints, pa.Array]
"""When the first connection of each subject began, and its id."""


def host_rows(hosts: "ServerHosts", contacts: "Contacts", of_pairs: FirstConnections) -> pa.Table:
    """Returns one row per server and host: its addresses, when the server sent packets, whether it sent payload.
    of_pairs: the first connections of the pairs."""
    server, has_packets = hosts.pair_server, contacts.last_ns >= 0
    first, conn_ids = of_pairs
    columns = {
        "key": hosts.keys.take(pa.array(server)),
        "conn_id": conn_ids,
        "host": pa.array(hosts.hosts, pa.string()).take(pa.array(hosts.pair_host)),
        "host_kind": pa.array(hosts.host_kinds, pa.string()).take(pa.array(hosts.pair_host)),
        "server_ip": pa.array([end[0] for end in hosts.servers], pa.string()).take(pa.array(server)),
        "server_port": pa.array([end[1] for end in hosts.servers], pa.int32()).take(pa.array(server)),
        "node_id": pa.array(hosts.node_ids, pa.int32()).take(pa.array(server)),
        "met_ns": pa.array(first),
        "is_client": pa.array(np.isin(hosts.server_process, hosts.client_process)[server]),
        "served": pa.array(contacts.served),
    }
    for name in ("first_ns", "first_packet", "last_ns"):
        columns[name] = pa.array(getattr(contacts, name), mask=~has_packets)
    return pa.table(columns)


def first_connections(hosts: "ServerHosts", subject: Ints, n: int) -> FirstConnections:
    """Returns the first connections of n subjects. subject: the subject of each connection, or NONE."""
    began = hosts.connections["first_ns"].to_numpy()
    conn_ids = hosts.connections["conn_id"].combine_chunks()
    earliest = np.full(n + 1, np.iinfo(np.int64).max)
    np.minimum.at(earliest, subject, began)
    candidates = np.flatnonzero((subject >= 0) & (began == earliest[subject]))
    ranks = pc.rank(conn_ids.take(pa.array(candidates))).to_numpy()
    order = candidates[np.lexsort((ranks, subject[candidates]))]
    begins = np.flatnonzero(first_of_runs(subject[order]))
    first = np.zeros(n, np.int64)
    first[subject[order[begins]]] = order[begins]
    return began[first] if len(began) else first, conn_ids.take(pa.array(first)) if len(began) else pa.nulls(n)


def sign_rows(hosts: "ServerHosts", signs: list[tuple[int, int, Runs]], of_pairs: FirstConnections) -> pa.Table:
    """Returns runs of servers' packets as rows. signs: scope, layer, and the runs by pair (_OF_PAIRS) or by server;
    of_pairs: the first connections of the pairs."""
    parts = []
    of_pair = of_pairs[1]
    of_server = first_connections(hosts, hosts.server, len(hosts.servers))[1]
    texts = pa.array(hosts.hosts, pa.string())
    for scope, layer, runs in signs:
        n, subject = len(runs.subject), pa.array(runs.subject)
        is_host = SCOPES[scope] in _OF_PAIRS
        columns = {
            "key": hosts.keys.take(pa.array(hosts.pair_server[runs.subject] if is_host else runs.subject)),
            "conn_id": (of_pair if is_host else of_server).take(subject),
            "host": texts.take(pa.array(hosts.pair_host[runs.subject])) if is_host else pa.nulls(n, pa.string()),
            "scope": pa.repeat(SCOPES[scope], n),
            "layer": pa.repeat(_LAYERS[layer], n),
            "order": pa.repeat(pa.scalar(scope * len(_LAYERS) + layer, pa.int32()), n),
            **{name: pa.array(getattr(runs, name)) for name in Runs._fields[1:]},
        }
        parts.append(pa.table(columns))
    return pa.concat_tables(parts)
