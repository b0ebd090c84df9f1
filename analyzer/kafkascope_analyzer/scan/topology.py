"""Rows of `topology`: facts about the cluster in messages: brokers, leaders, coordinators, controllers, topic ids.

Clients get them in responses. With ZooKeeper (and while a cluster migrates to KRaft) the controller also sends them to
the brokers: LeaderAndIsr and UpdateMetadata name leaders, epochs and every listener of every broker (KafkaController,
ControllerChannelManager).
"""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.scan.message_fields import partition_fields, result_codes
from kafkascope_analyzer.scan.partitions import outer_text
from kafkascope_analyzer.scan.request_facts import nodes_of
from kafkascope_parsers.machine import Columns
from kafkascope_parsers.schema import Direction, MessageType, Node, error_codes, error_name

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
"""Columns of `topology_rows`; `row` is the index of the frame; from_controller: whether the fact is in a request of the
controller to a broker, which is never out of date as a response may be.
"""
NO_TOPOLOGY = SPILL_SCHEMA.empty_table()
_NEEDED = ("node_id", "port", "partition")
"""Numbers without which, or out of range, there is no fact."""

_MOVED = np.array(
    [code for code in error_codes() if error_name(code) in ("NOT_LEADER_OR_FOLLOWER", "FENCED_LEADER_EPOCH")], np.int64
)
_NO_ERROR = 0

Reader = Callable[[Columns, NDArray[np.int64]], pa.Table]
"""Function of (decoded columns, frame of each decoded row)."""
Stated = Callable[[Columns, Node], NDArray[np.bool_]]
"""Function of the columns and the node of a field; returns which of the field's instances state a fact."""
Sources = Callable[[MessageType, Node], dict[str, Node | None]]
"""Function of a message and the node of a field; returns the nodes of columns, each at or above the field's level."""


def topology_rows(columns: Columns, frames: NDArray[np.int64], api_name: str, direction: Direction) -> pa.Table:
    """Returns the facts in decoded messages of an API and direction. frames[i] is the frame of decoded row i. Columns:
    SPILL_SCHEMA.
    """
    found = [read(columns, frames) for read in _READERS[direction].get(api_name, ())]
    found = [table for table in found if table.num_rows]
    return pa.concat_tables(found) if found else NO_TOPOLOGY


def _one(columns: Columns, path: str) -> Node | None:
    """Returns the node of a path, if the message has it and this batch may hold values of it."""
    nodes = nodes_of(columns.message, (path,))
    return nodes[0] if nodes and columns.has(nodes[0]) else None


def _column(columns: Columns, leaf: Node, keep: NDArray[np.int64], field: pa.Field, node: Node | None) -> pa.Array:
    """Returns values of a node at or above leaf's level, for the kept instances of leaf's level."""
    if pa.types.is_string(field.type):
        return outer_text(columns, leaf, node, keep)
    if node is None or not columns.has(node):
        return pa.nulls(len(keep), field.type)
    index = columns.outer(leaf, node.level)[keep]
    return pa.array(columns.values(node)[index].astype(np.int32), mask=columns.is_null(node)[index])


def _no_sources(message: MessageType, leaf: Node) -> dict[str, Node | None]:
    return {}


def _facts(kind: str, leaf_path: str, stated: Stated, sources: Sources = _no_sources, /, **paths: str) -> Reader:
    """Returns a reader of the facts of a kind, of which a message has one per instance of a field. sources, paths:
    nodes of the columns; a message that lacks the node id states none.
    """

    def read(columns: Columns, frames: NDArray[np.int64]) -> pa.Table:
        leaf = _one(columns, leaf_path)
        if leaf is None or ("node_id" in paths and _one(columns, paths["node_id"]) is None):
            return NO_TOPOLOGY
        keep = np.flatnonzero(stated(columns, leaf))
        n = len(keep)
        known = {
            "row": pa.array(frames[columns.row(leaf)[keep]]),
            "kind": pa.repeat(pa.scalar(kind), n),
            "from_controller": pa.repeat(columns.message.direction == "request", n),
        }
        nodes = {name: _one(columns, path) for name, path in paths.items()} | sources(columns.message, leaf)
        known |= {name: _column(columns, leaf, keep, SPILL_SCHEMA.field(name), node) for name, node in nodes.items()}
        shown = [known[f.name] if f.name in known else pa.nulls(n, f.type) for f in SPILL_SCHEMA]
        facts = pa.table(shown, SPILL_SCHEMA)
        for name in _NEEDED:
            if name in paths and known[name].null_count:
                facts = facts.filter(facts[name].is_valid())
        return facts

    return read


def _is_known(columns: Columns, leaf: Node) -> NDArray[np.bool_]:
    return np.asarray(~columns.is_null(leaf))


def _is_node(columns: Columns, leaf: Node) -> NDArray[np.bool_]:
    return _is_known(columns, leaf) & (columns.values(leaf).astype(np.int64) >= 0)


def _is_text(columns: Columns, leaf: Node) -> NDArray[np.bool_]:
    return np.asarray(columns.lengths(leaf) >= 0)


def _is_name(columns: Columns, leaf: Node) -> NDArray[np.bool_]:
    return np.asarray(columns.lengths(leaf) > 0)


def _brokers(node_id: str, host: str, port: str, **rack: str) -> Reader:
    """Returns a reader of the brokers that a message lists: paths of the node id, and of the host, port and rack beside
    or around it. One row is read per host.
    """
    return _facts("broker", host, _is_text, node_id=node_id, host=host, port=port, cluster_id="cluster_id", **rack)


def _broker_list(array: str, node_id: str) -> Reader:
    """Returns a reader of an array that has one element per broker."""
    return _brokers(f"{array}[].{node_id}", f"{array}[].host", f"{array}[].port", rack=f"{array}[].rack")


def _partition_of(message: MessageType, leaf: Node) -> dict[str, Node | None]:
    """Returns the partition beside the leaf, and the name and id of its topic in the same layout of the message."""
    place = next(p for p in partition_fields(message) if p.partition.level == leaf.level)
    return {"topic": place.topic, "topic_id": place.topic_id, "partition": place.partition}


def _leaders(leader: str, stated: Stated = _is_node) -> Reader:
    """Returns a reader of the leaders that a message names beside partitions; leader: the path of the leader's id."""
    epoch = f"{leader.removesuffix('_id')}_epoch"
    return _facts("leader", leader, stated, _partition_of, node_id=leader, leader_epoch=epoch)


def _hints(prefix: str, codes_with_leader: NDArray[np.int64] = _MOVED) -> Reader:
    """Returns a reader of the current leader that a response names beside one of these error codes: by default the
    codes for a moved leader (KIP-951). Without such a code, ShareFetch and ShareAcknowledge hold node 0, which means
    nobody.
    """

    def has_leader(columns: Columns, leaf: Node) -> NDArray[np.bool_]:
        codes = [code for code in result_codes(columns.message.node(prefix)) if columns.has(code)]
        moved = [np.isin(columns.values(code), codes_with_leader) for code in codes]
        return np.asarray(_is_node(columns, leaf) & np.logical_or.reduce(moved))

    return _leaders(f"{prefix}.current_leader.leader_id", has_leader)


def _coordinators(prefix: str = "") -> Reader:
    """Returns a reader of coordinators. FindCoordinator from v4 on names its keys; before, the key is in the request,
    which the caller has.
    """

    def is_found(columns: Columns, leaf: Node) -> NDArray[np.bool_]:
        code = _one(columns, f"{prefix}error_code")
        return _is_node(columns, leaf) & (False if code is None else columns.values(code) == 0)

    node_id, key = f"{prefix}node_id", f"{prefix}key"
    place = {"host": f"{prefix}host", "port": f"{prefix}port"}
    return _facts("coordinator", node_id, is_found, node_id=node_id, coordinator_key=key, **place)


_CONTROLLER = _facts(
    "controller",
    "controller_id",
    _is_node,
    node_id="controller_id",
    leader_epoch="controller_epoch",
    cluster_id="cluster_id",
)
_CLUSTER = _facts("cluster", "cluster_id", _is_name, cluster_id="cluster_id")
_TOPICS = _facts("topic", "topics[].topic_id", _is_known, topic="topics[].name", topic_id="topics[].topic_id")
_ENDPOINTS = _broker_list("node_endpoints", "node_id")
_PRODUCED, _FETCHED = "responses[].partition_responses[]", "responses[].partitions[]"
_SHARE_HINTS = _hints(_FETCHED)
_TOPIC_LEADERS = _leaders("topics[].partitions[].leader_id")
_PARTITION_STATES = (
    _leaders("ungrouped_partition_states[].leader"),
    _leaders("topic_states[].partition_states[].leader"),
)
"""Paths of partitions in LeaderAndIsr and UpdateMetadata: one by one in early versions, and by topic."""
_RESPONSE_READERS: dict[str, tuple[Reader, ...]] = {
    "Metadata": (
        _broker_list("brokers", "node_id"),
        _CLUSTER,
        _CONTROLLER,
        _TOPIC_LEADERS,
        _TOPICS,
    ),
    "DescribeCluster": (_broker_list("brokers", "broker_id"), _CLUSTER, _CONTROLLER),
    "DescribeTopicPartitions": (_TOPIC_LEADERS, _TOPICS),
    "DescribeQuorum": (_TOPIC_LEADERS,),
    "FindCoordinator": (_coordinators(), _coordinators("coordinators[].")),
    "Produce": (_ENDPOINTS, _hints(_PRODUCED)),
    "Fetch": (_ENDPOINTS, _hints(_FETCHED, np.append(_MOVED, _NO_ERROR))),
    "ShareFetch": (_ENDPOINTS, _SHARE_HINTS),
    "ShareAcknowledge": (_ENDPOINTS, _SHARE_HINTS),
    "CreateTopics": (_TOPICS,),
}
"""Readers of responses that name brokers, leaders, coordinators, controllers, the cluster and topics. The raft log's
leader, which DescribeQuorum names, is the active controller. It also names itself in each response to a Fetch of that
log: before 3.9, when these responses have no endpoints (KIP-853), only this shows which controller answers.
"""
_LIVE_BROKERS = "live_brokers[].endpoints[]"
_REQUEST_READERS: dict[str, tuple[Reader, ...]] = {
    "LeaderAndIsr": (
        _CONTROLLER,
        *_PARTITION_STATES,
        _brokers("live_leaders[].broker_id", "live_leaders[].host_name", "live_leaders[].port"),
    ),
    "UpdateMetadata": (
        _CONTROLLER,
        *_PARTITION_STATES,
        _brokers("live_brokers[].id", f"{_LIVE_BROKERS}.host", f"{_LIVE_BROKERS}.port", rack="live_brokers[].rack"),
        _brokers("live_brokers[].id", "live_brokers[].v0_host", "live_brokers[].v0_port"),
    ),
    "StopReplica": (_CONTROLLER,),
}
"""Readers of the requests that the controller of a ZooKeeper cluster, or of one that migrates, sends to its brokers."""
_READERS: dict[Direction, dict[str, tuple[Reader, ...]]] = {
    "response": _RESPONSE_READERS,
    "request": _REQUEST_READERS,
}
