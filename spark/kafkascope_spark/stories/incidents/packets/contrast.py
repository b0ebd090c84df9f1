"""`Contrast`: hosts and servers whose requests were answered during a failure, which shows where it failed. If one host
is not served by one broker, while other brokers serve that host and that broker serves other hosts, then the path
between the two failed."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_spark.stories.findings.wording import counted, listed
from kafkascope_spark.stories.incidents.packets.meanwhile import rows_within

MOST = 20
"""Largest number of hosts, and of servers, that are collected per kind: more of them prove no more."""
LONGEST_NS = 60_000_000_000
"""Only the first minute of a failure is examined."""
_COLUMNS = ["client_ip", "server_ip", "server_port", "node_id", "response_ns"]


@dataclass(frozen=True, slots=True)
class Question:
    """Time of a failure, with its hosts and servers; the answer is a `Contrast`. servers: node ids, else
    `address:port`, as text; brokers: hosts that do not count as clients."""

    from_ns: int
    to_ns: int
    hosts: frozenset[str]
    servers: frozenset[str]
    brokers: frozenset[str] = frozenset()


@dataclass(slots=True)
class Contrast:
    """Hosts and servers that worked during a failure, at most MOST of each. servers_beside: other servers that
    responded to the affected hosts; hosts_beside: other hosts with clients to which the failed servers responded;
    others: other hosts with clients to which only other servers responded."""

    servers_beside: set[str] = field(default_factory=set)
    hosts_beside: set[str] = field(default_factory=set)
    others: set[str] = field(default_factory=set)

    @property
    def n_hosts(self) -> int:
        """Number of other hosts with clients that were served."""
        return len(self.hosts_beside | self.others)

    @property
    def served_text(self) -> str:
        """The number of other hosts that were served, as the end of a sentence: `2 other hosts were served`."""
        n = min(self.n_hosts, MOST)
        more = " or more" if n == MOST else ""
        return f"{counted(n, 'other host')}{more} {'was' if n == 1 else 'were'} served"

    def sentence(self, n_hosts: int) -> str:
        """Returns the contrast as a sentence. n_hosts: number of hosts that show the failure."""
        by_others = f"{listed(sorted(map(_name, self.servers_beside)))} served {'it' if n_hosts == 1 else 'them'}"
        parts = [by_others] if self.servers_beside else []
        parts += [self.served_text] if self.n_hosts else []
        seen = f"{counted(n_hosts, 'host')} {'shows' if n_hosts == 1 else 'show'} it"
        if not parts:
            return f"{seen}; the capture has no other request that was answered meanwhile"
        return f"{seen}; {' and '.join(parts)} meanwhile"

    def take(self, question: Question, pairs: Iterable[tuple[str, str]]) -> None:
        """Adds hosts that were served, each paired with the server that responded."""
        for host, server in pairs:
            is_mine, is_of_server = host in question.hosts, server in question.servers
            if (is_mine and is_of_server) or (not is_mine and host in question.brokers):
                continue
            kind, name = (self.hosts_beside, host) if is_of_server else (self.others, host)
            if is_mine:
                kind, name = self.servers_beside, server
            if len(kind) < MOST:
                kind.add(name)


def _name(server: str) -> str:
    return server if ":" in server else f"node {server}"


def contrasts(dataset: Dataset | None, questions: Sequence[Question]) -> list[Contrast]:
    """Returns the contrast for each question, empty without a dataset. Raises UsageError where a table cannot be read.
    Memory: one batch, and MOST hosts or servers of each kind per question."""
    found = [Contrast() for _ in questions]
    spans = [(each.from_ns, min(each.to_ns, each.from_ns + LONGEST_NS)) for each in questions]
    for number, rows in rows_within(dataset, REQUESTS, _COLUMNS, "response_ns", spans):
        found[number].take(questions[number], _pairs(rows))
    return found


def _pairs(rows: pa.Table) -> Iterator[tuple[str, str]]:
    """Yields each pair of served host and server once. rows: rows of `requests`."""
    pairs = rows.select(_COLUMNS[:-1]).group_by(_COLUMNS[:-1], use_threads=False).aggregate([])
    address = pc.binary_join_element_wise(pairs["server_ip"], pc.cast(pairs["server_port"], pa.string()), ":")
    server = pc.coalesce(pc.cast(pairs["node_id"], pa.string()), address)
    known = pc.and_(pc.is_valid(pairs["client_ip"]), pc.is_valid(server))
    return zip(pairs["client_ip"].filter(known).to_pylist(), server.filter(known).to_pylist(), strict=True)
