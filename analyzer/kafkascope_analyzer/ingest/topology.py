"""Rows of `topology`: what answers tell about the cluster: brokers, leaders, coordinators, controllers, topic ids."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kafkascope_analyzer.ingest.partitions import outer_text
from kafkascope_analyzer.ingest.request_facts import nodes_of
from kafkascope_parsers.machine import Columns
from kafkascope_parsers.schema import Node, error_codes, error_name

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
    ]
)
"""Columns of `topology_rows`; `row` is the index of the frame."""
NO_TOPOLOGY = SPILL_SCHEMA.empty_table()

_MOVED = [code for code in error_codes() if error_name(code) in ("NOT_LEADER_OR_FOLLOWER", "FENCED_LEADER_EPOCH")]

Reader = Callable[[Columns, NDArray[np.int64]], pa.Table]
"""Takes (decoded columns, frame of each decoded row)."""

_BROKER_LISTS = {
    "Metadata": "brokers",
    "DescribeCluster": "brokers",
    "Produce": "node_endpoints",
    "Fetch": "node_endpoints",
}
_BROKER_LISTS |= {"ShareFetch": "node_endpoints", "ShareAcknowledge": "node_endpoints"}


def topology_rows(columns: Columns, frames: NDArray[np.int64], api_name: str) -> pa.Table:
    """The facts that decoded responses of an API tell. frames[i] is the frame of decoded row i. Columns:
    SPILL_SCHEMA.
    """
    found = []
    if api_name in _BROKER_LISTS:
        found.append(_brokers(columns, frames, _BROKER_LISTS[api_name]))
    found += [read(columns, frames) for read in _READERS.get(api_name, ())]
    found = [table for table in found if table.num_rows]
    return pa.concat_tables(found) if found else NO_TOPOLOGY


def _one(columns: Columns, path: str) -> Node | None:
    """The node of a path, if the message has it and this batch may hold values of it."""
    nodes = nodes_of(columns.message, (path,))
    return nodes[0] if nodes and columns.has(nodes[0]) else None


def _ints(columns: Columns, leaf: Node, path: str, keep: NDArray[np.int64]) -> pa.Array:
    node = _one(columns, path)
    if node is None or node.level != leaf.level:
        return pa.nulls(len(keep), pa.int32())
    return pa.array(columns.values(node)[keep].astype(np.int32), mask=columns.is_null(node)[keep])


def _texts(columns: Columns, leaf: Node, path: str, keep: NDArray[np.int64]) -> pa.Array:
    return outer_text(columns, leaf, _one(columns, path), keep)


def _facts(
    columns: Columns, frames: NDArray[np.int64], leaf: Node, keep: NDArray[np.int64], kind: str, **known: pa.Array
) -> pa.Table:
    n = len(keep)
    known["row"] = pa.array(frames[columns.row(leaf)[keep]])
    known["kind"] = pa.array([kind]).take(pa.array(np.zeros(n, np.int64)))
    return pa.table([known[f.name] if f.name in known else pa.nulls(n, f.type) for f in SPILL_SCHEMA], SPILL_SCHEMA)


def _brokers(columns: Columns, frames: NDArray[np.int64], array: str) -> pa.Table:
    ids = [p for p in ("node_id", "broker_id") if _one(columns, f"{array}[].{p}") is not None]
    if not ids:
        return NO_TOPOLOGY
    leaf = nodes_of(columns.message, (f"{array}[].{ids[0]}",))[0]
    keep = np.arange(columns.size(leaf))
    return _facts(
        columns,
        frames,
        leaf,
        keep,
        "broker",
        node_id=_ints(columns, leaf, leaf.path, keep),
        host=_texts(columns, leaf, f"{array}[].host", keep),
        port=_ints(columns, leaf, f"{array}[].port", keep),
        rack=_texts(columns, leaf, f"{array}[].rack", keep),
        cluster_id=_texts(columns, leaf, "cluster_id", keep),
    )


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
        cluster_id=_texts(columns, leaf, "cluster_id", keep),
    )


def _cluster(columns: Columns, frames: NDArray[np.int64]) -> pa.Table:
    leaf = _one(columns, "cluster_id")
    if leaf is None:
        return NO_TOPOLOGY
    keep = np.flatnonzero(columns.lengths(leaf) > 0)
    return _facts(columns, frames, leaf, keep, "cluster", cluster_id=_texts(columns, leaf, "cluster_id", keep))


def _topic_leaders(topic: str) -> Reader:
    """A reader of the leaders that an answer lists; topic: the field that names the topic."""

    def read(columns: Columns, frames: NDArray[np.int64]) -> pa.Table:
        leaf = _one(columns, "topics[].partitions[].leader_id")
        if leaf is None:
            return NO_TOPOLOGY
        keep = np.flatnonzero(columns.values(leaf).astype(np.int64) >= 0)
        places = (f"topics[].{topic}", "topics[].topic_id", "topics[].partitions[].partition_index")
        return _leaders(columns, frames, (leaf, keep), places)

    return read


def _leaders(
    columns: Columns,
    frames: NDArray[np.int64],
    told: tuple[Node, NDArray[np.int64]],
    places: tuple[str, str, str],
) -> pa.Table:
    """Leader facts. told: the leader's id, and which of its instances to take; places: paths of the topic's name, its
    id, and the partition.
    """
    leaf, keep = told
    topic, topic_id, partition = places
    return _facts(
        columns,
        frames,
        leaf,
        keep,
        "leader",
        node_id=_ints(columns, leaf, leaf.path, keep),
        topic=_texts(columns, leaf, topic, keep),
        topic_id=_texts(columns, leaf, topic_id, keep),
        partition=_ints(columns, leaf, partition, keep),
        leader_epoch=_ints(columns, leaf, leaf.path.replace("leader_id", "leader_epoch"), keep),
    )


def _hints(prefix: str, topic: str, topic_id: str, partition: str) -> Reader:
    """A reader of KIP-951 hints: the current leader that an answer names beside an error that says so. (Without one,
    ShareFetch and ShareAcknowledge hold node 0, which is nobody.)
    """

    def read(columns: Columns, frames: NDArray[np.int64]) -> pa.Table:
        leaf = _one(columns, f"{prefix}.current_leader.leader_id")
        if leaf is None:
            return NO_TOPOLOGY
        codes = [_one(columns, f"{prefix}.{name}") for name in ("error_code", "acknowledge_error_code")]
        moved = [np.isin(columns.values(code), _MOVED) for code in codes if code is not None]
        told = ~columns.is_null(leaf) & (columns.values(leaf).astype(np.int64) >= 0)
        keep = np.flatnonzero(told & np.logical_or.reduce(moved))
        return _leaders(columns, frames, (leaf, keep), (topic, topic_id, f"{prefix}.{partition}"))

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


_SHARE_HINTS = _hints("responses[].partitions[]", "responses[].topic", "responses[].topic_id", "partition_index")
_READERS: dict[str, tuple[Reader, ...]] = {
    "Metadata": (_cluster, _controller, _topic_leaders("name"), _topics),
    "DescribeCluster": (_cluster, _controller),
    "DescribeTopicPartitions": (_topic_leaders("name"), _topics),
    "DescribeQuorum": (_topic_leaders("topic_name"),),
    "FindCoordinator": (_coordinators,),
    "Produce": (_hints("responses[].partition_responses[]", "responses[].name", "responses[].topic_id", "index"),),
    "Fetch": (_hints("responses[].partitions[]", "responses[].topic", "responses[].topic_id", "partition_index"),),
    "ShareFetch": (_SHARE_HINTS,),
    "ShareAcknowledge": (_SHARE_HINTS,),
    "CreateTopics": (_topics,),
}
"""Where answers tell of leaders, coordinators, controllers, the cluster and topics; brokers: see _BROKER_LISTS. The
raft log's leader, which DescribeQuorum tells, is the active controller.
"""
