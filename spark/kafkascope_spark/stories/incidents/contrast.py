"""`Contrast`: whose requests were answered while something failed, which says where it failed. What fails for one host
at one broker, while that host is served by other brokers and that broker serves other hosts, failed between the two."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.tables import REQUESTS
from kafkascope_spark.stories.findings.wording import counted, listed
from kafkascope_spark.stories.incidents.meanwhile import rows_within

MOST = 20
"""Hosts and servers of a kind that are looked for: more of them prove no more."""
LONGEST_NS = 60_000_000_000
"""The first minute of a failure is looked at."""
_COLUMNS = ["client_ip", "server_ip", "server_port", "node_id", "response_ns"]


@dataclass(frozen=True, slots=True)
class Question:
    """Which clients were served from one time to another beside some hosts and servers. servers: their node ids, else
    `address:port`, as text; brokers: hosts that do not count as clients."""

    from_ns: int
    to_ns: int
    hosts: frozenset[str]
    servers: frozenset[str]
    brokers: frozenset[str] = frozenset()


@dataclass(slots=True)
class Contrast:
    """Who was served meanwhile, at most MOST of each. servers_beside: other servers that responded to the hosts that
    the failure affected; hosts_beside: other hosts with clients to which the servers that failed responded; others: the
    same, to which only other servers did."""

    servers_beside: set[str] = field(default_factory=set)
    hosts_beside: set[str] = field(default_factory=set)
    others: set[str] = field(default_factory=set)

    @property
    def n_hosts(self) -> int:
        """How many other hosts with clients were served."""
        return len(self.hosts_beside | self.others)

    @property
    def served_text(self) -> str:
        """How many other hosts were served, as the end of a sentence: `2 other hosts were served`."""
        n = min(self.n_hosts, MOST)
        more = " or more" if n == MOST else ""
        return f"{counted(n, 'other host')}{more} {'was' if n == 1 else 'were'} served"

    def sentence(self, n_hosts: int) -> str:
        """What the contrast is, in words. n_hosts: how many hosts show the failure."""
        by_others = f"{listed(sorted(map(_name, self.servers_beside)))} served {'it' if n_hosts == 1 else 'them'}"
        parts = [by_others] if self.servers_beside else []
        parts += [self.served_text] if self.n_hosts else []
        seen = f"{counted(n_hosts, 'host')} {'shows' if n_hosts == 1 else 'show'} it"
        if not parts:
            return f"{seen}; the capture has no other request that was answered meanwhile"
        return f"{seen}; {' and '.join(parts)} meanwhile"

    def take(self, question: Question, pairs: Iterable[tuple[str, str]]) -> None:
        """Takes hosts that were served, each with its server."""
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
    """Who was served, for each question. dataset: None where there is none. Raises UsageError where a table cannot be
    read. Memory: one batch, and MOST of each kind for each question."""
    found = [Contrast() for _ in questions]
    spans = [(each.from_ns, min(each.to_ns, each.from_ns + LONGEST_NS)) for each in questions]
    for number, rows in rows_within(dataset, REQUESTS, _COLUMNS, "response_ns", spans):
        found[number].take(questions[number], _pairs(rows))
    return found


def _pairs(rows: pa.Table) -> Iterator[tuple[str, str]]:
    """Who was served by whom in some rows."""
    pairs = rows.select(_COLUMNS[:-1]).group_by(_COLUMNS[:-1], use_threads=False).aggregate([])
    address = pc.binary_join_element_wise(pairs["server_ip"], pc.cast(pairs["server_port"], pa.string()), ":")
    server = pc.coalesce(pc.cast(pairs["node_id"], pa.string()), address)
    known = pc.and_(pc.is_valid(pairs["client_ip"]), pc.is_valid(server))
    return zip(pairs["client_ip"].filter(known).to_pylist(), server.filter(known).to_pylist(), strict=True)
