"""ZooKeeper sessions of a dataset, with the broker that each belongs to. A broker's node is identified by
its address."""

from dataclasses import dataclass, replace
from typing import ClassVar

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.row_types import Row
from kafkascope_analyzer.dataset.table_rows import capture_span, one_of
from kafkascope_analyzer.dataset.tables import CONNECTIONS
from kafkascope_analyzer.dataset.zookeeper_sessions import (
    ZOOKEEPER_PROTOCOL,
    ZooKeeperConnection,
    ZooKeeperSession,
    sessions_of,
)
from kafkascope_analyzer.report.rows import read


@dataclass(frozen=True, slots=True)
class _Server(Row):
    TABLE: ClassVar[Table] = CONNECTIONS
    server_ip: str
    node_id: int | None


def zookeeper_sessions(dataset: Dataset) -> list[ZooKeeperSession]:
    """Returns the sessions by time. Raises UsageError where a table cannot be read."""
    found = list(read(dataset, ZooKeeperConnection, one_of("protocol", [ZOOKEEPER_PROTOCOL])))
    if not found:
        return []
    nodes = _nodes_by_address(dataset)
    sessions = sessions_of(found, capture_span(dataset)[1])
    return [replace(session, node_id=nodes.get(session.client_ip)) for session in sessions]


def _nodes_by_address(dataset: Dataset) -> dict[str | None, int]:
    """Returns the node of each address at which only one node serves."""
    found: dict[str, set[int]] = {}
    for row in read(dataset, _Server, one_of("protocol", ["kafka", "empty"])):
        if row.node_id is not None:
            found.setdefault(row.server_ip, set()).add(row.node_id)
    return {ip: next(iter(ids)) for ip, ids in found.items() if len(ids) == 1}
