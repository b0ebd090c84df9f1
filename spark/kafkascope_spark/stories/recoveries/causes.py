"""Assigns `cause_id` to episodes: episodes of all clients with the same cause share it.

A broker that was lost, or that handed over its leaderships and coordinators, is one cause: it covers all connections,
partitions and coordinators of that node, and the consequences at other brokers (elections, loading, removed members).
Any other error has one cause per error and resource, for all clients.

Episodes come ordered by (affected_ns, recovery_id): the order in which clients began to be affected. Memory is one
entry per cause in progress, at most MOST_CAUSES. The table error_facts defines which errors belong to a node, and which
follow from a lost broker."""

import hashlib
from bisect import insort
from dataclasses import dataclass, field
from operator import attrgetter

from kafkascope_parsers.error_facts import AT_NODE, FOLLOWS, FOLLOWS_FOR_THE_SAME
from kafkascope_spark.stories.recoveries.table import Recovery

SECOND = 1_000_000_000
GAP_NS = 5 * SECOND
"""Longest pause between two episodes of one cause: clients notice a dead broker within a poll or a back-off of some
seconds."""
FOLLOWS_NS = 15 * SECOND
"""Longest time after the loss of a broker, or another failure, in which clients may still get errors or wait because of
it: a session timeout or an election."""
MOST_CAUSES = 10_000
"""Largest number of causes in memory; if there are more, those that have ended are removed."""
_LEAST_SWEPT = 64
"""With fewer causes at nodes than this, ended ones are not removed."""


@dataclass(slots=True)
class Cause:
    """A cause that may still be in progress, and the clients that it affected. number: number of the cause in order of
    begin; is_at_node: whether it covers all errors and resources of a node."""

    cause_id: str
    number: int
    until_ns: int
    is_at_node: bool
    clients: set[str] = field(default_factory=set)


class Causes:
    """Assigns causes to episodes, which come one by one in the order of (affected_ns, recovery_id)."""

    def __init__(self) -> None:
        self._by_key: dict[str, Cause] = {}
        self._n_begun = 0
        self._most = MOST_CAUSES
        self._at_nodes: list[Cause] = []
        """Causes at a node, in order of begin."""
        self._at_nodes_of: dict[str, list[Cause]] = {}
        """Causes at a node by client that they affected, in order of begin."""
        self._most_at_nodes = _LEAST_SWEPT
        self._nodes: dict[str, int | None] = {}
        """Address of a server -> its node, for the server's other ports; None if it serves several nodes."""

    def cause_of(self, episode: Recovery) -> str:
        """Returns the cause_id of an episode."""
        start, client = episode.affected_ns, episode.client_instance_id
        self._learn_node(episode)
        key = self._key(episode)
        cause = self._broker_loss_before(episode.first_error_name, start, client) or self._ongoing(key, start)
        if cause is None:
            cause = self._begin(episode, key)
        cause.until_ns = max(cause.until_ns, episode.start_ns, episode.recovered_ns or 0)
        if client not in cause.clients:
            cause.clients.add(client)
            if cause.is_at_node:
                insort(self._at_nodes_of.setdefault(client, []), cause, key=attrgetter("number"))
        return cause.cause_id

    def _broker_loss_before(self, error: str, start: int, client: str) -> Cause | None:
        """Returns the latest lost or moved broker from which the error may follow; None if there is none."""
        if error not in FOLLOWS and error not in FOLLOWS_FOR_THE_SAME:
            return None
        among = self._at_nodes if error in FOLLOWS else self._at_nodes_of.get(client, [])
        return next((cause for cause in reversed(among) if start <= cause.until_ns + FOLLOWS_NS), None)

    def _ongoing(self, key: str, start: int) -> Cause | None:
        """Returns the cause with the key if it was in progress until shortly before; else None."""
        cause = self._by_key.get(key)
        return cause if cause is not None and start <= cause.until_ns + GAP_NS else None

    def _begin(self, episode: Recovery, key: str) -> Cause:
        """Returns a new cause, which begins with the episode."""
        start = episode.affected_ns
        digest = hashlib.sha256(f"{key}|{start}".encode()).hexdigest()
        self._n_begun += 1
        cause = Cause(f"cause-{digest[:16]}", self._n_begun, start, episode.first_error_name in AT_NODE)
        self._forget_over(start)
        self._by_key[key] = cause
        if cause.is_at_node:
            self._at_nodes.append(cause)
        return cause

    def _forget_over(self, start: int) -> None:
        """Removes ended causes, each time when half of the causes are newer than the last removal."""
        if len(self._by_key) >= self._most:
            self._by_key = {k: c for k, c in self._by_key.items() if start <= c.until_ns + GAP_NS}
            self._most = max(MOST_CAUSES, 2 * len(self._by_key))
        if len(self._at_nodes) >= self._most_at_nodes:
            self._at_nodes = [c for c in self._at_nodes if start <= c.until_ns + FOLLOWS_NS]
            self._most_at_nodes = max(_LEAST_SWEPT, 2 * len(self._at_nodes))
            of_clients: dict[str, list[Cause]] = {}
            for cause in self._at_nodes:
                for client in cause.clients:
                    of_clients.setdefault(client, []).append(cause)
            self._at_nodes_of = of_clients

    def _learn_node(self, episode: Recovery) -> None:
        """Records the node at the address of a lost connection."""
        if episode.resource_kind == "connection" and episode.old_node_id is not None:
            address, node = _address(episode), episode.old_node_id
            if len(self._nodes) < MOST_CAUSES or address in self._nodes:
                self._nodes[address] = node if self._nodes.get(address, node) == node else None

    def _key(self, episode: Recovery) -> str:
        """Returns the key that all episodes of one cause share."""
        error, node = episode.first_error_name, episode.old_node_id
        if error not in AT_NODE:
            return f"{error}|{episode.resource_kind}|{episode.resource}"
        if node is None and episode.resource_kind == "connection":
            node = self._nodes.get(_address(episode))
        return f"node {node}" if node is not None else f"server {episode.resource}"


def _address(episode: Recovery) -> str:
    """Returns the server's address without the port: a broker's listeners and its controller are ports of one
    address."""
    return episode.resource.rpartition(":")[0]
