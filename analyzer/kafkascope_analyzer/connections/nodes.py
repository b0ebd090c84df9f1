"""Which broker is it: server address -> node id.

Told, in this order, by the advertised host:port of Metadata, FindCoordinator, DescribeCluster and KIP-951 endpoints;
by what the address confirmed (it answered for partitions and groups that the cluster says a node leads); by the
replica id that a broker at the same address uses. An address that several nodes answer on stays without one.
"""

import ipaddress
from collections import Counter, defaultdict
from dataclasses import dataclass, field

Endpoint = tuple[str, int]

_AGREEMENT = 0.9
"""Share of an address's confirmed answers that must speak for one node: leadership moves while answers are under
way.
"""


@dataclass(slots=True)
class Evidence:
    """What the capture says about addresses, summed over all buckets.

    advertised  endpoint -> how often it was told for each node id
    confirmed   server endpoint -> how often it answered for what a node leads or coordinates, per node id
    fetched     server endpoint -> likewise, by Fetch alone: a follower may answer it too
    replicas    client address -> how often it fetched as each replica id
    servers     every server endpoint
    """

    advertised: dict[Endpoint, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    confirmed: dict[Endpoint, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    fetched: dict[Endpoint, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    replicas: dict[str, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    servers: set[Endpoint] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Node:
    """A node id and what told it."""

    node_id: int
    why: str


def resolve_nodes(evidence: Evidence) -> dict[Endpoint, Node]:
    """The node of each server endpoint that the evidence tells."""
    found: dict[Endpoint, Node] = {}
    for endpoint in sorted(evidence.servers):
        node = _advertised(evidence, endpoint) or _confirmed(evidence, endpoint)
        if node is not None:
            found[endpoint] = node
    on_address = _nodes_on_addresses(found, evidence)
    for endpoint in sorted(evidence.servers - set(found)):
        nodes = on_address.get(endpoint[0], set())
        if len(nodes) == 1 and endpoint not in evidence.confirmed:
            found[endpoint] = Node(next(iter(nodes)), "the only node at its address")
    return found


def _advertised(evidence: Evidence, endpoint: Endpoint) -> Node | None:
    """An endpoint that is advertised for one node, unless its own answers speak for another."""
    told = evidence.advertised.get(endpoint)
    if not told or len(told) > 1:
        return None
    (node_id,) = told
    answers = evidence.confirmed.get(endpoint)
    if answers and answers[node_id] < _AGREEMENT / 2 * answers.total():
        return None
    return Node(node_id, f"advertised as {endpoint[0]}:{endpoint[1]}")


def _confirmed(evidence: Evidence, endpoint: Endpoint) -> Node | None:
    """An endpoint whose answers speak for one node."""
    answers = evidence.confirmed.get(endpoint) or evidence.fetched.get(endpoint)
    if not answers:
        return None
    node_id, n = min(answers.items(), key=lambda item: (-item[1], item[0]))
    return (
        Node(node_id, "answers for what this node leads or coordinates") if n >= _AGREEMENT * answers.total() else None
    )


def _nodes_on_addresses(found: dict[Endpoint, Node], evidence: Evidence) -> dict[str, set[int]]:
    """Node ids known at each address."""
    nodes: dict[str, set[int]] = defaultdict(set)
    for (address, _), node in found.items():
        nodes[address].add(node.node_id)
    for (address, _), told in evidence.advertised.items():
        if _is_address(address):
            nodes[address].update(told)
    for address, replicas in evidence.replicas.items():
        nodes[address].update(replicas)
    return nodes


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
