"""What the whole capture shows of the cluster: nodes behind addresses, topic names, leaders, bootstrap connections."""

from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from kafkascope_analyzer.connections.leaders import Leaders
from kafkascope_analyzer.connections.nodes import Endpoint, Node
from kafkascope_analyzer.connections.topic_names import TopicNames

Follower = tuple[str, str, int, int]
"""Client address, topic, partition, and the node it was sent to."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """nodes: by server endpoint; advertised: endpoints at which each node is advertised; topics: names by id.

    bootstrap: per spill folder its connections that bootstrapped a client (BOOTSTRAP_SCHEMA). topology: per spill
    folder its spilled topology rows that are changes in the whole capture. followers: where brokers sent consumers to
    read from a replica (KIP-392). encrypted: servers that speak Kafka over TLS that is not decrypted."""

    nodes: dict[Endpoint, Node]
    advertised: dict[int, list[Endpoint]]
    topics: TopicNames
    bootstrap: dict[Path, pa.Table]
    topology: dict[Path, pa.Table]
    leaders: Leaders
    followers: frozenset[Follower]
    encrypted: frozenset[Endpoint] = frozenset()

    def with_spill_at(self, spill: Path, place: Path) -> "Cluster":
        """What a bucket needs whose spill is found at another place now: of other buckets' spills it holds nothing."""
        if spill not in self.bootstrap:
            return self
        return replace(self, bootstrap={place: self.bootstrap[spill]}, topology={place: self.topology[spill]})
