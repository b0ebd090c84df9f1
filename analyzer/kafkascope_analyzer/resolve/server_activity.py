"""How servers looked to the hosts that talked to them: what happened while somebody waited for one.

Each bucket spills when the sides of its connections were heard from (runs) and when they waited (waits); most of that
says nothing. Between the passes it is reduced to windows, times in which somebody waited for a server or lost a
connection to it, and to what is known of these: who waited, which connections ended, and when the server was heard from
by each host concerned and by anybody. So a healthy capture adds one row per server and host.

Memory: runs of servers as wholes, and those of hosts that waited, put together over all connections.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.connections.learn import Cluster
from kafkascope_analyzer.ingest.liveness_spans import RUN_COLUMNS, RUNS
from kafkascope_analyzer.ingest.spill import read_spill
from kafkascope_analyzer.resolve.run_union import Ints, Runs, RunUnion, first_ending_after, united
from kafkascope_analyzer.resolve.server_hosts import NONE, ServerHosts
from kafkascope_analyzer.resolve.server_rows import ServerRows, host_rows, sign_rows
from kafkascope_analyzer.resolve.server_waits import DELIVERY, LostConnections, Waits, gather_waits, lost_connections
from kafkascope_parsers.tcp.spans import PACKETS, PAYLOAD

MARGIN_NS = 1_000_000_000
"""A window begins so much before what happened in it, and ends so much after."""
LEAST_GAP_NS = 1_000_000_000
"""A wait for an application is of interest when the whole process sent nothing for so long of it."""
SOON_NS = (500_000_000, 3_000_000_000)
"""A host that does not acknowledge is there when it was heard from elsewhere in this time after it was to."""
_LAYERS = (PACKETS, PAYLOAD)
NEVER_NS = np.iinfo(np.int64).max
BY_HOST, BY_SERVER, BY_PROCESS, FROM_HOST, BY_LISTENERS = range(5)
"""Whose runs: of a server to one host, to all hosts, all that the process sends; of one host to the server; and of all
servers of the process (SCOPES)."""


def gather_server_rows(connections: Mapping[Path, pa.Table], cluster: Cluster) -> ServerRows:
    """The rows of all servers, from what the buckets spilled. connections: of each bucket (CONTACT_COLUMNS)."""
    if not connections:
        return ServerRows()
    hosts = ServerHosts(connections, cluster)
    wholes = _Wholes(hosts)
    for runs in _spilled_runs(hosts):
        wholes.take(runs)
    waits = _of_interest(gather_waits(hosts, wholes.first_payload_ns), wholes, hosts)
    lost = lost_connections(hosts, wholes.first_payload_ns)
    windows = _windows(waits, lost, wholes)
    concerned = np.zeros(len(hosts.pair_server), np.bool_)
    concerned[waits.pair] = True
    concerned[lost.pair] = True
    unions = _pairs_concerned(hosts, concerned)
    signs = [
        *(
            (scope, layer, in_windows(union.runs(), hosts.pair_server, windows))
            for (scope, layer), union in unions.items()
        ),
        (BY_SERVER, PAYLOAD, in_windows(wholes.served.runs(), np.arange(len(hosts.servers)), windows)),
        (BY_LISTENERS, PAYLOAD, _of_processes(wholes.listeners.runs(), hosts, windows)),
        *((BY_PROCESS, layer, _of_processes(wholes.sent[layer].runs(), hosts, windows)) for layer in _LAYERS),
    ]
    return ServerRows(host_rows(hosts, wholes.contacts), waits.table(hosts), lost.table(hosts), sign_rows(hosts, signs))


def _pairs_concerned(hosts: ServerHosts, concerned: NDArray[np.bool_]) -> dict[tuple[int, int], RunUnion]:
    """The runs of the pairs concerned, both ways, by scope and layer."""
    unions = {(BY_HOST, PACKETS): RunUnion(), (BY_HOST, PAYLOAD): RunUnion(), (FROM_HOST, PACKETS): RunUnion()}
    for runs in _spilled_runs(hosts):
        mine = (runs.pair >= 0) & concerned[runs.pair]
        for (scope, layer), union in unions.items():
            union.add(runs.of(runs.pair, mine & (runs.layer == layer) & (runs.by_server == (scope == BY_HOST))))
    return unions


@dataclass(frozen=True, slots=True)
class _SpilledRuns:
    """A batch of spilled runs: of which connection and pair, which host sent them, whether the server sent them, of which server and process."""

    conn: Ints
    pair: Ints
    server: Ints
    process: Ints
    sender: Ints
    by_server: NDArray[np.bool_]
    layer: Ints
    columns: tuple[Ints, ...]

    def of(self, subject: Ints, rows: NDArray[np.bool_]) -> Runs:
        """Some of the runs, by subject."""
        chosen = np.flatnonzero(rows & (subject >= 0))
        return Runs(subject[chosen], *(column[chosen] for column in self.columns))


def _spilled_runs(hosts: ServerHosts) -> Iterator[_SpilledRuns]:
    for spill, first in hosts.first_row.items():
        for rows in read_spill(spill, RUNS):
            conn = rows["conn"].to_numpy() + first
            by_server = rows["side"].to_numpy() != hosts.client_side[conn]
            yield _SpilledRuns(
                conn,
                hosts.pair[conn],
                hosts.server[conn],
                np.where(by_server, hosts.process[conn], hosts.client_process[conn]),
                np.where(by_server, hosts.host_of_server[hosts.server[conn]], hosts.host[conn]),
                by_server,
                rows["layer"].to_numpy().astype(np.int64),
                tuple(rows[name].to_numpy() for name in RUN_COLUMNS),
            )


class _Wholes:
    """When servers and processes as wholes were heard from, and when pairs were in contact.

    served: payload of each server to anybody; listeners: of all servers of each process; sent: packets and payload of each process; heard: packets of each host to
    anybody. contacts: of each pair, first
    and last packet of the server with their times, and whether it sent payload. first_payload_ns: of each connection,
    when the server's first payload came, NEVER_NS where none did.
    """

    def __init__(self, hosts: ServerHosts) -> None:
        self._hosts = hosts
        self.served, self.listeners = RunUnion(), RunUnion()
        self.sent = (RunUnion(), RunUnion())
        self.heard = RunUnion()
        self.contacts = Contacts(len(hosts.pair_server))
        self.first_payload_ns = np.full(hosts.connections.num_rows, NEVER_NS)
        ends = hosts.connections
        self.capture_ns = (
            (pc.min(ends["first_ns"]).as_py(), pc.max(ends["last_ns"]).as_py()) if ends.num_rows else (0, 0)
        )

    def take(self, runs: _SpilledRuns) -> None:
        """Takes a batch of runs."""
        everything = np.ones(len(runs.pair), np.bool_)
        answers = runs.by_server & (runs.layer == PAYLOAD)
        self.served.add(runs.of(runs.server, answers))
        self.listeners.add(runs.of(runs.process, answers))
        for layer in _LAYERS:
            self.sent[layer].add(runs.of(runs.process, everything & (runs.layer == layer)))
        self.heard.add(runs.of(runs.sender, everything & (runs.layer == PACKETS)))
        rows = np.flatnonzero(answers)
        np.minimum.at(self.first_payload_ns, runs.conn[rows], runs.columns[0][rows])
        self.contacts.take(runs.of(runs.pair, runs.by_server & (runs.layer == PACKETS)), served=False)
        self.contacts.take(runs.of(runs.pair, answers), served=True)

    def gaps(self, runs: Runs) -> Runs:
        """The pauses between the runs of each subject, with those at the ends of the capture, sorted. Packets are 0 at
        the ends."""
        start, end = self.capture_ns
        subject, n = runs.subject, len(runs.subject)
        first = np.flatnonzero(np.append(True, subject[1:] != subject[:-1])[:n])
        last = np.append(first[1:], n)[: len(first)] - 1
        inner = np.setdiff1d(np.arange(1, n), first)
        zeros = np.zeros(len(first), np.int64)
        columns = (
            (subject[first], subject[inner], subject[last]),
            (zeros + start, runs.last_ns[inner - 1], runs.last_ns[last]),
            (zeros, runs.last_packet[inner - 1], runs.last_packet[last]),
            (runs.first_ns[first], runs.first_ns[inner], zeros + end),
            (runs.first_packet[first], runs.first_packet[inner], zeros),
        )
        gaps = Runs(*(np.concatenate(parts) for parts in columns))
        return gaps.taken(np.lexsort((gaps.first_ns, gaps.subject)))


class Contacts:
    """First and last packet of the server of each pair, and whether it sent payload to the host."""

    def __init__(self, n: int) -> None:
        self.first_ns, self.first_packet = np.full(n, NEVER_NS), np.zeros(n, np.int64)
        self.last_ns, self.last_packet = np.full(n, -1), np.zeros(n, np.int64)
        self.served = np.zeros(n, np.bool_)

    def take(self, runs: Runs, *, served: bool) -> None:
        """Takes runs by pair."""
        if served:
            self.served[runs.subject] = True
            return
        early = runs.taken(np.lexsort((runs.first_packet, runs.first_ns, runs.subject)))
        pairs, at = np.unique(early.subject, return_index=True)
        sooner = early.first_ns[at] < self.first_ns[pairs]
        pairs, at = pairs[sooner], at[sooner]
        self.first_ns[pairs], self.first_packet[pairs] = early.first_ns[at], early.first_packet[at]
        late = runs.taken(np.lexsort((-runs.last_packet, -runs.last_ns, runs.subject)))
        pairs, at = np.unique(late.subject, return_index=True)
        later = late.last_ns[at] > self.last_ns[pairs]
        pairs, at = pairs[later], at[later]
        self.last_ns[pairs], self.last_packet[pairs] = late.last_ns[at], late.last_packet[at]


def _of_interest(waits: Waits, wholes: _Wholes, hosts: ServerHosts) -> Waits:
    """All waits for packets; of those for the application, the ones of which the process sent no payload for
    LEAST_GAP_NS; of those for acknowledgments, the ones in which the host was heard from."""
    gaps = wholes.gaps(wholes.sent[PAYLOAD].runs())
    until = np.where(waits.until_ns > 0, waits.until_ns, wholes.capture_ns[1])
    at = first_ending_after(gaps, waits.process, waits.due_ns + LEAST_GAP_NS)
    known = np.flatnonzero(at >= 0)
    inside = np.zeros(len(at), np.bool_)
    gap = at[known]
    begins = np.maximum(gaps.first_ns[gap], waits.due_ns[known])
    inside[known] = np.minimum(gaps.last_ns[gap], until[known]) - begins >= LEAST_GAP_NS
    never_sent = ~np.isin(waits.process, gaps.subject) & (until - waits.due_ns >= LEAST_GAP_NS)
    soon = (waits.asked_ns + SOON_NS[0], np.minimum(waits.asked_ns + SOON_NS[1], until))
    heard = _is_heard(wholes.heard.runs(), hosts.host[waits.conn], soon)
    application = (waits.layer != PACKETS) & (waits.layer != DELIVERY) & (inside | never_sent)
    return waits.taken(np.flatnonzero((waits.layer == PACKETS) | application | ((waits.layer == DELIVERY) & heard)))


def _is_heard(runs: Runs, subject: Ints, between: tuple[Ints, Ints]) -> NDArray[np.bool_]:
    """Whether each subject has a run in the time between."""
    at = first_ending_after(runs, subject, between[0])
    return np.asarray((at >= 0) & (runs.first_ns[at] <= between[1]) if len(runs.subject) else at >= 0)


def _windows(waits: Waits, lost: LostConnections, wholes: _Wholes) -> Runs:
    """The windows of each server, sorted; packets are 0. A window with a lost connection ends when the server serves
    again."""
    end = wholes.capture_ns[1]
    until = np.where(waits.until_ns > 0, waits.until_ns, end)
    gaps = wholes.gaps(wholes.served.runs())
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
    """The runs of subjects that are in a window of their server, and the last before and the first after each."""
    if not len(runs.subject) or not len(windows.subject):
        return runs.taken(np.empty(0, np.int64))
    server = server_of_subject[runs.subject]
    at = first_ending_after(windows, server, runs.first_ns)
    inside = at >= 0
    inside[inside] = runs.last_ns[inside] >= windows.first_ns[at[inside]]
    window = np.where(inside, 2 * at + 1, np.where(at >= 0, 2 * at, NONE))
    """Odd in a window, even before it; NONE after the last one."""
    same = runs.subject[1:] == runs.subject[:-1]
    moved = window[1:] != window[:-1]
    kept = inside.copy()
    kept[:-1] |= same & moved
    kept[1:] |= same & moved
    kept |= np.append(~same, True) & (window >= 0)
    kept |= np.append(True, ~same)
    return runs.taken(np.flatnonzero(kept))


def _of_processes(runs: Runs, hosts: ServerHosts, windows: Runs) -> Runs:
    """The runs of processes by each of their servers, in its windows."""
    parts = []
    for server in np.unique(windows.subject).tolist():
        first, last = np.searchsorted(runs.subject, hosts.server_process[server] + np.arange(2))
        mine = runs.taken(np.arange(first, last))
        parts.append(mine._replace(subject=np.full(last - first, server)))
    whole = Runs(*(np.concatenate(columns) for columns in zip(*parts, strict=True))) if parts else runs
    return in_windows(whole, np.arange(len(hosts.servers)), windows)
