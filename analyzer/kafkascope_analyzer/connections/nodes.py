"""Finds the broker behind each server address: server address -> node id.

The evidence is, in this order: the advertised host:port of Metadata, FindCoordinator, DescribeCluster and KIP-951
endpoints, resolved by literal address, by DNS answers in the capture, by the names in a pcapng file, by the user's
hosts file; the answers of the address (for partitions and groups that a node leads according to the cluster); the
replica id that a broker at the same address uses. An address on which several nodes answer, or that answers as another
node than the advertised one, has no node id, but a reason for that. An address that according to DNS belonged to one
node first and to another later (a pod that restarted elsewhere) has a node id at each time."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from kafkascope_analyzer.connections.hosts import BY_DNS, HostNames

Endpoint = tuple[str, int]

_AGREEMENT = 0.9
"""Share of an address's confirmed answers that must indicate one node: leadership may move while answers
are under way.
"""
_FEWEST_ANSWERS = 3
"""Fewest answers of a node for which an address may count as that of several nodes (at most two are counted for each
connection, API and topic-partition).
"""

_ONLY = "the only node at its address"


class EqualAnswers(NamedTuple):
    """n answers that indicate the same nodes (as in Answers); moving: None where the next report names no other
    node."""

    reported: int
    moving: int | None
    n: int


@dataclass(slots=True)
class Answers:
    """The nodes that the confirming answers of an address indicate, counted by node id.

    reported  the node that leads or coordinates by the last report before the answer
    moving    the node that leads by the next report, where that is another one: reports come late, so that it may have
              led already
    """

    reported: Counter[int] = field(default_factory=Counter)
    moving: Counter[int] = field(default_factory=Counter)

    def add(self, answers: EqualAnswers) -> None:
        """Adds further answers of the address."""
        self.reported[answers.reported] += answers.n
        if answers.moving is not None:
            self.moving[answers.moving] += answers.n

    def fitting(self, node_id: int) -> int:
        """Returns how many answers the node may have given."""
        return self.reported[node_id] + self.moving[node_id]

    def best(self) -> list[int]:
        """Returns the nodes that may have given most answers, and among them those that were most often reported
        before."""
        ranks = {node: (self.fitting(node), self.reported[node]) for node in self.reported}
        return sorted(node for node, rank in ranks.items() if rank == max(ranks.values()))


@dataclass(slots=True)
class Evidence:
    """Evidence of the capture about addresses, summed over all buckets.

    advertised  endpoint -> the node ids that were advertised for it
    confirmed   server endpoint -> its answers for what a node leads or coordinates
    fetched     server endpoint -> likewise, by Fetch alone: a follower may answer it too
    replicas    client address -> the replica ids that it fetched as
    servers     every server endpoint
    names       addresses by host name
    """

    advertised: dict[Endpoint, set[int]] = field(default_factory=lambda: defaultdict(set))
    confirmed: dict[Endpoint, Answers] = field(default_factory=lambda: defaultdict(Answers))
    fetched: dict[Endpoint, Answers] = field(default_factory=lambda: defaultdict(Answers))
    replicas: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    servers: set[Endpoint] = field(default_factory=set)
    names: HostNames = field(default_factory=HostNames)

    def add(self, other: "Evidence") -> None:
        """Adds the answers, the replicas and the servers of further connections."""
        for answers, others in ((self.confirmed, other.confirmed), (self.fetched, other.fetched)):
            for endpoint, further in others.items():
                answers[endpoint].reported.update(further.reported)
                answers[endpoint].moving.update(further.moving)
        for address, replicas in other.replicas.items():
            self.replicas[address] |= replicas
        self.servers |= other.servers


@dataclass(frozen=True, slots=True)
class Node:
    """A node id (None where the evidence is contradictory) and its evidence.

    owners: for an address that several nodes had one after the other, the time from which on each had it, and the node.
    """

    node_id: int | None
    why: str
    owners: tuple[tuple[int, "Node"], ...] = ()


@dataclass(frozen=True, slots=True)
class _Advertised:
    """An advertised endpoint that stands for an address: its text, what resolved it, and the nodes that it is
    advertised for."""

    host: str
    text: str
    by: str | None
    nodes: frozenset[int]


@dataclass(frozen=True, slots=True, order=True)
class _Owner:
    """A node whose name stood for an address, according to DNS answers: from when until when at least, and since when
    only for another address (None: never)."""

    first_ns: int
    last_ns: int
    gone_ns: int | None
    node_id: int
    text: str


def resolve_nodes(evidence: Evidence) -> dict[Endpoint, Node]:
    """Returns the node of each server endpoint, or why it is unknown, as far as there is evidence."""
    advertised = _resolved(evidence)
    found: dict[Endpoint, Node] = {}
    for endpoint in sorted(evidence.servers):
        node = _advertised(evidence, endpoint, advertised.get(endpoint, [])) or _confirmed(evidence, endpoint)
        if node is not None:
            found[endpoint] = node
    on_address = _nodes_on_addresses(found, advertised, evidence)
    for endpoint in sorted(evidence.servers - set(found)):
        nodes = on_address.get(endpoint[0], set())
        if len(nodes) == 1 and endpoint not in evidence.confirmed:
            found[endpoint] = Node(next(iter(nodes)), _ONLY)
    return found


def _resolved(evidence: Evidence) -> dict[Endpoint, list[_Advertised]]:
    """Returns the advertised endpoints by address and port."""
    found: dict[Endpoint, list[_Advertised]] = defaultdict(list)
    for (host, port), nodes in sorted(evidence.advertised.items()):
        addresses, by = evidence.names.addresses(host)
        for address in addresses:
            found[address, port].append(_Advertised(host, f"{host}:{port}", by, frozenset(nodes)))
    return found


def _advertised(evidence: Evidence, endpoint: Endpoint, advertised: list[_Advertised]) -> Node | None:
    """Returns the node for which an endpoint is advertised; without id where there are several, or where its answers
    indicate another."""
    nodes = frozenset[int]().union(*(one.nodes for one in advertised))
    if not nodes:
        return None
    if len(nodes) > 1:
        owners = _owners(evidence, endpoint[0], advertised)
        if owners:
            return Node(None, f"advertised for {_named(nodes)}, one after the other", owners)
        return Node(None, f"advertised for {_named(nodes)}: more than one broker is behind this address")
    (node_id,) = nodes
    by = f", resolved by {advertised[0].by}" if advertised[0].by else ""
    why = f"advertised as {advertised[0].text}{by}"
    answers = evidence.confirmed.get(endpoint)
    if answers and answers.fitting(node_id) < _AGREEMENT / 2 * answers.reported.total():
        others = frozenset(answers.reported) - {node_id}
        return Node(None, f"advertised as {advertised[0].text} for node {node_id}, but answers for {_named(others)}")
    return Node(node_id, why)


def _owners(evidence: Evidence, address: str, advertised: Sequence[_Advertised]) -> tuple[tuple[int, Node], ...]:
    """Returns the nodes that had the address, each with the time from which on it did, where DNS gave it to one name
    after the other, and another address to each name that had lost it; empty where names may have shared it."""
    found = []
    for one in advertised:
        if one.by != BY_DNS or len(one.nodes) != 1:
            return ()
        answered = evidence.names.answered(one.host)
        first_ns, last_ns = answered[address]
        later = (first for other, (first, _) in answered.items() if other != address and first > last_ns)
        gone_ns = min(later, default=None)
        found.append(_Owner(first_ns, last_ns, gone_ns, next(iter(one.nodes)), one.text))
    found.sort()
    owners = [(found[0].first_ns, _owner_node(found[0]))]
    for before, after in pairwise(found):
        if before.gone_ns is None or after.first_ns <= before.last_ns:
            return ()
        owners.append((min(before.gone_ns, after.first_ns), _owner_node(after)))
    return tuple(owners)


def _owner_node(owner: _Owner) -> Node:
    return Node(owner.node_id, f"advertised as {owner.text}, resolved by {BY_DNS} at the time")


def _confirmed(evidence: Evidence, endpoint: Endpoint) -> Node | None:
    """Returns the node that the answers of an endpoint indicate; without id where they indicate several. None where
    each of two nodes may have given all of them. Where another broker, and only one, fetches as a replica from the
    address, the result is that broker: partitions that it led before the capture named a leader may have moved to the
    one that the answers indicate.
    """
    answers = evidence.confirmed.get(endpoint) or evidence.fetched.get(endpoint)
    if not answers:
        return None
    node_id, *others = answers.best()
    if answers.fitting(node_id) >= _AGREEMENT * answers.reported.total():
        own = evidence.replicas.get(endpoint[0], set())
        if not others and len(own) == 1 and node_id not in own:
            return Node(next(iter(own)), _ONLY)
        return None if others else Node(node_id, "answers for what this node leads or coordinates")
    several = frozenset(node for node, n in answers.reported.items() if n >= _FEWEST_ANSWERS)
    if len(several) < 2 or not evidence.confirmed.get(endpoint):
        return None
    return Node(None, f"answers for {_named(several)}: more than one broker is behind this address")


def _named(nodes: frozenset[int]) -> str:
    """Returns `node 1` or `nodes 1, 2`."""
    return ("node " if len(nodes) == 1 else "nodes ") + ", ".join(str(node) for node in sorted(nodes))


def _nodes_on_addresses(
    found: dict[Endpoint, Node], advertised: dict[Endpoint, list[_Advertised]], evidence: Evidence
) -> dict[str, set[int]]:
    """Returns the node ids known at each address."""
    nodes: dict[str, set[int]] = defaultdict(set)
    for (address, _), node in found.items():
        if node.node_id is not None:
            nodes[address].add(node.node_id)
    for (address, _), ones in advertised.items():
        nodes[address].update(*(one.nodes for one in ones))
    for address, replicas in evidence.replicas.items():
        nodes[address].update(replicas)
    return nodes
