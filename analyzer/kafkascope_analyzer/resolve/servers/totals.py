"""The sums over all buckets: the times in which servers and hosts sent packets, joined over all connections, and how
quick processes and clients were."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from kafkascope_analyzer.dataset.sorted_rows import first_of_runs
from kafkascope_analyzer.resolve.servers.cells import Cells, renumbered
from kafkascope_analyzer.resolve.servers.hosts import ServerHosts
from kafkascope_analyzer.resolve.servers.run_union import Ints, Runs, RunUnion, spans, united
from kafkascope_analyzer.resolve.servers.spilled_runs import LAYERS, NEVER_NS

Found = Mapping[str, Any]
"""What the task of a bucket has found, by the names of sums.sums_of."""


class Contacts:
    """First and last packet of the server of each pair, and whether it sent payload to the host. packets, answers:
    spans of the server's packets and payload, by pair."""

    def __init__(self, n: int, packets: Runs, answers: Runs) -> None:
        self.first_ns, self.first_packet = np.full(n, NEVER_NS), np.zeros(n, np.int64)
        self.last_ns, self.last_packet = np.full(n, -1), np.zeros(n, np.int64)
        self.served = np.zeros(n, np.bool_)
        self.first_ns[packets.subject], self.first_packet[packets.subject] = packets.first_ns, packets.first_packet
        self.last_ns[packets.subject], self.last_packet[packets.subject] = packets.last_ns, packets.last_packet
        self.served[answers.subject] = True


class Activity:
    """Times in which servers and hosts sent packets, joined over all connections.

    served, listeners   payload of each server to anybody; of all servers of each process
    sent   packets and payload of each process, also to other servers
    of_hosts   packets of the hosts in question to anybody
    contacts   of each pair; first_payload_ns: of each connection, when the server's first payload came, or NEVER_NS
    capture_ns   first and last packet of the connections
    """

    def __init__(self, hosts: ServerHosts, found: Sequence[Found]) -> None:
        """found: bucket by bucket."""
        self.served, self.listeners = _runs("served", found), _runs("listeners", found)
        self.sent = [_runs(f"sent.{layer}", found) for layer in LAYERS]
        self.of_hosts = _runs("of_hosts", found)
        n_pairs = len(hosts.pair_server)
        self.contacts = Contacts(n_pairs, _runs("contacts", found, spans), _runs("answered", found, spans))
        self.first_payload_ns = np.full(hosts.connections.num_rows, NEVER_NS)
        for first, each in zip(hosts.first_row.values(), found, strict=True):
            payload = Runs(*each["first_payload"])
            self.first_payload_ns[payload.subject + first] = payload.first_ns
        self.capture_ns = capture_of(hosts)

    def gaps(self, runs: Runs) -> Runs:
        """Returns the pauses between the runs of each subject, including those at the beginning and the end of the
        capture, sorted. Packets are 0 at the ends."""
        start, end = self.capture_ns
        subject, n = runs.subject, len(runs.subject)
        is_first = first_of_runs(subject)
        first, inner = np.flatnonzero(is_first), np.flatnonzero(~is_first)
        last = np.append(first[1:], n)[: len(first)] - 1
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


def capture_of(hosts: ServerHosts) -> tuple[int, int]:
    """Returns the times of the first and the last packet of the connections."""
    ends = hosts.connections
    return (pc.min(ends["first_ns"]).as_py(), pc.max(ends["last_ns"]).as_py()) if ends.num_rows else (0, 0)


def _runs(name: str, found: Sequence[Found], join: Callable[[Runs], Runs] = united) -> Runs:
    """Returns the joined runs of all buckets."""
    union = RunUnion(join)
    for each in found:
        union.add(Runs(*each[name]))
    return union.runs()


def cells_of(name: str, found: Sequence[Found], numbers: Ints | None = None) -> Cells:
    """Returns the counted samples of all buckets. numbers: the number of each subject to be used, the same by
    default."""
    cells = Cells()
    for each in found:
        chunks = each[name]["cells"]
        cells.add(chunks if numbers is None else renumbered(chunks, numbers, 0))
    return cells


def held_up(found: Sequence[Found], shape: tuple[int, int]) -> NDArray[np.bool_]:
    """Returns whether each client was held up in each slice. shape: number of clients and slices."""
    changes = np.zeros((shape[0], shape[1] + 1), np.int64)
    for each in found:
        for name, after, step in (("starts", 0, 1), ("ends", 1, -1)):
            cells = Cells()
            cells.add(each["held_up"][name])
            for counts in cells.each():
                np.add.at(changes, (counts.subject, counts.slice + after), step * counts.n)
    return np.asarray(np.cumsum(changes, 1)[:, :-1] > 0)
