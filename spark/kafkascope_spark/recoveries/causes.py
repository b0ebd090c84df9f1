"""`cause_id`: episodes of all clients that one thing made.

A broker that is lost, or gives up what it led and coordinated, is one cause: every connection, partition and
coordinator that was at that node, and what follows from it elsewhere (elections, loading, evicted members). Anything
else has one cause per error and resource, whoever feels it. Episodes come in the order in which they began to be felt:
a silent broker with the first request that it left alone. Memory is one entry per cause that is still going on.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from kafkascope_spark.wire import Row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SECOND = 1_000_000_000
GAP_NS = 5 * SECOND
"""Longest pause between the last that is known of a cause and the next episode of it: clients notice a dead broker
within a poll or a back-off of some seconds."""
FOLLOWS_NS = 15 * SECOND
"""What a lost broker brings about elsewhere shows within a session timeout or an election."""
MOST_CAUSES = 10_000
"""Causes remembered; then those that are over are forgotten."""
AT_NODE = frozenset(
    {
        "NOT_LEADER_OR_FOLLOWER",
        "FENCED_LEADER_EPOCH",
        "NOT_COORDINATOR",
        "CONNECTION_REFUSED",
        "CONNECTION_UNANSWERED",
        "CONNECTION_RESET",
        "CONNECTION_CLOSED",
        "REQUEST_UNANSWERED",
        "RESPONSE_LATE",
    }
)
"""Errors whose node is what they have in common."""
SILENT = ("REQUEST_UNANSWERED", "RESPONSE_LATE", "CONNECTION_UNANSWERED")
"""Errors that are felt before they are noticed: from the request, or SYN, that stayed without an answer."""
FOLLOWS = frozenset(
    {
        "LEADER_NOT_AVAILABLE",
        "UNKNOWN_LEADER_EPOCH",
        "COORDINATOR_NOT_AVAILABLE",
        "COORDINATOR_LOAD_IN_PROGRESS",
        "NOT_ENOUGH_REPLICAS",
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
        "REQUEST_TIMED_OUT",
        "CONCURRENT_TRANSACTIONS",
    }
)
"""Errors that a lost or moved broker brings about at the others."""
FOLLOWS_FOR_THE_SAME = frozenset({"UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "FENCED_MEMBER_EPOCH"})
"""The same, only for clients that felt it."""
COLUMNS = (
    "recovery_id",
    "client_instance_id",
    "resource_kind",
    "resource",
    "first_error_name",
    "start_ns",
    "failing_ns",
    "recovered_ns",
    "old_node_id",
)


@dataclass(slots=True)
class Cause:
    """One that may go on."""

    cause_id: str
    begin_ns: int
    until_ns: int
    clients: set[str] = field(default_factory=set)


class Causes:
    """Assigns causes to episodes in the order of felt_ns."""

    def __init__(self) -> None:
        self._by_key: dict[str, Cause] = {}
        self._at_nodes: list[Cause] = []
        """Causes at a node, by begin."""
        self._nodes: dict[str, int | None] = {}
        """Address of a server -> its node, for its other ports; None where it serves several."""

    def cause_of(self, episode: Row) -> str:
        """The cause of an episode (COLUMNS of recoveries)."""
        start, client = felt_ns(episode), episode["client_instance_id"]
        self._learn(episode)
        key = self._key(episode)
        cause = self._followed(episode["first_error_name"], start, client) or self._going_on(key, start)
        if cause is None:
            cause = self._begin(episode, key)
        cause.until_ns = max(cause.until_ns, episode["start_ns"], episode["recovered_ns"] or 0)
        cause.clients.add(client)
        return cause.cause_id

    def _followed(self, error: str, start: int, client: str) -> Cause | None:
        if error not in FOLLOWS and error not in FOLLOWS_FOR_THE_SAME:
            return None
        for cause in reversed(self._at_nodes):
            if start <= cause.until_ns + FOLLOWS_NS and (error in FOLLOWS or client in cause.clients):
                return cause
        return None

    def _going_on(self, key: str, start: int) -> Cause | None:
        cause = self._by_key.get(key)
        return cause if cause is not None and start <= cause.until_ns + GAP_NS else None

    def _begin(self, episode: Row, key: str) -> Cause:
        start = felt_ns(episode)
        digest = hashlib.sha256(f"{key}|{start}".encode()).hexdigest()
        cause = Cause(f"cause-{digest[:16]}", start, start)
        if len(self._by_key) >= MOST_CAUSES:
            self._by_key = {k: c for k, c in self._by_key.items() if start <= c.until_ns + GAP_NS}
        self._by_key[key] = cause
        if episode["first_error_name"] in AT_NODE:
            self._at_nodes = [c for c in self._at_nodes if start <= c.until_ns + FOLLOWS_NS]
            self._at_nodes.append(cause)
        return cause

    def _learn(self, episode: Row) -> None:
        if episode["resource_kind"] == "connection" and episode["old_node_id"] is not None:
            address, node = _address(episode), episode["old_node_id"]
            if len(self._nodes) < MOST_CAUSES or address in self._nodes:
                self._nodes[address] = node if self._nodes.get(address, node) == node else None

    def _key(self, episode: Row) -> str:
        """What an episode has in common with others of its cause."""
        error, node = episode["first_error_name"], episode["old_node_id"]
        if error not in AT_NODE:
            return f"{error}|{episode['resource_kind']}|{episode['resource']}"
        if node is None and episode["resource_kind"] == "connection":
            node = self._nodes.get(_address(episode))
        return f"node {node}" if node is not None else f"server {episode['resource']}"


def _address(episode: Row) -> str:
    """Of the server: a broker's listeners and its controller are ports of one."""
    address: str = episode["resource"].rpartition(":")[0]
    return address


def felt_ns(episode: Row) -> int:
    """Since when the client did not get on."""
    start: int = episode["start_ns"]
    return min(start, episode["failing_ns"] or start) if episode["first_error_name"] in SILENT else start


def filled(episodes: pa.Table) -> pa.Table:
    """The table recoveries, in the order of felt_ns, with its cause_id filled."""
    silent = pc.is_in(episodes["first_error_name"], value_set=pa.array(SILENT))
    since = pc.if_else(silent, pc.min_element_wise(episodes["start_ns"], episodes["failing_ns"]), episodes["start_ns"])
    keyed = episodes.append_column("felt_ns", since)
    ordered = keyed.sort_by([("felt_ns", "ascending"), ("recovery_id", "ascending")]).drop_columns(["felt_ns"])
    causes = Causes()
    ids = [causes.cause_of(row) for row in ordered.select(list(COLUMNS)).to_pylist()]
    at = ordered.schema.get_field_index("cause_id")
    return ordered.set_column(at, ordered.schema.field(at), pa.array(ids, pa.string()))


def filler() -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that one of Spark's workers runs over all episodes, in the order of felt_ns."""

    def fill(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        causes = Causes()
        for batch in batches:
            ids = [causes.cause_of(row) for row in batch.select(list(COLUMNS)).to_pylist()]
            at = batch.schema.get_field_index("cause_id")
            columns = [pa.array(ids, pa.string()) if i == at else c for i, c in enumerate(batch.columns)]
            yield pa.RecordBatch.from_arrays(columns, schema=batch.schema)

    return fill


def with_causes(episodes: "DataFrame") -> "DataFrame":
    """The same for a DataFrame of recoveries' columns: one worker, row by row, in the order of felt_ns."""
    from pyspark.sql import functions as fn

    since = fn.when(fn.col("first_error_name").isin(*SILENT), fn.least("start_ns", "failing_ns"))
    ordered = episodes.repartition(1).sortWithinPartitions(fn.coalesce(since, "start_ns"), "recovery_id")
    return ordered.mapInArrow(filler(), episodes.schema)
