"""Rows of `topology`: what messages say about the cluster: brokers, leaders, coordinators, controllers, topic ids.

Clients learn it from answers. With ZooKeeper (and while a cluster migrates to KRaft) the controller also sends it to
the brokers: LeaderAndIsr and UpdateMetadata name leaders, epochs and every listener of every broker
(KafkaController, ControllerChannelManager).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.scan.message_fields import instances_above, result_codes
from kafkascope_analyzer.scan.partitions import outer_text
from kafkascope_analyzer.scan.request_facts import nodes_of
from kafkascope_parsers.machine import Columns
from kafkascope_parsers.schema import Direction, Node, error_codes, error_name

SPILL_SCHEMA = pa.schema(
    [
        ("row", pa.int64()),
        ("kind", pa.string()),
        ("node_id", pa.int32()),
        ("host", pa.string()),
        ("port", pa.int32()),
        ("rack", pa.string()),
        ("topic", pa.string()),
        ("topic_id", pa.string()),
        ("partition", pa.int32()),
        ("leader_epoch", pa.int32()),
        ("coordinator_key", pa.string()),
        ("coordinator_type", pa.string()),
        ("cluster_id", pa.string()),
        ("from_controller", pa.bool_()),
    ]
)
"""Columns of `topology_rows`; `row` is the index of the frame; from_controller: whether the controller says so in a
request to a broker, which is never out of date as an answer may be.
"""
NO_TOPOLOGY = SPILL_SCHEMA.empty_table()

_MOVED = np.array(
    [code for code in error_codes() if error_name(code) in ("NOT_LEADER_OR_FOLLOWER", "FENCED_LEADER_EPOCH")], np.int64
)
_NO_ERROR = 0

Reader = Callable[[Columns, NDArray[np.int64]], pa.Table]
"""Takes (decoded columns, frame of each decoded row)."""


def topology_rows(columns: Columns, frames: NDArray[np.int64], api_name: str, direction: Direction) -> pa.Table:
    """The facts that decoded messages of an API and direction contain. frames[i] is the frame of decoded row i.
    Columns: SPILL_SCHEMA.
    """
    found = [read(columns, frames) for read in _READERS[direction].get(api_name, ())]
    found = [table for table in found if table.num_rows]
    return pa.concat_tables(found) if found else NO_TOPOLOGY


def _one(columns: Columns, path: str) -> Node | None:
    """The node of a path, if the message has it and this batch may hold values of it."""
    nodes = nodes_of(columns.message, (path,))
    return nodes[0] if nodes and columns.has(nodes[0]) else None


def _ints(columns: Columns, leaf: Node, path: str, keep: NDArray[np.int64]) -> pa.Array:
    """An int32 that stands at or above leaf's level, for the kept instances of leaf's level."""
    node = _one(columns, path)
    if node is None:
        return pa.nulls(len(keep), pa.int32())
    index = instances_above(columns, leaf, node.level)[keep]
    return pa.array(columns.values(node)[index].astype(np.int32), mask=columns.is_null(node)[index])


def _texts(columns: Columns, leaf: Node, path: str, keep: NDArray[np.int64]) -> pa.Array:
    return outer_text(columns, leaf, _one(columns, path), keep)


def _facts(
    columns: Columns, frames: NDArray[np.int64], leaf: Node, keep: NDArray[np.int64], kind: str, **known: pa.Array
) -> pa.Table:
    n = len(keep)
    known["row"] = pa.array(frames[columns.row(leaf)[keep]])
    known["kind"] = pa.repeat(pa.scalar(kind), n)
    known["from_controller"] = pa.repeat(columns.message.direction == "request", n)
    return pa.table([known[f.name] if f.name in known else pa.nulls(n, f.type) for f in SPILL_SCHEMA], SPILL_SCHEMA)


@dataclass(frozen=True, slots=True)
class _Places:
    """Where a message names a topic-partition: the paths of the topic's name, its id, and the partition."""

    topic: str
    topic_id: str
    partition: str


@dataclass(frozen=True, slots=True)
class _BrokerPaths:
    """Where a message lists brokers: the paths of the node id, and of the host, port and rack beside or around it. One
    row is read per host.
    """

    node_id: str
    host: str
    port: str
    rack: str

    @classmethod
    def of_list(cls, array: str, node_id: str) -> "_BrokerPaths":
        """The paths of an array that has one element per broker."""
        return cls(f"{array}[].{node_id}", f"{array}[].host", f"{array}[].port", f"{array}[].rack")


def _brokers(paths: _BrokerPaths) -> Reader:
    """A reader of the brokers that a message lists."""

    def read(columns: Columns, frames: NDArray[np.int64]) -> pa.Table:
        leaf = _one(columns, paths.host)
        if leaf is None or _one(columns, paths.node_id) is None:
            return NO_TOPOLOGY
        keep = np.flatnonzero(columns.lengths(leaf) >= 0)
        return _facts(
            columns,
            frames,
            leaf,
            keep,
            "broker",
            node_id=_ints(columns, leaf, paths.node_id, keep),
            host=_texts(columns, leaf, paths.host, keep),
            port=_ints(columns, leaf, paths.port, keep),
            rack=_texts(columns, leaf, paths.rack, keep),
            cluster_id=_texts(columns, leaf, "cluster_id", keep),
        )

    return read


def _controller(columns: Columns, frames: NDArray[np.int64]) -> pa.Table:
    leaf = _one(columns, "controller_id")
    if leaf is None:
        return NO_TOPOLOGY
    keep = np.flatnonzero(~columns.is_null(leaf) & (columns.values(leaf).astype(np.int64) >= 0))
    return _facts(
        columns,
        frames,
        leaf,
        keep,
        "controller",
        node_id=_ints(columns, leaf, "controller_id", keep),
        leader_epoch=_ints(columns, leaf, "controller_epoch", keep),
        cluster_id=_texts(columns, leaf, "cluster_id", keep),
    )


def _cluster(columns: Columns, frames: NDArray[np.int64]) -> pa.Table:
    leaf = _one(columns, "cluster_id")
    if leaf is None:
        return NO_TOPOLOGY
    keep = np.flatnonzero(columns.lengths(leaf) > 0)
    return _facts(columns, frames, leaf, keep, "cluster", cluster_id=_texts(columns, leaf, "cluster_id", keep))


def _listed_leaders(places: _Places, leader: str) -> Reader:
    """A reader of the leaders that a message lists; leader: the path of the leader's id."""

    def read(columns: Columns, frames: NDArray[np.int64]) -> pa.Table:
        leaf = _one(columns, leader)
        if leaf is None:
            return NO_TOPOLOGY
        keep = np.flatnonzero(~columns.is_null(leaf) & (columns.values(leaf).astype(np.int64) >= 0))
        return _leaders(columns, frames, (leaf, keep), places)

    return read


def _topic_leaders(topic: str) -> Reader:
    """A reader of the leaders that an answer lists by topic; topic: the field that names the topic."""
    partition = "topics[].partitions[]"
    places = _Places(f"topics[].{topic}", "topics[].topic_id", f"{partition}.partition_index")
    return _listed_leaders(places, f"{partition}.leader_id")


def _leaders(
    columns: Columns,
    frames: NDArray[np.int64],
    leader: tuple[Node, NDArray[np.int64]],
    places: _Places,
) -> pa.Table:
    """Leader facts. leader: the leader's id, and which of its instances to take."""
    leaf, keep = leader
    return _facts(
        columns,
        frames,
        leaf,
        keep,
        "leader",
        node_id=_ints(columns, leaf, leaf.path, keep),
        topic=_texts(columns, leaf, places.topic, keep),
        topic_id=_texts(columns, leaf, places.topic_id, keep),
        partition=_ints(columns, leaf, places.partition, keep),
        leader_epoch=_ints(columns, leaf, leaf.path.removesuffix("_id") + "_epoch", keep),
    )


def _hints(prefix: str, places: _Places, codes_with_leader: NDArray[np.int64] = _MOVED) -> Reader:
    """A reader of the current leader that an answer names beside one of these error codes: by default those that say
    that the leader moved (KIP-951). Without one, ShareFetch and ShareAcknowledge hold node 0, which is nobody.
    """

    def read(columns: Columns, frames: NDArray[np.int64]) -> pa.Table:
        leaf = _one(columns, f"{prefix}.current_leader.leader_id")
        if leaf is None:
            return NO_TOPOLOGY
        codes = [code for code in result_codes(columns.message.node(prefix)) if columns.has(code)]
        moved = [np.isin(columns.values(code), codes_with_leader) for code in codes]
        has_leader = ~columns.is_null(leaf) & (columns.values(leaf).astype(np.int64) >= 0)
        keep = np.flatnonzero(has_leader & np.logical_or.reduce(moved))
        return _leaders(columns, frames, (leaf, keep), places)

    return read


def _topics(columns: Columns, frames: NDArray[np.int64]) -> pa.Table:
    leaf = _one(columns, "topics[].topic_id")
    if leaf is None:
        return NO_TOPOLOGY
    keep = np.flatnonzero(~columns.is_null(leaf))
    return _facts(
        columns,
        frames,
        leaf,
        keep,
        "topic",
        topic=_texts(columns, leaf, "topics[].name", keep),
        topic_id=_texts(columns, leaf, leaf.path, keep),
    )


def _coordinators(columns: Columns, frames: NDArray[np.int64]) -> pa.Table:
    """FindCoordinator from v4 on names its keys; before, the key is the request's, which the caller knows."""
    found = []
    for prefix in ("", "coordinators[]."):
        leaf = _one(columns, f"{prefix}node_id")
        code = _one(columns, f"{prefix}error_code")
        if leaf is None or code is None:
            continue
        keep = np.flatnonzero(
            ~columns.is_null(leaf) & (columns.values(code) == 0) & (columns.values(leaf).astype(np.int64) >= 0)
        )
        found.append(
            _facts(
                columns,
                frames,
                leaf,
                keep,
                "coordinator",
                node_id=_ints(columns, leaf, leaf.path, keep),
                host=_texts(columns, leaf, f"{prefix}host", keep),
                port=_ints(columns, leaf, f"{prefix}port", keep),
                coordinator_key=_texts(columns, leaf, f"{prefix}key", keep),
            )
        )
    return pa.concat_tables(found) if found else NO_TOPOLOGY


def _topic_states() -> tuple[Reader, ...]:
    """Readers of what LeaderAndIsr and UpdateMetadata say of partitions: by topic, and one by one in early versions."""
    alone, nested = "ungrouped_partition_states[]", "topic_states[].partition_states[]"
    names = ((f"{alone}.topic_name", alone), ("topic_states[].topic_name", nested))
    return tuple(
        _listed_leaders(_Places(topic, "topic_states[].topic_id", f"{state}.partition_index"), f"{state}.leader")
        for topic, state in names
    )


_ENDPOINTS = _brokers(_BrokerPaths.of_list("node_endpoints", "node_id"))
_PRODUCED, _FETCHED = "responses[].partition_responses[]", "responses[].partitions[]"
_FETCHED_PLACES = _Places("responses[].topic", "responses[].topic_id", f"{_FETCHED}.partition_index")
_PRODUCED_PLACES = _Places("responses[].name", "responses[].topic_id", f"{_PRODUCED}.index")
_SHARE_HINTS = _hints(_FETCHED, _FETCHED_PLACES)
_RESPONSE_READERS: dict[str, tuple[Reader, ...]] = {
    "Metadata": (
        _brokers(_BrokerPaths.of_list("brokers", "node_id")),
        _cluster,
        _controller,
        _topic_leaders("name"),
        _topics,
    ),
    "DescribeCluster": (_brokers(_BrokerPaths.of_list("brokers", "broker_id")), _cluster, _controller),
    "DescribeTopicPartitions": (_topic_leaders("name"), _topics),
    "DescribeQuorum": (_topic_leaders("topic_name"),),
    "FindCoordinator": (_coordinators,),
    "Produce": (
        _ENDPOINTS,
        _hints(_PRODUCED, _PRODUCED_PLACES),
    ),
    "Fetch": (
        _ENDPOINTS,
        _hints(_FETCHED, _FETCHED_PLACES, np.append(_MOVED, _NO_ERROR)),
    ),
    "ShareFetch": (_ENDPOINTS, _SHARE_HINTS),
    "ShareAcknowledge": (_ENDPOINTS, _SHARE_HINTS),
    "CreateTopics": (_topics,),
}
"""Where answers name brokers, leaders, coordinators, controllers, the cluster and topics. The raft log's leader, which
DescribeQuorum names, is the active controller; it names itself also in each answer to a Fetch of that log, and is all
that shows which controller answers before 3.9, which has no endpoints in these answers (KIP-853).
"""
_LIVE_BROKERS = "live_brokers[].endpoints[]"
_REQUEST_READERS: dict[str, tuple[Reader, ...]] = {
    "LeaderAndIsr": (
        _controller,
        *_topic_states(),
        _brokers(
            _BrokerPaths("live_leaders[].broker_id", "live_leaders[].host_name", "live_leaders[].port", "no rack")
        ),
    ),
    "UpdateMetadata": (
        _controller,
        *_topic_states(),
        _brokers(
            _BrokerPaths("live_brokers[].id", f"{_LIVE_BROKERS}.host", f"{_LIVE_BROKERS}.port", "live_brokers[].rack")
        ),
        _brokers(_BrokerPaths("live_brokers[].id", "live_brokers[].v0_host", "live_brokers[].v0_port", "no rack")),
    ),
    "StopReplica": (_controller,),
}
"""What the controller of a ZooKeeper cluster, or of one that migrates, sends to its brokers."""
_READERS: dict[Direction, dict[str, tuple[Reader, ...]]] = {
    "response": _RESPONSE_READERS,
    "request": _REQUEST_READERS,
}
