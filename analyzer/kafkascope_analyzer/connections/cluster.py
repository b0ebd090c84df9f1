"""Facts about the cluster from the whole capture: nodes behind addresses, topic names, leaders, bootstrap
connections."""

from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from kafkascope_analyzer.connections.leaders import Leaders
from kafkascope_analyzer.connections.nodes import Endpoint, Node
from kafkascope_analyzer.connections.topic_names import TopicNames

Follower = tuple[str, str, int, int]
"""Client address, topic, partition, and the node to which the client was sent."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """nodes: by server endpoint; advertised: endpoints at which each node is advertised; topics: names by id.

    bootstrap: by spill folder, its connections that bootstrapped a client (BOOTSTRAP_SCHEMA). topology: by spill
    folder, its spilled topology rows that are changes in the whole capture. followers: replicas to which brokers sent
    consumers (KIP-392). encrypted: servers that speak Kafka over TLS that is not decrypted."""

    nodes: dict[Endpoint, Node]
    advertised: dict[int, list[Endpoint]]
    topics: TopicNames
    bootstrap: dict[Path, pa.Table]
    topology: dict[Path, pa.Table]
    leaders: Leaders
    followers: frozenset[Follower]
    encrypted: frozenset[Endpoint] = frozenset()

    def with_spill_at(self, spill: Path, place: Path) -> "Cluster":
        """Returns the facts for a bucket whose spill has been moved to another place, without those of
        other buckets."""
        if spill not in self.bootstrap:
            return self
        return replace(self, bootstrap={place: self.bootstrap[spill]}, topology={place: self.topology[spill]})
