"""Spilled runs of the buckets, joined over all connections: the times in which servers and hosts sent packets."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.sorted_rows import first_of_runs
from kafkascope_analyzer.resolve.servers.hosts import ServerHosts
from kafkascope_analyzer.resolve.servers.run_union import Ints, Runs, RunUnion
from kafkascope_analyzer.scan.liveness_spans import RUN_COLUMNS, RUNS
from kafkascope_analyzer.scan.spill import read_spill
from kafkascope_parsers.tcp.spans import PACKETS, PAYLOAD

LAYERS = (PACKETS, PAYLOAD)
NEVER_NS = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class SpilledRuns:
    """A batch of spilled runs.

    conn, pair, server   numbers of ServerHosts; process: whose they are, NONE for those of other clients
    sender   the host that sent them; by_server: whether that is the server; layer: PACKETS or PAYLOAD
    columns   as in Runs
    """

    conn: Ints
    pair: Ints
    server: Ints
    process: Ints
    sender: Ints
    by_server: NDArray[np.bool_]
    layer: Ints
    columns: tuple[Ints, ...]

    def of(self, subject: Ints, rows: NDArray[np.bool_]) -> Runs:
        """Returns the chosen runs, by subject."""
        chosen = np.flatnonzero(rows & (subject >= 0))
        return Runs(subject[chosen], *(column[chosen] for column in self.columns))


def spilled_runs(hosts: ServerHosts) -> Iterator[SpilledRuns]:
    """Yields all runs, batch by batch."""
    for spill, first in hosts.first_row.items():
        for rows in read_spill(spill, RUNS):
            conn = rows["conn"].to_numpy() + first
            by_server = rows["side"].to_numpy() != hosts.client_side[conn]
            yield SpilledRuns(
                conn,
                hosts.pair[conn],
                hosts.server[conn],
                np.where(by_server, hosts.process[conn], hosts.client_process[conn]),
                np.where(by_server, hosts.server_host[conn], hosts.host[conn]),
                by_server,
                rows["layer"].to_numpy().astype(np.int64),
                tuple(rows[name].to_numpy() for name in RUN_COLUMNS),
            )


class Activity:
    """Times in which servers and hosts sent packets, joined over all connections.

    served, listeners   payload of each server to anybody; of all servers of each process
    sent   packets and payload of each process, also to other servers
    of_hosts   packets of the hosts in question to anybody
    contacts   of each pair; first_payload_ns: of each connection, when the server's first payload came, or NEVER_NS
    capture_ns   first and last packet of the connections
    """

    def __init__(self, hosts: ServerHosts, in_question: NDArray[np.bool_]) -> None:
        self._in_question = in_question
        self.served, self.listeners = RunUnion(), RunUnion()
        self.sent = (RunUnion(), RunUnion())
        self.of_hosts = RunUnion()
        self.contacts = Contacts(len(hosts.pair_server))
        self.first_payload_ns = np.full(hosts.connections.num_rows, NEVER_NS)
        ends = hosts.connections
        self.capture_ns = (
            (pc.min(ends["first_ns"]).as_py(), pc.max(ends["last_ns"]).as_py()) if ends.num_rows else (0, 0)
        )

    def take(self, runs: SpilledRuns) -> None:
        """Takes a batch of runs."""
        answers = runs.by_server & (runs.layer == PAYLOAD)
        self.served.add(runs.of(runs.server, answers))
        self.listeners.add(runs.of(runs.process, answers))
        for layer in LAYERS:
            self.sent[layer].add(runs.of(runs.process, runs.layer == layer))
        self.of_hosts.add(runs.of(runs.sender, self._in_question[runs.sender] & (runs.layer == PACKETS)))
        rows = np.flatnonzero(answers)
        np.minimum.at(self.first_payload_ns, runs.conn[rows], runs.columns[0][rows])
        self.contacts.take(runs.of(runs.pair, runs.by_server & (runs.layer == PACKETS)), served=False)
        self.contacts.take(runs.of(runs.pair, answers), served=True)

    def gaps(self, runs: Runs) -> Runs:
        """Returns the pauses between the runs of each subject, including those at the beginning and the end of the
        capture, sorted. Packets are 0 at the ends."""
        start, end = self.capture_ns
        subject, n = runs.subject, len(runs.subject)
        first = np.flatnonzero(first_of_runs(subject))
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
