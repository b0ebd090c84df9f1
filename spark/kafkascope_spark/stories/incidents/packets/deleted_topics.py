"""`Deletion`: a topic that a client deleted, from the responses to DeleteTopics. Deletions are rare, so all are kept in
memory."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from kafkascope_analyzer.dataset.contract import Table
from kafkascope_analyzer.dataset.dataset import Dataset
from kafkascope_analyzer.dataset.row_types import Row
from kafkascope_analyzer.dataset.table_rows import one_of, read
from kafkascope_analyzer.dataset.tables import CONNECTIONS
from kafkascope_spark.stories.findings.wording import client

_RESPONSES = "messages/DeleteTopics/response"


@dataclass(frozen=True, slots=True)
class Deletion:
    """A deletion that brokers confirmed at ts_ns. who: the client that asked for it, in words."""

    topic: str
    ts_ns: int
    who: str


@dataclass(frozen=True, slots=True)
class _Client(Row):
    TABLE: ClassVar[Table] = CONNECTIONS
    conn_id: str
    client_ip: str
    client_ids: tuple[str, ...]


Deletions = Mapping[str, Sequence[Deletion]]
"""Deletions by topic, in order of time."""


def deletions_in(dataset: Dataset) -> Deletions:
    """Returns the deletions of a dataset. Raises UsageError where a table cannot be read."""
    if not dataset.rows(_RESPONSES):
        return {}
    gone: list[tuple[int, str, str]] = []
    for batch in dataset.batches(_RESPONSES, ["ts_ns", "conn_id", "responses"]):
        for row in batch.to_pylist():
            names = (each["name"] for each in row["responses"] or () if each["error_code"] == 0)
            gone += [(row["ts_ns"], row["conn_id"], name) for name in names if name is not None]
    chosen = one_of("conn_id", sorted({conn_id for _, conn_id, _ in gone}))
    connections = read(dataset, _Client, chosen)
    clients = {row.conn_id: client(next(iter(row.client_ids), None), row.client_ip) for row in connections}
    found: dict[str, list[Deletion]] = defaultdict(list)
    for ts_ns, conn_id, topic in sorted(gone):
        found[topic].append(Deletion(topic, ts_ns, clients.get(conn_id, "a client")))
    return found
